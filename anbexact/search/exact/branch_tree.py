"""Branch and cut in one component: the tree of branches with their bounds, and the local search for good choices."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from operator import itemgetter
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from anbexact._kernels.orders import greedy_order, improve_order
from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks
from anbexact.models.proof import Case, Split
from anbexact.search.exact.parent_sets import Arc, Branch, Lists
from anbexact.search.exact.relaxation import Bound, Relaxation, duals, totals_with_each

ROOT_IDLE_SOLUTIONS = 12
"""Number of solutions of the relaxation at the root, without much gain, after which branching begins."""
BRANCHES_DIVIDED = 4
"""Number of branches that are divided at a time."""
ARCS_TRIED = 8
"""Number of arcs from which the one to branch on is chosen."""
IDLE_SOLUTIONS = 2
"""Number of solutions of the relaxation in a branch, without much gain, after which its bound is kept."""
RESTARTS_PER_LOOK = 20
"""Number of restarts between checks of the clock."""
IDLE_LOOKS = 10
"""Number of such rounds without a better choice after which the search ends."""


class ProofProgress:
    """Reports the closed share of the optimality gap, a few times a second."""

    def __init__(self, progress: Progress | None, done: int, count: int) -> None:
        self.progress, self.done, self.count = progress, done, count
        self.first = self.last = 0.0
        self.shown = time.monotonic()

    def gap(self, gap: float) -> None:
        """Record the remaining gap."""
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


class ComponentSearch:
    """Branch and cut in one component.

    Attributes
    ----------
    orders : Orders
        The local search, which has the best choice.
    nodes : int
        Branches that were bounded.
    """

    def __init__(self, part: Lists) -> None:
        self.orders = Orders(part)
        self.relaxation = Relaxation(part, self.orders.chosen)
        everything = Branch.everything(part)
        self.root = _Node(everything, self.relaxation.start(everything))
        self.nodes = 1

    @property
    def bound(self) -> float:
        """The bound that the tree proves, but at least the total of the best choice."""
        highest = self.orders.total
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node.split is None:
                highest = max(highest, node.bound.value)
            else:
                waiting.extend(node.split[2:])
        return highest

    def run(
        self, tolerance: float, most_nodes: float, threads: int, deadline: Deadline, report: ProofProgress
    ) -> None:
        """Search until the bound is within the tolerance of the best choice, or time or nodes are used up.

        The branches with the highest bounds are divided, several at a time regardless of the number of threads, each
        using only what was known before. An interrupt leaves everything in a consistent state.
        """
        self.tolerance, self.threads, self.deadline, self.report = tolerance, threads, deadline, report
        report.gap(self.root.bound.value - self.orders.total)
        self.orders.search(deadline)
        self.relaxation.chosen = self.orders.chosen
        self._improve([self.root], ROOT_IDLE_SOLUTIONS)
        queue = [(-self.root.bound.value, 0, self.root)]
        while queue and not deadline.passed:
            report.gap(-queue[0][0] - self.orders.total)
            nodes: list[_Node] = []
            while queue and len(nodes) < BRANCHES_DIVIDED and self.nodes + 2 * len(nodes) + 2 <= most_nodes:
                if -queue[0][0] <= self._goal:
                    break
                nodes.append(heappop(queue)[2])
            if not nodes:
                break
            halves = self._divided(nodes)
            self._improve(halves, IDLE_SOLUTIONS)
            for half in halves:
                heappush(queue, (-half.bound.value, self.nodes, half))
                self.nodes += 1

    @property
    def _goal(self) -> float:
        """The bound at which a branch is closed."""
        return self.orders.total + self.tolerance

    def _divided(self, nodes: Sequence[_Node]) -> list[_Node]:
        """Divide branches, and return the halves; a branch without an open arc has none.

        The most promising arcs are tried; the arc is chosen for which the product of the gains of both halves is
        highest (strong branching: Applegate, Bixby, Chvátal & Cook, Finding cuts in the TSP, DIMACS 1995).
        """
        tried: list[dict[Arc, tuple[float, _Division]]] = [{} for _ in nodes]

        def attempt(k: int, arc: Arc) -> None:
            division, product = self._division(nodes[k], arc), 1.0
            for half in division[2:]:
                half.bound, estimate = self.relaxation.estimate(half.branch, half.bound, self._goal, self.deadline)
                product *= 1e-3 + max(0.0, nodes[k].bound.value - estimate)
            tried[k][arc] = product, division

        self._run([partial(attempt, k, arc) for k, node in enumerate(nodes) for arc in node.bound.arcs[:ARCS_TRIED]])
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

    def totals_with(self) -> Floats:
        """Return a bound on the total of the choices with every single set: the highest of the branches' bounds."""
        lists = self.relaxation.lists
        highest = np.full(len(lists.scores), -np.inf)
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node.split is not None:
                waiting.extend(node.split[2:])
                continue
            bounds = totals_with_each(lists, node.branch, node.bound.clusters, node.bound.multipliers)
            np.maximum(highest, bounds, out=highest)
        return highest

    def case(self, names: Sequence[Hashable]) -> Case:
        """Return the proof, for features of these names."""
        return self._case(self.root, names)

    def _case(self, node: _Node, names: Sequence[Hashable]) -> Case:
        if node.split is not None:
            parent, child, absent, present = node.split
            return Split(names[parent], names[child], self._case(absent, names), self._case(present, names))
        return duals(node.bound.clusters, node.bound.multipliers, names)


class Orders:
    """Local search over orders, which keeps the best choice found.

    Attributes
    ----------
    chosen : (features,) int64
        The best acyclic choice: positions in ``lists.masks``.
    """

    def __init__(self, lists: Lists) -> None:
        self.lists = lists
        self.chosen: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self.state = np.zeros(1, np.uint64)
        self.rng = np.random.default_rng(0)
        self.start_from(lists.scores[lists.starts[:-1]], 0)

    @property
    def total(self) -> float:
        """The sum of scores of the best choice, in nats; -inf before there is one."""
        return float(self.lists.scores[self.chosen].sum()) if len(self.chosen) else float("-inf")

    def start_from(self, hoped: npt.NDArray[np.float64], rounds: int) -> bool:
        """Search from the greedy order towards these local scores; return whether a better choice was found."""
        lists = self.lists
        return self._search(greedy_order(lists.masks, lists.starts, lists.scores, hoped), rounds)

    def search(self, deadline: Deadline) -> None:
        """Restart from the best order and from greedy orders in turn, until there is no improvement for a while."""
        highest = self.lists.scores[self.lists.starts[:-1]]
        idle = 0
        while idle < IDLE_LOOKS and not deadline.passed:
            idle = 0 if self._search(self.order, RESTARTS_PER_LOOK) else idle + 1
            lost = highest - self.lists.scores[self.chosen]
            if self.start_from(highest - lost * self.rng.random(len(lost)), RESTARTS_PER_LOOK):
                idle = 0

    def _search(self, order: npt.NDArray[np.int64], rounds: int) -> bool:
        lists = self.lists
        order, chosen = improve_order(lists.masks, lists.starts, lists.scores, order, rounds, self.state)
        if float(lists.scores[chosen].sum()) <= self.total + 1e-9:
            return False
        self.order, self.chosen = order, chosen
        return True
