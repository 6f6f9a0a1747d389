"""Sets of parents that can be optimal: lists of them for features and components, and what the lists may cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress

Masks = npt.NDArray[np.uint64]
"""Sets of features, shape (sets, words): bit b of word w stands for feature 64 w + b, in table order."""
Arc = tuple[int, int]
"""A parent and its child, by the positions of the features."""


@dataclass(frozen=True)
class ParentSets:
    """The candidate parent sets of one feature; each also contains the class, which is not listed.

    Attributes
    ----------
    masks : (sets, words) uint64
        The feature parents; see ``Masks``. Every set scores strictly higher than all its listed subsets.
    scores : (sets,) float64
        Local scores in nats, highest first; among equals the smaller set, then the one first in table order.
    scored : int
        Parent sets that were scored to make the list.
    limit : str
        The reason why sets that could be optimal are missing from the list; empty if the list is complete.
    beyond : float
        Upper bound on the local score of every admitted parent set that is neither in the list nor dominated by it
        (by a subset that scores at least as high); -inf if the list is complete. In nats.
    """

    masks: Masks
    scores: npt.NDArray[np.float64]
    scored: int
    limit: str
    beyond: float

    @property
    def complete(self) -> bool:
        """Whether every admitted parent set is listed or dominated by a listed subset."""
        return not self.limit


def n_words(n_features: int) -> int:
    """Return the number of 64-bit words that a set of features takes."""
    return max(1, -(-n_features // 64))


def pack(members: npt.NDArray[np.bool_]) -> Masks:
    """Return the masks of sets given as a matrix, shape (sets, features)."""
    sets, n = members.shape
    padded = np.zeros((sets, 64 * n_words(n)), dtype=bool)
    padded[:, :n] = members
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def unpack(masks: Masks, n: int) -> npt.NDArray[np.bool_]:
    """Return which of n features belong to every set, shape (sets, n)."""
    octets = np.ascontiguousarray(masks.astype("<u8")).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little")[:, :n].astype(bool)


def members(mask: Masks) -> list[int]:
    """Return the features of one set, ascending."""
    return [64 * w + b for w, word in enumerate(mask.tolist()) for b in range(64) if word >> b & 1]


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


class ListMeans(NamedTuple):
    """The resources for making lists of parent sets.

    Attributes
    ----------
    threads : int
        Threads.
    deadline : Deadline
        When to stop.
    memory : float
        Bytes that the lists may take.
    most_sets : float
        Maximum number of scored sets. A size of parent sets that is expected to exceed it is not started.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.
    """

    threads: int
    deadline: Deadline
    memory: float
    most_sets: float = inf
    progress: Progress | None = None
