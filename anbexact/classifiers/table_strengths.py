"""The strengths of hierarchical tables, chosen in folds of the rows in which the structure is learned again."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from anbexact._runtime.advice import heard_once
from anbexact._runtime.deadline import Deadline, abandonable, seconds_left
from anbexact._runtime.spread import spread
from anbexact.parameters.hierarchical import Strengths
from anbexact.parameters.strengths import MOST_CELLS, HeldOutHierarchy, best_strengths
from anbexact.scores import Score
from anbexact.structures.structure import Structure
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable

FOLDS = 5
MOST_REPETITIONS = 4
ROWS_TO_PREDICT = 4000
"""Rows are split into folds again, up to `MOST_REPETITIONS` times, until this many are predicted. With few rows, the
result would depend on a single split."""

Learn = Callable[[DiscreteTable, Score, float | None], Structure]


def chosen_strengths(
    table: DiscreteTable, structure: Structure, learn: Learn | None, score: Score, deadline: Deadline
) -> Strengths:
    """Return the strengths with which rows are predicted best from the other rows, in 5 folds.

    The structure was fitted to all rows. If it were kept, each row would be predicted too well by the others, and the
    tables would be smoothed too little. It is therefore learned again without the rows of every fold. With fewer than
    4,000 rows, they are split two to four times.

    Parameters
    ----------
    table : DiscreteTable
        The rows.
    structure : Structure
        The one whose tables are to be estimated.
    learn : callable, optional
        ``learn(table, score, seconds)`` returns a structure of some of the rows. Without it, and for the folds that
        are left when the time has run out, the structure of all rows is taken.
    score : Score
        The score of the structure.
    deadline : Deadline
        After it, no search is started.

    Raises
    ------
    KeyboardInterrupt
        If interrupted, once the current search has ended.
    """
    n_rows = max(table.weight_sum, len(table.codes))
    repetitions = min(ceil(ROWS_TO_PREDICT / n_rows), MOST_REPETITIONS)
    folds = [fold for seed in range(repetitions) for fold in split_table(table, FOLDS, seed)]
    with abandonable(), heard_once():
        held_out = list(spread(_held_out, (structure, learn, score, deadline), folds))
        return best_strengths(held_out, structure, repetitions)


def _held_out(
    shared: tuple[Structure, Learn | None, Score, Deadline], fold: tuple[DiscreteTable, DiscreteTable]
) -> HeldOutHierarchy:
    """Return the rows of a fold, with the structure that is learned from the others."""
    structure, learn, score, deadline = shared
    rows, others = fold
    if learn is not None and not deadline.passed:
        structure = learn(rows, score, seconds_left(deadline))
    return HeldOutHierarchy(rows, others, structure, MOST_CELLS // FOLDS)
