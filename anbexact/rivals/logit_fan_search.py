"""Hill climbing over forest-augmented naive Bayes by the conditional likelihood of its logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from anbexact._runtime.deadline import Deadline, check_limit
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import one_blas_thread, run_tasks, thread_count
from anbexact._runtime.units import human_bytes
from anbexact.models.structure import Certificate, Structure
from anbexact.rivals.indicators import Columns, Floats, Rows, Term, make_columns
from anbexact.rivals.newton import Point, maximise, with_term, without_term
from anbexact.search.scoring.totals import class_of
from anbexact.search.single_states import single_states_apart
from anbexact.tables.table import DiscreteTable

TIE_PRECISIONS = 10.0
"""Scores that differ by less than this many precisions of the fit (``Rows.precision``) count as equal."""


@single_states_apart(below_class=True)
def learn_logit_fan(
    table: DiscreteTable,
    *,
    edges: bool = True,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Structure:
    """Learn a forest-augmented naive Bayes whose logistic regression has a high AIC, by hill climbing.

    The score of a forest with features F linked to the class and edges E between them is

        ``max_β Σ_t w_t ln P_β(c_t | x_t) - (s-1) (1 + Σ_{i in F} (r_i-1) + Σ_{ij in E} (r_i-1) (r_j-1))``,

    where P_β is the multinomial logistic regression with a coefficient for every state of a feature in F and every
    pair of states of an edge (for s classes and r_i states, including those never seen). The start is naive Bayes
    with all features. A step adds an edge between two features linked to the class that closes no cycle, removes an
    edge, or removes the class as a parent of a feature without edges. The search makes the step that raises the score
    most, until none raises it. Equal scores (to within 10⁻⁵ nats plus 10⁻¹¹ of the weight) are ordered by fewer
    parameters, then by the features of the edge, or the one feature, that come first in table order; steps that do
    not raise the score by more than that are not made.

    Every fit ends when a Newton step promises a gain of less than 10⁻⁶ nats plus 10⁻¹² of the weight. Where the
    classes are separable, the search thus compares suprema. All moves are considered, but most need a single Newton
    step, which bounds their gain (see :mod:`anbexact.rivals.newton`). A step takes O(n² N) for n features and N
    distinct rows, if numbers of states are small, plus O(p³) for a few models of p coefficients.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    edges : bool, default True
        Whether edges may be added; if not, features are only removed (pruned naive Bayes).
    time_limit : float, optional
        Time limit in seconds, after which the best structure found so far is returned. If there was no time to fit
        any model, this is naive Bayes, scored with coefficients of 0.
    n_jobs : int, optional
        Number of threads; None and -1 use all processors. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time, one phase for every step.

    Returns
    -------
    Structure
        Edges point away from the first feature of their tree in table order; a feature that was removed has no parent
        and no child. ``score`` is the score above, in nats; nothing is proved about it.

    Raises
    ------
    SearchTooLargeError
        If the curvature of a logistic regression would need more memory than is available.
    ValueError
        For invalid limits.

    References
    ----------
    Feelders and Ivanovs, *Discriminative Structure Learning of Bayesian Network Classifiers through Logistic
    Regression*, section 6.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.rivals.logit_fan_search import learn_logit_fan
    >>> structure = learn_logit_fan(DiscreteTable.from_frame(*load_monks(1)))
    >>> structure.feature_edges
    (('head_shape', 'body_shape'),)
    """
    check_limit("time_limit", time_limit)
    deadline = Deadline(time_limit)
    threads = thread_count(n_jobs)
    with one_blas_thread():
        climb = _Climb(table, threads, deadline, progress)
        complete = climb.run(edges=edges)
    method = "hill climbing by conditional AIC from naive Bayes, " + ("forests" if edges else "features removed only")
    if not complete:
        method += ", stopped by time_limit"
    infinite = float("inf")
    certificate = Certificate(False, infinite, infinite, climb.scored, deadline.worked, method)
    return Structure(class_of(table), forest_parents(table, climb.point.design.terms), climb.score, certificate)


@dataclass(frozen=True, eq=False)
class _Move:
    """A term to add or to remove.

    Attributes
    ----------
    term : Term
    parameters : int
        Number of parameters of the model after the move.
    design : Columns or None
        The design after the move; None if a term is added, which then comes last.
    start : array
        Coefficients to start from.
    lower, upper : float
        Bounds on the score.
    """

    term: Term
    parameters: int
    design: Columns | None
    start: Floats
    lower: float
    upper: float


class _Climb:
    """A search in progress: the model that it has reached, and its score."""

    def __init__(self, table: DiscreteTable, threads: int, deadline: Deadline, progress: Progress | None) -> None:
        self._rows = Rows(table)
        self._contrasts = table.vocabulary.arity(class_of(table)) - 1
        self._threads, self._deadline, self._progress = threads, deadline, progress
        self._tie = TIE_PRECISIONS * self._rows.precision
        self.scored = 1
        n = len(self._rows.arities)
        design = make_columns(self._rows, [(), *((i,) for i in range(n))])
        start = np.zeros((design.n_columns, self._rows.n_contrasts))
        self._check_memory(design)
        point = maximise(self._rows, design, start, wanted=lambda: -np.inf, deadline=deadline)
        self._reach(Point(self._rows, design, start) if point is None else point)

    def _reach(self, point: Point) -> None:
        self.point = point
        self._parameters = self._contrasts * sum(map(self._rows.n_terms, point.design.terms))
        self.score = point.value - self._parameters

    def _check_memory(self, design: Columns) -> None:
        """Refuse a model whose curvature does not fit into memory."""
        size = design.n_columns * self._rows.n_contrasts
        needed, available = 8 * size**2 * (1 + 2 * self._threads), available_memory()
        if needed > available:
            raise SearchTooLargeError(
                f"the logistic regression of {len(design.terms) - 1} terms has {size:,} coefficients; its curvature "
                f"needs {human_bytes(needed)}, but {human_bytes(available)} are available: use fewer or coarser "
                "features, or TANClassifier, which does not fit logistic regressions"
            )

    def run(self, *, edges: bool) -> bool:
        """Climb until no move raises the score; return whether this was reached in time."""
        step = 0
        while not self._deadline.passed:
            step += 1
            phase = f"step {step} ({self.score:.6g} nats)"
            moves = self._look(edges, f"{phase}, moves")
            found = None if moves is None else self._fit(moves, f"{phase}, fits")
            if found is None:
                return False
            if not found:
                return True
            best = max(score for _, score, _ in found)
            tied = [(move.parameters, move.term, point) for move, score, point in found if score >= best - self._tie]
            _, _, point = min(tied, key=lambda candidate: candidate[:2])
            self._reach(point)
        return False

    def _look(self, edges: bool, phase: str) -> list[_Move] | None:
        """Return the moves that may raise the score, the most promising first; None if time is up."""
        moves: list[_Move] = []
        point, rows = self.point, self._rows
        if rows.n_contrasts:
            point.factorise()

        def add(term: Term) -> None:
            parameters = self._parameters + self._contrasts * rows.n_terms(term)
            start, lower, upper = with_term(point, term)
            moves.append(_Move(term, parameters, None, start, lower - parameters, upper - parameters))

        def remove(term: Term) -> None:
            parameters = self._parameters - self._contrasts * rows.n_terms(term)
            place = point.design.terms.index(term)
            if rows.n_contrasts:
                design, start, lower = without_term(point, place)
            else:
                design, kept = point.design.minus(place)
                start, lower = point.coefficients[kept], 0.0
            upper = point.value + rows.precision
            moves.append(_Move(term, parameters, design, start, lower - parameters, upper - parameters))

        tasks: list[Callable[[], object]] = []
        for term in removable(point.design.terms):
            if self._contrasts * rows.n_terms(term) > 0:
                tasks.append(partial(remove, term))
        for term in addable(point.design.terms) if edges else ():
            parameters = self._contrasts * rows.n_terms(term)
            if 0 < parameters < rows.saturated - point.value:
                tasks.append(partial(add, term))
        self.scored += len(tasks)
        if tasks and not run_tasks(tasks, len(tasks), self._threads, self._deadline, phase, self._progress):
            return None
        return sorted(moves, key=lambda move: (-move.lower, move.parameters, move.term))

    def _fit(self, moves: list[_Move], phase: str) -> list[tuple[_Move, float, Point]] | None:
        """Return the moves that raise the score and may be the best, with scores and fits; None if time is up."""
        best = max([self.score + self._tie, *(move.lower for move in moves)])
        found: list[tuple[_Move, float, Point]] = []

        def fit(move: _Move) -> None:
            nonlocal best
            design = self.point.design.plus(self._rows, move.term) if move.design is None else move.design
            self._check_memory(design)

            def wanted() -> float:
                return best - self._tie + move.parameters

            point = maximise(self._rows, design, move.start, wanted=wanted, deadline=self._deadline)
            if point is not None and point.value - move.parameters > self.score + self._tie:
                score = point.value - move.parameters
                best = max(best, score)
                found.append((move, score, point))

        def task(move: _Move) -> None:
            if move.upper >= best - self._tie:
                fit(move)

        tasks = [partial(task, move) for move in moves]
        if tasks and not run_tasks(tasks, len(tasks), self._threads, self._deadline, phase, self._progress):
            return None
        return None if self._deadline.passed and not found else found


def removable(terms: Iterable[Term]) -> list[Term]:
    """Return the edges, and the features without edges, in feature order."""
    joined = {i for term in terms if len(term) == 2 for i in term}
    return sorted(term for term in terms if len(term) == 2 or (len(term) == 1 and term[0] not in joined))


def addable(terms: Iterable[Term]) -> list[Term]:
    """Return the edges between features linked to the class that close no cycle, in feature order."""
    linked = sorted(term[0] for term in terms if len(term) == 1)
    tree = {i: place for place, of_tree in enumerate(_forest(terms)) for i in of_tree}
    return [(i, j) for place, i in enumerate(linked) for j in linked[place + 1 :] if tree[i] != tree[j]]


def forest_parents(table: DiscreteTable, terms: Iterable[Term]) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return the parents of all variables, with edges directed away from the first feature of every tree."""
    import networkx as nx  # here, because importing it takes long

    name, features = class_of(table), table.vocabulary.features
    parents: dict[Hashable, tuple[Hashable, ...]] = dict.fromkeys(features, ())
    graph = nx.Graph([term for term in terms if len(term) == 2])
    for of_tree in _forest(terms):
        root = min(of_tree)
        parents[features[root]] = (name,)
        if root in graph:
            for parent, child in nx.bfs_edges(graph, root):
                parents[features[child]] = (name, features[parent])
    parents[name] = ()
    return parents


def _forest(terms: Iterable[Term]) -> list[set[int]]:
    """Return the features of every tree."""
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph([term for term in terms if len(term) == 2])
    graph.add_nodes_from(term[0] for term in terms if len(term) == 1)
    return list(nx.connected_components(graph))
