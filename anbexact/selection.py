"""Feature selection by Bayes factors, and searches for the parents and children of a variable."""

from typing import TYPE_CHECKING, Any

from anbexact.rivals.selection.hiton_pc import HITONPC
from anbexact.rivals.selection.independence_tests import BayesFactorTest, G2Test, IndependenceTest, UniversalTest
from anbexact.rivals.selection.mmpc import MMPC
from anbexact.rivals.selection.pcmb import PCMB
from anbexact.rivals.selection.s2tmb import S2TMB
from anbexact.rivals.selection.sll import SLL
from anbexact.search.bayes_factor import log_bayes_factor, log_bayes_factors

if TYPE_CHECKING:
    from anbexact.rivals.selection.selector import BayesFactorSelector

__all__ = [
    "HITONPC",
    "MMPC",
    "PCMB",
    "S2TMB",
    "SLL",
    "BayesFactorSelector",
    "BayesFactorTest",
    "G2Test",
    "IndependenceTest",
    "UniversalTest",
    "log_bayes_factor",
    "log_bayes_factors",
]


def __getattr__(name: str) -> Any:
    if name == "BayesFactorSelector":  # imports all of scikit-learn's feature selection, so only on use
        from anbexact.rivals.selection.selector import BayesFactorSelector

        return BayesFactorSelector
    raise AttributeError(f"module 'anbexact.selection' has no attribute {name!r}")
