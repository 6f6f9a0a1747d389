"""The equivalent sample sizes of a network: of the score that chooses its structure, and of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf

import numpy as np

from anbexact._runtime.limits import Deadline, abandonable, check_limit, heard_once, seconds_left
from anbexact.parameters.smoothing import HeldOut, best_held_out_smoothing, best_smoothing, most_smoothing
from anbexact.scores import Score
from anbexact.search.ess import learn_with_best_ess
from anbexact.structures.structure import Structure
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable

FEW_ROWS = 1000.0
"""Total weight below which equivalent sample sizes are cross-validated."""
FOLDS = 5
SHARE_OF_CHOICE = 0.5
"""Part of a time limit within which equivalent sample sizes are chosen, where quicker searches choose them."""

TIE = 1e-9
"""Nats per row by which one equivalent sample size must predict better than the one before it."""

Learn = Callable[[DiscreteTable, Score, float | None], Structure]


@dataclass(frozen=True)
class Learner:
    """How a classifier learns structures, and what there is to choose.

    Attributes
    ----------
    learn : callable
        ``learn(table, score, seconds)`` returns the structure to be used.
    rehearse : callable
        The same, for structures that only serve to choose equivalent sample sizes: a quicker search where ``learn``
        may take long.
    score : callable
        Takes an equivalent sample size and returns the score, which may be one that has none.
    chooses_ess, chooses_smoothing : bool
        Whether the equivalent sample size of the score, and that of the tables, is to be chosen.
    validates : bool
        Whether structures may be learned again in folds of the rows.
    """

    learn: Learn
    rehearse: Learn
    score: Callable[[float], Score]
    chooses_ess: bool
    chooses_smoothing: bool
    validates: bool


@dataclass(frozen=True)
class Learned:
    """A structure, and the equivalent sample sizes of its score and of its tables."""

    structure: Structure
    ess: float
    smoothing: float


def learn_structure(
    table: DiscreteTable, learner: Learner, ess: float, smoothing: float | None, time_limit: float | None
) -> Learned:
    """Learn a structure, and choose the equivalent sample sizes that the learner leaves open.

    That of the score is the one of the highest marginal likelihood
    (:func:`~anbexact.search.ess.learn_with_best_ess`), that of the tables the one that predicts every row best from
    the others (:func:`~anbexact.parameters.smoothing.best_smoothing`). Both judge by rows to which the structure was
    fitted. Where rows are few, this favours structures with too many arcs and tables with too little smoothing. Below
    a total weight of 1,000, structures are therefore learned again in 5 folds, and the rows that are held out are
    predicted by tables of 16 equivalent sample sizes. The best of these is taken for the tables, and ``ess`` is taken
    for the score if it predicts better than the choice by marginal likelihood.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    learner : Learner
        How structures are learned, and what is chosen.
    ess : float
        The equivalent sample size of the score; one of two to choose from if the learner leaves it open.
    smoothing : float, optional
        That of the tables, unless the learner leaves it open; None stands for that of the score.
    time_limit : float, optional
        Seconds for everything. A choice for which the time does not suffice is not made.

    Raises
    ------
    KeyboardInterrupt
        When interrupted while there is a choice to make, once the search under way has ended.
    """
    if not (learner.chooses_ess or learner.chooses_smoothing):
        structure = learner.learn(table, learner.score(ess), time_limit)
        return Learned(structure, ess, ess if smoothing is None else smoothing)
    check_limit("time_limit", time_limit)
    deadline = Deadline(time_limit)
    rehearses = learner.rehearse != learner.learn
    with abandonable(), heard_once():
        choosing = deadline.within(SHARE_OF_CHOICE * deadline.left) if rehearses else deadline
        found = _candidates(table, learner, ess, choosing)
        size, smoothed = next(iter(found)), smoothing
        if learner.validates and table.weight_sum < FEW_ROWS and not choosing.passed:
            size, smoothed = _cross_validated(table, learner, found, smoothing, choosing)
        known = None if rehearses else found[size]
        structure = known or learner.learn(table, learner.score(size), seconds_left(deadline))
        if smoothed is None:
            smoothed = best_smoothing(table, structure) if learner.chooses_smoothing else size
    return Learned(structure, size, smoothed)


def _candidates(
    table: DiscreteTable, learner: Learner, ess: float, deadline: Deadline
) -> dict[float, Structure | None]:
    """Return the equivalent sample sizes of the score to choose from, the first by default, with their structures."""
    if not learner.chooses_ess:
        return {ess: None}
    structure, score = learn_with_best_ess(table, learner.rehearse, seconds_left(deadline))
    found: dict[float, Structure | None] = {score.ess: structure}
    if learner.validates and table.weight_sum < FEW_ROWS and not deadline.passed:
        other = learner.rehearse(table, learner.score(ess), seconds_left(deadline))
        if other.parents != structure.parents:
            found[ess] = other
    return found


def _cross_validated(
    table: DiscreteTable,
    learner: Learner,
    sizes: Iterable[float],
    smoothing: float | None,
    deadline: Deadline,
) -> tuple[float, float | None]:
    """Return the equivalent sample sizes of score and tables that predict held-out rows best.

    Of the score, the first of equally good ones. If time runs out, the first, and the given one of the tables.
    """
    sizes = tuple(sizes)
    folds = split_table(table, FOLDS)
    best = -inf, sizes[0], smoothing
    if not folds:  # all weight is on one row
        return sizes[0], smoothing
    for size in sizes:
        held_out = []
        for rows, others in folds:
            if deadline.passed:
                return sizes[0], smoothing
            structure = learner.rehearse(rows, learner.score(size), seconds_left(deadline))
            held_out.append(HeldOut(rows, others, structure))
        if learner.chooses_smoothing:
            smoothed, value = best_held_out_smoothing(held_out, most_smoothing(table))
        else:
            smoothed = size if smoothing is None else smoothing
            value = float(sum(fold.log_likelihoods(np.array([smoothed]))[0] for fold in held_out))
        if value > best[0] + TIE * table.weight_sum:
            best = value, size, smoothed
    return best[1], best[2]
