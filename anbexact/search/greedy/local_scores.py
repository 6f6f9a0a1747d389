"""A decomposable score as the objective of a climb."""

from __future__ import annotations

import numpy as np

from anbexact._runtime.arrays import Bools, Floats
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.progress import Progress
from anbexact._runtime.units import human_bytes
from anbexact.search.graphs import Graph, elements, matrix
from anbexact.search.greedy.climb import REVERSE
from anbexact.search.scoring.pair_scores import FamilyScorer

FAMILIES_PER_BATCH = 20_000
"""Number of families that are scored between two checks of the clock."""
FAMILY_BYTES = 400
"""Memory that a move takes, with the local score that is kept."""


class LocalScores:
    """A decomposable score as the objective of a climb.

    Every family is scored once. The gain from adding or deleting an arc is a difference of two local scores; after a
    move, only the gains of arcs into the changed children are new. A reversal is a deletion and an addition.
    """

    def __init__(self, scorer: FamilyScorer, progress: Progress | None) -> None:
        n = scorer.n
        needed, available = FAMILY_BYTES * n * n, available_memory()
        if needed > available:
            raise SearchTooLargeError(
                f"the moves between graphs of {n:,} variables need {human_bytes(needed)}; "
                f"{human_bytes(available)} is available. Select features first, or use a TANClassifier."
            )
        self._scorer, self._progress = scorer, progress
        self._known: dict[tuple[int, int], float] = {}
        self._parents: list[int] = [-1] * n
        self._current = np.zeros(n)
        self._toggles = np.full((n, n), np.nan)
        self.total = 0.0

    @property
    def scored(self) -> int:
        """Families scored so far."""
        return len(self._known)

    def move_to(self, parents: Graph) -> bool:
        """Make a graph the current one, and score it. Returns False when time ran out."""
        changed = [child for child, child_parents in enumerate(parents) if child_parents != self._parents[child]]
        scores = self._scores([(child, parents[child]) for child in changed], "families of a graph")
        if scores is None:
            return False
        for child, value in zip(changed, scores, strict=True):
            if value == -np.inf:
                raise self._refusal(child, parents[child])
            self._parents[child], self._current[child] = parents[child], value
            self._toggles[child] = np.nan
        self.total = float(self._current.sum())
        return True

    def gains(self, admitted: Bools) -> Floats | None:
        """Return the gains of the admitted moves, -inf elsewhere; see :class:`Objective`."""
        wanted = admitted.any(axis=0) | admitted[REVERSE].T
        places = np.argwhere(wanted & np.isnan(self._toggles)).tolist()
        families = [(child, self._parents[child] ^ 1 << parent) for child, parent in places]
        scores = self._scores(families, f"moves from {self.total:.6g} nats")
        if scores is None:
            return None
        if places:
            at = tuple(np.array(places).T)
            self._toggles[at] = np.array(scores) - self._current[at[0]]
        toggles = self._toggles
        return np.where(admitted, np.stack([toggles, toggles, toggles + toggles.T]), -np.inf)

    def _scores(self, families: list[tuple[int, int]], phase: str) -> list[float] | None:
        """Return the local scores of families; None when time ran out."""
        by_size: dict[int, list[tuple[int, int]]] = {}
        for family in families:
            if family not in self._known:
                by_size.setdefault(family[1].bit_count(), []).append(family)
        scorer = self._scorer
        positions = scorer.features
        shares = (
            (size, of_size[first : first + FAMILIES_PER_BATCH])
            for size, of_size in by_size.items()
            for first in range(0, len(of_size), FAMILIES_PER_BATCH)
        )
        for size, own in shares:
            if scorer.deadline.passed:
                return None
            _, parents = np.nonzero(matrix([child_parents for _, child_parents in own], scorer.n))
            found = scorer.local_scores(
                positions[[child for child, _ in own]],
                positions[parents].reshape(len(own), size),
                phase,
                self._progress,
            )
            if found is None:
                return None
            bad = np.isnan(found) | (found == np.inf)
            if bad.any():
                raise self._refusal(*own[int(bad.argmax())])
            self._known.update(zip(own, found.tolist(), strict=True))
        return [self._known[family] for family in families]

    def _refusal(self, child: int, parents: int) -> ValueError:
        names = self._scorer.table.vocabulary.features
        given = [*self._scorer.table.vocabulary.common_parents, *(names[v] for v in elements(parents))]
        return ValueError(
            f"the score {self._scorer.score.name!r} of {names[child]!r} given {given} is not a finite number"
        )
