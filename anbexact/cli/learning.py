"""Fitting the classifiers that commands ask for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anbexact.classifiers import AdditiveClassifier, DiscreteClassifier, RefittedClassifier, TableClassifier
from anbexact.classifiers.refitted import can_be_refitted
from anbexact.classifiers.registry import named_classifiers
from anbexact.cli.messages import OPTIONS, InputError, ProgressLine

if TYPE_CHECKING:
    import pandas as pd


def unfitted(model: str, *, threads: int | None = None, **parameters: Any) -> TableClassifier:
    """Return the classifier that ``--model`` names; parameters that are None keep their default."""
    of_model = named_classifiers()[model].estimator
    if foreign := foreign_to(model, parameters):
        raise InputError(f"{OPTIONS[foreign[0]]} does not apply to --model {model}")
    given = {name: value for name, value in parameters.items() if value is not None}
    classifier: TableClassifier = of_model(n_jobs=threads, verbose=int(sys.stderr.isatty()), **given)
    return classifier


def foreign_to(model: str, parameters: Mapping[str, Any]) -> list[str]:
    """Return the parameters that are given although the classifier of ``--model`` does not have them."""
    own = named_classifiers()[model].estimator().get_params()
    return [name for name, value in parameters.items() if value is not None and name not in own]


def refitted(model: str, classifier: TableClassifier, *, smooth: bool = False) -> RefittedClassifier:
    """Return the classifier that learns what ``--model`` names and then refits it, with or without smooth shapes."""
    if not can_be_refitted(classifier):
        raise InputError(f"{'--smooth' if smooth else '--refit'} does not apply to --model {model}")
    return AdditiveClassifier(classifier) if smooth else RefittedClassifier(classifier)


def learn(
    classifier: DiscreteClassifier, X: pd.DataFrame, y: pd.Series[Any], weights: pd.Series[Any] | None = None
) -> None:
    """Fit a classifier, then set its ``verbose`` to 0 for later use; an error about input becomes an `InputError`."""
    with ProgressLine():
        try:
            classifier.fit(X, y, sample_weight=weights)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from None
    for loud in filter(None, (classifier, getattr(classifier, "estimator_", None))):
        loud.set_params(**{name: 0 for name in loud.get_params() if name in ("verbose", "estimator__verbose")})
