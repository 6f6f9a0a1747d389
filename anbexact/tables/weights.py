"""Weights of classes, and advice on weights of rows that claim more rows than there can have been."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from numbers import Real
from typing import Any

import numpy as np

from anbexact._runtime.advice import advise
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.native_values import native, sorted_positions
from anbexact.tables.table import Weights

WEIGHT_IN_DOUBT, COUNT_IN_DOUBT = 10.0, 1000.0
"""Mean weight above which weights hardly count rows, and the same if all weights are whole numbers."""
WEIGHTS_OF_A_SURVEY = "a row of weight w counts as w rows"
"""The part of the advice by which comparisons recognise it."""


def check_class_weight(class_weight: Any) -> None:
    """Refuse what is neither None, ``"balanced"`` nor a mapping of classes to finite numbers above 0."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise TypeError(
            f"class_weight must be 'balanced', a mapping of classes to weights, or None, not {class_weight!r}"
        )
    for label, weight in class_weight.items():
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 < float(weight) < inf:
            raise ValueError(f"class_weight[{label!r}] must be a finite number above 0, not {weight!r}")


def apply_class_weight(class_weight: Any, target: Column, weights: Weights, known: Sequence[Any]) -> Weights:
    """Return the weights of rows, each multiplied by that of its class.

    ``"balanced"``: class c of s observed ones weighs ``W / (s W_c)``, W being the weight of all rows and W_c of those
    of the class, so that all classes weigh the same together. A mapping: the given weight, 1 for a class that is not
    in it.

    Parameters
    ----------
    class_weight : None, "balanced" or mapping
        As :func:`check_class_weight` admits.
    target : Column
        The class of every row.
    weights : (rows,) float64
        Zero or more.
    known : sequence
        Classes that exist in addition to those of rows with a positive weight.

    Raises
    ------
    ValueError
        If the mapping names a class that does not exist.
    """
    if class_weight is None:
        return weights
    codes, labels = target.coded
    counted = (weights > 0) & (codes >= 0)
    if isinstance(class_weight, str):
        sizes = np.bincount(codes[counted], weights[counted], len(labels))
        n_classes = int((sizes > 0).sum())
        factors = np.divide(sizes.sum(), n_classes * sizes, out=np.ones(len(sizes)), where=sizes > 0)
    else:
        given = {native(label): float(weight) for label, weight in class_weight.items()}
        classes = list(dict.fromkeys([*(labels[code] for code in np.unique(codes[counted])), *map(native, known)]))
        unknown = [label for label in given if label not in classes]
        if unknown:
            classes = [classes[i] for i in sorted_positions(classes)]
            raise ValueError(
                f"class_weight names {unknown[0]!r}, which is not a class; the classes of {target.name!r} are "
                f"{classes!r}"
            )
        factors = np.array([given.get(label, 1.0) for label in labels])
    return np.asarray(weights * np.append(factors, 1.0)[codes])


def advise_on_weights(weights: Weights) -> None:
    """Advise scaling where weights add up to far more rows than there are, as those of surveys often do."""
    positive = weights[weights > 0]
    whole = bool((positive == np.rint(positive)).all())
    if positive.mean() > (COUNT_IN_DOUBT if whole else WEIGHT_IN_DOUBT):
        advise(
            "weights",
            f"sample_weight adds up to {positive.sum():,.0f} for {len(positive):,} rows, and {WEIGHTS_OF_A_SURVEY}: "
            "small differences will look certain. Divide weights of a survey by their mean; leave them as they are "
            "if they count rows",
        )
