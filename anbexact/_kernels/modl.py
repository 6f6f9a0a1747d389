"""Partitions of a sorted column that minimise a sum over intervals plus a price of their number.

The rows come as blocks in order; ``sums[b, j]`` is the weight of class j in the blocks before b, so that the class
weights of an interval are a difference of two rows. ``logs[k]`` is ln Γ(k) for whole k, where all weights are whole
numbers; empty otherwise. Intervals are ``a:b``, in blocks.
"""

import heapq
import math

import numpy as np

from anbexact._kernels.jit import inner, kernel


@inner
def _log_gamma(x, logs):
    return logs[int(x + 0.5)] if len(logs) > 0 else math.lgamma(x)


@kernel
def interval_cost(sums, a, b, logs):
    """Return ln C(n + J - 1, J - 1) + ln(n! / Π n_j!) of an interval of weight n and class weights n_j (nats)."""
    n_classes = sums.shape[1]
    total = 0.0
    cost = -_log_gamma(float(n_classes), logs)
    for j in range(n_classes):
        n = sums[b, j] - sums[a, j]
        total += n
        cost -= _log_gamma(n + 1.0, logs)
    return cost + _log_gamma(total + n_classes, logs)


@kernel
def joined_blocks(sums, most, logs):
    """Join neighbouring intervals, always the two whose union costs least, until there are ``most``.

    Returns the starts of the intervals, and the number of blocks at the end.
    """
    n_blocks = len(sums) - 1
    after = np.arange(1, n_blocks + 1)
    before = np.arange(-1, n_blocks - 1)
    alive = np.ones(n_blocks, np.bool_)
    costs = np.empty(n_blocks)
    for b in range(n_blocks):
        costs[b] = interval_cost(sums, b, b + 1, logs)
    heap = [
        (interval_cost(sums, b, b + 2, logs) - costs[b] - costs[b + 1], b, b + 1, b + 2) for b in range(n_blocks - 1)
    ]
    heapq.heapify(heap)
    left = n_blocks
    while left > most:
        _, a, m, b = heapq.heappop(heap)
        if not (alive[a] and alive[m] and after[a] == m and after[m] == b):
            continue
        alive[m] = False
        after[a] = b
        costs[a] = interval_cost(sums, a, b, logs)
        left -= 1
        if b < n_blocks:
            before[b] = a
            e = after[b]
            heapq.heappush(heap, (interval_cost(sums, a, e, logs) - costs[a] - costs[b], a, b, e))
        if before[a] >= 0:
            p = before[a]
            heapq.heappush(heap, (interval_cost(sums, p, b, logs) - costs[p] - costs[a], p, a, b))
    return np.append(np.flatnonzero(alive), n_blocks)


@kernel
def best_partition(sums, prices, most, tie, logs):
    """Return the ends of the intervals of a partition of least cost, 0 and the number of blocks among them.

    Exact dynamic programming over the number k of intervals, up to ``most``, whose price ``prices[k]`` grows
    with k. Of partitions whose costs differ by at most ``tie``, one with fewer intervals, then the lowest last
    cut, is taken.
    """
    n_blocks = len(sums) - 1
    most = min(most, n_blocks)
    costs = np.empty((n_blocks, n_blocks + 1))
    free = np.zeros(n_blocks + 1)  # the least sum over any number of intervals: a bound
    for b in range(1, n_blocks + 1):
        free[b] = np.inf
        for a in range(b):
            costs[a, b] = interval_cost(sums, a, b, logs)
            free[b] = min(free[b], free[a] + costs[a, b])
    sofar = costs[0].copy()
    sofar[0] = np.inf
    places = [np.zeros(n_blocks + 1, np.int32)]
    best = sofar[n_blocks] + prices[1]
    best_k = 1
    following = np.empty(n_blocks + 1)
    for k in range(2, most + 1):
        if prices[k] + free[n_blocks] >= best - tie:
            break
        place = np.zeros(n_blocks + 1, np.int32)
        following[:k] = np.inf
        for b in range(k, n_blocks + 1):
            value = np.inf
            for a in range(k - 1, b):
                if sofar[a] + costs[a, b] < value - tie:
                    value = sofar[a] + costs[a, b]
                    place[b] = a
            following[b] = value
        places.append(place)
        sofar, following = following, sofar
        if sofar[n_blocks] + prices[k] < best - tie:
            best = sofar[n_blocks] + prices[k]
            best_k = k
    ends = np.empty(best_k + 1, np.int64)
    ends[best_k] = n_blocks
    for k in range(best_k, 0, -1):
        ends[k - 1] = places[k - 1][ends[k]]
    return ends


@inner
def _best_split(sums, a, b, tie, logs):
    """Return the cheapest division of an interval in two, and its cost; infinite if there is one block only."""
    best, place = np.inf, a
    for m in range(a + 1, b):
        cost = interval_cost(sums, a, m, logs) + interval_cost(sums, m, b, logs)
        if cost < best - tie:
            best, place = cost, m
    return best, place


@kernel
def improved(sums, ends, prices, most, tie, logs):
    """Improve a partition by single steps, until none helps: move a cut, split, join two, or join three and split.

    ``ends`` are the ends of the intervals, as from :func:`best_partition`; ``prices`` as there.
    """
    cuts = [ends[k] for k in range(len(ends))]
    changed = True
    while changed:
        changed = False
        for joined in range(3):  # cuts that a step takes away; it then adds one, or none
            i = 0
            while i + joined + 1 < len(cuts):
                a, b, k = cuts[i], cuts[i + joined + 1], len(cuts) - 1 - joined
                now = prices[k + joined]
                for m in range(i, i + joined + 1):
                    now += interval_cost(sums, cuts[m], cuts[m + 1], logs)
                whole, parted, place = np.inf, np.inf, a
                if k >= 1:
                    whole = interval_cost(sums, a, b, logs) + prices[k]
                if k + 1 <= most:
                    parted, place = _best_split(sums, a, b, tie, logs)
                    parted += prices[k + 1]
                if min(whole, parted) < now - tie:
                    for _ in range(joined):
                        cuts.pop(i + 1)
                    if parted < whole:
                        cuts.insert(i + 1, place)
                    changed = True
                i += 1
    return np.array(cuts)
