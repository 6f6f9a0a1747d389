"""Folds of weighted rows for cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.tables.table import DiscreteTable

SEED = 0
"""Seed of the shuffle before rows are assigned to folds, unless another is asked for."""


def split_weights(weights: Floats, folds: int, seed: int = SEED) -> Sequence[Floats]:
    """Return a partition of weights, shape (rows, classes), into folds of much the same classes and features.

    Rows are shuffled by the seed and assigned in turn, class by class: unshuffled, a table of all combinations of
    states would give every fold its own states of some feature. Whole weights are rows of weight 1, each assigned
    separately, so that collapsed and repeated rows are treated alike. Other weights are not divided, except those of
    at least as many rows of mean weight as there are folds.
    """
    order = np.random.default_rng(seed).permutation(len(weights))
    flat = weights[order].T.ravel()
    parts = np.zeros((folds, len(flat)))
    if np.array_equal(flat, np.rint(flat)):
        ends = np.cumsum(flat)
        for k in range(folds):
            parts[k] = np.diff(np.floor((ends + folds - 1 - k) / folds), prepend=np.floor((folds - 1 - k) / folds))
    else:
        unit = flat[flat > 0].mean()
        large = flat >= folds * unit
        small = np.where(large, 0.0, flat)
        fold = ((np.cumsum(small) - small / 2) / unit).astype(np.int64) % folds
        for k in range(folds):
            parts[k] = np.where(large, flat / folds, np.where(fold == k, small, 0.0))
    back = np.argsort(order)
    return [part.reshape(weights.T.shape).T[back] for part in parts]


def split_table(table: DiscreteTable, folds: int, seed: int = SEED) -> list[tuple[DiscreteTable, DiscreteTable]]:
    """Return, for every fold, the rows of all other folds and its own; see :func:`split_weights`.

    A fold that would leave no rows to learn from, or to predict, is left out.
    """
    (class_name,) = table.vocabulary.common_parents
    place = table.groups(table.vocabulary.features), table.column(class_name)
    weights = np.zeros((int(place[0].max()) + 1, table.vocabulary.arity(class_name)))
    weights[place] = table.weights
    parts = (part[place] for part in split_weights(weights, folds, seed))
    return [
        (_weighted(table, np.maximum(table.weights - part, 0.0)), _weighted(table, part))
        for part in parts
        if 0 < part.sum() < table.weight_sum
    ]


def _weighted(table: DiscreteTable, weights: Floats) -> DiscreteTable:
    """Return the distinct rows of a table with other weights."""
    rows = np.flatnonzero(weights > 0)
    return replace(table, codes=np.asfortranarray(table.codes[rows]), weights=weights[rows], n_rows=len(rows))
