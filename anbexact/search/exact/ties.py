"""Ties between equally good choices of listed parent sets, broken by the rule of all exact searches."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, combinations, pairwise, product
from math import fsum, inf
from operator import or_

import numpy as np

from anbexact._runtime.deadline import Deadline
from anbexact.search.exact.branch_and_cut import Choice, solve_lists
from anbexact.search.exact.parent_sets import Lists, ParentSets, pack, unpack
from anbexact.search.exact.simple_components import best_branching, have_single_parents
from anbexact.search.exact.solution import Parents, first_optimum, precedence
from anbexact.search.exact.tight_choices import TightCase, UndecidedError, tight_cases, tight_choice

MOST_SETS = 20_000
"""Maximum number of parent sets among which ties are broken; beyond, the choice found first is kept."""
MOST_NODES = 100
"""Maximum number of branches that are bounded to break ties; beyond, the choice found first is kept."""


def first_choice(
    lists: Sequence[ParentSets],
    names: Sequence[Hashable],
    choice: Choice,
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
        The lists of all features.
    names : sequence of features
        Their names in the proof of the choice.
    choice : Choice
        An optimal choice, and the proof that it is one.
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
    for i, (own, places) in enumerate(zip(lists, choice.kept(), strict=True)):
        rows = unpack(own.masks[places], n)
        for row, score in zip(rows, own.scores[places].tolist(), strict=True):
            for child, mask in _images(i, np.flatnonzero(row).tolist(), groups):
                count += 1
                if count > MOST_SETS:
                    return None
                options[child][mask] = max(score, options[child].get(mask, -inf))
    found = [sum(1 << b for b in np.flatnonzero(unpack(own.masks[k : k + 1], n)[0]).tolist())
             for own, k in zip(lists, choice.chosen, strict=True)]  # fmt: skip
    place = {name: i for i, name in enumerate(names)}
    slack = tolerance + (n + 1) * tie
    copied = sum(1 << i for i in chain.from_iterable(groups))
    first: dict[int, Parents] = {}
    nodes = 0
    try:
        for members in _independent(options):
            inside = sum(1 << i for i in members)
            proof = [] if inside & copied else tight_cases(choice.components, place, inside, options, slack)
            breaker = _TieBreaker(members, options, found, proof, tie, tolerance, deadline, threads, nodes)
            first |= first_optimum(inside, breaker.sinks)
            nodes = breaker.nodes
    except _TooMuchError:
        return None
    return first


def _independent(options: Sequence[Iterable[int]]) -> list[list[int]]:
    """Return groups of features without possible arcs between them, in each of which the rule chooses by itself."""
    joined: list[int] = []
    for i, masks in enumerate(options):
        group = reduce(or_, masks, 1 << i)
        touched = [other for other in joined if other & group]
        joined = [other for other in joined if not other & group] + [reduce(or_, touched, group)]
    return [[i for i in range(len(options)) if group >> i & 1] for group in joined]


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


class _TieBreaker:
    """The optimal choice that the tie rule prefers among listed sets of some features, found feature by feature.

    ``witness`` is an optimal choice over the remaining features, and ``options`` are their sets within these;
    ``removed`` contains the sets of the others. ``proof`` has the cases of the proof that the choice is optimal.
    """

    def __init__(
        self,
        features: Sequence[int],
        options: Sequence[dict[int, float]],
        found: Sequence[int],
        proof: Sequence[TightCase],
        tie: float,
        tolerance: float,
        deadline: Deadline,
        threads: int,
        nodes: int,
    ) -> None:
        self.options = {
            i: sorted(
                (_Set(mask, tuple(b for b in features if mask >> b & 1), one) for mask, one in options[i].items()),
                key=lambda one, child=i: precedence(child, one.parents),  # type: ignore[misc]  # the loop's i
            )
            for i in features
        }
        self.tie, self.tolerance, self.deadline, self.threads = tie, tolerance, deadline, threads
        self.witness = {i: next(one for one in own if one.mask == found[i]) for i, own in self.options.items()}
        self.proof = proof
        self.removed: dict[int, int] = {}
        self.never: set[int] = set()
        self.others: dict[int, dict[int, _Set]] = {}  # how the witness changes if a feature is left out
        self.needed: set[int] = set()  # the features that are parents in the witness
        self.nodes = nodes

    def sinks(self, members: int) -> Iterable[tuple[int, Parents]]:
        """Return the last feature that the rule chooses, with its parents; see :func:`first_optimum`.

        A feature is compared with others by the first set that it could have if acyclic choices reached the sum of
        the highest scores; the best acyclic choice without it is only computed if it could win then.
        """
        total = fsum(one.score for one in self.witness.values())
        self.needed = {b for one in self.witness.values() for b in one.parents}
        highest = {i: max(sets, key=lambda one: one.score) for i, sets in self.options.items()}
        above = fsum(one.score for one in highest.values())
        heirs: dict[int, list[int]] = {b: [] for b in self.witness}
        for i, one in highest.items():
            for b in one.parents:
                heirs[b].append(i)
        hopes = []
        for b in self.witness:
            if b in self.never:
                continue
            rest = members & ~(1 << b)
            loss = sum(highest[i].score - self._score(i, rest) for i in heirs[b])
            bound = above - highest[b].score - loss
            least = total - bound - self.tie
            first = self._first(b, rest, least)
            if first is None:
                self.never.add(b)
            else:
                hopes.append((precedence(b, first.parents), b, rest, least))
        best, winner = None, -1
        for hope, b, rest, least in sorted(hopes):
            if best is not None and hope >= precedence(winner, best.parents):
                break
            own = self._last(b, rest, least, above - total + 1.0)
            if own is None:
                self.never.add(b)
            elif best is None or precedence(b, own.parents) < precedence(winner, best.parents):
                best, winner = own, b
        assert best is not None
        self._remove(winner, best)
        return [(winner, best.parents)]

    def _remove(self, feature: int, own: _Set) -> None:
        """Remove a feature. Others that could not be last can be last now only if they are parents of this one."""
        self.witness |= self.others[feature]
        del self.witness[feature]
        self.removed[feature] = own.mask
        self.others = {}
        self.never -= {feature, *own.parents}
        del self.options[feature]
        for i, sets in self.options.items():
            self.options[i] = [one for one in sets if not one.mask >> feature & 1]

    def _last(self, b: int, rest: int, least: float, penalty: float) -> _Set | None:
        """Return the first set with which a feature is last in an optimal choice, and record how the witness changes.

        Sets with scores below ``least`` are known to be in no optimal choice. For ``penalty``, see :meth:`_solved`.
        """
        if b in self.needed and self.proof:
            try:
                return self._by_proof(b, rest, least)
            except UndecidedError:
                pass
        return self._first(b, rest, self._without(b, rest, penalty) - self.tie)

    def _by_proof(self, b: int, rest: int, least: float) -> _Set | None:
        """Return the result of :meth:`_last`, by the conditions that the proof implies for optimal choices."""
        possible = [one for one in self._within(b, rest) if one.score >= least]
        changed = self._reversed(b)
        if changed is not None and changed[b] in possible:
            possible = possible[: possible.index(changed[b])]
        earlier = self._tight(b, possible) if possible else None
        changed = changed if earlier is None else earlier
        if changed is None:
            return None
        self.others[b] = {i: one for i, one in changed.items() if i != b}
        return changed[b]

    def _tight(self, b: int, sets: Sequence[_Set]) -> dict[int, _Set] | None:
        """Return an optimal choice in which a feature is last, with the first possible of some sets, or None."""
        domains = {i: [mask] for i, mask in self.removed.items()}
        fewer = 1 << b
        for i, at in self.witness.items():
            masks = [one.mask for one in self.options[i] if one is not at and not one.mask >> b & 1]
            domains[i] = masks if at.mask >> b & 1 else [at.mask, *masks]
            if not domains[i]:
                return None
            fewer |= (len(domains[i]) < len(self.options[i])) << i
        domains[b] = [one.mask for one in sets]
        choice = tight_choice(self.proof, domains, b, sum(1 << i for i in self.removed) | 1 << b, fewer)
        if choice is None:
            return None
        found = {i: next(one for one in self.options[i] if one.mask == choice[i]) for i in self.witness}
        if not self._as_good(found):
            raise UndecidedError
        return found

    def _reversed(self, b: int) -> dict[int, _Set] | None:
        """Return the sets that change if the arcs from a feature are reversed in turn; None if that lowers the score.

        The arc b → i can be reversed if i has no parents but b and those of b.
        """
        changed = {b: self.witness[b]}
        below = sorted(
            (i for i, one in self.witness.items() if one.mask >> b & 1), key=lambda i: self.witness[i].mask
        )
        for i in below:
            own = changed[b].mask
            if self.witness[i].mask != own | 1 << b:
                return None
            for child, mask in ((i, own), (b, own | 1 << i)):
                other = next((one for one in self.options[child] if one.mask == mask), None)
                if other is None:
                    return None
                changed[child] = other
        return changed if self._as_good(changed) else None

    def _as_good(self, changed: Mapping[int, _Set]) -> bool:
        """Whether a change does not lower the score of the witness."""
        return fsum(one.score for one in changed.values()) >= fsum(self.witness[i].score for i in changed) - self.tie

    def _without(self, b: int, rest: int, penalty: float) -> float:
        """Return by how much the highest total falls if b is left out, and record what changes in the choice."""
        changed = self._solved(self._descendants(b), rest, penalty) if b in self.needed else {}
        self.others[b] = changed  # nothing changes if b is last in the witness
        return self.witness[b].score + fsum(self.witness[i].score - one.score for i, one in changed.items())

    def _descendants(self, b: int) -> list[int]:
        """Return the features whose parents may change if b is left out: those that can be reached from it."""
        reached, size = 1 << b, 0
        around = {i: reduce(or_, (one.mask for one in sets), 0) for i, sets in self.options.items()}
        while reached.bit_count() > size:
            size = reached.bit_count()
            for i, parents in around.items():
                if parents & reached:
                    reached |= 1 << i
        return [i for i in self.witness if i != b and reached >> i & 1]

    def _solved(self, features: Sequence[int], members: int, penalty: float) -> dict[int, _Set]:
        """Return an optimal choice for some features, from their sets within ``members``.

        No set of a member outside ``features`` contains one of these. The empty parent set is added to every list,
        with a penalty, so that there is an acyclic choice.
        """
        if self.deadline.passed:
            raise _TooMuchError
        place = {b: k for k, b in enumerate(features)}
        inner = sum(1 << b for b in features)
        own: list[list[_Set]] = []
        at: list[list[int]] = []
        for i in features:
            best = {0: _Set(0, (), max(one.score for one in self.options[i]) - penalty)}
            for one in self._within(i, members):
                among = one.mask & inner
                if among not in best or one.score > best[among].score:
                    best[among] = one
            sets = sorted(best.values(), key=lambda one: -one.score)
            at += [[place[b] for b in one.parents if b in place] for one in sets]
            own.append(sets)
        starts = np.cumsum([0, *map(len, own)])
        inside = np.zeros((len(at), len(features)), dtype=np.bool_)
        inside[np.repeat(np.arange(len(at)), list(map(len, at))), list(chain.from_iterable(at))] = True
        part = Lists(pack(inside), np.array([one.score for one in chain.from_iterable(own)]), starts)
        if have_single_parents(part):
            chosen = (best_branching(part).places - starts[:-1]).tolist()
        else:
            chosen = self._chosen(part, features)
        return {i: sets[k] for i, sets, k in zip(features, own, chosen, strict=True)}

    def _chosen(self, part: Lists, features: Sequence[int]) -> Sequence[int]:
        """Return the positions of an optimal choice in lists where some sets have several parents."""
        lists = [
            ParentSets(part.masks[first:last], part.scores[first:last], 0, "", -inf)
            for first, last in pairwise(part.starts.tolist())
        ]
        choice = solve_lists(
            lists, features, self.tolerance, self.deadline, None, threads=self.threads,
            most_nodes=MOST_NODES - self.nodes,
        )  # fmt: skip
        self.nodes += choice.nodes
        if choice.bound - choice.total > self.tolerance or self.nodes > MOST_NODES:
            raise _TooMuchError
        return choice.chosen

    def _within(self, i: int, members: int) -> list[_Set]:
        return [one for one in self.options[i] if not one.mask & ~members]

    def _score(self, i: int, members: int) -> float:
        """Return the highest score of a set within some features; -inf if there is none."""
        return max((one.score for one in self._within(i, members)), default=-inf)

    def _first(self, b: int, members: int, least: float) -> _Set | None:
        """Return the first set, according to the rule, within some features that has this score."""
        return next((one for one in self._within(b, members) if one.score >= least), None)
