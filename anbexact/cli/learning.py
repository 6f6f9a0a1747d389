"""Fitting the classifiers that commands ask for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import anbexact
from anbexact.classifiers import (
    AODEClassifier,
    BNC2PClassifier,
    DiscreteClassifier,
    GreedyGBNClassifier,
    KDBClassifier,
    MCDAGClassifier,
    NetworkClassifier,
    RefittedClassifier,
    TableClassifier,
)
from anbexact.cli.messages import OPTIONS, InputError, ProgressLine

if TYPE_CHECKING:
    import pandas as pd


MODELS: dict[str, tuple[str, type[TableClassifier]]] = {
    "anb": ("optimal augmented naive Bayes (ANB)", anbexact.ANBClassifier),
    "fsanb": ("optimal augmented naive Bayes over selected features (fsANB)", anbexact.FSANBClassifier),
    "gbn": ("optimal general network (GBN)", anbexact.GBNClassifier),
    "nb": ("naive Bayes (NB)", anbexact.NaiveBayesClassifier),
    "tan": ("tree augmented naive Bayes (TAN)", anbexact.TANClassifier),
    "fan": ("forest augmented naive Bayes (FAN)", anbexact.FANClassifier),
    "ckg": ("consistent k-graph (CkG)", anbexact.CkGClassifier),
    "kdb": ("k-dependence Bayesian classifier (kDB)", KDBClassifier),
    "aode": ("averaged one-dependence estimators (AODE)", AODEClassifier),
    "ggbn": ("general network by hill climbing (gGBN)", GreedyGBNClassifier),
    "bnc2p": ("network by conditional likelihood, two parents at most (BNC2P)", BNC2PClassifier),
    "mcdag": ("minimal class-focused network by conditional likelihood (MC-DAG)", MCDAGClassifier),
}
"""What ``--model`` may be: title and class."""


def unfitted(model: str, *, threads: int | None = None, **parameters: Any) -> TableClassifier:
    """Return the classifier that ``--model`` names; parameters that are None keep their default."""
    of_model = MODELS[model][1]
    given = {name: value for name, value in parameters.items() if value is not None}
    foreign = [name for name in given if name not in of_model().get_params()]
    if foreign:
        raise InputError(f"{OPTIONS[foreign[0]]} does not belong to --model {model}")
    return of_model(n_jobs=threads, verbose=int(sys.stderr.isatty()), **given)


def refitted(model: str, classifier: TableClassifier) -> RefittedClassifier:
    """Return what learns the classifier that ``--model`` names, and refits it."""
    if not isinstance(classifier, NetworkClassifier):
        raise InputError(f"--refit does not belong to --model {model}")
    return RefittedClassifier(classifier)


def learn(
    classifier: DiscreteClassifier, X: pd.DataFrame, y: pd.Series[Any], weights: pd.Series[Any] | None = None
) -> None:
    """Fit a classifier, and silence it for later; refused input becomes an `InputError`."""
    with ProgressLine():
        try:
            classifier.fit(X, y, sample_weight=weights)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from None
    if isinstance(classifier, RefittedClassifier):
        classifier.set_params(estimator__verbose=0)
        classifier.estimator_.set_params(verbose=0)
    else:
        classifier.set_params(verbose=0)
