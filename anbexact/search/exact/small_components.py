"""Small components of listed parent sets, solved by dynamic programming over all subsets."""

from __future__ import annotations

import numpy as np

from anbexact._kernels.families import best_completions, best_totals
from anbexact._runtime.arrays import Floats, Positions
from anbexact.search.exact.listed_sets import Lists


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
