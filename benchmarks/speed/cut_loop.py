"""The exact search as an integer programme, solved anew until its choice of parent sets is acyclic: by HiGHS."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_matrix, csr_matrix, vstack
from scipy.sparse.csgraph import connected_components

from anbexact import DiscreteTable
from anbexact.scores import BoundedScore
from anbexact.search.exact.parent_sets import unpack
from benchmarks.harness.inner import parent_set_lists

FEW_CUTS = 60
"""Inequalities added in a round."""


class CutLoop:
    """Integer programme over candidate lists: one set for every feature, cluster inequalities added as violated."""

    def __init__(self, table: DiscreteTable, score: BoundedScore, most: int | None, limit: float) -> None:
        features = table.vocabulary.features
        self.features, self.n = features, len(features)
        self.deadline = perf_counter() + limit
        found = parent_set_lists(table, score, most, limit=limit)
        self.complete = all(own.complete for own in found.lists)
        self.members = np.concatenate([unpack(own.masks, self.n) for own in found.lists])
        self.scores = np.concatenate([own.scores for own in found.lists])
        self.owner = np.repeat(np.arange(self.n), [len(own.scores) for own in found.lists])
        columns = np.arange(len(self.owner))
        self.one_each = csr_matrix((np.ones(len(columns)), (self.owner, columns)), shape=(self.n, len(columns)))
        self.cuts = csr_matrix((0, len(columns)))
        self.known: set[bytes] = set()
        self.rounds = 0

    @property
    def left(self) -> float:
        """Seconds."""
        return self.deadline - perf_counter()

    def add(self, clusters: list[np.ndarray]) -> bool:
        """Add the inequalities of new clusters; say whether there were any."""
        fresh = []
        for cluster in clusters:
            if cluster.tobytes() not in self.known:
                self.known.add(cluster.tobytes())
                fresh.append(cluster[self.owner] & ~self.members[:, cluster].any(axis=1))
        if fresh:
            self.cuts = vstack([self.cuts, csr_matrix(np.array(fresh, dtype=float))]).tocsr()
        return bool(fresh)

    def violated(self, x: np.ndarray) -> list[np.ndarray]:
        """Grow clusters from every feature, one member at a time, to the least left side; return those below 1."""
        held = np.flatnonzero(x > 1e-9)
        own, within, weight = self.owner[held], self.members[held], x[held]
        found = []
        for first in range(self.n):
            cluster = np.zeros(self.n, dtype=bool)
            cluster[first] = True
            hit = within[:, first].copy()
            for _ in range(self.n - 1):
                free = ~hit[:, None] & ~within
                counted = cluster[own][:, None] | (own[:, None] == np.arange(self.n))
                sides = np.where(cluster, np.inf, weight @ (free & counted))
                best = int(sides.argmin())
                cluster[best] = True
                hit |= within[:, best]
                if sides[best] < 1 - 1e-4:
                    found.append((sides[best], cluster.copy()))
                    break
        found.sort(key=lambda pair: pair[0])
        return [cluster for _, cluster in found[:FEW_CUTS]]

    def relax(self) -> np.ndarray:
        """Solve the relaxation, with the inequalities known so far."""
        rest = {"A_ub": -self.cuts, "b_ub": -np.ones(self.cuts.shape[0])} if self.cuts.shape[0] else {}
        found = linprog(
            -self.scores, A_eq=self.one_each, b_eq=np.ones(self.n), bounds=(0, 1), method="highs",
            options={"time_limit": max(self.left, 0.01)}, **rest,
        )  # fmt: skip
        if found.x is None:
            raise TimeoutError
        self.bound = min(self.bound, -float(found.fun))
        return found.x

    def choose(self) -> np.ndarray:
        """Solve the integer programme, with the inequalities known so far."""
        rules = [LinearConstraint(self.one_each, 1, 1)]
        if self.cuts.shape[0]:
            rules.append(LinearConstraint(self.cuts, lb=1))
        found = milp(
            -self.scores, integrality=np.ones(len(self.scores)), bounds=Bounds(0, 1), constraints=rules,
            options={"time_limit": max(self.left, 0.01), "mip_rel_gap": 0.0},
        )  # fmt: skip
        if found.mip_dual_bound is not None:
            self.bound = min(self.bound, -float(found.mip_dual_bound))
        if found.status != 0:
            raise TimeoutError
        return found.x

    def cycles(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the strongly connected components of a choice that have two features or more."""
        held = np.flatnonzero(x > 0.5)
        child, parent = np.repeat(self.owner[held], self.members[held].sum(axis=1)), np.nonzero(self.members[held])[1]
        graph = coo_matrix((np.ones(len(child)), (child, parent)), shape=(self.n, self.n))
        _, labels = connected_components(graph, connection="strong")
        return [labels == label for label in np.flatnonzero(np.bincount(labels) > 1)]

    def in_order(self) -> np.ndarray:
        """Return an acyclic choice: feature after feature, that which loses least by what is placed so far."""
        first = np.searchsorted(self.owner, np.arange(self.n))
        placed = np.zeros(self.n, dtype=bool)
        x = np.zeros(len(self.owner))
        for _ in range(self.n):
            inside = ~(self.members & ~placed).any(axis=1)
            best = np.array([first[i] + int(inside[self.owner == i].argmax()) for i in range(self.n)])
            loss = np.where(placed, np.inf, self.scores[first] - self.scores[best])
            child = int(loss.argmin())
            x[best[child]] = 1.0
            placed[child] = True
        return x

    def run(self) -> np.ndarray:
        """Return the best acyclic choice known when the work ends; ``bound`` bounds all of them."""
        self.bound = np.inf
        try:
            x = self.relax()
            while self.add(self.violated(x)):
                self.rounds += 1
                x = self.relax()
            while True:
                self.rounds += 1
                x = self.choose()
                clusters = self.cycles(x)
                if not clusters:
                    return x
                self.add(clusters + self.violated(x))
        except TimeoutError:
            return self.in_order()
