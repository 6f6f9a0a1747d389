"""scikit-learn estimators: each composes the packages that it imports and adds nothing else."""

from anbexact.classifiers.a2de import A2DEClassifier
from anbexact.classifiers.additive import AdditiveClassifier
from anbexact.classifiers.aode import AODEClassifier
from anbexact.classifiers.automatic import AutoClassifier
from anbexact.classifiers.averaged import (
    AveragedANBClassifier,
    AveragedClassifier,
    AveragedFANClassifier,
    AveragedTANClassifier,
)
from anbexact.classifiers.averaged_naive_bayes import AveragedNaiveBayesClassifier
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.branching import CkGClassifier, FANClassifier, TANClassifier
from anbexact.classifiers.class_parameters import MinimalClassParametersClassifier
from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.classifiers.exact import ANBClassifier, GBNClassifier
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.classifiers.fsanb import FSANBClassifier
from anbexact.classifiers.kdb import KDBClassifier
from anbexact.classifiers.kernel import KernelClassifier
from anbexact.classifiers.linear import LinearClassifier
from anbexact.classifiers.measured import MeasuredClassifier
from anbexact.classifiers.naive_bayes import NaiveBayesClassifier
from anbexact.classifiers.pooled import PooledClassifier
from anbexact.classifiers.refitted import RefittedClassifier
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.models.em.record import EMRecord
from anbexact.rivals.greedy_classifiers import BNC2PClassifier, GreedyGBNClassifier, MCDAGClassifier
from anbexact.rivals.logit_fan import LogitFANClassifier, PrunedNaiveBayesClassifier
from anbexact.rivals.selective_kdb import SelectiveKDBClassifier
from anbexact.rivals.weighted_naive_bayes import WeightedNaiveBayesClassifier
from anbexact.rivals.wrappers import BSEJClassifier, FSSJClassifier, TANHCClassifier

__all__ = [
    "A2DEClassifier",
    "ANBClassifier",
    "AODEClassifier",
    "AdditiveClassifier",
    "AutoClassifier",
    "AveragedANBClassifier",
    "AveragedClassifier",
    "AveragedFANClassifier",
    "AveragedNaiveBayesClassifier",
    "AveragedTANClassifier",
    "BNC2PClassifier",
    "BSEJClassifier",
    "CkGClassifier",
    "DiscreteClassifier",
    "EMRecord",
    "FANClassifier",
    "FSANBClassifier",
    "FSSJClassifier",
    "FixedStructureClassifier",
    "GBNClassifier",
    "GreedyGBNClassifier",
    "KDBClassifier",
    "KernelClassifier",
    "LinearClassifier",
    "LogitFANClassifier",
    "MCDAGClassifier",
    "MeasuredClassifier",
    "MinimalClassParametersClassifier",
    "NaiveBayesClassifier",
    "NetworkClassifier",
    "PooledClassifier",
    "PrunedNaiveBayesClassifier",
    "RefittedClassifier",
    "SelectiveKDBClassifier",
    "TANClassifier",
    "TANHCClassifier",
    "TableClassifier",
    "WeightedNaiveBayesClassifier",
]
