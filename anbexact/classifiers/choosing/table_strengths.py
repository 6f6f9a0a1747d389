"""Strengths of hierarchical tables and settings of trees, by cross-validation that learns the structure again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

from anbexact._runtime.advice import heard_once
from anbexact._runtime.deadline import Deadline, abandonable, check_limit, seconds_left
from anbexact._runtime.spread import spread
from anbexact._runtime.warn import warn
from anbexact.models.network.estimation import HIERARCHICAL, TableSettings
from anbexact.models.parameters import strengths, tree_settings
from anbexact.models.parameters.strengths import HeldOutHierarchy, best_strengths
from anbexact.models.parameters.tree_settings import HeldOutTrees, best_settings
from anbexact.models.structure import Structure
from anbexact.scores import Score
from anbexact.tables.table import DiscreteTable

FOLDS = 5
MOST_REPETITIONS = 4
ROWS_TO_PREDICT = 1500
"""Cross-validation in `FOLDS` folds is repeated with other folds until this many rows have been predicted, at most
`MOST_REPETITIONS` times in all: with few rows, the result would depend too much on a single split."""
SHARE_OF_STRUCTURE = 0.5
"""Share of a time limit for the structure of all rows; the rest is for the structures of the folds."""

Learn = Callable[[DiscreteTable, Score, float | None], Structure]
"""Takes rows, a score and a time limit in seconds, and returns a structure."""
Fold = tuple[DiscreteTable, DiscreteTable]
"""Rows to learn from, and rows that are held out."""
Split = Callable[[DiscreteTable, int, int], Sequence[Fold]]
"""Takes the rows, the number of folds, and a seed."""


def time_for_structure(limit: float | None) -> float | None:
    """Return how many seconds of a time limit the structure of all rows may take."""
    check_limit("time_limit", limit)
    return SHARE_OF_STRUCTURE * limit if limit is not None else None


def n_repetitions(table: DiscreteTable) -> int:
    """Return how often the rows are split into folds."""
    return min(ceil(ROWS_TO_PREDICT / max(table.weight_sum, table.n_rows)), MOST_REPETITIONS)


def chosen_strengths(
    table: DiscreteTable,
    structure: Structure,
    learn: Learn | None,
    score: Score,
    deadline: Deadline,
    split: Split,
    rule: str = HIERARCHICAL,
) -> TableSettings:
    """Return the strengths or settings of tables that predict held-out rows best in 5-fold cross-validation.

    The structure was fitted to all rows. If the folds kept it, the other rows would predict each held-out row too
    well, and the tables would be smoothed too little. Every fold therefore learns its own structure. With fewer than
    1,500 rows, this is repeated with other splits, two to four times in all.

    Parameters
    ----------
    table : DiscreteTable
        The rows.
    structure : Structure
        The one whose tables are to be estimated.
    learn : callable, optional
        ``learn(table, score, seconds)`` learns a structure from some of the rows. Without it, and in folds that begin
        after the deadline, ``structure`` is used.
    score : Score
        The score of the structure.
    deadline : Deadline
        After it, no search is started.
    split : callable
        Splits the rows into folds.
    rule : {"hierarchical", "tree"}
        How the tables are estimated.

    Returns
    -------
    Strengths or TreeSettings

    Raises
    ------
    KeyboardInterrupt
        If interrupted, once the current search has ended.

    Warns
    -----
    UserWarning
        If folds use the structure of all rows for lack of time.
    """
    repetitions = n_repetitions(table)
    folds = [fold for seed in range(repetitions) for fold in split(table, FOLDS, seed)]
    jobs = [(len(folds) - number, fold) for number, fold in enumerate(folds)]
    held_out: list[Any] = []
    with abandonable(), heard_once():
        until = Deadline(None, deadline)
        learned_again = 0
        for rows, again in spread(_held_out, (structure, learn, score, until, rule), jobs):
            if until.interrupted:
                raise KeyboardInterrupt
            held_out.append(rows)
            learned_again += again
        if learn is not None and learned_again < len(folds):
            warn(
                f"within time_limit, the structure was learned again in {learned_again} of {len(folds)} folds only: "
                "the tables may be smoothed too little"
            )
        if rule == HIERARCHICAL:
            return best_strengths(held_out, structure, repetitions)
        return best_settings(held_out)


def _held_out(
    shared: tuple[Structure, Learn | None, Score, Deadline, str], job: tuple[int, Fold]
) -> tuple[HeldOutHierarchy | HeldOutTrees, bool]:
    """Return the held-out rows of a fold with the structure of the others, and whether that was learned again.

    The job is the number of folds that are left, this one included, and the fold.
    """
    structure, learn, score, deadline, rule = shared
    left, (rows, others) = job
    again = learn is not None and not deadline.passed
    if learn is not None and again:
        structure = learn(rows, score, seconds_left(deadline.within(deadline.left / left)))
    if rule == HIERARCHICAL:
        return HeldOutHierarchy(rows, others, structure, strengths.MOST_CELLS // FOLDS), again
    return HeldOutTrees(rows, others, structure, tree_settings.MOST_CELLS // FOLDS), again
