"""The E-step of a fixed structure: the expected counts of its families, without completing whole rows."""

from __future__ import annotations

from math import prod

import numpy as np

from anbexact._kernels.gaps import expected_families, largest_groups
from anbexact._runtime.arrays import Floats
from anbexact.networks.gap_elimination import GapElimination, Orders
from anbexact.parameters.counts import Counts, FamilyCounts
from anbexact.parameters.tables import Tables
from anbexact.structures.structure import Structure
from anbexact.tables.incomplete import IncompleteTable

MOST_WAYS = 2000
"""Completions of missing cells that depend on each other; a row with more is worked by variable elimination."""


class FamilyExpectation:
    """What networks of one structure expect of rows with missing cells, family by family.

    Missing cells that are independent given the observed ones are completed apart from each other, so a row costs the
    sum of their completions, not the product. Rows in which more than 2000 ways remain are worked by variable
    elimination.

    Parameters
    ----------
    table : IncompleteTable
        The rows.
    structure : Structure
        Over all variables of the table.
    orders : dict
        Orders of elimination that are known; see :class:`~anbexact.networks.gap_elimination.GapElimination`.
    """

    def __init__(self, table: IncompleteTable, structure: Structure, orders: Orders) -> None:
        vocabulary = table.vocabulary
        position = {name: j for j, name in enumerate(vocabulary.names)}
        self._table, self._orders, self._parents = table, orders, structure.parents
        families = [(name, *parents) for name, parents in structure.parents.items()]
        self._shapes = [tuple(vocabulary.arity(name) for name in family) for family in families]
        self._arities = np.array([vocabulary.arity(name) for name in vocabulary.names], dtype=np.int64)
        self._starts = np.cumsum([0, *map(len, families)]).astype(np.int64)
        self._members = np.array([position[name] for family in families for name in family], dtype=np.int64)
        self._strides = np.array([prod(of[k + 1 :]) for of in self._shapes for k in range(len(of))], dtype=np.int64)
        self._ends = np.cumsum([0, *map(prod, self._shapes)]).astype(np.int64)
        codes = np.ascontiguousarray(table.codes)
        ways = largest_groups(codes, self._arities, self._starts, self._members)
        self._rows = np.flatnonzero(ways <= MOST_WAYS)
        self._codes = np.ascontiguousarray(codes[self._rows])
        self._eliminated = np.flatnonzero(ways > MOST_WAYS)

    def under(self, tables: Tables, weights: Floats) -> tuple[float, Counts]:
        """Return Σ_t w_t ln P(observed cells of row t), in nats, and the expected counts of every family.

        ``tables`` are those of the structure; ``weights``, (rows,), take the place of the weights of the rows, and
        rows of weight 0 do not count.
        """
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate([tables[name].values.ravel() for name in self._parents]))
        totals = np.zeros(len(logs))
        layout = self._arities, self._starts, self._members, self._strides, self._ends[:-1]
        log_likelihood = expected_families(self._codes, weights[self._rows], *layout, logs, totals, MOST_WAYS)
        others = self._eliminated[weights[self._eliminated] > 0]
        if len(others):
            eliminated = GapElimination(self._table.rows(others, weights[others]), tables, self._orders)
            log_likelihood += eliminated.log_likelihood
            theirs = eliminated.counts(weights[others])
            totals += np.concatenate([theirs[name].ravel() for name in self._parents])
        counts = {}
        for k, (name, parents) in enumerate(self._parents.items()):
            own = totals[self._ends[k] : self._ends[k + 1]]
            cells = np.flatnonzero(own)
            counts[name] = FamilyCounts(name, parents, self._shapes[k], cells, own[cells])
        return float(log_likelihood), counts
