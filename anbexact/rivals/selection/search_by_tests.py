"""The common base of searches for parents and children by tests of conditional independence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.spread import spread
from anbexact.rivals.selection.independence_tests import G2Test, IndependenceTest, position_of
from anbexact.tables.table import DiscreteTable


class Tester:
    """A test on a table; each pair of variables is tested only once given the same set.

    Parameters
    ----------
    table : DiscreteTable
        The rows.
    test : IndependenceTest
        The test.
    max_conditioning : int, optional
        Maximum number of conditioning variables.
    """

    def __init__(self, table: DiscreteTable, test: IndependenceTest, max_conditioning: int | None = None) -> None:
        self.n = len(table.vocabulary.names)
        self._arities = table.shape(table.vocabulary.names)
        self._most = self.n if max_conditioning is None else max_conditioning
        self._associations = test.on(table)
        self._known: dict[tuple[int, tuple[int, ...]], Floats] = {}

    def associations(self, x: int, others: Positions, given: tuple[int, ...]) -> Floats:
        """Return the associations of a variable with others; see :data:`Associations`."""
        known = self._known.get((x, given))
        if known is None:
            known = self._known[x, given] = np.full(self.n, np.nan)
            known[others] = values = self._associations(x, others, given)
            return values
        unknown = others[np.isnan(known[others])]
        if len(unknown):
            known[unknown] = self._associations(x, unknown, given)
        return known[others]

    def untested(self, members: Sequence[int] | Positions) -> Floats:
        """Return associations that are infinite for the members, not tested yet, and -inf for all other variables."""
        least = np.full(self.n, -inf)
        least[members] = inf
        return least

    def lower(self, least: Floats, x: int, pool: Sequence[int], always: tuple[int, ...] = ()) -> None:
        """Lower the associations of variables with x to the smallest given ``always`` and any subset of a pool.

        Associations below 0, whose variables are separated from x already, and associations of the conditioning
        variables themselves are not changed. Smaller sets come first; a set is skipped if a subset of it left nothing
        to test.

        Parameters
        ----------
        least : (variables,) float64
            The associations, which are changed; -inf for x.
        """
        pool = sorted(pool, key=lambda v: -self._arities[v])
        sets: list[tuple[tuple[int, ...], int]] = [((), 0)]
        for size in range(len(always), self._most + 1):
            larger = []
            for subset, first in sets:
                given = tuple(sorted((*subset, *always)))
                alive = least >= 0
                alive[list(given)] = False
                others = alive.nonzero()[0]
                if len(others) == 0:
                    continue
                values = self.associations(x, others, given)
                least[others] = np.minimum(least[others], values)
                if values.min() < inf and size < self._most:
                    larger += [((*subset, pool[k]), k + 1) for k in range(first, len(pool))]
            sets = larger

    def unseparated(self, x: int, members: Sequence[int], always: tuple[int, ...] = ()) -> list[int]:
        """Return the members without those that some subset of the remaining ones, plus ``always``, separates from x.

        They are left out one after the other.
        """
        least = self.untested(members)
        self.lower(least, x, members, always)
        left = list(members)
        for y in members:
            if least[y] < 0 and self.separated(x, y, left, always):
                left.remove(y)
        return left

    def separated(self, x: int, y: int, pool: Iterable[int], always: tuple[int, ...] = ()) -> bool:
        """Whether x and y are independent given ``always`` and some subset of a pool, from which y is left out."""
        least = self.untested([y])
        self.lower(least, x, [v for v in pool if v != y], always)
        return bool(least[y] < 0)


@dataclass(frozen=True)
class SearchByTests(ABC):
    """A search for parents and children by tests; subclasses choose the candidates of a variable.

    Parameters
    ----------
    test : IndependenceTest, default G2Test()
        The test.
    max_conditioning : int, optional
        Maximum number of conditioning variables in a test.

    Raises
    ------
    ValueError
        For a ``max_conditioning`` that is not None or a whole number, 0 or more.
    """

    test: IndependenceTest = field(default_factory=G2Test)
    max_conditioning: int | None = None

    def __post_init__(self) -> None:
        most = self.max_conditioning
        if most is not None and not (isinstance(most, int) and most >= 0):
            raise ValueError(f"max_conditioning must be None or a whole number, 0 or more, not {most!r}")

    def parents_children(self, table: DiscreteTable, target: Hashable) -> tuple[Hashable, ...]:
        """Return the candidates of a variable that have the variable as a candidate, too, in table order.

        Raises
        ------
        ValueError
            If the target is not a variable of the table.
        """
        tester = Tester(table, self.test, self.max_conditioning)
        return symmetric_neighbours(table, target, lambda x: self._candidates(tester, x))

    @abstractmethod
    def _candidates(self, tester: Tester, x: int) -> list[int]:
        """Return the candidates of a variable."""


def symmetric_neighbours(
    table: DiscreteTable, target: Hashable, neighbours: Callable[[int], Iterable[int]]
) -> tuple[Hashable, ...]:
    """Return the neighbours of a variable that have the variable as a neighbour, too, in table order.

    If joblib is configured, its workers search for the neighbours of the neighbours.

    Parameters
    ----------
    table : DiscreteTable
        The rows.
    target : Hashable
        The variable.
    neighbours : callable
        Returns the neighbours of a variable; all variables are given by their positions.

    Raises
    ------
    ValueError
        If the target is not a variable of the table.
    """
    names = table.vocabulary.names
    x = position_of(table, target)
    candidates = sorted(neighbours(x))
    symmetric = spread(_has_neighbour, (neighbours, x), candidates)
    return tuple(names[y] for y, too in zip(candidates, symmetric, strict=True) if too)


def _has_neighbour(shared: tuple[Callable[[int], Iterable[int]], int], y: int) -> bool:
    """Return whether x is a neighbour of y."""
    neighbours, x = shared
    return x in neighbours(y)
