"""Searches: from a table and a score to a structure with a certificate."""

from anbexact.limits import SearchTooLargeError
from anbexact.search.branching import learn_fan, learn_tan
from anbexact.search.exact import learn_anb, learn_gbn
from anbexact.search.hill_climbing import learn_greedy_gbn
from anbexact.search.k_graph import learn_ckg
from anbexact.search.kdb import learn_kdb
from anbexact.search.naive_bayes import learn_naive_bayes

__all__ = [
    "SearchTooLargeError",
    "learn_anb",
    "learn_ckg",
    "learn_fan",
    "learn_gbn",
    "learn_greedy_gbn",
    "learn_kdb",
    "learn_naive_bayes",
    "learn_tan",
]
