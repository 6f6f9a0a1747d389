"""Rows of a table as indicator columns: of the states of a feature without its reference, or of pairs of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from anbexact.tables.table import DiscreteTable

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]
Term = tuple[int, ...]
"""The features of a product of indicators, ascending: none for the intercept, one, or two."""


class Rows:
    """The distinct rows of a table's features, with their weights by class and the columns that they are in.

    Only classes that occur are considered: at the supremum, all other classes have probability 0. The reference state
    of a feature, which has no column, is its most frequent state (the first of several), so that rows are in as few
    columns as possible. Columns without rows are left out, because the likelihood does not depend on them.

    Attributes
    ----------
    states : (features, rows) int64
        States other than the reference, numbered from 0; -1 for the reference.
    weights : (rows, classes) float64
    totals : (rows,) float64
    precision : float
        The difference of total conditional log likelihoods, in nats, up to which they count as equal.
    saturated : float
        An upper bound on the conditional log likelihood of all models.
    """

    def __init__(self, table: DiscreteTable) -> None:
        c = table.vocabulary.class_name
        assert c is not None
        features = list(table.vocabulary.features)
        group = table.groups(features) if features else np.zeros(len(table.codes), dtype=np.int64)
        _, first = np.unique(group, return_index=True)
        weights = np.zeros((len(first), table.vocabulary.arity(c)))
        np.add.at(weights, (group, table.column(c)), table.weights)
        self.weights = np.ascontiguousarray(weights[:, weights.any(axis=0)])
        self.totals: Floats = self.weights.sum(axis=1)
        self.arities = table.shape(features)
        self.states = np.empty((len(features), len(first)), dtype=np.int64)
        for i, name in enumerate(features):
            codes = table.column(name)[first].astype(np.int64)
            reference = int(table.counts([name]).argmax())
            self.states[i] = np.where(codes == reference, -1, codes - (codes > reference))
        self.precision = 1e-6 + 1e-12 * float(self.totals.sum())
        share = self.weights / self.totals[:, None]
        self.saturated = float(np.sum(self.weights * np.log(np.where(share > 0, share, 1.0))))

    def n_terms(self, term: Term) -> int:
        """Return the number of columns of a term, whether or not a row is in them."""
        size: int = prod(self.arities[i] - 1 for i in term)
        return size

    def labels(self, term: Term) -> tuple[Labels, int]:
        """Return the column of a term that each row is in, -1 for none, and the number of columns with rows."""
        flat = np.zeros(len(self.totals), dtype=np.int64)
        inside = np.ones(len(flat), dtype=bool)
        for i in term:
            flat = flat * (self.arities[i] - 1) + self.states[i]
            inside &= self.states[i] >= 0
        found, position = np.unique(flat[inside], return_inverse=True)
        labels = np.full(len(flat), -1, dtype=np.int32)
        labels[inside] = position
        return labels, len(found)

    @property
    def n_contrasts(self) -> int:
        """Number of coefficients of a column: one for every class that occurs, except the first."""
        return int(self.weights.shape[1]) - 1


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of some terms, numbered term by term.

    Attributes
    ----------
    terms : tuple of Term
    cells : (rows, terms) int32
        The column of every row in each term; -1 for none.
    firsts : (terms + 1,) int64
        The first column of every term; at the end, the number of columns.
    """

    terms: tuple[Term, ...]
    cells: Labels
    firsts: npt.NDArray[np.int64]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.firsts[-1])

    def plus(self, rows: Rows, term: Term) -> Columns:
        """Return the design with one more term, which comes last."""
        labels, size = rows.labels(term)
        labels = np.where(labels >= 0, labels + np.int32(self.n_columns), np.int32(-1))
        cells = np.concatenate([self.cells, labels[:, None]], axis=1)
        return Columns((*self.terms, term), cells, np.append(self.firsts, self.n_columns + size))

    def minus(self, place: int) -> tuple[Columns, npt.NDArray[np.bool_]]:
        """Return the design without a term, and which of the columns are kept."""
        first, end = self.firsts[place : place + 2]
        kept = np.ones(self.n_columns, dtype=bool)
        kept[first:end] = False
        cells = np.delete(self.cells, place, axis=1)
        cells = np.where(cells >= end, cells - np.int32(end - first), cells)
        sizes = np.delete(np.diff(self.firsts), place)
        return Columns((*self.terms[:place], *self.terms[place + 1 :]), cells, np.cumsum([0, *sizes])), kept


def make_columns(rows: Rows, terms: Sequence[Term]) -> Columns:
    """Return the design of some terms."""
    design = Columns((), np.empty((len(rows.totals), 0), dtype=np.int32), np.zeros(1, dtype=np.int64))
    for term in terms:
        design = design.plus(rows, term)
    return design
