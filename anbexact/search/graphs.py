"""Directed graphs over numbered nodes: the parents of every node are a bit mask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from anbexact._runtime.arrays import Bools

Graph = tuple[int, ...]
"""The parents of every node: bit b stands for node b."""


def elements(mask: int) -> Iterator[int]:
    """Yield the nodes of a set, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def as_mask(nodes: Iterator[int] | Sequence[int]) -> int:
    """Return a set of nodes."""
    return sum(1 << v for v in nodes)


def matrix(masks: Sequence[int], n: int) -> Bools:
    """Return a row for every set of some of n nodes, which tells for every node whether it is in the set."""
    width = -(-n // 8)
    octets = b"".join([mask.to_bytes(width, "little") for mask in masks])
    rows = np.frombuffer(octets, dtype=np.uint8).reshape(len(masks), width)
    return np.unpackbits(rows, axis=1, bitorder="little", count=n).view(bool)


def parents_first(parents: Sequence[int]) -> list[int]:
    """Return the nodes of an acyclic graph with parents before children: by depth, then by number."""
    order: list[int] = []
    done, left = 0, list(range(len(parents)))
    while left:
        ready = [v for v in left if not parents[v] & ~done]
        order += ready
        done |= as_mask(ready)
        left = [v for v in left if not done >> v & 1]
    return order


def ancestors(parents: Sequence[int]) -> list[int]:
    """Return the ancestors of every node of an acyclic graph."""
    above = [0] * len(parents)
    for v in parents_first(parents):
        above[v] = parents[v]
        for parent in elements(parents[v]):
            above[v] |= above[parent]
    return above


def children(parents: Sequence[int]) -> list[int]:
    """Return the children of every node, given its parents; or the descendants, given its ancestors."""
    found = [0] * len(parents)
    for child, child_parents in enumerate(parents):
        for parent in elements(child_parents):
            found[parent] |= 1 << child
    return found
