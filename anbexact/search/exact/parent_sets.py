"""The parent sets of one feature that can still be optimal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Masks = npt.NDArray[np.uint64]
"""Sets of features, shape (sets, words): bit b of word w stands for feature 64 w + b, in table order."""


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
