"""scikit-learn estimators: each composes the rooms below it and adds nothing else."""

from anbexact.classifiers.anb import ANBClassifier
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.branching import CkGClassifier, FANClassifier, TANClassifier
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.classifiers.logit_fan import LogitFANClassifier, PrunedNaiveBayesClassifier
from anbexact.classifiers.naive_bayes import NaiveBayesClassifier

__all__ = [
    "ANBClassifier",
    "CkGClassifier",
    "FANClassifier",
    "FixedStructureClassifier",
    "LogitFANClassifier",
    "NaiveBayesClassifier",
    "NetworkClassifier",
    "PrunedNaiveBayesClassifier",
    "TANClassifier",
]
