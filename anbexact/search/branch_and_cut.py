"""The acyclic choice of listed parent sets with the highest total, proved by branch and cut."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from math import inf
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from anbexact._kernels.families import best_totals
from anbexact.limits import Deadline, Progress
from anbexact.proof import Case, Component, Duals, Exhaustion, Split
from anbexact.search.cluster_cuts import Arc, Bound, Branch, Lists, Relaxation
from anbexact.search.orders import Orders
from anbexact.search.parent_sets import ParentSets, pack, unpack

_Result = TypeVar("_Result")
_Places = npt.NDArray[np.int64]
MOST_FEATURES_EXHAUSTED = 14
"""Features of a component that is solved by dynamic programming."""
ROOT_PATIENCE = 12
"""Solutions of the relaxation without much gain after which branching begins."""
CANDIDATES = 6
"""Arcs among which that to branch on is chosen."""
RELIABLE = 1
"""Times that what an arc gains is tried out."""
PATIENCE = 2
"""The same, in the branches."""


@dataclass(frozen=True)
class Choice:
    """One listed parent set for every feature, acyclic together, and a proved bound on all such choices.

    Attributes
    ----------
    chosen : tuple of int
        Positions in the features' lists.
    total : float
        The sum of their scores, in nats.
    bound : float
        Upper bound on the total of every acyclic choice, the sum of the components' bounds; at least ``total``.
    components : tuple of Component
        The proof of the bound.
    nodes : int
        Branches that were bounded.
    """

    chosen: tuple[int, ...]
    total: float
    bound: float
    components: tuple[Component, ...]
    nodes: int


def solve_lists(
    lists: Sequence[ParentSets],
    names: Sequence[Hashable],
    tolerance: float,
    deadline: Deadline,
    progress: Progress | None,
    *,
    most_nodes: float = inf,
) -> Choice:
    """Return the best acyclic choice of listed parent sets found by the deadline, with a proved bound.

    Features that lie on no common cycle of possible arcs are solved apart (Fan, Malone & Yuan, Finding optimal
    Bayesian network structures with constraints learned from data, UAI 2014): small components by dynamic
    programming over all subsets (Silander & Myllymäki, UAI 2006), others by branch and cut on arcs, with cluster
    inequalities (Bartlett & Cussens, Integer linear programming for the Bayesian network structure learning
    problem, Artificial Intelligence 2017).

    Parameters
    ----------
    lists : sequence of ParentSets
        Of every feature, in the order that the masks refer to. Each holds a set such that these are acyclic together.
    names : sequence of features
        Their names, for the proof.
    tolerance : float
        Nats by which the bound may exceed the total for the choice to count as optimal.
    deadline : Deadline
        When to stop; what has been reached by then is returned. An interrupt (Ctrl-C) lets it pass.
    progress : Progress, optional
        Told the part of the gap that has been closed.
    most_nodes : float
        Branches that are bounded before the search stops as at the deadline; those without which there would be no
        bound are bounded in any case.

    Returns
    -------
    Choice
    """
    n = len(lists)
    inside = [unpack(own.masks, n) for own in lists]
    chosen = np.zeros(n, np.int64)
    components: dict[int, Component] = {}
    searches: list[tuple[_Places, _Places, _Search]] = []
    for group in _groups(inside):
        part, origins = _restricted(lists, inside, group)
        case: Case = Duals(())
        if len(group) == 1:
            places, bound = part.starts[:-1], float(part.scores[0])
        elif len(group) <= MOST_FEATURES_EXHAUSTED:
            (places, bound), case = _completed(partial(_exhausted, part), deadline), Exhaustion()
        else:
            searches.append((group, origins, _completed(partial(_Search, part), deadline)))
            continue
        chosen[group] = origins[places]
        components[int(group[0])] = Component(tuple(names[i] for i in group), bound, case)
    for k, (group, origins, search) in enumerate(searches):
        others = sum(other.nodes for *_, other in searches) - search.nodes
        try:
            search.run(tolerance / len(searches), most_nodes - others, deadline, _Report(progress, k, len(searches)))
        except KeyboardInterrupt:
            deadline.interrupt()
        chosen[group] = origins[search.orders.chosen]
        own = [names[i] for i in group]
        components[int(group[0])] = Component(tuple(own), search.bound, search.case(own))
    if progress is not None:
        progress("proof", 1.0)
    total = sum(float(own.scores[k]) for own, k in zip(lists, chosen.tolist(), strict=True))
    ordered = tuple(components[first] for first in sorted(components))
    bound = max(total, sum(component.bound for component in ordered))
    return Choice(tuple(chosen.tolist()), total, bound, ordered, sum(search.nodes for *_, search in searches))


def _completed(work: Callable[[], _Result], deadline: Deadline) -> _Result:
    """Return what some work results in that nothing can do without: an interrupt lets it begin again."""
    try:
        return work()
    except KeyboardInterrupt:
        deadline.interrupt()
        return work()


def _groups(inside: Sequence[npt.NDArray[np.bool_]]) -> list[_Places]:
    """Return the strongly connected components of the possible arcs, small ones first."""
    arcs = np.stack([rows.any(axis=0) for rows in inside])
    _, labels = connected_components(coo_matrix(arcs), connection="strong")
    groups = [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]
    return sorted(groups, key=lambda group: (len(group), group[0]))


def _restricted(
    lists: Sequence[ParentSets], inside: Sequence[npt.NDArray[np.bool_]], group: _Places
) -> tuple[Lists, _Places]:
    """Return the lists of a component, arcs into it left out, and where their sets are in the full lists.

    Of the sets with the same parents in the component, the best is kept.
    """
    masks = [pack(inside[i][:, group]) for i in group]
    kept = [np.sort(np.unique(own, axis=0, return_index=True)[1]) for own in masks]
    part = Lists(
        np.concatenate([own[k] for own, k in zip(masks, kept, strict=True)]),
        np.concatenate([lists[i].scores[k] for i, k in zip(group, kept, strict=True)]),
        np.cumsum([0, *map(len, kept)]),
    )
    return part, np.concatenate(kept)


def _exhausted(part: Lists) -> tuple[_Places, float]:
    """Return the best choice and its total, by dynamic programming; ties go to the sink that comes last."""
    n = part.n
    masks = part.masks[:, 0].astype(np.int64)
    best = np.full((n, 1 << (n - 1)), -np.inf)
    for i in range(n):
        own = slice(int(part.starts[i]), int(part.starts[i + 1]))
        low = masks[own] & ((1 << i) - 1)
        np.maximum.at(best[i], (masks[own] >> (i + 1) << i) | low, part.scores[own])
    for b in range(n - 1):
        halves = best.reshape(n, -1, 2, 1 << b)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    totals = best_totals(best)
    places = np.zeros(n, np.int64)
    left = (1 << n) - 1
    while left:
        options = []
        for i in range(n):
            if left >> i & 1:
                rest = left & ~(1 << i)
                listed = np.arange(part.starts[i], part.starts[i + 1])
                within = listed[masks[listed] & ~rest == 0]
                if len(within):
                    options.append((float(totals[rest] + part.scores[within[0]]), i, int(within[0])))
        _, sink, places[sink] = max(options)
        left &= ~(1 << sink)
    return places, max(float(totals[-1]), float(part.scores[places].sum()))


class _Report:
    """Tells the part of the gaps that has been closed, a few times a second."""

    def __init__(self, progress: Progress | None, done: int, count: int) -> None:
        self.progress, self.done, self.count = progress, done, count
        self.first = self.last = 0.0
        self.shown = time.monotonic()

    def gap(self, gap: float) -> None:
        """Take note of the gap that is left."""
        if self.progress is None:
            return
        self.first = max(self.first, gap)
        now = time.monotonic()
        if now - self.shown > 0.3:
            self.shown = now
            self.last = max(self.last, 1.0 - gap / self.first if self.first > 0 else 1.0)
            self.progress("proof", (self.done + self.last) / self.count)


@dataclass
class _Node:
    """A branch, its bound, and the arc on which it was divided, with the parts where it is absent and present."""

    branch: Branch
    bound: Bound
    split: tuple[int, int, _Node, _Node] | None = None


class _Search:
    """Branch and cut in one component.

    Attributes
    ----------
    orders : Orders
        Holds the best choice.
    nodes : int
        Branches that were bounded.
    """

    def __init__(self, part: Lists) -> None:
        self.orders = Orders(part)
        self.relaxation = Relaxation(part, self.orders.chosen)
        everything = Branch(*np.zeros((2, part.n, part.masks.shape[1]), np.uint64))
        self.root = _Node(everything, self.relaxation.start(everything))
        self.nodes = 1
        self._gains: dict[tuple[Arc, bool], list[float]] = {}

    @property
    def bound(self) -> float:
        """What the tree proves, but at least the total of the best choice."""
        highest = self.orders.total
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node.split is None:
                highest = max(highest, node.bound.value)
            else:
                waiting.extend(node.split[2:])
        return highest

    def run(self, tolerance: float, most_nodes: float, deadline: Deadline, report: _Report) -> None:
        """Search until the bound is within the tolerance of the best choice, or the deadline or the nodes are over.

        An interrupt leaves everything in order.
        """
        self.report = report
        report.gap(self.root.bound.value - self.orders.total)
        self.orders.search(deadline)
        self.relaxation.chosen = self.orders.chosen
        self._improve(self.root, tolerance, ROOT_PATIENCE, deadline)
        queue = [(-self.root.bound.value, 0, self.root)]
        while queue and self.nodes + 2 <= most_nodes and not deadline.passed:
            highest, _, node = heappop(queue)
            report.gap(-highest - self.orders.total)
            if -highest <= self.orders.total + tolerance:
                break
            arc = self._best_arc(node, tolerance, deadline) or self.relaxation.open_arc(node.branch)
            if arc is None:
                continue
            halves = [self._half(node, arc, present) for present in (False, True)]
            node.split = (arc[0], arc[1], halves[0], halves[1])
            for half in halves:
                self._improve(half, tolerance, PATIENCE, deadline)
                heappush(queue, (-half.bound.value, self.nodes, half))
                self.nodes += 1

    def _best_arc(self, node: _Node, tolerance: float, deadline: Deadline) -> Arc | None:
        """Return the arc to branch on: the product of what either half gains is highest.

        Gains are tried out, until an arc has been tried often enough to go by the mean (reliability branching:
        Achterberg, Koch & Martin, Operations Research Letters 2005).
        """
        best, chosen = -1.0, None
        tried = 0
        for arc in node.bound.arcs:
            product = 1.0
            if len(self._gains.setdefault((arc, False), [])) < RELIABLE:
                if tried == CANDIDATES:
                    continue
                tried += 1
            for present in (False, True):
                known = self._gains.setdefault((arc, present), [])
                if len(known) < RELIABLE and not deadline.passed:
                    half = self._half(node, arc, present)
                    goal = self.orders.total + tolerance
                    estimate = self.relaxation.estimate(half.branch, half.bound, goal, deadline)
                    known.append(max(0.0, node.bound.value - estimate))
                product *= 1e-3 + (sum(known) / len(known) if known else 0.0)
            if product > best:
                best, chosen = product, arc
        return chosen

    def _half(self, node: _Node, arc: Arc, present: bool) -> _Node:
        branch = node.branch.with_arc(*arc, present)
        return _Node(branch, self.relaxation.inherited(branch, node.bound))

    def _improve(self, node: _Node, tolerance: float, patience: int, deadline: Deadline) -> None:
        def target(value: float) -> float:
            if node is self.root:
                self.report.gap(value - self.orders.total)
                self._look()
            return self.orders.total + tolerance

        if node.bound.value > self.orders.total + tolerance:
            node.bound = self.relaxation.improve(node.branch, node.bound, target, patience, deadline)
            self._look()

    def _look(self) -> None:
        """Look for a better choice near the last solution of the relaxation."""
        if self.orders.start_from(self.relaxation.hoped, 0):
            self.relaxation.chosen = self.orders.chosen

    def case(self, names: Sequence[Hashable]) -> Case:
        """Return the proof, for features of these names."""
        return self._case(self.root, names)

    def _case(self, node: _Node, names: Sequence[Hashable]) -> Case:
        if node.split is not None:
            parent, child, absent, present = node.split
            return Split(names[parent], names[child], self._case(absent, names), self._case(present, names))
        clusters = node.bound.clusters
        rows = unpack(clusters.masks, len(names))
        inside = (tuple(names[i] for i in np.flatnonzero(row).tolist()) for row in rows)
        return Duals(tuple(zip(inside, clusters.least.tolist(), node.bound.multipliers.tolist(), strict=True)))
