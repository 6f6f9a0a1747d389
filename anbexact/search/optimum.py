"""What a solver of the exact search returns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from anbexact.scores import BoundedScore, SetScore, Universal
from anbexact.table import DiscreteTable

ROUNDING = 1e-12
"""Scores closer than this share of the largest score of data count as equal."""
LONG = 4_000_000
"""Distinct rows times variables up to which a feature's bound looks at all rows (0.03 s or so for each feature)."""


def rounding_error(table: DiscreteTable, total: float = 0.0) -> float:
    """Return by how much two ways to compute a structure's score may differ, in nats; N ln(1+N) sets the scale."""
    largest = float(table.weight_sum * np.log1p(table.weight_sum))
    return 10 * ROUNDING * len(table.vocabulary.names) * max(1.0, abs(total), largest)


def rough_bound(
    table: DiscreteTable, score: BoundedScore, child: Hashable, given: Sequence[Hashable], factor: float = 1.0
) -> float:
    """Return a bound on the local score of a variable over all supersets of some parents, with little work; in nats.

    For Dirichlet scores ``-Σ_jk min(1, N_jk) ln r`` over the observed joint states of the child and these parents;
    for penalised likelihoods the penalty where the parents have ``factor`` times as many joint states.
    """
    states = table.vocabulary.arity(child)
    q = float(np.prod([float(table.vocabulary.arity(name)) for name in given])) * np.array([1.0, factor])
    if np.isfinite(score.family_parameters(q, states)[1][0]):
        cells = table.cell_weights([*given, child])
        return float(-np.log(states) * np.minimum(cells, 1.0).sum())
    return float(-score.family_penalty(q, states, table.weight_sum)[1])


def local_bound(table: DiscreteTable, score: SetScore | Universal, child: Hashable) -> float:
    """Return a bound on the local score of a feature over all parent sets, a rough one on long tables; in nats."""
    long = len(table.weights) * len(table.vocabulary.names) > LONG
    if long and isinstance(score, BoundedScore) and score.bounded_at(table.weight_sum):
        return rough_bound(table, score, child, table.vocabulary.common_parents)
    return score.local_upper_bound(table, child)


@dataclass(frozen=True)
class Optimum:
    """The best structure over the features.

    Attributes
    ----------
    total : float
        Sum of the features' local scores, in nats; -inf if the constraints admit no structure.
    sets : int
        Sets, or families, that were scored.
    parents : callable
        ``parents(rounding)`` reads the feature parents of every feature back, ties within ``rounding`` (as a share of
        the largest score) broken by the rule of :func:`~anbexact.learn_anb`.
    """

    total: float
    sets: int
    parents: Callable[[float], dict[Hashable, tuple[Hashable, ...]]]


@dataclass(frozen=True)
class Stopped:
    """What is known when the time ran out.

    Attributes
    ----------
    bound : float
        Proved upper bound on the sum of the features' local scores, in nats; may be infinite.
    sets : int
        Sets, or families, that were scored.
    """

    bound: float
    sets: int
