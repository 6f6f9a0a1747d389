"""Greedy searches for the network that predicts each row best from the other rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline, check_limit
from anbexact.models.parameters.smoothing import class_families
from anbexact.models.structure import Structure
from anbexact.scores.acll import check_positive
from anbexact.search.scoring.totals import class_of
from anbexact.tables.table import DiscreteTable

Families = dict[Hashable, tuple[Hashable, ...]]
"""The feature parents of every feature that is a child of the class, parents before children."""
MOST_CELLS = 1 << 22
"""Cells that the table of a family may have (32 MB): with few rows, joining might otherwise not end."""
LEAST_GAIN = 1e-9
"""Share of a log likelihood by which another must be higher to count as higher, so that rounding decides nothing."""


def join_forwards(features: tuple[Hashable, ...], families: Families) -> Iterator[Families]:
    """Yield the steps of FSSJ: a feature that is not yet used is added alone, or joined to a group."""
    groups = groups_of(families)
    for new in features:
        if new in families:
            continue
        yield {**families, new: ()}
        for group in groups:
            yield {**families, new: group}


def join_backwards(_: tuple[Hashable, ...], families: Families) -> Iterator[Families]:
    """Yield the steps of BSEJ: a feature is left out, or two groups are joined."""
    groups = groups_of(families)
    for old in families:
        yield {name: tuple(p for p in of_name if p != old) for name, of_name in families.items() if name != old}
    for k, first in enumerate(groups):
        for second in groups[:k]:
            joined = (*second, *first)
            others = [group for group in groups if group not in (first, second)]
            yield {name: group[:place] for group in (*others, joined) for place, name in enumerate(group)}


def add_tree_arcs(features: tuple[Hashable, ...], families: Families) -> Iterator[Families]:
    """Yield the steps of TAN-HC: an arc to a feature without a feature parent, if it closes no cycle."""
    for child in features:
        if families[child]:
            continue
        for parent in features:
            above = parent
            while above != child and families[above]:
                above = families[above][0]
            if above != child:
                yield {**families, child: (parent,)}


def groups_of(families: Mapping[Hashable, tuple[Hashable, ...]]) -> list[tuple[Hashable, ...]]:
    """Return the groups of joined features; in a group, the parents of each feature are those before it."""
    above = {name for of_name in families.values() for name in of_name}
    last = [name for name in families if name not in above]
    return [(*families[name], name) for name in last]


Steps = Callable[[tuple[Hashable, ...], Families], Iterator[Families]]
"""A function of the features and of the families that a climb has reached, which yields those one step further."""


@dataclass(eq=False)
class LeaveOneOutClimb:
    """A climb to the network with the highest leave-one-out conditional log likelihood.

    Attributes
    ----------
    table : DiscreteTable
        A table with a class.
    ess : float
        Equivalent sample size of the tables.
    deadline : Deadline
        The time from which no further step is tried.
    """

    table: DiscreteTable
    ess: float
    deadline: Deadline
    _known: dict[tuple[Hashable, frozenset[Hashable]], tuple[npt.NDArray[np.int64], Floats, Floats]] = field(
        default_factory=dict
    )

    def best(self, start: Families, steps: Steps) -> tuple[Families, float]:
        """Return the families that no step improves, and their value; of equally good steps, the first is taken."""
        features = self.table.vocabulary.features
        families, value = start, self.value(start)
        while True:
            found, best = None, value + LEAST_GAIN * abs(value)
            sums = self._sums(families)
            for candidate in filter(self._fits, steps(features, families)):
                if self.deadline.passed:
                    break
                its_value = self._value(*self._after(sums, families, candidate))
                if its_value > best + (0.0 if found is None else LEAST_GAIN * abs(best)):
                    found, best = candidate, its_value
            if found is None:
                return families, value
            families, value = found, self.value(found)

    def _fits(self, families: Families) -> bool:
        """Whether no table has too many cells."""
        table = self.table
        n_classes = table.vocabulary.arity(class_of(table))
        return all(
            n_classes * prod(table.shape([child, *parents])) <= MOST_CELLS for child, parents in families.items()
        )

    def value(self, families: Mapping[Hashable, tuple[Hashable, ...]]) -> float:
        """Return Σ ln P₋(c | x) over the rows, each predicted by the counts of the others; nats, total."""
        return self._value(*self._sums(families))

    def _value(self, logs: Floats, own: Floats) -> float:
        """Return the value for what :meth:`_sums` returns."""
        logs[np.arange(len(own)), self._classes] = own
        highest = logs.max(axis=1)  # scipy's logsumexp takes ten times as long for a few hundred rows
        return float(self.table.weights @ (own - highest - np.log(np.exp(logs - highest[:, None]).sum(axis=1))))

    def _sums(self, families: Mapping[Hashable, tuple[Hashable, ...]]) -> tuple[Floats, Floats]:
        """Return ln P(c, x) by row and class, and of each row's own class from the counts of the other rows."""
        logs = np.zeros((len(self._classes), self.table.vocabulary.arity(class_of(self.table))))
        own = np.zeros(len(logs))
        return self._after((logs, own), {}, {class_of(self.table): (), **families})

    def _after(self, sums: tuple[Floats, Floats], before: Families, families: Families) -> tuple[Floats, Floats]:
        """Return the sums for families from the sums for those before: what differs is taken away and added."""
        logs, own = sums[0].copy(), sums[1].copy()
        for sign, of_these, others in ((-1, before, families), (1, families, before)):
            for child, parents in of_these.items():
                if others.get(child) != parents:
                    state, of_state, lowered = self._family(child, parents)
                    logs += sign * of_state[state]
                    own += sign * lowered[state, self._classes]
        return logs, own

    @cached_property
    def _classes(self) -> npt.NDArray[np.int64]:
        return self.table.column(class_of(self.table)).astype(np.int64)

    def _family(self, child: Hashable, parents: tuple[Hashable, ...]) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
        """Return the joint state of every row, and ln θ by joint state and class, with all rows and with one less."""
        key = child, frozenset(parents)
        if key not in self._known:
            class_name = class_of(self.table)
            graph: dict[Hashable, tuple[Hashable, ...]] = {class_name: (), **dict.fromkeys(parents, ())}
            if child != class_name:
                graph[child] = (class_name, *parents)
            family = class_families(self.table, Structure.given(class_name, graph))[-1]
            self._known[key] = (family.state, *family.logs(self.ess))
        return self._known[key]


def learn_greedily(
    table: DiscreteTable, start: Families, steps: Steps, *, ess: float = 1.0, time_limit: float | None = None
) -> tuple[Families, float]:
    """Return the families to which a climb by leave-one-out leads, and their value; see :class:`LeaveOneOutClimb`."""
    check_positive("ess", ess)
    check_limit("time_limit", time_limit)
    return LeaveOneOutClimb(table, float(ess), Deadline(time_limit)).best(start, steps)
