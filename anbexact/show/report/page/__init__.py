"""The page of a report: one HTML file that contains its style, its evidence panel and the tables of the panel."""
