"""Rows as cells of the families that the class is part of."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._kernels.softmax import add_cells, add_rows
from anbexact._runtime.cached import cached_property
from anbexact._runtime.json_checks import listed, mapped, number, refuse_overflow, whole
from anbexact._runtime.json_values import decode, encode
from anbexact.models.logit.potentials import Floats, Potential, Potentials, class_families
from anbexact.models.structure import Structure
from anbexact.tables.folds import Folding, Part, parts_of
from anbexact.tables.row_codes import RowCodes, row_groups
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class RowOrder:
    """The rows of a design one by one, in the order in which they were passed.

    Attributes
    ----------
    rows, classes : (rows,) int64
        The number of the distinct row in the design, and the number of the class.
    weights : (rows,) float64
        Positive weights.
    labels : (rows,) array of numbers or times, or tuple
        The index of the frame, or the positions of the rows if it has none; tuples if the index has several levels.
    names : tuple
        The name of every level of the index, which may be None.
    """

    rows: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    weights: Floats
    labels: npt.NDArray[Any] | tuple[Any, ...]
    names: tuple[Hashable, ...]

    @classmethod
    def labelled(
        cls, rows: npt.NDArray[np.int64], classes: npt.NDArray[np.int64], weights: Floats, index: pd.Index[Any]
    ) -> RowOrder:
        """Return the order of rows with the labels of an index, kept as values that any file format can hold."""
        values = None if isinstance(index, pd.MultiIndex) else index.to_numpy()
        plain = values is not None and values.dtype != object
        labels = values if plain and values is not None else tuple(index.tolist())
        return cls(rows, classes, weights, labels, tuple(index.names))

    @property
    def index(self) -> pd.Index[Any]:
        """The labels as an index of pandas."""
        if len(self.names) > 1:
            return pd.MultiIndex.from_tuples(list(self.labels), names=list(self.names))
        labels = list(self.labels) if isinstance(self.labels, tuple) else self.labels
        return pd.Index(labels, name=self.names[0], tupleize_cols=False)

    def to_dict(self, n_classes: int) -> dict[str, Any]:
        """Return the JSON form: the cell of every row (distinct row and class), its weight and its label."""
        return {
            "cells": (self.rows * n_classes + self.classes).tolist(),
            "weights": _short(self.weights),
            "index": encode(self.index),
            "names": encode(list(self.names)),
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any], totals: Floats) -> RowOrder:
        """Return the order that :meth:`to_dict` described.

        Raises
        ------
        ValueError
            If the weights do not add up to the totals, shape (distinct rows, classes).
        """
        cells = np.array([whole(cell, 0, totals.size - 1) for cell in described["cells"]], dtype=np.int64)
        weights = np.array([number(weight, above=0) for weight in listed(described["weights"], len(cells))])
        labels, names = decode(described["index"]), decode(described["names"])
        added = np.bincount(cells, weights, totals.size)
        if len(labels) != len(cells) or not np.allclose(added, totals.ravel(), rtol=1e-9, atol=0):
            raise ValueError("the rows of the refit in their order do not add up to its distinct rows")
        rows, classes = np.divmod(cells, totals.shape[1])
        index = cls(rows, classes, weights, tuple(labels), tuple(names)).index
        return cls.labelled(rows, classes, weights, index)


class RowTargets(NamedTuple):
    """Rows, with what they are to teach and how folds may divide them.

    Attributes
    ----------
    rows : RowCodes
    targets : (rows, classes) array or None
        The target probabilities of every row; None: 1 for its class.
    groups : (rows,) int64 array or None
        The number of the group of every row, which folds hold out together; None: none.
    """

    rows: RowCodes
    targets: Floats | None
    groups: npt.NDArray[np.int64] | None

    @property
    def codes(self) -> npt.NDArray[np.int64]:
        """The class of every row."""
        vocabulary = self.rows.vocabulary
        return self.rows.codes[:, vocabulary.positions[vocabulary.class_name]].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Design:
    """The distinct rows of a table's features, each with its cells and its weight for every class.

    Attributes
    ----------
    weights : (rows, classes) float64
        Weight of the rows with these features and this class.
    cells : (rows, families) int32
        The cell of the row in every family; observed cells are numbered consecutively over all families.
    observed : tuple of int64 arrays
        For every family, its observed cells: positions in the flattened array over its features (last fastest).
    families : mapping of variable to its features
        The class and its children, with the features of each family.
    shape : mapping of feature to its number of states
    order : RowOrder or None
        The rows one by one; None if their order was not kept.
    folding : Folding or None
        How the weights are divided into folds; None: as :func:`~anbexact.tables.folds.split_weights` does.
    """

    weights: Floats
    cells: npt.NDArray[np.int32]
    observed: tuple[npt.NDArray[np.int64], ...]
    families: Mapping[Hashable, tuple[Hashable, ...]]
    shape: Mapping[Hashable, int]
    order: RowOrder | None = None
    folding: Folding | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.weights.shape[1])

    @cached_property
    def firsts(self) -> npt.NDArray[np.int64]:
        """First cell of every family, followed by the number of cells."""
        return np.cumsum([0, *map(len, self.observed)])

    @property
    def n_cells(self) -> int:
        """Number of observed cells of all families."""
        return int(self.firsts[-1])

    @property
    def features(self) -> list[Hashable]:
        """The features of all families."""
        return list(dict.fromkeys(name for names in self.families.values() for name in names))

    @cached_property
    def totals(self) -> Floats:
        """Weight of every row over all classes."""
        return np.asarray(self.weights.sum(axis=1))

    def parts(self, folds: int) -> list[Part]:
        """Return the folds of the rows."""
        return parts_of(self.weights, self.folding, folds)

    def sums(self, potentials: Potentials) -> Floats:
        """Return the sum of the potentials for every row and class, shape (rows, classes)."""
        of_cells = [
            potential.logs.reshape(-1, self.n_classes)[cells]
            for potential, cells in zip(potentials, self.observed, strict=True)
        ]
        return self.by_row(np.concatenate(of_cells))

    def by_row(self, of_cells: Floats) -> Floats:
        """Return, for values (cells, columns), their sum over the cells of every row, (rows, columns)."""
        total = np.zeros((len(self.cells), of_cells.shape[1]))
        add_cells(self.cells, of_cells, total)
        return total

    def by_cell(self, of_rows: Floats) -> Floats:
        """Return, for values (rows, columns), their sum over the rows of every cell, (cells, columns)."""
        total = np.zeros((self.n_cells, of_rows.shape[1]))
        add_rows(self.cells, of_rows, total)
        return total

    def states(self, feature: Hashable) -> npt.NDArray[np.int64]:
        """Return the state of a feature in every row; the feature must be part of a family."""
        j, features = next((j, names) for j, names in enumerate(self.families.values()) if feature in names)
        codes = np.unravel_index(self.observed[j], [self.shape[name] for name in features])[features.index(feature)]
        return np.asarray(codes[self.cells[:, j] - self.firsts[j]])

    def table(self, weights: Floats, vocabulary: Vocabulary) -> DiscreteTable:
        """Return the rows, with other weights (rows, classes), as a table of the families' variables."""
        c = vocabulary.class_name
        row, class_codes = np.nonzero(weights)
        names = self.features
        codes = [*(self.states(name)[row] for name in names), class_codes]
        states = {name: vocabulary.states[name] for name in (*names, c)}
        totals = weights[row, class_codes]
        return DiscreteTable(Vocabulary(states, c), np.stack(codes, axis=1).astype(np.int16), totals, len(totals))

    def in_order_of(self, rows: RowCodes, index: pd.Index[Any]) -> Design:
        """Return the design with the order and the labels of the rows from which it was made."""
        classes = RowTargets(rows, None, None).codes
        return replace(self, order=RowOrder.labelled(self.places_of(rows), classes, rows.weights, index))

    def taught(self, by: RowTargets) -> Design:
        """Return the design, made from the same rows, with the targets and the groups of the rows."""
        rows, targets, groups = by
        if targets is None and groups is None:
            return self
        distinct, classes = self.places_of(rows), by.codes
        if targets is None:
            targets = np.zeros((len(classes), self.n_classes))
            targets[np.arange(len(classes)), classes] = 1.0
        of_rows = rows.weights[:, None] * targets
        if groups is None:  # the rows of a block are alike in features and class
            occurring, block = np.unique(distinct * self.n_classes + classes, return_inverse=True)
            of_blocks = np.zeros((len(occurring), self.n_classes))
            np.add.at(of_blocks, block, of_rows)
            place = np.divmod(occurring, self.n_classes)
            folding = Folding(*place, self.weights[place], of_blocks, None)
        else:
            numbers = np.unique(groups, return_inverse=True)[1]
            folding = Folding(distinct, classes, rows.weights, of_rows, numbers)
        weights = np.zeros(self.weights.shape)
        np.add.at(weights, folding.rows, folding.targets)
        return replace(self, weights=weights, folding=folding)

    def places_of(self, rows: RowCodes) -> npt.NDArray[np.int64]:
        """Return, for the rows from which the design was made, the number of each in the design."""
        place = rows.vocabulary.positions
        columns = [rows.codes[:, place[name]] for name in self.features]
        return row_groups(columns, [self.shape[name] for name in self.features], len(rows.codes))[1]

    def shifted(self, potentials: Potentials, shift: Floats) -> Potentials:
        """Return the potentials with the observed cells shifted, ``shift`` of shape (cells, classes)."""
        moved = []
        for potential, cells, first in zip(potentials, self.observed, self.firsts[:-1], strict=True):
            logs = potential.logs.copy()
            logs.reshape(-1, self.n_classes)[cells] += shift[first : first + len(cells)]
            moved.append(Potential(potential.child, potential.features, logs))
        return tuple(moved)

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form: the states of the features in the distinct rows, and the weights.

        Features are given by their numbers in ``positions``.
        """
        cells = np.flatnonzero(self.weights)
        return {
            "number": len(self.weights),
            "states": [[positions[name], self.states(name).tolist()] for name in self.features],
            "cells": cells.tolist(),
            "weights": _short(self.weights.ravel()[cells]),
            "order": None if self.order is None else self.order.to_dict(self.n_classes),
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any], structure: Structure, vocabulary: Vocabulary) -> Design:
        """Return the rows that :meth:`to_dict` described, as cells of the families that the class is part of.

        Raises
        ------
        ValueError
            If they have other features than these families, states that the vocabulary does not have, or weights
            that do not match the rows.
        """
        names, families = vocabulary.names, class_families(structure)
        features = dict.fromkeys(name for of_family in families.values() for name in of_family)
        n_rows, n_classes = int(described["number"]), vocabulary.arity(structure.class_name)
        if not 0 <= n_rows <= len(described["cells"]):
            raise ValueError("the refit has different numbers of rows and weights")
        states = {names[j]: np.array(codes, dtype=np.int64) for j, codes in described["states"]}
        if states.keys() != features.keys():
            raise ValueError("the rows of the refit do not have the features that the class depends on")
        for name, codes in states.items():
            if codes.shape != (n_rows,) or not ((codes >= 0) & (codes < vocabulary.arity(name))).all():
                raise ValueError(f"the rows of the refit contain codes of {name!r} that are not its states")
        cells = np.array(described["cells"], dtype=np.int64)
        values = np.array(described["weights"], dtype=np.float64)
        ascending = bool((np.diff(cells, prepend=-1) > 0).all()) and cells.max(initial=-1) < n_rows * n_classes
        if cells.shape != values.shape or not ascending or not (np.isfinite(values) & (values > 0)).all():
            raise ValueError("the rows of the refit do not have weights")
        refuse_overflow(values)
        weights = np.zeros((n_rows, n_classes))
        weights.ravel()[cells] = values
        if not weights.any(axis=1).all():
            raise ValueError("a row of the refit has no weight")
        shape = {name: vocabulary.arity(name) for name in vocabulary.names}
        design = design_of_rows(states, weights, families, shape)
        order = described.get("order")  # files of earlier versions have none
        return design if order is None else replace(design, order=RowOrder.from_dict(mapped(order), weights))


def _short(weights: Floats) -> list[float]:
    """Return weights for JSON, with whole numbers as integers, which are shorter."""
    return [int(weight) if weight.is_integer() else weight for weight in weights.tolist()]


def make_design(table: DiscreteTable, families: Mapping[Hashable, Sequence[Hashable]]) -> Design:
    """Return the rows of a table as cells of families (see :func:`.class_families`)."""
    c = table.vocabulary.class_name
    assert c is not None
    shape = {name: table.vocabulary.arity(name) for name in table.vocabulary.names}
    features = list(dict.fromkeys(name for names in families.values() for name in names))
    group = table.groups(features) if features else np.zeros(len(table.codes), dtype=np.int64)
    _, first = np.unique(group, return_index=True)
    weights = np.zeros((len(first), shape[c]))
    np.add.at(weights, (group, table.column(c)), table.weights)
    return design_of_rows({name: table.column(name)[first] for name in features}, weights, families, shape)


def design_of_rows(
    states: Mapping[Hashable, npt.NDArray[np.integer[Any]]],
    weights: Floats,
    families: Mapping[Hashable, Sequence[Hashable]],
    shape: Mapping[Hashable, int],
) -> Design:
    """Return distinct rows as cells of families.

    Parameters
    ----------
    states : mapping of feature to (rows,) integers
        The state of every feature of the families in every row.
    weights : (rows, classes) float64
    families, shape
        As in :class:`Design`.
    """
    cells = np.empty((len(weights), len(families)), dtype=np.int32)
    observed = []
    n_cells = 0
    for j, names in enumerate(families.values()):
        flat = np.zeros(len(weights), dtype=np.int64)
        for name in names:
            flat = flat * shape[name] + states[name]
        of_family, position = np.unique(flat, return_inverse=True)
        observed.append(of_family)
        cells[:, j] = position + n_cells
        n_cells += len(of_family)
    return Design(weights, cells, tuple(observed), {name: tuple(names) for name, names in families.items()}, shape)


def cell_states(
    design: Design, cell: int, states: Mapping[Hashable, Sequence[object]]
) -> tuple[tuple[Hashable, ...], list[object]]:
    """Return the features and their states in an observed cell."""
    j = int(np.searchsorted(design.firsts, cell, side="right")) - 1
    names = list(design.families.values())[j]
    if not names:
        return (), []
    flat = design.observed[j][cell - design.firsts[j]]
    codes = np.unravel_index(flat, [design.shape[name] for name in names])
    return names, [states[name][int(code)] for name, code in zip(names, codes, strict=True)]
