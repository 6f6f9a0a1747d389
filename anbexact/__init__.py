"""Exact learning of Bayesian network classifiers.

The optimal augmented naive Bayes (the class is a parent of every feature, the graph over the features
maximises BDeu, proved optimal) as a scikit-learn classifier and as a pgmpy network.
"""

from pathlib import Path

from anbexact.classifiers import ANBClassifier, NaiveBayesClassifier, NetworkClassifier
from anbexact.discretize import MDLPDiscretizer, MedianDiscretizer
from anbexact.scores import BDeu
from anbexact.search import SearchTooLargeError, learn_anb, learn_naive_bayes
from anbexact.structure import Certificate, Structure
from anbexact.table import DiscreteTable
from anbexact.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "ANBClassifier",
    "BDeu",
    "Certificate",
    "DiscreteTable",
    "MDLPDiscretizer",
    "MedianDiscretizer",
    "NaiveBayesClassifier",
    "SearchTooLargeError",
    "Structure",
    "Vocabulary",
    "learn_anb",
    "learn_naive_bayes",
    "load",
]


def load(path: str | Path) -> NetworkClassifier:
    """Read a fitted classifier that its ``save`` wrote; see :func:`anbexact.adapters.files.load`."""
    from anbexact.adapters.files import load

    return load(path)
