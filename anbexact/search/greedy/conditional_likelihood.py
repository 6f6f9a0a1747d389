"""Conditional log likelihood of a network, and of all networks that differ from it in one or two families."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from anbexact._kernels.conditional import CLASS, add_family, log_likelihoods
from anbexact._runtime.arrays import Bools, Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks
from anbexact.scores import StructureScore
from anbexact.search.graphs import Graph, elements
from anbexact.search.scoring.totals import class_of
from anbexact.tables.table import DiscreteTable

Family = tuple[int, int]
"""A child, and the mask of its parents."""


@dataclass(frozen=True)
class Exchange:
    """Families to remove from the network, and alternative families of one child, one of which is to be inserted.

    Attributes
    ----------
    out : tuple of families
        The families that are removed.
    into : tuple of families
        The families that are inserted in any case.
    child : int
    parents : tuple of int
        Alternative sets of parents of the child.
    """

    out: tuple[Family, ...]
    into: tuple[Family, ...]
    child: int
    parents: tuple[int, ...]


class ConditionalLikelihood:
    """Log joint probabilities of every distinct row and class, at the maximum likelihood parameters of a network.

    Variables are identified by their positions in the table. Only families that contain the class matter, because the
    other factors are equal for all classes. Of each row and class, the sum of the log factors that are not 0 and the
    number of those that are 0 are kept (as in :mod:`anbexact._kernels.conditional`), so that factors can be removed
    again.

    Memory: 10 bytes a class and distinct row of features, 18 more for every thread, and what the joint states of a
    family take.
    """

    def __init__(self, table: DiscreteTable, threads: int, deadline: Deadline, progress: Progress | None) -> None:
        vocabulary = table.vocabulary
        name = class_of(table)
        self.n = len(vocabulary.names)
        self.class_position = vocabulary.names.index(name)
        features = table.groups(vocabulary.features)
        _, first = np.unique(features, return_index=True)
        rows = features.astype(np.int64)
        classes = table.column(name).astype(np.int64)
        codes = np.ascontiguousarray(table.codes[first].T)
        arities = np.array(table.shape(vocabulary.names), dtype=np.int64)
        self._rows = (rows, classes, table.weights)
        self._codes = (codes, arities)
        self._totals = np.bincount(rows, table.weights, len(first)).astype(np.float64, copy=False)
        self._logs = np.zeros((int(arities[self.class_position]), len(first)))
        self._zeros = np.zeros(self._logs.shape, dtype=np.int16)
        self._threads, self._deadline, self._progress = threads, deadline, progress
        self.total = 0.0

    def holds_class(self, child: int, parents: int) -> bool:
        """Whether a family counts."""
        return child == self.class_position or bool(parents >> self.class_position & 1)

    def move_to(self, parents: Graph) -> None:
        """Compute everything for a network, from the beginning, so that rounding errors do not add up."""
        self._logs[:], self._zeros[:] = 0.0, 0
        self._change(self._logs, self._zeros, tuple(enumerate(parents)), 1)
        self.total = float(self._with_one_more(self._logs, self._zeros, CLASS, [None])[0])

    def likelihoods(self, exchanges: Sequence[Exchange], phase: str) -> list[Floats] | None:
        """Return the conditional log likelihoods after every exchange, in nats; None when time ran out."""
        found: list[Floats] = [np.empty(0)] * len(exchanges)

        def task(place: int) -> None:
            found[place] = self._after(exchanges[place])

        tasks = [partial(task, place) for place in range(len(exchanges))]
        if tasks and not run_tasks(tasks, len(tasks), self._threads, self._deadline, phase, self._progress):
            return None
        return found

    def _after(self, exchange: Exchange) -> Floats:
        """Return the conditional log likelihoods after an exchange."""
        logs, zeros = self._logs.copy(), self._zeros.copy()
        self._change(logs, zeros, exchange.out, -1)
        self._change(logs, zeros, exchange.into, 1)
        listed = [
            self._features(parents, exchange.out) if self.holds_class(exchange.child, parents) else None
            for parents in exchange.parents
        ]
        return self._with_one_more(logs, zeros, self._child(exchange.child), listed)

    def _with_one_more(
        self, logs: Floats, zeros: npt.NDArray[np.int16], child: int, listed: Sequence[Sequence[int] | None]
    ) -> Floats:
        """Return the likelihoods with one more family of a child, given these feature parents; None for no family."""
        members = np.zeros((len(listed), max(len(own or ()) for own in listed)), dtype=np.int64)
        sizes = np.array([-1 if own is None else len(own) for own in listed], dtype=np.int64)
        for k, own in enumerate(listed):
            members[k, : len(own or ())] = own or ()
        out = np.empty(len(listed))
        log_likelihoods(*self._codes, *self._rows, self._totals, members, sizes, child, logs, zeros, out)
        return out

    def _features(self, parents: int, out: Sequence[Family] = ()) -> list[int]:
        """Return the feature parents, starting with those in a family that is removed."""
        own = parents & ~(1 << self.class_position)
        common = own & out[-1][1] if out else own
        return [*elements(common), *elements(own & ~common)]

    def _child(self, child: int) -> int:
        return CLASS if child == self.class_position else child

    def _change(self, logs: Floats, zeros: npt.NDArray[np.int16], families: Sequence[Family], sign: int) -> None:
        for child, parents in families:
            if self.holds_class(child, parents):
                members = np.array(self._features(parents), dtype=np.int64)
                add_family(*self._codes, *self._rows, members, self._child(child), sign, logs, zeros)


class ConditionalObjective:
    """Conditional log likelihood, minus a price for every parameter, as the objective of a climb."""

    def __init__(
        self, table: DiscreteTable, score: StructureScore, threads: int, deadline: Deadline, progress: Progress | None
    ) -> None:
        self._likelihood = ConditionalLikelihood(table, threads, deadline, progress)
        self._arities = np.array(table.shape(table.vocabulary.names), dtype=np.float64)
        self._price = score.price(table.weight_sum)
        self._deadline = deadline
        self._parents: Graph = ()
        self.scored = 0
        self.total = 0.0

    def move_to(self, parents: Graph) -> bool:
        """Make a network the current one, and score it. Returns False when time ran out."""
        if self._deadline.passed:
            return False
        self._parents = parents
        self._likelihood.move_to(parents)
        self._configurations = np.array([self._arities[list(elements(of_v))].prod() for of_v in parents])
        parameters = (self._arities - 1) @ self._configurations
        self.total = self._likelihood.total - (self._price * parameters if self._price else 0.0)
        self.scored += 1
        return True

    def gains(self, admitted: Bools) -> Floats | None:
        """Return the gains of the admitted moves; see :class:`~anbexact.search.greedy.climb.Objective`."""
        network, parents, n = self._likelihood, self._parents, self._likelihood.n
        gains = np.where(admitted, 0.0, -np.inf)
        exchanges: list[Exchange] = []
        places: list[tuple[npt.NDArray[np.intp], ...]] = []

        def counts(child: int, parent: int) -> bool:
            return network.holds_class(child, parents[child] | 1 << parent)

        for child in range(n):
            kinds, others = np.nonzero(admitted[:2, child])
            own = np.array([counts(child, int(parent)) for parent in others], dtype=bool)
            kinds, others = kinds[own], others[own]
            if len(others):
                toggled = tuple(parents[child] ^ 1 << int(parent) for parent in others)
                exchanges.append(Exchange(((child, parents[child]),), (), child, toggled))
                places.append((kinds, np.full(len(others), child), others))
        for child, parent in np.argwhere(admitted[2]).tolist():
            if counts(child, parent) or counts(parent, child):
                out = ((child, parents[child]), (parent, parents[parent]))
                into = ((child, parents[child] ^ 1 << parent),)
                exchanges.append(Exchange(out, into, parent, (parents[parent] | 1 << child,)))
                places.append((np.array([2]), np.array([child]), np.array([parent])))
        found = network.likelihoods(exchanges, f"moves from {self.total:.6g} nats")
        if found is None:
            return None
        for place, values in zip(places, found, strict=True):
            gains[place] = values - network.total
            self.scored += len(values)
        if self._price:
            of_toggle = self._price * self._new_parameters()
            gains -= np.stack([of_toggle, of_toggle, of_toggle + of_toggle.T])
        return gains

    def _new_parameters(self) -> Floats:
        """Return by how much the number of parameters grows with every toggled arc (children by parents)."""
        n = self._likelihood.n
        present = np.zeros((n, n), dtype=bool)
        for child, child_parents in enumerate(self._parents):
            present[child, list(elements(child_parents))] = True
        factors = np.where(present, 1 / self._arities, self._arities) - 1
        return np.asarray(((self._arities - 1) * self._configurations)[:, None] * factors, dtype=np.float64)
