"""The requirements of searches on a score, and the function that checks them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anbexact.scores import BDeu
from anbexact.tables.table import DiscreteTable


@dataclass(frozen=True)
class SearchRequirements:
    """The requirements of a search on a score.

    Attributes
    ----------
    search : str
        The name of the search, for messages.
    decomposable : bool
        Whether the search adds up local scores and therefore cannot use a score of whole structures (with an
        attribute ``conditional`` of True, as in :class:`~anbexact.scores.CLL`).
    class_free : bool
        Whether the search treats the class like any other variable and therefore cannot use a score that needs the
        class among the parents of every feature (with an attribute ``needs_class`` of True, as in
        :class:`~anbexact.scores.ACLL`).
    """

    search: str
    decomposable: bool = True
    class_free: bool = False

    def accept(self, score: Any, table: DiscreteTable | None = None) -> Any:
        """Return the score, ``BDeu()`` for None.

        Parameters
        ----------
        score : object
            The score, or None.
        table : DiscreteTable, optional
            The table to be searched, where it may have no class.

        Raises
        ------
        TypeError
            If the score does not meet the requirements; the message says why, and which scores do.
        ValueError
            If the score needs a class and the table has none.
        """
        if score is None:
            return BDeu()
        needs_class = getattr(score, "needs_class", False) or getattr(score, "conditional", False)
        if table is not None and table.vocabulary.class_name is None and needs_class:
            raise ValueError(
                f"{score.name} needs a class, but the table has no class variable: pass y or class_name= when you "
                "make the table, or use another score, such as BDeu or BIC"
            )
        if self.decomposable and getattr(score, "conditional", False):
            raise TypeError(
                f"{score.name} is a score of whole structures: it has no local scores, which {self.search} requires. "
                "Use it with learn_greedy_gbn or GreedyGBNClassifier, or use a score such as BDeu"
            )
        if self.class_free and getattr(score, "needs_class", False):
            raise TypeError(
                f"{self.search} treats the class as a variable like all others, but {score.name} needs it among the "
                "parents of every feature: use another score, such as BDeu or BIC, or learn an augmented naive Bayes"
            )
        return score
