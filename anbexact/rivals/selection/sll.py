"""Score-based local learning of parents and children, by exact networks over few variables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace

from anbexact.rivals.selection.search_by_tests import symmetric_neighbours
from anbexact.scores import BDeu, Score
from anbexact.search.exact.learn import learn_gbn
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary


@dataclass(frozen=True)
class SLL:
    """Score-based local learning of the parents and children of a variable.

    Each other variable, in table order, is added to the target and its current neighbours. The target's neighbours in
    the highest-scoring network over these few variables become its current neighbours. Finally, only those neighbours
    are kept for which the same search finds the target.

    The exact search includes all neighbours at once: time and memory grow as ``k 2ᵏ`` with their number k.

    Parameters
    ----------
    score : Score, default BDeu()
        The score; see :func:`~anbexact.learn_gbn`.

    References
    ----------
    Niinimäki and Parviainen, *Local structure discovery in Bayesian networks*, UAI 2012.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.selection import SLL
    >>> SLL().parents_children(DiscreteTable.from_frame(*load_monks(1)), "is_monk")
    ('jacket_color',)
    """

    score: Score = field(default_factory=BDeu)

    def parents_children(self, table: DiscreteTable, target: Hashable) -> tuple[Hashable, ...]:
        """Return the parents and children of a variable, in table order.

        Raises
        ------
        ValueError
            If the target is not a variable of the table.
        TypeError, SearchTooLargeError
            As :func:`~anbexact.learn_gbn`.
        """
        learn = LocalNetworks(table, self.score)
        n = len(table.vocabulary.names)
        return symmetric_neighbours(table, target, lambda x: potential_neighbours(n, x, learn))


Parents = Mapping[int, tuple[int, ...]]
"""The parents of every variable of a network; variables by their positions in the table."""


class LocalNetworks:
    """The networks of highest score over some of the variables of a table, each of which is learned once."""

    def __init__(self, table: DiscreteTable, score: Score) -> None:
        self._table, self._score = table, score
        self._learned: dict[frozenset[int], Parents] = {}

    def __call__(self, members: frozenset[int]) -> Parents:
        if members not in self._learned:
            self._learned[members] = self._learn(members)
        return self._learned[members]

    def _learn(self, members: frozenset[int]) -> Parents:
        names = self._table.vocabulary.names
        position = {name: v for v, name in enumerate(names)}
        own = self._table.restricted(names[v] for v in members)
        own = replace(own, vocabulary=Vocabulary(own.vocabulary.states, own.vocabulary.names[-1]))
        parents = learn_gbn(own, self._score).parents
        return {
            position[child]: tuple(position[name] for name in child_parents)
            for child, child_parents in parents.items()
        }


def neighbours(parents: Parents, x: int) -> frozenset[int]:
    """Return the parents and children of a variable in a network."""
    return frozenset(parents[x]) | {child for child, child_parents in parents.items() if x in child_parents}


def potential_neighbours(n: int, x: int, learn: Callable[[frozenset[int]], Parents]) -> frozenset[int]:
    """Return the neighbours of one of n variables, without the correction for symmetry."""
    found: frozenset[int] = frozenset()
    for y in range(n):
        if y != x:
            found = neighbours(learn(found | {x, y}), x)
    return found
