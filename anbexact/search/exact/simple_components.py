"""Components solved without branching: small ones over all subsets, those with single parents as branchings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anbexact._kernels.arborescence import best_arborescence
from anbexact._kernels.families import best_completions, best_totals
from anbexact._runtime.arrays import Floats, Positions
from anbexact.search.exact.cutting_planes import Clusters
from anbexact.search.exact.parent_sets import Lists, pack, unpack

LARGEST_SUM = 2.0**60
"""Largest absolute value of a sum of the whole numbers that represent scores."""


class Branching(NamedTuple):
    """An optimal choice, and the proof.

    Attributes
    ----------
    places : (features,) int64
        Positions in the lists.
    clusters : Clusters
        Sets of features in which at least one feature has no parent within the set.
    multipliers : (clusters,) float64
        The multipliers of the clusters, in nats, with which the bound equals the total of the choice up to rounding.
    """

    places: Positions
    clusters: Clusters
    multipliers: Floats


def have_single_parents(part: Lists) -> bool:
    """Whether no set has two parents."""
    return bool((np.bitwise_count(part.masks).sum(axis=1) <= 1).all())


def best_branching(part: Lists) -> Branching:
    """Return the best choice of sets with at most one parent each, by Edmonds' algorithm.

    A choice without cycles is an arborescence from an additional root, which is the parent of all features without
    one. The dual variables of the sets that the algorithm contracts are multipliers of their cluster constraints:
    they are nested, at most n - 1 of them, and leave no gap (Edmonds, J. Research of the National Bureau of Standards
    71B, 1967). Scores are converted to whole numbers, so additions and subtractions are exact.

    Raises
    ------
    ValueError
        If every choice has a cycle.
    """
    n, sets = part.n, len(part.scores)
    lost = part.scores - np.maximum.reduceat(part.scores, part.starts[:-1])[part.children]
    # Losses are counted in steps such that sums over all features, and differences of these, stay exact.
    step = float(-lost.min()) * 4 * (n + 1) / LARGEST_SUM or 1.0
    at, parents = np.nonzero(unpack(part.masks, n))
    tails = np.full(sets, n)
    tails[at] = parents
    place = np.full((n, n + 1), -1)
    place[part.children, tails] = np.arange(sets)
    admitted = place >= 0
    weights = np.where(admitted, np.rint(lost / step)[place], 0.0).astype(np.int64)
    chosen, inside, credits = np.empty(n, np.int64), np.empty((n, n), np.bool_), np.empty(n, np.int64)
    ties = np.zeros_like(weights), admitted, 0, chosen, np.empty_like(admitted), np.empty_like(weights)
    if not best_arborescence(weights, *ties, inside, credits):
        raise ValueError("every choice of the listed parent sets has a cycle")
    used = credits > 0
    clusters = Clusters(pack(inside[used]), np.ones(int(used.sum()), np.int64))
    return Branching(place[np.arange(n), chosen], clusters, credits[used].astype(np.float64) * step)


def _highest(part: Lists) -> tuple[Floats, Positions]:
    """Return the highest scores over the subsets of all sets, see :func:`best_totals`, and the masks of the sets."""
    n = part.n
    masks = part.masks[:, 0].astype(np.int64)
    best = np.full((n, 1 << (n - 1)), -np.inf)
    np.maximum.at(best, (part.children, _without_child(masks, part.children)), part.scores)
    for b in range(n - 1):
        halves = best.reshape(n, -1, 2, 1 << b)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    return best, masks


def _without_child(masks: Positions, children: Positions) -> Positions:
    """Return masks with the bit of the child, which is not set, removed."""
    compressed: Positions = (masks >> (children + 1) << children) | (masks & ((1 << children) - 1))
    return compressed


def exhausted(part: Lists) -> tuple[Positions, float]:
    """Return a best choice and its total, by dynamic programming."""
    n = part.n
    best, masks = _highest(part)
    totals = best_totals(best)
    places = np.zeros(n, np.int64)
    left = (1 << n) - 1
    while left:
        own = (left >> part.children & 1).astype(np.bool_) & (masks & ~left == 0)
        listed = np.flatnonzero(own)
        reached = totals[left & ~(1 << part.children[listed])] + part.scores[listed]
        k = int(listed[reached.argmax()])
        sink = int(part.children[k])
        places[sink] = k
        left &= ~(1 << sink)
    return places, max(float(totals[-1]), float(part.scores[places].sum()))


def totals_with_each_exhausted(part: Lists) -> Floats:
    """Return, for every set, the highest total of an acyclic choice with it: what comes before and after it."""
    n = part.n
    best, masks = _highest(part)
    totals, following = best_totals(best), best_completions(best)
    sets = np.arange(1 << (n - 1))
    around = np.empty((n, 1 << (n - 1)))
    for i in range(n):
        before = (sets >> i << (i + 1)) | (sets & ((1 << i) - 1))
        around[i] = totals[before] + following[before | 1 << i]
    for b in range(n - 1):
        halves = around.reshape(n, -1, 2, 1 << b)
        np.maximum(halves[:, :, 0], halves[:, :, 1], out=halves[:, :, 0])
    totals_with: Floats = around[part.children, _without_child(masks, part.children)] + part.scores
    return totals_with
