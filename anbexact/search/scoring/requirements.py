"""What searches require of a score, as data, and the one check of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anbexact.scores import BDeu


@dataclass(frozen=True)
class SearchRequirements:
    """What a search requires of a score.

    Attributes
    ----------
    search : str
        The name of the search, for messages.
    decomposable : bool
        Whether it adds up local scores, so that a score of whole structures (a true attribute ``conditional``, as
        :class:`~anbexact.scores.CLL` has it) is of no use.
    class_free : bool
        Whether the class is a variable like all others, so that a score which needs the class among the parents of
        every feature (a true attribute ``needs_class``, as :class:`~anbexact.scores.ACLL` has it) is of no use.
    """

    search: str
    decomposable: bool = True
    class_free: bool = False

    def accept(self, score: Any) -> Any:
        """Return the score, ``BDeu()`` for None.

        Raises
        ------
        TypeError
            If the score does not meet the requirements; the message says why, and which scores do.
        """
        if score is None:
            return BDeu()
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
