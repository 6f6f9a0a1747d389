"""The one page: a self-contained HTML file with its style, its evidence panel and the tables that the panel needs."""
