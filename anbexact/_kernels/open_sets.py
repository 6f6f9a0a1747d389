"""Sets of features that may still be extended, in a table hashed by mask."""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.lattice import popcount


class OpenSets(NamedTuple):
    """Open sets by number, with room for more.

    Attributes
    ----------
    masks : (sets, words) uint64
        Their members.
    slots : (slots,) int32
        Hash table of their numbers, -1 where it is free; a power of two.
    best : (sets,) float64
        Best score of the set and its subsets.
    rest : (sets,) float64
        By how much the log-likelihood is below that with all features, in nats.
    first_child : (sets,) int32
        The first of the open sets made from it.
    children : (sets, words) uint64
        Mask of the features added to make these.
    """

    masks: npt.NDArray[np.uint64]
    slots: npt.NDArray[np.int32]
    best: npt.NDArray[np.float64]
    rest: npt.NDArray[np.float64]
    first_child: npt.NDArray[np.int32]
    children: npt.NDArray[np.uint64]

    @classmethod
    def zeros(cls, length: int, n_slots: int, words: int) -> Self:
        """Return this number of empty sets, and of free slots."""
        masks, children = np.zeros((2, length, words), np.uint64)
        best, rest = np.zeros((2, length))
        return cls(masks, np.full(n_slots, -1, np.int32), best, rest, np.zeros(length, np.int32), children)


@inner
def find_slot(key, masks, slots):
    """Return where a mask is, or would be, in the hash table."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for w in range(key.shape[0]):
        mixed = (mixed ^ key[w]) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(32)
    last = slots.shape[0] - 1
    at = np.int64(mixed & np.uint64(last))
    while slots[at] >= 0:
        found = slots[at]
        same = True
        for w in range(key.shape[0]):
            if masks[found, w] != key[w]:
                same = False
                break
        if same:
            return at
        at = (at + 1) & last
    return at


@kernel
def rehash(masks, used, slots):
    """Fill an empty hash table with the first ``used`` masks."""
    for k in range(used):
        slots[find_slot(masks[k], masks, slots)] = k


@inner
def count_below(mask, v):
    """Return how many features below v are in a mask."""
    count = 0
    for w in range(v >> 6):
        count += popcount(mask[w])
    return np.int64(count + popcount(mask[v >> 6] & ((np.uint64(1) << np.uint64(v & 63)) - np.uint64(1))))
