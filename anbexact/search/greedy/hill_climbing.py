"""Greedy search over acyclic graphs: hill climbing, with a tabu list and restarts."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from anbexact._runtime.deadline import Deadline, check_limit, interruptible
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import thread_count
from anbexact._runtime.units import human_bytes
from anbexact._runtime.warn import warn
from anbexact.scores import CLL, Score
from anbexact.search.constraints import Constraints, Edge, make_constraints
from anbexact.search.exact.solution import rounding_error
from anbexact.search.graphs import Bools, Graph, ancestors, as_mask, children, elements, matrix
from anbexact.search.greedy.conditional_likelihood import ConditionalObjective
from anbexact.search.scoring.pair_scores import FamilyScorer, pair_scores
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.search.scoring.totals import class_of, total_score
from anbexact.search.single_states import single_states_apart
from anbexact.search.trees.branching import best_branching, describe, one_parent
from anbexact.structures.structure import Certificate, Structure
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary

Floats = npt.NDArray[np.float64]
DELETE, ADD, REVERSE = range(3)
SHARE = 20_000
"""Families that are scored between two looks at the clock."""
FAMILY_BYTES = 400
"""Memory that a move takes, with the local score that is kept."""


REQUIREMENTS = SearchRequirements("learn_greedy_gbn", decomposable=False, class_free=True)


@single_states_apart(below_class=False)
def learn_greedy_gbn(
    table: DiscreteTable,
    score: Score | CLL | None = None,
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
    """Climb from the empty graph to a general network of high score.

    The class is a variable like all others. A move deletes an arc, adds one, or turns one round, where the graph
    stays acyclic; the move that gains most is made, as long as one gains. Moves whose gains differ by rounding only
    are settled by their kind, in this order, then by the child, then by the parent that comes first in table order
    (the class comes last).

    By a decomposable score, a step needs the local scores of about 2 n families, for n variables. By conditional
    likelihood (:class:`~anbexact.scores.CLL`, :class:`~anbexact.scores.CMDL`), which no sum over families
    is, it needs O(n² s N) steps for s classes and N distinct rows; moves between families without the class do not
    change it.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    score : Score, CLL or CMDL, default BDeu()
        Any score that needs no class among the parents, as aCLL does.
    max_parents : int, optional
        Most parents of a variable, the class counted.
    required, forbidden : iterable of (parent, child)
        Arcs that must, and must not, be in the structure; the class can be in them.
    tabu : int, default 0
        The structures visited last, this many, are not returned to, and the climb ends after this many moves without
        a new best. 0: it ends where no move gains.
    restarts : int, default 0
        How many times it climbs again from the best structure after as many random moves as there are variables.
    random_state : int, Generator or None, default None
        What the random moves are drawn by; see :func:`numpy.random.default_rng`.
    time_limit : float, optional
        Seconds after which the best structure so far is returned.
    n_jobs : int, optional
        Threads; None and -1 stand for all processors. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.

    Returns
    -------
    Structure
        Nothing is proved about its score. An interrupt (Ctrl-C) returns the best structure so far, with a warning.

    Raises
    ------
    SearchTooLargeError
        If all moves, n² of them, would need more memory than there is.
    TypeError
        For a score that needs the class among the parents.
    ValueError
        For constraints or limits that make no sense, or a score that is no finite number.

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
    class_name = class_of(table)
    names = table.vocabulary.names
    score = REQUIREMENTS.accept(score)
    constraints = make_constraints(names, max_parents, required, forbidden)
    threads = thread_count(n_jobs)
    objective: Objective
    if isinstance(score, CLL):
        objective = ConditionalObjective(table, score, threads, deadline, progress)
    else:
        objective = LocalScores(FamilyScorer(table.without_class(), score, threads, deadline), progress)
    arcs = Arcs.of(names, constraints)
    climb = Climb(objective, arcs, rounding_error(table), int(tabu), int(restarts))
    with interruptible(deadline):
        complete = climb.run(np.random.default_rng(random_state))
    if deadline.interrupted:
        warn("interrupted: this is the best structure found so far")
    method = f"hill climbing by {score.name}"
    method += f", {tabu} structures tabu" * bool(tabu) + f", {restarts} restarts" * bool(restarts)
    method += describe(constraints)
    if constraints.max_parents < len(names) - 1:
        method += f", at most {constraints.max_parents} parents"
    if not complete:
        method += ", interrupted" if deadline.interrupted else ", stopped by time_limit"
    parents = as_parents(names, class_name, climb.best)
    total = (
        score.structure_score(table, parents)
        if isinstance(score, CLL)
        else total_score(table.without_class(), score, parents)
    )
    certificate = replace(Certificate.unknown(method), sets_scored=objective.scored, seconds=deadline.worked)
    return Structure(class_name, parents, total, certificate)


def _check_number(name: str, value: object) -> None:
    """Refuse what is no whole number, 0 or more."""
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
    """Climb over the graphs between features; the class, if any, stays a parent of all.

    Climbs from the required arcs and, before, from another start; stops early at the deadline.

    Parameters
    ----------
    start : mapping, optional
        Feature parents of every feature in a structure that is admitted. The result does not score less.

    Returns
    -------
    dict
        Feature parents of every feature, in table order.
    """
    features = table.vocabulary.features
    objective = LocalScores(FamilyScorer(table, score, threads, deadline), None)
    climb = Climb(objective, Arcs.of(features, constraints), rounding_error(table))
    starts = [climb.best]
    if start is not None:
        place = {name: v for v, name in enumerate(features)}
        climb.best = tuple(as_mask([place[name] for name in start[child]]) for child in features)
        starts.insert(0, climb.best)
    for graph in starts:
        climb.climb_from(graph)
    return as_parents(features, None, climb.best)


def best_forest(
    table: DiscreteTable,
    score: Score,
    constraints: Constraints,
    deadline: Deadline,
    *,
    class_name: Hashable,
    threads: int,
) -> dict[Hashable, tuple[Hashable, ...]] | None:
    """Return the best forest between the features, with the class a parent of all of them.

    It scores no less than the tree augmented naive Bayes; see :func:`~anbexact.learn_fan`.

    Parameters
    ----------
    table : DiscreteTable
        A table whose class is a parent of all features, or a variable like all others.
    class_name : Hashable
        The class.

    Returns
    -------
    dict or None
        Parents of every feature of the table (of which the class is one if it is a variable like all others); None if
        the constraints do not admit the forest, or the time ran out.
    """
    above = () if table.vocabulary.common_parents else (class_name,)
    table = replace(table, vocabulary=Vocabulary(table.vocabulary.states, class_name))
    features = table.vocabulary.features
    required, forbidden = (
        [edge for edge in edges if class_name not in edge]
        for edges in (constraints.required_edges, constraints.forbidden_edges)
    )
    crowded = any(sum(child == of for _, of in required) > 1 for child in features)
    if not features or crowded or constraints.max_parents <= len(above):
        return None
    scorer = FamilyScorer(table, score, threads, deadline)
    pairs = pair_scores(scorer, None)
    if pairs is None:
        return None
    found = best_branching(scorer, pairs, one_parent(features, required, forbidden), tree=False).tolist()
    parents = {child: (*above, *([features[p]] if p >= 0 else [])) for child, p in zip(features, found, strict=True)}
    parents.update(dict.fromkeys(above, ()))
    return parents if all(constraints.admits(child, of_child) for child, of_child in parents.items()) else None


def as_parents(names: Sequence[Hashable], class_name: Hashable, graph: Graph) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return the parents of all variables by name: the class first, the others in table order."""
    named = {child: [names[v] for v in elements(of_child)] for child, of_child in zip(names, graph, strict=True)}
    return {child: tuple(sorted(of_child, key=lambda name: name != class_name)) for child, of_child in named.items()}


class Objective(Protocol):
    """What is climbed: the score of a graph, and what the moves from there gain.

    Attributes
    ----------
    total : float
        Score of the graph that it was moved to, in nats.
    scored : int
        Families, or structures, scored so far.
    """

    @property
    def total(self) -> float: ...

    @property
    def scored(self) -> int: ...

    def move_to(self, parents: Graph) -> bool:
        """Score a graph; the gains are those from here. Returns False when time ran out."""

    def gains(self, admitted: Bools) -> Floats | None:
        """Return what the admitted moves gain, -inf elsewhere, in nats; None when time ran out.

        Shape (kinds, children, parents): deleted, added, and turned round from ``parent → child``.
        """


class LocalScores:
    """A decomposable score as something that can be climbed.

    Every family is scored once. What an arc gains, added or deleted, is a difference of two local scores; after a
    move only those into the changed children are new. A reversal is a deletion and an addition.
    """

    def __init__(self, scorer: FamilyScorer, progress: Progress | None) -> None:
        n = scorer.n
        needed, available = FAMILY_BYTES * n * n, available_memory()
        if needed > available:
            raise SearchTooLargeError(
                f"the moves between graphs of {n:,} variables need {human_bytes(needed)}; "
                f"{human_bytes(available)} is available. Select features first, or use a TANClassifier."
            )
        self._scorer, self._progress = scorer, progress
        self._known: dict[tuple[int, int], float] = {}
        self._parents: list[int] = [-1] * n
        self._current = np.zeros(n)
        self._toggles = np.full((n, n), np.nan)
        self.total = 0.0

    @property
    def scored(self) -> int:
        """Families scored so far."""
        return len(self._known)

    def move_to(self, parents: Graph) -> bool:
        """Score a graph; the gains are those from here. Returns False when time ran out."""
        changed = [child for child, of_child in enumerate(parents) if of_child != self._parents[child]]
        scores = self._scores([(child, parents[child]) for child in changed], "families of a graph")
        if scores is None:
            return False
        for child, value in zip(changed, scores, strict=True):
            if value == -np.inf:
                raise self._refusal(child, parents[child])
            self._parents[child], self._current[child] = parents[child], value
            self._toggles[child] = np.nan
        self.total = float(self._current.sum())
        return True

    def gains(self, admitted: Bools) -> Floats | None:
        """Return what the admitted moves gain, -inf elsewhere; see :class:`Objective`."""
        wanted = admitted.any(axis=0) | admitted[REVERSE].T
        places = np.argwhere(wanted & np.isnan(self._toggles)).tolist()
        families = [(child, self._parents[child] ^ 1 << parent) for child, parent in places]
        scores = self._scores(families, f"moves from {self.total:.6g} nats")
        if scores is None:
            return None
        if places:
            at = tuple(np.array(places).T)
            self._toggles[at] = np.array(scores) - self._current[at[0]]
        toggles = self._toggles
        return np.where(admitted, np.stack([toggles, toggles, toggles + toggles.T]), -np.inf)

    def _scores(self, families: list[tuple[int, int]], phase: str) -> list[float] | None:
        """Return the local scores of families; None when time ran out."""
        by_size: dict[int, list[tuple[int, int]]] = {}
        for family in families:
            if family not in self._known:
                by_size.setdefault(family[1].bit_count(), []).append(family)
        scorer = self._scorer
        positions = scorer.features
        shares = (
            (size, of_size[first : first + SHARE])
            for size, of_size in by_size.items()
            for first in range(0, len(of_size), SHARE)
        )
        for size, own in shares:
            if scorer.deadline.passed:
                return None
            parents = [positions[list(elements(of_child))] for _, of_child in own]
            found = scorer.local_scores(
                positions[[child for child, _ in own]],
                np.array(parents, dtype=np.int64).reshape(len(own), size),
                phase,
                self._progress,
            )
            if found is None:
                return None
            bad = np.isnan(found) | (found == np.inf)
            if bad.any():
                raise self._refusal(*own[int(bad.argmax())])
            self._known.update(zip(own, found.tolist(), strict=True))
        return [self._known[family] for family in families]

    def _refusal(self, child: int, parents: int) -> ValueError:
        names = self._scorer.table.vocabulary.features
        given = [*self._scorer.table.vocabulary.common_parents, *(names[v] for v in elements(parents))]
        return ValueError(
            f"the score {self._scorer.score.name!r} of {names[child]!r} given {given} is not a finite number"
        )


@dataclass(frozen=True)
class Arcs:
    """Which moves there are, by masks of the parents of every node.

    Attributes
    ----------
    required, open : tuple of int
        The parents that a node must have, and those that it may have.
    max_parents : int
        Most parents of a node.
    """

    required: Graph
    open: Graph
    max_parents: int

    @classmethod
    def of(cls, names: Sequence[Hashable], constraints: Constraints) -> Arcs:
        """Return the constraints on some variables, numbered in their order."""
        place = {name: v for v, name in enumerate(names)}

        def masks(sets: dict[Hashable, frozenset[Hashable]]) -> Graph:
            return tuple(as_mask([place[parent] for parent in sets[child]]) for child in names)

        everything = (1 << len(names)) - 1
        barred = masks(constraints.forbidden)
        may = tuple(everything & ~(1 << v | of_v) for v, of_v in enumerate(barred))
        return cls(masks(constraints.required), may, constraints.max_parents)

    @cached_property
    def _turnable(self) -> Graph:
        """By child, the parents whose arc may be turned round."""
        return tuple(open & ~must for open, must in zip(children(self.open), self.required, strict=True))

    def moves(self, parents: Graph) -> Bools:
        """Return the admitted moves, shape (kinds, children, parents)."""
        above = ancestors(parents)
        below = children(above)
        full = as_mask([v for v, of_v in enumerate(parents) if of_v.bit_count() >= self.max_parents])
        deleted, added, turned = [], [], []
        for child, of_child in enumerate(parents):
            through = 0
            for parent in elements(of_child):
                through |= above[parent]
            deleted.append(of_child & ~self.required[child])
            added.append(0 if full >> child & 1 else self.open[child] & ~(of_child | below[child]))
            turned.append(of_child & self._turnable[child] & ~(through | full))
        return np.stack([matrix(deleted), matrix(added), matrix(turned)])

    def after(self, parents: Graph, move: int) -> Graph:
        """Return the graph after the move at this place, of all, in row-major order."""
        n = len(parents)
        kind, child, parent = move // n**2, move // n % n, move % n
        moved = list(parents)
        moved[child] ^= 1 << parent
        if kind == REVERSE:
            moved[parent] ^= 1 << child
        return tuple(moved)

    def shaken(self, parents: Graph, random: np.random.Generator) -> Graph:
        """Return the graph after as many random moves as there are nodes."""
        for _ in parents:
            places = np.flatnonzero(self.moves(parents))
            if len(places) == 0:
                break
            parents = self.after(parents, int(random.choice(places)))
        return parents


@dataclass
class Climb:
    """A climb, and the best graph that it has found; see :func:`learn_greedy_gbn` for its rules."""

    objective: Objective
    arcs: Arcs
    rounding: float
    tabu: int = 0
    restarts: int = 0

    def __post_init__(self) -> None:
        self.best = self.arcs.required
        self._best_total = -np.inf

    def run(self, random: np.random.Generator | None = None) -> bool:
        """Climb until no move gains, restarts included; return whether this was reached in time."""
        complete = self.climb_from(self.best)
        for _ in range(self.restarts):
            assert random is not None
            complete = complete and self.climb_from(self.arcs.shaken(self.best, random))
        return complete

    def climb_from(self, graph: Graph) -> bool:
        """Climb from a graph; return whether the end was reached in time."""
        recent: deque[Graph] = deque(maxlen=self.tabu)
        peak, idle = -np.inf, 0
        while self.objective.move_to(graph):
            total = self.objective.total
            idle = 0 if total > peak + self.rounding else idle + 1
            peak = max(peak, total)
            if total > self._best_total + self.rounding:
                self.best, self._best_total = graph, total
            if idle and idle >= self.tabu:
                return True
            recent.append(graph)
            moves = self.objective.gains(self.arcs.moves(graph))
            if moves is None:
                return False
            following = self._following(graph, moves, recent)
            if following is None:
                return True
            graph = following
        return False

    def _following(self, graph: Graph, gains: Floats, recent: deque[Graph]) -> Graph | None:
        """Return the graph after the best move that is admitted; None if there is none."""
        least = -np.inf if self.tabu else self.rounding
        while True:
            best = float(gains.max(initial=-np.inf))
            if not best > least:
                return None
            for move in np.flatnonzero(gains >= best - self.rounding).tolist():
                following = self.arcs.after(graph, move)
                if following not in recent:
                    return following
            gains = np.where(gains >= best - self.rounding, -np.inf, gains)
