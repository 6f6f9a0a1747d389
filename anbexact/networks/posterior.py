"""Class posterior of a network, in log space, with missing cells marginalised exactly."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from anbexact._kernels.posterior import (
    JOINT,
    LOG_PROBABILITY,
    PROBABILITY,
    Families,
    complete_rows,
    incomplete_rows,
    normalise_rows,
)
from anbexact._runtime.memory import available_memory
from anbexact._runtime.tasks import thread_count
from anbexact._runtime.units import human_bytes
from anbexact._runtime.warn import warn
from anbexact.parameters.tables import ConditionalTable
from anbexact.structures.structure import parents_first
from anbexact.tables.vocabulary import CodeArray

Logs = npt.NDArray[np.float64]
WORK_PER_THREAD = 2_000_000
"""Fewest additions (rows * families * classes) that are worth a thread of their own."""
MOST_HIDDEN = 1024
"""Joint states of the hidden cells of a row up to which these are summed one by one."""
FACTOR_BYTES = 64_000_000
"""Rows of one pattern are worked in chunks whose largest factor stays below this."""
FACTOR_COPIES = 4
"""Arrays of a factor's size that are held while it is summed out."""


class ClassPosterior(Protocol):
    """What predictions follow from, as :class:`Posterior` has it; see there."""

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return ln P(c, observed cells of x), shape (rows, classes)."""

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return ln P(c | observed cells of x), shape (rows, classes)."""

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return P(c | observed cells of x), shape (rows, classes)."""


@dataclass(frozen=True, eq=False)
class _Factor:
    """ln of a function of some features, for every row and class: axes (rows, *names, class)."""

    names: tuple[int, ...]
    logs: Logs


@dataclass(frozen=True, eq=False)
class _Family:
    """ln of a conditional table: axes (*features, class); ``child`` is a feature, or -1 for the class."""

    child: int
    features: tuple[int, ...]
    logs: Logs


class Posterior:
    """The class posterior of a network given rows of feature codes.

    ln P(c, x) is the sum of the log conditional tables at (x, c). Where cells of x are missing, only those with
    an observed descendant matter. They are summed over: one joint state after the other where there are
    few, else by variable elimination, once for all rows with the same pattern of missing cells.

    Parameters
    ----------
    tables : mapping of variable to ConditionalTable
        The network.
    class_name : Hashable
        The class variable.
    features : sequence
        The features, in the order of the rows of ``codes``.
    """

    def __init__(
        self, tables: Mapping[Hashable, ConditionalTable], class_name: Hashable, features: Sequence[Hashable]
    ) -> None:
        place = {name: i for i, name in enumerate(features)}
        n_classes = len(tables[class_name].values)

        def family(name: Hashable) -> _Family:
            values, variables = tables[name].values[..., None], tables[name].variables
            if class_name in variables:
                values = np.moveaxis(tables[name].values, variables.index(class_name), -1)
            with np.errstate(divide="ignore"):
                logs = np.log(values)
            others = tuple(place[other] for other in variables if other != class_name)
            return _Family(place.get(name, -1), others, np.broadcast_to(logs, (*logs.shape[:-1], n_classes)))

        size = sum(
            table.values.size * (1 if class_name in table.variables else n_classes) for table in tables.values()
        )
        arities = [tables[name].values.shape[0] for name in features]
        self._store(map(family, _parents_first(tables, class_name)), size, arities, n_classes)

    @classmethod
    def from_logs(
        cls, logs: Sequence[tuple[Hashable, tuple[Hashable, ...], Logs]], arities: Mapping[Hashable, int]
    ) -> Self:
        """Return the posterior proportional to the exponential of a sum of functions of some features and the class.

        Parameters
        ----------
        logs : sequence of (child, features, values)
            Functions; the axes of ``values`` are ``features``, then the class. Rows must be complete unless the
            exponential of each is a distribution of its child, and parents come before children.
        arities : mapping of feature to its number of states
            The features, in the order of the rows of ``codes``.
        """
        place = {name: i for i, name in enumerate(arities)}
        families = (
            _Family(place.get(child, -1), tuple(place[name] for name in features), values)
            for child, features, values in logs
        )
        posterior = cls.__new__(cls)
        size = sum(values.size for _, _, values in logs)
        posterior._store(families, size, list(arities.values()), logs[0][2].shape[-1])
        return posterior

    def _store(self, families: Iterable[_Family], size: int, arities: Sequence[int], n_classes: int) -> None:
        """Copy the functions, ``size`` values in all, into one array for the kernels."""
        self.n_classes = n_classes
        self._arities = np.array(arities, dtype=np.int64)
        values = np.empty(size)
        self._families: list[_Family] = []
        start = 0
        for family in families:
            logs = values[start : start + family.logs.size].reshape(family.logs.shape)
            logs[...] = family.logs
            self._families.append(_Family(family.child, family.features, logs))
            start += logs.size
        steps = [
            prod(family.logs.shape[k + 1 : -1]) for family in self._families for k in range(len(family.features))
        ]
        self._network = Families(
            np.array([family.child for family in self._families], dtype=np.int64),
            np.cumsum([0, *(len(family.features) for family in self._families)]).astype(np.int64),
            np.array([v for family in self._families for v in family.features], dtype=np.int64),
            np.array(steps, dtype=np.int64),
            np.cumsum([0, *(family.logs.size for family in self._families)]).astype(np.int64),
            values,
        )

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return ln P(c, observed cells of x).

        Parameters
        ----------
        codes : (features, rows) int16
            States; a negative code is a cell to be marginalised.
        n_jobs : int, optional
            Threads; all processors by default.

        Returns
        -------
        (rows, classes) float64
            Nats, per row.

        Raises
        ------
        ValueError
            If a pattern of missing cells needs factors too large for the memory set aside.
        """
        return self._evaluate(codes, JOINT, n_jobs)

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return ln P(c | observed cells of x), shape (rows, classes); see :meth:`log_joint`."""
        return self._evaluate(codes, LOG_PROBABILITY, n_jobs)

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return P(c | observed cells of x), shape (rows, classes); see :meth:`log_joint`.

        NaN, with a warning, for a row that no class allows for (in a network with zeros).
        """
        return self._evaluate(codes, PROBABILITY, n_jobs)

    def _evaluate(self, codes: CodeArray, form: int, n_jobs: int | None) -> Logs:
        n_rows = codes.shape[1]
        out = np.empty((n_rows, self.n_classes))
        done = np.ones(n_rows, dtype=np.bool_)
        complete = codes.min(initial=0) >= 0

        def work(start: int, stop: int) -> None:
            if complete:
                complete_rows(codes, self._network, form, start, stop, out)
            else:
                incomplete_rows(codes, self._network, self._arities, MOST_HIDDEN, form, start, stop, out, done)

        work_load = n_rows * len(self._families) * self.n_classes
        threads = min(thread_count(n_jobs), max(1, work_load // WORK_PER_THREAD))
        if threads == 1:
            work(0, n_rows)
        else:
            bounds = np.linspace(0, n_rows, threads + 1).astype(int).tolist()
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, bounds[:-1], bounds[1:]))
        rest = np.flatnonzero(~done)
        if len(rest):
            patterns = np.packbits(codes[:, rest] < 0, axis=0).T
            group = np.unique(patterns, axis=0, return_inverse=True)[1].reshape(-1)
            by_group = np.argsort(group, kind="stable")
            for rows in np.split(rest[by_group], np.cumsum(np.bincount(group))[:-1]):
                joint = self._marginal(codes[:, rows])
                normalise_rows(joint, form, np.empty(joint.size), np.empty(joint.size, dtype=np.int64))
                out[rows] = joint
        if form != JOINT and np.isnan(out[:, 0]).any():
            warn(
                f"row {int(np.isnan(out[:, 0]).argmax())} is impossible under the network, whatever its class "
                f"({int(np.isnan(out[:, 0]).sum())} such rows): its class posterior is undefined and returned as NaN"
            )
        return out

    def _marginal(self, codes: CodeArray) -> Logs:
        """Return Σ over the missing cells of the product of the families, in logs, for rows of one pattern."""
        missing = {int(i) for i in np.flatnonzero(codes[:, 0] < 0)}
        needed = self._not_barren(missing)
        families = [family for family in self._families if family.child in needed]
        scopes = [tuple(v for v in family.features if v in missing) for family in families]
        order, largest = self._elimination_order(scopes)
        if FACTOR_COPIES * 8 * largest > min(available_memory() / 2, FACTOR_COPIES * FACTOR_BYTES * 16):
            raise ValueError(
                f"marginalising {len(missing)} missing or unknown cells needs a factor of "
                f"{human_bytes(8 * largest)}: fill in some of them, or fit with a lower max_parents"
            )
        step = max(1, int(FACTOR_BYTES // (8 * largest)))
        parts = [
            self._eliminate(codes[:, start : start + step], families, missing, order)
            for start in range(0, codes.shape[1], step)
        ]
        return np.concatenate(parts)

    def _not_barren(self, missing: set[int]) -> set[int]:
        """Return the variables that matter: the class (-1), the observed and the missing with a needed child."""
        needed = set(range(len(self._arities))) - missing | {-1}
        for family in reversed(self._families):
            if family.child in needed:
                needed.update(family.features)
        return needed

    def _elimination_order(self, scopes: Iterable[tuple[int, ...]]) -> tuple[list[int], float]:
        """Return a greedy elimination order (smallest new factor first) and the largest factor's cells per row."""
        current = [set(scope) for scope in scopes if scope]
        order: list[int] = []
        largest = float(self.n_classes)

        def joined(v: int) -> set[int]:
            return set().union(*(scope for scope in current if v in scope))

        def cells(scope: Iterable[int]) -> float:
            return prod((float(self._arities[v]) for v in scope), start=float(self.n_classes))

        waiting = set().union(*current) if current else set()
        while waiting:
            v = min(sorted(waiting), key=lambda u: cells(joined(u)))
            scope = joined(v)
            largest = max(largest, cells(scope))
            current = [other for other in current if v not in other] + [scope - {v}]
            waiting.remove(v)
            order.append(v)
        return order, largest

    def _eliminate(
        self,
        codes: CodeArray,
        families: list[_Family],
        missing: set[int],
        order: list[int],
    ) -> Logs:
        """Run variable elimination for all rows at once."""
        total = np.zeros((codes.shape[1], self.n_classes))
        factors = []
        for family in families:
            factor = _restrict(codes, family, missing)
            if factor.names:
                factors.append(factor)
            else:
                total += factor.logs
        for v in order:
            product = reduce(_multiply, [factor for factor in factors if v in factor.names])
            factors = [factor for factor in factors if v not in factor.names]
            axis = 1 + product.names.index(v)
            names = tuple(name for name in product.names if name != v)
            summed = _Factor(names, _log_sum(product.logs, axis))
            if names:
                factors.append(summed)
            else:
                total += summed.logs
        return total


def _log_sum(logs: Logs, axis: int) -> Logs:
    """Return ln Σ exp(logs) over one axis; minus infinity where all are."""
    top = logs.max(axis=axis, keepdims=True)
    np.copyto(top, 0.0, where=np.isneginf(top))
    terms = logs - top
    np.exp(terms, out=terms)
    total: Logs = terms.sum(axis=axis)
    with np.errstate(divide="ignore"):
        np.log(total, out=total)
    total += top.squeeze(axis)
    return total


def _restrict(codes: CodeArray, family: _Family, missing: set[int]) -> _Factor:
    """Return a family's log factor at the observed cells of every row."""
    others, logs = family.features, family.logs
    index = tuple(slice(None) if v in missing else codes[v].astype(np.intp) for v in others)
    kept = tuple(v for v in others if v in missing)
    observed = [k for k, v in enumerate(others) if v not in missing]
    if not observed:
        return _Factor(kept, np.broadcast_to(logs, (codes.shape[1], *logs.shape)))
    moved = np.moveaxis(logs, observed, range(len(observed)))
    return _Factor(kept, moved[tuple(index[k] for k in observed)])


def _multiply(a: _Factor, b: _Factor) -> _Factor:
    """Multiply two factors (add their logs), aligning their axes."""
    names = tuple(sorted({*a.names, *b.names}))

    def aligned(factor: _Factor) -> Logs:
        present = sorted(factor.names)
        axes = [1 + factor.names.index(v) for v in present]
        moved = np.transpose(factor.logs, [0, *axes, factor.logs.ndim - 1])
        sizes = iter(moved.shape[1:-1])
        shape = [next(sizes) if v in factor.names else 1 for v in names]
        return moved.reshape(moved.shape[0], *shape, moved.shape[-1])

    return _Factor(names, aligned(a) + aligned(b))


def _parents_first(tables: Mapping[Hashable, ConditionalTable], class_name: Hashable) -> list[Hashable]:
    """Return the variables with parents before children, the class last (it is summed over by no one)."""
    features = {
        name: [parent for parent in table.parents if parent != class_name]
        for name, table in tables.items()
        if name != class_name
    }
    return [*parents_first(features), class_name]
