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
    began = time.perf_counter()
    name = class_of(table)
    parents: dict[Hashable, tuple[Hashable, ...]] = dict.fromkeys(table.vocabulary.features, (name,))
    parents[name] = ()
    total = total_score(table, REQUIREMENTS.accept(score), parents)
    return Structure(
        name,
        parents,
        total,
        Certificate(True, total, 0.0, len(parents), time.perf_counter() - began, "naive Bayes: the only structure"),
    )
