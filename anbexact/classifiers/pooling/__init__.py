"""How a pool is learned: automatic members, their fits in folds, what they share, and the forms of a fitted pool."""
