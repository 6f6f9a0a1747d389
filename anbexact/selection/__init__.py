"""Which features belong: Bayes factors, and searches for the parents and children of a variable."""

from anbexact.selection.bayes_factor import log_bayes_factor, log_bayes_factors
from anbexact.selection.selector import BayesFactorSelector

__all__ = ["BayesFactorSelector", "log_bayes_factor", "log_bayes_factors"]
