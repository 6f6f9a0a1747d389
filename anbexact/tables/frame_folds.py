"""Folds of the rows of a frame, for cross-validation in which everything is learned again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from anbexact._runtime.arrays import Integers
from anbexact.tables.folds import split_weights
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.native_values import sorted_positions
from anbexact.tables.frames.text_quantities import TextQuantity
from anbexact.tables.table import Weights


def frame_folds(
    columns: Sequence[Column], target: Column, weights: Weights, folds: int
) -> list[tuple[Weights, Weights]]:
    """Return, for every fold, the weights of the rows to learn from and of those that are held out.

    Equal rows are held out together: the weight of all of them is on the first. Weight 2 is equivalent to two such
    rows, weight 0 to none; see :func:`~anbexact.tables.folds.split_weights`. What a fold holds out of a class is kept
    in training where that class would otherwise not occur in it, so that a class with a single row is never held out.

    Parameters
    ----------
    columns, target : Column
        The features and the class.
    weights : (rows,) float64
        Zero or more.
    folds : int
        At least 2.

    Returns
    -------
    list of pairs of (rows,) float64
        A fold that would hold out nothing is left out.
    """
    labels = target.coded[0]
    counted = np.flatnonzero((weights > 0) & (labels >= 0))
    if not len(counted):
        return []
    cells = np.stack([_ranks(column)[counted] for column in columns], axis=1)
    classes = _ranks(target)[counted]
    group = np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1)
    totals = np.zeros((int(group.max()) + 1, int(classes.max()) + 1))
    np.add.at(totals, (group, classes), weights[counted])
    first = np.zeros(totals.shape, dtype=np.intp)
    first[group[::-1], classes[::-1]] = counted[::-1]
    present = totals > 0
    found = []
    for part in split_weights(totals, folds):
        held = np.where((totals - part).sum(axis=0) > 0, part, 0.0)
        learned = np.maximum(totals - held, 0.0)
        if held.any():
            found.append(
                (
                    _laid_out(learned[present], first[present], len(weights)),
                    _laid_out(held[present], first[present], len(weights)),
                )
            )
    return found


def _ranks(column: Column) -> Integers:
    """Return the place of every cell among the sorted values of its column; -1 where it is missing."""
    if isinstance(column.quantity, TextQuantity) and column.numbers is not None:
        return pd.factorize(column.numbers, sort=True)[0]
    codes, values = column.coded
    places = np.empty(len(values) + 1, dtype=np.intp)
    places[sorted_positions(values)] = np.arange(len(values))
    places[-1] = -1
    return places[codes]


def _laid_out(values: Weights, rows: Integers, n_rows: int) -> Weights:
    weights = np.zeros(n_rows)
    weights[rows] = values
    return weights
