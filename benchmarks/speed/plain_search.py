"""The plain exact search, as a yardstick: partition refinement over all sets, one thread, nothing clever."""

import math

import numpy as np
from numba import njit


@njit(cache=True)
def plain_set_scores(codes, cells0, arities, classes, ess, scores):
    """Fill ``scores[mask]`` with BDeu set scores (class joined), by depth-first refinement of the rows."""
    n, n_rows = codes.shape
    cells = np.zeros((n + 1, n_rows), np.int64)
    n_cells = np.zeros(n + 1, np.int64)
    cells[n] = cells0
    n_cells[n] = classes
    q = np.ones(n + 1)
    q[n] = classes
    counts = np.zeros(n_rows + 1)
    names = np.empty(n_rows * (arities.max() + 1), np.int64)
    for mask in range(1 << n):
        level = n
        changed = mask ^ (mask - 1) if mask else (1 << n) - 1
        for b in range(n - 1, -1, -1):
            level = b
            if not (changed >> b) & 1:
                continue
            if (mask >> b) & 1:
                q[level] = q[level + 1] * arities[b]
                names[: n_cells[level + 1] * arities[b]] = -1
                fresh = 0
                for t in range(n_rows):
                    key = cells[level + 1, t] * arities[b] + codes[b, t]
                    if names[key] < 0:
                        names[key] = fresh
                        fresh += 1
                    cells[level, t] = names[key]
                n_cells[level] = fresh
            else:
                q[level] = q[level + 1]
                cells[level] = cells[level + 1]
                n_cells[level] = n_cells[level + 1]
        counts[: n_cells[0]] = 0.0
        for t in range(n_rows):
            counts[cells[0, t]] += 1.0
        a = ess / q[0]
        base = math.lgamma(a)
        total = 0.0
        for c in range(n_cells[0]):
            if counts[c] > 0:
                total += math.lgamma(a + counts[c]) - base
        scores[mask] = total


@njit(cache=True)
def plain_optimum(scores, n):
    """Return the score of the best network over all features (Silander and Myllymäki, 2006)."""
    best = np.empty((n, 1 << n))
    optimum = np.zeros(1 << n)
    for members in range(1 << n):
        for i in range(n):
            if (members >> i) & 1:
                continue
            value = scores[members | (1 << i)] - scores[members]
            for j in range(n):
                if (members >> j) & 1:
                    value = max(value, best[i, members ^ (1 << j)])
            best[i, members] = value
        if members:
            value = -np.inf
            for i in range(n):
                if (members >> i) & 1:
                    rest = members ^ (1 << i)
                    value = max(value, optimum[rest] + best[i, rest])
            optimum[members] = value
    return optimum[-1]
