"""Tables of lazy frames, whose rows the engine that holds them counts, block by block if need be."""
