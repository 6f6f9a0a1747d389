"""The parents and children in the score-based simultaneous search for the Markov blanket."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from anbexact.rivals.selection.independence_tests import position_of
from anbexact.rivals.selection.sll import LocalNetworks, neighbours, potential_neighbours
from anbexact.scores import BDeu, Score
from anbexact.tables.table import DiscreteTable


@dataclass(frozen=True)
class S2TMB:
    """The parents and children of the Markov blanket search S²TMB.

    The search starts like :class:`~anbexact.selection.SLL`, without its last step. Then each variable that is not
    among the neighbours found is added to the target, its current neighbours and its current spouses (other parents
    of children). The target's neighbours and spouses in the highest-scoring network over these variables become the
    current ones. This removes descendants that only a spouse separates from the target, so no search from other
    variables is needed.

    The exact search includes all neighbours and spouses at once: time and memory grow as ``k 2ᵏ`` with their number
    k.

    Parameters
    ----------
    score : Score, default BDeu()
        The score; see :func:`~anbexact.learn_gbn`.

    References
    ----------
    Gao and Ji, *Efficient score-based Markov blanket discovery*, International Journal of Approximate Reasoning 80
    (2017).

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.selection import S2TMB
    >>> S2TMB().parents_children(DiscreteTable.from_frame(*load_monks(1)), "is_monk")
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
        names = table.vocabulary.names
        x = position_of(table, target)
        learn = LocalNetworks(table, self.score)
        found = potential_neighbours(len(names), x, learn)
        spouses: frozenset[int] = frozenset()
        for y in sorted(set(range(len(names))) - found - {x}):
            parents = learn(found | spouses | {x, y})
            found = neighbours(parents, x)
            of_children = frozenset(
                v for child_parents in parents.values() if x in child_parents for v in child_parents
            )
            spouses = of_children - found - {x}
        return tuple(names[v] for v in sorted(found))
