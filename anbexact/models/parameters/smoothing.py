"""The amount of smoothing of conditional tables, chosen by predicting rows from other rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._kernels.left_out import class_cells, factors_at_once, log_likelihoods
from anbexact._runtime.arrays import Floats
from anbexact._runtime.line_search import best_on_log_grid
from anbexact.models.structure import Structure
from anbexact.tables.table import DENSE_CELLS_PER_ROW, DiscreteTable
from anbexact.tables.vocabulary import Vocabulary

LEAST_SMOOTHING = 0.1
"""Smallest equivalent sample size that is tried; the largest is the total weight (at least 100), or more if that is
best."""
N_SIZES, N_CLOSER = 8, 9
"""Numbers of equivalent sample sizes that are tried when single rows are left out: first over a range, then around
the best of these."""
N_HELD_OUT_SIZES, N_SIZES_BEYOND = 16, 9
"""Numbers of equivalent sample sizes that are tried on held-out rows: up to the total weight, and above it."""
BEYOND_REPETITIONS = 30
"""If the frequencies of the classes predict better than tables, equivalent sample sizes are tried up to this many
times the total weight times the number of features."""
CLASS_SMOOTHING = 1.0
"""Equivalent sample size of the table of the class where a larger one, of the other tables, would draw the
probabilities of the classes towards each other."""
TO_FREQUENCIES = 10_000
"""Used in place of `BEYOND_REPETITIONS` if the table of the class has an equivalent sample size of its own: with that
much smoothing, features count so little that the class frequencies are predicted."""
MOST_PREDICTED = 100_000
"""Maximum number of distinct rows to be predicted; of more rows, evenly spaced ones are taken."""


@dataclass(frozen=True, eq=False)
class Family:
    """Counts of a family that contains the class, by joint state of its other variables and by class.

    ``state`` is the joint state of every row, ``cells[u, c]`` the weight of joint state u with class c, and
    ``given[u, c]`` that of the states of the parents in it. If ``conditional`` is False, the variable has no parents,
    and ``given`` is 1. ``own_ess`` is the equivalent sample size of this family, if it has one of its own.
    """

    state: npt.NDArray[np.int64]
    cells: Floats
    given: Floats
    size: int
    arity: int
    conditional: bool = True
    own_ess: float | None = None

    def logs(self, ess: float) -> tuple[Floats, Floats]:
        """Return ln θ for every cell, and its value for a row of that cell when the row itself is left out."""
        prior = (ess if self.own_ess is None else self.own_ess) / self.size
        one = np.minimum(self.cells, 1.0)
        logs, lowered = np.log(self.cells + prior), np.log(self.cells - one + prior)
        if self.conditional:
            logs -= np.log(self.given + prior * self.arity)
            lowered -= np.log(self.given - one + prior * self.arity)
        return logs, lowered


def _of_priors(families: Sequence[Family], ess: Floats) -> tuple[Floats, Floats]:
    """Return what the priors of equivalent sample sizes add to a cell, and to a joint state of the parents.

    Both have shape (families, sizes).
    """
    own = np.array([np.nan if family.own_ess is None else family.own_ess for family in families])[:, None]
    of_cells = np.where(np.isnan(own), ess, own) / np.array([float(family.size) for family in families])[:, None]
    return of_cells, of_cells * np.array([[family.arity] for family in families])


def class_families(table: DiscreteTable, structure: Structure) -> list[Family]:
    """Return the families of a structure that contain the class; the others do not affect its posterior."""
    return [class_family(table, *family) for family in _with_class(structure)]


def _with_class(structure: Structure) -> list[tuple[Hashable, tuple[Hashable, ...]]]:
    """Return the variables whose families contain the class, each with its parents."""
    c = structure.class_name
    return [(name, parents) for name, parents in structure.parents.items() if c in (name, *parents)]


def class_family(table: DiscreteTable, name: Hashable, parents: Sequence[Hashable]) -> Family:
    """Return the family of a variable with its parents, which contains the class of the table."""
    vocabulary = table.vocabulary
    class_name = vocabulary.class_name
    class_codes, n_classes = table.column(class_name), vocabulary.arity(class_name)
    others = [other for other in (*parents, name) if other != class_name]
    shape = table.shape(others)
    if others and math.prod(shape) <= DENSE_CELLS_PER_ROW * len(table.codes):
        places = np.array([vocabulary.positions[other] for other in others], dtype=np.int64)
        arities = np.array(shape, dtype=np.int64)
        state, cells, given = class_cells(table.codes, places, arities, class_codes, n_classes, table.weights)
    else:
        state, cells = _class_weights(table, others, class_codes)
        given = np.ones(cells.shape)
        if name != class_name:
            shorter, of_shorter = _class_weights(table, others[:-1], class_codes)
            given[state] = of_shorter[shorter]
    arity, size = vocabulary.arity(name), math.prod(shape) * n_classes
    if name == class_name:
        return Family(state, cells, np.ones(cells.shape), size, arity, conditional=False)
    return Family(state, cells, given, size, arity)


def _class_weights(
    table: DiscreteTable, names: Sequence[Hashable], class_codes: npt.NDArray[np.int16]
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the joint state of some variables in every row, and the weights by joint state and class."""
    state, n_classes = table.groups(names), table.vocabulary.arity(table.vocabulary.class_name)
    n_states = int(state.max()) + 1
    flat = np.bincount(state * n_classes + class_codes, table.weights, n_states * n_classes)
    return state, flat.astype(np.float64, copy=False).reshape(n_states, n_classes)


def _counts(families: Sequence[Family], rows: slice | npt.NDArray[np.int64]) -> tuple[Any, ...]:
    """Return the counts of families for some rows, as :func:`.log_likelihoods` takes them."""
    firsts = np.cumsum([0, *(len(family.cells) for family in families)])
    states = [family.state[rows] + first for family, first in zip(families, firsts, strict=False)]
    cells, given = (np.concatenate(part) for part in zip(*((f.cells, f.given) for f in families), strict=True))
    return np.stack(states, axis=1), cells, given, np.array([family.conditional for family in families])


class LeaveOneOut:
    """The conditional log likelihood of a structure's EAP tables, every row predicted by the counts of the others.

    Leaving a row (x, c) out lowers the counts of its own cells by 1, so nothing has to be fitted again. With
    ``P₋(c, x)`` from these lowered counts and ``P(c', x)`` from the others, a row adds
    ``ln P₋(c, x) - ln [P₋(c, x) + Σ_{c' ≠ c} P(c', x)]``; families without the class cancel. Where a cell weighs less
    than 1, all of its weight is left out. Of more than 100,000 distinct rows, that many are predicted, evenly spaced
    in lexicographic order; all rows are counted.

    Parameters
    ----------
    table : DiscreteTable
        The rows.
    structure : Structure
        Over the variables of the table.

    Attributes
    ----------
    weight : float
        Total weight of the rows that are predicted.
    """

    def __init__(self, table: DiscreteTable, structure: Structure) -> None:
        n_rows = len(table.codes)
        chosen = np.unique(np.linspace(0, n_rows - 1, min(n_rows, MOST_PREDICTED)).astype(np.int64))
        self._weights = table.weights[chosen]
        self.weight = float(self._weights.sum())
        self._class_codes = table.column(structure.class_name)[chosen].astype(np.int64)
        self._families = class_families(table, structure)
        self._counts = _counts(self._families, chosen)
        self._heaviest = table.weight_sum

    def with_class_ess(self, ess: float) -> LeaveOneOut:
        """Return the same with an equivalent sample size of its own for the table of the class."""
        other = copy(self)
        other._families = _with_class_ess(self._families, ess)
        return other

    def log_likelihoods(self, ess: Floats) -> Floats:
        """Return the conditional log likelihood for tables of each equivalent sample size; totals in nats."""
        of_priors = _of_priors(self._families, ess)
        at_once = factors_at_once(self._heaviest, *of_priors)
        rows = self._class_codes, self._weights
        found: Floats = log_likelihoods(*self._counts, *of_priors, *rows, True, at_once)
        return found

    def log_likelihood(self, ess: float) -> float:
        """Return the conditional log likelihood for tables of one equivalent sample size; nats, total."""
        return float(self.log_likelihoods(np.array([ess]))[0])

    def best(self, low: float, high: float) -> tuple[float, float]:
        """Return the best equivalent sample size in a range, and the highest conditional log likelihood found."""
        return best_on_log_grid(self.log_likelihoods, low, high, points=N_SIZES, closer=N_CLOSER)


def _with_class_ess(families: Sequence[Family], ess: float) -> list[Family]:
    """Return the families; a class without parents gets an equivalent sample size of its own."""
    return [replace(family, own_ess=ess) if not family.conditional else family for family in families]


def most_smoothing(table: DiscreteTable) -> float:
    """Return the largest equivalent sample size that is tried first: the total weight, at least 100."""
    return max(100.0, table.weight_sum)


def most_repetitions(vocabulary: Vocabulary) -> int:
    """Return how many features can carry the same information: those with two or more states."""
    return sum(vocabulary.arity(name) > 1 for name in vocabulary.features)


def best_smoothing(table: DiscreteTable, structure: Structure) -> float:
    """Return the equivalent sample size of the EAP tables with the highest leave-one-out conditional log likelihood.

    The search is on a logarithmic scale from 0.1 to the total weight W (at least 100); the result is 1 if the value
    makes no difference. If the best is W, the search continues up to n W, for n features with two or more states: if
    features repeat each other, the network counts the same evidence up to n times, and only tables with that much
    smoothing weaken it again. The structure does not change. Seventeen values are tried: eight over the whole range,
    and nine around the best of these; and as many if the search continues.
    """
    return best_left_out_smoothing(table, LeaveOneOut(table, structure))[0]


def best_left_out_smoothing(table: DiscreteTable, left_out: LeaveOneOut) -> tuple[float, float]:
    """Return the result of :func:`best_smoothing`, given the object that predicts the rows of the table.

    The second number is the highest conditional log likelihood found, in nats, total.
    """
    most = most_smoothing(table)
    best = left_out.best(LEAST_SMOOTHING, most)
    n_features = most_repetitions(table.vocabulary)
    if best[0] < most or n_features < 2:
        return best
    further = left_out.best(most, most * n_features)
    return further if further[1] > best[1] else best


def second_smoothing(table: DiscreteTable, left_out: LeaveOneOut) -> tuple[float, float | None, float]:
    """Return the best equivalent sample size above the total weight W, the class's own, and their log likelihood.

    If features repeat each other, the conditional likelihood can have two maxima. At the one below W, the network
    counts repeated evidence as new; at the one between W and 30 n W, for n features, smoothing weakens all evidence.
    In between, smoothing weakens only the evidence for rare classes. So much smoothing also draws the probabilities
    of the classes towards each other. Therefore an equivalent sample size of 1 is tried for the table of the class,
    too, with up to 10,000 n W for the others, where predictions become the class frequencies.

    Returns
    -------
    (float, float or None, float)
        The equivalent sample size of all tables, or of all but the table of the class; 1, or None if the table of the
        class has no value of its own; and the conditional log likelihood in nats, total.
    """
    found = []
    most, repeated = most_smoothing(table), max(most_repetitions(table.vocabulary), 1)
    for own, factor in ((None, BEYOND_REPETITIONS), (CLASS_SMOOTHING, TO_FREQUENCIES)):
        rows = left_out if own is None else left_out.with_class_ess(own)
        best, _ = rows.best(most, most * repeated * factor)
        found.append((best, own, rows.log_likelihood(best)))
    return max(found, key=lambda tried: tried[2])


class HeldOutRows:
    """Rows to learn from, and rows that are held out, of one vocabulary.

    What a family says about the held-out rows is kept, because structures that are compared share many families.

    Attributes
    ----------
    learned, held_out : DiscreteTable
    """

    def __init__(self, learned: DiscreteTable, held_out: DiscreteTable) -> None:
        self.learned, self.held_out = learned, held_out
        # Held-out rows are included so that their joint states are numbered; with weight 0, they do not count.
        codes = np.asfortranarray(np.concatenate([learned.codes, held_out.codes]))
        weights = np.concatenate([learned.weights, np.zeros(len(held_out.codes))])
        self._table = replace(learned, codes=codes, weights=weights)
        class_name = held_out.vocabulary.class_name
        self._class_codes = held_out.column(class_name).astype(np.int64)
        self._families: dict[Any, Family] = {}
        self._values: dict[Any, Floats] = {}

    def families(self, structure: Structure) -> list[Family]:
        """Return the families of a structure that contain the class."""
        keys = _with_class(structure)
        for key in keys:
            if key not in self._families:
                self._families[key] = class_family(self._table, *key)
        return [self._families[key] for key in keys]

    def log_likelihoods(self, families: Sequence[Family], ess: Floats) -> Floats:
        """Return the conditional log likelihood of the held-out rows for equivalent sample sizes; nats, total."""
        key = *map(id, families), ess.tobytes()
        if key in self._values:
            return self._values[key]
        of_priors = _of_priors(families, ess)
        at_once = factors_at_once(self.learned.weight_sum, *of_priors)
        counts = _counts(families, slice(len(self.learned.codes), None))
        rows = self._class_codes, self.held_out.weights
        values: Floats = log_likelihoods(*counts, *of_priors, *rows, False, at_once)
        if all(family.own_ess is None for family in families):  # others are not kept, so that their identities change
            self._values[key] = values
        return values


class HeldOut:
    """The conditional log likelihood of rows that are held out, by the EAP tables of a structure from other rows.

    Parameters
    ----------
    learned, held_out : DiscreteTable
        Rows to count, and rows to predict, of one vocabulary.
    structure : Structure
        Over the variables of the tables.
    rows : HeldOutRows, optional
        The same rows, with what is known about them.
    """

    def __init__(
        self, learned: DiscreteTable, held_out: DiscreteTable, structure: Structure, rows: HeldOutRows | None = None
    ) -> None:
        self._rows = HeldOutRows(learned, held_out) if rows is None else rows
        self._families = self._rows.families(structure)

    def with_class_ess(self, ess: float) -> HeldOut:
        """Return the same with an equivalent sample size of its own for the table of the class."""
        other = copy(self)
        other._families = _with_class_ess(self._families, ess)
        return other

    def log_likelihoods(self, ess: Floats) -> Floats:
        """Return the conditional log likelihood for tables of each equivalent sample size; totals in nats."""
        return self._rows.log_likelihoods(self._families, ess)


class HeldOutFolds:
    """Makes :class:`HeldOut` for the folds of a table, such that the structures of a fold share what is known.

    Parameters
    ----------
    folds : sequence of (DiscreteTable, DiscreteTable)
        The rows to learn from, and the rows that are held out.
    """

    def __init__(self, folds: Sequence[tuple[DiscreteTable, DiscreteTable]]) -> None:
        self._folds = {id(learned): HeldOutRows(learned, held_out) for learned, held_out in folds}

    def __call__(self, learned: DiscreteTable, held_out: DiscreteTable, structure: Structure) -> HeldOut:
        """Return the predictions of a fold's held-out rows by a structure."""
        return HeldOut(learned, held_out, structure, self._folds[id(learned)])


def best_held_out_smoothing(folds: Sequence[HeldOut], most: float, n_features: int) -> tuple[float, float]:
    """Return the equivalent sample size of the EAP tables that predicts all folds best, and their log likelihood.

    The search is on a logarithmic scale from 0.1 to ``most``, and up to ``n_features`` times as much if ``most`` is
    the best (see :func:`best_smoothing`); the result is 1 if the value makes no difference. The log likelihood is the
    total over all folds, in nats, at the best of the values that were tried.
    """
    best = best_on_log_grid(_values_at(folds), LEAST_SMOOTHING, most, points=N_HELD_OUT_SIZES)
    if best[0] < most or n_features < 2:
        return best
    further = best_on_log_grid(_values_at(folds), most, most * n_features, points=N_SIZES_BEYOND)
    return further if further[1] > best[1] else best


def second_held_out_smoothing(
    folds: Sequence[HeldOut], most: float, n_features: int
) -> tuple[float, float | None, float]:
    """Return the result of :func:`second_smoothing` for held-out rows; equivalent sample sizes start at ``most``."""
    found = []
    for own, factor in ((None, BEYOND_REPETITIONS), (CLASS_SMOOTHING, TO_FREQUENCIES)):
        parts = folds if own is None else [fold.with_class_ess(own) for fold in folds]
        top = most * max(n_features, 1) * factor
        best, value = best_on_log_grid(_values_at(parts), most, top, points=N_SIZES_BEYOND)
        found.append((best, own, value))
    return max(found, key=lambda tried: tried[2])


def _values_at(folds: Sequence[HeldOut]) -> Callable[[Floats], Floats]:
    """Return the log likelihood of all folds as a function of some equivalent sample sizes."""
    return lambda grid: np.asarray(np.sum([fold.log_likelihoods(grid) for fold in folds], axis=0))
