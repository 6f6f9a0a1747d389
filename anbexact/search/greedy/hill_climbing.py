"""Greedy search over acyclic graphs: hill climbing, with a tabu list and restarts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from anbexact._runtime.deadline import Deadline, check_limit, interruptible
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import thread_count
from anbexact._runtime.units import counted
from anbexact._runtime.warn import warn
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import Score, StructureScore
from anbexact.scores.capabilities import scores_structures
from anbexact.search.constraints import Constraints, Edge, make_constraints
from anbexact.search.exact.solution import rounding_error
from anbexact.search.graphs import Graph, as_mask, elements
from anbexact.search.greedy.climb import Arcs, Climb, Objective
from anbexact.search.greedy.conditional_likelihood import ConditionalObjective
from anbexact.search.greedy.local_scores import LocalScores
from anbexact.search.scoring.pair_scores import FamilyScorer
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.search.scoring.totals import total_score
from anbexact.search.single_states import single_states_apart
from anbexact.search.trees.branching import describe
from anbexact.tables.table import DiscreteTable

REQUIREMENTS = SearchRequirements("learn_greedy_gbn", decomposable=False, class_free=True)


@single_states_apart(below_class=False)
def learn_greedy_gbn(
    table: DiscreteTable,
    score: Score | StructureScore | None = None,
    *,
    max_parents: int | None = None,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    tabu: int = 0,
    restarts: int = 0,
    random_state: Any = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Structure:
    """Learn a high-scoring general network by hill climbing from the empty graph.

    The class, if there is one, is treated like any other variable. A move deletes, adds or reverses an arc so that
    the graph stays acyclic. The search makes the move with the largest gain, until no move has a positive gain. Ties
    (gains that differ only by rounding) are broken by the kind of move, in this order, then by the child, then by the
    parent that comes first in table order (the class comes last).

    With a decomposable score, a move needs the local scores of about 2 n families, for n variables. Conditional
    likelihood (:class:`~anbexact.scores.CLL`, :class:`~anbexact.scores.CMDL`) is not a sum over families; with it, a
    move needs O(n² s N) steps for s classes and N distinct rows. Moves between families without the class do not
    change it.

    Parameters
    ----------
    table : DiscreteTable
        A table with or without a class.
    score : Score, CLL or CMDL, default BDeu()
        Any score that does not require the class among the parents; aCLL does.
    max_parents : int, optional
        Maximum number of parents of a variable, counting the class.
    required, forbidden : iterable of (parent, child)
        Arcs that the structure must, or must not, contain; they may include the class.
    tabu : int, default 0
        Length of the tabu list. The search does not revisit the last ``tabu`` structures and stops after ``tabu``
        moves without improvement. With 0, it stops when no move raises the score.
    restarts : int, default 0
        Number of restarts, each from the best structure after as many random moves as there are variables.
    random_state : int, Generator or None, default None
        Seed or generator of the random moves; see :func:`numpy.random.default_rng`.
    time_limit : float, optional
        Time limit in seconds, after which the best structure found so far is returned.
    n_jobs : int, optional
        Number of threads; None and -1 use all processors. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.

    Returns
    -------
    Structure
        Nothing is proved about its score. An interrupt (Ctrl-C) returns the best structure so far, with a warning.

    Raises
    ------
    SearchTooLargeError
        If the n² possible moves would need more memory than is available.
    TypeError
        For a score that needs the class among the parents.
    ValueError
        For invalid constraints or limits, or a score that is not a finite number.

    References
    ----------
    Heckerman, Geiger and Chickering, Machine Learning 20 (1995), section 7; by conditional likelihood: Grossman and
    Domingos, ICML 2004.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.search import learn_greedy_gbn
    >>> structure = learn_greedy_gbn(DiscreteTable.from_frame(*load_monks(1)))
    >>> structure.children("is_monk")
    ('jacket_color',)
    """
    check_limit("time_limit", time_limit)
    _check_number("tabu", tabu)
    _check_number("restarts", restarts)
    deadline = Deadline(time_limit)
    class_name = table.vocabulary.class_name
    names = table.vocabulary.names
    accepted: Any = REQUIREMENTS.accept(score, table)
    constraints = make_constraints(names, max_parents, required, forbidden)
    threads = thread_count(n_jobs)
    objective: Objective
    if scores_structures(accepted):
        objective = ConditionalObjective(table, accepted, threads, deadline, progress)
    else:
        objective = LocalScores(FamilyScorer(table.without_class(), accepted, threads, deadline), progress)
    arcs = Arcs.of(names, constraints)
    climb = Climb(objective, arcs, rounding_error(table), int(tabu), int(restarts))
    with interruptible(deadline):
        complete = climb.run(np.random.default_rng(random_state))
    if deadline.interrupted:
        warn("interrupted: this is the best structure found so far")
    method = f"hill climbing by {accepted.name}"
    method += f", {counted(tabu, 'structure')} tabu" * bool(tabu) + f", {counted(restarts, 'restart')}" * bool(
        restarts
    )
    method += describe(constraints)
    if constraints.max_parents < len(names) - 1:
        method += f", at most {counted(constraints.max_parents, 'parent')}"
    if not complete:
        method += ", interrupted" if deadline.interrupted else ", stopped by time_limit"
    parents = as_parents(names, class_name, climb.best)
    total = (
        accepted.structure_score(table, parents)
        if scores_structures(accepted)
        else total_score(table.without_class(), accepted, parents)
    )
    certificate = replace(Certificate.unknown(method), sets_scored=objective.scored, seconds=deadline.worked)
    return Structure(class_name, parents, total, certificate)


def _check_number(name: str, value: object) -> None:
    """Refuse a value that is not a whole number, 0 or more."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise ValueError(f"{name} must be a whole number, 0 or more, not {value!r}")


def add_arcs(
    table: DiscreteTable,
    score: Score,
    constraints: Constraints,
    deadline: Deadline,
    *,
    start: Mapping[Hashable, Sequence[Hashable]] | None = None,
    threads: int = 1,
) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return the structure with arcs between features that :func:`climb_between_features` reaches.

    The class, if there is one, stays a parent of all features.

    Parameters
    ----------
    start : mapping, optional
        Feature parents of every feature in a structure that is admitted. The result does not score less.

    Returns
    -------
    dict
        Feature parents of every feature, in table order.
    """
    climb = climb_between_features(table, score, constraints, deadline, start=start, threads=threads)
    return as_parents(table.vocabulary.features, None, climb.best)


def climb_between_features(
    table: DiscreteTable,
    score: Score,
    constraints: Constraints,
    deadline: Deadline,
    *,
    start: Mapping[Hashable, Sequence[Hashable]] | None = None,
    only_from_start: bool = False,
    threads: int = 1,
) -> Climb:
    """Climb over the graphs between features; the class, if there is one, stays a parent of all features.

    Climbs first from ``start``, if given, and then from the required arcs; stops early at the deadline.

    Parameters
    ----------
    start : mapping, optional
        Feature parents of every feature in a structure that is admitted.
    only_from_start : bool, default False
        Whether ``start``, if given, is the only start, which halves the time.
    """
    features = table.vocabulary.features
    objective = LocalScores(FamilyScorer(table, score, threads, deadline), None)
    climb = Climb(objective, Arcs.of(features, constraints), rounding_error(table))
    starts = [climb.best]
    if start is not None:
        place = {name: v for v, name in enumerate(features)}
        climb.best = tuple(as_mask([place[name] for name in start[child]]) for child in features)
        starts = [climb.best] if only_from_start else [climb.best, *starts]
    for graph in starts:
        climb.climb_from(graph)
    return climb


def as_parents(
    names: Sequence[Hashable], class_name: Hashable | None, graph: Graph
) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return the parents of all variables by name: the class first, the others in table order."""
    named = {
        child: [names[v] for v in elements(child_parents)] for child, child_parents in zip(names, graph, strict=True)
    }
    return {
        child: tuple(sorted(child_parents, key=lambda name: name != class_name))
        for child, child_parents in named.items()
    }
