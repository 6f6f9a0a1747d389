"""The class of a table, and total scores of structures."""

from __future__ import annotations

from collections.abc import Hashable

from anbexact.scores import Score
from anbexact.tables.table import DiscreteTable


def class_of(table: DiscreteTable) -> Hashable:
    """Return the class variable of a table; refuse a table that has none."""
    name = table.vocabulary.class_name
    if name is None:
        raise ValueError(
            "the table has no class variable: pass y or class_name= when you make the table (learn_gbn, learn_tan, "
            "learn_fan, learn_ckg and learn_greedy_gbn also learn networks without a class)"
        )
    return name


def total_score(table: DiscreteTable, score: Score, parents: dict[Hashable, tuple[Hashable, ...]]) -> float:
    """Return the sum of the local scores of all variables; total in nats."""
    table.foresee([child, *child_parents] for child, child_parents in parents.items())
    return float(sum(score.local_score(table, child, child_parents) for child, child_parents in parents.items()))
