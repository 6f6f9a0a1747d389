"""Set scores of all subsets of the features, by refining and merging groups of rows.

The set score of BDeu is ``F(T) = sum over observed cells t of lnΓ(a_T + N_t) - lnΓ(a_T)``, with
``a_T = ESS / q_T``. A depth-first walk decides one feature after the other, from the highest bit to
the lowest, whether it belongs to ``T``. At a node, rows of one *cell* agree on the class and on the
features already included; a cell is a run of *entries*, and an entry gathers the rows that also agree
on every feature still undecided.

- Including a feature splits each cell by its state.
- Excluding it merges the entries that differed in it alone. Rows are sorted lexicographically with the
  highest bit last in the key, so that such entries are neighbours and stay so after any split.
- A cell of a single entry can never change again. It is *settled*: it leaves the walk and is kept as a
  weight, in a histogram when the weight is a small whole number, else in a list.
"""

import math

import numpy as np
from numba import njit

HISTOGRAM = 32
"""Whole weights up to this are kept as a histogram of settled cells."""


@njit(cache=True, nogil=True)
def _cell_value(weight, values, a, log_gamma_a):
    """Return lnΓ(a + weight) - lnΓ(a), from the table of whole weights where it reaches."""
    whole = int(weight)
    if whole < values.shape[0] and whole == weight:
        return values[whole]
    return math.lgamma(weight + a) - log_gamma_a


@njit(cache=True, nogil=True)
def _settle(weight, histogram, settled, top):
    """Record a settled cell and return the new length of the list."""
    whole = int(weight)
    if whole <= HISTOGRAM and whole == weight:
        histogram[whole] += 1.0
        return top
    settled[top] = weight
    return top + 1


@njit(cache=True, nogil=True)
def _include(
    rows,
    weights,
    starts,
    n_cells,
    codes,
    counts,
    ends,
    new_rows,
    new_weights,
    new_starts,
    histogram,
    settled,
    top,
):
    """Split every cell by ``codes``; return the number of cells left and the length of the list."""
    arity = counts.shape[0]
    cells = 0
    size = 0
    for c in range(n_cells):
        first = starts[c]
        last = starts[c + 1]
        if last - first == 2:
            if codes[rows[first]] == codes[rows[first + 1]]:
                new_starts[cells] = size
                new_rows[size] = rows[first]
                new_rows[size + 1] = rows[first + 1]
                new_weights[size] = weights[first]
                new_weights[size + 1] = weights[first + 1]
                size += 2
                cells += 1
            else:
                top = _settle(weights[first], histogram, settled, top)
                top = _settle(weights[first + 1], histogram, settled, top)
            continue
        for k in range(arity):
            counts[k] = 0
        for t in range(first, last):
            counts[codes[rows[t]]] += 1
        for k in range(arity):
            if counts[k] > 1:
                new_starts[cells] = size
                ends[k] = size
                size += counts[k]
                cells += 1
        for t in range(first, last):
            k = codes[rows[t]]
            if counts[k] > 1:
                new_rows[ends[k]] = rows[t]
                new_weights[ends[k]] = weights[t]
                ends[k] += 1
            else:
                top = _settle(weights[t], histogram, settled, top)
    new_starts[cells] = size
    return cells, top


@njit(cache=True, nogil=True)
def _exclude(rows, weights, starts, n_cells, ranks, new_rows, new_weights, new_starts, histogram, settled, top):
    """Merge neighbours of equal rank in every cell; return the cells left and the length of the list."""
    cells = 0
    size = 0
    for c in range(n_cells):
        first = size
        t = starts[c]
        rank = ranks[rows[t]]
        new_rows[size] = rows[t]
        total = weights[t]
        for t in range(starts[c] + 1, starts[c + 1]):
            if ranks[rows[t]] == rank:
                total += weights[t]
            else:
                new_weights[size] = total
                size += 1
                new_rows[size] = rows[t]
                total = weights[t]
                rank = ranks[rows[t]]
        new_weights[size] = total
        size += 1
        if size - first == 1:
            size = first
            top = _settle(total, histogram, settled, top)
        else:
            new_starts[cells] = first
            cells += 1
    new_starts[cells] = size
    return cells, top


@njit(cache=True, nogil=True)
def _leaf_scores(weights, starts, n_cells, histogram, settled, top, without, a0, lga0, within, a1, lga1):
    """Scores of the two sets below a node that has only the lowest feature left to decide.

    ``without``/``within`` are the tables of cell values when that feature is left out / taken in.
    """
    low0 = low1 = high0 = high1 = 0.0
    for k in range(1, min(HISTOGRAM + 1, without.shape[0])):
        low0 += histogram[k] * without[k]
        low1 += histogram[k] * within[k]
    for t in range(top):
        low0 += _cell_value(settled[t], without, a0, lga0)
        low1 += _cell_value(settled[t], within, a1, lga1)
    for c in range(n_cells):
        total = 0.0
        for t in range(starts[c], starts[c + 1]):
            total += weights[t]
            high1 += _cell_value(weights[t], within, a1, lga1)
        high0 += _cell_value(total, without, a0, lga0)
    return low0 + high0, low1 + high1


@njit(cache=True, nogil=True)
def score_subtree(
    prefix,
    decided,
    rows0,
    weights0,
    starts0,
    codes,
    ranks,
    arities,
    strides,
    a,
    log_gamma_a,
    values,
    max_size,
    out,
):
    """Set scores of the ``2**(n - decided)`` sets whose highest ``decided`` bits are ``prefix``.

    Parameters
    ----------
    prefix, decided : int
        The subtree: bits ``n - decided`` and above of every set in it. ``decided < n``.
    rows0, weights0, starts0 : arrays
        All rows sorted by (class, feature 0, feature 1, ...), their weights, and where each class starts.
    codes : (n, rows) int16
        States of feature ``b`` (bit ``b``).
    ranks : (n + 1, rows) int32
        ``ranks[m]`` numbers the distinct combinations of features ``0 .. m-1``.
    arities, strides : (n,) int64
        States per feature; what including it adds to the index of the parent-configuration count q.
    a, log_gamma_a, values : arrays over the distinct q
        ESS / q, its lnΓ, and ``values[:, w] = lnΓ(a + w) - lnΓ(a)`` for whole w (at least up to HISTOGRAM).
    max_size : int
        Sets larger than this are not scored (left as they are in ``out``).
    out : (2**(n - decided),) float64
        Receives the scores in nats.
    """
    n = codes.shape[0]
    n_rows = rows0.shape[0]
    rows = np.empty((n + 1, n_rows + 1), np.int32)
    weights = np.empty((n + 1, n_rows + 1), np.float64)
    starts = np.empty((n + 1, n_rows // 2 + 2), np.int32)
    n_cells = np.zeros(n + 1, np.int64)
    histogram = np.zeros((n + 1, HISTOGRAM + 1))
    settled = np.empty(n_rows + 1)
    tops = np.zeros(n + 1, np.int64)
    q = np.zeros(n + 1, np.int64)
    sizes = np.zeros(n + 1, np.int64)
    visits = np.zeros(n + 1, np.int64)
    counts = np.zeros(arities.max(), np.int32)
    ends = np.zeros(arities.max(), np.int32)

    cells = size = top = 0
    for c in range(starts0.shape[0] - 1):
        length = starts0[c + 1] - starts0[c]
        if length == 1:
            top = _settle(weights0[starts0[c]], histogram[n], settled, top)
        elif length > 1:
            starts[n, cells] = size
            for t in range(starts0[c], starts0[c + 1]):
                rows[n, size] = rows0[t]
                weights[n, size] = weights0[t]
                size += 1
            cells += 1
    starts[n, cells] = size
    n_cells[n] = cells
    tops[n] = top

    level = n
    root = n - decided
    index = 0
    while True:
        if level == 1:
            without = q[1]
            within = q[1] + strides[0]
            out[index], score_with = _leaf_scores(
                weights[1], starts[1], n_cells[1], histogram[1], settled, tops[1],
                values[without], a[without], log_gamma_a[without], values[within], a[within], log_gamma_a[within],
            )  # fmt: skip
            if sizes[1] < max_size:
                out[index + 1] = score_with
            if root == 1:
                return
            level = 2
            continue
        feature = level - 1
        below = level - 1
        if level > root:
            take = (prefix >> (feature - root)) & 1
        else:
            take = visits[level]
            if take == 2 or (take == 1 and sizes[level] >= max_size):
                if level == root:
                    return
                visits[level] = 0
                index &= ~(1 << feature)
                level += 1
                continue
            visits[level] += 1
        histogram[below, :] = histogram[level, :]
        if take == 1:
            if level <= root:
                index |= 1 << feature
            q[below] = q[level] + strides[feature]
            sizes[below] = sizes[level] + 1
            n_cells[below], tops[below] = _include(
                rows[level], weights[level], starts[level], n_cells[level], codes[feature],
                counts[: arities[feature]], ends, rows[below], weights[below], starts[below],
                histogram[below], settled, tops[level],
            )  # fmt: skip
        else:
            q[below] = q[level]
            sizes[below] = sizes[level]
            n_cells[below], tops[below] = _exclude(
                rows[level], weights[level], starts[level], n_cells[level], ranks[below],
                rows[below], weights[below], starts[below], histogram[below], settled, tops[level],
            )  # fmt: skip
        level = below
