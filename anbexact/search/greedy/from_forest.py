"""Hill climbing from the best forest: nearly the structure of an exact search, in milliseconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf

from anbexact._runtime.deadline import Deadline
from anbexact._runtime.tasks import thread_count
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import Score
from anbexact.search.constraints import Edge, make_constraints
from anbexact.search.greedy.hill_climbing import as_parents, climb_between_features
from anbexact.search.scoring.totals import class_of, total_score
from anbexact.search.single_states import SingleStates
from anbexact.search.trees.branching import best_forest
from anbexact.tables.table import DiscreteTable


def climb_from_forest(
    table: DiscreteTable,
    score: Score,
    *,
    below_class: bool,
    max_parents: int | None = None,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    time_limit: float | None = None,
    n_jobs: int | None = None,
) -> Structure:
    """Return the structure that hill climbing reaches from the best forest over the features.

    It stands in for that of :func:`~anbexact.learn_anb`, or of :func:`~anbexact.learn_gbn`, where many structures are
    learned to choose the equivalent sample size or the limit on parents. With a limit of one feature parent, it has
    the score of the former's, as the best forest is the optimum. If the class is a variable like any other, it climbs
    from the empty graph, too, because in the forest the class is a parent of all features.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    score : Score
        Any decomposable score.
    below_class : bool
        Whether the class is a parent of every feature, or a variable like any other.
    max_parents, required, forbidden, time_limit, n_jobs
        As for the search that this one stands in for.

    Returns
    -------
    Structure
        Nothing is proved about its score.

    Raises
    ------
    ValueError
        For invalid constraints.
    """
    deadline = Deadline(time_limit)
    class_name, threads = class_of(table), thread_count(n_jobs)
    rest = SingleStates.of(table, score, required, forbidden)
    within = rest.table if below_class else rest.table.without_class()
    constraints = make_constraints(within.vocabulary.features, max_parents, required, rest.forbidden)
    forest = best_forest(within, score, constraints, deadline, class_name=class_name, threads=threads)
    features, common = within.vocabulary.features, within.vocabulary.common_parents
    total = -inf
    if forest is not None and below_class and constraints.max_parents <= 1:
        found = forest
    else:
        climb = climb_between_features(
            within, score, constraints, deadline, start=forest, only_from_start=below_class, threads=threads
        )
        found, total = as_parents(features, None, climb.best), climb.best_total
    parents = {name: (*common, *found[name]) for name in features} | dict.fromkeys(common, ())
    if total > -inf:
        total += sum(score.local_score(within, name, ()) for name in common)
    else:
        total = total_score(within, score, parents)
    method = "hill climbing from the best forest"
    certificate = replace(Certificate.unknown(method), seconds=deadline.worked)
    structure = Structure(class_name, parents, total, certificate)
    return rest.added_to(structure, below_class=below_class)
