"""Ties between equally good choices of listed parent sets, broken by the rule of all exact searches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import fsum, inf

import numpy as np
import numpy.typing as npt

from anbexact._runtime.deadline import Deadline
from anbexact.search.exact.branch_and_cut import solve_lists
from anbexact.search.exact.parent_sets import ParentSets, pack, unpack
from anbexact.search.exact.solution import Parents, first_optimum, precedence

MOST_SETS = 20_000
"""Maximum number of parent sets among which ties are broken; beyond, the choice found first is kept."""
MOST_NODES = 100
"""Maximum number of branches that are bounded to break ties; beyond, the choice found first is kept."""


def first_choice(
    lists: Sequence[ParentSets],
    chosen: Sequence[int],
    kept: Sequence[npt.NDArray[np.int64]],
    copies: Iterable[Sequence[int]],
    tie: float,
    tolerance: float,
    deadline: Deadline,
    threads: int,
) -> dict[int, Parents] | None:
    """Return the parents in the optimal choice that the rule prefers; None if this takes too much work.

    Parameters
    ----------
    lists : sequence of ParentSets
        Of every feature.
    chosen : sequence of int
        An optimal choice: positions in the lists.
    kept : sequence of arrays
        Positions of the sets that can be part of an optimal choice.
    copies : iterable of sequences of features
        Features that can be exchanged, although the lists contain only some of the resulting sets.
    tie : float
        Nats by which equal scores may differ.
    tolerance : float
        See :func:`~anbexact.search.exact.branch_and_cut.solve_lists`.
    """
    n = len(lists)
    options: list[dict[int, float]] = [{} for _ in range(n)]
    count = 0
    groups = [tuple(group) for group in copies]
    for i, (own, places) in enumerate(zip(lists, kept, strict=True)):
        rows = unpack(own.masks[places], n)
        for row, score in zip(rows, own.scores[places].tolist(), strict=True):
            for child, mask in _images(i, np.flatnonzero(row).tolist(), groups):
                count += 1
                if count > MOST_SETS:
                    return None
                options[child][mask] = max(score, options[child].get(mask, -inf))
    found = [sum(1 << b for b in np.flatnonzero(unpack(own.masks[k : k + 1], n)[0]).tolist())
             for own, k in zip(lists, chosen, strict=True)]  # fmt: skip
    reading = _Reading(options, found, tie, tolerance, deadline, threads)
    try:
        return first_optimum(n, reading.sinks)
    except _TooMuchError:
        return None


def _images(child: int, parents: Sequence[int], groups: Sequence[Sequence[int]]) -> Iterable[tuple[int, int]]:
    """Return the family, parents as a mask, under all exchanges of copies."""
    touched = [group for group in groups if child in group or not set(group).isdisjoint(parents)]
    rest = sum(1 << b for b in parents if not any(b in group for group in touched))
    images = next((group for group in touched if child in group), (child,))
    for image in images:
        ways = [
            combinations([b for b in group if b != image], len(set(group).intersection(parents))) for group in touched
        ]
        for members in product(*ways):
            yield image, rest | sum(1 << b for own in members for b in own)


class _TooMuchError(Exception):
    """The limits of the work, or the time, were reached."""


@dataclass(frozen=True)
class _Set:
    """A parent set: mask, members, and score."""

    mask: int
    parents: Parents
    score: float


class _Reading:
    """An optimal choice among listed sets, read back according to the rule.

    ``witness`` is an optimal choice over the remaining features.
    """

    def __init__(
        self,
        options: Sequence[dict[int, float]],
        found: Sequence[int],
        tie: float,
        tolerance: float,
        deadline: Deadline,
        threads: int,
    ) -> None:
        self.n = len(options)
        self.options = [
            sorted(
                (_Set(mask, tuple(b for b in range(self.n) if mask >> b & 1), score) for mask, score in own.items()),
                key=lambda one, child=i: precedence(child, one.parents),  # type: ignore[misc]  # the loop's i
            )
            for i, own in enumerate(options)
        ]
        self.tie, self.tolerance, self.deadline, self.threads = tie, tolerance, deadline, threads
        self.witness = {i: next(one for one in own if one.mask == found[i]) for i, own in enumerate(self.options)}
        self.never: set[int] = set()
        self.others: dict[int, dict[int, _Set]] = {}
        self.nodes = 0

    def sinks(self, members: int) -> Iterable[tuple[int, Parents]]:
        """Return the last feature that the rule chooses, with its parents; see :func:`first_optimum`.

        A feature is compared with others by the first set that it could have if acyclic choices reached the sum of
        the highest scores; the best acyclic choice without it is only computed if it could win then.
        """
        total = fsum(one.score for one in self.witness.values())
        highest = {i: self._best(i, members) for i in self.witness}
        above = fsum(one.score for one in highest.values())
        hopes = []
        for b in self.witness:
            if b in self.never:
                continue
            rest = members & ~(1 << b)
            loss = sum(one.score - self._score(i, rest) for i, one in highest.items() if i != b and one.mask >> b & 1)
            bound = above - highest[b].score - loss
            first = self._first(b, rest, total - bound - self.tie)
            if first is None:
                self.never.add(b)
            else:
                hopes.append((precedence(b, first.parents), b, rest))
        best, winner = None, -1
        for hope, b, rest in sorted(hopes):
            if best is not None and hope >= precedence(winner, best.parents):
                break
            own = self._first(b, rest, total - self._total(b, rest, above - total + 1.0) - self.tie)
            if own is None:
                self.never.add(b)
            elif best is None or precedence(b, own.parents) < precedence(winner, best.parents):
                best, winner = own, b
        assert best is not None
        self._remove(winner, best)
        return [(winner, best.parents)]

    def _remove(self, feature: int, own: _Set) -> None:
        """Remove a feature. Others that could not be last can be last now only if they are parents of this one."""
        self.witness = self.others[feature]
        self.others = {}
        self.never -= {feature, *own.parents}
        self.options = [[one for one in sets if not one.mask >> feature & 1] for sets in self.options]

    def _total(self, b: int, rest: int, penalty: float) -> float:
        """Return the highest total over all features but b, and keep the choice."""
        if not any(one.mask >> b & 1 for one in self.witness.values()):  # b is last in an optimal choice
            self.others[b] = {i: one for i, one in self.witness.items() if i != b}
        else:
            self.others[b] = self._solved(rest, penalty)
        return fsum(one.score for one in self.others[b].values())

    def _solved(self, members: int, penalty: float) -> dict[int, _Set]:
        """Return an optimal choice over some features, the others not being parents.

        The empty parent set, at a penalty, is added to every list, so that there is an acyclic choice.
        """
        if self.deadline.passed:
            raise _TooMuchError
        features = [i for i in self.witness if members >> i & 1]
        own = []
        for i in features:
            sets = self._within(i, members)
            lowest = max(one.score for one in self.options[i]) - penalty
            own.append(sorted([*sets, _Set(0, (), lowest)], key=lambda one: -one.score))
        lists = []
        for sets in own:
            inside = np.array([[bool(one.mask >> b & 1) for b in features] for one in sets], dtype=np.bool_)
            scores = np.array([one.score for one in sets])
            lists.append(ParentSets(pack(inside.reshape(len(sets), len(features))), scores, 0, "", -inf))
        choice = solve_lists(
            lists, features, self.tolerance, self.deadline, None, threads=self.threads,
            most_nodes=MOST_NODES - self.nodes,
        )  # fmt: skip
        self.nodes += choice.nodes
        if choice.bound - choice.total > self.tolerance or self.nodes > MOST_NODES:
            raise _TooMuchError
        return {i: sets[k] for i, sets, k in zip(features, own, choice.chosen, strict=True)}

    def _within(self, i: int, members: int) -> list[_Set]:
        return [one for one in self.options[i] if not one.mask & ~members]

    def _best(self, i: int, members: int) -> _Set:
        return max(self._within(i, members), key=lambda one: one.score)

    def _score(self, i: int, members: int) -> float:
        """Return the highest score of a set within some features; -inf if there is none."""
        return max((one.score for one in self._within(i, members)), default=-inf)

    def _first(self, b: int, members: int, least: float) -> _Set | None:
        """Return the first set, according to the rule, within some features that has this score."""
        return next((one for one in self._within(b, members) if one.score >= least), None)
