"""Cluster inequalities: their credits to parent sets, their coefficients, and the violated ones."""

import numpy as np

from anbexact._kernels.copying import copy_to
from anbexact._kernels.jit import inner, kernel


@inner
def _fewer(one, other, least):
    """Return whether two sets share fewer than ``least`` features (at least 1)."""
    count = 0
    for w in range(len(one)):
        common = one[w] & other[w]
        while common:
            count += 1
            if count == least:
                return False
            common &= common - np.uint64(1)
    return True


@kernel
def credited(masks, starts, scores, forbidden, required, clusters, least, multipliers):
    """Return score + Σ z_K over the clusters K that hold the child and fewer than k of the parents, for every set.

    k is ``least[K]``. The value is -inf where ``forbidden[i]`` or ``required[i]`` (sets of features) exclude the set.
    Shape (sets,).
    """
    values = np.full(len(scores), -np.inf)
    n = len(starts) - 1
    words = masks.shape[1]
    own = np.empty(len(clusters), np.int64)
    for i in range(n):
        count = 0
        for k in range(len(clusters)):
            if multipliers[k] > 0 and (clusters[k, i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
                own[count] = k
                count += 1
        for s in range(starts[i], starts[i + 1]):
            admitted = True
            for w in range(words):
                if masks[s, w] & forbidden[i, w] or required[i, w] & ~masks[s, w]:
                    admitted = False
                    break
            if not admitted:
                continue
            value = scores[s]
            for k in range(count):
                if _fewer(masks[s], clusters[own[k]], least[own[k]]):
                    value += multipliers[own[k]]
            values[s] = value
    return values


@kernel
def incidence(masks, children, columns, clusters, least):
    """Return the clusters in which each of some columns counts, as the pointers and indices of a sparse matrix.

    Column c is the set ``columns[c]``; it counts in the clusters that hold its child and fewer than
    ``least[K]`` of its parents.
    """
    pointers = np.zeros(len(columns) + 1, np.int64)
    indices = np.empty(max(16, 4 * len(columns)), np.int64)
    count = 0
    for c in range(len(columns)):
        s = columns[c]
        i = children[s]
        if count + len(clusters) > len(indices):
            larger = np.empty(2 * len(indices) + len(clusters), np.int64)
            copy_to(larger, indices[:count])
            indices = larger
        for k in range(len(clusters)):
            if (clusters[k, i >> 6] >> np.uint64(i & 63)) & np.uint64(1) and _fewer(masks[s], clusters[k], least[k]):
                indices[count] = k
                count += 1
        pointers[c + 1] = count
    return pointers, indices[:count]


@inner
def _deltas(children, shares, pointers, parents, least, inside, hits, add, remove):
    """Set how the sum over a cluster changes when a feature is added, or removed (infinite if too few stay)."""
    add[:] = 0.0
    remove[:] = 0.0
    if inside.sum() <= least + 1:
        remove[:] = np.inf
    for c in range(len(children)):
        i = children[c]
        if hits[c] < least:
            if inside[i]:
                remove[i] -= shares[c]
                if hits[c] == least - 1:
                    for e in range(pointers[c], pointers[c + 1]):
                        add[parents[e]] -= shares[c]
            else:
                add[i] += shares[c]
        elif hits[c] == least and inside[i]:
            for e in range(pointers[c], pointers[c + 1]):
                if inside[parents[e]]:
                    remove[parents[e]] += shares[c]


@inner
def _toggle(v, children, pointers, parents, inside, hits):
    """Add a feature to the cluster, or remove it."""
    change = -1 if inside[v] else 1
    inside[v] = not inside[v]
    for c in range(len(children)):
        for e in range(pointers[c], pointers[c + 1]):
            if parents[e] == v:
                hits[c] += change


@kernel
def cycles(mass):
    """Return the cycle through every arc with a share whose arcs miss least to 1; all features; and all but one.

    Shortest paths of Floyd & Warshall with lengths 1 - share. Shape (starts, n).
    """
    n = len(mass)
    length = np.empty((n, n))
    first = np.empty((n, n), np.int64)
    for a in range(n):
        for b in range(n):
            first[a, b] = b
            length[a, b] = 1.0 - mass[a, b] if mass[a, b] > 1e-6 else np.inf
    for via in range(n):
        for a in range(n):
            if length[a, via] == np.inf:
                continue
            for b in range(n):
                if length[a, via] + length[via, b] < length[a, b] - 1e-12:
                    length[a, b] = length[a, via] + length[via, b]
                    first[a, b] = first[a, via]
    starts = np.zeros((n * n + n + 1, n), np.bool_)
    count = 0
    for a in range(n):
        for b in range(n):
            if mass[a, b] > 1e-6 and length[b, a] < np.inf:
                v = b
                for _ in range(n):
                    starts[count, v] = True
                    if v == a:
                        break
                    v = first[v, a]
                count += 1
    for a in range(n + 1):
        for v in range(n):
            starts[count, v] = v != a
        count += 1
    return starts[:count]


@inner
def _seen(key, keys, count):
    """Return whether a key is among the first ``count``."""
    seen = False
    for k in range(count):
        seen |= keys[k] == key
    return seen


@inner
def _keys(n):
    """Return fixed random numbers, whose sums tell sets of features apart (SplitMix64: Steele et al., 2014)."""
    keys = np.empty(n, np.uint64)
    for v in range(n):
        z = np.uint64(v + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys[v] = z ^ (z >> np.uint64(31))
    return keys


@kernel
def violated_clusters(n, children, shares, pointers, parents, least, starts, slack, steps, most):
    """Return clusters K with Σ_{i in K} Σ_{|W ∩ K| < k} x_iW < k - ``slack``, and these sums; k is ``least``.

    The columns with x > 0 are given by child, value, and parents (``parents[pointers[c]:pointers[c + 1]]``).
    Tabu search from every start, a row of truth values: ``steps`` times the feature whose addition or removal lowers
    the sum most, or raises it least. Shapes (found, n) and (found,); at most ``most``.
    """
    found = np.zeros((most, n), np.bool_)
    sums = np.empty(most)
    count = 0
    inside = np.zeros(n, np.bool_)
    hits = np.zeros(len(children), np.int64)
    add = np.empty(n)
    remove = np.empty(n)
    free_at = np.empty(n, np.int64)
    keys = _keys(n)
    begun = np.empty(len(starts), np.uint64)
    known = np.empty(most, np.uint64)
    for k in range(len(starts)):
        key = np.uint64(0)
        for v in range(n):
            if starts[k, v]:
                key += keys[v]
        begun[k] = key
        if starts[k].sum() <= least or _seen(key, begun, k):
            continue
        inside[:] = False
        hits[:] = 0
        free_at[:] = 0
        for v in range(n):
            if starts[k, v]:
                _toggle(v, children, pointers, parents, inside, hits)
        total = 0.0
        for c in range(len(children)):
            if inside[children[c]] and hits[c] < least:
                total += shares[c]
        for step in range(steps):
            _deltas(children, shares, pointers, parents, least, inside, hits, add, remove)
            v = -1
            change = np.inf
            lowest = np.inf
            for u in range(n):
                delta = remove[u] if inside[u] else add[u]
                lowest = min(lowest, delta)
                if free_at[u] <= step and delta < change:
                    v = u
                    change = delta
            if total < least - slack and (lowest > -1e-9 or step == 0):
                if not _seen(key, known, count):
                    known[count] = key
                    found[count] = inside
                    sums[count] = total
                    count += 1
                    if count == most:
                        return found, sums
                elif step > 0:
                    break
            if v < 0:
                break
            total += change
            free_at[v] = step + 6
            key = key - keys[v] if inside[v] else key + keys[v]
            _toggle(v, children, pointers, parents, inside, hits)
    return found[:count], sums[:count]
