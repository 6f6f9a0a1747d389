"""The equivalent sample sizes of a network: of the score that chooses its structure, and of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isinf
from typing import Any

import numpy as np

from anbexact._runtime.advice import advise, heard_once
from anbexact._runtime.deadline import Deadline, abandonable, check_limit, seconds_left
from anbexact._runtime.progress import several_searches
from anbexact._runtime.spread import spread, worker_count
from anbexact.classifiers.choosing.frequencies import FEW_ROWS, FOLDS, MARGIN_NATS, compare_folds, smoothing_compared
from anbexact.models.network.estimation import TableSettings
from anbexact.models.parameters.smoothing import (
    HeldOut,
    HeldOutFolds,
    best_held_out_smoothing,
    best_smoothing,
    most_repetitions,
    most_smoothing,
    second_held_out_smoothing,
)
from anbexact.models.structure import Structure
from anbexact.scores import BDeu, Score
from anbexact.search.advice import LONG_SEARCH, long_choice
from anbexact.search.ess import MOST_SEARCHES, START_ESS, climb_in_ess
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable

SHARE_OF_CHOICE = 0.5
"""Share of a time limit for choosing equivalent sample sizes, if searches quicker than the last one choose them."""
TIE_NATS = 1e-9
"""Nats per row by which one equivalent sample size must predict better than the one before it: above rounding."""

Learn = Callable[[DiscreteTable, Score, float | None], Structure]
"""Takes rows, a score and a time limit in seconds, and returns a structure."""
Fold = tuple[DiscreteTable, Any]
"""Rows to learn from, and rows that are held out."""


@dataclass(frozen=True)
class Validation:
    """How rows are held out to choose from.

    Attributes
    ----------
    split : callable
        ``split(table, folds)`` returns, for every fold, the rows to learn from and those that are held out.
    held_out : callable
        ``held_out(rows, others, structure)`` returns an object that predicts the others, like :class:`HeldOut`.
    best_smoothing : callable
        ``best_smoothing(table, structure)`` returns the equivalent sample size of tables if no rows are held out.
    complete : bool
        Whether the rows have no missing cells, so that they are held out as :data:`PLAIN` does.
    """

    split: Callable[[DiscreteTable, int], Sequence[Fold]] = split_table
    held_out: Callable[[DiscreteTable, Any, Structure], Any] = HeldOut
    best_smoothing: Callable[[DiscreteTable, Structure], float] = best_smoothing
    complete: bool = True


PLAIN = Validation()
"""How complete rows are held out."""


@dataclass(frozen=True)
class Search:
    """A search for structures.

    Attributes
    ----------
    learn : callable
        ``learn(table, score, seconds)`` returns the structure to be used.
    rehearse : callable
        The same, for structures that only serve to choose something: a quicker search if ``learn`` may take long.
    max_parents : int or None
        The limit on parents with which the search was compared with others; None: the classifier's own.
    """

    learn: Learn
    rehearse: Learn
    max_parents: int | None = None


@dataclass(frozen=True)
class Learner:
    """How a classifier learns structures, and what remains to be chosen.

    Attributes
    ----------
    search : Search
        The search that is used if structures are not learned again in folds.
    compared : tuple of Search
        The searches of which one is used otherwise: the first, unless one of the others, which allow fewer and fewer
        parents, predicts better.
    score : callable
        Takes an equivalent sample size and returns the score, which may ignore it.
    chooses_ess, chooses_smoothing : bool
        Whether the equivalent sample sizes of the score and of the tables are to be chosen.
    validates : bool
        Whether structures may be learned again in folds of the rows.
    validation : Validation
        How rows are held out.
    sharing : callable or None
        ``sharing(table, parts)`` returns ``compared`` with quicker rehearsals for this table and parts of its rows,
        which share what they compute; or None if these tables have no such rehearsals.
    """

    search: Search
    compared: tuple[Search, ...]
    score: Callable[[float], Score]
    chooses_ess: bool
    chooses_smoothing: bool
    validates: bool
    validation: Validation = PLAIN
    sharing: Callable[[DiscreteTable, Sequence[DiscreteTable]], tuple[Search, ...] | None] | None = None

    def shared(self, table: DiscreteTable, folds: Sequence[Fold]) -> Learner:
        """Return the learner for a table and its folds whose rehearsals and predictions share what they compute.

        On joblib's workers, which do not share memory, nothing is shared.
        """
        if not folds or not self.validation.complete or worker_count() > 1:
            return self
        validation = replace(self.validation, held_out=HeldOutFolds(folds))
        compared = self.sharing(table, [rows for rows, _ in folds]) if self.sharing is not None else None
        return replace(self, validation=validation, compared=self.compared if compared is None else compared)


@dataclass(frozen=True)
class Learned:
    """A structure, the equivalent sample sizes of its score and of its tables, and the search that found it.

    ``class_smoothing`` is the equivalent sample size of the table of the class, if it has one of its own.
    """

    structure: Structure
    ess: float
    smoothing: float
    search: Search
    class_smoothing: float | None = None


@dataclass(frozen=True)
class Choices:
    """What a fit chose from its rows besides cut points and structure, so that other rows can be fitted alike.

    Attributes
    ----------
    ess, smoothing, class_smoothing : float, float, float or None
        The equivalent sample sizes; see :class:`Learned`.
    max_parents : int or None
        The limit on parents that was chosen; None: the classifier's own.
    strengths : Strengths or TreeSettings
        The strengths of hierarchical tables, or the settings of trees.
    """

    ess: float
    smoothing: float
    class_smoothing: float | None
    max_parents: int | None
    strengths: TableSettings

    @classmethod
    def of(cls, learned: Learned, strengths: TableSettings) -> Choices:
        """Return the choices of a fit, given what was learned and the strengths of its tables."""
        limit = learned.search.max_parents
        return cls(learned.ess, learned.smoothing, learned.class_smoothing, limit, strengths)

    def repeated(
        self, search: Search, score: Callable[[float], Score], table: DiscreteTable, time_limit: float | None = None
    ) -> Learned:
        """Return a structure that a search learns from other rows, with the same equivalent sample sizes."""
        structure = search.learn(table, score(self.ess), time_limit)
        return Learned(structure, self.ess, self.smoothing, search, self.class_smoothing)


def learn_structure(
    table: DiscreteTable, learner: Learner, ess: float, smoothing: float | None, time_limit: float | None
) -> Learned:
    """Learn a structure, and choose the equivalent sample sizes that the learner leaves open.

    The value for the score is the one with the highest marginal likelihood
    (:func:`~anbexact.search.ess.climb_in_ess`). The value for the tables is the one that predicts every row
    best from the others (:func:`~anbexact.models.parameters.smoothing.best_smoothing`). Both criteria use rows to
    which the structure was fitted. With few rows, this favours structures with too many arcs and tables with too
    little smoothing. Below a total weight of 1,000, structures are therefore learned again in 5 folds, and the rows
    that are held out are predicted by tables of 16 equivalent sample sizes. The best of these is used for the tables,
    and ``ess`` is used for the score if it predicts better than the choice by marginal likelihood.

    If the rows of the table are in groups, the same is done with any number of rows: a row could be predicted too
    well from others of its group.

    If rows are then predicted worse than by the frequencies of the classes, the tables are smoothed beyond the total
    weight if this predicts better (:func:`~anbexact.models.parameters.smoothing.second_smoothing`).

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    learner : Learner
        How structures are learned, and what is chosen.
    ess : float
        The equivalent sample size of the score; one of two to choose from if the learner leaves it open.
    smoothing : float, optional
        The equivalent sample size of the tables, unless the learner leaves it open; None: the same as for the score.
    time_limit : float, optional
        Total time limit in seconds. Choices that would take longer are skipped.

    Raises
    ------
    KeyboardInterrupt
        If interrupted during a choice, once the current search has ended.

    Warns
    -----
    UserWarning
        If the held-out rows are predicted worse than by the frequencies of the classes with usual smoothing.
    """
    if not (learner.chooses_ess or learner.chooses_smoothing):
        structure = learner.search.learn(table, learner.score(ess), time_limit)
        return Learned(structure, ess, ess if smoothing is None else smoothing, learner.search)
    check_limit("time_limit", time_limit)
    deadline = Deadline(time_limit)
    few = learner.validates and (table.weight_sum < FEW_ROWS or table.folding is not None)
    folds = learner.validation.split(table, FOLDS) if few else ()
    separate, learner = learner, learner.shared(table, folds)
    search = learner.compared[0] if few else learner.search
    n_folds = FOLDS * (learner.chooses_ess + len(learner.compared)) if few else 0
    at_most = (MOST_SEARCHES + few if learner.chooses_ess else 0) + n_folds + 1
    if learner.compared is not separate.compared:  # rehearsals that share counts are no searches
        at_most = 1
    with abandonable(), heard_once(), several_searches(at_most):
        rehearsed = search.rehearse != search.learn
        choosing = deadline.within(SHARE_OF_CHOICE * deadline.left) if rehearsed else deadline
        found: dict[float, Structure | None] = {ess: None}
        if learner.chooses_ess:
            first = search.rehearse(table, BDeu(START_ESS), seconds_left(choosing))
            _announce(deadline, n_folds + 2)
            other = learner.score(ess) if few else None
            found = _candidates(table, search.rehearse, ess, other, first, choosing)
        choice = _Choice(search, next(iter(found)), smoothing)
        if few and not choosing.passed:
            choice = _cross_validated(table, folds, learner, found, smoothing, choosing)
        size, smoothed, class_smoothing = choice.ess, choice.smoothing, choice.class_smoothing
        # Structures that were rehearsed served to choose; the one to be used comes from the search itself.
        known = None if choice.search != search or rehearsed else found.get(size)
        structure = known or choice.search.learn(table, learner.score(size), seconds_left(deadline))
        if smoothed is None and learner.chooses_smoothing:
            if learner.validation.complete:
                smoothed, class_smoothing = smoothing_compared(table, structure)
            else:
                smoothed = learner.validation.best_smoothing(table, structure)
    return Learned(structure, size, size if smoothed is None else smoothed, choice.search, class_smoothing)


def _announce(deadline: Deadline, n_searches: int) -> None:
    """Announce, after the first search of a choice, how long all of them may take, if that is long."""
    expected = n_searches * deadline.worked
    if isinf(deadline.left) and expected > LONG_SEARCH:
        advise("long choice", long_choice(n_searches, expected))


@dataclass(frozen=True)
class _Choice:
    """How the structure is learned, and the equivalent sample sizes; ``smoothing`` is None until it is chosen."""

    search: Search
    ess: float
    smoothing: float | None
    class_smoothing: float | None = None


def _candidates(
    table: DiscreteTable, rehearse: Learn, ess: float, other: Score | None, first: Structure, deadline: Deadline
) -> dict[float, Structure | None]:
    """Return the equivalent sample sizes of the score to choose from, the first by default, with their structures.

    ``first`` is the structure from which the search for the most probable equivalent sample size starts. ``other`` is
    the score for ``ess``, the second value to choose from, if there is one.
    """
    structure, score = climb_in_ess(table, rehearse, first, deadline)
    found: dict[float, Structure | None] = {score.ess: structure}
    if other is not None and not deadline.passed:
        alternative = rehearse(table, other, seconds_left(deadline))
        if alternative.parents != structure.parents:
            found[ess] = alternative
    return found


def _cross_validated(
    table: DiscreteTable,
    folds: Sequence[Fold],
    learner: Learner,
    sizes: Iterable[float],
    smoothing: float | None,
    deadline: Deadline,
) -> _Choice:
    """Return the choice that predicts held-out rows best: first of the equivalent sample size, then of fewer parents.

    Among equally good choices, it is the first. If time runs out, it is the best one that was tried.
    """
    sizes = tuple(sizes)
    first, *alternatives = learner.compared
    best = _Choice(first, sizes[0], smoothing)
    if not folds:  # all weight is on one row
        return best
    value = -inf
    held_out: list[Any] = []
    for size in sizes:
        tried = _held_out(table, folds, learner, _Choice(first, size, smoothing), deadline)
        if tried is None:
            return _Choice(first, sizes[0], smoothing)
        if tried[1] > value + TIE_NATS * table.weight_sum:
            best, value, held_out = tried
    for search in alternatives:
        tried = _held_out(table, folds, learner, _Choice(search, best.ess, smoothing), deadline)
        if tried is None:
            break
        if tried[1] > value + MARGIN_NATS * table.weight_sum:
            best, value, held_out = tried

    def beyond() -> tuple[float, float | None, float]:
        return second_held_out_smoothing(held_out, most_smoothing(table), most_repetitions(table.vocabulary))

    tries = learner.chooses_smoothing and learner.validation.complete
    second = compare_folds(table, folds, value, beyond if tries else None)
    return best if second is None else replace(best, smoothing=second[0], class_smoothing=second[1])


def _held_out(
    table: DiscreteTable, folds: Sequence[Fold], learner: Learner, choice: _Choice, deadline: Deadline
) -> tuple[_Choice, float, list[Any]] | None:
    """Return a choice with its smoothing, the log likelihood of held-out rows, and the objects that predict them.

    The result is None if time ran out.
    """
    held_out: list[Any] = []
    for learned in spread(_learned_without, (learner, choice, deadline), folds):
        if learned is None:
            return None
        held_out.append(learned)
    if learner.chooses_smoothing:
        repeated = most_repetitions(table.vocabulary)
        smoothed, value = best_held_out_smoothing(held_out, most_smoothing(table), repeated)
    else:
        smoothed = choice.ess if choice.smoothing is None else choice.smoothing
        value = float(sum(fold.log_likelihoods(np.array([smoothed]))[0] for fold in held_out))
    return replace(choice, smoothing=smoothed), value, held_out


def _learned_without(shared: tuple[Learner, _Choice, Deadline], fold: Fold) -> Any:
    """Return an object that predicts the held-out rows of a fold, learned from the others; None if time ran out."""
    learner, choice, deadline = shared
    if deadline.passed:
        return None
    rows, others = fold
    structure = choice.search.rehearse(rows, learner.score(choice.ess), seconds_left(deadline))
    return learner.validation.held_out(rows, others, structure)
