"""A climb over acyclic graphs, whose moves delete, add or reverse an arc; with a tabu list and restarts."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from anbexact._runtime.arrays import Bools, Floats
from anbexact._runtime.cached import cached_property
from anbexact.search.constraints import Constraints
from anbexact.search.graphs import Graph, ancestors, as_mask, elements, matrix

DELETE, ADD, REVERSE = range(3)
"""The kinds of moves, each on one arc."""


class Objective(Protocol):
    """The objective of a climb: the score of a graph, and the gains of the moves from there.

    Attributes
    ----------
    total : float
        Score of the current graph, in nats.
    scored : int
        Families, or structures, scored so far.
    """

    @property
    def total(self) -> float: ...

    @property
    def scored(self) -> int: ...

    def move_to(self, parents: Graph) -> bool:
        """Make a graph the current one, and score it. Returns False when time ran out."""

    def gains(self, admitted: Bools) -> Floats | None:
        """Return the gains of the admitted moves, -inf elsewhere, in nats; None if time ran out.

        Shape (kinds, children, parents): deleted, added, and reversed from ``parent → child``.
        """


@dataclass
class Climb:
    """A climb, with the best graph that it has found and its score; see :func:`learn_greedy_gbn` for its rules."""

    objective: Objective
    arcs: Arcs
    rounding: float
    tabu: int = 0
    restarts: int = 0

    def __post_init__(self) -> None:
        self.best = self.arcs.required
        self.best_total = -np.inf

    def run(self, random: np.random.Generator | None = None) -> bool:
        """Climb until no move gains, restarts included; return whether this was reached in time."""
        complete = self.climb_from(self.best)
        for _ in range(self.restarts):
            assert random is not None
            complete = complete and self.climb_from(self.arcs.shaken(self.best, random))
        return complete

    def climb_from(self, graph: Graph) -> bool:
        """Climb from a graph; return whether the end was reached in time."""
        recent: deque[Graph] = deque(maxlen=self.tabu)
        peak, idle = -np.inf, 0
        while self.objective.move_to(graph):
            total = self.objective.total
            idle = 0 if total > peak + self.rounding else idle + 1
            peak = max(peak, total)
            if total > self.best_total + self.rounding:
                self.best, self.best_total = graph, total
            if idle and idle >= self.tabu:
                return True
            recent.append(graph)
            moves = self.objective.gains(self.arcs.moves(graph))
            if moves is None:
                return False
            following = self._following(graph, moves, recent)
            if following is None:
                return True
            graph = following
        return False

    def _following(self, graph: Graph, gains: Floats, recent: deque[Graph]) -> Graph | None:
        """Return the graph after the best admitted move; None if there is none."""
        least = -np.inf if self.tabu else self.rounding
        while True:
            best = float(gains.max(initial=-np.inf))
            if not best > least:
                return None
            for move in np.flatnonzero(gains >= best - self.rounding).tolist():
                following = self.arcs.after(graph, move)
                if following not in recent:
                    return following
            # All moves of this gain lead to recent graphs: those of the next lower gain follow.
            gains = np.where(gains >= best - self.rounding, -np.inf, gains)


@dataclass(frozen=True)
class Arcs:
    """The possible moves, as masks of the parents of every node.

    Attributes
    ----------
    required, open : tuple of int
        The parents that a node must have, and those that it may have.
    max_parents : int
        Maximum number of parents of a node.
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
    def _fixed(self) -> tuple[Bools, Bools, Bools]:
        """The parents that a node must have, those that it may have, and those whose arc to it may be reversed."""
        n = len(self.required)
        required, admitted = matrix([*self.required, *self.open], n).reshape(2, n, n)
        return required, admitted, admitted.T & ~required

    def moves(self, parents: Graph) -> Bools:
        """Return the admitted moves, shape (kinds, children, parents)."""
        n, above, through = len(parents), ancestors(parents), [0] * len(parents)
        for child, child_parents in enumerate(parents):
            for parent in elements(child_parents):
                through[child] |= above[parent]
        present, ancestral, indirect = matrix([*parents, *above, *through], n).reshape(3, n, n)
        required, admitted, turnable = self._fixed
        full = present.sum(axis=1) >= self.max_parents
        return np.stack(
            [
                present & ~required,
                admitted & ~(present | ancestral.T | full[:, None]),
                present & turnable & ~(indirect | full),
            ]
        )

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
