"""Optimal choices of parent sets, found or excluded by the multipliers in a proof of optimality.

A choice has one parent set for every feature, and is acyclic.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

from anbexact.models.proof import Case, Component, Duals, Split

MOST_CASES = 50
"""Maximum number of combinations of cases that are tried."""
MOST_DECISIONS = 100
"""Maximum number of decisions in the search for one choice."""

Arc = tuple[int, int, bool]
"""A parent, a child, and whether the arc is present."""
Cluster = tuple[int, int]
"""A set of features as a bit mask, and the number k of its members that have fewer than k parents in it."""


class UndecidedError(Exception):
    """The search for a choice took too many decisions."""


@dataclass(frozen=True)
class TightCase:
    """A case of a proof, with conditions that hold for every optimal choice in this case.

    Attributes
    ----------
    arcs : tuple of Arc
        The arcs that are present or absent in this case.
    clusters : list of Cluster
        Clusters in which exactly k members have fewer than k parents. One more such member would cost the multiplier
        of the cluster, which is more than an optimal choice can lose. The clusters that last excluded a choice come
        first, because they often exclude the next one, too.
    """

    arcs: tuple[Arc, ...]
    clusters: list[Cluster]


def tight_cases(
    components: Iterable[Component],
    place: Mapping[Hashable, int],
    members: int,
    options: Sequence[Iterable[int]],
    slack: float,
) -> list[TightCase]:
    """Return cases for some features such that every optimal choice is in one of them.

    The result is empty if the proof yields no conditions.

    Parameters
    ----------
    components : iterable of Component
        The proof of the best total.
    place : mapping
        The numbers of the features.
    members : int
        These features, as a bit mask.
    options : sequence of iterables
        The parent sets of every feature, as bit masks, that can be part of an optimal choice. Cases in which a
        feature has none of them are left out.
    slack : float
        By how much the total of a choice that counts as optimal may be below the proved bound, in nats.
    """
    domains = {i: list(options[i]) for i in _bits(members)}
    found = [TightCase((), [])]
    for component in components:
        if sum(1 << place[name] for name in component.features) & ~members:
            continue
        leaves = [leaf for leaf in _leaves(component.case, place, slack) if _within(domains, leaf.arcs) is not None]
        if leaves and len(found) * len(leaves) <= MOST_CASES:
            found = [
                TightCase((*case.arcs, *leaf.arcs), [*case.clusters, *leaf.clusters])
                for case in found
                for leaf in leaves
            ]
    return found if any(case.clusters for case in found) else []


def _leaves(
    case: Case, place: Mapping[Hashable, int], slack: float, arcs: tuple[Arc, ...] = ()
) -> Iterator[TightCase]:
    if isinstance(case, Split):
        arc = place[case.parent], place[case.child]
        yield from _leaves(case.absent, place, slack, (*arcs, (*arc, False)))
        yield from _leaves(case.present, place, slack, (*arcs, (*arc, True)))
    elif isinstance(case, Duals):
        clusters = [
            (sum(1 << place[name] for name in names), least)
            for names, least, multiplier in case.clusters
            if multiplier > slack
        ]
        yield TightCase(arcs, sorted(clusters, key=lambda cluster: (cluster[0].bit_count(), cluster)))


def tight_choice(
    cases: Iterable[TightCase], domains: Mapping[int, Sequence[int]], feature: int, last: int, fewer: int
) -> dict[int, int] | None:
    """Return a choice that meets all conditions of a case, with the first possible set of a feature.

    The result maps every feature to its parent set; it is None if there is no such choice.

    Parameters
    ----------
    cases : iterable of TightCase
        The cases of the proof.
    domains : mapping
        Parent sets of every feature, as bit masks, in the order in which they are tried.
    feature : int
        The feature whose earliest possible set is sought.
    last : int
        The features, as a bit mask, that come last in an order of the choice. Only the sets of features among them
        contain them, and these sets are known to be acyclic.
    fewer : int
        The features, as a bit mask, from whose ``domains`` sets were excluded; what follows from this is derived.

    Raises
    ------
    UndecidedError
        If the search took more than `MOST_DECISIONS` decisions.
    """
    admitted = [(case, _within(domains, case.arcs)) for case in cases]
    left = [_Domains(own, case.clusters, last, fewer) for case, own in admitted if own is not None]
    decisions = [0]
    for mask in domains[feature]:
        for own in left:
            choice = own.having(feature, mask).solved(decisions) if mask in own.domains[feature] else None
            if choice is not None:
                return choice
    return None


def _within(domains: Mapping[int, Sequence[int]], arcs: Iterable[Arc]) -> dict[int, Sequence[int]] | None:
    """Return the sets that agree with arcs being present or absent; None if a feature has no such set."""
    admitted = dict(domains)
    for parent, child, present in arcs:
        admitted[child] = [mask for mask in admitted[child] if bool(mask >> parent & 1) == present]
        if present:
            admitted[parent] = [mask for mask in admitted[parent] if not mask >> child & 1]
        if not (admitted[child] and admitted[parent]):
            return None
    return admitted


class _Domains:
    """The parent sets that are left for every feature, and what follows from them.

    ``some`` has the parents of each feature that occur in any of its sets, and ``all`` those that occur in all.
    """

    def __init__(self, domains: dict[int, Sequence[int]], clusters: list[Cluster], last: int, fewer: int) -> None:
        self.clusters = clusters
        self.domains = domains
        self.some = {i: reduce(or_, masks) for i, masks in domains.items()}
        self.all = {i: reduce(and_, masks) for i, masks in domains.items()}
        self.before = dict.fromkeys((i for i in domains if not last >> i & 1), 0)
        """The features that are before a feature in every order."""
        self.changed = fewer

    def having(self, i: int, mask: int) -> _Domains:
        """Return a copy in which a feature has only one set."""
        other = copy(self)
        other.domains, other.some, other.all = self.domains.copy(), self.some.copy(), self.all.copy()
        other.before = self.before.copy()
        other._keep(i, [mask])
        return other

    def solved(self, decisions: list[int]) -> dict[int, int] | None:
        """Return one set for every feature that meets all conditions; None if there is no such choice."""
        if not self._propagated():
            return None
        open_ = [(len(masks), i) for i, masks in self.domains.items() if len(masks) > 1]
        if not open_:
            return {i: masks[0] for i, masks in self.domains.items()}
        decisions[0] += 1
        if decisions[0] > MOST_DECISIONS:
            raise UndecidedError
        i = min(open_)[1]
        for mask in self.domains[i]:
            found = self.having(i, mask).solved(decisions)
            if found is not None:
                return found
        return None

    def _keep(self, i: int, masks: Sequence[int]) -> bool:
        """Leave only some sets of a feature; return whether there are any."""
        if len(masks) < len(self.domains[i]):
            self.domains[i] = masks
            if not masks:
                return False
            self.some[i], self.all[i] = reduce(or_, masks), reduce(and_, masks)
            self.changed |= 1 << i
        return True

    def _propagated(self) -> bool:
        """Leave out sets that are in no choice until none is left to exclude; return whether a choice may remain."""
        while self.changed:
            changed, self.changed = self.changed, 0
            failed = next((one for one in self.clusters if one[0] & changed and not self._credited(*one)), None)
            if failed is not None:
                self.clusters.remove(failed)
                self.clusters.insert(0, failed)
                return False
            if not self.changed and not self._ordered():
                return False
        return True

    def _credited(self, cluster: int, least: int) -> bool:
        """Let exactly ``least`` members of a cluster have fewer than ``least`` parents in it.

        Return whether this is still possible.
        """
        sure, possible = 0, 0
        undecided = []
        for i in _bits(cluster):
            if (self.some[i] & cluster).bit_count() < least:
                sure += 1
            elif (self.all[i] & cluster).bit_count() < least and any(
                (mask & cluster).bit_count() < least for mask in self.domains[i]
            ):
                undecided.append(i)
        possible = sure + len(undecided)
        if not sure <= least <= possible:
            return False
        if sure == least or possible == least:
            for i in undecided:
                few = possible == least
                masks = [mask for mask in self.domains[i] if ((mask & cluster).bit_count() < least) == few]
                if not self._keep(i, masks):
                    return False
        return least > 1 or self._connected(cluster)

    def _connected(self, cluster: int) -> bool:
        """Whether possible arcs connect a cluster, as they must if all members but one have a parent in it."""
        around = {i: self.some[i] & cluster for i in _bits(cluster)}
        for i in tuple(around):
            for b in _bits(self.some[i] & cluster):
                around[b] |= 1 << i
        reached = front = cluster & -cluster
        while front:
            bit = front & -front
            new = around[bit.bit_length() - 1] & ~reached
            reached |= new
            front = front ^ bit | new
        return reached == cluster

    def _ordered(self) -> bool:
        """Leave out sets that would close a cycle with arcs that are in every choice; return whether any are left."""
        before = self.before
        for i in before:
            for parent in _bits(self.all[i] & ~before[i]):
                above = before[parent] | 1 << parent
                if above >> i & 1:
                    return False
                below = [j for j, own in before.items() if j == i or own >> i & 1]
                for j in below:
                    before[j] |= above
                after = sum(1 << j for j in below)
                for a in _bits(above):
                    left = [mask for mask in self.domains[a] if not mask & after] if self.some[a] & after else None
                    if left is not None and not self._keep(a, left):
                        return False
        return True


def _bits(mask: int) -> Iterator[int]:
    """Yield the members of a bit mask in ascending order."""
    while mask:
        bit = mask & -mask
        yield bit.bit_length() - 1
        mask ^= bit
