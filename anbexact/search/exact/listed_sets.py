"""Listed parent sets of a component, and what a branch decides about its arcs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anbexact._runtime.arrays import Floats, Positions
from anbexact.search.exact.parent_sets import Masks

Arc = tuple[int, int]


@dataclass(frozen=True)
class Lists:
    """The parent sets of some features, concatenated.

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

    @cached_property
    def children(self) -> Positions:
        """The feature of every set."""
        return np.repeat(np.arange(self.n), np.diff(self.starts))


@dataclass(frozen=True)
class Branch:
    """Decisions about arcs: feature i has no parent in ``forbidden[i]``, and all parents in ``required[i]``."""

    forbidden: Masks
    required: Masks

    @classmethod
    def everything(cls, lists: Lists) -> Branch:
        """Return the branch without decisions."""
        return cls(*np.zeros((2, lists.n, lists.masks.shape[1]), np.uint64))

    def with_arc(self, parent: int, child: int, present: bool) -> Branch:
        """Return the branch in which one more arc is present, or absent."""
        forbidden, required = self.forbidden.copy(), self.required.copy()
        if present:
            add_feature(required[child], parent)
            add_feature(forbidden[parent], child)
        else:
            add_feature(forbidden[child], parent)
        return Branch(forbidden, required)


def add_feature(mask: Masks, b: int) -> None:
    """Put feature b into a set."""
    mask[b // 64] |= np.uint64(1 << b % 64)
