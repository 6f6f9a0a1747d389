"""How the conditional tables of a network follow from its counts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

import joblib

from anbexact._runtime.json_checks import listed, mapped, number, text
from anbexact.models.parameters.counts import Counts
from anbexact.models.parameters.hierarchical import Strengths, hierarchical_tables
from anbexact.models.parameters.tables import Tables, acll_tables, eap_tables, friedman_tables, ml_tables
from anbexact.models.parameters.trees import TreeSettings, tree_tables
from anbexact.scores import ACLL
from anbexact.tables.prediction import check_choice

ESTIMATES = ("eap", "ml", "friedman", "acll", "hierarchical", "tree")
"""How conditional tables can be estimated."""
HIERARCHICAL, TREE = "hierarchical", "tree"
CROSS_VALIDATED = (HIERARCHICAL, TREE)
"""Rules whose settings are chosen by predicting held-out rows."""
TableSettings: TypeAlias = Strengths | TreeSettings
"""What such rules choose; for other rules, `Strengths` without any variable."""


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
    rule : {"eap", "ml", "friedman", "acll", "hierarchical", "tree"}
        How the tables are estimated; see ``parameters`` of :class:`~anbexact.NetworkClassifier`.
    strengths : Strengths or TreeSettings
        How strongly the rows of every table are shrunk, for the rule ``"hierarchical"``; see
        :mod:`anbexact.models.parameters.hierarchical`. For the rule ``"tree"``, the settings of the trees; see
        :mod:`anbexact.models.parameters.trees`.
    class_smoothing : float or None
        Equivalent sample size of the table of the class alone, for the rule ``"eap"``; None: ``smoothing``.
    """

    score: Any
    ess: float
    smoothing: float
    rule: str = "eap"
    strengths: TableSettings = field(default_factory=Strengths)
    class_smoothing: float | None = None

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
            return hierarchical_tables(counts, class_name, cast(Strengths, self.strengths))
        if self.rule == TREE:
            return tree_tables(counts, class_name, cast(TreeSettings, self.strengths))
        if self.rule == "acll":
            score = ACLL.of(self.score)
            return acll_tables(counts, class_name, score.prior, score.pseudo_count)
        tables = eap_tables(counts, self.smoothing)
        if self.class_smoothing is not None:
            tables |= eap_tables({class_name: counts[class_name]}, self.class_smoothing)
        return tables

    def to_dict(self, counts: Counts) -> dict[str, Any]:
        """Return the JSON form, without the score; strengths are in the order of the counts."""
        own: dict[str, Any] = {}
        if isinstance(self.strengths, TreeSettings):
            own = {"tree": self.strengths.to_dict()}
        elif self.strengths.of_variables:
            of_variables = self.strengths.of_variables
            own = {"strengths": [list(of_variables[name]) for name in counts], "exponent": self.strengths.exponent}
        return {
            "ess": self.ess,
            "smoothing": self.smoothing,
            "tables_by": self.rule,
            **({} if self.class_smoothing is None else {"class_smoothing": self.class_smoothing}),
            **own,
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any], counts: Counts, score_of: Callable[[float], Any]) -> Estimation:
        """Return the estimation that :meth:`to_dict` described; ``score_of(ess)`` is its score.

        Raises
        ------
        ValueError
            For a number out of range, another rule, or strengths or settings of trees that do not fit the rule and
            the counts.
        """
        ess, smoothing = number(described["ess"], above=0), number(described["smoothing"], above=0)
        rule = text(described["tables_by"])
        check_choice("tables_by", rule, ESTIMATES)
        if (rule == HIERARCHICAL) != ("strengths" in described):
            raise ValueError(f"tables by {rule!r} {'have' if rule == HIERARCHICAL else 'do not have'} strengths")
        own = number(described["class_smoothing"], above=0) if "class_smoothing" in described else None
        if (rule == TREE) != ("tree" in described):
            raise ValueError(f"tables by {rule!r} {'have' if rule == TREE else 'do not have'} settings of trees")
        strengths: TableSettings = Strengths()
        if rule == TREE:
            strengths = TreeSettings.from_dict(mapped(described["tree"]))
        elif rule == HIERARCHICAL:
            of_variables = {
                family.name: tuple(number(one, above=0) for one in listed(of_family, len(family.shape)))
                for family, of_family in zip(
                    counts.values(), listed(described["strengths"], len(counts)), strict=True
                )
            }
            exponent = number(described.get("exponent", 0.0), least=0.0)  # files of earlier versions have none
            strengths = Strengths(of_variables, exponent)
        return cls(score_of(ess), ess, smoothing, rule, strengths, own)
