"""Class posterior of a network, in log space, with missing cells marginalised exactly."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
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
)
from anbexact._runtime.arrays import Floats, Integers
from anbexact._runtime.cached import cached_property
from anbexact._runtime.tasks import in_threads, thread_count
from anbexact._runtime.warn import warn
from anbexact.models.network.elimination import Elimination, make_net
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.models.structure import parents_first
from anbexact.tables.vocabulary import CodeArray

Logs = npt.NDArray[np.float64]
WORK_PER_THREAD = 2_000_000
"""Number of additions (rows times families times classes) for which a further thread is worthwhile."""
MOST_STATES = 32
"""Number of joint states of hidden features up to which they are summed one by one, which is faster than planning."""
ROWS_TO_PART = 256
"""Minimum number of rows for which complete and incomplete rows are processed separately."""


class ClassPosterior(Protocol):
    """The interface for predictions; see :class:`Posterior`."""

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return ln P(c, observed cells of x), shape (rows, classes)."""

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return ln P(c | observed cells of x), shape (rows, classes)."""

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return P(c | observed cells of x), shape (rows, classes)."""


@dataclass(frozen=True, eq=False)
class _Family:
    """ln of a conditional table: axes (*features, class); ``child`` is a feature, or -1 for the class.

    ``depends_on_class`` is whether the table contains the class; otherwise, its values are repeated for every class.
    """

    child: int
    features: tuple[int, ...]
    logs: Logs
    depends_on_class: bool


class Posterior:
    """The class posterior of a network given rows of feature codes.

    ln P(c, x) is the sum of the log conditional tables at (x, c). Where cells of x are missing, only those with an
    observed descendant matter. If these have few joint states, they are summed one by one; otherwise, the cells are
    summed out by :class:`~anbexact.models.network.elimination.Elimination`.

    Parameters
    ----------
    tables : mapping of variable to ConditionalTable
        The network.
    class_name : Hashable or None
        The class variable. Without one, there is one column for the class, as if it had a single state: the joint
        probability is that of the observed cells.
    features : sequence
        The features, in the order of the rows of ``codes``.
    """

    def __init__(
        self, tables: Mapping[Hashable, ConditionalTable], class_name: Hashable | None, features: Sequence[Hashable]
    ) -> None:
        place = {name: i for i, name in enumerate(features)}
        if class_name is None:
            tables = {**tables, None: ConditionalTable(None, (), np.ones(1))}
        n_classes = len(tables[class_name].values)

        def family(name: Hashable) -> tuple[int, tuple[int, ...], Floats, bool]:
            variables = tables[name].variables
            values = _class_last(tables[name], class_name)
            others = tuple(place[other] for other in variables if other != class_name)
            values = np.broadcast_to(values, (*values.shape[:-1], n_classes))
            return place.get(name, -1), others, values, class_name in variables

        size = sum(
            table.values.size * (1 if class_name in table.variables else n_classes) for table in tables.values()
        )
        arities = {name: len(tables[name].values) for name in features}
        self._order = parents_first_class_last(tables, class_name)
        with np.errstate(divide="ignore"):
            self._store(map(family, self._order), size, arities, n_classes, np.log)

    def with_tables(self, tables: Mapping[Hashable, ConditionalTable]) -> Self:
        """Return the posterior of a network of the same structure, with a class and these tables."""
        class_name = self._order[-1]
        other = copy(self)
        other.__dict__.pop("_elimination", None)
        values = np.empty_like(self._network.logs)
        other._network = self._network._replace(logs=values)
        other._families = []
        start = 0
        for name, family in zip(self._order, self._families, strict=True):
            logs = values[start : start + family.logs.size].reshape(family.logs.shape)
            with np.errstate(divide="ignore"):
                np.log(_class_last(tables[name], class_name), out=logs)
            other._families.append(replace(family, logs=logs))
            start += logs.size
        return other

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
            (place.get(child, -1), tuple(place[name] for name in features), values, True)
            for child, features, values in logs
        )
        posterior = cls.__new__(cls)
        size = sum(values.size for _, _, values in logs)
        posterior._store(families, size, arities, logs[0][2].shape[-1], np.positive)
        return posterior

    def _store(
        self,
        families: Iterable[tuple[int, tuple[int, ...], Floats, bool]],
        size: int,
        arities: Mapping[Hashable, int],
        n_classes: int,
        function: np.ufunc,
    ) -> None:
        """Store a function of the values of families, ``size`` in all, in one array for the kernels.

        A family is given as the arguments of :class:`_Family`, with the values in place of the logarithms.
        """
        self.n_classes = n_classes
        self._names, self._arities = (*arities, "the class"), list(arities.values())
        values = np.empty(size)
        self._families: list[_Family] = []
        start = 0
        for child, features, own, depends_on_class in families:
            logs = values[start : start + own.size].reshape(own.shape)
            function(own, out=logs)
            self._families.append(_Family(child, features, logs, depends_on_class))
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
            If the missing cells of a row need tables too large for the memory set aside.
        """
        return self._evaluate(codes, JOINT, n_jobs)

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return ln P(c | observed cells of x), shape (rows, classes); see :meth:`log_joint`."""
        return self._evaluate(codes, LOG_PROBABILITY, n_jobs)

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return P(c | observed cells of x), shape (rows, classes); see :meth:`log_joint`.

        The result is NaN, with a warning, for a row that is impossible in every class (in a network with zeros).
        """
        return self._evaluate(codes, PROBABILITY, n_jobs)

    def _evaluate(self, codes: CodeArray, form: int, n_jobs: int | None) -> Logs:
        """Return the result of rows in a form of the kernels; complete and incomplete rows take different paths."""
        codes = np.ascontiguousarray(codes)  # views of tables would have the kernels compiled for further layouts
        if codes.min(initial=0) >= 0:
            out = self._complete(codes, form, n_jobs)
        elif codes.shape[1] < ROWS_TO_PART or (incomplete := (codes < 0).any(axis=0)).all():
            out = self._incomplete(codes, form, n_jobs)
        else:
            out = np.empty((codes.shape[1], self.n_classes))
            out[incomplete] = self._incomplete(codes[:, incomplete], form, n_jobs)
            out[~incomplete] = self._complete(codes[:, ~incomplete], form, n_jobs)
        if form != JOINT and np.isnan(out[:, 0]).any():
            warn(
                f"row {int(np.isnan(out[:, 0]).argmax())} is impossible under the network for every class "
                f"({int(np.isnan(out[:, 0]).sum())} such rows): its class posterior is undefined and returned as NaN"
            )
        return out

    def _complete(self, codes: CodeArray, form: int, n_jobs: int | None) -> Logs:
        """Process rows without missing cells."""
        out = np.empty((codes.shape[1], self.n_classes))

        def work(start: int, stop: int) -> None:
            complete_rows(codes, self._network, form, start, stop, out)

        self._in_threads(work, codes.shape[1], n_jobs)
        return out

    def _incomplete(self, codes: CodeArray, form: int, n_jobs: int | None) -> Logs:
        """Process rows with missing cells: few joint states are summed one by one, many by elimination."""
        out = np.empty((codes.shape[1], self.n_classes))
        done, arities = np.empty(len(out), dtype=np.bool_), self._arities_of_features

        def work(start: int, stop: int) -> None:
            incomplete_rows(codes, self._network, arities, MOST_STATES, form, start, stop, out, done)

        self._in_threads(work, len(out), n_jobs)
        if done.all():
            return out
        if not done.any():
            return self._elimination.joint(codes, [len(self._arities)], form, n_jobs)
        out[~done] = self._elimination.joint(codes[:, ~done], [len(self._arities)], form, n_jobs)
        return out

    def _in_threads(self, work: Callable[[int, int], None], n_rows: int, n_jobs: int | None) -> None:
        """Process this many rows, in parts if several threads are worthwhile."""
        threads = min(thread_count(n_jobs), max(1, n_rows * len(self._families) * self.n_classes // WORK_PER_THREAD))
        if threads == 1:
            work(0, n_rows)
        else:
            bounds = np.linspace(0, n_rows, threads + 1).astype(int).tolist()
            with in_threads(threads) as run:
                run(work, bounds[:-1], bounds[1:])

    @cached_property
    def _arities_of_features(self) -> Integers:
        """The arities as the kernel takes them."""
        return np.array(self._arities, dtype=np.int64)

    @cached_property
    def _elimination(self) -> Elimination:
        """The elimination that sums over missing cells; the class is the last variable."""
        class_code = len(self._arities)
        scopes = [(*family.features, *[class_code] * family.depends_on_class) for family in self._families]
        strides = [
            [prod(family.logs.shape[k + 1 :]) for k in range(len(scope))]
            for family, scope in zip(self._families, scopes, strict=True)
        ]
        return Elimination(
            make_net(
                [class_code if family.child < 0 else family.child for family in self._families],
                scopes,
                strides,
                self._network.logs,
                [family.logs.size for family in self._families],
                [*self._arities, self.n_classes],
            ),
            self._names,
        )


def _class_last(table: ConditionalTable, class_name: Hashable) -> Floats:
    """Return the values of a table, the class as the last axis, of one state where the table does not contain it."""
    if class_name in table.variables:
        return np.moveaxis(table.values, table.variables.index(class_name), -1)
    return table.values[..., None]


def parents_first_class_last(tables: Mapping[Hashable, ConditionalTable], class_name: Hashable) -> list[Hashable]:
    """Return the features with parents before children, then the class, which is never summed over."""
    features = {
        name: [parent for parent in table.parents if parent != class_name]
        for name, table in tables.items()
        if name != class_name
    }
    return [*parents_first(features), class_name]
