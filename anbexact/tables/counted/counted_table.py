"""Tables whose distinct rows do not fit into memory: they are counted for some of their variables at a time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from time import perf_counter

import numpy as np
import numpy.typing as npt

from anbexact._runtime.memory import available_memory
from anbexact._runtime.progress import Progress
from anbexact.tables.counted.blocks import blocks_of
from anbexact.tables.table import DiscreteTable, Weights
from anbexact.tables.vocabulary import CodeArray, Vocabulary

MOST_CELLS = 1 << 20
"""Joint states of the variables that are counted by one query, unless a set that is asked for has more."""
MEMORY_SHARE = 0.25
"""Part of the available memory that parts may fill; at least the last one stays."""


class TooManyRowsError(ValueError):
    """The distinct rows do not fit into memory."""


class CountedTable(DiscreteTable):
    """A table that is only known by the counts of some of its variables.

    Its contingency tables are those of :class:`DiscreteTable`, to the last digit if the weights are whole numbers.
    What needs the rows themselves is refused.

    Parameters
    ----------
    vocabulary : Vocabulary
        Names and states.
    n_rows : int
        Rows of positive weight.
    parts : iterable of DiscreteTable
        What was counted already: all rows, restricted to the class and some features. There is at least one.
    count : callable
        Takes features, and returns such a part.
    refusal : str
        What is said where the rows are needed.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` while parts are counted.
    """

    refusal: str
    _parts: dict[frozenset[Hashable], DiscreteTable]
    _count: Callable[[Sequence[Hashable]], DiscreteTable]
    _progress: Progress | None
    _seconds: list[float]

    def __init__(
        self,
        vocabulary: Vocabulary,
        n_rows: int,
        parts: Iterable[DiscreteTable],
        count: Callable[[Sequence[Hashable]], DiscreteTable],
        refusal: str,
        progress: Progress | None = None,
    ) -> None:
        found = {frozenset(part.vocabulary.names): part for part in parts}
        own = {"_parts": found, "_count": count, "refusal": refusal, "_progress": progress, "_seconds": []}
        total = next(iter(found.values())).weight_sum
        self.__dict__.update(own, vocabulary=vocabulary, n_rows=n_rows, weight_sum=total)

    @property
    def codes(self) -> CodeArray:
        """Refuse."""
        raise TooManyRowsError(self.refusal)

    @property
    def weights(self) -> Weights:
        """Refuse."""
        raise TooManyRowsError(self.refusal)

    def part(self, names: Iterable[Hashable]) -> DiscreteTable:
        """Return the smallest part at hand that has these variables; it is counted if there is none."""
        wanted = frozenset(names)
        part = self._at_hand(wanted)
        return self._counted(wanted, "counting rows", 0.0) if part is None else part

    def foresee(self, sets: Iterable[Iterable[Hashable]]) -> None:
        """Count all sets of variables that no part has, by few queries."""
        for _ in self.parts_of(sets):
            pass

    def parts_of(self, sets: Iterable[Iterable[Hashable]]) -> Iterator[tuple[DiscreteTable, list[int]]]:
        """Yield parts that have these sets of variables, each with the positions of the sets it is to answer for.

        A part is counted only when its turn comes, and is forgotten again when all parts take too much memory.
        """
        wanted = [frozenset(names) for names in sets]
        at_hand: dict[int, tuple[DiscreteTable, list[int]]] = {}
        left: dict[frozenset[Hashable], list[int]] = {}
        for k, names in enumerate(wanted):
            part = self._at_hand(names)
            if part is None:
                left.setdefault(names, []).append(k)
            else:
                at_hand.setdefault(id(part), (part, []))[1].append(k)
        yield from at_hand.values()
        blocks = blocks_of(list(left), self.vocabulary.arity, MOST_CELLS)
        for k, block in enumerate(blocks):
            own = [names for names in left if names <= block]
            if own:
                part = self._counted(block, f"counting rows, query {k + 1} of {len(blocks)}", k / len(blocks))
                yield part, [place for names in own for place in left.pop(names)]

    def seconds_for(self, sets: Iterable[Iterable[Hashable]]) -> float:
        """Return the estimated seconds of counting these sets of variables, at the mean time of earlier queries."""
        left = [names for names in map(frozenset, sets) if self._at_hand(names) is None]
        return len(blocks_of(left, self.vocabulary.arity, MOST_CELLS)) * self._pace()

    def _pace(self) -> float:
        """Return the mean time of a query; one is sent if there was none."""
        if not self._seconds:
            self._counted(next(iter(self._parts)), "counting rows", 0.0)
        return sum(self._seconds) / len(self._seconds)

    def _at_hand(self, names: frozenset[Hashable]) -> DiscreteTable | None:
        holding = [part for known, part in self._parts.items() if names <= known]
        return min(holding, key=lambda part: len(part.weights)) if holding else None

    def _counted(self, names: frozenset[Hashable], phase: str, fraction: float) -> DiscreteTable:
        """Count some variables; forget the oldest parts if they take too much memory."""
        if self._progress is not None:
            self._progress(phase, fraction)
        began = perf_counter()
        part = self._count([name for name in self.vocabulary.features if name in names])
        self._seconds.append(perf_counter() - began)
        self._parts[frozenset(part.vocabulary.names)] = part
        sizes = {known: of.codes.nbytes + of.weights.nbytes for known, of in self._parts.items()}
        surplus = sum(sizes.values()) - MEMORY_SHARE * available_memory()
        for known in islice(list(self._parts), len(self._parts) - 1):
            if surplus <= 0:
                break
            surplus -= sizes[known]
            del self._parts[known]
        return part

    def restricted(self, names: Iterable[Hashable]) -> DiscreteTable:
        """Return the table of some of the variables, equal rows collapsed."""
        chosen = list(names)
        return self.part(chosen).restricted(chosen)

    def without_single_states(self, names: Iterable[Hashable]) -> CountedTable:
        """Return the table without features of one state."""
        left = self.vocabulary.without(names)
        found = CountedTable(left, self.n_rows, self._parts.values(), self._count, self.refusal, self._progress)
        found.__dict__.update(_parts=self._parts, _seconds=self._seconds)  # what one counts, the other need not
        return found

    def counts(self, names: Sequence[Hashable]) -> npt.NDArray[np.float64]:
        """Return the weighted contingency table of the named variables, one axis each."""
        return self.part(names).counts(names)

    def cell_weights(self, names: Sequence[Hashable]) -> npt.NDArray[np.float64]:
        """Return the weights of the observed joint states of the named variables."""
        return self.part(names).cell_weights(names)

    def observed_cells(self, names: Sequence[Hashable]) -> tuple[npt.NDArray[np.int64], Weights]:
        """Return the observed cells of the contingency table: ascending flat positions, and weights."""
        return self.part(names).observed_cells(names)
