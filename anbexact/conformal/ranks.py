"""Nonconformity scores of rows, and the p-values that follow from their ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from anbexact._runtime.arrays import Floats, Positions

EQUAL_WITHIN = 1e-12
"""Scores and p-values that differ by no more than this count as equal.

The rounding of sums of probabilities is far smaller, and differences that matter are far larger.
"""


def lac_scores(posterior: Floats) -> Floats:
    """Return 1 - P(c | row), shape (rows, classes), which makes sets smallest on average."""
    return 1.0 - posterior


def aps_scores(posterior: Floats) -> Floats:
    """Return the probability of all classes that are as probable as c or more, shape (rows, classes)."""
    above = posterior[:, None, :] >= posterior[:, :, None] - EQUAL_WITHIN
    return np.asarray((posterior[:, None, :] * above).sum(axis=2))


METHODS: Mapping[str, Callable[[Floats], Floats]] = {"lac": lac_scores, "aps": aps_scores}
"""Nonconformity of every class in every row, by name."""


class Others(NamedTuple):
    """The rows among which a new row is ranked: nonconformity of their own classes, these classes, and weights."""

    scores: Floats
    classes: Positions
    weights: Floats


class Rank(NamedTuple):
    """The rank of a new row: the weights of the rows that conform worse, of those that conform equally, and of all.

    The last two weights include the new row.
    """

    worse: float
    equal: float
    total: float

    def p_value(self, uniform: float | None = None) -> float:
        """Return the share of rows that conform no better, of those that conform equally only a share ``uniform``."""
        return (self.worse + (1.0 if uniform is None else uniform) * self.equal) / self.total


def rank(score: float, class_: int, others: Others, *, by_class: bool) -> Rank:
    """Return the rank of a new row.

    Parameters
    ----------
    score : float
        Nonconformity of the new row with a class.
    class_ : int
        That class.
    others : Others
        The other rows.
    by_class : bool
        Whether only rows of this class count.
    """
    scores, weights = others.scores, others.weights
    if by_class:
        own = others.classes == class_
        scores, weights = scores[own], weights[own]
    worse = scores > score + EQUAL_WITHIN
    equal = ~worse & (scores >= score - EQUAL_WITHIN)
    return Rank(float(weights[worse].sum()), float(weights[equal].sum()) + 1.0, float(weights.sum()) + 1.0)
