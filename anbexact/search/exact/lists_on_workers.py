"""Candidate lists made by workers, one feature by each job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.spread import spread, worker_count
from anbexact.scores import BoundedScore
from anbexact.search.exact.parent_set_identification import CompleteList, ParentSetSearch
from anbexact.search.exact.possible_parents import PossibleParents
from anbexact.search.exact.shared_resources import SharedResources
from anbexact.search.scoring.set_scores import n_sets
from anbexact.tables.table import DiscreteTable


class ListTask(NamedTuple):
    """What the lists of all features are made from.

    Attributes
    ----------
    table, score : DiscreteTable, BoundedScore
        The rows, and the local score.
    dispersion : (features, features) float64
        See :class:`~anbexact._kernels.candidates.Scoring`.
    memory : float
        Bytes that a worker may use.
    deadline : Deadline
        When to stop.
    """

    table: DiscreteTable
    score: BoundedScore
    dispersion: Floats
    memory: float
    deadline: Deadline


def are_for_workers(
    possible: Sequence[PossibleParents], threads: int, deadline: Deadline, most_sets: float, largest: int | None
) -> bool:
    """Return whether workers should make the lists.

    There must be more workers than threads. A worker completes the list of one feature without knowing how large the
    others are. So no limit that all features share may end the lists: neither time, nor a number of parents below
    that of the constraints, nor the number of sets, even if every set is scored.
    """
    if largest is not None or deadline.left < inf or worker_count() <= threads:
        return False
    return sum(n_sets(len(own.added), own.most_added) for own in possible) <= most_sets


def lists_of_workers(task: ListTask, possible: Sequence[PossibleParents]) -> Iterator[CompleteList | None]:
    """Yield the list of every feature; None for those that do not fit into the memory of a worker.

    The memory of the task is divided among the workers.
    """
    return spread(_complete_list, task._replace(memory=task.memory / worker_count()), possible)


def _complete_list(task: ListTask, possible: PossibleParents) -> CompleteList | None:
    memory = min(task.memory, available_memory())
    search = ParentSetSearch(task.table, task.score, possible, SharedResources(memory))
    try:
        search.lay_out(task.dispersion, task.deadline)
    except SearchTooLargeError:
        return None
    while search.laid_out and search.open and search.size < search.largest:
        search.begin()
        search.grow(task.deadline)
        if search.behind:
            return None
        search.end()
    return search.complete_list()
