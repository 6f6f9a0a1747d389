"""The rows of a table, prepared for the search for the parent sets of one feature."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, xlogy

from anbexact._kernels.candidates import Features, Scoring
from anbexact._kernels.child_bounds import Atoms
from anbexact._kernels.child_scores import CellTables, tabulate
from anbexact._kernels.refinement import DIRICHLET, LIKELIHOOD, Cells
from anbexact._kernels.sorted_rows import number_rows, rank_prefixes, sort_rows
from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact.scores import BoundedScore
from anbexact.search.exact.possible_parents import PossibleParents, SharedResources
from anbexact.search.exact.solution import tie_tolerance
from anbexact.tables.table import DiscreteTable

TABULATED_WEIGHTS = 1024
"""Whole weights whose cell values are tabulated."""
MOST_TABLES = 128
"""Maximum number of distinct numbers of parent configurations with separate tables (at most 2 MB per feature)."""


class LaidOutRows(NamedTuple):
    """The rows of one child, sorted and merged, and the data needed to score and bound its parent sets.

    Attributes
    ----------
    features : Features
        The features that may be added, by row.
    cells : Cells
        The rows grouped by the joint states of the parents that are always there.
    tables : CellTables
        Tabulated values of cells, of which ``n_tables`` are filled.
    atoms : Atoms
        The joint states of all other variables in which two or more states of the child occur.
    scoring : Scoring
        The score, by the number of parent configurations.
    largest : int
        Size of the largest sets whose numbers of configurations are tracked.
    """

    features: Features
    cells: Cells
    tables: CellTables
    n_tables: int
    atoms: Atoms
    scoring: Scoring
    largest: int


def size_laid_out(table: DiscreteTable, parents: PossibleParents) -> int:
    """Return the bytes that the rows take once they are laid out."""
    return 16 * len(parents.added) * len(table.weights)


def lay_out_rows(
    table: DiscreteTable,
    score: BoundedScore,
    parents: PossibleParents,
    dispersion: Floats,
    shared: SharedResources,
    deadline: Deadline,
) -> LaidOutRows | None:
    """Sort the rows and merge those that agree; None when time runs out.

    Parameters
    ----------
    dispersion : (features, features) float64
        Weight times conditional entropy of pairs, in the order of the search; empty where the score needs none.
    """
    if score.proportional_penalty:  # otherwise, the kernels ignore it
        shared.take_for_rows(8 * len(parents.added) ** 2, table)
        dispersion = np.ascontiguousarray(dispersion[np.ix_(parents.places, parents.places)])
    given = table.groups(parents.given)
    shared.take_for_rows(size_laid_out(table, parents), table)
    columns: list[npt.NDArray[Any]] = [
        given,
        table.column(parents.child),
        *(table.column(name) for name in parents.added),
    ]
    keys = np.stack(columns).astype(np.int32)
    sizes = np.array([int(given.max(initial=0)) + 1, parents.states, *parents.arities], dtype=np.int64)
    rows = sort_rows(keys, sizes)
    keys = np.ascontiguousarray(keys[:, rows])
    ranks = rank_prefixes(keys, 2)
    first = np.flatnonzero(np.diff(ranks[-1], prepend=-1))
    weights = np.add.reduceat(table.weights[rows], first)
    keys = keys[:, first]
    codes = np.ascontiguousarray(keys[2:].astype(np.uint16))
    arities, same_arity, times = np.unique(parents.arities, return_inverse=True, return_counts=True)
    features = Features(
        codes, np.ascontiguousarray(codes.T), parents.arities, np.ascontiguousarray(ranks[:, first]), same_arity,
        parents.before, parents.after,
    )  # fmt: skip
    cells = _cells(keys, weights, whole=table.weight_sum < 2**31)
    if deadline.passed:
        return None
    by_q = shared.configurations(table, score, parents, tuple(zip(arities.tolist(), times.tolist(), strict=True)))
    kind = DIRICHLET if np.isfinite(by_q.parameter[0]) else LIKELIHOOD
    numbers = len(by_q.parameter)
    width = int(min(TABULATED_WEIGHTS, table.weight_sum)) + 1
    n_tables = min(MOST_TABLES, numbers) if kind == DIRICHLET else 1
    shared.take_for_rows(8 * numbers + 16 * n_tables * width, table)
    tables = _tables(kind, numbers, n_tables, width)
    atoms, ceiling = _atoms(table, parents, shared, keys, features, cells, kind, float(by_q.next_parameter.max()))
    scoring = Scoring(
        kind, score.proportional_penalty, parents.states, tie_tolerance(table), ceiling, dispersion, by_q.following,
        by_q.child_parameter, by_q.parameter, by_q.penalty, by_q.next_parameter, by_q.next_penalty,
    )  # fmt: skip
    return LaidOutRows(features, cells, tables, int(kind == LIKELIHOOD), atoms, scoring, by_q.largest)


def _cells(keys: npt.NDArray[np.int32], weights: Floats, *, whole: bool) -> Cells:
    """Return rows grouped by their first key, with integer weights if all are whole and not too large."""
    whole = whole and bool(np.array_equal(weights, np.rint(weights)))
    starts = np.append(np.flatnonzero(np.diff(keys[0], prepend=-1)), len(weights)).astype(np.uint32)
    return Cells(
        np.arange(len(weights), dtype=np.uint32), keys[1].astype(np.uint16),
        weights.astype(np.int32) if whole else weights, starts, len(starts) - 1,
    )  # fmt: skip


def _tables(kind: int, numbers: int, n_tables: int, width: int) -> CellTables:
    """Return room for tables of cell values; the only one of a likelihood is filled."""
    tables = CellTables(np.full(numbers, -1, np.int64), np.empty((n_tables, width)), np.empty((n_tables, width)))
    if kind == LIKELIHOOD:
        for values in (tables.child, tables.parents):
            tabulate(values[0], inf)
        tables.table_of[:] = 0
    return tables


def _atoms(
    table: DiscreteTable,
    parents: PossibleParents,
    shared: SharedResources,
    keys: npt.NDArray[np.int32],
    features: Features,
    cells: Cells,
    kind: int,
    most: float,
) -> tuple[Atoms, float]:
    """Find the joint states of all other variables in which two or more states of the child occur.

    Also returns the log-likelihood with all features as parents.
    """
    kids, weights = cells.kids, cells.weights
    others = np.ascontiguousarray(keys[[0, *range(2, len(keys))]])
    order = sort_rows(others, np.append(keys[0].max(initial=0) + 1, parents.arities))
    atom = number_rows(others, order)
    totals = np.bincount(atom, weights)
    ceiling = float(xlogy(weights, weights).sum() - xlogy(totals, totals).sum())
    row = np.empty(len(totals), np.int64)
    row[atom] = np.arange(len(atom))
    mixed = np.flatnonzero(np.bincount(atom) > 1) if kind == DIRICHLET else np.empty(0, np.int64)
    states, most_states = parents.states, int(parents.arities.max(initial=1))
    shared.take_for_rows(32 * len(mixed) * states + 16 * states * most_states, table)
    place = np.full(len(totals), -1, np.int64)
    place[mixed] = np.arange(len(mixed))
    in_mixed = np.flatnonzero(place[atom] >= 0)
    counts = np.zeros((len(mixed), states))
    counts[place[atom[in_mixed]], kids[in_mixed]] = weights[in_mixed]
    codes = np.ascontiguousarray(features.codes[:, row[mixed]])
    likelihoods = xlogy(counts, counts).sum(axis=1) - xlogy(totals[mixed], totals[mixed])
    modes = _modes(counts, most) if len(mixed) else np.empty(0)
    first_cells = np.searchsorted(cells.starts, row[mixed], side="right") - 1
    return Atoms(counts, codes, likelihoods, modes, first_cells.astype(np.int32)[None], np.empty((2, 0))), ceiling


def _modes(counts: Floats, most: float) -> Floats:
    """Return the parameters a' <= most that maximise the Dirichlet marginal likelihood of every row of counts.

    It has one maximum when two or more counts are positive (Levin and Reeds, 1977).
    """
    states = counts.shape[1]
    given = counts.sum(axis=1)

    def rises(rows: npt.NDArray[np.intp], a: Floats) -> npt.NDArray[np.bool_]:
        share = a[:, None] / states
        slope = np.where(counts[rows] > 0, digamma(counts[rows] + share) - digamma(share), 0.0).sum(axis=1) / states
        up: npt.NDArray[np.bool_] = slope >= digamma(a + given[rows]) - digamma(a)
        return up

    modes = np.full(len(counts), most)
    inner = np.flatnonzero(~rises(np.arange(len(counts)), modes))
    low, high = np.full(len(inner), np.log(most) - 60.0), np.full(len(inner), np.log(most))
    for _ in range(60):  # halvings of a range of 60 in the logarithm, down to the digits of a float64
        middle = (low + high) / 2
        up = rises(inner, np.exp(middle))
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    modes[inner] = np.exp((low + high) / 2)
    return modes
