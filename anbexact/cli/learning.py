"""Fitting the classifiers that commands ask for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import anbexact
from anbexact.cli.messages import InputError, ProgressLine

if TYPE_CHECKING:
    import pandas as pd

    from anbexact.classifiers import NetworkClassifier


def unfitted(model: str, *, threads: int | None = None, **parameters: Any) -> NetworkClassifier:
    """Return the classifier that ``--model`` calls ``anb`` or ``nb``."""
    if model == "nb":
        return anbexact.NaiveBayesClassifier(n_jobs=threads, **parameters)
    return anbexact.ANBClassifier(n_jobs=threads, verbose=int(sys.stderr.isatty()), **parameters)


def learn(
    classifier: NetworkClassifier, X: pd.DataFrame, y: pd.Series[Any], weights: pd.Series[Any] | None = None
) -> None:
    """Fit a classifier, and silence it for later; refused input becomes an `InputError`."""
    with ProgressLine():
        try:
            classifier.fit(X, y, sample_weight=weights)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from None
    classifier.set_params(verbose=0)
