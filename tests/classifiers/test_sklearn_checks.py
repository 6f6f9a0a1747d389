"""scikit-learn's own battery of checks, and how many of them run."""

import contextlib
from unittest import SkipTest

import pytest
import sklearn
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.fixes import parse_version

from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    CkGClassifier,
    FANClassifier,
    FSANBClassifier,
    GBNClassifier,
    MDLPDiscretizer,
    MedianDiscretizer,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
    UniversalMeasure,
)
from anbexact.classifiers import (
    A2DEClassifier,
    AODEClassifier,
    AveragedANBClassifier,
    AveragedFANClassifier,
    AveragedNaiveBayesClassifier,
    BNC2PClassifier,
    BSEJClassifier,
    FSSJClassifier,
    GreedyGBNClassifier,
    KDBClassifier,
    KernelClassifier,
    LogitFANClassifier,
    MCDAGClassifier,
    MinimalClassParametersClassifier,
    PrunedNaiveBayesClassifier,
    SelectiveKDBClassifier,
    TANHCClassifier,
    WeightedNaiveBayesClassifier,
)
from anbexact.discretize import CutPointDiscretizer
from anbexact.selection import BayesFactorSelector
from anbexact.tables.cuts.quantiles import QuantileDiscretizer

N_CHECKS = {
    NaiveBayesClassifier(): 63,
    ANBClassifier(): 63,
    ANBClassifier(max_parents=1): 63,
    FSANBClassifier(ess=1.0): 63,
    GBNClassifier(): 63,
    MinimalClassParametersClassifier(): 63,
    TANClassifier(): 63,
    FANClassifier(): 63,
    CkGClassifier(): 63,
    KDBClassifier(): 63,
    AODEClassifier(): 63,
    FSSJClassifier(): 63,
    BSEJClassifier(): 63,
    TANHCClassifier(): 63,
    AveragedNaiveBayesClassifier(): 63,
    WeightedNaiveBayesClassifier(): 63,
    SelectiveKDBClassifier(): 63,
    A2DEClassifier(): 63,
    AveragedANBClassifier(ess=1.0): 63,
    AveragedFANClassifier(): 63,
    GreedyGBNClassifier(): 63,
    GreedyGBNClassifier(structure_score="cmdl", tabu=3, restarts=1, random_state=0): 63,
    BNC2PClassifier(): 63,
    MCDAGClassifier(): 63,
    RefittedClassifier(): 62,
    AdditiveClassifier(intervals=6): 62,
    AdditiveClassifier(NaiveBayesClassifier(), smooth=1.0): 62,
    RefittedClassifier(ANBClassifier(max_parents=2), l2=1.0): 62,
    PooledClassifier([NaiveBayesClassifier(), TANClassifier()]): 63,
    LogitFANClassifier(): 63,
    PrunedNaiveBayesClassifier(): 63,
    NaiveBayesClassifier(continuous="universal"): 63,
    TANClassifier(continuous="universal"): 63,
    FANClassifier(continuous=UniversalMeasure(levels=2, epsilon=0.1)): 63,
    CkGClassifier(continuous="universal"): 63,
    KernelClassifier(): 63,
    MedianDiscretizer(): 53,
    QuantileDiscretizer(): 53,
    MDLPDiscretizer(): 54,
    BayesFactorSelector(): 55,
}
"""Checks that scikit-learn 1.9 runs on each: a wrong tag would quietly shrink the battery."""
VERSION = parse_version(sklearn.__version__).release[:2]


def expected_failures(estimator):
    """Checks that ask for what a classifier refuses, and why it does."""
    if isinstance(estimator, AveragedNaiveBayesClassifier | WeightedNaiveBayesClassifier):
        return {"check_fit_score_takes_y": "calls partial_fit after fit, but counts do not determine the tables"}
    if isinstance(estimator, KernelClassifier):
        return {"check_fit_score_takes_y": "calls partial_fit after fit, but coefficients do not add up"}
    if getattr(estimator, "continuous", "discretize") == "discretize":
        return {}
    return {"check_fit_score_takes_y": "calls partial_fit after fit, but the levels depend on the number of rows"}


TOO_LARGE = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
"""Checks on 15 rows of 30 columns of noise, among which an exact search finds no proof in seconds.

The wrapper that joins features tries all pairs of them at every step.
"""


def on_few_columns(estimator):
    """The estimator, of a class that looks at the first columns only."""

    class FewColumns(type(estimator)):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X[:, :6], y, sample_weight)

        def predict_proba(self, X):
            return super().predict_proba(X[:, :6])

        def predict(self, X):
            return super().predict(X[:, :6])

    return FewColumns(**estimator.get_params())


EXACT = ANBClassifier | AveragedANBClassifier | FSANBClassifier | GBNClassifier | MinimalClassParametersClassifier
"""What enumerates all sets of features."""


def run(check, estimator):
    """Run a check, on fewer columns where it is too large for the search."""
    long = isinstance(estimator, BSEJClassifier) or (isinstance(estimator, EXACT) and estimator.max_parents is None)
    check(on_few_columns(estimator) if long and check.func.__name__ in TOO_LARGE else estimator)


@parametrize_with_checks(
    list(N_CHECKS), expected_failed_checks=expected_failures, **{"xfail_strict": True} if VERSION >= (1, 8) else {}
)
def test_scikit_learn_check(estimator, check):
    run(check, estimator)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [model(continuous="universal") for model in (ANBClassifier, GBNClassifier)])
def test_scikit_learn_checks_of_exact_searches(estimator):
    checks = [check for _, check in estimator_checks_generator(estimator, mark=None)]
    checks = [check for check in checks if check.func.__name__ not in expected_failures(estimator)]
    assert len(checks) >= 60
    for check in checks:
        with contextlib.suppress(SkipTest):
            run(check, clone(estimator))


@pytest.mark.parametrize(("estimator", "n_checks"), N_CHECKS.items(), ids=repr)
def test_number_of_checks(estimator, n_checks):
    names = [check.func.__name__ for _, check in estimator_checks_generator(estimator, mark=None)]
    if VERSION == (1, 9):
        assert len(names) == n_checks
    assert VERSION < (1, 9) or len(names) >= n_checks
    for name in (
        "check_fit2d_1sample",
        "check_estimators_pickle",
        "check_methods_subset_invariance",
        "check_sample_weight_equivalence_on_dense_data",
        "check_classifiers_train",
        "check_classifiers_classes",
    ):
        if isinstance(estimator, CutPointDiscretizer | BayesFactorSelector) and "classif" in name:
            continue
        assert name in names
