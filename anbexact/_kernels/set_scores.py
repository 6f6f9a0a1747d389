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
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from anbexact._kernels.cells import cell_value
from anbexact._kernels.jit import inner, kernel

HISTOGRAM = 32
"""Whole weights up to this (an even number) are kept as a histogram of settled cells."""
BOARD = 8192
"""Maximum number of counts that are laid out together (64 kB, to stay in the cache)."""


class SortedRows(NamedTuple):
    """The rows of a table, sorted by (class, feature 0, feature 1, ...).

    Attributes
    ----------
    weights : (rows,) float64
        Their weights.
    class_starts : (classes + 1,) int32
        Where the rows of each class start.
    slots : (rows,) int32
        Joint state of the lowest features, feature 0 fastest.
    """

    weights: npt.NDArray[np.float64]
    class_starts: npt.NDArray[np.int32]
    slots: npt.NDArray[np.int32]


class Features(NamedTuple):
    """The n features of sorted rows.

    Attributes
    ----------
    codes : (n, rows) int16
        States of feature ``b`` (bit ``b``).
    ranks : (n + 1, rows) int32
        ``ranks[m]`` numbers the distinct combinations of features ``0 .. m-1``.
    arities, strides : (n,) int64
        States per feature; what including it adds to the index of the parent-configuration count q.
    """

    codes: npt.NDArray[np.int16]
    ranks: npt.NDArray[np.int32]
    arities: npt.NDArray[np.int64]
    strides: npt.NDArray[np.int64]


class LowSets(NamedTuple):
    """The subsets of the lowest features, by mask.

    Attributes
    ----------
    q, sizes : (subsets,) int64
        What a subset adds to the index of the parent-configuration count q, and how many members it has.
    twins : (subsets,) int64
        The first subset that adds the same: all its settled cells score the same.
    arities : (features,) int64
        States of these features.
    """

    q: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    twins: npt.NDArray[np.int64]
    arities: npt.NDArray[np.int64]


class Levels(NamedTuple):
    """A node of the walk and those above it: at level m, the features from m on are decided.

    Attributes
    ----------
    rows, weights : (n + 1, rows + 1) int32, float64
        Entries: a row that stands for each, and its weight.
    starts, n_cells : (n + 1, rows // 2 + 2) int32, (n + 1,) int64
        Where cells of two or more entries start; how many there are.
    histogram : (n + 1, HISTOGRAM + 1) float64
        Settled cells by weight.
    settled, n_settled : (rows + 1,) float64, (n + 1,) int64
        Weights of the other settled cells; how many of them a level has.
    q, sizes : (n + 1,) int64
        Index of the parent-configuration count of the features included; how many these are.
    visits : (n + 1,) int64
        Which of its two nodes below were visited.
    counts, ends : (states,) int32
        Room for the numbers of entries by state.
    """

    rows: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float64]
    starts: npt.NDArray[np.int32]
    n_cells: npt.NDArray[np.int64]
    histogram: npt.NDArray[np.float64]
    settled: npt.NDArray[np.float64]
    n_settled: npt.NDArray[np.int64]
    q: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    visits: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]

    @classmethod
    def empty(cls, n_rows: int, arities: npt.NDArray[np.int64]) -> Self:
        """Return scratch arrays for walks, one at a time."""
        n = len(arities)
        n_cells, n_settled, q, sizes, visits = np.empty((5, n + 1), np.int64)
        counts, ends = np.zeros((2, arities.max()), np.int32)
        return cls(
            np.empty((n + 1, n_rows + 1), np.int32), np.empty((n + 1, n_rows + 1)),
            np.empty((n + 1, n_rows // 2 + 2), np.int32), n_cells, np.empty((n + 1, HISTOGRAM + 1)),
            np.empty(n_rows + 1), n_settled, q, sizes, visits, counts, ends,
        )  # fmt: skip


class Boards(NamedTuple):
    """Contingency tables of the low features, marginalised step by step.

    ``counts[board[d], :length[d]]``, of shape (outer[d], remaining low features, cells), is what is left when the
    d highest of the low features are decided.

    Attributes
    ----------
    counts : (low features + 1, slots * width) float64
        Room for the tables of ``width`` cells at once.
    board, outer, length : (low features + 1,) int64
        See above.
    """

    counts: npt.NDArray[np.float64]
    board: npt.NDArray[np.int64]
    outer: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]

    @classmethod
    def empty(cls, arities: npt.NDArray[np.int64]) -> Self:
        """Return scratch arrays for the tables of features with these numbers of states."""
        slots = int(arities.prod())
        board, outer, length = np.zeros((3, len(arities) + 1), np.int64)
        outer[0] = 1
        return cls(np.empty((len(arities) + 1, slots * max(1, BOARD // slots))), board, outer, length)


@inner
def _cell_value(weight, values, a, log_gamma_a):
    """Return the value of a cell: from the table if it contains the weight, else computed."""
    if weight < values.shape[0] and weight == math.floor(weight):
        return values[int(weight)]
    return cell_value(weight, a, log_gamma_a)


@inner
def _settle(weight, histogram, settled, top):
    """Record a settled cell and return the new length of the list."""
    if weight <= HISTOGRAM and weight == math.floor(weight):
        histogram[int(weight)] += 1.0
        return top
    settled[top] = weight
    return top + 1


@inner
def _begin(rows, levels):
    """Lay out all rows at the highest level: a cell for every class, settled where it has one row."""
    n = levels.rows.shape[0] - 1
    levels.visits[:] = 0
    levels.histogram[n] = 0.0
    levels.q[n] = levels.sizes[n] = 0
    cells = size = top = np.int64(0)
    for c in range(rows.class_starts.shape[0] - 1):
        first = rows.class_starts[c]
        last = rows.class_starts[c + 1]
        if last - first == 1:
            top = _settle(rows.weights[first], levels.histogram[n], levels.settled, top)
        elif last > first:
            levels.starts[n, cells] = size
            for t in range(first, last):
                levels.rows[n, size] = t
                levels.weights[n, size] = rows.weights[t]
                size += 1
            cells += 1
    levels.starts[n, cells] = size
    levels.n_cells[n] = cells
    levels.n_settled[n] = top


@inner
def _include(levels, level, codes, arity):
    """Split every cell by ``codes``, which have ``arity`` states, into the level below."""
    rows, weights, starts = levels.rows[level], levels.weights[level], levels.starts[level]
    new_rows, new_weights, new_starts = levels.rows[level - 1], levels.weights[level - 1], levels.starts[level - 1]
    histogram, settled, top = levels.histogram[level - 1], levels.settled, levels.n_settled[level]
    counts, ends = levels.counts, levels.ends
    cells = 0
    size = 0
    for c in range(levels.n_cells[level]):
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
    levels.n_cells[level - 1] = cells
    levels.n_settled[level - 1] = top


@inner
def _exclude(levels, level, ranks):
    """Merge neighbours of equal rank in every cell, into the level below."""
    rows, weights, starts = levels.rows[level], levels.weights[level], levels.starts[level]
    new_rows, new_weights, new_starts = levels.rows[level - 1], levels.weights[level - 1], levels.starts[level - 1]
    histogram, settled, top = levels.histogram[level - 1], levels.settled, levels.n_settled[level]
    cells = 0
    size = 0
    for c in range(levels.n_cells[level]):
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
    levels.n_cells[level - 1] = cells
    levels.n_settled[level - 1] = top


@inner
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


@inner
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


@inner
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


@inner
def _lay_out(rows, weights, starts, n_cells, slots, n_slots, counts):
    """Turn cells into contingency tables of the low features, side by side: shape (slots, cells)."""
    counts[: n_slots * n_cells] = 0.0
    for c in range(n_cells):
        for t in range(starts[c], starts[c + 1]):
            counts[slots[rows[t]] * n_cells + c] += weights[t]


@inner
def _marginalise(subset, arities, boards):
    """Bring the contingency tables down to the features of ``subset``, from those of ``subset - 1``.

    Taking a feature in leaves the table as it is; leaving it out sums its axis away.
    """
    board, outer, length = boards.board, boards.outer, boards.length
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
            inner = length[d + 1] // outer[d]
            _sum_out(boards.counts[board[d]], outer[d], arities[b], inner, boards.counts[d + 1])


@inner
def _score_low_sets(levels, level, low_sets, slots, boards, cell_values, max_size, out):
    """Score the subsets of the low features, each joined to the features included; return the work that it took."""
    values, parameters, log_gammas = cell_values.values, cell_values.parameters, cell_values.log_gammas
    q = levels.q[level]
    for subset in range(out.shape[0]):
        twin = low_sets.twins[subset]
        if twin == subset:
            at = q + low_sets.q[subset]
            out[subset] = _settled_score(
                levels.histogram[level], levels.settled, levels.n_settled[level], values[at], parameters[at],
                log_gammas[at],
            )  # fmt: skip
        else:
            out[subset] = out[twin]
    n_slots = np.int64(1)
    for arity in low_sets.arities:
        n_slots *= arity
    width = boards.counts.shape[1] // n_slots
    last = low_sets.arities.shape[0]
    starts = levels.starts[level]
    work = 0
    for first in range(0, levels.n_cells[level], width):
        laid = min(width, levels.n_cells[level] - first)
        _lay_out(levels.rows[level], levels.weights[level], starts[first:], laid, slots, n_slots, boards.counts[0])
        boards.length[0] = n_slots * laid
        work += starts[first + laid] - starts[first]
        for subset in range(out.shape[0]):
            _marginalise(subset, low_sets.arities, boards)
            if levels.sizes[level] + low_sets.sizes[subset] <= max_size:
                at = q + low_sets.q[subset]
                work += boards.length[last]
                left = boards.counts[boards.board[last], : boards.length[last]]
                out[subset] += _cells_score(left, cell_values.whole, values[at], parameters[at], log_gammas[at])
    return work


@kernel
def score_subtree(prefix, decided, rows, features, low_sets, cell_values, max_size, levels, boards, out):
    """Set scores of the ``2**(n - decided)`` sets whose highest ``decided`` bits are ``prefix``.

    Returns the work that this was below the prefix: entries that were moved or laid out, and counts that were looked
    up.

    Parameters
    ----------
    prefix, decided : int
        The subtree: bits ``n - decided`` and above of every set in it.
    rows, features, low_sets : SortedRows, Features, LowSets
        The table. The walk ends above the low features, ``n - decided`` of them at most.
    cell_values : CellValues
        Values of the cells, a row for every distinct q.
    max_size : int
        Sets larger than this are not scored, and their results are meaningless.
    levels, boards : Levels, Boards
        Scratch arrays, whose contents before the call do not matter.
    out : (2**(n - decided),) float64
        Receives the scores in nats.
    """
    n = features.arities.shape[0]
    dense = low_sets.arities.shape[0]
    root = n - decided
    level = n
    index = 0
    work = 0
    _begin(rows, levels)
    while True:
        if level == dense:
            of_low = out[index : index + low_sets.q.shape[0]]
            work += _score_low_sets(levels, level, low_sets, rows.slots, boards, cell_values, max_size, of_low)
            if root == dense:
                return work
            level += 1
            continue
        below = level - 1
        if level > root:
            take = (prefix >> (below - root)) & 1
        else:
            take = levels.visits[level]
            if take == 2 or (take == 1 and levels.sizes[level] >= max_size):
                if level == root:
                    return work
                levels.visits[level] = 0
                index &= ~(1 << below)
                level += 1
                continue
            levels.visits[level] += 1
            work += levels.starts[level, levels.n_cells[level]]
            index |= take << below
        for k in range(HISTOGRAM + 1):
            levels.histogram[below, k] = levels.histogram[level, k]
        levels.q[below] = levels.q[level] + take * features.strides[below]
        levels.sizes[below] = levels.sizes[level] + take
        if take:
            _include(levels, level, features.codes[below], features.arities[below])
        else:
            _exclude(levels, level, features.ranks[below])
        level = below
