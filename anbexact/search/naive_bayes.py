"""The naive Bayes structure: nothing to search."""

from __future__ import annotations

import time
from collections.abc import Hashable

from anbexact.scores import BDeu, Score
from anbexact.structures.structure import Certificate, Structure
from anbexact.tables.table import DiscreteTable


def class_of(table: DiscreteTable) -> Hashable:
    """Return the class variable of a table; refuse a table that has none."""
    name = table.vocabulary.class_name
    if name is None:
        raise ValueError("the table has no class: pass y, or class_name=, when it is made")
    return name


def check_class_free(search: str, score: Score) -> None:
    """Refuse a score for which the class is no variable like all others."""
    if getattr(score, "needs_class", False):
        raise TypeError(
            f"{search} takes the class for a variable like all others, but {score.name} needs it among the parents "
            "of every feature: use another score, such as BDeu or BIC, or learn an augmented naive Bayes"
        )


def learn_naive_bayes(table: DiscreteTable, score: Score | None = None) -> Structure:
    """Return the structure in which the class is the only parent of every feature.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    score : Score, default BDeu()
        Scores the structure; it does not influence it.

    Returns
    -------
    Structure
        Trivially optimal: it is the only admitted one.
    """
    began = time.perf_counter()
    name = class_of(table)
    parents: dict[Hashable, tuple[Hashable, ...]] = dict.fromkeys(table.vocabulary.features, (name,))
    parents[name] = ()
    total = total_score(table, BDeu() if score is None else score, parents)
    return Structure(
        name,
        parents,
        total,
        Certificate(True, total, 0.0, len(parents), time.perf_counter() - began, "naive Bayes: the only structure"),
    )


def total_score(table: DiscreteTable, score: Score, parents: dict[Hashable, tuple[Hashable, ...]]) -> float:
    """Return the sum of the local scores of all variables; total in nats."""
    return sum(score.local_score(table, child, of_child) for child, of_child in parents.items())
