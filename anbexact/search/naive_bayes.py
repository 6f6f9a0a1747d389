"""The naive Bayes structure, which needs no search."""

from __future__ import annotations

import time
from collections.abc import Hashable

from anbexact.models.structure import Certificate, Structure
from anbexact.scores import Score
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.search.scoring.totals import class_of, total_score
from anbexact.tables.table import DiscreteTable

REQUIREMENTS = SearchRequirements("learn_naive_bayes")


def learn_naive_bayes(table: DiscreteTable, score: Score | None = None) -> Structure:
    """Return the structure in which the class is the only parent of every feature.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    score : Score, default BDeu()
        The score that is reported for the structure; it has no influence on the structure.

    Returns
    -------
    Structure
        Trivially optimal, because no other structure is admitted.
    """
    class_of(table)
    return without_feature_arcs(table, REQUIREMENTS.accept(score))


def without_feature_arcs(table: DiscreteTable, score: Score) -> Structure:
    """Return the structure without arcs between features: naive Bayes, or no arcs at all without a class.

    Parameters
    ----------
    table : DiscreteTable
        A table in which the search admits no other structure.
    score : Score
        The score that is reported.
    """
    began = time.perf_counter()
    common = table.vocabulary.common_parents
    parents: dict[Hashable, tuple[Hashable, ...]] = dict.fromkeys(table.vocabulary.features, common)
    parents |= dict.fromkeys(common, ())
    total = total_score(table, score, parents)
    method = "naive Bayes: the only structure" if common else "no arcs: the only structure"
    certificate = Certificate(True, total, 0.0, len(parents), time.perf_counter() - began, method)
    return Structure(table.vocabulary.class_name, parents, total, certificate)
