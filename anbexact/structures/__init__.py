"""What a search returns: a graph with its score and its certificate of optimality."""
