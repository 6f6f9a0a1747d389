"""Upper bounds on acyclic choices of parent sets: a linear relaxation with cluster inequalities.

Variables x_iW ≥ 0 with Σ_W x_iW = 1 for every feature i, and for clusters K of features

    Σ_{i ∈ K} Σ_{|W ∩ K| < k} x_iW ≥ k,  1 ≤ k < |K|

(k = 1: Jaakkola et al., Learning Bayesian network structure using LP relaxations, AISTATS 2010; k > 1: Cussens,
Bayesian network learning with cutting planes, UAI 2011). The multipliers z_K of the clusters prove the bound
Σ_i max_W [score + Σ_{K ∋ i, |W ∩ K| < k} z_K] - Σ_K k z_K, whatever way they were found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.optimize import linprog
from scipy.sparse import csc_matrix, hstack, identity, vstack

from anbexact._kernels.clusters import credited, cycles, incidence, violated_clusters
from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.deadline import Deadline
from anbexact.search.exact.parent_sets import Masks, members, pack, unpack

Arc = tuple[int, int]
FIRST_COLUMNS = 30
"""Parent sets per feature, the best, with which the relaxation begins."""
NEW_COLUMNS = 20
"""Most parent sets per feature that are added at a time."""
NEW_CUTS = 80
"""Most clusters that are added at a time."""
ENOUGH_CUTS = 0.5
"""Violated clusters, for each feature, with which the search for more of them ends."""
MOST_FOUND = 2000
"""Violated clusters among which the most violated are chosen."""
RANDOM_STARTS = 40
"""Random sets from which violated clusters are searched for, besides others."""
MOST_LEAST = 3
"""Highest k of the inequalities."""
GAIN = 0.02
"""Part of the gap that so many solutions must close together for the improvement of a bound to go on."""
STEPS = 30
"""Features added or removed in the search for violated clusters, from every start."""
ALIKE = 0.7
"""Most features that clusters added together share, of those in either."""
SLACK = 1e-3
"""Least violation of a cluster inequality that is worth adding it."""
IDLE_ROUNDS = 1
"""Solutions after which a cluster that none of them needed is dropped."""


@dataclass(frozen=True)
class Lists:
    """The parent sets of some features, end to end.

    Attributes
    ----------
    masks : (sets, words) uint64
        Parents, numbered within these features.
    scores : (sets,) float64
        Local scores, highest first within a feature, in nats.
    starts : (features + 1,) int64
        Where the sets of each feature begin.
    """

    masks: Masks
    scores: Floats
    starts: Positions

    @property
    def n(self) -> int:
        """Number of features."""
        return len(self.starts) - 1

    @property
    def children(self) -> Positions:
        """The feature of every set."""
        return np.repeat(np.arange(self.n), np.diff(self.starts))


@dataclass(frozen=True)
class Branch:
    """What was decided about arcs: feature i has no parent in ``forbidden[i]``, and all those in ``required[i]``."""

    forbidden: Masks
    required: Masks

    def with_arc(self, parent: int, child: int, present: bool) -> Branch:
        """Return the branch in which one more arc is there, or absent."""
        forbidden, required = self.forbidden.copy(), self.required.copy()
        if present:
            add_feature(required[child], parent)
            add_feature(forbidden[parent], child)
        else:
            add_feature(forbidden[child], parent)
        return Branch(forbidden, required)


@dataclass(frozen=True)
class Clusters:
    """Clusters, and for each a number: so many of its features must have fewer parents in it than that.

    Attributes
    ----------
    masks : (clusters, words) uint64
        K.
    least : (clusters,) int64
        k.
    """

    masks: Masks
    least: Positions

    def __len__(self) -> int:
        return len(self.least)

    def those(self, which: npt.NDArray[np.bool_]) -> Clusters:
        """Return some of the clusters."""
        return Clusters(self.masks[which], self.least[which])

    def distinct(self) -> Clusters:
        """Return each of the clusters once."""
        whole = np.unique(np.column_stack([self.masks, self.least.astype(np.uint64)]), axis=0)
        return Clusters(np.ascontiguousarray(whole[:, :-1]), whole[:, -1].astype(np.int64))

    def and_also(self, other: Clusters) -> Clusters:
        """Return these clusters and others."""
        return Clusters(np.concatenate([self.masks, other.masks]), np.concatenate([self.least, other.least]))


@dataclass(frozen=True)
class Bound:
    """A proved bound: clusters, multipliers, and what follows from them.

    Of the last solution of the relaxation there are the arcs to branch on, most promising first, and
    Σ_W x_iW · score of every feature i.
    """

    value: float
    clusters: Clusters
    multipliers: Floats
    arcs: tuple[Arc, ...]
    hoped: Floats


def add_feature(mask: Masks, b: int) -> None:
    """Put feature b into a set."""
    mask[b // 64] |= np.uint64(1 << b % 64)


def proved(lists: Lists, branch: Branch, clusters: Clusters, multipliers: Floats) -> tuple[float, Floats]:
    """Return the bound that multipliers prove for a branch, and the credited scores of its sets."""
    values: Floats = credited(
        lists.masks, lists.starts, lists.scores, branch.forbidden, branch.required, clusters.masks, clusters.least,
        multipliers,
    )  # fmt: skip
    return float(np.maximum.reduceat(values, lists.starts[:-1]).sum() - multipliers @ clusters.least), values


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
        self._no_clusters = (
            Clusters(np.zeros((0, lists.masks.shape[1]), np.uint64), np.zeros(0, np.int64)),
            np.zeros(0),
        )
        self.penalty = 1.0 + 4.0 * float(self.best.sum() - lists.scores[chosen].sum())

    def start(self, branch: Branch) -> Bound:
        """Return the bound without clusters."""
        return self.inherited(branch, Bound(0.0, *self._no_clusters, (), self.best))

    def inherited(self, branch: Branch, bound: Bound) -> Bound:
        """Return what the multipliers of another branch prove for this one."""
        value, _ = proved(self.lists, branch, bound.clusters, bound.multipliers)
        return Bound(value, bound.clusters, bound.multipliers, (), bound.hoped)

    def improve(
        self, branch: Branch, start: Bound, target: Callable[[Bound], float], patience: int, deadline: Deadline
    ) -> Bound:
        """Lower the bound of a branch by adding clusters to those of ``start``.

        Ends when the bound is at most its target, asked for after every solution of the relaxation; when there is
        no violated cluster; when ``patience`` solutions gained next to nothing; or at the deadline.
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
            fresh, arcs = self._separate(columns[support], shares[support], rng)
            best = replace(best, arcs=arcs)
            reached.append(best.value)
            gained = reached[max(0, len(reached) - 1 - patience)] - best.value
            gap = best.value - goal
            stalled = len(reached) > patience and gained < GAIN * gap and best.value - optimum < 0.05 * gap
            if stalled or not (grown or len(fresh)):
                break
            kept = (idle <= IDLE_ROUNDS) | used
            idle = np.concatenate([np.where(used, 0, idle + 1)[kept], np.zeros(len(fresh), np.int64)])
            clusters = clusters.those(kept).and_also(fresh)
            multipliers = np.concatenate([multipliers[kept], np.zeros(len(fresh))])
        return best

    def estimate(self, branch: Branch, start: Bound, goal: float, deadline: Deadline) -> tuple[Bound, float]:
        """Return what a solution with the clusters of ``start`` proves for a branch, and the optimum.

        The optimum, with the sets at hand, counts as ``goal`` when it is lower: the branch is closed then.
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
        """Return an arc that is not decided, of the best set that a branch admits; None if there is none."""
        _, values = proved(self.lists, branch, *self._no_clusters)
        for i in range(self.lists.n):
            own = np.flatnonzero(np.isfinite(values[self.lists.starts[i] : self.lists.starts[i + 1]]))
            undecided = self.lists.masks[self.lists.starts[i] + own[0]] & ~branch.required[i]
            if undecided.any():
                return members(undecided)[0], i
        return None

    def _first(self, values: Floats, gap: float) -> npt.NDArray[np.bool_]:
        """Return which sets to begin with: of every feature, those of highest value, and the one chosen.

        Those that cost more than the gap are left out: a choice better than the best known holds none of them.
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

        The costs are what the sets lack in ``values``, credited by the multipliers at hand, so that the simplex
        method, which begins anew, finds its way by them; a surplus over a cluster inequality costs its multiplier.
        A cluster inequality may be violated at a high price, so that there is a solution in every branch.
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

    def _separate(self, columns: Positions, shares: Floats, rng: Generator) -> tuple[Clusters, tuple[Arc, ...]]:
        """Return violated clusters, and the arcs with shares between 0 and 1.

        Those come first whose two cases differ most in mean score, times the share of either case.
        """
        lists, n = self.lists, self.lists.n
        bits = unpack(lists.masks[columns], n)
        at, parents = np.nonzero(bits)
        own = self.children[columns]
        mass = np.zeros((n, n))
        np.add.at(mass, (parents, own[at]), shares[at])
        scores = shares * lists.scores[columns]
        worth = np.zeros((n, n))
        np.add.at(worth, (parents, own[at]), scores[at])
        split = (mass > 1e-6) & (mass < 1.0 - 1e-6)
        weight = np.abs(worth * (1.0 - mass) - (np.bincount(own, weights=scores, minlength=n) - worth) * mass)
        order = np.argsort(np.where(split, -weight, np.inf), axis=None, kind="stable")
        arcs = tuple((int(k) // n, int(k) % n) for k in order[: split.sum()])
        return self._found(columns, shares, rng), arcs

    def _found(self, columns: Positions, shares: Floats, rng: Generator) -> Clusters:
        """Return clusters violated half way to the best choice; if they are few, also those violated here."""
        n = self.lists.n
        most = min(MOST_LEAST, int(np.bitwise_count(self.lists.masks[columns]).sum(axis=1).max()))
        halves = np.append(columns, self.chosen), np.append(shares, np.ones(n)) / 2.0
        found = self._no_clusters[0]
        for at, weights in (halves, (columns, shares)):
            for least in range(1, most + 1):
                found = found.and_also(self._violated(at, weights, least, rng))
            if len(found) >= ENOUGH_CUTS * n:
                break
        return found.distinct()

    def _violated(self, columns: Positions, shares: Floats, least: int, rng: Generator) -> Clusters:
        """Return clusters with a sum below ``least``, the most violated that are not too alike."""
        n = self.lists.n
        bits = unpack(self.lists.masks[columns], n)
        at, parents = np.nonzero(bits)
        own = self.children[columns]
        pointers = np.searchsorted(at, np.arange(len(columns) + 1))
        starts = rng.random((RANDOM_STARTS, n)) < np.linspace(0.1, 0.6, RANDOM_STARTS)[:, None]
        if least == 1:
            mass = np.zeros((n, n))
            np.add.at(mass, (parents, own[at]), shares[at])
            starts = np.concatenate([cycles(mass), starts])
        else:
            families = bits.copy()
            families[np.arange(len(own)), own] = True
            starts = np.concatenate([families, ~np.eye(n + 1, n, dtype=np.bool_), starts])
        found, sums = violated_clusters(n, own, shares, pointers, parents, least, starts, SLACK, STEPS, MOST_FOUND)
        sizes = found.sum(axis=1)
        kept: list[int] = []
        rows = found.astype(np.float64)
        for k in np.lexsort((sizes, sums)).tolist():
            common = rows[kept] @ rows[k]
            if not np.any(common > ALIKE * (sizes[kept] + sizes[k] - common)):
                kept.append(k)
                if len(kept) == NEW_CUTS:
                    break
        return Clusters(pack(found[kept]), np.full(len(kept), least))
