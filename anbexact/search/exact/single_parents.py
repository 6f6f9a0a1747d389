"""Components in which no listed set has two parents: maximum branchings, and the clusters that prove them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anbexact._kernels.arborescence import best_arborescence
from anbexact._runtime.arrays import Floats, Positions
from anbexact.search.exact.cutting_planes import Clusters
from anbexact.search.exact.listed_sets import Lists
from anbexact.search.exact.parent_sets import pack, unpack

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
