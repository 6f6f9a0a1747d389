"""The moves between acyclic graphs that constraints admit: an arc is deleted, added or reversed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anbexact._runtime.arrays import Bools
from anbexact.search.constraints import Constraints
from anbexact.search.graphs import Graph, ancestors, as_mask, children, elements, matrix

DELETE, ADD, REVERSE = range(3)


@dataclass(frozen=True)
class Arcs:
    """The possible moves, as masks of the parents of every node.

    Attributes
    ----------
    required, open : tuple of int
        The parents that a node must have, and those that it may have.
    max_parents : int
        Most parents of a node.
    """

    required: Graph
    open: Graph
    max_parents: int

    @classmethod
    def of(cls, names: Sequence[Hashable], constraints: Constraints) -> Arcs:
        """Return the constraints on some variables, numbered in their order."""
        place = {name: v for v, name in enumerate(names)}

        def masks(sets: dict[Hashable, frozenset[Hashable]]) -> Graph:
            return tuple(as_mask([place[parent] for parent in sets[child]]) for child in names)

        everything = (1 << len(names)) - 1
        barred = masks(constraints.forbidden)
        may = tuple(everything & ~(1 << v | of_v) for v, of_v in enumerate(barred))
        return cls(masks(constraints.required), may, constraints.max_parents)

    @cached_property
    def _turnable(self) -> Graph:
        """By child, the parents whose arc may be reversed."""
        return tuple(open & ~must for open, must in zip(children(self.open), self.required, strict=True))

    def moves(self, parents: Graph) -> Bools:
        """Return the admitted moves, shape (kinds, children, parents)."""
        above = ancestors(parents)
        below = children(above)
        full = as_mask([v for v, of_v in enumerate(parents) if of_v.bit_count() >= self.max_parents])
        deleted, added, turned = [], [], []
        for child, child_parents in enumerate(parents):
            through = 0
            for parent in elements(child_parents):
                through |= above[parent]
            deleted.append(child_parents & ~self.required[child])
            added.append(0 if full >> child & 1 else self.open[child] & ~(child_parents | below[child]))
            turned.append(child_parents & self._turnable[child] & ~(through | full))
        return np.stack([matrix(deleted), matrix(added), matrix(turned)])

    def after(self, parents: Graph, move: int) -> Graph:
        """Return the graph after the move at this position in the row-major order of all moves."""
        n = len(parents)
        kind, child, parent = move // n**2, move // n % n, move % n
        moved = list(parents)
        moved[child] ^= 1 << parent
        if kind == REVERSE:
            moved[parent] ^= 1 << child
        return tuple(moved)

    def shaken(self, parents: Graph, random: np.random.Generator) -> Graph:
        """Return the graph after as many random moves as there are nodes."""
        for _ in parents:
            places = np.flatnonzero(self.moves(parents))
            if len(places) == 0:
                break
            parents = self.after(parents, int(random.choice(places)))
        return parents
