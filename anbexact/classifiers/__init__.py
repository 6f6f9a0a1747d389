"""scikit-learn estimators: each composes the packages that it imports and adds nothing else."""

from anbexact.classifiers.additive import AdditiveClassifier
from anbexact.classifiers.aode import AODEClassifier
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.branching import CkGClassifier, FANClassifier, TANClassifier
from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.classifiers.em_record import EMRecord
from anbexact.classifiers.exact import ANBClassifier, GBNClassifier
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.classifiers.fsanb import FSANBClassifier
from anbexact.classifiers.greedy import BNC2PClassifier, GreedyGBNClassifier, MCDAGClassifier
from anbexact.classifiers.kdb import KDBClassifier
from anbexact.classifiers.logit_fan import LogitFANClassifier, PrunedNaiveBayesClassifier
from anbexact.classifiers.measured import MeasuredClassifier
from anbexact.classifiers.naive_bayes import NaiveBayesClassifier
from anbexact.classifiers.pooled import PooledClassifier
from anbexact.classifiers.refitted import RefittedClassifier
from anbexact.classifiers.table_classifier import TableClassifier

__all__ = [
    "ANBClassifier",
    "AODEClassifier",
    "AdditiveClassifier",
    "BNC2PClassifier",
    "CkGClassifier",
    "DiscreteClassifier",
    "EMRecord",
    "FANClassifier",
    "FSANBClassifier",
    "FixedStructureClassifier",
    "GBNClassifier",
    "GreedyGBNClassifier",
    "KDBClassifier",
    "LogitFANClassifier",
    "MCDAGClassifier",
    "MeasuredClassifier",
    "NaiveBayesClassifier",
    "NetworkClassifier",
    "PooledClassifier",
    "PrunedNaiveBayesClassifier",
    "RefittedClassifier",
    "TANClassifier",
    "TableClassifier",
]
