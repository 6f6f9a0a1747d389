"""The results of a solver of the exact search, and the rule that breaks ties between equally good networks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from anbexact.scores import BoundedScore, MixedSetScore, SetScore
from anbexact.tables.table import DiscreteTable

Parents = tuple[int, ...]
"""Numbers of features in table order, ascending."""
TIE_SHARE = 1e-12
"""Local scores that differ by less than this share of N ln(1+N), where N is the total weight, count as equal."""
MOST_CELLS_READ = 4_000_000
"""Distinct rows times variables up to which a feature's bound looks at all rows (0.03 s or so for each feature)."""


def rounding_error(table: DiscreteTable, total: float = 0.0) -> float:
    """Return the maximum rounding error of a structure's score, in nats; N ln(1+N) sets the scale."""
    return 10 * len(table.vocabulary.names) * max(TIE_SHARE * abs(total), tie_tolerance(table))


def tie_tolerance(table: DiscreteTable, rounding: float = TIE_SHARE) -> float:
    """Return the maximum difference, in nats, of local scores that count as equal; the same in every search."""
    return rounding * max(1.0, float(table.weight_sum * np.log1p(table.weight_sum)))


def precedence(feature: int, parents: Parents) -> tuple[int, Parents, int]:
    """Return the key of the tie rule: the smaller set, then the first in table order, then the later feature."""
    return len(parents), parents, -feature


def first_optimum(members: int, sinks: Callable[[int], Iterable[tuple[int, Parents]]]) -> dict[int, Parents]:
    """Return the parents of some features in the optimal structure that the tie rule prefers, last feature first.

    Parameters
    ----------
    members : int
        The features, as a bit mask.
    sinks : callable
        ``sinks(members)`` yields, for a mask of features, those that can be last in an optimal structure over them,
        each with the first parent set for which this is possible. A feature that cannot win may be left out.
    """
    chosen: dict[int, Parents] = {}
    while members:
        feature, parents = min(sinks(members), key=lambda sink: precedence(*sink))
        chosen[feature] = parents
        members &= ~(1 << feature)
    return chosen


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


def local_bound(table: DiscreteTable, score: SetScore | MixedSetScore, child: Hashable) -> float:
    """Return a bound on the local score of a feature over all parent sets, a rough one on long tables; in nats."""
    long = len(table.weights) * len(table.vocabulary.names) > MOST_CELLS_READ
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
        ``parents(rounding)`` reads the feature parents of every feature back, ties within ``rounding`` (see
        :func:`tie_tolerance`) broken by the rule of :func:`~anbexact.learn_anb`.
    """

    total: float
    sets: int
    parents: Callable[[float], dict[Hashable, tuple[Hashable, ...]]]


@dataclass(frozen=True)
class Stopped:
    """The results when the time ran out.

    Attributes
    ----------
    bound : float
        Proved upper bound on the sum of the features' local scores, in nats; may be infinite.
    sets : int
        Sets, or families, that were scored.
    """

    bound: float
    sets: int
