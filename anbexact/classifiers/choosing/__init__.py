"""What a fit chooses from the rows: equivalent sample sizes, limits on parents, settings of tables."""
