"""The E-step of a fixed structure: the expected counts of its families, without completing whole rows."""

from __future__ import annotations

from math import prod

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.models.network.elimination import Elimination, make_net
from anbexact.models.parameters.counts import Counts, FamilyCounts
from anbexact.models.parameters.tables import Tables
from anbexact.models.structure import Structure, parents_first
from anbexact.tables.incomplete import IncompleteTable


class FamilyExpectation:
    """What networks of one structure expect of rows with missing cells, family by family.

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
        order = np.lexsort(table.gaps.T)
        self._rows, self._codes = order, np.ascontiguousarray(table.codes[order].T)

    def under(self, tables: Tables, weights: Floats) -> tuple[float, Counts]:
        """Return Σ_t w_t ln P(observed cells of row t), in nats, and the expected counts of every family.

        ``tables`` are those of the structure; ``weights``, (rows,), take the place of the weights of the rows, and
        rows of weight 0 do not count.
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
        strides = [[prod(shape[k + 1 :]) for k in range(len(shape))] for shape in self._shapes]
        children = [scope[0] for scope in self._scopes]
        net = make_net(children, self._scopes, strides, logs, [prod(shape) for shape in self._shapes], self._arities)
        return Elimination(net, self._names)
