"""The E-step of expectation maximisation: expected counts of a table with missing cells, given a network."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact.models.network.elimination import Elimination, make_net
from anbexact.models.parameters.counts import Counts, FamilyCounts, count_families
from anbexact.models.parameters.tables import ConditionalTable, Tables
from anbexact.models.structure import Structure, parents_first
from anbexact.tables.incomplete import Completed, IncompleteTable, all_completions
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray

LEAST_DRAWS, MOST_DRAWS = 8, 64
"""Bounds of the number of draws that represent a row with too many completions in a structure search; between them,
the number depends on how many completions may be laid out."""
SHARE_OF_A_ROW = 1 / 8
"""Maximum share of the laid out completions that belong to a single row."""
SEED = 0
"""Seed of the order in which the draws of a row get their uniform numbers."""


class CompletionExpectation:
    """The completions of a table with missing cells: laid out once, then weighted by each network in turn.

    Rows are completed in every way, those with the fewest completions first, as long as there are no more than
    ``most_completions`` in all, and no more than an eighth of them belong to a single row. The expected counts of
    families in the remaining rows are exact, too, but are computed family by family; while a structure is searched,
    each of these rows is represented by 8 to 64 draws.

    Parameters
    ----------
    table : IncompleteTable
        The rows.
    most_completions : int
        Maximum number of completions that are laid out.
    """

    def __init__(self, table: IncompleteTable, most_completions: int) -> None:
        self.table = table
        counts = table.n_completions()
        order = np.argsort(counts, kind="stable")
        within = np.cumsum(counts[order]) <= most_completions
        within &= counts[order] <= SHARE_OF_A_ROW * most_completions
        self._rows = np.sort(order[within | (counts[order] == 1)])  # complete rows are always laid out
        self.drawn = np.setdiff1d(np.arange(len(counts)), self._rows)
        affordable = most_completions // max(len(self.drawn), 1)
        self.n_draws = min(max(affordable, LEAST_DRAWS), MOST_DRAWS)
        codes, row = all_completions(table, self._rows)
        self._completed = Completed.of(table.vocabulary, codes, row)
        self._starts = np.flatnonzero(np.diff(row, prepend=-1))
        self.n_completions = len(row)
        self._others = np.ascontiguousarray(table.codes[self.drawn].T)
        self._of_families: tuple[object, FamilyExpectation] | None = None

    def under(self, tables: Tables) -> Expected:
        """Return the E-step for the network with these tables."""
        vocabulary = self.table.vocabulary
        position = {name: j for j, name in enumerate(vocabulary.names)}
        logs = np.zeros(len(self._completed.codes))
        for table in tables.values():
            logs += _log_values(table, self._completed.codes, position)
        entries = logs[self._completed.place]
        sizes = np.diff(self._starts, append=len(entries))
        top = np.maximum.reduceat(entries, self._starts) if len(entries) else entries
        top = np.where(np.isneginf(top), 0.0, top)  # rows of probability 0: their shares are all 0
        shares = np.exp(entries - np.repeat(top, sizes))
        totals = np.add.reduceat(shares, self._starts) if len(entries) else shares
        with np.errstate(divide="ignore"):
            log_likelihood = float(self.table.weights[self._rows] @ (top + np.log(totals)))
        shares /= np.repeat(np.where(totals > 0, totals, 1.0), sizes)
        draws = None
        if len(self.drawn):
            draws, totals = self._draws(tables, position)
            log_likelihood += float(self.table.weights[self.drawn] @ totals)
        return Expected(self, tables, self._completed, shares, log_likelihood, draws)

    def _draws(self, tables: Tables, position: dict[Hashable, int]) -> tuple[CodeArray, Floats]:
        """Return draws of the rows that are not laid out, (rows · draws, variables), and their log likelihoods.

        The draws of a row follow each other. Their uniform numbers are (k + ½) / draws, in an order that depends on
        the variable alone, so that the same network gives the same draws.
        """
        order = np.random.default_rng(SEED)
        even = (np.arange(self.n_draws) + 0.5) / self.n_draws
        uniforms = np.stack([order.permutation(even) for _ in position])
        places = [position[name] for name in tables]
        found, totals = Elimination.of_tables(tables).draws(self._others[places], uniforms[places])
        codes = np.empty_like(found)
        codes[:, :, places] = found
        return codes.reshape(-1, len(places)), totals

    def of_families(self, structure: Structure) -> FamilyExpectation:
        """Return the E-step for networks of one structure by family, which is quicker than by completion."""
        if self._of_families is None or self._of_families[0] != structure.parents:
            self._of_families = structure.parents, FamilyExpectation(self.table, structure)
        return self._of_families[1]

    def completed(self, codes: CodeArray) -> DiscreteTable:
        """Return the table of rows with one completion each; codes have the shape (rows, variables)."""
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
    """The result of the E-step: the completions of a table, weighted by one network.

    Attributes
    ----------
    expectation : CompletionExpectation
        The rows.
    tables : dict
        The network.
    laid_out : Completed
        The completions that are laid out.
    shares : (entries,) float64
        The posterior probability of each laid out completion, given the observed cells of its row.
    log_likelihood : float
        Σ_t w_t ln P(observed cells of row t); total in nats.
    draws : (rows · draws, variables) int16, or None
        Drawn completions of the rows that are not laid out; None if all rows are.
    """

    expectation: CompletionExpectation
    tables: Tables
    laid_out: Completed
    shares: Floats
    log_likelihood: float
    draws: CodeArray | None

    def counts(self, structure: Structure, row_weights: Floats | None = None) -> Counts:
        """Return the expected counts of every family of a structure.

        They are exact, unless the structure differs from the structure of the network: then rows that are not laid
        out are represented by their draws. ``row_weights``, if given, replace the weights of the rows.
        """
        weights = self.expectation.table.weights if row_weights is None else row_weights
        if self.draws is None or any(self.tables[name].parents != of for name, of in structure.parents.items()):
            return count_families(self.rows(weights), structure)
        return self.expectation.of_families(structure).under(self.tables, weights)[1]

    def rows(self, weights: Floats | None = None) -> DiscreteTable:
        """Return the completions as a table for searches; ``weights``, if given, replace the weights of the rows."""
        table = self.expectation.table
        completed, shares = self._with_draws
        return completed.table(shares, table.weights if weights is None else weights, table.n_rows)

    @cached_property
    def _with_draws(self) -> tuple[Completed, Floats]:
        """Return all completions, laid out or drawn, and their shares."""
        if self.draws is None:
            return self.laid_out, self.shares
        drawn, n_draws = self.expectation.drawn, self.expectation.n_draws
        codes = np.concatenate([self.laid_out.codes[self.laid_out.place], self.draws])
        row = np.concatenate([self.laid_out.row, np.repeat(drawn, n_draws)])
        shares = np.concatenate([self.shares, np.full(len(drawn) * n_draws, 1.0 / n_draws)])
        return Completed.of(self.laid_out.vocabulary, codes, row), shares


class FamilyExpectation:
    """The E-step for networks of one structure, family by family.

    The missing cells of a row are summed out by a junction tree. Cells that are independent given the observed ones
    are in different cliques, so a row costs the sum of the cells of its cliques, which is never more than its
    completions.

    Parameters
    ----------
    table : IncompleteTable
        The rows.
    structure : Structure
        Over all variables of the table.
    """

    def __init__(self, table: IncompleteTable, structure: Structure) -> None:
        names = list(table.vocabulary.names)
        position = {name: j for j, name in enumerate(names)}
        self._names, self._parents = names, structure.parents
        self._order = parents_first(structure.parents)
        self._arities = [table.vocabulary.arity(name) for name in names]
        self._scopes = [[position[name] for name in (child, *structure.parents[child])] for child in self._order]
        self._shapes = [tuple(self._arities[v] for v in scope) for scope in self._scopes]
        self._ends = np.cumsum([0, *map(prod, self._shapes)])
        order = np.lexsort(table.missing.T)
        self._rows, self._codes = order, np.ascontiguousarray(table.codes[order].T)

    def under(self, tables: Tables, weights: Floats) -> tuple[float, Counts]:
        """Return Σ_t w_t ln P(observed cells of row t), in nats, and the expected counts of every family.

        ``tables`` are those of the structure; ``weights``, (rows,), replace the weights of the rows, and rows of
        weight 0 do not count.
        """
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate([tables[name].values.ravel() for name in self._order]))
        totals, log_likelihood = self._elimination(logs).expected_counts(self._codes, weights[self._rows])
        counts = {}
        for name, parents in self._parents.items():
            k = self._order.index(name)
            own = totals[self._ends[k] : self._ends[k + 1]]
            cells = np.flatnonzero(own)
            counts[name] = FamilyCounts(name, parents, self._shapes[k], cells, own[cells])
        return log_likelihood, counts

    def _elimination(self, logs: Floats) -> Elimination:
        """Return the elimination for conditional tables, whose logarithms are in the order of the families."""
        strides = [[prod(shape[k + 1 :]) for k in range(len(shape))] for shape in self._shapes]
        children = [scope[0] for scope in self._scopes]
        net = make_net(children, self._scopes, strides, logs, [prod(shape) for shape in self._shapes], self._arities)
        return Elimination(net, self._names)
