"""Searches: from a table and a score to a structure with a certificate."""

from anbexact.limits import SearchTooLargeError
from anbexact.search.lattice import learn_anb
from anbexact.search.naive_bayes import learn_naive_bayes

__all__ = ["SearchTooLargeError", "learn_anb", "learn_naive_bayes"]
