"""How searches ask for scores: of families, of pairs, of all sets of parents."""
