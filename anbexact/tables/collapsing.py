"""Equal rows found, and their weights added up."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from anbexact.tables.vocabulary import CodeArray

Weights = npt.NDArray[np.float64]


def row_groups(
    columns: Iterable[CodeArray], arities: Iterable[int], n_rows: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the first row of each group of equal rows (groups in lexicographic order) and each row's group."""
    key = np.zeros(n_rows, dtype=np.int64)
    span = 1
    for codes, arity in zip(columns, arities, strict=True):
        if span > 2**62 // max(arity, 1):
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
