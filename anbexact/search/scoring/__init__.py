"""How searches compute scores of families, of pairs and of all sets of parents."""
