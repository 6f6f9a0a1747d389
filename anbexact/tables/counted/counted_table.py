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
"""Maximum number of joint states of the variables that one query counts, unless a single set has more."""
MEMORY_SHARE = 0.25
"""Share of the available memory that counted parts may fill; the latest part is always kept."""
Block = frozenset[Hashable]
MOST_MERGED = 10_000
"""Maximum number of sets for which merging them one by one is tried, too."""


class TooManyRowsError(ValueError):
    """The distinct rows do not fit into memory."""


class CountedTable(DiscreteTable):
    """A table that is only known by counts of some of its variables at a time.

    Its contingency tables are those of :class:`DiscreteTable`, to the last digit if the weights are whole numbers.
    Methods that need the rows themselves raise an error.

    Parameters
    ----------
    vocabulary : Vocabulary
        Names and states.
    n_rows : int
        Rows of positive weight.
    parts : iterable of DiscreteTable
        Tables that were counted already, at least one: all rows, restricted to the class and some features.
    count : callable
        ``count(features)`` returns such a table.
    refusal : str
        The message of the error where the rows themselves are needed.
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
        """Return the smallest known part that has these variables; if there is none, count one."""
        wanted = frozenset(names)
        part = self._at_hand(wanted)
        return self._counted(wanted, "counting rows", 0.0) if part is None else part

    def foresee(self, sets: Iterable[Iterable[Hashable]]) -> None:
        """Count all sets of variables that no known part contains, with few queries."""
        for _ in self.parts_of(sets):
            pass

    def parts_of(self, sets: Iterable[Iterable[Hashable]]) -> Iterator[tuple[DiscreteTable, list[int]]]:
        """Yield parts that contain these sets of variables, each with the positions of the sets that it answers.

        A part is counted when the caller asks for it, and may be dropped when the parts take too much memory.
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
        """Estimate the seconds that counting these sets of variables takes, by the mean time of earlier queries."""
        left = [names for names in map(frozenset, sets) if self._at_hand(names) is None]
        return len(blocks_of(left, self.vocabulary.arity, MOST_CELLS)) * self._pace()

    def _pace(self) -> float:
        """Return the mean time of a query, in seconds; if none was sent yet, one is."""
        if not self._seconds:
            self._counted(next(iter(self._parts)), "counting rows", 0.0)
        return sum(self._seconds) / len(self._seconds)

    def _at_hand(self, names: frozenset[Hashable]) -> DiscreteTable | None:
        holding = [part for known, part in self._parts.items() if names <= known]
        return min(holding, key=lambda part: len(part.weights)) if holding else None

    def _counted(self, names: frozenset[Hashable], phase: str, fraction: float) -> DiscreteTable:
        """Count some variables; drop the oldest parts if all of them take too much memory."""
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
        found.__dict__.update(_parts=self._parts, _seconds=self._seconds)  # both tables share what either has counted
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
    """Return blocks of variables such that every set lies within one of them; the shorter of two greedy covers.

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
    """Add every set to the first block that has room for it."""
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
    """Divide the variables into groups, and make a block of the groups that each set intersects.

    Variables of all sets are in every block. The groups are so small that a block has room for one group for every
    other variable of the largest set.
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
