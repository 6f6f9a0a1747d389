"""Tables whose distinct rows do not fit into memory: they are counted for some of their variables at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from anbexact._runtime.progress import Progress
from anbexact.tables.table import DiscreteTable, Weights
from anbexact.tables.vocabulary import CodeArray, Vocabulary

MOST_CELLS = 1 << 20
"""Joint states of the variables that are counted by one query, unless a set that is asked for has more."""


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

    _parts: dict[frozenset[Hashable], DiscreteTable]
    _count: Callable[[Sequence[Hashable]], DiscreteTable]
    _refusal: str
    _progress: Progress | None

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
        own = {"_parts": found, "_count": count, "_refusal": refusal, "_progress": progress}
        total = next(iter(found.values())).weight_sum
        self.__dict__.update(own, vocabulary=vocabulary, n_rows=n_rows, weight_sum=total)

    @property
    def codes(self) -> CodeArray:
        """Refuse."""
        raise TooManyRowsError(self._refusal)

    @property
    def weights(self) -> Weights:
        """Refuse."""
        raise TooManyRowsError(self._refusal)

    def part(self, names: Iterable[Hashable]) -> DiscreteTable:
        """Return the smallest part that has these variables; it is counted if there is none."""
        wanted = frozenset(names)
        holding = [part for known, part in self._parts.items() if wanted <= known]
        if not holding:
            self.foresee([wanted])
            return self.part(wanted)
        return min(holding, key=lambda part: len(part.weights))

    def foresee(self, sets: Iterable[Iterable[Hashable]]) -> None:
        """Count all sets of variables that no part has, by as few queries as is easily found."""
        blocks: list[frozenset[Hashable]] = []
        known = list(self._parts)
        for wanted in dict.fromkeys(frozenset(names) for names in sets):
            if not any(wanted <= names for names in known) and not any(wanted <= names for names in blocks):
                place = next((k for k, block in enumerate(blocks) if self._cells(block | wanted) <= MOST_CELLS), None)
                if place is None:
                    blocks.append(wanted)
                else:
                    blocks[place] |= wanted
        for k, block in enumerate(blocks):
            if self._progress is not None:
                self._progress(f"counting rows, query {k + 1} of {len(blocks)}", k / len(blocks))
            part = self._count([name for name in self.vocabulary.features if name in block])
            self._parts[frozenset(part.vocabulary.names)] = part

    def _cells(self, names: Iterable[Hashable]) -> int:
        return math.prod(self.shape(names))

    def restricted(self, names: Iterable[Hashable]) -> DiscreteTable:
        """Return the table of some of the variables, equal rows collapsed."""
        chosen = list(names)
        return self.part(chosen).restricted(chosen)

    def without_single_states(self, names: Iterable[Hashable]) -> CountedTable:
        """Return the table without features of one state."""
        left = self.vocabulary.without(names)
        found = CountedTable(left, self.n_rows, self._parts.values(), self._count, self._refusal, self._progress)
        found.__dict__["_parts"] = self._parts  # what one counts, the other need not
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
