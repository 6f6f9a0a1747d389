"""Cells of sets of parents: the rows that agree on all members, refined by one member after the other.

Rows that agree on the class, on the required parents and on the members of a set form a *cell*, a run of *entries*;
an entry gathers the rows that also agree on the child and on all features below the smallest member, the only ones
that can still be added. Cells that no further feature can change are *settled*: they leave the layout as a count of
cells by weight.

Indices in the inner loops are unsigned: numba then leaves out the test for negative ones, which more than doubles
their speed.
"""

import math
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from anbexact._kernels.jit import inner

SETTLED = 16
"""Settled cells of whole weights up to this are counted by weight; others are listed."""
DIRICHLET = 0
"""Kind of a score: lnΓ(a + N) - lnΓ(a) for every cell."""
LIKELIHOOD = 1
"""Kind of a score: N ln N for every cell, less a penalty."""

Weights = npt.NDArray[np.int32] | npt.NDArray[np.float64]


class Cells(NamedTuple):
    """The cells of one set that are not settled.

    Attributes
    ----------
    rows, kids, weights : (entries,) uint32, uint16, int32 or float64
        A row that stands for each entry, its child's state, its weight.
    starts, count : (cells + 1,) uint32, int
        Where cells start; how many there are.
    """

    rows: npt.NDArray[np.uint32]
    kids: npt.NDArray[np.uint16]
    weights: Weights
    starts: npt.NDArray[np.uint32]
    count: int  # type: ignore[assignment]  # the method of tuples is not used


class Layout(NamedTuple):
    """The cells of a set and of those that its first members make, by how many these are (the depth).

    Attributes
    ----------
    members : (depths + 1,) int64
        The set, highest feature first; -1 ends it.
    rows, kids, weights, starts, n_cells
        :class:`Cells` at every depth.
    histogram : (depths, SETTLED + 1) int64
        Settled cells by weight.
    settled, n_settled : (rows + 1,), (depths,) int64
        Weights of the other settled cells; how many of them a depth has.
    merged_rows, merged_kids, merged_weights, sizes, ends, cell_of
        Room for :func:`refine`.
    """

    members: npt.NDArray[np.int64]
    rows: npt.NDArray[np.uint32]
    kids: npt.NDArray[np.uint16]
    weights: Weights
    starts: npt.NDArray[np.uint32]
    n_cells: npt.NDArray[np.int64]
    histogram: npt.NDArray[np.int64]
    settled: Weights
    n_settled: npt.NDArray[np.int64]
    merged_rows: npt.NDArray[np.uint32]
    merged_kids: npt.NDArray[np.uint16]
    merged_weights: Weights
    sizes: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    cell_of: npt.NDArray[np.int32]

    @classmethod
    def of(cls, cells: Cells, depths: int, most_states: int) -> Self:
        """Lay out the cells of the empty set, with room for ``depths - 1`` members of ``most_states`` states."""
        n_rows, dtype = len(cells.weights), cells.weights.dtype
        rows, kids = np.empty((depths, n_rows), np.uint32), np.empty((depths, n_rows), np.uint16)
        weights, starts = np.empty((depths, n_rows), dtype), np.empty((depths, n_rows + 1), np.uint32)
        rows[0], kids[0], weights[0] = cells.rows, cells.kids, cells.weights
        starts[0, : cells.count + 1] = cells.starts
        n_cells, n_settled = np.zeros((2, depths), np.int64)
        n_cells[0] = cells.count
        sizes, ends = np.zeros((2, most_states), np.int64)
        return cls(
            np.full(depths + 1, -1), rows, kids, weights, starts, n_cells, np.zeros((depths, SETTLED + 1), np.int64),
            np.empty(n_rows + 1, dtype), n_settled, np.empty(n_rows, np.uint32), np.empty(n_rows, np.uint16),
            np.empty(n_rows, dtype), sizes, ends, np.empty((n_rows + 1) * most_states, np.int32),
        )  # fmt: skip


@inner
def cells_at(layout, depth):
    """Return the cells at one depth."""
    return Cells(
        layout.rows[depth], layout.kids[depth], layout.weights[depth], layout.starts[depth], layout.n_cells[depth]
    )


@inner
def refine(kind, layout, depth, codes, ranks, arity):
    """Merge the entries of equal rank at a depth, and split every cell by ``codes``, into the depth below.

    ``ranks`` are those of the features up to the one that splits: as entries are in the order of the rows, those to
    be merged are neighbours. ``cell_of[c * arity + k]`` receives the new cell of the rows of cell c with state k.
    """
    one = np.uint64(1)
    rows, kids, weights, starts = layout.rows[depth], layout.kids[depth], layout.weights[depth], layout.starts[depth]
    new_rows, new_kids, new_weights = layout.rows[depth + 1], layout.kids[depth + 1], layout.weights[depth + 1]
    new_starts = layout.starts[depth + 1]
    merged_rows, merged_kids, merged_weights = layout.merged_rows, layout.merged_kids, layout.merged_weights
    counts, ends, cell_of = layout.sizes, layout.ends, layout.cell_of
    histogram, settled, top = layout.histogram[depth + 1], layout.settled, layout.n_settled[depth]
    for w in range(SETTLED + 1):
        histogram[w] = layout.histogram[depth, w]
    cells = 0
    size = 0
    for c in range(layout.n_cells[depth]):
        rank = np.int32(-1)
        weight = weights[0]
        merged = np.uint64(0)
        for t in range(np.uint64(starts[c]), np.uint64(starts[c + 1])):
            row = rows[t]
            differs = ranks[row] != rank
            rank = ranks[row]
            merged += np.uint64(differs)
            weight = weights[t] if differs else weight + weights[t]
            merged_rows[merged - one] = row
            merged_kids[merged - one] = kids[t]
            merged_weights[merged - one] = weight
        for k in range(arity):
            counts[k] = 0
        for t in range(merged):
            counts[codes[merged_rows[t]]] += 1
        end = size
        for k in range(arity):
            ends[k] = end
            end += counts[k]
        for t in range(merged):
            k = codes[merged_rows[t]]
            to = np.uint64(ends[k])
            new_rows[to] = merged_rows[t]
            new_kids[to] = merged_kids[t]
            new_weights[to] = merged_weights[t]
            ends[k] += 1
        for k in range(arity):
            if counts[k] == 0:
                continue
            low = ends[k] - counts[k]
            if kind == LIKELIHOOD and new_kids[low] == new_kids[ends[k] - 1]:
                continue
            if counts[k] == 1:
                weight = new_weights[low]
                if weight <= SETTLED and weight == math.floor(weight):
                    histogram[int(weight)] += 1
                else:
                    settled[top] = weight
                    top += 1
                continue
            new_starts[cells] = size
            cell_of[c * arity + k] = cells
            cells += 1
            if low > size:
                for t in range(np.uint64(low), np.uint64(ends[k])):
                    to = t - np.uint64(low - size)
                    new_rows[to] = new_rows[t]
                    new_kids[to] = new_kids[t]
                    new_weights[to] = new_weights[t]
            size += counts[k]
    new_starts[cells] = size
    layout.n_cells[depth + 1] = cells
    layout.n_settled[depth + 1] = top
