"""Dynamic programming over all feature sets, for scores without set scores: every family is scored separately."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial
from math import comb, prod
from typing import Self

import numpy as np
import numpy.typing as npt

from anbexact._kernels.families import best_totals, count_children, refine
from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks
from anbexact.scores import FamilyScore, Score
from anbexact.search.constraints import Constraints
from anbexact.search.exact.solution import Optimum, Stopped, first_optimum, tie_tolerance
from anbexact.tables.table import DiscreteTable

MOST_FEATURES_UNLIMITED = 16
"""Maximum number of features for which all families (half a million) may be scored."""
BATCH_CELLS = 1 << 20
"""Number of counts that are scored together, unless a single family has more."""
Groups = npt.NDArray[np.int64]


def family_memory(table: DiscreteTable, max_parents: int, threads: int) -> int:
    """Return the bytes that :func:`solve_families` needs for the scores of all families and the counts in use."""
    arities = sorted(table.shape(table.vocabulary.features), reverse=True)
    n = len(arities)
    configurations = min(len(table.weights), prod(arities[:max_parents]))
    n_classes = prod(table.shape(table.vocabulary.common_parents))
    at_work = max(BATCH_CELLS, n_classes * configurations * arities[0])
    return (16 * n << max(n - 1, 0)) + (8 << n) + 48 * threads * at_work + 100_000_000


def solve_families(
    table: DiscreteTable,
    score: Score,
    constraints: Constraints,
    threads: int,
    deadline: Deadline,
    progress: Progress | None,
) -> Optimum | Stopped:
    """Return the best feature parents by any decomposable score; see :func:`~anbexact.learn_anb`."""
    families = _Families.scored(table, score, constraints, threads, deadline, progress)
    if families.stopped:
        return Stopped(families.bound(), 0)
    n = len(families.features)
    sets = n * sum(comb(n - 1, k) for k in range(min(constraints.max_parents, n - 1) + 1))
    best = families.scores.copy()
    for b in range(n - 1):
        halves = best.reshape(n, -1, 2, 1 << b)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    totals = best_totals(best)
    return Optimum(
        float(totals[-1]), sets, lambda rounding: families.read_back(totals, tie_tolerance(table, rounding))
    )


def family_scores(
    table: DiscreteTable,
    score: Score,
    constraints: Constraints,
    threads: int,
    deadline: Deadline,
    progress: Progress | None,
) -> Floats | None:
    """Return the local scores of all families by any decomposable score, in nats; None when time ran out.

    Shape (n, 2**(n - 1)). Bit b of a mask stands for the b-th feature; ``[i, s]`` is the score of feature i with the
    parents whose mask without bit i is s, and minus infinity where the constraints do not admit them.
    """
    families = _Families.scored(table, score, constraints, threads, deadline, progress)
    return None if families.stopped else families.scores


class _Families:
    """The local scores of all families; bit b of a mask stands for the b-th feature.

    ``scores[i, s]`` is the score of feature i with the parents whose mask without bit i is s, or -inf if the
    constraints do not admit it.
    """

    def __init__(self, table: DiscreteTable, score: Score, constraints: Constraints, deadline: Deadline) -> None:
        self.table, self.score, self.constraints, self.deadline = table, score, constraints, deadline
        self.stopped = False
        self.features = table.vocabulary.features
        self.common = table.vocabulary.common_parents
        self.n_classes = prod(table.shape(self.common))
        self.class_codes = (
            table.column(*self.common).astype(np.int64) if self.common else np.zeros(len(table.codes), int)
        )
        self.codes = np.stack([table.column(name) for name in self.features])
        self.arities = np.array(table.shape(self.features))
        n = len(self.features)
        self.scores: Floats = np.full((n, 1 << (n - 1)), -np.inf)

    @classmethod
    def scored(
        cls,
        table: DiscreteTable,
        score: Score,
        constraints: Constraints,
        threads: int,
        deadline: Deadline,
        progress: Progress | None,
    ) -> Self:
        """Return all families with their scores; if time ran out, they are ``stopped``."""
        families = cls(table, score, constraints, deadline)
        first = min(len(families.features), 6)
        tasks = (partial(families.score_above, prefix, first) for prefix in range(1 << first))
        if not run_tasks(tasks, 1 << first, threads, deadline, "family scores", progress):
            families.stopped = True
        return families

    def score_above(self, prefix: int, decided: int) -> None:
        """Score the families whose parents, among the first ``decided`` features, are ``prefix``."""
        chosen = [b for b in range(decided) if prefix >> b & 1]
        if len(chosen) <= self.constraints.max_parents:
            configuration = np.zeros(len(self.class_codes), dtype=np.int64)
            self._walk(chosen, decided, *self._refined(configuration, 1, chosen))

    def _refined(self, configuration: Groups, count: int, chosen: list[int]) -> tuple[Groups, int]:
        for b in chosen:
            configuration, count = refine(configuration, count, self.codes[b], int(self.arities[b]))
        return configuration, count

    def _walk(self, chosen: list[int], decided: int, configuration: Groups, count: int) -> None:
        if self.deadline.passed:
            self.stopped = True
            return
        self._score(chosen, configuration, count)
        if len(chosen) == self.constraints.max_parents:
            return
        for b in range(decided, len(self.features)):
            self._walk([*chosen, b], b + 1, *self._refined(configuration, count, [b]))

    def _score(self, chosen: list[int], configuration: Groups, count: int) -> None:
        """Score all children that may have exactly these parents."""
        mask = sum(1 << b for b in chosen)
        names = [self.features[b] for b in chosen]
        parents = [*self.common, *names]
        children = [
            b for b, child in enumerate(self.features) if not mask >> b & 1 and self.constraints.admits(child, names)
        ]
        if not isinstance(self.score, FamilyScore):
            for b in children:
                self.scores[b, place_of(mask, b)] = self.score.local_score(self.table, self.features[b], parents)
            return
        arities = self.table.shape(parents)
        for arity in sorted({int(self.arities[b]) for b in children}):
            alike = [b for b in children if self.arities[b] == arity]
            step = max(1, BATCH_CELLS // (self.n_classes * count * arity))
            for k in range(0, len(alike), step):
                batch = alike[k : k + step]
                counts = count_children(
                    configuration,
                    count,
                    self.class_codes,
                    self.n_classes,
                    self.codes[batch],
                    arity,
                    self.table.weights,
                )
                found = self.score.family_scores(counts, arities)
                for b, value in zip(batch, found.tolist(), strict=True):
                    self.scores[b, place_of(mask, b)] = value

    def bound(self) -> float:
        """Return an upper bound on the total, infinite if the score does not offer a bound."""
        upper_bound = getattr(self.score, "local_upper_bound", None)
        return float("inf") if upper_bound is None else sum(upper_bound(self.table, child) for child in self.features)

    def read_back(self, totals: Floats, tolerance: float) -> dict[Hashable, tuple[Hashable, ...]]:
        """Return the feature parents in an optimal structure, ties broken as :func:`~anbexact.learn_anb` says."""
        n = len(self.features)
        compressed = np.arange(1 << (n - 1))

        def sinks(members: int) -> Iterator[tuple[int, tuple[int, ...]]]:
            for b in range(n):
                if members >> b & 1:
                    rest = members & ~(1 << b)
                    within = compressed & ~place_of(rest, b) == 0
                    reached = self.scores[b] >= totals[members] - totals[rest] - tolerance
                    for s in np.flatnonzero(within & reached).tolist():
                        yield b, tuple(p for p in range(n) if mask_at(s, b) >> p & 1)

        chosen = first_optimum((1 << n) - 1, sinks)
        return {self.features[b]: tuple(self.features[p] for p in places) for b, places in chosen.items()}


def place_of(mask: int, i: int) -> int:
    """Return the place of a set without variable i among all such sets: its mask without bit i."""
    return (mask >> (i + 1) << i) | (mask & ((1 << i) - 1))


def mask_at(place: int, i: int) -> int:
    """Return the mask of the set of this place among those without variable i."""
    return (place >> i << (i + 1)) | (place & ((1 << i) - 1))
