"""Dynamic programme over the subsets of n features, in blocks and layers.

A set is a bit mask. Its ``low_bits`` lowest bits are its place within a block, the rest names the block. Blocks are
processed in layers of equal popcount; a block needs only itself and the blocks one bit smaller, so two layers of best
parent-set scores are held at a time, and the blocks of a layer run in parallel.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._kernels.jit import inner, kernel


class ParentLimits(NamedTuple):
    """Which sets of parents are admitted.

    Attributes
    ----------
    allowed, required : (n,) int64
        Masks of the features that may, and that must, be parents of each feature.
    max_parents, free : int, bool
        Limit on feature parents; whether no constraint can bind.
    """

    allowed: npt.NDArray[np.int64]
    required: npt.NDArray[np.int64]
    max_parents: int
    free: bool


@kernel
def popcount(x):
    """Return the number of ones of a whole number of 64 bits."""
    x = x - ((x >> 1) & 0x5555555555555555)
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((x * 0x0101010101010101) >> 56) & 0x7F


@inner
def _feasible(parents, allowed, required, max_parents):
    """Return whether a set of parents meets the constraints."""
    return (parents & ~allowed) == 0 and (required & ~parents) == 0 and popcount(parents) <= max_parents


@inner
def subset_maximum(x):
    """Replace x[S] by the maximum over the subsets of S, in place; ``len(x)`` is a power of two."""
    n = x.shape[0]
    if n >= 8:
        for s in range(0, n, 8):
            a, b, c, d = x[s], x[s + 1], x[s + 2], x[s + 3]
            e, f, g, h = x[s + 4], x[s + 5], x[s + 6], x[s + 7]
            b = max(a, b)
            d = max(c, d)
            f = max(e, f)
            h = max(g, h)
            c = max(a, c)
            d = max(b, d)
            g = max(e, g)
            h = max(f, h)
            x[s + 1], x[s + 2], x[s + 3] = b, c, d
            x[s + 4], x[s + 5], x[s + 6], x[s + 7] = max(a, e), max(b, f), max(c, g), max(d, h)
        step = 8
    else:
        step = 1
    while step < n:
        for s in range(0, n, 2 * step):
            lower = x[s : s + step]
            upper = x[s + step : s + 2 * step]
            for t in range(step):
                upper[t] = max(lower[t], upper[t])
        step *= 2


@inner
def _raise_to(x, y):
    for t in range(x.shape[0]):
        x[t] = max(x[t], y[t])


@inner
def _low_child_scores(scores, block, child, low_bits, limits, best):
    """Local scores of a low feature for the parent sets (block, W), W without the child's own bit."""
    allowed, required, max_parents = limits.allowed[child], limits.required[child], limits.max_parents
    base = block << low_bits
    bit = 1 << child
    for upper in range(0, best.shape[0], bit):
        start = base + (upper << 1)
        without = scores[start : start + bit]
        within = scores[start + bit : start + 2 * bit]
        here = best[upper : upper + bit]
        for t in range(bit):
            here[t] = within[t] - without[t]
        if not limits.free:
            for t in range(bit):
                if not _feasible(start + t, allowed, required, max_parents):
                    here[t] = -np.inf


@inner
def _high_child_scores(scores, block, child, low_bits, limits, best):
    """Local scores of a high feature outside the block for the parent sets (block, W)."""
    allowed, required, max_parents = limits.allowed[child], limits.required[child], limits.max_parents
    base = block << low_bits
    other = (block | (1 << (child - low_bits))) << low_bits
    without = scores[base : base + best.shape[0]]
    within = scores[other : other + best.shape[0]]
    for t in range(best.shape[0]):
        best[t] = within[t] - without[t]
    if not limits.free:
        for t in range(best.shape[0]):
            if not _feasible(base + t, allowed, required, max_parents):
                best[t] = -np.inf


@inner
def _slot(block, child, low_bits):
    """Return the place, in half blocks, of the best scores of ``child`` among those of ``block``."""
    if child < low_bits:
        return child
    outside = ~block & ((1 << (child - low_bits)) - 1)
    return low_bits + 2 * popcount(outside)


@inner
def best_sinks(total, best, half):
    """Raise the totals of the sets of a block by their best low sink.

    ``best[child * half + W]`` is the best local score of a low child over the subsets of W, W without the
    child's own bit. Sets come in numerical order, eight at a time; when the lowest bit above these eight
    is taken in, all sets that differ from finished ones by that bit alone are raised in one sweep.
    """
    width = total.shape[0]
    for base in range(0, width, 8):
        if base:
            child = 3
            while not (base >> child) & 1:
                child += 1
            bit = 1 << child
            lower = total[base - bit : base]
            upper = total[base : base + bit]
            place = child * half + ((base >> (child + 1)) << child)
            local = best[place : place + bit]
            for t in range(bit):
                upper[t] = max(upper[t], lower[t] + local[t])
        for w in range(base + 1, min(base + 8, width)):
            value = total[w]
            if w & 1:
                value = max(value, total[w ^ 1] + best[w >> 1])
            if w & 2:
                value = max(value, total[w ^ 2] + best[half + (((w >> 2) << 1) | (w & 1))])
            if w & 4:
                value = max(value, total[w ^ 4] + best[2 * half + (((w >> 3) << 2) | (w & 3))])
            total[w] = value


@kernel
def solve_blocks(blocks, places, first, low_bits, scores, limits, previous, current, optimum):
    """Solve some blocks of one layer.

    Parameters
    ----------
    blocks : (k,) int64
        The blocks, all of one popcount; ``blocks[t]`` is number ``first + t`` of its layer.
    places : (2**(n - low_bits),) int64
        Number of every block within its layer.
    low_bits : int
        Bits of a set that are its place within a block.
    scores, optimum : (2**n,) float64
        Set scores; best total score of a network over each set (written for these blocks).
    limits : ParentLimits
        The constraints.
    previous, current : (blocks of the layer, slots, 2**(low_bits - 1)) float64
        Best local score of each child over the subsets of every set, for the layer before and this one.
    """
    n = limits.allowed.shape[0]
    half = 1 << max(low_bits - 1, 0)
    width = 1 << low_bits
    high_bits = n - low_bits
    for t in range(blocks.shape[0]):
        block = blocks[t]
        mine = current[first + t].reshape(-1)
        base = block << low_bits
        total = optimum[base : base + width]
        total[:] = -np.inf
        if block == 0:
            total[0] = 0.0
        for j in range(high_bits):
            if not (block >> j) & 1:
                continue
            smaller = block ^ (1 << j)
            place = _slot(smaller, low_bits + j, low_bits) * half
            best = previous[places[smaller]].reshape(-1)[place : place + width]
            below = optimum[smaller << low_bits : (smaller << low_bits) + width]
            for w in range(width):
                total[w] = max(total[w], below[w] + best[w])
        for child in range(n):
            low = child < low_bits
            if not low and (block >> (child - low_bits)) & 1:
                continue
            length = half if low else width
            place = _slot(block, child, low_bits) * half
            best = mine[place : place + length]
            if low:
                _low_child_scores(scores, block, child, low_bits, limits, best)
            else:
                _high_child_scores(scores, block, child, low_bits, limits, best)
            subset_maximum(best)
            for j in range(high_bits):
                if (block >> j) & 1:
                    smaller = block ^ (1 << j)
                    place = _slot(smaller, child, low_bits) * half
                    _raise_to(best, previous[places[smaller]].reshape(-1)[place : place + length])
        best_sinks(total, mine, half)


@inner
def _first_parent_set(scores, child, candidates, size, threshold, limits, order):
    """First set by the tie rule, among subsets of ``candidates`` of a size, whose local score reaches ``threshold``.

    Returns -1 when there is none. ``order`` are all bits in the table's feature order.
    """
    bit = 1 << child
    candidates &= limits.allowed[child]
    required = limits.required[child]
    bits = np.empty(order.shape[0], dtype=np.int64)
    n = 0
    for b in order:
        if (candidates >> b) & 1:
            bits[n] = 1 << b
            n += 1
    if size > min(n, limits.max_parents):
        return np.int64(-1)
    chosen = np.arange(size)  # numbers of candidates, ascending: the next set is the next one in feature order
    while True:
        subset = np.int64(0)
        for k in range(size):
            subset |= bits[chosen[k]]
        if scores[subset | bit] - scores[subset] >= threshold and (required & ~subset) == 0:
            return subset
        last = size - 1
        while last >= 0 and chosen[last] == n - size + last:
            last -= 1
        if last < 0:
            return np.int64(-1)
        chosen[last] += 1
        for k in range(last + 1, size):
            chosen[k] = chosen[k - 1] + 1


@kernel
def first_parent_sets(scores, optimum, members, size, tolerance, limits, order):
    """Return, for every member of a set, its first parent set of a size with which it ends an optimal order.

    Parameters
    ----------
    scores, optimum : (2**n,) float64
        Set scores, and the scores of the best structures over all sets, in nats.
    members : int
        The set, as a mask.
    size : int
        Number of parents.
    tolerance : float
        Difference, in nats, of scores that count as equal.
    limits : ParentLimits
    order : (n,) int64
        All bits in the table's feature order.

    Returns
    -------
    (n,) int64
        Masks, the first by the tie rule; -1 for a bit that is not a member, or that has no such parent set.
    """
    found = np.full(len(order), -1, dtype=np.int64)
    for b in range(len(order)):
        if members >> b & 1:
            rest = members & ~(1 << b)
            threshold = optimum[members] - optimum[rest] - tolerance
            found[b] = _first_parent_set(scores, b, rest, size, threshold, limits, order)
    return found
