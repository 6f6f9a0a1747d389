"""Integer points with the least loss, by branch and bound on the convex loss."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

import numpy as np

from anbexact._kernels.points import enumerate_points, improved_points, nearest_points, points_loss
from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.deadline import Deadline, interruptible
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import one_blas_thread
from anbexact.scorecards.convex import Candidates, Relaxed, relaxed

SCALES = (1e-3, 20.0)
"""Bounds of a scale that is chosen, in nats per point."""
NODES = 20_000
"""Nodes of an enumeration between two looks at the clock."""
TRIED = 24
"""Scales at which log odds are rounded before the search."""
EXACT = 1e-9
"""Nats per row by which losses may differ through rounding of floats."""


@dataclass(frozen=True, eq=False)
class Rounded:
    """Integer points, and what is proved about them.

    Attributes
    ----------
    points : (variables, scores) int64
    scale : float
        Nats per point.
    offset : (scores,) float64
        In nats.
    loss, bound : float
        The loss of the points, and a bound below which that of no others lies; in nats per row, with the pull.
    relaxed_loss : float
        The least loss of log odds that need not be whole points, of all variables.
    nodes : int
        Nodes of the search: sets of features, and points that were assigned.
    seconds : float
    in_time : bool
        Whether the search ended before its limit.
    """

    points: Positions
    scale: float
    offset: Floats
    loss: float
    bound: float
    relaxed_loss: float
    nodes: int
    seconds: float
    in_time: bool


def best_points(
    candidates: Candidates,
    *,
    most: int,
    n_features: int | None = None,
    scales: tuple[float, float] = SCALES,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Rounded:
    """Return the integer points with the least loss, within a gap.

    The search has two levels. It first branches on whether a feature has points; the least loss without rounding is a
    bound, and a quadratic bound of what it costs to leave a feature out decides many features at once. For a set of
    features that may be used together, all points are enumerated whose quadratic bound is below the best loss.

    Parameters
    ----------
    candidates : Candidates
    most : int
        Points are from -most to most.
    n_features : int, optional
        Maximum number of features with points.
    scales : (float, float)
        Bounds of the scale, in nats per point; equal if it is given.
    gap : float
        Nats per row by which the loss may exceed the least one.
    time_limit : float, optional
        In seconds.
    progress : callable, optional

    References
    ----------
    Ustun and Rudin, *Learning Optimized Risk Scores*, JMLR 20 (2019); Bach, *Self-concordant analysis for logistic
    regression*, Electronic Journal of Statistics 4 (2010); Fincke and Pohst, Mathematics of Computation 44 (1985).
    """
    deadline = Deadline(time_limit)
    search = _Search(candidates, most, np.array(scales, dtype=np.float64), gap, deadline, progress)
    with interruptible(deadline), one_blas_thread():
        return search.run(n_features)


@dataclass(frozen=True, eq=False)
class _Node:
    """Sets of features: those that have points, those that may have, and the least loss of their log odds."""

    included: frozenset[int]
    open_ones: frozenset[int]
    fit: Relaxed


class _Search:
    """The search of :func:`best_points`, with the best points so far."""

    def __init__(
        self,
        candidates: Candidates,
        most: int,
        scales: Floats,
        gap: float,
        deadline: Deadline,
        progress: Progress | None,
    ) -> None:
        self.candidates, self.most, self.scales, self.gap = candidates, most, scales, gap
        self.deadline, self.progress = deadline, progress
        n_scores = candidates.n_scores
        self.best = np.zeros((len(candidates.tables), n_scores), dtype=np.int64)
        self.found = np.zeros(n_scores + 2)  # loss, scale and offsets
        self.nodes = 0
        self.open_bound = np.inf
        shares = np.maximum(candidates.weights.sum(axis=0), 1e-12)
        offset = np.log(shares[1:] / shares[0])
        self.found[:2] = self._loss(self.best, float(scales[1]), offset)
        self.found[2:] = offset

    @property
    def limit(self) -> float:
        """The loss from which on nothing is worth a look."""
        return float(self.found[0] - max(self.gap, EXACT))

    def run(self, n_features: int | None) -> Rounded:
        every = frozenset(feature for own in self.candidates.features for feature in own)
        wanted = len(every) if n_features is None else min(n_features, len(every))
        root = self._node(frozenset(), every, None)
        self._dive(root, wanted)
        waiting: list[tuple[float, int, _Node]] = [(root.fit.loss, 0, root)]
        numbers = count(1)
        while waiting and waiting[0][0] < self.limit and not self.deadline.passed:
            bound, _, node = heapq.heappop(waiting)
            self._show(root.fit.loss, bound)
            for child_bound, child in self._branched(node, bound, wanted):
                if child_bound < self.limit:
                    heapq.heappush(waiting, (child_bound, next(numbers), child))
        complete = not (waiting and waiting[0][0] < self.limit) and self.open_bound >= self.limit
        bounds = [self.found[0] - self.gap, self.open_bound, *(bound for bound, _, _ in waiting[:1])]
        if self.progress is not None:
            self.progress("scorecard", 1.0)
        return Rounded(
            self.best,
            float(self.found[1]),
            self.found[2:].copy(),
            float(self.found[0]),
            float(max(min(bounds), root.fit.loss)),
            root.fit.loss,
            self.nodes,
            self.deadline.elapsed,
            complete,
        )

    def _show(self, floor: float, bound: float) -> None:
        if self.progress is not None and self.found[0] > floor:
            self.progress("scorecard", min((bound - floor) / (self.found[0] - floor), 0.99))

    # ---- features

    def _node(self, included: frozenset[int], open_ones: frozenset[int], parent: Relaxed | None) -> _Node:
        """Return a node with the fit of its variables, from that of its parent."""
        active = np.flatnonzero(self.candidates.variables(included | open_ones))
        start = None
        if parent is not None:
            kept = np.isin(parent.active, active)
            start = parent.log_odds[np.append(kept, True)]
        self.nodes += 1
        return _Node(included, open_ones, relaxed(self.candidates, active, start))

    def _dive(self, node: _Node, wanted: int) -> None:
        """Find good points: leave out the features that matter least until few enough are left, and round.

        Of many features, a third is left out at once; all that are too many, when the time has run out.
        """
        while (number := len(node.open_ones)) > wanted:
            features = sorted(node.open_ones)
            costs = node.fit.plain_bound.costs(features)
            n_dropped = max(min(number // 3, number - 2 * wanted), 1) if not self.deadline.passed else number - wanted
            dropped = {features[k] for k in np.argsort(costs, kind="stable")[:n_dropped].tolist()}
            node = self._node(frozenset(), node.open_ones - dropped, node.fit)
        self._round(node.fit)

    def _branched(self, node: _Node, bound: float, wanted: int) -> Iterable[tuple[float, _Node]]:
        """Yield the children of a node with their bounds; at a node without choice, look at all points."""
        fit = node.fit
        if len(node.included) + len(node.open_ones) <= wanted:
            self._enumerate(fit)
            return
        features = sorted(node.open_ones)
        costs = fit.bound(self.found[0] - fit.loss).costs(features)
        n_dropped = len(node.included) + len(features) - wanted
        bound = max(bound, fit.loss + float(np.sort(costs)[n_dropped - 1]))
        if bound >= self.limit:
            return
        needed = {feature for feature, cost in zip(features, costs, strict=True) if fit.loss + cost >= self.limit}
        included = node.included | needed
        rest = [feature for feature in features if feature not in needed]
        if len(included) > wanted:
            return
        if len(included) == wanted:
            yield self._with_bound(self._node(included, frozenset(), fit), bound)
            return
        chosen = max(rest, key=lambda feature: costs[features.index(feature)])
        without = self._node(included, frozenset(rest) - {chosen}, fit)
        yield self._with_bound(without, bound)
        if len(included) + 1 == wanted:
            yield self._with_bound(self._node(included | {chosen}, frozenset(), fit), bound)
        else:
            yield bound, _Node(included | {chosen}, frozenset(rest) - {chosen}, fit)

    @staticmethod
    def _with_bound(node: _Node, bound: float) -> tuple[float, _Node]:
        return max(bound, node.fit.loss), node

    # ---- points

    def _loss(self, points: Positions, scale: float, offset: Floats) -> tuple[float, float]:
        """Return the loss of points and the best scale; ``offset`` becomes the best one."""
        own = self.candidates
        low, high = self.scales.tolist()
        loss, best = points_loss(points, own.columns, own.weights, own.centre, own.pull, low, high, scale, offset)
        return float(loss), float(best)

    def _round(self, fit: Relaxed) -> None:
        """Round log odds at several scales, and improve the best of these points one by one."""
        if not len(fit.active):
            return
        root, target, variables = fit.plain_bound.triangle()
        largest = max(float(np.abs(fit.log_odds[:-1]).max()), 1e-6)
        low, high = self.scales.tolist()
        tried = np.unique(np.clip(largest / self.most * np.geomspace(0.4, 4.0, TRIED), low, high))
        found = []
        for scale in tried.tolist():
            points = np.zeros_like(self.best)
            points[variables[:, 0], variables[:, 1]] = nearest_points(root, target, scale, self.most)
            offset = fit.log_odds[-1].copy()
            loss, best = self._loss(points, scale, offset)
            found.append((loss, best, points, offset))
        found.sort(key=lambda one: one[0])
        for loss, scale, points, offset in found[:2]:
            if loss - (loss - fit.loss) / 2 >= self.found[0]:
                continue
            own = self.candidates
            free = np.isin(np.arange(len(points)), fit.active)
            loss, scale = improved_points(
                points, free, own.columns, own.weights, own.centre, own.pull, self.most, self.scales, scale, offset
            )
            if loss < self.found[0]:
                self.best = points
                self.found[0], self.found[1], self.found[2:] = loss, scale, offset

    def _enumerate(self, fit: Relaxed) -> None:
        """Look at all points of the active variables that could be better than the best ones."""
        own = self.candidates
        if not len(fit.active) or fit.loss >= self.limit:
            return
        self._round(fit)
        n = len(fit.active) * own.n_scores
        root, target, variables = fit.bound(self.found[0] - fit.loss).triangle()
        values = 2 * self.most + 1
        position = np.array([n], dtype=np.int64)
        excesses = np.zeros((n, values))
        places, numbers = np.zeros(n, np.int64), np.zeros(n, np.int64)
        order = np.zeros((n, values), np.int64)
        state = (np.zeros(n, np.int64), np.zeros((n + 1, 3)), excesses, order, places, numbers, position)
        while position[0] >= 0 and not self.deadline.passed:
            self.nodes += enumerate_points(
                root, target, variables, self.most, self.scales, fit.loss, max(self.gap, EXACT), own.columns,
                own.weights, own.centre, own.pull, state, NODES, self.best, self.found,
            )  # fmt: skip
        if position[0] >= 0:
            open_levels = range(max(int(position[0]), 0), n)
            left = [excesses[i, places[i]] for i in open_levels if places[i] < numbers[i]]
            self.open_bound = min(self.open_bound, fit.loss + min(left, default=np.inf))
