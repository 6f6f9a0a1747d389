"""Fitting the classifiers that commands ask for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import anbexact
from anbexact.cli.messages import InputError, ProgressLine

if TYPE_CHECKING:
    import pandas as pd

    from anbexact.classifiers import NetworkClassifier


MODELS: dict[str, tuple[str, type[NetworkClassifier]]] = {
    "anb": ("optimal augmented naive Bayes (ANB)", anbexact.ANBClassifier),
    "nb": ("naive Bayes (NB)", anbexact.NaiveBayesClassifier),
    "tan": ("tree augmented naive Bayes (TAN)", anbexact.TANClassifier),
    "fan": ("forest augmented naive Bayes (FAN)", anbexact.FANClassifier),
    "ckg": ("consistent k-graph (CkG)", anbexact.CkGClassifier),
}
"""What ``--model`` may be: title and class."""


def unfitted(model: str, *, threads: int | None = None, **parameters: Any) -> NetworkClassifier:
    """Return the classifier that ``--model`` names; parameters that are None keep their default."""
    of_model = MODELS[model][1]
    given = {name: value for name, value in parameters.items() if value is not None}
    foreign = [name for name in given if name not in of_model().get_params()]
    if foreign:
        raise InputError(f"--{foreign[0].replace('_', '-')} does not belong to --model {model}")
    return of_model(n_jobs=threads, verbose=int(sys.stderr.isatty()), **given)


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
