"""The class of a table, and total scores of structures."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from anbexact._runtime.deadline import Deadline
from anbexact.scores import Score
from anbexact.scores.capabilities import has_set_scores
from anbexact.search.scoring.pair_scores import FamilyScorer
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
    if has_set_scores(score):
        at_once = _of_sets(table, score, parents)
        if at_once is not None:  # an interrupt ends what is computed at once, but the best structure is returned
            return at_once
    return sum_of_local_scores(table, score, parents)


def sum_of_local_scores(table: DiscreteTable, score: Score, parents: dict[Hashable, tuple[Hashable, ...]]) -> float:
    """Return the same as :func:`total_score`, from one local score after the other, as the score computes them."""
    table.foresee([child, *child_parents] for child, child_parents in parents.items())
    return float(sum(score.local_score(table, child, child_parents) for child, child_parents in parents.items()))


def _of_sets(table: DiscreteTable, score: Score, parents: dict[Hashable, tuple[Hashable, ...]]) -> float | None:
    """Return the sum of F(child and parents) - F(parents), all computed at once; None after an interrupt."""
    place = {name: k for k, name in enumerate(table.vocabulary.names)}
    sets = [[place[name] for name in own] for own in parents.values()]
    sets += [[place[child], *own] for child, own in zip(parents, sets, strict=True)]
    members = np.full((len(sets), max(map(len, sets), default=0)), -1)
    for row, own in zip(members, sets, strict=True):
        row[len(row) - len(own) :] = sorted(own)
    scores = FamilyScorer(table, score, 1, Deadline()).set_scores(members, "total score", None)
    return None if scores is None else float((scores[len(parents) :] - scores[: len(parents)]).sum())
