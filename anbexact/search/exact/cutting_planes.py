"""Upper bounds on acyclic choices of parent sets: a linear relaxation with cluster inequalities.

Variables x_iW ≥ 0 with Σ_W x_iW = 1 for every feature i, and for clusters K of features

    Σ_{i ∈ K} Σ_{|W ∩ K| < k} x_iW ≥ k,  1 ≤ k < |K|

(k = 1: Jaakkola et al., Learning Bayesian network structure using LP relaxations, AISTATS 2010; k > 1: Cussens,
Bayesian network learning with cutting planes, UAI 2011). The multipliers z_K of the clusters prove the bound Σ_i
max_W [score + Σ_{K ∋ i, |W ∩ K| < k} z_K] - Σ_K k z_K, no matter how they were found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from anbexact._kernels.clusters import cycles, violated_clusters
from anbexact._runtime.arrays import Floats, Positions
from anbexact.search.exact.parent_sets import Arc, Lists, Masks, pack, unpack

NEW_CUTS = 80
"""Maximum number of clusters added at a time."""
ENOUGH_CUTS = 0.5
"""Number of violated clusters per feature at which the search for more of them ends."""
MOST_FOUND = 2000
"""Violated clusters among which the most violated are chosen."""
RANDOM_STARTS = 40
"""Number of random sets, in addition to others, from which the search for violated clusters starts."""
MOST_LEAST = 3
"""Highest k of the inequalities."""
MOST_STEPS = 30
"""Features added or removed in the search for violated clusters, from every start."""
MOST_SHARED_FEATURES = 0.7
"""Maximum share of common features, among the features in either, of two clusters added together."""
LEAST_VIOLATION = 1e-3
"""Minimum violation of a cluster inequality for it to be added."""


@dataclass(frozen=True)
class Clusters:
    """Clusters K, each with a number k: at least k features of K must have fewer than k parents in K.

    Attributes
    ----------
    masks : (clusters, words) uint64
        K.
    least : (clusters,) int64
        k.
    """

    masks: Masks
    least: Positions

    @classmethod
    def none(cls, lists: Lists) -> Clusters:
        """Return an empty collection of clusters for the features of some lists."""
        return cls(np.zeros((0, lists.masks.shape[1]), np.uint64), np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.least)

    def those(self, which: npt.NDArray[np.bool_]) -> Clusters:
        """Return some of the clusters."""
        return Clusters(self.masks[which], self.least[which])

    def distinct(self) -> Clusters:
        """Return each of the clusters once."""
        whole = np.unique(np.column_stack([self.masks, self.least.astype(np.uint64)]), axis=0)
        return Clusters(np.ascontiguousarray(whole[:, :-1]), whole[:, -1].astype(np.int64))

    def and_also(self, other: Clusters) -> Clusters:
        """Return the union of these clusters and others."""
        return Clusters(np.concatenate([self.masks, other.masks]), np.concatenate([self.least, other.least]))


def separate(
    lists: Lists, chosen: Positions, columns: Positions, shares: Floats, rng: Generator
) -> tuple[Clusters, tuple[Arc, ...]]:
    """Return clusters that a solution of the relaxation violates, and the arcs with shares between 0 and 1.

    The arcs are sorted by the difference in mean score between their two cases, multiplied by the shares of both
    cases, the largest first.

    Parameters
    ----------
    chosen : (features,) int64
        The best choice known: clusters are preferred whose inequalities it satisfies with equality.
    columns, shares : (sets,)
        The sets with positive shares, and their shares.
    """
    n = lists.n
    bits = unpack(lists.masks[columns], n)
    at, parents = np.nonzero(bits)
    children = lists.children[columns]
    mass = np.zeros((n, n))
    np.add.at(mass, (parents, children[at]), shares[at])
    scores = shares * lists.scores[columns]
    worth = np.zeros((n, n))
    np.add.at(worth, (parents, children[at]), scores[at])
    split = (mass > 1e-6) & (mass < 1.0 - 1e-6)
    weight = np.abs(worth * (1.0 - mass) - (np.bincount(children, weights=scores, minlength=n) - worth) * mass)
    order = np.argsort(np.where(split, -weight, np.inf), axis=None, kind="stable")
    arcs = tuple((int(k) // n, int(k) % n) for k in order[: split.sum()])
    return _found(lists, chosen, columns, shares, rng), arcs


def _found(lists: Lists, chosen: Positions, columns: Positions, shares: Floats, rng: Generator) -> Clusters:
    """Return clusters violated half way to the best choice; if they are few, also those violated here."""
    n = lists.n
    most = min(MOST_LEAST, int(np.bitwise_count(lists.masks[columns]).sum(axis=1).max()))
    halves = np.append(columns, chosen), np.append(shares, np.ones(n)) / 2.0
    found = Clusters.none(lists)
    for at, weights in (halves, (columns, shares)):
        for least in range(1, most + 1):
            found = found.and_also(_violated(lists, at, weights, least, rng))
        if len(found) >= ENOUGH_CUTS * n:
            break
    return found.distinct()


def _violated(lists: Lists, columns: Positions, shares: Floats, least: int, rng: Generator) -> Clusters:
    """Return clusters with a sum below ``least``, the most violated that are not too alike."""
    n = lists.n
    bits = unpack(lists.masks[columns], n)
    at, parents = map(np.ascontiguousarray, np.nonzero(bits))  # not views, which kernels take for another type
    children = lists.children[columns]
    pointers = np.searchsorted(at, np.arange(len(columns) + 1))
    starts = rng.random((RANDOM_STARTS, n)) < np.linspace(0.1, 0.6, RANDOM_STARTS)[:, None]
    if least == 1:
        mass = np.zeros((n, n))
        np.add.at(mass, (parents, children[at]), shares[at])
        starts = np.concatenate([cycles(mass), starts])
    else:
        families = bits.copy()
        families[np.arange(len(children)), children] = True
        starts = np.concatenate([families, ~np.eye(n + 1, n, dtype=np.bool_), starts])
    found, sums = violated_clusters(
        n, children, shares, pointers, parents, least, starts, LEAST_VIOLATION, MOST_STEPS, MOST_FOUND
    )
    sizes = found.sum(axis=1)
    kept: list[int] = []
    rows = found.astype(np.float64)
    for k in np.lexsort((sizes, sums)).tolist():
        common = rows[kept] @ rows[k]
        if not np.any(common > MOST_SHARED_FEATURES * (sizes[kept] + sizes[k] - common)):
            kept.append(k)
            if len(kept) == NEW_CUTS:
                break
    return Clusters(pack(found[kept]), np.full(len(kept), least))
