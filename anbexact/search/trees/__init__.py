"""Searches for trees, forests and k-graphs."""
