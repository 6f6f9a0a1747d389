"""How the conditional tables of a network follow from its counts."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import joblib

from anbexact.models.parameters.counts import Counts
from anbexact.models.parameters.hierarchical import Strengths, hierarchical_tables
from anbexact.models.parameters.tables import Tables, acll_tables, eap_tables, friedman_tables, ml_tables
from anbexact.scores import ACLL

ESTIMATES = ("eap", "ml", "friedman", "acll", "hierarchical")
"""How conditional tables can be estimated."""
HIERARCHICAL = "hierarchical"


@dataclass(frozen=True)
class Estimation:
    """How the conditional tables of a network were estimated from its counts.

    Attributes
    ----------
    score : Score
        The score of the structure.
    ess : float
        Equivalent sample size of the score.
    smoothing : float
        Equivalent sample size of the tables, for the rule ``"eap"``.
    rule : {"eap", "ml", "friedman", "acll", "hierarchical"}
        How the tables are estimated; see ``parameters`` of :class:`~anbexact.NetworkClassifier`.
    strengths : Strengths
        How strongly the rows of every table are shrunk, for the rule ``"hierarchical"``; see
        :mod:`anbexact.models.parameters.hierarchical`.
    """

    score: Any
    ess: float
    smoothing: float
    rule: str = "eap"
    strengths: Strengths = field(default_factory=Strengths)

    def same_as(self, other: Estimation) -> bool:
        """Whether another estimation gives the same tables and scores.

        Scores that do not define ``==`` are the same if their classes and attributes are.
        """
        by_identity = getattr(type(self.score), "__eq__", None) is object.__eq__
        if self == other or not by_identity or type(self.score) is not type(other.score):
            return self == other
        same_attributes = joblib.hash(vars(self.score)) == joblib.hash(vars(other.score))
        return same_attributes and replace(self, score=None) == replace(other, score=None)

    def tables(self, counts: Counts, class_name: Hashable) -> Tables:
        """Return the conditional tables that follow from counts."""
        if self.rule == "ml":
            return ml_tables(counts)
        if self.rule == "friedman":
            return friedman_tables(counts)
        if self.rule == HIERARCHICAL:
            return hierarchical_tables(counts, class_name, self.strengths)
        if self.rule == "acll":
            score = ACLL.of(self.score)
            return acll_tables(counts, class_name, score.prior, score.pseudo_count)
        return eap_tables(counts, self.smoothing)
