"""Parent-set lists by plain enumeration, for scores that cannot tell when further parents do not help."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import chain, combinations
from math import comb, inf

import numpy as np

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.memory import SearchTooLargeError
from anbexact._runtime.progress import Progress
from anbexact._runtime.units import counted, human_bytes
from anbexact.scores import Score
from anbexact.search.constraints import Constraints
from anbexact.search.exact.parent_sets import ListMeans, ParentSets, pack
from anbexact.search.scoring.pair_scores import FamilyScorer
from anbexact.search.scoring.set_scores import n_sets
from anbexact.tables.counted.counted_table import CountedTable
from anbexact.tables.table import DiscreteTable

FAMILY_BYTES = 80
"""Memory per variable of a family while the family is scored."""


class EnumeratedLists:
    """The parent sets of all features that score higher than all their subsets, up to the maximum number of parents.

    Attributes
    ----------
    limit : str
        The reason why the lists ended early; empty if they are complete.
    scored : int
        Number of families that were scored.
    copies : tuple
        Empty: all sets of copies are listed, too; see :class:`~anbexact.search.exact.candidates.Candidates`.
    """

    copies: tuple[list[int], ...] = ()

    def __init__(self, table: DiscreteTable, score: Score, constraints: Constraints, threads: int) -> None:
        self._scorer = FamilyScorer(table, score, threads, Deadline())
        position = {name: k for k, name in enumerate(table.vocabulary.names)}
        place = {position[name]: k for k, name in enumerate(table.vocabulary.features)}
        self._children = [_Child(position, place, constraints, name) for name in table.vocabulary.features]
        self._most = constraints.max_parents
        self.limit = ""
        self.scored = 0
        self._size = 0

    @property
    def largest(self) -> int | None:
        """Feature parents up to which every admitted set is listed, or dominated by a listed subset.

        None if this holds for any number of parents.
        """
        return self._size - 1 if self.limit else None

    @property
    def lists(self) -> tuple[ParentSets, ...]:
        """One for every feature, in table order."""
        bounded = self.limit and not isinstance(self._scorer.table, CountedTable)  # a bound needs the rows
        bound = getattr(self._scorer.score, "local_upper_bound", None) if bounded else None
        return tuple(child.parent_sets(self._scorer, self.limit, bound) for child in self._children)

    def extend(
        self, deadline: Deadline, *, most_sets: float, largest: int | None = None, progress: Progress | None
    ) -> bool:
        """Continue the lists until they are complete or a limit is reached; return whether a size was completed."""
        self._scorer = FamilyScorer(self._scorer.table, self._scorer.score, self._scorer.threads, deadline)
        began = self._size
        self.limit = ""
        while self._size <= self._most and not self.limit:
            if largest is not None and self._size > largest:
                self.limit = "not requested"
            elif self.scored + sum(child.n_sets(self._size) for child in self._children) > most_sets:
                self.limit = f"there are more than {most_sets:,.0f} to score"
            elif not self._score(self._size, progress):
                self.limit = "interrupt" if deadline.interrupted else "time_limit"
            else:
                self._size += 1
        return self._size > began

    def _score(self, size: int, progress: Progress | None) -> bool:
        """Score all sets with this number of parents; return whether there was enough time."""
        found: list[tuple[_Child, int, Floats]] = []
        for width in sorted({len(child.required) for child in self._children}):
            own = [child for child in self._children if len(child.required) == width]
            parents = [child.parents_of_size(size - width) for child in own]
            children = np.repeat([child.position for child in own], [len(sets) for sets in parents])
            scores = self._scorer.local_scores(
                children, np.concatenate(parents), f"parent sets of {size} features", progress
            )
            if scores is None:
                return False
            ends = np.cumsum([len(sets) for sets in parents])
            shares = np.split(scores, ends[:-1])
            found += [(child, size - width, of_child) for child, of_child in zip(own, shares, strict=True)]
        for child, extra, of_child in found:  # all or none, because an unfinished size is scored again
            child.add(extra, of_child)
            self.scored += len(of_child)
        return True


class _Child:
    """The parent sets of one feature: the required parents, joined by some of the free ones."""

    def __init__(
        self,
        position: Mapping[Hashable, int],
        place: Mapping[int, int],
        constraints: Constraints,
        name: Hashable,
    ) -> None:
        self.name = name
        required = {position[v] for v in constraints.required[name]}
        barred = {position[name], *required, *(position[v] for v in constraints.forbidden[name])}
        self.position = position[name]
        self.required = np.array([v for v in place if v in required], np.int64)
        self.free = np.array([v for v in place if v not in barred], np.int64)
        self._place = place
        self._best = np.empty(0)
        self._kept: list[tuple[Positions, Floats]] = []
        self._scored = 0

    def n_sets(self, size: int) -> int:
        """Return the number of admitted sets with this number of parents, including the required ones."""
        extra = size - len(self.required)
        return comb(len(self.free), extra) if extra >= 0 else 0

    def parents_of_size(self, size: int) -> Positions:
        """Return the sets of the required parents and this number of free ones, ascending, shape (sets, parents)."""
        free = np.empty((0, 0), np.int64) if size < 0 else self.free[subsets(len(self.free), size)]
        joined = np.concatenate([np.tile(self.required, (len(free), 1)), free], axis=1)
        return np.sort(joined, axis=1)

    def add(self, size: int, scores: Floats) -> None:
        """Keep the sets with this number of free parents that score higher than all their subsets."""
        if size < 0 or len(scores) == 0:
            return
        if np.isnan(scores).any() or (scores == inf).any() or (size == 0 and scores[0] == -inf):
            raise ValueError(f"a score of {self.name!r} given its parents is not a finite number")
        below = np.full(len(scores), -inf)
        sets = subsets(len(self.free), size)
        for k in range(size):
            rest = np.delete(sets, k, axis=1)
            np.maximum(below, self._best[ranks(rest, len(self.free))], out=below)
        higher = scores > below
        self._kept.append((self.parents_of_size(size)[higher], scores[higher]))
        self._best = np.maximum(scores, below)
        self._scored += len(scores)

    def parent_sets(self, scorer: FamilyScorer, limit: str, bound: object) -> ParentSets:
        """Return the list; until something is scored, it contains only the required parents."""
        kept = self._kept
        if not kept:
            names = [scorer.names[v] for v in (*scorer.common, *self.required)]
            kept = [(self.required[None], np.array([scorer.score.local_score(scorer.table, self.name, names)]))]
        members = np.zeros((sum(len(scores) for _, scores in kept), len(self._place)), dtype=np.bool_)
        first = 0
        for parents, _ in kept:
            places = np.array([self._place[v] for v in parents.ravel().tolist()], np.int64).reshape(parents.shape)
            members[np.arange(first, first + len(parents))[:, None], places] = True
            first += len(parents)
        scores = np.concatenate([scores for _, scores in kept])
        order = np.argsort(-scores, kind="stable")
        beyond = -inf
        if limit:
            beyond = bound(scorer.table, self.name) if callable(bound) else inf
        return ParentSets(pack(members[order]), scores[order], self._scored, limit, beyond)


def enumerated_families(n: int, max_parents: int) -> int:
    """Return the number of families of n features with up to ``max_parents`` parents."""
    return n * n_sets(n - 1, max_parents)


def enumerated_lists(
    table: DiscreteTable,
    score: Score,
    constraints: Constraints,
    means: ListMeans,
    *,
    largest: int | None = None,
) -> EnumeratedLists:
    """Return the parent sets of all features that score higher than all their subsets: every family is scored.

    O(n C(n - 1, k)) families for n features with up to k parents; memory is needed for the families of one size at a
    time.

    Raises
    ------
    SearchTooLargeError
        Before anything is scored, when the memory does not suffice.
    """
    n, most = len(table.vocabulary.features), constraints.max_parents
    needed = FAMILY_BYTES * n * max((k + 2) * comb(n - 1, k) for k in range(most + 1))
    if needed > means.memory:
        raise SearchTooLargeError(
            f"scoring all families of {n} features with at most {counted(most, 'parent')} needs "
            f"{human_bytes(needed)}; {human_bytes(means.memory)} is available: lower max_parents, or select features "
            "first"
        )
    lists = EnumeratedLists(table, score, constraints, means.threads)
    lists.extend(means.deadline, most_sets=means.most_sets, largest=largest, progress=means.progress)
    return lists


def subsets(n: int, size: int) -> Positions:
    """Return all subsets of range(n) of a size in lexicographic order, shape (subsets, size)."""
    flat = np.fromiter(chain.from_iterable(combinations(range(n), size)), np.int64, comb(n, size) * size)
    return flat.reshape(comb(n, size), size)


def ranks(sets: Positions, n: int) -> Positions:
    """Return the places of ascending subsets of range(n) among :func:`subsets` of their size."""
    size = sets.shape[1]
    choose = np.array([[comb(m, k) for k in range(size + 1)] for m in range(n + 1)], dtype=np.int64)
    place = np.full(len(sets), comb(n, size) - 1, dtype=np.int64)
    for k in range(size):
        place -= choose[n - 1 - sets[:, k], size - k]
    return place
