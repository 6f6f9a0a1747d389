"""The log losses of single rows, and the standard error of their mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.compare.metrics import Outcome


@dataclass(frozen=True, eq=False)
class Losses:
    """-ln P(true class) of every row, in the order of the folds, with the weights of the rows."""

    values: Floats
    weights: Floats

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Losses:
        """Return the losses of the rows of all folds."""
        with np.errstate(divide="ignore"):
            values = [-np.log(of.proba[np.arange(len(of.truth)), of.truth]) for of in outcomes]
        return cls(np.concatenate(values), np.concatenate([of.weights for of in outcomes]))


def mean_with_error(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return a weighted mean and its standard error, ``√(Σ_t w_t² (x_t - x̄)²) / Σ_t w_t``."""
    total = float(weights.sum())
    mean = float(weights @ values) / total
    if not isfinite(mean):
        return mean, inf
    return mean, float(np.sqrt(np.sum((weights * (values - mean)) ** 2))) / total
