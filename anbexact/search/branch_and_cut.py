"""The acyclic choice of listed parent sets with the highest total, proved by branch and cut."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from math import inf
from operator import itemgetter
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from anbexact._kernels.families import best_totals
from anbexact.limits import Deadline, Progress, run_tasks
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
AT_ONCE = 4
"""Branches that are divided at a time."""
CANDIDATES = 8
"""Arcs among which that to branch on is chosen."""
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
    threads: int = 1,
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
    threads : int
        What is found does not depend on it.
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
            (places, bound), case = (
                _completed(partial(_exhausted, part, tolerance / len(lists)), deadline),
                Exhaustion(),
            )
        else:
            searches.append((group, origins, _completed(partial(_Search, part), deadline)))
            continue
        chosen[group] = origins[places]
        components[int(group[0])] = Component(tuple(names[i] for i in group), bound, case)
    for k, (group, origins, search) in enumerate(searches):
        others = sum(other.nodes for *_, other in searches) - search.nodes
        report = _Report(progress, k, len(searches))
        try:
            search.run(tolerance / len(searches), most_nodes - others, threads, deadline, report)
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


def _exhausted(part: Lists, tolerance: float) -> tuple[_Places, float]:
    """Return the best choice and its total, by dynamic programming; ties as in :func:`~anbexact.learn_anb`."""
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
                total = totals[rest] + part.scores[listed]
                reached = listed[(masks[listed] & ~rest == 0) & (total >= totals[left] - tolerance)]
                for k in reached.tolist():
                    parents = [b for b in range(n) if int(masks[k]) >> b & 1]
                    options.append((len(parents), parents, -i, i, k))
        _, _, _, sink, places[sink] = min(options)
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
    split: _Division | None = None


_Division: TypeAlias = tuple[int, int, _Node, _Node]


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

    def run(self, tolerance: float, most_nodes: float, threads: int, deadline: Deadline, report: _Report) -> None:
        """Search until the bound is within the tolerance of the best choice, or the deadline or the nodes are over.

        The branches of highest bound are divided, several at a time whatever the number of threads, each by what was
        known before. An interrupt leaves everything in order.
        """
        self.tolerance, self.threads, self.deadline, self.report = tolerance, threads, deadline, report
        report.gap(self.root.bound.value - self.orders.total)
        self.orders.search(deadline)
        self.relaxation.chosen = self.orders.chosen
        self._improve([self.root], ROOT_PATIENCE)
        queue = [(-self.root.bound.value, 0, self.root)]
        while queue and not deadline.passed:
            report.gap(-queue[0][0] - self.orders.total)
            nodes: list[_Node] = []
            while queue and len(nodes) < AT_ONCE and self.nodes + 2 * len(nodes) + 2 <= most_nodes:
                if -queue[0][0] <= self._goal:
                    break
                nodes.append(heappop(queue)[2])
            if not nodes:
                break
            halves = self._divided(nodes)
            self._improve(halves, PATIENCE)
            for half in halves:
                heappush(queue, (-half.bound.value, self.nodes, half))
                self.nodes += 1

    @property
    def _goal(self) -> float:
        """The bound at which a branch is closed."""
        return self.orders.total + self.tolerance

    def _divided(self, nodes: Sequence[_Node]) -> list[_Node]:
        """Divide branches, and return the halves; a branch without an open arc has none.

        The most promising arcs are tried out; that is taken for which the product of what either half gains is
        highest (strong branching: Applegate, Bixby, Chvátal & Cook, Finding cuts in the TSP, DIMACS 1995).
        """
        tried: list[dict[Arc, tuple[float, _Division]]] = [{} for _ in nodes]

        def attempt(k: int, arc: Arc) -> None:
            division, product = self._division(nodes[k], arc), 1.0
            for half in division[2:]:
                half.bound, estimate = self.relaxation.estimate(half.branch, half.bound, self._goal, self.deadline)
                product *= 1e-3 + max(0.0, nodes[k].bound.value - estimate)
            tried[k][arc] = product, division

        self._run([partial(attempt, k, arc) for k, node in enumerate(nodes) for arc in node.bound.arcs[:CANDIDATES]])
        halves: list[_Node] = []
        for node, found in zip(nodes, tried, strict=True):
            if found:
                in_order = [found[arc] for arc in node.bound.arcs if arc in found]
                _, node.split = max(in_order, key=itemgetter(0))
            elif (arc := self.relaxation.open_arc(node.branch)) is not None:
                node.split = self._division(node, arc)
            if node.split is not None:
                halves += node.split[2:]
        return halves

    def _division(self, node: _Node, arc: Arc) -> _Division:
        branches = [node.branch.with_arc(*arc, present) for present in (False, True)]
        absent, present = (_Node(branch, self.relaxation.inherited(branch, node.bound)) for branch in branches)
        return *arc, absent, present

    def _improve(self, nodes: Sequence[_Node], patience: int) -> None:
        """Lower the bounds of some branches, and look for better choices near the solutions."""

        def improve(node: _Node) -> None:
            def target(bound: Bound) -> float:
                if node is self.root:
                    self.report.gap(bound.value - self.orders.total)
                    self._look(bound)
                return self._goal

            node.bound = self.relaxation.improve(node.branch, node.bound, target, patience, self.deadline)

        nodes = [node for node in nodes if node.bound.value > self._goal]
        self._run([partial(improve, node) for node in nodes])
        for node in nodes:
            self._look(node.bound)

    def _run(self, tasks: Sequence[Callable[[], None]]) -> None:
        run_tasks(tasks, len(tasks), self.threads, self.deadline, "proof", None)

    def _look(self, bound: Bound) -> None:
        """Look for a better choice near the last solution of the relaxation."""
        if self.orders.start_from(bound.hoped, 0):
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
