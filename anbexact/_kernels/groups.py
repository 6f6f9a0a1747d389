"""Divisions of values into groups, in any order, that minimise a sum over groups plus a price of their number.

``sums[v, j]`` is the weight of class j in value v; ``logs`` is as in ``modl.py``.
"""

import numpy as np

from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.modl import interval_cost


@kernel
def log_divisions(n_values, most):
    """Return ln B(V, k) for k up to ``most``: B counts the divisions of V values into at most k groups (B(V, 0) = 0).

    Stirling's recurrence S(v, k) = k S(v - 1, k) + S(v - 1, k - 1), in logs, then sums over k.
    """
    most = min(most, n_values)
    logs = np.full(most + 1, -np.inf)  # ln S(v, k)
    logs[0] = 0.0
    for v in range(1, n_values + 1):
        for k in range(min(v, most), 0, -1):
            logs[k] = np.logaddexp(logs[k] + np.log(k), logs[k - 1])
        logs[0] = -np.inf
    for k in range(1, most + 1):
        logs[k] = np.logaddexp(logs[k], logs[k - 1])
    return logs


@inner
def _group_cost(sums, pair, logs):
    """Return the cost of a group with these class weights; ``pair`` is room for two rows."""
    pair[1] = sums
    return interval_cost(pair, 0, 1, logs)


@kernel
def best_division(sums, prices, most, tie, logs):
    """Return the group of every value in a division of least cost: exact, over all sets of values (3^V steps)."""
    n_values = len(sums)
    most = min(most, n_values)
    size = 1 << n_values
    pair = np.zeros((2, sums.shape[1]))
    costs = np.zeros(size)
    total = np.zeros(sums.shape[1])
    for group in range(1, size):
        total[:] = 0.0
        for v in range(n_values):
            if group >> v & 1:
                total += sums[v]
        costs[group] = _group_cost(total, pair, logs)
    sofar = costs.copy()
    sofar[0] = np.inf
    last = np.zeros((most + 1, size), np.int32)  # the group that holds the first value, by number of groups
    last[1] = np.arange(size)
    best, best_k = sofar[size - 1] + prices[1], 1
    for k in range(2, most + 1):
        following = np.full(size, np.inf)
        for values in range(1, size):
            first = values & -values
            rest = values ^ first
            others = rest
            while others > 0:  # every non-empty set of values that are not grouped with the first
                cost = costs[values ^ others] + sofar[others]
                if cost < following[values] - tie:
                    following[values] = cost
                    last[k, values] = values ^ others
                others = (others - 1) & rest
        sofar = following
        if sofar[size - 1] + prices[k] < best - tie:
            best, best_k = sofar[size - 1] + prices[k], k
    of_value = np.zeros(n_values, np.int64)
    values = size - 1
    for k in range(best_k, 0, -1):
        for v in range(n_values):
            if last[k, values] >> v & 1:
                of_value[v] = best_k - k
        values ^= last[k, values]
    return of_value


@kernel
def joined_values(sums, prices, most, tie, logs):
    """Join groups, always the two whose union costs least, down to one; return the division of least cost on the way.

    Returns the group of every value, numbered from 0.
    """
    n_values = len(sums)
    pair = np.zeros((2, sums.shape[1]))
    totals = sums.copy()
    alive = np.ones(n_values, np.bool_)
    costs = np.empty(n_values)
    for v in range(n_values):
        costs[v] = _group_cost(totals[v], pair, logs)
    rise = np.full((n_values, n_values), np.inf)
    nearest = np.zeros(n_values, np.int64)
    for v in range(n_values):
        for u in range(v):
            rise[v, u] = _group_cost(totals[v] + totals[u], pair, logs) - costs[v] - costs[u]
        nearest[v] = rise[v].argmin()
    cost = costs.sum()
    group = np.arange(n_values)
    best, best_group = np.inf, group.copy()
    for k in range(n_values, 0, -1):
        if k <= most and cost + prices[k] <= best + tie:  # of equal ones the one with fewer groups
            best, best_group = cost + prices[k], group.copy()
        if k == 1:
            break
        v, lowest = -1, np.inf
        for w in range(n_values):
            if alive[w] and rise[w, nearest[w]] < lowest:
                v, lowest = w, rise[w, nearest[w]]
        u = nearest[v]
        cost += lowest
        group[group == v] = u
        alive[v] = False
        totals[u] += totals[v]
        costs[u] = _group_cost(totals[u], pair, logs)
        rise[v] = np.inf
        rise[:, v] = np.inf
        for w in range(n_values):
            if alive[w] and w != u:
                value = _group_cost(totals[w] + totals[u], pair, logs) - costs[w] - costs[u]
                rise[max(u, w), min(u, w)] = value
        for w in range(n_values):
            if alive[w]:
                nearest[w] = rise[w].argmin()
    numbers = np.full(n_values, -1)
    n_groups = 0
    for v in range(n_values):
        if numbers[best_group[v]] < 0:
            numbers[best_group[v]] = n_groups
            n_groups += 1
    return numbers[best_group]


@kernel
def moved_values(sums, group, prices, tie, logs):
    """Move values, one at a time, to the group where they cost least, until no move helps; change ``group`` in place.

    A group whose last value leaves is gone; its number stays unused.
    """
    n_values, n_classes = sums.shape
    n_groups = group.max() + 1
    pair = np.zeros((2, n_classes))
    totals = np.zeros((n_groups, n_classes))
    sizes = np.zeros(n_groups, np.int64)
    for v in range(n_values):
        totals[group[v]] += sums[v]
        sizes[group[v]] += 1
    costs = np.empty(n_groups)
    for g in range(n_groups):
        costs[g] = _group_cost(totals[g], pair, logs)
    changed = True
    while changed:
        changed = False
        for v in range(n_values):
            g = group[v]
            k = (sizes > 0).sum()
            without = totals[g] - sums[v]
            left = (
                _group_cost(without, pair, logs) - costs[g] if sizes[g] > 1 else -costs[g] + prices[k - 1] - prices[k]
            )
            best, place = -tie, g
            for h in range(n_groups):
                if h != g and sizes[h] > 0:
                    change = left + _group_cost(totals[h] + sums[v], pair, logs) - costs[h]
                    if change < best - tie:
                        best, place = change, h
            if place != g:
                totals[place] += sums[v]
                totals[g] = without
                sizes[place] += 1
                sizes[g] -= 1
                group[v] = place
                costs[place] = _group_cost(totals[place], pair, logs)
                costs[g] = _group_cost(without, pair, logs) if sizes[g] > 0 else 0.0
                changed = True
