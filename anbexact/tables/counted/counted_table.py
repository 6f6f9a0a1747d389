"""Tables whose distinct rows do not fit into memory: they are counted for some of their variables at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from time import perf_counter

import numpy as np
import numpy.typing as npt

from anbexact._runtime.memory import available_memory
from anbexact._runtime.progress import Progress
from anbexact.tables.table import DiscreteTable, Weights
from anbexact.tables.vocabulary import CodeArray, Vocabulary

MOST_CELLS = 1 << 20
"""Joint states of the variables that are counted by one query, unless a set that is asked for has more."""
MEMORY_SHARE = 0.25
"""Part of the available memory that parts may fill; at least the last one stays."""
Block = frozenset[Hashable]
MOST_MERGED = 10_000
"""Sets up to which merging them one by one is tried, too."""


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


def blocks_of(sets: Sequence[Block], arity: Callable[[Hashable], int], most: int) -> list[Block]:
    """Return blocks, one of which holds each of the sets; the fewer of two easily found covers.

    A block has at most ``most`` joint states, unless one of the sets has more.

    Parameters
    ----------
    sets : sequence of frozenset
        Distinct sets of variables.
    arity : callable
        Returns the number of states of a variable.
    most : int
        Joint states.
    """

    def largest(of: Sequence[Block]) -> int:
        return max((math.prod(map(arity, names)) for names in of), default=0)

    grouped = _by_groups(sets, arity, most)
    fit = largest(grouped) <= max(most, largest(sets))
    if fit and len(sets) > MOST_MERGED:
        return grouped
    merged = _merged(sets, arity, most)
    return min(merged, grouped, key=len) if fit else merged


def _merged(sets: Sequence[Block], arity: Callable[[Hashable], int], most: int) -> list[Block]:
    """Join every set to the first block where it fits."""
    blocks: list[Block] = []
    for wanted in sets:
        if not any(wanted <= block for block in blocks):
            fitting = (k for k, block in enumerate(blocks) if math.prod(map(arity, block | wanted)) <= most)
            place = next(fitting, None)
            if place is None:
                blocks.append(wanted)
            else:
                blocks[place] |= wanted
    return blocks


def _by_groups(sets: Sequence[Block], arity: Callable[[Hashable], int], most: int) -> list[Block]:
    """Divide the variables into groups, and join the groups that each set meets.

    Variables of all sets are in every block. The groups are so small that as many as the largest set has other
    variables fit into one block.
    """
    common = frozenset.intersection(*sets) if sets else frozenset()
    width = max((len(wanted - common) for wanted in sets), default=0)
    limit = (most / math.prod(map(arity, common))) ** (1 / max(width, 1))
    groups: list[Block] = []
    others = dict.fromkeys(name for wanted in sets for name in sorted(wanted - common, key=str))
    for name in sorted(others, key=arity, reverse=True):
        fitting = (k for k, group in enumerate(groups) if arity(name) * math.prod(map(arity, group)) <= limit)
        place = next(fitting, None)
        if place is None:
            groups.append(frozenset({name}))
        else:
            groups[place] |= {name}
    place_of = {name: k for k, group in enumerate(groups) for name in group}
    met = {frozenset(place_of[name] for name in wanted - common) for wanted in sets}
    blocks: list[frozenset[int]] = []
    for joined in sorted(met, key=lambda of: (-len(of), sorted(of))):
        if len(joined) == width or not any(joined <= block for block in blocks):
            blocks.append(joined)
    return [common.union(*(groups[k] for k in block)) for block in blocks]
