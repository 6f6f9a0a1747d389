"""A climb over acyclic graphs: from best move to best move, with a tabu list and restarts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from anbexact._runtime.arrays import Bools, Floats
from anbexact.search.graphs import Graph
from anbexact.search.greedy.arc_moves import Arcs


class Objective(Protocol):
    """The objective of a climb: the score of a graph, and the gains of the moves from there.

    Attributes
    ----------
    total : float
        Score of the graph that it was moved to, in nats.
    scored : int
        Families, or structures, scored so far.
    """

    @property
    def total(self) -> float: ...

    @property
    def scored(self) -> int: ...

    def move_to(self, parents: Graph) -> bool:
        """Score a graph; the gains are those from here. Returns False when time ran out."""

    def gains(self, admitted: Bools) -> Floats | None:
        """Return the gains of the admitted moves, -inf elsewhere, in nats; None if time ran out.

        Shape (kinds, children, parents): deleted, added, and reversed from ``parent → child``.
        """


@dataclass
class Climb:
    """A climb, and the best graph that it has found; see :func:`learn_greedy_gbn` for its rules."""

    objective: Objective
    arcs: Arcs
    rounding: float
    tabu: int = 0
    restarts: int = 0

    def __post_init__(self) -> None:
        self.best = self.arcs.required
        self._best_total = -np.inf

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
            if total > self._best_total + self.rounding:
                self.best, self._best_total = graph, total
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
            gains = np.where(gains >= best - self.rounding, -np.inf, gains)
