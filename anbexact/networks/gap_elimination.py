"""Rows with too many missing cells for all their completions: a network's expectations by variable elimination.

All rows with the same pattern of missing cells are worked together. The forward pass sums the missing variables out,
one after the other; the backward pass turns every sum into the posterior of the states that it was over. Draws follow
the same steps backwards.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from anbexact._runtime.arrays import Floats, Integers
from anbexact._runtime.units import human_bytes
from anbexact.parameters.tables import ConditionalTable, Tables
from anbexact.tables.incomplete import IncompleteTable
from anbexact.tables.vocabulary import CodeArray

MEMORY_OF_FACTORS = 1 << 28
"""Bytes that all factors of the rows that are worked together may take."""
SEED = 0
"""Seed of the order in which draws get uniform numbers."""
Orders = dict[tuple[tuple[int, ...], ...], dict[tuple[int, ...], tuple[list[int], float]]]
"""By families, and by missing variables: an order in which these are summed out, and the cells of all factors."""


@dataclass(frozen=True, eq=False)
class _Factor:
    """ln of a function of missing variables, for every row: axes (rows, *names), names in ascending order."""

    names: tuple[int, ...]
    logs: Floats

    def aligned(self, names: Sequence[int]) -> Floats:
        """Return the logs with an axis, maybe of length 1, for every one of more names."""
        sizes = iter(self.logs.shape[1:])
        return self.logs.reshape(len(self.logs), *(next(sizes) if v in self.names else 1 for v in names))


@dataclass(frozen=True, eq=False)
class _Step:
    """A variable that is summed out: of the product of some factors, by their positions."""

    variable: int
    factors: tuple[int, ...]
    product: _Factor
    sum: int


class _Pattern:
    """Some rows with the same missing cells under one network."""

    def __init__(
        self, codes: CodeArray, missing: Sequence[int], tables: Sequence[_Table], order: Sequence[int]
    ) -> None:
        self.codes, self.tables = codes, tables
        self.factors = [table.restricted(codes, missing) for table in tables]
        self.steps: list[_Step] = []
        self.logs = np.zeros(len(codes))
        alive = {k for k, factor in enumerate(self.factors) if factor.names}
        for k, factor in enumerate(self.factors):
            if k not in alive:
                self.logs += factor.logs
        for v in order:
            own = tuple(sorted(k for k in alive if v in self.factors[k].names))
            names = tuple(sorted(set().union(*(self.factors[k].names for k in own))))
            logs = sum((self.factors[k].aligned(names) for k in own), np.zeros(()))
            axis = 1 + names.index(v)
            top = logs.max(axis=axis, keepdims=True)
            top = np.where(np.isneginf(top), 0.0, top)
            with np.errstate(divide="ignore"):
                summed = (np.log(np.exp(logs - top).sum(axis=axis, keepdims=True)) + top).squeeze(axis)
            self.steps.append(_Step(v, own, _Factor(names, logs), len(self.factors)))
            rest = tuple(name for name in names if name != v)
            self.factors.append(_Factor(rest, summed))
            alive -= set(own)
            if rest:
                alive.add(len(self.factors) - 1)
            else:
                self.logs += summed

    def beliefs(self) -> list[Floats]:
        """Return the posterior of the missing variables of every table: axes as in its factor."""
        found: dict[int, Floats] = {}
        for step in reversed(self.steps):
            names = step.product.names
            rest = self.factors[step.sum]
            of_rest = _Factor(rest.names, found.get(step.sum, np.ones(rest.logs.shape))).aligned(names)
            sums = np.where(np.isneginf(rest.logs), 0.0, rest.logs)
            joint = np.exp(step.product.logs - _Factor(rest.names, sums).aligned(names)) * of_rest
            for k in step.factors:
                others = tuple(1 + a for a, name in enumerate(names) if name not in self.factors[k].names)
                found[k] = joint.sum(axis=others)
        return [found.get(k, np.ones(len(self.codes))) for k in range(len(self.tables))]

    def draws(self, n_draws: int, uniforms: Mapping[int, Floats]) -> CodeArray:
        """Return completions, shape (rows · draws, variables), those of a row one after the other."""
        codes = np.repeat(self.codes, n_draws, axis=0)
        rows = np.repeat(np.arange(len(self.codes)), n_draws)
        for step in reversed(self.steps):
            axis = step.product.names.index(step.variable)
            others = [name for name in step.product.names if name != step.variable]
            moved = np.moveaxis(step.product.logs, 1 + axis, -1)
            logs = moved[(rows, *(codes[:, name].astype(np.intp) for name in others))]
            shares = np.exp(logs - logs.max(axis=1, keepdims=True))
            ends = np.cumsum(shares, axis=1)
            at = uniforms[step.variable][np.arange(len(codes)) % n_draws] * ends[:, -1]
            codes[:, step.variable] = np.minimum((at[:, None] > ends).sum(axis=1), logs.shape[1] - 1)
        return codes


@dataclass(frozen=True, eq=False)
class _Table:
    """A conditional table by the positions of its variables."""

    name: Hashable
    variables: tuple[int, ...]
    logs: Floats

    @classmethod
    def of(cls, table: ConditionalTable, position: Mapping[Hashable, int]) -> _Table:
        with np.errstate(divide="ignore"):
            return cls(table.name, tuple(position[name] for name in table.variables), np.log(table.values))

    def restricted(self, codes: CodeArray, missing: Sequence[int]) -> _Factor:
        """Return the table at the observed cells of every row."""
        observed = [a for a, v in enumerate(self.variables) if v not in missing]
        gone = sorted((v, a) for a, v in enumerate(self.variables) if v in missing)
        logs = self.logs.transpose([*observed, *(a for _, a in gone)])
        names = tuple(v for v, _ in gone)
        if not observed:
            return _Factor(names, np.broadcast_to(logs, (len(codes), *logs.shape)))
        return _Factor(names, logs[tuple(codes[:, self.variables[a]].astype(np.intp) for a in observed)])

    def add(self, codes: CodeArray, names: Sequence[int], beliefs: Floats, totals: Floats) -> None:
        """Add weighted posteriors, axes (rows, *names), to the flat counts of the table."""
        shape = self.logs.shape
        cells = np.zeros(beliefs.shape, dtype=np.int64)
        for axis, v in enumerate(self.variables):
            stride = prod(shape[axis + 1 :])
            if v in names:
                place = 1 + names.index(v)
                own = np.arange(shape[axis]).reshape([-1 if k == place else 1 for k in range(beliefs.ndim)])
            else:
                own = codes[:, v].astype(np.int64).reshape(-1, *[1] * (beliefs.ndim - 1))
            cells += own * stride
        totals += np.bincount(cells.ravel(), beliefs.ravel(), len(totals))


class GapElimination:
    """Rows with missing cells under one network.

    Parameters
    ----------
    table : IncompleteTable
        The rows.
    tables : mapping
        The network.
    orders : dict
        Orders in which variables are summed out, by families and missing cells; filled here, and used again.

    Raises
    ------
    ValueError
        If a pattern of missing cells needs factors too large for the memory set aside.
    """

    def __init__(self, table: IncompleteTable, tables: Tables, orders: Orders) -> None:
        position = {name: j for j, name in enumerate(table.vocabulary.names)}
        self._table = table
        self._tables = [_Table.of(one, position) for one in tables.values()]
        self._arities = [table.vocabulary.arity(name) for name in table.vocabulary.names]
        families = tuple(one.variables for one in self._tables)
        self._patterns = list(self._by_pattern(orders.setdefault(families, {})))
        self.log_likelihood = float(sum(table.weights[rows] @ pattern.logs for rows, pattern in self._patterns))

    def _by_pattern(
        self, orders: dict[tuple[int, ...], tuple[list[int], float]]
    ) -> Iterator[tuple[Integers, _Pattern]]:
        gaps, group = np.unique(self._table.gaps, axis=0, return_inverse=True)
        for k, gap in enumerate(gaps):
            rows = np.flatnonzero(group.reshape(-1) == k)
            missing = tuple(np.flatnonzero(gap).tolist())
            if missing not in orders:
                orders[missing] = self._order(missing)
            order, cells = orders[missing]
            if 8 * cells > MEMORY_OF_FACTORS:
                names = [str(self._table.vocabulary.names[j]) for j in missing[:3]]
                raise ValueError(
                    f"completing rows in which {len(missing)} cells are missing ({', '.join(names)}, ...) needs "
                    f"factors of {human_bytes(8 * cells)}: limit the parents with max_parents= (kDB, CkG: k=), leave "
                    "out such rows, or use handle_missing='own_state'"
                )
            step = max(1, int(MEMORY_OF_FACTORS // (8 * cells)))
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                yield some, _Pattern(self._table.codes[some], missing, self._tables, order)

    def _order(self, missing: Sequence[int]) -> tuple[list[int], float]:
        """Return a greedy elimination order, smallest new factor first, and the cells of all factors of a row."""
        scopes = [set(table.variables) & set(missing) for table in self._tables]
        current = [scope for scope in scopes if scope]
        order: list[int] = []
        total = 1.0

        def cells(scope: Iterable[int]) -> float:
            return prod(float(self._arities[v]) for v in scope)

        waiting = set(missing)
        while waiting:
            joined = {v: set().union(*(scope for scope in current if v in scope)) for v in waiting}
            v = min(sorted(waiting), key=lambda u: cells(joined[u]))
            total += cells(joined[v])
            current = [scope for scope in current if v not in scope] + [joined[v] - {v}]
            waiting.remove(v)
            order.append(v)
        return order, total

    def counts(self, row_weights: Floats) -> dict[Hashable, Floats]:
        """Return the expected counts of the network's own families, axes as in their conditional tables.

        ``row_weights``, (rows,), take the place of the weights of the table.
        """
        totals = [np.zeros(table.logs.size) for table in self._tables]
        for rows, pattern in self._patterns:
            beliefs = pattern.beliefs()
            weights = row_weights[rows]
            for k, table in enumerate(self._tables):
                weighted = beliefs[k] * weights.reshape(-1, *[1] * (beliefs[k].ndim - 1))
                table.add(pattern.codes, pattern.factors[k].names, weighted, totals[k])
        return {table.name: of.reshape(table.logs.shape) for table, of in zip(self._tables, totals, strict=True)}

    def draws(self, n_draws: int) -> CodeArray:
        """Return completions drawn from P(missing cells | observed cells), shape (rows · draws, variables).

        The draws of a row follow each other. The uniform numbers of the draws of a row are (k + ½) / draws, in an
        order that depends on the variable alone, so that the same network gives the same draws.
        """
        order = np.random.default_rng(SEED)
        even = (np.arange(n_draws) + 0.5) / n_draws
        uniforms = {v: order.permutation(even) for v in range(len(self._arities))}
        codes = np.empty((len(self._table.codes), n_draws, len(self._arities)), dtype=np.int16)
        for rows, pattern in self._patterns:
            codes[rows] = pattern.draws(n_draws, uniforms).reshape(len(rows), n_draws, -1)
        return codes.reshape(-1, len(self._arities))
