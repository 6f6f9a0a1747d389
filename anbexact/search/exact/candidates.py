"""Candidate lists: for every feature, the parent sets that can still be optimal."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.progress import Progress
from anbexact._runtime.spread import spread, worker_count
from anbexact._runtime.tasks import run_tasks
from anbexact.scores import LL, BoundedScore
from anbexact.search.constraints import Constraints
from anbexact.search.exact.parent_set_identification import CompleteList, ParentSetSearch
from anbexact.search.exact.parent_sets import ListMeans, ParentSets
from anbexact.search.exact.possible_parents import PossibleParents, SharedResources, too_many_rows
from anbexact.search.scoring.pair_scores import FamilyScorer
from anbexact.search.scoring.set_scores import entropy_order, n_sets
from anbexact.tables.counted.counted_table import CountedTable
from anbexact.tables.table import DiscreteTable

MIN_SETS_TIMED = 50_000
"""Number of sets of one size from whose time the time of the next size is estimated."""
MOST_SETS, FEWER_SETS = 50_000_000, 3_000_000
"""Maximum number of scored sets if neither the time nor the number of parents is limited. The first applies where the
penalty is proportional to the number of parent configurations, so that lists come to an end (about two minutes on two
processors); the second elsewhere."""


def is_bounded(table: DiscreteTable, score: object) -> bool:
    """Return whether a score tells, for tables of this weight, when further parents cannot help."""
    return isinstance(score, BoundedScore) and score.bounded_at(table.weight_sum)


def has_candidates(table: DiscreteTable, score: object) -> bool:
    """Return whether lists can be made, which requires a bounded score, and rows in memory."""
    return is_bounded(table, score) and not isinstance(table, CountedTable)


def candidate_lists(
    table: DiscreteTable,
    score: BoundedScore,
    constraints: Constraints,
    means: ListMeans,
    *,
    largest: int | None = None,
) -> Candidates:
    r"""Return the candidate lists of all features, in table order.

    Sets are scored in the order of their sizes. A set is *closed*, and its supersets are not examined, once the best
    score B of its subsets (including itself) reaches a bound on all its supersets:

    - for Dirichlet scores Σ_j min(f_j, g_j, h_j) over its observed joint states j, the class joined, with
      ``f_j = -Σ_k min(1, N_jk) ln r``, ``g_j = Σ_a ML(N_a)`` over the joint states a of all other variables within
      j, and ``h_j = g_j + min(0, min_a [sup DM(N_a; a') - ML(N_a)])`` over the a with two or more states of the child
      and the parameters a' that supersets can have (ML: maximum log-likelihood; DM: log marginal likelihood);
    - for penalised likelihoods M - penalty(with one parent more), M being the log-likelihood with all features.

    Features that are copies of each other, except for the names of their states, are put into an order. Because an
    optimal structure stays optimal when copies are exchanged, no copy has to be a parent of an earlier one, and a
    parent set has to contain a copy only together with all earlier ones.

    Where the penalty is proportional to the number q of joint states of the parents, a parent v is also discarded,
    with all supersets, when what it can add to the likelihood, at most the entropy of the child and of v given the
    others, does not outweigh what it adds to the penalty.

    If there is not enough time to lay out the rows for a feature, its list contains only the required parents, and
    all other sets are bounded by f, or by M = 0.

    Parameters
    ----------
    means : ListMeans
        Time, memory and threads. If they do not suffice, the lists without the last size are returned.
    largest : int, optional
        Maximum number of feature parents that are listed, even if more are admitted.

    Raises
    ------
    SearchTooLargeError
        If there is not enough memory for the rows.

    References
    ----------
    f: de Campos and Ji, JMLR 12 (2011), for whole counts; as ln of the predictive probability of a weight is convex
    in it, weights below 1 count in proportion. g, h: Correia, Cussens and de Campos, AISTATS 2020. Penalised
    likelihoods: Tian, UAI 2000; de Campos, Scanagatta, Corani and Zaffalon, Artificial Intelligence 260 (2018).
    """
    candidates = Candidates(table, score, constraints, means.threads, means.memory)
    candidates.extend(means.deadline, most_sets=means.most_sets, largest=largest, progress=means.progress)
    return candidates


class Candidates:
    """The candidate lists of all features and their progress; see :func:`candidate_lists`.

    Attributes
    ----------
    limit : str
        The reason why the lists ended early; empty if they are complete.
    copies : list of lists of int
        Features, by number, that are copies of each other, of whose sets only some are listed.
    """

    def __init__(
        self, table: DiscreteTable, score: BoundedScore, constraints: Constraints, threads: int, memory: float
    ) -> None:
        features = table.vocabulary.features
        self._table, self._score, self._threads, self._memory = table, score, threads, memory
        self._order = entropy_order(table, features[::-1])
        copied = _copies(table, constraints, self._order)
        self.copies = _groups(features, copied)
        self._shared = SharedResources(memory)
        self._searches = [
            ParentSetSearch(
                table, score, PossibleParents.of(table, constraints, child, self._order, copied), self._shared
            )
            for child in features
        ]
        if sum(search.size_laid_out for search in self._searches) > memory:
            raise too_many_rows(table)
        self._dispersion: Floats | None = None
        self.limit = ""
        self._size = 0
        self._within = False
        self._share, self._pace = (
            1.0,
            inf,
        )  # of the sets foreseen for the last size, those scored; and sets per second
        self._before, self._seconds = 0, 0.0

    @property
    def lists(self) -> tuple[ParentSets, ...]:
        """One list for every feature, in table order; sizes of sets that were not fully enumerated are left out."""
        return tuple(search.parent_sets(self.limit) for search in self._searches)

    @property
    def largest(self) -> int | None:
        """Feature parents up to which every admitted set is listed, or dominated by a listed subset.

        None if this holds for any number of parents.
        """
        return min((search.parents for search in self._searches if search.open), default=None)

    @property
    def scored(self) -> int:
        """Number of sets that were scored."""
        return sum(search.scored for search in self._searches)

    def extend(
        self, deadline: Deadline, *, most_sets: float, largest: int | None = None, progress: Progress | None
    ) -> bool:
        """Continue the lists until they are complete or a limit is reached; return whether a size was completed."""
        began = self._size
        possible = [search.possible for search in self._searches]
        if are_for_workers(possible, self._threads, deadline, most_sets, largest):
            self._ask_workers(deadline, progress)
        self.limit = self._lay_out(deadline, progress)
        while not self.limit and any(search.open for search in self._searches):
            if not self._within:
                self.limit = self._obstacle(deadline, most_sets, largest)
            if not self.limit:
                self._go_through(deadline, progress)
        return self._size > began

    def _ask_workers(self, deadline: Deadline, progress: Progress | None) -> None:
        """Have workers make the lists; this process makes those that do not fit into a worker's memory."""
        try:
            dispersion = self._dispersion_of_pairs(deadline)
            if dispersion is None:
                return
            task = ListTask(self._table, self._score, dispersion, self._memory, deadline)
            found = lists_of_workers(task, [search.possible for search in self._searches])
            for k, (search, complete) in enumerate(zip(self._searches, found, strict=True), 1):
                if complete is not None:
                    search.take_over(complete)
                if progress is not None:
                    progress("candidate parent sets", k / len(self._searches))
        except KeyboardInterrupt:
            deadline.interrupt()

    def _dispersion_of_pairs(self, deadline: Deadline) -> Floats | None:
        """Return the most that features can add to the likelihood; None when time ran out."""
        if self._dispersion is None:
            self._dispersion = _dispersion(self._table, self._score, self._order, self._threads, deadline)
        return self._dispersion

    def _lay_out(self, deadline: Deadline, progress: Progress | None) -> str:
        """Lay out the rows for all features; return why some have to wait."""
        waiting = [search for search in self._searches if not search.laid_out]
        if not waiting:
            return ""
        refused: list[SearchTooLargeError] = []

        def lay_out(search: ParentSetSearch, dispersion: Floats) -> None:
            if refused or deadline.passed:
                return
            try:
                search.lay_out(dispersion, deadline)
            except SearchTooLargeError as error:
                refused.append(error)

        with suppress(KeyboardInterrupt):
            dispersion = self._dispersion_of_pairs(deadline)
            if dispersion is not None:
                tasks = [partial(lay_out, search, dispersion) for search in waiting]
                run_tasks(tasks, len(tasks), self._threads, deadline, "rows of candidate parent sets", progress)
        if refused:
            raise refused[0]
        waiting = [search for search in waiting if not search.laid_out]
        for search in waiting:
            search.stand_in()
        if not waiting:
            return ""
        return "interrupt" if deadline.interrupted else "time_limit"

    def _obstacle(self, deadline: Deadline, most_sets: float, largest: int | None) -> str:
        """Return the reason why the next size is not started; empty if it can be."""
        ahead = self._share * sum(search.ahead for search in self._searches)
        if largest is not None and self.largest is not None and self.largest >= largest:
            return "not requested"
        if self.scored + ahead > most_sets:
            return f"there are more than {most_sets:,.0f} to score"
        if any(search.open and search.size >= search.largest for search in self._searches):
            return "they have too many distinct numbers of joint states"
        if deadline.passed or ahead > self._pace * deadline.left:
            return "interrupt" if deadline.interrupted else "time_limit"
        return ""

    def _go_through(self, deadline: Deadline, progress: Progress | None) -> None:
        """Enumerate the sets of the next size, or the rest of them."""
        if not self._within:
            self._within, self._before, self._seconds = True, self.scored, 0.0
            for search in self._searches:
                search.begin()
        behind = sorted((search for search in self._searches if search.behind), key=lambda search: -search.ahead)
        tasks = [partial(search.grow, deadline) for search in behind]
        began = deadline.elapsed
        with suppress(KeyboardInterrupt):
            phase = f"candidate parent sets, size {self._size + 1}"
            run_tasks(tasks, len(tasks), self._threads, deadline, phase, progress)
        self._seconds += deadline.elapsed - began
        if any(search.behind for search in self._searches):
            self.limit = "memory_limit" if self._shared.exceeded else "time_limit"
            if deadline.interrupted:
                self.limit = "interrupt"
            return
        ahead = sum(search.ahead for search in self._searches)
        for search in self._searches:
            search.end()
        self._within = False
        self._size += 1
        scored = self.scored - self._before
        self._share = scored / max(ahead, 1)
        if scored >= MIN_SETS_TIMED:
            self._pace = scored / self._seconds


def _copies(table: DiscreteTable, constraints: Constraints, order: Sequence[Hashable]) -> dict[Hashable, Hashable]:
    """Return the previous copy of every feature that equals others except for the names of the states.

    Copies are in the reverse order of the features; features that constraints concern are left out.
    """
    bound = {name for edge in (*constraints.required_edges, *constraints.forbidden_edges) for name in edge}
    last: dict[tuple[int, bytes], Hashable] = {}
    copied: dict[Hashable, Hashable] = {}
    for name in reversed(order):
        if name in bound:
            continue
        _, first, states = np.unique(table.column(name), return_index=True, return_inverse=True)
        as_met = np.argsort(np.argsort(first))[states]
        key = table.vocabulary.arity(name), as_met.tobytes()
        if key in last:
            copied[name] = last[key]
        last[key] = name
    return copied


def _groups(features: Sequence[Hashable], copied: Mapping[Hashable, Hashable]) -> list[list[int]]:
    """Return the numbers of the features that are copies of each other."""
    first: dict[Hashable, Hashable] = {}
    for name, before in copied.items():  # the copy before was met earlier
        first[name] = first.get(before, before)
    return [
        [k for k, name in enumerate(features) if first.get(name, name) == one]
        for one in dict.fromkeys(first.values())
    ]


def _dispersion(
    table: DiscreteTable, score: BoundedScore, order: Sequence[Hashable], threads: int, deadline: Deadline
) -> Floats | None:
    """Return the total weight times the entropy of feature u given the class and feature v; in nats, shape (u, v).

    On the diagonal, it is conditional on the class alone, or unconditional without a class. It is empty if the
    penalty is not proportional to the number of joint states of the parents; None when time ran out.
    """
    n = len(order)
    if not score.proportional_penalty:
        return np.empty((0, 0))
    names = table.vocabulary.names
    place = np.array([names.index(name) for name in order])
    scorer = FamilyScorer(table, LL(), threads, deadline)
    first, second = np.triu_indices(n, 1)
    sets = np.full((1 + n + len(first), 2 + len(scorer.common)), -1, dtype=np.int64)
    sets[:, 2:] = scorer.common
    sets[1 : n + 1, 1] = place
    sets[n + 1 :, 0], sets[n + 1 :, 1] = place[first], place[second]
    values = scorer.set_scores(sets, "entropies of pairs", None)
    if values is None:
        return None
    alone = values[1 : n + 1]
    entropy = np.diag(values[0] - alone)
    entropy[first, second] = alone[second] - values[n + 1 :]
    entropy[second, first] = alone[first] - values[n + 1 :]
    return entropy


class ListTask(NamedTuple):
    """The data from which workers make the lists of all features.

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
