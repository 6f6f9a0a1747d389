"""What a fit chooses from the rows: equivalent sample sizes, limits on parents, strengths of hierarchical tables."""
