"""K2: marginal likelihood under uniform priors over the conditional distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.scores.base import FamilyScore
from anbexact.scores.registry import register_score
from anbexact.scores.rising import log_rising


@register_score("k2")
@dataclass(frozen=True)
class K2(FamilyScore):
    r"""Log marginal likelihood under a uniform prior over the distributions of the child (all α_jk = 1).

    With r states of the child,

        local = Σ_j [lnΓ(r) - lnΓ(r + N_j)] + Σ_jk lnΓ(1 + N_jk)

    over the joint states j of its parents. The score is neither score equivalent nor a difference of set scores: the
    weight of the prior grows with the number of cells. Total over the data, in nats.

    References
    ----------
    Cooper and Herskovits, Machine Learning 9 (1992), Theorem 1.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.scores import K2
    >>> table = DiscreteTable.from_frame([["a", 0], ["a", 1], ["b", 1]])
    >>> round(K2().local_score(table, "x1", ["x0"]), 6)
    -2.484907
    """

    name: ClassVar[str] = "K2"
    score_equivalent: ClassVar[bool] = False
    has_set_score: ClassVar[bool] = False
    ignores_single_states: ClassVar[bool] = True
    proportional_penalty: ClassVar[bool] = False

    def bounded_at(self, weight_sum: float) -> bool:
        """Return True; see :class:`~anbexact.scores.BoundedScore`."""
        return True

    def family_parameters(self, n_configurations: Floats, n_states: int) -> tuple[Floats, Floats]:
        """Return 1 and r."""
        return np.ones(len(n_configurations)), np.full(len(n_configurations), float(n_states))

    def family_penalty(self, n_configurations: Floats, n_states: int, weight_sum: float) -> Floats:
        """Return zeros."""
        return np.zeros(len(n_configurations))

    def family_scores(self, counts: Floats, arities: Sequence[int]) -> Floats:
        """Return the local scores of families; see :class:`~anbexact.scores.FamilyScore`."""
        cells: Floats = log_rising(1.0, counts).sum(axis=(1, 2, 3))
        given: Floats = log_rising(float(counts.shape[-1]), counts.sum(axis=-1)).sum(axis=(1, 2))
        return cells - given
