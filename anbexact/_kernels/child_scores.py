"""Scores of one child with sets of parents that each add one feature to a set whose cells are laid out."""

import math
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from anbexact._kernels.cells import cell_value
from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.refinement import DIRICHLET, SETTLED, Weights

COUNTS = 4096
"""Number of counts that are kept while features are scored together (half of a processor's first cache)."""


class CellTables(NamedTuple):
    """Tabulated cell values of whole weights.

    Attributes
    ----------
    table_of : (numbers,) int64
        Which table every number q of parent configurations has, -1 if none.
    child, parents : (tables, width) float64
        Values of the cells of the child with its parents, and of the parents alone.
    """

    table_of: npt.NDArray[np.int64]
    child: npt.NDArray[np.float64]
    parents: npt.NDArray[np.float64]


class Added(NamedTuple):
    """The features that are added to a set, one at a time, and the sets that they make.

    Attributes
    ----------
    features, q : (features,) int64
        The features; the numbers of parent configurations of the sets, by index.
    highest : (features,) float64
        Best score of a set's subsets, as far as it is known.
    tables : (features,) int64
        Which of the tables of cell values holds those of a set, -1 if none.
    child_parameters, parameters : (features,) float64
        Parameter a of a cell of the child with its parents, and of the parents alone.
    totals, observed : (features,) float64
        Sum of the values of the cells; for ``DIRICHLET``, that of min(1, weight) over the observed states.
    counts : (states of several features and the child,)
        Zero before and after they are scored.
    columns, arities, firsts, rows, widths, child_log_gammas, log_gammas : (features,)
        Room for :func:`score_cells`.
    """

    features: npt.NDArray[np.int64]
    q: npt.NDArray[np.int64]
    highest: npt.NDArray[np.float64]
    tables: npt.NDArray[np.int64]
    child_parameters: npt.NDArray[np.float64]
    parameters: npt.NDArray[np.float64]
    totals: npt.NDArray[np.float64]
    observed: npt.NDArray[np.float64]
    counts: Weights
    columns: npt.NDArray[np.uint64]
    arities: npt.NDArray[np.uint64]
    firsts: npt.NDArray[np.uint64]
    rows: npt.NDArray[np.uint64]
    widths: npt.NDArray[np.uint64]
    child_log_gammas: npt.NDArray[np.float64]
    log_gammas: npt.NDArray[np.float64]

    @classmethod
    def zeros(cls, length: int, n_counts: int, dtype: npt.DTypeLike) -> Self:
        """Return scratch arrays for this number of features, with counts of this type of weights."""
        features, q, tables = np.zeros((3, length), np.int64)
        highest, child_parameters, parameters, totals, observed, child_log_gammas, log_gammas = np.zeros((7, length))
        columns, arities, firsts, rows, widths = np.zeros((5, length), np.uint64)
        return cls(
            features, q, highest, tables, child_parameters, parameters, totals, observed, np.zeros(n_counts, dtype),
            columns, arities, firsts, rows, widths, child_log_gammas, log_gammas,
        )  # fmt: skip


@inner
def _value(weight, values, table, width, a, log_gamma_a):
    """Return the value of a cell: from the table if it contains the weight, else computed."""
    at = np.uint64(weight)
    if at == weight and at < width:
        return values[table, at]
    return cell_value(float(weight), a, log_gamma_a)


@kernel
def tabulate(values, a):
    """Fill a table with lnΓ(a + w) - lnΓ(a) for w = 0, 1, ...; with w ln w for an infinite a."""
    values[0] = 0.0
    if a == math.inf:
        for w in range(1, values.shape[0]):
            values[w] = w * math.log(w)
        return
    total = 0.0
    for w in range(1, values.shape[0]):
        total += math.log(a + (w - 1))
        values[w] = total


@kernel
def score_cells(kind, states, cells, row_codes, arities, added, first, last, tables):
    """Split every cell by each of the features ``added``, from number ``first`` to ``last``, and write their scores.

    Parameters
    ----------
    kind, states : int
        ``DIRICHLET`` or ``LIKELIHOOD``; how many states the child has.
    cells : Cells
        The cells of the set to which the features are added.
    row_codes, arities : (rows, all features) uint16, (all features,) int64
        States by row, and how many every feature has.
    added, tables : Added, CellTables
        ``added.totals`` and ``added.observed`` receive the sums.
    """
    one = np.uint64(1)
    n_states = np.uint64(states)
    n_added = np.uint64(last - first)
    counts, columns, n_codes, first_count = added.counts, added.columns, added.arities, added.firsts
    child_values, all_values, table_rows, widths = tables.child, tables.parents, added.rows, added.widths
    child_parameters, parameters = added.child_parameters[first:last], added.parameters[first:last]
    child_lgs, lgs = added.child_log_gammas, added.log_gammas
    totals, observed = added.totals[first:last], added.observed[first:last]
    rows, kids, weights, starts = cells.rows, cells.kids, cells.weights, cells.starts
    n_counts = np.uint64(0)
    for j in range(last - first):
        v = added.features[first + j]
        table = added.tables[first + j]
        columns[j] = v
        n_codes[j] = arities[v]
        first_count[j] = n_counts
        n_counts += n_codes[j] * n_states
        widths[j] = child_values.shape[1] if table >= 0 else 0
        table_rows[j] = max(table, 0)
        child_lgs[j] = math.lgamma(child_parameters[j]) if child_parameters[j] < math.inf else 0.0
        lgs[j] = math.lgamma(parameters[j]) if parameters[j] < math.inf else 0.0
        totals[j] = 0.0
        observed[j] = 0.0
    for c in range(cells.count):
        begin = np.uint64(starts[c])
        end = np.uint64(starts[c + 1])
        for t in range(begin, end):
            row = np.uint64(rows[t])
            kid = np.uint64(kids[t])
            weight = weights[t]
            for j in range(n_added):
                counts[first_count[j] + np.uint64(row_codes[row, columns[j]]) * n_states + kid] += weight
        at = np.uint64(0)
        for j in range(n_added):
            table = table_rows[j]
            width = widths[j]
            total = 0.0
            seen = 0.0
            for _ in range(n_codes[j]):
                given = counts[0] - counts[0]
                part = 0.0
                for _ in range(n_states):
                    weight = counts[at]
                    counts[at] = 0
                    at += one
                    given += weight
                    part += _value(weight, child_values, table, width, child_parameters[j], child_lgs[j])
                    if kind == DIRICHLET:
                        seen += min(1.0, weight)
                total += part - _value(given, all_values, table, width, parameters[j], lgs[j])
            totals[j] += total
            observed[j] += seen


@inner
def score_settled(histogram, settled, tables, table, child_a, a):
    """Return the score of the settled cells, and the sum of min(1, weight)."""
    row = np.uint64(max(table, 0))
    width = np.uint64(tables.child.shape[1] if table >= 0 else 0)
    child_lg = math.lgamma(child_a)
    lg = math.lgamma(a)
    total = 0.0
    observed = 0.0
    for w in range(1, SETTLED + 1):
        if histogram[w] > 0:
            weight = settled.dtype.type(w)
            gain = _value(weight, tables.child, row, width, child_a, child_lg)
            gain -= _value(weight, tables.parents, row, width, a, lg)
            total += histogram[w] * gain
            observed += histogram[w]
    for t in range(settled.shape[0]):
        weight = settled[t]
        total += _value(weight, tables.child, row, width, child_a, child_lg)
        total -= _value(weight, tables.parents, row, width, a, lg)
        observed += min(1.0, weight)
    return total, observed
