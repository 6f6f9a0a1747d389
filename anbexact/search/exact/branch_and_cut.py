"""The acyclic choice of listed parent sets with the highest total, proved by branch and cut."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from math import inf
from operator import itemgetter
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from anbexact._kernels.families import best_completions, best_totals
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks
from anbexact.search.exact.cutting_planes import Arc, Bound, Branch, Lists, Relaxation, proved
from anbexact.search.exact.order_search import Orders
from anbexact.search.exact.parent_sets import ParentSets, pack, unpack
from anbexact.structures.proof import Case, Component, Duals, Exhaustion, Split

_Result = TypeVar("_Result")
_Places = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
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
    kept : callable
        Returns, for every feature, the positions of all sets that can be part of a choice whose total is at least
        ``total`` less the tolerance.
    """

    chosen: tuple[int, ...]
    total: float
    bound: float
    components: tuple[Component, ...]
    nodes: int
    kept: Callable[[], list[_Places]] = field(repr=False, compare=False)


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
    solved: list[tuple[_Places, Lists, Callable[[], _Floats]]] = []
    for group in _groups(inside):
        part, origins = _restricted(lists, inside, group)
        case: Case = Duals(())
        if len(group) == 1:
            places, bound = part.starts[:-1], float(part.scores[0])
            solved.append((group, part, partial(np.copy, part.scores)))
        elif len(group) <= MOST_FEATURES_EXHAUSTED:
            (places, bound), case = _completed(partial(_exhausted, part), deadline), Exhaustion()
            solved.append((group, part, partial(_totals_with, part)))
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
        solved.append((group, search.relaxation.lists, search.totals_with))
    if progress is not None:
        progress("proof", 1.0)
    total = sum(float(own.scores[k]) for own, k in zip(lists, chosen.tolist(), strict=True))
    ordered = tuple(components[first] for first in sorted(components))
    bound = max(total, sum(component.bound for component in ordered))
    nodes = sum(search.nodes for *_, search in searches)
    return Choice(
        tuple(chosen.tolist()), total, bound, ordered, nodes, partial(_kept, lists, inside, solved, tolerance)
    )


def _kept(
    lists: Sequence[ParentSets],
    inside: Sequence[npt.NDArray[np.bool_]],
    solved: Sequence[tuple[_Places, Lists, Callable[[], _Floats]]],
    tolerance: float,
) -> list[_Places]:
    """Return the positions of the sets of every feature that can be part of an optimal choice; see :class:`Choice`.

    ``solved`` has the components, and bounds on the totals of the choices that hold a set of theirs.
    """
    kept = [np.empty(0, np.int64)] * len(lists)
    for group, part, totals_with in solved:
        lost = totals_with()
        lost = lost.max() - lost
        for k, i in enumerate(group):
            own = slice(int(part.starts[k]), int(part.starts[k + 1]))
            masks = pack(inside[i][:, group])
            joined, place = np.unique(np.concatenate([part.masks[own], masks]), axis=0, return_inverse=True)
            number = own.stop - own.start
            of_mask = np.empty(len(joined), np.int64)
            of_mask[place.ravel()[:number]] = np.arange(own.start, own.stop)
            at = of_mask[place.ravel()[number:]]
            kept[i] = np.flatnonzero(lost[at] + part.scores[at] - lists[i].scores <= tolerance)
    return kept


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


def _highest(part: Lists) -> tuple[_Floats, _Places]:
    """Return the highest scores over the subsets of all sets, see :func:`best_totals`, and the masks of the sets."""
    n = part.n
    masks = part.masks[:, 0].astype(np.int64)
    best = np.full((n, 1 << (n - 1)), -np.inf)
    np.maximum.at(best, (part.children, _without_child(masks, part.children)), part.scores)
    for b in range(n - 1):
        halves = best.reshape(n, -1, 2, 1 << b)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    return best, masks


def _without_child(masks: _Places, children: _Places) -> _Places:
    """Return masks with the bit of the child, which is not set, taken out."""
    compressed: _Places = (masks >> (children + 1) << children) | (masks & ((1 << children) - 1))
    return compressed


def _exhausted(part: Lists) -> tuple[_Places, float]:
    """Return a best choice and its total, by dynamic programming."""
    n = part.n
    best, masks = _highest(part)
    totals = best_totals(best)
    places = np.zeros(n, np.int64)
    left = (1 << n) - 1
    while left:
        own = (left >> part.children & 1).astype(np.bool_) & (masks & ~left == 0)
        listed = np.flatnonzero(own)
        reached = totals[left & ~(1 << part.children[listed])] + part.scores[listed]
        k = int(listed[reached.argmax()])
        sink = int(part.children[k])
        places[sink] = k
        left &= ~(1 << sink)
    return places, max(float(totals[-1]), float(part.scores[places].sum()))


def _totals_with(part: Lists) -> _Floats:
    """Return the highest total of an acyclic choice with every single set: what comes before it, and after it."""
    n = part.n
    best, masks = _highest(part)
    totals, following = best_totals(best), best_completions(best)
    sets = np.arange(1 << (n - 1))
    around = np.empty((n, 1 << (n - 1)))
    for i in range(n):
        before = (sets >> i << (i + 1)) | (sets & ((1 << i) - 1))
        around[i] = totals[before] + following[before | 1 << i]
    for b in range(n - 1):
        halves = around.reshape(n, -1, 2, 1 << b)
        np.maximum(halves[:, :, 0], halves[:, :, 1], out=halves[:, :, 0])
    totals_with: _Floats = around[part.children, _without_child(masks, part.children)] + part.scores
    return totals_with


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

    def totals_with(self) -> _Floats:
        """Return a bound on the total of the choices with every single set: the highest of the branches' bounds."""
        lists = self.relaxation.lists
        highest = np.full(len(lists.scores), -np.inf)
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node.split is not None:
                waiting.extend(node.split[2:])
                continue
            value, credited = proved(lists, node.branch, node.bound.clusters, node.bound.multipliers)
            best = np.maximum.reduceat(credited, lists.starts[:-1])
            np.maximum(highest, value - best[lists.children] + credited, out=highest)
        return highest

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
