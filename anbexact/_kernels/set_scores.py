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

The lowest few features are not walked: the cells that are left become small contingency tables, which are
marginalised for all subsets of these features at once.
"""

import math

import numpy as np
from numba import njit

from anbexact._kernels.cells import cell_value

HISTOGRAM = 32
"""Whole weights up to this (an even number) are kept as a histogram of settled cells."""
BOARD = 8192
"""Counts that are laid side by side at most (64 kB, to stay in the cache)."""


@njit(cache=True, nogil=True)
def _cell_value(weight, values, a, log_gamma_a):
    """Return the value of a cell: from the table where it reaches, else computed."""
    if weight < values.shape[0] and weight == math.floor(weight):
        return values[int(weight)]
    return cell_value(weight, a, log_gamma_a)


@njit(cache=True, nogil=True)
def _settle(weight, histogram, settled, top):
    """Record a settled cell and return the new length of the list."""
    if weight <= HISTOGRAM and weight == math.floor(weight):
        histogram[int(weight)] += 1.0
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
def _settled_score(histogram, settled, top, values, a, log_gamma_a):
    """Sum of the cell values of all settled cells."""
    even = odd = rest = 0.0
    if values.shape[0] > HISTOGRAM:
        for k in range(1, HISTOGRAM, 2):
            even += histogram[k] * values[k]
            odd += histogram[k + 1] * values[k + 1]
    else:
        for k in range(1, HISTOGRAM + 1):
            if histogram[k] > 0:
                rest += histogram[k] * _cell_value(float(k), values, a, log_gamma_a)
    for t in range(top):
        rest += _cell_value(settled[t], values, a, log_gamma_a)
    return even + odd + rest


@njit(cache=True, nogil=True)
def _cells_score(counts, whole, values, a, log_gamma_a):
    """Sum of the cell values of an array of counts; ``whole`` when each is in the table."""
    s0 = s1 = s2 = s3 = 0.0
    size = counts.shape[0]
    if whole:
        even = size - size % 4
        for t in range(0, even, 4):
            s0 += values[int(counts[t])]
            s1 += values[int(counts[t + 1])]
            s2 += values[int(counts[t + 2])]
            s3 += values[int(counts[t + 3])]
        for t in range(even, size):
            s0 += values[int(counts[t])]
    else:
        for t in range(size):
            if counts[t] > 0:
                s0 += _cell_value(counts[t], values, a, log_gamma_a)
    return (s0 + s1) + (s2 + s3)


@njit(cache=True, nogil=True)
def _sum_out(source, outer, arity, inner, target):
    """Sum an array of shape (outer, arity, inner) over its middle axis."""
    for o in range(outer):
        out = target[o * inner : (o + 1) * inner]
        first = source[o * arity * inner : (o * arity + 1) * inner]
        second = source[(o * arity + 1) * inner : (o * arity + 2) * inner]
        if arity == 1:
            for t in range(inner):
                out[t] = first[t]
            continue
        for t in range(inner):
            out[t] = first[t] + second[t]
        for k in range(2, arity):
            further = source[(o * arity + k) * inner : (o * arity + k + 1) * inner]
            for t in range(inner):
                out[t] += further[t]


@njit(cache=True, nogil=True)
def _lay_out(rows, weights, starts, n_cells, slots, n_slots, counts):
    """Turn cells into contingency tables of the low features, side by side: shape (slots, cells)."""
    counts[: n_slots * n_cells] = 0.0
    for c in range(n_cells):
        for t in range(starts[c], starts[c + 1]):
            counts[slots[rows[t]] * n_cells + c] += weights[t]


@njit(cache=True, nogil=True)
def _marginalise(subset, arities, boards, board, outer, length):
    """Bring the contingency tables down to the features of ``subset``, from those of ``subset - 1``.

    ``boards[board[d]][:length[d]]``, of shape (outer[d], remaining low features, cells), is what is left when the
    d highest of the low features are decided. Taking a feature in leaves the array as it is; leaving it out
    sums its axis away.
    """
    depth = arities.shape[0]
    changed = subset ^ (subset - 1) if subset else (1 << depth) - 1
    for d in range(depth):
        b = depth - 1 - d
        if not (changed >> b) & 1:
            continue
        if (subset >> b) & 1:
            board[d + 1] = board[d]
            outer[d + 1] = outer[d] * arities[b]
            length[d + 1] = length[d]
        else:
            board[d + 1] = d + 1
            outer[d + 1] = outer[d]
            length[d + 1] = length[d] // arities[b]
            _sum_out(boards[board[d]], outer[d], arities[b], length[d + 1] // outer[d], boards[d + 1])


@njit(cache=True, nogil=True)
def score_subtree(
    prefix, decided, rows0, weights0, starts0, codes, ranks, slots, dense, arities, strides,
    a, log_gamma_a, values, whole, max_size, out,
):  # fmt: skip
    """Set scores of the ``2**(n - decided)`` sets whose highest ``decided`` bits are ``prefix``.

    Returns the work that this was below the prefix: entries that were moved or laid out, and counts that were looked
    up.

    Parameters
    ----------
    prefix, decided : int
        The subtree: bits ``n - decided`` and above of every set in it.
    rows0, weights0, starts0 : arrays
        All rows sorted by (class, feature 0, feature 1, ...), their weights, and where each class starts.
    codes : (n, rows) int16
        States of feature ``b`` (bit ``b``).
    ranks : (n + 1, rows) int32
        ``ranks[m]`` numbers the distinct combinations of features ``0 .. m-1``.
    slots, dense : (rows,) int32, int
        The walk ends ``dense`` features above the ground, ``dense <= n - decided``; joint state of these
        lowest features in every row, feature 0 fastest.
    arities, strides : (n,) int64
        States per feature; what including it adds to the index of the parent-configuration count q.
    a, log_gamma_a, values : arrays over the distinct q
        ESS / q, its lnΓ, and ``values[:, w] = lnΓ(a + w) - lnΓ(a)`` for whole w, as far as tabulated. An infinite a
        asks for ``w ln w`` instead (likelihood scores).
    whole : bool
        Whether every possible count is a column of ``values``.
    max_size : int
        Sets larger than this are not scored: theirs is not a score.
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
    n_slots = 1
    for b in range(dense):
        n_slots *= arities[b]
    width = max(1, BOARD // n_slots)
    boards = np.empty((dense + 1, n_slots * width))
    board = np.zeros(dense + 1, np.int64)
    outer = np.ones(dense + 1, np.int64)
    lengths = np.zeros(dense + 1, np.int64)
    q_of = np.zeros(1 << dense, np.int64)
    size_of = np.zeros(1 << dense, np.int64)
    twin = np.zeros(1 << dense, np.int64)
    for subset in range(1 << dense):
        for b in range(dense):
            if (subset >> b) & 1:
                q_of[subset] += strides[b]
                size_of[subset] += 1
        while q_of[twin[subset]] != q_of[subset]:
            twin[subset] += 1

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
    work = 0
    while True:
        if level == dense:
            for subset in range(1 << dense):
                if twin[subset] == subset:
                    at = q[level] + q_of[subset]
                    out[index + subset] = _settled_score(
                        histogram[level], settled, tops[level], values[at], a[at], log_gamma_a[at]
                    )
                else:
                    out[index + subset] = out[index + twin[subset]]
            for first in range(0, n_cells[level], width):
                laid = min(width, n_cells[level] - first)
                _lay_out(rows[level], weights[level], starts[level, first:], laid, slots, n_slots, boards[0])
                lengths[0] = n_slots * laid
                work += starts[level, first + laid] - starts[level, first]
                for subset in range(1 << dense):
                    _marginalise(subset, arities[:dense], boards, board, outer, lengths)
                    if sizes[level] + size_of[subset] <= max_size:
                        at = q[level] + q_of[subset]
                        work += lengths[dense]
                        counts_left = boards[board[dense], : lengths[dense]]
                        out[index + subset] += _cells_score(counts_left, whole, values[at], a[at], log_gamma_a[at])
            if root == dense:
                return work
            level += 1
            continue
        feature = level - 1
        below = level - 1
        if level > root:
            take = (prefix >> (feature - root)) & 1
        else:
            take = visits[level]
            if take == 2 or (take == 1 and sizes[level] >= max_size):
                if level == root:
                    return work
                visits[level] = 0
                index &= ~(1 << feature)
                level += 1
                continue
            visits[level] += 1
        if level <= root:
            work += starts[level, n_cells[level]]
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
