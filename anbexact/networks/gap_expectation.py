"""The E-step: what a network expects in the place of the missing cells of a table."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.networks.gap_elimination import GapElimination, Orders
from anbexact.networks.gap_families import FamilyExpectation
from anbexact.parameters.counts import Counts, FamilyCounts, count_families
from anbexact.parameters.tables import ConditionalTable, Tables
from anbexact.structures.structure import Structure
from anbexact.tables.incomplete import Completed, IncompleteTable, all_completions
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray

N_DRAWS = 8
"""Completions that stand for a row with too many missing cells while a structure is searched."""


class GapExpectation:
    """The completions of a table with missing cells, laid out once and weighted by one network after the other.

    Rows are completed in every way, those with the fewest completions first, as long as there are no more than
    ``most_completions`` in all. Of the remaining rows, the counts of families are expected exactly, family by family,
    and each is represented by 8 draws while a structure is searched.

    Parameters
    ----------
    table : IncompleteTable
        The rows.
    most_completions : int
        Completions that are laid out at most.
    """

    def __init__(self, table: IncompleteTable, most_completions: int) -> None:
        self.table = table
        counts = table.n_completions()
        order = np.argsort(counts, kind="stable")
        within = np.cumsum(counts[order]) <= most_completions
        self._rows = np.sort(order[within | (counts[order] == 1)])
        self.drawn = np.setdiff1d(np.arange(len(counts)), self._rows)
        codes, row = all_completions(table, self._rows)
        self._completed = Completed.of(table.vocabulary, codes, row)
        self._starts = np.flatnonzero(np.diff(row, prepend=-1))
        self.n_completions = len(row)
        self._others = table.rows(self.drawn)
        self._orders: Orders = {}
        self._of_families: tuple[object, FamilyExpectation] | None = None

    def under(self, tables: Tables) -> Expected:
        """Return what the network of these tables expects."""
        vocabulary = self.table.vocabulary
        position = {name: j for j, name in enumerate(vocabulary.names)}
        logs = np.zeros(len(self._completed.codes))
        for table in tables.values():
            logs += _log_values(table, self._completed.codes, position)
        entries = logs[self._completed.place]
        sizes = np.diff(self._starts, append=len(entries))
        top = np.maximum.reduceat(entries, self._starts) if len(entries) else entries
        top = np.where(np.isneginf(top), 0.0, top)
        shares = np.exp(entries - np.repeat(top, sizes))
        totals = np.add.reduceat(shares, self._starts) if len(entries) else shares
        with np.errstate(divide="ignore"):
            log_likelihood = float(self.table.weights[self._rows] @ (top + np.log(totals)))
        shares /= np.repeat(np.where(totals > 0, totals, 1.0), sizes)
        others = GapElimination(self._others, tables, self._orders) if len(self.drawn) else None
        if others is not None:
            log_likelihood += others.log_likelihood
        return Expected(self, tables, self._completed, shares, log_likelihood, others)

    def of_families(self, structure: Structure) -> FamilyExpectation:
        """Return what networks of one structure expect, family by family: quicker than whole completions."""
        if self._of_families is None or self._of_families[0] != structure.parents:
            self._of_families = structure.parents, FamilyExpectation(self.table, structure, self._orders)
        return self._of_families[1]

    def completed(self, codes: CodeArray) -> DiscreteTable:
        """Return the table of rows that were completed in one way each, codes (rows, variables)."""
        one = Completed.of(self.table.vocabulary, codes, np.arange(len(codes)))
        return one.table(np.ones(len(codes)), self.table.weights, self.table.n_rows)


def _log_values(table: ConditionalTable, codes: CodeArray, position: dict[Hashable, int]) -> Floats:
    """Return the log of a conditional table at every row."""
    flat = np.zeros(len(codes), dtype=np.int64)
    for name, arity in zip(table.variables, table.values.shape, strict=True):
        flat *= arity
        flat += codes[:, position[name]]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(table.values).ravel()[flat])


@dataclass(frozen=True, eq=False)
class Expected:
    """What one network expects of the rows of a table with missing cells.

    Attributes
    ----------
    expectation : GapExpectation
        The rows.
    tables : dict
        The network.
    laid_out : Completed
        The completions that are laid out.
    shares : (entries,) float64
        The posterior probability of each of them, given the observed cells of its row.
    log_likelihood : float
        Σ_t w_t ln P(observed cells of row t); total in nats.
    others : GapElimination or None
        The rows that are not laid out, if there are any.
    """

    expectation: GapExpectation
    tables: Tables
    laid_out: Completed
    shares: Floats
    log_likelihood: float
    others: GapElimination | None

    def counts(self, structure: Structure, row_weights: Floats | None = None) -> Counts:
        """Return the expected counts of every family of a structure.

        They are exact, unless rows are not laid out and the structure is not that of the network: then these rows
        are represented by their draws. ``row_weights`` may take the place of the weights of the rows.
        """
        table = self.expectation.table
        weights = table.weights if row_weights is None else row_weights
        if self.others is None:
            return count_families(self.rows(weights), structure)
        if any(self.tables[name].parents != of for name, of in structure.parents.items()):
            return count_families(self.rows(weights), structure)
        counts = count_families(self.laid_out.table(self.shares, weights, table.n_rows), structure)
        for name, values in self.others.counts(weights[self.expectation.drawn]).items():
            cells = np.flatnonzero(values)
            counts[name] += FamilyCounts(name, counts[name].parents, values.shape, cells, values.ravel()[cells])
        return counts

    def rows(self, weights: Floats | None = None) -> DiscreteTable:
        """Return the completions as a table for searches, the rows having other weights if they are given."""
        table = self.expectation.table
        completed, shares = self._with_draws
        return completed.table(shares, table.weights if weights is None else weights, table.n_rows)

    @cached_property
    def _with_draws(self) -> tuple[Completed, Floats]:
        """Return all entries, those of the draws too, and their shares."""
        if self.others is None:
            return self.laid_out, self.shares
        drawn = self.expectation.drawn
        codes = np.concatenate([self.laid_out.codes[self.laid_out.place], self.others.draws(N_DRAWS)])
        row = np.concatenate([self.laid_out.row, np.repeat(drawn, N_DRAWS)])
        shares = np.concatenate([self.shares, np.full(len(drawn) * N_DRAWS, 1.0 / N_DRAWS)])
        return Completed.of(self.laid_out.vocabulary, codes, row), shares
