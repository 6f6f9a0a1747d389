"""The results of searches: graphs with their scores and certificates of optimality."""
