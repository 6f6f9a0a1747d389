"""MIT: the mutual information tests score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaincinv

from anbexact._runtime.arrays import Floats
from anbexact.scores.base import FamilyScore
from anbexact.scores.likelihood import log_likelihoods
from anbexact.scores.registry import register_score


@register_score("mit")
@dataclass(frozen=True)
class MIT(FamilyScore):
    r"""Mutual information of child and parents, minus the critical values of independence tests.

    With r states of the child, total weight N, and the parents sorted by their numbers of states, r_1 ≥ r_2 ≥ ···,

        local = 2 N · MI(child; parents) - Σ_j χ²(α, l_j),   l_j = (r - 1)(r_j - 1) Π_{i<j} r_i,

    where χ²(α, l) is the quantile at level α of the χ² distribution with l degrees of freedom; 0 for l = 0. Each term
    is the critical value of a test of the child against parent j given the parents before it. At the usual levels,
    this order of the parents has the largest sum of all orders, which is how the paper defines the score. At low
    levels this can fail: with parents of 2 and 3 states and a binary child, the other order has a larger sum for
    every α up to 0.57. This implementation uses the order above at every level. Total over the data; 2N·MI is twice a
    difference of log-likelihoods in nats. A child without parents scores 0.

    The score is not score equivalent. Take C, X and Y with 2, 2 and 3 states and an arc between any two. In the order
    C, X, Y the degrees of freedom are 1 for X and 2, 4 for Y; in the order C, Y, X they are 2 for Y and 2, 3 for X.
    The sum of the mutual informations is the same in both orders, but the sum of the quantiles is not. If all
    variables have the same number of states, or no variable has more than one parent, Markov equivalent structures
    have the same score. MIT has no set score, which would imply score equivalence.

    Parameters
    ----------
    alpha : float, default 0.95
        Level of confidence α of the tests, above 0 and below 1.

    Raises
    ------
    ValueError
        For an ``alpha`` that is not a number between 0 and 1.

    References
    ----------
    de Campos, Journal of Machine Learning Research 7 (2006), 2149-2187.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.scores import MIT
    >>> table = DiscreteTable.from_frame([["a", 0], ["a", 1], ["b", 1]])
    >>> round(MIT(alpha=0.95).local_score(table, "x1", ["x0"]), 6)
    -2.794963
    """

    alpha: float = 0.95

    name: ClassVar[str] = "MIT"
    score_equivalent: ClassVar[bool] = False
    has_set_score: ClassVar[bool] = False
    ignores_single_states: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, int | float | np.number):
            raise ValueError(f"alpha must be a number above 0 and below 1, not {self.alpha!r}")
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha must be above 0 and below 1, not {self.alpha!r}")
        object.__setattr__(self, "alpha", float(self.alpha))

    def family_scores(self, counts: Floats, arities: Sequence[int]) -> Floats:
        """Return the local scores of families; see :class:`~anbexact.scores.FamilyScore`."""
        alone = counts.sum(axis=(1, 2), keepdims=True)
        information = log_likelihoods(counts) - log_likelihoods(alone)
        return 2 * information - self._critical_value(counts.shape[-1], arities)

    def _critical_value(self, arity: int, arities: Sequence[int]) -> float:
        """Return the sum of quantiles; see the class."""
        parents = np.sort(np.array(arities, dtype=np.float64))[::-1]
        configurations = np.cumprod(np.concatenate([[1.0], parents[:-1]]))[: len(parents)]
        freedom = (arity - 1) * (parents - 1) * configurations
        quantiles = 2 * gammaincinv(freedom[freedom > 0] / 2, self.alpha)
        return float(quantiles.sum())
