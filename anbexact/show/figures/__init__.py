"""Figures by matplotlib; :mod:`anbexact.plots` has the public names."""
