"""The bounds that the cases of a proof imply, computed so that rounding cannot lower them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf, log2

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats
from anbexact.models.proof import Case, Duals, Split

Kept = npt.NDArray[np.bool_]
LARGEST_SUM = float(2**62)
"""Sums of whole numbers below this limit are exact."""
LARGEST_MULTIPLIER = 1e300
"""Largest multiplier of a cluster that a proof may contain."""


@dataclass(frozen=True)
class ListedSets:
    """The listed parent sets of the features of a component, one feature after the other.

    Attributes
    ----------
    place : mapping of feature to int
        The column of every feature of the table in ``members``.
    features : sequence of features
        The features of the component.
    members : (sets, features of the table) bool
        The parents.
    scores : (sets,) float64
        Local scores in nats.
    starts : (features of the component + 1,) int64
        Positions where the sets of each feature begin; every feature has at least one set.
    """

    place: Mapping[Hashable, int]
    features: Sequence[Hashable]
    members: npt.NDArray[np.bool_]
    scores: Floats
    starts: npt.NDArray[np.int64]

    def has(self, child: Hashable, parent: Hashable) -> Kept:
        """Return which of all sets are sets of ``child`` that contain ``parent``."""
        k = self.features.index(child)
        held = np.zeros(len(self.scores), dtype=np.bool_)
        own = slice(int(self.starts[k]), int(self.starts[k + 1]))
        held[own] = self.members[own, self.place[parent]]
        return held

    def of(self, child: Hashable) -> Kept:
        """Return which of all sets are those of ``child``."""
        k = self.features.index(child)
        own = np.zeros(len(self.scores), dtype=np.bool_)
        own[int(self.starts[k]) : int(self.starts[k + 1])] = True
        return own


def case_bound(case: Case, sets: ListedSets, precision: float) -> float:
    """Return a bound, in nats, on the total of every acyclic choice among listed sets that a case proves.

    The bound is within ``precision`` of the one that the multipliers imply in exact arithmetic, and falls below the
    total of a choice by ``precision`` at most, however large the multipliers are. It is infinite if the case is
    malformed or its numbers are too large to be added exactly, and -inf if the case admits no choice. The branches
    are visited by a loop, so any depth is possible.
    """
    highest = -inf
    waiting: list[tuple[Case, Kept]] = [(case, np.ones(len(sets.scores), dtype=np.bool_))]
    while waiting:
        case, kept = waiting.pop()
        if isinstance(case, Split):
            parent, child = case.parent, case.child
            if parent == child or parent not in sets.features or child not in sets.features:
                return inf
            has = sets.has(child, parent)
            absent = kept & ~has
            present = kept & ~(sets.of(child) & ~has) & ~sets.has(parent, child)
            waiting += [
                (half, left)
                for half, left in ((case.present, present), (case.absent, absent))
                if np.logical_or.reduceat(left, sets.starts[:-1]).all()
            ]
        elif isinstance(case, Duals) and _well_formed(case, sets.features):
            highest = max(highest, _dual_bound(case, sets, kept, precision))
        else:
            return inf
    return highest


def _well_formed(duals: Duals, features: Sequence[Hashable]) -> bool:
    """Return whether every cluster is a set of features of the component with a valid k, and z is zero or more."""
    known = set(features)
    return all(
        isinstance(least, int)
        and 1 <= least < len(cluster) == len(set(cluster))
        and known.issuperset(cluster)
        and isinstance(z, int | float)
        and 0 <= z <= LARGEST_MULTIPLIER
        for cluster, least, z in duals.clusters
    )


def _dual_bound(duals: Duals, sets: ListedSets, kept: Kept, precision: float) -> float:
    """Return the bound by multipliers, in whole multiples of a power of two, which add up exactly.

    Any multipliers that are not negative prove a bound, so they may be rounded, too: to the next multiple.
    """
    terms = len(sets.features) + sum(len(cluster) + least for cluster, least, _ in duals.clusters)
    grid = 2.0 ** floor(log2(precision / terms))
    highest = np.maximum.reduceat(np.abs(sets.scores), sets.starts[:-1]).sum() / grid
    if (
        not highest + sum(float(z) / grid * (len(cluster) + least) for cluster, least, z in duals.clusters)
        < LARGEST_SUM
    ):
        return inf
    reached = np.rint(sets.scores / grid).astype(np.int64)
    owed = 0
    places = np.array([sets.place[name] for name in sets.features])
    child = np.repeat(places, np.diff(sets.starts))
    inside = np.zeros(len(sets.place), dtype=np.bool_)
    for cluster, least, z in duals.clusters:
        whole = round(float(z) / grid)
        columns = [sets.place[name] for name in cluster]
        inside[:] = False
        inside[columns] = True
        own = np.flatnonzero(inside[child])
        reached[own[sets.members[np.ix_(own, np.array(columns))].sum(axis=1) < least]] += whole
        owed += int(least) * whole
    reached[~kept] = -(2**62)
    total: int = sum(np.maximum.reduceat(reached, sets.starts[:-1]).tolist()) - owed
    return total * grid
