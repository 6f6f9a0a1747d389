"""Tables of lazy frames: the engine that holds the rows counts them, a few variables at a time if need be."""
