"""Tables with missing cells: weighted rows of state codes, some of which are missing."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace

import numpy as np

from anbexact._runtime.arrays import Bools, Floats, Integers
from anbexact._runtime.cached import cached_property
from anbexact.tables.row_codes import row_groups
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import MISSING, CodeArray, Vocabulary


@dataclass(frozen=True, eq=False)
class IncompleteTable:
    """Weighted rows of codes with missing cells, equal rows collapsed.

    Attributes
    ----------
    vocabulary : Vocabulary
        Names and states, none of which stands for a missing cell unless a column has it as a state of its own.
    codes : (distinct rows, variables) int16
        State of every variable, in the order of ``vocabulary.names``; -1 where a cell is missing.
    weights : (distinct rows,) float64
        Positive total weight of each distinct row.
    n_rows : int
        Rows of positive weight that the table was made from.
    """

    vocabulary: Vocabulary
    codes: CodeArray
    weights: Floats
    n_rows: int

    @classmethod
    def with_missing_cells(cls, table: DiscreteTable, names: Collection[Hashable]) -> IncompleteTable:
        """Return the rows of a table in which the state of missing cells, of some variables, is a missing cell again.

        A variable with a single other state has it in every row.

        Raises
        ------
        ValueError
            If one of the variables has no other state.
        """
        vocabulary = table.vocabulary
        codes, states = table.codes.copy(), dict(vocabulary.states)
        for j, name in enumerate(vocabulary.names):
            if name not in names:
                continue
            states[name] = vocabulary.observed_states(name)
            if not states[name]:
                what = "no row has a class" if name == vocabulary.class_name else "it has no observed value"
                raise ValueError(f"column {name!r}: {what}, so there is nothing to learn its states from")
            code = MISSING if len(states[name]) > 1 else 0
            codes[codes[:, j] == vocabulary.missing_code(name), j] = code
        own = replace(vocabulary, states=states, own_missing=vocabulary.own_missing - set(names))
        distinct, inverse = row_groups(
            (codes + np.int16(1)).T, [own.arity(name) + 1 for name in own.names], len(codes)
        )
        weights = np.bincount(inverse, table.weights, len(distinct)).astype(np.float64, copy=False)
        return cls(own, np.asfortranarray(codes[distinct]), weights, table.n_rows)

    @cached_property
    def weight_sum(self) -> float:
        """Total weight of all rows."""
        return float(self.weights.sum())

    @cached_property
    def missing(self) -> Bools:
        """Which cells are missing, shape (distinct rows, variables)."""
        return np.asarray(self.codes < 0)

    @property
    def n_incomplete(self) -> int:
        """Distinct rows with a missing cell."""
        return int(self.missing.any(axis=1).sum())

    def column(self, name: Hashable) -> CodeArray:
        """Return the codes of one variable, shape (distinct rows,); -1 where missing."""
        return self.codes[:, self.vocabulary.names.index(name)]

    def class_codes(self) -> CodeArray:
        """Return the codes of the class, shape (distinct rows,); -1 where missing."""
        assert self.vocabulary.class_name is not None
        return self.column(self.vocabulary.class_name)

    def feature_codes(self) -> CodeArray:
        """Return the codes of the features, shape (features, distinct rows), as predictions take them."""
        places = [self.vocabulary.names.index(name) for name in self.vocabulary.features]
        return np.ascontiguousarray(self.codes[:, places].T)

    def n_completions(self) -> Floats:
        """Return in how many ways every row can be completed, shape (distinct rows,)."""
        arities = np.array([self.vocabulary.arity(name) for name in self.vocabulary.names], dtype=np.float64)
        counts: Floats = np.where(self.missing, arities, 1.0).prod(axis=1)
        return counts

    def complete(self) -> DiscreteTable:
        """Return the same rows, none of which has a missing cell, as a complete table."""
        return DiscreteTable(self.vocabulary, self.codes, self.weights, self.n_rows)

    def rows(self, places: Integers, weights: Floats | None = None) -> IncompleteTable:
        """Return some of the distinct rows, with other weights if they are given."""
        own = self.weights[places] if weights is None else weights
        return replace(self, codes=np.asfortranarray(self.codes[places]), weights=own, n_rows=len(places))


@dataclass(frozen=True, eq=False)
class Completed:
    """Complete rows that stand for the rows of an incomplete table, each with a share of its row.

    Attributes
    ----------
    vocabulary : Vocabulary
        Names and states.
    codes : (distinct completions, variables) int16
        In lexicographic order.
    place : (entries,) int64
        The distinct completion that an entry is.
    row : (entries,) int64
        The row of the incomplete table that an entry completes.
    """

    vocabulary: Vocabulary
    codes: CodeArray
    place: Integers
    row: Integers

    @classmethod
    def of(cls, vocabulary: Vocabulary, codes: CodeArray, row: Integers) -> Completed:
        """Return the entries whose codes, (entries, variables), are given."""
        distinct, place = row_groups(codes.T, [vocabulary.arity(name) for name in vocabulary.names], len(codes))
        return cls(vocabulary, np.asfortranarray(codes[distinct]), place, row)

    def table(self, shares: Floats, weights: Floats, n_rows: int) -> DiscreteTable:
        """Return the completions as a table: an entry weighs its share, (entries,), of the weight of its row."""
        totals: Floats = np.bincount(self.place, shares * weights[self.row], len(self.codes)).astype(np.float64)
        kept = np.flatnonzero(totals > 0)
        codes = self.codes if len(kept) == len(totals) else np.asfortranarray(self.codes[kept])
        return DiscreteTable(self.vocabulary, codes, totals[kept], n_rows)


def all_completions(table: IncompleteTable, rows: Integers) -> tuple[CodeArray, Integers]:
    """Return every completion of some rows: codes, shape (entries, variables), and the row of each entry."""
    counts = table.n_completions()[rows].astype(np.int64)
    row = np.repeat(rows, counts)
    rest = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    codes = table.codes[row]
    for j, name in enumerate(table.vocabulary.names):
        missing = np.flatnonzero(codes[:, j] < 0)
        arity = table.vocabulary.arity(name)
        codes[missing, j] = rest[missing] % arity
        rest[missing] //= arity
    return codes, row
