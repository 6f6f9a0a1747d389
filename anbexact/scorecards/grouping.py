"""Groups of states with similar log odds, so that a scorecard has few rows."""

from __future__ import annotations

from collections.abc import Hashable, Set

import numpy as np

from anbexact._runtime.arrays import Floats, Positions
from anbexact.models.additive_effects import AdditiveEffect
from anbexact.tables.vocabulary import Vocabulary

KEPT = 0.99
"""Share of the variation of an effect that groups keep, unless that takes more groups than are allowed."""
LITTLE = 5e-4
"""Variation within groups, in squared nats, that does not matter."""


def grouped(
    effect: AdditiveEffect, contrasts: Floats, vocabulary: Vocabulary, ordered: Set[Hashable], most: int
) -> tuple[Positions, ...]:
    """Return the group of every state along every axis of an effect.

    Along an axis, the groups minimise the variance within them, weighted by the rows (Fisher 1958). Ordered states
    form a group only with their neighbours; the order of others is that of their log odds. The state of missing cells
    stays on its own.

    Parameters
    ----------
    effect : AdditiveEffect
    contrasts : (*groups, scores) float64
        Its log odds against the reference class.
    vocabulary : Vocabulary
    ordered : set
        Features whose states have an order.
    most : int
        Maximum number of groups along an axis, without that of missing cells.
    """
    found = []
    for axis, (name, own) in enumerate(zip(effect.features, effect.groups, strict=True)):
        values = np.moveaxis(contrasts, axis, 0).reshape(contrasts.shape[axis], -1, contrasts.shape[-1])
        weight = np.moveaxis(effect.weight, axis, 0).reshape(contrasts.shape[axis], -1)
        missing = own[-1] if name in vocabulary.own_missing else -1
        inner = np.array([group for group in range(len(values)) if group != missing], dtype=np.int64)
        order = inner if name in ordered else inner[np.argsort(_line(values[inner], weight[inner]), kind="stable")]
        coarse = np.full(len(values), -1)
        coarse[order] = _segments(values[order], weight[order], most)
        if missing >= 0:
            coarse[missing] = coarse.max() + 1
        found.append(coarse[own])
    return tuple(found)


def _line(values: Floats, weight: Floats) -> Floats:
    """Return the place of every state on the line along which the log odds vary most."""
    flat = values.reshape(len(values), -1)
    scaled = flat * np.sqrt(np.maximum(weight.sum(axis=1, keepdims=True), 1e-12))
    direction = np.linalg.svd(scaled, full_matrices=False)[2][0]
    return np.asarray(flat @ (direction * (1 if direction.sum() >= 0 else -1)))


def _segments(values: Floats, weight: Floats, most: int) -> Positions:
    """Return the segment of every state, with the least variance within segments, by dynamic programming."""
    n = len(values)
    weight = weight + 1e-9 * max(weight.sum(), 1.0)
    sums = np.concatenate([np.zeros((1, *values.shape[1:])), (weight[..., None] * values).cumsum(axis=0)])
    squares = np.concatenate([[0.0], (weight[..., None] * values**2).sum(axis=(1, 2)).cumsum()])
    totals = np.concatenate([np.zeros((1, weight.shape[1])), weight.cumsum(axis=0)])
    costs = np.full((n + 1, n + 1), np.inf)
    for start in range(n):
        own = sums[start + 1 :] - sums[start]
        within = (own**2).sum(axis=2) / (totals[start + 1 :] - totals[start])
        costs[start, start + 1 :] = np.maximum(squares[start + 1 :] - squares[start] - within.sum(axis=1), 0.0)
    enough = max((1 - KEPT) * costs[0, n], LITTLE * weight.sum())
    best, steps = [costs[0]], []
    while best[-1][n] > enough and len(best) < min(most, n):
        through = best[-1][:, None] + costs
        steps.append(through.argmin(axis=0))
        best.append(through.min(axis=0))
    ends = [n]
    for step in reversed(steps):
        ends.append(int(step[ends[-1]]))
    return np.asarray(np.searchsorted(sorted(ends), np.arange(n), side="right"), dtype=np.int64)
