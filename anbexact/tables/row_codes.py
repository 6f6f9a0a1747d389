"""Rows as codes, in the order of their frame, and equal rows put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Integers
from anbexact._runtime.warn import warn
from anbexact.tables.frames.columns import Column
from anbexact.tables.missing import MissingCells, filled, known_missing_cells, refuse_missing_class
from anbexact.tables.vocabulary import CodeArray, Vocabulary

Weights = npt.NDArray[np.float64]


def row_groups(
    columns: Iterable[Integers | CodeArray], arities: Iterable[int], n_rows: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the first row of each group of equal rows (groups in lexicographic order) and each row's group."""
    key = np.zeros(n_rows, dtype=np.int64)
    span = 1
    for codes, arity in zip(columns, arities, strict=True):
        if span > 2**62 // max(arity, 1):  # renumber the groups so far before the keys overflow
            key = np.unique(key, return_inverse=True)[1]
            span = n_rows
        key = key * arity + codes
        span *= arity
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first, inverse


def totals(groups: npt.NDArray[np.int64], weights: Weights, n_groups: int) -> Weights:
    """Return the total weight of every group of rows, to the last digit whatever the order of the rows.

    Weights that are neither all equal nor whole are added in ascending order, as their sums round.
    """
    exact = n_groups == len(weights) or np.ptp(weights) == 0 or np.array_equal(weights, np.rint(weights))
    if not exact:
        order = np.argsort(weights)
        groups, weights = groups[order], weights[order]
    return np.bincount(groups, weights, n_groups).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class RowCodes:
    """Rows as codes, unmerged and in the order of the frame that they come from.

    Attributes
    ----------
    vocabulary : Vocabulary
        Names and states; column j of ``codes`` belongs to ``vocabulary.names[j]``.
    codes : (rows, variables) int16
        The state of every variable in every row.
    weights : (rows,) float64
        Positive weights.
    places : (rows,) intp
        Positions of the rows in the frame, ascending; rows of weight 0 and rows left out because of missing cells are
        not among them.
    """

    vocabulary: Vocabulary
    codes: CodeArray
    weights: Weights
    places: npt.NDArray[np.intp]

    def merged(self) -> tuple[CodeArray, Weights]:
        """Return the distinct rows, in lexicographic order, and their total weights."""
        arities = [self.vocabulary.arity(name) for name in self.vocabulary.names]
        distinct, inverse = row_groups(self.codes.T, arities, len(self.codes))
        return np.asfortranarray(self.codes[distinct]), totals(inverse, self.weights, len(distinct))


def rows_in_vocabulary(
    columns: Sequence[Column],
    target: Column,
    weights: Weights,
    vocabulary: Vocabulary,
    *,
    handle_missing: str = "auto",
) -> RowCodes:
    """Return the rows of columns as codes of a given vocabulary.

    Raises
    ------
    ValueError
        For a value that is not a state; the message names the column, the value and the row.
    """
    refuse_missing_class(target, weights)
    cells = known_missing_cells(columns, weights, vocabulary, handle_missing)
    columns, class_column, weights, rows = usable_rows(columns, target, weights, cells)
    assert class_column is not None
    advice = "states are fixed once learned: fit again with all rows, or leave out such rows"
    return coded_rows(vocabulary, [*columns, class_column], weights, rows, handle_missing, advice)


def usable_rows(
    columns: Sequence[Column], target: Column | None, weights: Weights, cells: MissingCells
) -> tuple[Sequence[Column], Column | None, Weights, npt.NDArray[np.intp]]:
    """Leave out rows of weight 0 and rows excluded by missing cells, and fill missing cells of single-state columns.

    Returns the columns, the target, and the weights and positions of the rows that are kept. There may be none.
    """
    if cells.warning:
        warn(cells.warning)
    columns = [filled(column, cells.single) for column in columns]
    rows = np.flatnonzero((weights > 0) & ~cells.incomplete)
    if len(rows) < len(weights):
        columns = [column.take(rows) for column in columns]
        target = target.take(rows) if target is not None else None
        weights = weights[rows]
    return columns, target, weights, rows


def coded_rows(
    vocabulary: Vocabulary,
    columns: Sequence[Column],
    weights: Weights,
    rows: npt.NDArray[np.intp],
    handle_missing: str,
    advice: str,
) -> RowCodes:
    """Encode the columns, which are in the vocabulary's order."""
    codes = np.empty((len(weights), len(columns)), dtype=np.int16)
    for j, column in enumerate(columns):
        codes[:, j] = vocabulary.encode(
            column, handle_unknown="error", handle_missing=handle_missing, advice=advice, rows=rows
        )
    return RowCodes(vocabulary, codes, weights, rows)
