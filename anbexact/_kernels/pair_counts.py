"""Counts of many small sets of variables, or set scores from these counts."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._kernels.cells import cell_value
from anbexact._kernels.jit import inner, kernel


class Rows(NamedTuple):
    """The rows of a table.

    Attributes
    ----------
    codes : (variables, rows) int16, contiguous
        States.
    arities : (variables,) int64
        Numbers of states.
    weights : (rows,) float64
        Weights of the rows.
    most_laid_out : int
        Joint states up to which cells are summed in their order, and not in that of the rows.
    """

    codes: npt.NDArray[np.int16]
    arities: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    most_laid_out: int


class VariableSets(NamedTuple):
    """Sets of variables.

    Attributes
    ----------
    members : (sets, width) int64
        Variables of every set; -1 in front where it has fewer than ``width``.
    sizes : (sets,) int64
        Joint states of every set.
    kinds : (sets,) int64
        The number of the cell values' parameter that applies to the set.
    """

    members: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int64]


@inner
def _same_head(members, s, t):
    """Whether two sets agree in all members but the last."""
    same = True
    for k in range(members.shape[1] - 1):
        same &= members[s, k] == members[t, k]
    return same


@inner
def _heads(codes, arities, members, t, heads):
    """Number every row's joint state of all members of set t but the last."""
    heads[:] = 0
    for k in range(members.shape[1] - 1):
        if members[t, k] >= 0:
            arity = np.int64(arities[members[t, k]])
            of_member = codes[members[t, k]]
            for x in range(heads.shape[0]):
                heads[x] = heads[x] * arity + of_member[x]


@kernel
def sum_cells(table, sets, cell_values, start, stop, out):
    """Write, for the sets ``start .. stop-1``, the sum over their cells of the values of the cells' weights.

    Parameters
    ----------
    table, sets : Rows, VariableSets
        The table, and all sets.
    cell_values : CellValues
        The parameters of the values; ``whole`` says whether all weights are whole numbers.
    out : (sets,) float64
        Receives the sums.

    A set with many joint states is summed over the rows, so that the work is O(rows · width) at any number of states.
    """
    codes, arities, weights = table.codes, table.arities, table.weights
    members, sizes, kinds = sets.members, sets.sizes, sets.kinds
    values, whole = cell_values.values, cell_values.whole
    rows = weights.shape[0]
    last = members.shape[1] - 1
    length = values.shape[1]
    heads = np.zeros(rows, np.int64)
    places = np.empty(0, np.int64)
    largest = 0
    for t in range(start, stop):
        largest = max(largest, sizes[t])
        if sizes[t] > table.most_laid_out and len(places) < rows:
            places = np.empty(rows, np.int64)
    counts = np.zeros(largest)
    for t in range(start, stop):
        if t == start or not _same_head(members, t - 1, t):
            _heads(codes, arities, members, t, heads)
        by_rows = sizes[t] > table.most_laid_out
        if members[t, last] < 0:
            for x in range(rows):
                counts[0] += weights[x]
        else:
            arity = np.int64(arities[members[t, last]])
            of_member = codes[members[t, last]]
            if by_rows:
                for x in range(rows):
                    places[x] = heads[x] * arity + of_member[x]
                    counts[places[x]] += weights[x]
            else:
                for x in range(rows):
                    counts[heads[x] * arity + of_member[x]] += weights[x]
        a = cell_values.parameters[kinds[t]]
        log_gamma_a = cell_values.log_gammas[kinds[t]]
        of_kind = values[kinds[t]]
        total = 0.0
        for y in range(rows if by_rows else sizes[t]):
            place = places[y] if by_rows else y
            weight = counts[place]
            counts[place] = 0.0
            if weight < length and (whole or weight == math.floor(weight)):
                total += of_kind[int(weight)]
            else:
                total += cell_value(weight, a, log_gamma_a)
        out[t] = total


@kernel
def count_cells(table, members, start, stop, out):
    """Write the contingency tables of the sets ``start .. stop-1``, which have as many joint states each.

    Parameters
    ----------
    table, members : Rows, (sets, width) int64
        As in :func:`sum_cells`.
    out : (stop - start, joint states) float64
        Receives the tables, flattened, the last member's states fastest.
    """
    codes, arities, weights = table.codes, table.arities, table.weights
    rows = weights.shape[0]
    last = members.shape[1] - 1
    heads = np.zeros(rows, np.int64)
    out[:] = 0.0
    for t in range(start, stop):
        if t == start or not _same_head(members, t - 1, t):
            _heads(codes, arities, members, t, heads)
        arity = np.int64(arities[members[t, last]])
        of_member = codes[members[t, last]]
        of_set = out[t - start]
        for x in range(rows):
            of_set[heads[x] * arity + of_member[x]] += weights[x]
