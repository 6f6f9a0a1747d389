"""Folds for cross-validation: of the weighted rows of a table, and of the rows of a frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from anbexact._runtime.arrays import Floats, Integers
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.native_values import sorted_positions
from anbexact.tables.frames.text_quantities import TextQuantity
from anbexact.tables.row_codes import RowCodes, row_groups
from anbexact.tables.table import DiscreteTable, Weights

SEED = 0
"""Seed of the shuffle before rows are assigned to folds, unless another is asked for."""


def split_weights(weights: Floats, folds: int, seed: int = SEED) -> Sequence[Floats]:
    """Divide weights, shape (rows, classes), into folds in which classes and states have similar shares.

    Rows are shuffled by the seed and assigned in turn, class by class: unshuffled, a table of all combinations of
    states would give every fold its own states of some feature. Whole weights are rows of weight 1, each assigned
    separately, so that collapsed and repeated rows are treated alike. Other weights are not divided, except those of
    at least as many rows of mean weight as there are folds.
    """
    order = np.random.default_rng(seed).permutation(len(weights))
    flat = weights[order].T.ravel()
    parts = np.zeros((folds, len(flat)))
    if np.array_equal(flat, np.rint(flat)):
        # Fold k gets the unit rows whose numbers are k modulo the number of folds.
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
    back = np.argsort(order)  # undoes the shuffle
    return [part.reshape(weights.T.shape).T[back] for part in parts]


def split_groups(weights: Floats, folds: int, seed: int = SEED) -> Integers:
    """Return the fold of every group of rows, such that the classes have similar shares in all folds.

    Groups are shuffled by the seed and then assigned from the heaviest to the lightest. Each goes to the fold that
    makes the sum over the classes of ``Σ_k (W_kc / W_c)²`` least, where W_kc is the weight of class c in fold k, and
    W_c the weight of the class; of equally good folds, to the one of the least weight.

    Parameters
    ----------
    weights : (groups, classes) float64
        Weight of the rows of every group by class.
    folds : int
    seed : int, default 0

    Returns
    -------
    (groups,) int64
    """
    order = np.random.default_rng(seed).permutation(len(weights))
    order = order[np.argsort(-weights[order].sum(axis=1), kind="stable")]
    totals = weights.sum(axis=0)
    shares = weights / np.where(totals > 0, totals, 1.0)
    of_fold, found = np.zeros((folds, weights.shape[1])), np.empty(len(weights), dtype=np.int64)
    for group in order.tolist():
        own = shares[group]
        # (f + g)² - f² = 2fg + g², in which g² is the same for all folds
        added = np.round(of_fold @ own, 12)
        best = np.flatnonzero(added == added.min())
        fold = int(best[of_fold[best].sum(axis=1).argmin()])
        of_fold[fold] += own
        found[group] = fold
    return found


def read_groups(groups: Any, n_rows: int, weights: Weights) -> Integers | None:
    """Return the number of the group of every row, from 0; None without groups.

    Parameters
    ----------
    groups : (rows,) array of labels, or None
        Rows of the same label belong together. Rows of weight 0 may have none.
    n_rows : int
    weights : (rows,) array

    Raises
    ------
    ValueError
        For another number of labels, a missing label, or if all rows of positive weight are in one group.
    """
    if groups is None:
        return None
    numbers, _ = pd.factorize(np.asarray(groups, dtype=object) if isinstance(groups, list) else np.asarray(groups))
    if numbers.shape != (n_rows,):
        raise ValueError(f"groups has shape {numbers.shape}, expected ({n_rows},): one label per row")
    missing = (numbers < 0) & (weights > 0)
    if missing.any():
        raise ValueError(
            f"groups is missing in row {int(missing.argmax())} ({int(missing.sum())} of {n_rows} rows): give every "
            "row a label, one of its own if it belongs to no group"
        )
    if len(np.unique(numbers[weights > 0])) < 2:
        raise ValueError("all rows are in one group: no fold could hold out some groups and learn from others")
    return np.maximum(numbers, 0).astype(np.int64)


class Part(NamedTuple):
    """A fold of weighted rows, each an array (rows, classes).

    Attributes
    ----------
    left, held : array
        Weights of the rows to learn from, and of those that are held out.
    labels : array
        Weights of the rows to learn from by their labels, which differ from ``left`` if targets are probabilities.
    """

    left: Floats
    held: Floats
    labels: Floats


@dataclass(frozen=True, eq=False)
class Folding:
    """The weights of rows in blocks, whose targets may be probabilities, and which folds may have to keep together.

    Attributes
    ----------
    rows, labels : (blocks,) int64
        The row to which each block belongs, and its class.
    weights : (blocks,) float64
        Its weight, above 0.
    targets : (blocks, classes) float64
        What it adds to the weight of its row for every class.
    groups : (blocks,) int64 or None
        The group of each block, numbered from 0; a fold holds out all blocks of a group or none. None: blocks are
        divided like those rows whose targets are their labels, so that the targets of a block stay together.
    """

    rows: Integers
    labels: Integers
    weights: Floats
    targets: Floats
    groups: Integers | None

    @classmethod
    def of_groups(
        cls, rows: Integers, labels: Integers, weights: Weights, n_classes: int, groups: Integers
    ) -> Folding:
        """Return the blocks of single rows, whose targets are their labels, in groups."""
        targets = np.zeros((len(rows), n_classes))
        targets[np.arange(len(rows)), labels] = weights
        return cls(rows, labels, weights, targets, np.unique(groups, return_inverse=True)[1])

    def parts(self, n_rows: int, folds: int) -> list[Part]:
        """Return the folds of rows; those that would hold out nothing, or everything, are among them."""
        shape = (n_rows, self.targets.shape[1])
        found = []
        for held in self._held_shares(shape, folds, SEED):
            left = 1 - held
            part = Part(np.zeros(shape), np.zeros(shape), np.zeros(shape))
            np.add.at(part.left, self.rows, left[:, None] * self.targets)
            np.add.at(part.held, self.rows, held[:, None] * self.targets)
            np.add.at(part.labels, (self.rows, self.labels), left * self.weights)
            found.append(part)
        return found

    def held_weights(self, n_rows: int, folds: int, seed: int) -> list[Weights]:
        """Return the weights of the rows that each fold holds out, (rows,)."""
        shares = self._held_shares((n_rows, self.targets.shape[1]), folds, seed)
        return [np.asarray(np.bincount(self.rows, share * self.weights, n_rows), np.float64) for share in shares]

    def _held_shares(self, shape: tuple[int, int], folds: int, seed: int) -> list[Floats]:
        """Return the share of every block that each fold holds out."""
        if self.groups is not None:
            of_group = np.zeros((int(self.groups.max()) + 1, shape[1]))
            np.add.at(of_group, (self.groups, self.labels), self.weights)
            own = split_groups(of_group, folds, seed)[self.groups]
            return [(own == k).astype(np.float64) for k in range(folds)]
        totals = np.zeros(shape)
        totals[self.rows, self.labels] = self.weights
        place = self.rows, self.labels
        return [part[place] / self.weights for part in split_weights(totals, folds, seed)]


def parts_of(weights: Floats, folding: Folding | None, folds: int) -> list[Part]:
    """Return the folds of weights, (rows, classes): those of a folding, or else of :func:`split_weights`."""
    if folding is not None:
        return folding.parts(len(weights), folds)
    return [Part(weights - part, part, weights - part) for part in split_weights(weights, folds)]


def split_table(table: DiscreteTable, folds: int, seed: int = SEED) -> list[tuple[DiscreteTable, DiscreteTable]]:
    """Return, for every fold, the rows of all other folds and its own; see :func:`split_weights`.

    If the rows of the table are in groups, every group is held out as a whole. A fold that would leave no rows to
    learn from, or to predict, is left out.
    """
    parts: Iterable[Weights]
    if table.folding is not None:
        parts = table.folding.held_weights(len(table.weights), folds, seed)
    else:
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
    """Return the table with other weights, without the rows of weight 0."""
    rows = np.flatnonzero(weights > 0)
    codes = np.asfortranarray(table.codes[rows])
    return replace(table, codes=codes, weights=weights[rows], n_rows=len(rows), folding=None)


def in_groups(table: DiscreteTable, rows: RowCodes, groups: Integers) -> DiscreteTable:
    """Return a table whose folds keep groups together, given its rows one by one with the groups of these."""
    vocabulary = table.vocabulary
    _, place = row_groups(rows.codes.T, [vocabulary.arity(name) for name in vocabulary.names], len(rows.codes))
    labels = rows.codes[:, vocabulary.positions[vocabulary.class_name]].astype(np.int64)
    n_classes = vocabulary.arity(vocabulary.class_name)
    return replace(table, folding=Folding.of_groups(place, labels, rows.weights, n_classes, groups[rows.places]))


def frame_folds(
    columns: Sequence[Column], target: Column, weights: Weights, folds: int, groups: Integers | None = None
) -> list[tuple[Weights, Weights]]:
    """Return, for every fold, the weights of the rows to learn from and of those that are held out.

    Of equal rows, the first carries the weight of all, which is divided among the folds. Weight 2 is equivalent to
    two such rows, weight 0 to none; see :func:`~anbexact.tables.folds.split_weights`. Groups are held out as a whole
    instead; see :func:`~anbexact.tables.folds.split_groups`. If a fold would hold out all rows of a class, these rows
    stay in training instead, so that a class with a single row is never held out.

    Parameters
    ----------
    columns, target : Column
        The features and the class.
    weights : (rows,) float64
        Zero or more.
    folds : int
        At least 2.
    groups : (rows,) int64 array, optional
        The group of every row, numbered from 0.

    Returns
    -------
    list of pairs of (rows,) float64
        A fold that would hold out nothing is left out.
    """
    counted, group, classes = equal_rows(columns, target, weights)
    if not len(counted):
        return []
    if groups is not None:
        group = np.unique(groups[counted], return_inverse=True)[1]
    totals = np.zeros((int(group.max()) + 1, int(classes.max()) + 1))
    np.add.at(totals, (group, classes), weights[counted])
    if groups is not None:
        own, found = split_groups(totals, folds)[group], []
        for k in range(folds):
            left = np.bincount(classes, weights[counted] * (own != k))
            held_rows = (own == k) & (left[classes] > 0)
            if held_rows.any():
                learned, held = np.zeros(len(weights)), np.zeros(len(weights))
                held[counted] = weights[counted] * held_rows
                learned[counted] = weights[counted] * ~held_rows
                found.append((learned, held))
        return found
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


def equal_rows(columns: Sequence[Column], target: Column, weights: Weights) -> tuple[Integers, Integers, Integers]:
    """Return the rows of positive weight that have a class; for each, the number of its features, and its class.

    Rows with equal features have the same number. Both numbers follow the order of values, not of rows.
    """
    labels = target.coded[0]
    counted = np.flatnonzero((weights > 0) & (labels >= 0))
    if not len(counted):
        return counted, counted, counted
    numbers = [_ranks(column)[counted] + 1 for column in columns]  # 0 for a missing cell
    group = row_groups(numbers, [int(own.max()) + 1 for own in numbers], len(counted))[1]
    return counted, group, _ranks(target)[counted]


def mean_of_equal_rows(values: Floats, columns: Sequence[Column], target: Column, weights: Weights) -> Floats:
    """Return values, (rows, columns), replaced by their weighted means over rows of equal features and class."""
    counted, group, classes = equal_rows(columns, target, weights)
    found = values.copy()
    if len(counted):
        own = group * (int(classes.max()) + 1) + classes
        sums = np.zeros((int(own.max()) + 1, values.shape[1]))
        np.add.at(sums, own, weights[counted, None] * values[counted])
        found[counted] = sums[own] / np.bincount(own, weights[counted])[own, None]
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
