"""The linear relaxation of listed parent sets, and the bounds that its solutions prove."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import csc_matrix, hstack, identity, vstack

from anbexact._kernels.clusters import credited, incidence
from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.deadline import Deadline
from anbexact.models.proof import Duals
from anbexact.search.exact.cutting_planes import Clusters, separate
from anbexact.search.exact.parent_sets import Arc, Branch, Lists, members, unpack

FIRST_COLUMNS = 30
"""Number of parent sets per feature, the best ones, with which the relaxation begins."""
NEW_COLUMNS = 20
"""Maximum number of parent sets per feature added at a time."""
LEAST_GAIN = 0.02
"""Share of the gap that the last solutions must have closed for the improvement of a bound to continue."""
IDLE_ROUNDS = 1
"""Number of solutions after which a cluster that none of them needed is dropped."""


@dataclass(frozen=True)
class Bound:
    """A proved bound: clusters, multipliers and their consequences.

    From the last solution of the relaxation, it also has the arcs to branch on, the most promising first, and Σ_W
    x_iW · score for every feature i.
    """

    value: float
    clusters: Clusters
    multipliers: Floats
    arcs: tuple[Arc, ...]
    hoped: Floats


def proved(lists: Lists, branch: Branch, clusters: Clusters, multipliers: Floats) -> tuple[float, Floats]:
    """Return the bound that multipliers prove for a branch, and the credited scores of its sets."""
    values: Floats = credited(
        lists.masks, lists.starts, lists.scores, branch.forbidden, branch.required, clusters.masks, clusters.least,
        multipliers,
    )  # fmt: skip
    return float(np.maximum.reduceat(values, lists.starts[:-1]).sum() - multipliers @ clusters.least), values


def totals_with_each(lists: Lists, branch: Branch, clusters: Clusters, multipliers: Floats) -> Floats:
    """Return, for every set, the bound that multipliers prove for the choices of a branch that contain it."""
    value, credited_scores = proved(lists, branch, clusters, multipliers)
    best = np.maximum.reduceat(credited_scores, lists.starts[:-1])
    bounds: Floats = value - best[lists.children] + credited_scores
    return bounds


def duals(clusters: Clusters, multipliers: Floats, names: Sequence[Hashable]) -> Duals:
    """Return the proof by multipliers, for features of these names."""
    rows = unpack(clusters.masks, len(names))
    inside = (tuple(names[i] for i in np.flatnonzero(row).tolist()) for row in rows)
    return Duals(tuple(zip(inside, clusters.least.tolist(), multipliers.tolist(), strict=True)))


class Relaxation:
    """The linear relaxation of some lists.

    Attributes
    ----------
    chosen : (features,) int64
        The best choice known: clusters are preferred whose inequalities it satisfies with equality.
    """

    def __init__(self, lists: Lists, chosen: Positions) -> None:
        self.lists = lists
        self.children = lists.children
        self.chosen = chosen
        self.best = lists.scores[lists.starts[:-1]]
        self._no_clusters = Clusters.none(lists), np.zeros(0)
        self.penalty = 1.0 + 4.0 * float(self.best.sum() - lists.scores[chosen].sum())

    def start(self, branch: Branch) -> Bound:
        """Return the bound without clusters."""
        return self.inherited(branch, Bound(0.0, *self._no_clusters, (), self.best))

    def inherited(self, branch: Branch, bound: Bound) -> Bound:
        """Return the bound that the multipliers of another branch prove for this one."""
        value, _ = proved(self.lists, branch, bound.clusters, bound.multipliers)
        return Bound(value, bound.clusters, bound.multipliers, (), bound.hoped)

    def improve(
        self, branch: Branch, start: Bound, target: Callable[[Bound], float], patience: int, deadline: Deadline
    ) -> Bound:
        """Lower the bound of a branch by adding clusters to those of ``start``.

        Ends when the bound is at most its target, which is checked after every solution of the relaxation; when there
        is no violated cluster; when ``patience`` solutions gained almost nothing; or at the deadline.
        """
        best = start
        rng = np.random.default_rng(0)
        clusters, multipliers = start.clusters, start.multipliers
        idle = np.zeros(len(clusters), np.int64)
        _, values = proved(self.lists, branch, clusters, multipliers)
        active = self._first(values, start.value - target(start))
        reached = [start.value]
        while not deadline.passed:
            columns = np.flatnonzero(active)
            solution = self._solve(columns, values, clusters, multipliers, deadline)
            if solution is None:
                break
            shares, priced, multipliers, optimum = solution
            own = self.children[columns]
            hoped = np.bincount(own, shares * self.lists.scores[columns], self.lists.n).astype(np.float64)
            value, values = proved(self.lists, branch, clusters, multipliers)
            used = multipliers > 0
            if value < best.value:
                best = Bound(value, clusters.those(used), multipliers[used], best.arcs, hoped)
            best = replace(best, hoped=hoped)
            goal = target(best)
            if best.value <= goal:
                break
            grown = self._activate(active, values, priced + 1e-9, NEW_COLUMNS)
            support = shares > 1e-6
            fresh, arcs = separate(self.lists, self.chosen, columns[support], shares[support], rng)
            best = replace(best, arcs=arcs)
            reached.append(best.value)
            gained = reached[max(0, len(reached) - 1 - patience)] - best.value
            gap = best.value - goal
            stalled = len(reached) > patience and gained < LEAST_GAIN * gap and best.value - optimum < 0.05 * gap
            if stalled or not (grown or len(fresh)):
                break
            kept = (idle <= IDLE_ROUNDS) | used
            idle = np.concatenate([np.where(used, 0, idle + 1)[kept], np.zeros(len(fresh), np.int64)])
            clusters = clusters.those(kept).and_also(fresh)
            multipliers = np.concatenate([multipliers[kept], np.zeros(len(fresh))])
        return best

    def estimate(self, branch: Branch, start: Bound, goal: float, deadline: Deadline) -> tuple[Bound, float]:
        """Return the bound that a solution with the clusters of ``start`` proves for a branch, and the optimum.

        The optimum over the current sets counts as ``goal`` if it is lower; the branch is then closed.
        """
        best, optimum = start, start.value
        if start.value > goal:
            _, values = proved(self.lists, branch, start.clusters, start.multipliers)
            columns = np.flatnonzero(self._first(values, start.value - goal))
            solution = self._solve(columns, values, start.clusters, start.multipliers, deadline)
            if solution is not None:
                _, _, multipliers, optimum = solution
                value, _ = proved(self.lists, branch, start.clusters, multipliers)
                if value < start.value:
                    used = multipliers > 0
                    best = replace(
                        start, value=value, clusters=start.clusters.those(used), multipliers=multipliers[used]
                    )
        return best, max(goal, min(start.value, optimum))

    def open_arc(self, branch: Branch) -> Arc | None:
        """Return an undecided arc of the best set that a branch admits; None if there is none."""
        _, values = proved(self.lists, branch, *self._no_clusters)
        for i in range(self.lists.n):
            own = np.flatnonzero(np.isfinite(values[self.lists.starts[i] : self.lists.starts[i + 1]]))
            undecided = self.lists.masks[self.lists.starts[i] + own[0]] & ~branch.required[i]
            if undecided.any():
                return members(undecided)[0], i
        return None

    def _first(self, values: Floats, gap: float) -> npt.NDArray[np.bool_]:
        """Return the initial sets: for every feature, those with the highest values, and the chosen one.

        Those that cost more than the gap are left out: a choice better than the best known contains none of them.
        """
        active = np.zeros(len(values), np.bool_)
        active[self.chosen] = np.isfinite(values[self.chosen])
        highest = np.maximum.reduceat(values, self.lists.starts[:-1])
        self._activate(active, values, highest - gap - 1e-6, FIRST_COLUMNS)
        return active

    def _activate(self, active: npt.NDArray[np.bool_], values: Floats, above: Floats, most: int) -> bool:
        """Add the sets of highest value, above a threshold for each feature; return whether there were any."""
        grown = False
        for i in range(self.lists.n):
            own = slice(int(self.lists.starts[i]), int(self.lists.starts[i + 1]))
            fresh = np.flatnonzero((values[own] > above[i]) & ~active[own])
            if len(fresh) > most:
                fresh = fresh[np.argpartition(-values[own][fresh], most)[:most]]
            active[own.start + fresh] = True
            grown |= len(fresh) > 0
        return grown

    def _solve(
        self, columns: Positions, values: Floats, clusters: Clusters, multipliers: Floats, deadline: Deadline
    ) -> tuple[Floats, Floats, Floats, float] | None:
        """Return x, the features' dual values as credited scores, the clusters' multipliers, and the optimum.

        The costs are the deficits of the sets in ``values``, with credits for the current multipliers, which guide
        the simplex method as it starts again; a surplus over a cluster inequality costs its multiplier. A cluster
        inequality may be violated at a high price, so every branch has a solution.
        """
        lists, n = self.lists, self.lists.n
        count, rows = len(columns), len(clusters)
        own = self.children[columns]
        least = clusters.least.astype(np.float64)
        highest = np.maximum.reduceat(values, lists.starts[:-1])
        priced = np.flatnonzero(multipliers)
        pointers, indices = incidence(lists.masks, self.children, columns, clusters.masks, clusters.least)
        counted = csc_matrix((np.ones(len(indices)), indices, pointers), shape=(rows, count))
        surplus = csc_matrix(
            (np.full(len(priced), -1.0), priced, np.arange(len(priced) + 1)), shape=(rows, len(priced))
        )
        satisfied = hstack([counted, identity(rows), surplus], format="csr")
        ends = np.concatenate([np.arange(count + 1), np.full(rows + len(priced), count)])
        one = csc_matrix((np.ones(count), own, ends), shape=(n, count + rows + len(priced)))
        free = multipliers == 0
        cost = np.concatenate([highest[own] - values[columns], self.penalty - multipliers, multipliers[priced]])
        options: dict[str, bool | float] = {
            "presolve": False,
            "dual_feasibility_tolerance": 1e-9,
            "primal_feasibility_tolerance": 1e-9,
        }
        if deadline.left < np.inf:
            options["time_limit"] = max(0.01, deadline.left)
        found = linprog(  # type: ignore[call-overload]  # its stubs want every option as an int
            cost,
            A_ub=-satisfied[free],
            b_ub=-least[free],
            A_eq=vstack([one, satisfied[priced]], format="csc"),
            b_eq=np.concatenate([np.ones(n), least[priced]]),
            method="highs-ds",
            options=options,
        )
        if found.status != 0:
            return None
        solved = multipliers.copy()
        solved[free] = -found.ineqlin.marginals
        solved[priced] += found.eqlin.marginals[n:]
        solved[solved < 1e-9] = 0.0
        optimum = float(highest.sum() - multipliers @ least - found.fun)
        return found.x[:count], highest - found.eqlin.marginals[:n], solved, optimum
