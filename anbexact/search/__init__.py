"""Searches: from a table and a score to a structure with a certificate."""

from anbexact._runtime.memory import SearchTooLargeError
from anbexact.rivals.selective_kdb_search import learn_skdb
from anbexact.search.exact.class_parameters import learn_mcp
from anbexact.search.exact.learn import learn_anb, learn_gbn
from anbexact.search.greedy.hill_climbing import learn_greedy_gbn
from anbexact.search.naive_bayes import learn_naive_bayes
from anbexact.search.trees.branching import learn_fan, learn_tan
from anbexact.search.trees.k_graph import learn_ckg
from anbexact.search.trees.kdb import learn_kdb

__all__ = [
    "SearchTooLargeError",
    "learn_anb",
    "learn_ckg",
    "learn_fan",
    "learn_gbn",
    "learn_greedy_gbn",
    "learn_kdb",
    "learn_mcp",
    "learn_naive_bayes",
    "learn_skdb",
    "learn_tan",
]
