"""Searches for parents and children by tests, and their selector; :mod:`anbexact.selection` has the public names."""
