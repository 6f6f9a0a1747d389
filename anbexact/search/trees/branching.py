"""Exact search for the optimal tree and the optimal forest over the features, all of them children of the class."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from anbexact._kernels.arborescence import best_arborescence
from anbexact._runtime.deadline import Deadline, check_limit
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import thread_count
from anbexact._runtime.units import counted
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import Score
from anbexact.scores.capabilities import has_set_scores
from anbexact.search.constraints import Constraints, Edge, make_constraints
from anbexact.search.exact.solution import local_bound
from anbexact.search.naive_bayes import learn_naive_bayes
from anbexact.search.scoring.pair_scores import FamilyScorer, PairScores, pair_scores
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.search.scoring.totals import class_of, total_score
from anbexact.search.single_states import single_states_apart
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary

LARGEST_WHOLE_GAIN = 2.0**44
"""The whole number to which the gain with the largest absolute value is scaled."""


@single_states_apart(below_class=True)
def learn_tan(
    table: DiscreteTable,
    score: Score | None = None,
    *,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Structure:
    """Learn the highest-scoring tree augmented naive Bayes (TAN).

    The class is a parent of every feature; the arcs between features form the spanning tree, directed away from
    one root, that maximises ``Σ_i local(i | class, π_i)``, or ``Σ_i [local(i | class, π_i) - local(i | class)]``: a
    maximum spanning arborescence, found by Edmonds' algorithm, over all roots in one run. The search requires only
    local scores. It takes O(n² N) steps for n features and N distinct rows, and about 100 n² bytes of memory (200 n²
    if the score of an arc depends on its direction).

    Ties (scores that differ only by rounding, about 10⁻¹² of the score of naive Bayes) are broken feature by feature
    in table order: having no feature parent comes first, then the parent that comes first in table order. The root is
    therefore the first feature if arcs score the same in both directions and are not constrained.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    score : Score, default BDeu()
        Any decomposable score. One with set scores is fastest, then a :class:`~anbexact.scores.FamilyScore`.
    required, forbidden : iterable of (parent, child)
        Arcs between features that the structure must, or must not, contain.
    time_limit : float, optional
        Time limit in seconds, after which no further pairs are scored; naive Bayes (with the required arcs) is then
        returned and not reported as optimal.
    n_jobs : int, optional
        Number of threads; None and -1 use all processors. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.

    Returns
    -------
    Structure
        ``certificate.optimal`` is True unless the time ran out. It refers to trees (that satisfy the constraints); a
        structure with fewer or more arcs may score higher.

    Raises
    ------
    SearchTooLargeError
        If the search would need more memory than is available.
    ValueError
        For invalid constraints or limits; if no spanning tree satisfies the constraints; if a score is not a number.

    References
    ----------
    Friedman, Geiger and Goldszmidt, Machine Learning 29 (1997), with the log likelihood; Heckerman, Geiger and
    Chickering, Machine Learning 20 (1995), section 7, for other scores; Edmonds (1967).

    Examples
    --------
    >>> from anbexact import DiscreteTable, learn_tan
    >>> from anbexact.datasets import load_monks
    >>> structure = learn_tan(DiscreteTable.from_frame(*load_monks(1)))
    >>> structure.parents["body_shape"]
    ('is_monk', 'head_shape')
    >>> len(structure.feature_edges)
    5
    """
    return _learn(table, score, required, forbidden, time_limit, n_jobs, progress, tree=True)


@single_states_apart(below_class=True)
def learn_fan(
    table: DiscreteTable,
    score: Score | None = None,
    *,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Structure:
    """Learn the highest-scoring forest augmented naive Bayes (FAN).

    The class is a parent of every feature, and a feature has at most one other parent. The arcs between features form
    the forest that maximises ``Σ_i local(i | class, π_i)``. This is a maximum branching in which every arc has a
    positive gain ``local(i | class, j) - local(i | class)`` or is required.

    Parameters, tie rule, cost and errors are those of :func:`learn_tan`, except that a forest exists even if there is
    no spanning tree.

    Returns
    -------
    Structure
        ``certificate.optimal`` is True unless the time ran out. It refers to forests (that satisfy the constraints).

    References
    ----------
    Edmonds, *Optimum branchings*, J. Research of the National Bureau of Standards 71B (1967).

    Examples
    --------
    >>> from anbexact import DiscreteTable, learn_fan
    >>> from anbexact.datasets import load_monks
    >>> learn_fan(DiscreteTable.from_frame(*load_monks(1))).feature_edges
    (('head_shape', 'body_shape'),)
    """
    return _learn(table, score, required, forbidden, time_limit, n_jobs, progress, tree=False)


def _learn(
    table: DiscreteTable,
    score: Score | None,
    required: Iterable[Edge],
    forbidden: Iterable[Edge],
    time_limit: float | None,
    n_jobs: int | None,
    progress: Progress | None,
    *,
    tree: bool,
) -> Structure:
    """Learn a tree or a forest."""
    check_limit("time_limit", time_limit)
    deadline = Deadline(time_limit)
    score = SearchRequirements("learn_tan" if tree else "learn_fan").accept(score)
    class_of(table)
    constraints = one_parent(table.vocabulary.features, required, forbidden)
    scorer = FamilyScorer(table, score, thread_count(n_jobs), deadline)
    if not table.vocabulary.features:
        return learn_naive_bayes(table, score)
    pairs = pair_scores(scorer, progress)
    if pairs is None:
        return out_of_time(scorer, constraints)
    parents = best_branching(scorer, pairs, constraints, tree=tree)
    if tree and (parents < 0).sum() > 1:
        raise ValueError(
            "no spanning tree over the features satisfies the constraints: at least "
            f"{(parents < 0).sum()} features would be without a feature parent (in a forest they may be: "
            "learn_fan, FANClassifier)"
        )
    children = np.flatnonzero(parents >= 0)
    total = pairs.class_score + float(pairs.alone.sum() + pairs.gains[parents[children], children].sum())
    kind = "maximum spanning tree, among tree" if tree else "maximum branching, among forest"
    method = f"{kind} augmented naive Bayes{describe(constraints)}"
    certificate = Certificate(True, total, 0.0, pairs.scored, deadline.worked, method)
    return as_structure(scorer, [[p] if p >= 0 else [] for p in parents.tolist()], total, certificate)


def one_parent(features: Sequence[Hashable], required: Iterable[Edge], forbidden: Iterable[Edge]) -> Constraints:
    """Check constraints on a tree, in which a feature has at most one feature parent."""
    constraints = make_constraints(features, None, required, forbidden)
    for child, child_parents in constraints.required.items():
        if len(child_parents) > 1:
            raise ValueError(
                f"the required edges give {child!r} {len(child_parents)} feature parents "
                f"({', '.join(repr(name) for name in features if name in child_parents)}); "
                "in a tree, a feature has only one"
            )
    return constraints


def describe(constraints: Constraints) -> str:
    """Return the constraints in words."""
    limits = []
    for kind, edges in (("required", constraints.required), ("forbidden", constraints.forbidden)):
        if any(edges.values()):
            limits.append(counted(sum(map(len, edges.values())), f"{kind} edge"))
    return " with " + ", ".join(limits) if limits else ""


def best_branching(
    scorer: FamilyScorer, pairs: PairScores, constraints: Constraints, *, tree: bool
) -> npt.NDArray[np.int64]:
    """Return each feature's parent (-1 for none) in the best forest: of all, or of those with the fewest trees.

    Gains are converted to whole numbers, so additions and subtractions in Edmonds' algorithm are exact.
    """
    n = scorer.n
    place = {name: i for i, name in enumerate(scorer.table.vocabulary.features)}
    edges = [(place[parent], place[child]) for child, of in constraints.forbidden.items() for parent in of]
    free = pairs.gains > (-np.inf if tree else pairs.rounding)
    free[tuple(np.array(edges, dtype=np.int64).reshape(-1, 2).T)] = False
    np.fill_diagonal(free, False)
    weights = np.zeros((n, n + 1), dtype=np.int64)  # children by parents, the last of which is the root
    gains = np.where(free, pairs.gains, 0.0)
    step = float(np.abs(gains).max()) / LARGEST_WHOLE_GAIN or 1.0
    weights[:, :n] = np.rint(gains / step).T
    rounding = int(min(pairs.rounding / step, 2 * LARGEST_WHOLE_GAIN)) + n + 2  # gains may have both signs
    weights[:, n] = -(n + 1) * (2 * int(np.abs(weights).max()) + rounding) if tree else 0
    admitted = np.ones((n, n + 1), dtype=bool)
    admitted[:, :n] = free.T
    for child, child_parents in constraints.required.items():
        for parent in child_parents:
            admitted[place[child]] = False
            admitted[place[child], place[parent]] = True
    parents = _first_optimum(weights, admitted, rounding)
    return np.where(parents == n, -1, parents)


def _first_optimum(
    weights: npt.NDArray[np.int64], admitted: npt.NDArray[np.bool_], rounding: int
) -> npt.NDArray[np.int64]:
    """Return the parents in the optimal arborescence that comes first: node by node, the root, then lower numbers.

    Arborescences count as optimal to within rounding. A first run gives the dual variables, and thereby weights under
    which sums that differ only by rounding are equal. Each further run decides the order of a few nodes, as many as
    fit into a number.
    """
    n = len(weights)
    base = n + 1
    digits = 1
    while base ** (digits + 1) * (n + 2) <= 2**61:
        digits += 1
    rank = -np.append(np.arange(1, n + 1), 0)
    parents = np.empty(n, dtype=np.int64)
    tight, reduced, order = np.empty_like(admitted), np.empty_like(weights), np.zeros_like(weights)
    sets = np.empty((n, n), dtype=bool), np.empty(n, dtype=np.int64)
    found = best_arborescence(weights, order, admitted, rounding, parents, tight, reduced, *sets)
    assert found
    weights = reduced.copy()
    undecided = np.flatnonzero(admitted.sum(axis=1) > 1)
    while len(undecided):
        chosen = undecided[:digits]
        order[:] = 0
        for k, child in enumerate(chosen):
            order[child] = rank * base ** (len(chosen) - 1 - k)
        best_arborescence(weights, order, admitted, 0, parents, tight, reduced, *sets)
        admitted = admitted & tight
        admitted[chosen] = False
        admitted[chosen, parents[chosen]] = True
        undecided = np.flatnonzero(admitted.sum(axis=1) > 1)
    return parents


def as_structure(
    scorer: FamilyScorer, parents: Sequence[Sequence[int]], total: float, certificate: Certificate
) -> Structure:
    """Return the structure in which the parents of a feature are the class and the features with these numbers."""
    name = class_of(scorer.table)
    features = scorer.table.vocabulary.features
    of_feature: dict[Hashable, tuple[Hashable, ...]] = {
        child: (name, *(features[p] for p in sorted(child_parents)))
        for child, child_parents in zip(features, parents, strict=True)
    }
    of_feature[name] = ()
    return Structure(name, of_feature, total, certificate)


def out_of_time(scorer: FamilyScorer, constraints: Constraints) -> Structure:
    """Return naive Bayes with the required arcs, for a search that was stopped before all pairs were scored."""
    table, score = scorer.table, scorer.score
    features = table.vocabulary.features
    name = class_of(table)
    parents: dict[Hashable, tuple[Hashable, ...]] = {
        child: (name, *constraints.required[child]) for child in features
    }
    parents[name] = ()
    total = total_score(table, score, parents)
    bound = max(total, upper_bound(scorer))
    method = f"naive Bayes, stopped by time_limit{describe(constraints)}"
    certificate = Certificate(False, bound, bound - total, 0, scorer.deadline.worked, method)
    return Structure(name, parents, total, certificate)


def upper_bound(scorer: FamilyScorer) -> float:
    """Return a bound on the score of every structure in which the class is a parent of every feature; in nats."""
    table, score = scorer.table, scorer.score
    if not has_set_scores(score):
        return float("inf")
    of_features = sum(local_bound(table, score, child) for child in table.vocabulary.features)
    return score.local_score(table, class_of(table), []) + of_features


def best_forest(
    table: DiscreteTable,
    score: Score,
    constraints: Constraints,
    deadline: Deadline,
    *,
    class_name: Hashable,
    threads: int,
) -> dict[Hashable, tuple[Hashable, ...]] | None:
    """Return the best forest over the features, with the class as a parent of all of them.

    It scores at least as high as the tree augmented naive Bayes; see :func:`~anbexact.learn_fan`.

    Parameters
    ----------
    table : DiscreteTable
        A table whose class is a parent of all features, or a variable like any other.
    class_name : Hashable
        The class.

    Returns
    -------
    dict or None
        Parents of every feature of the table (which includes the class if it is a variable like any other); None if
        the constraints do not admit the forest, or the time ran out.
    """
    above = () if table.vocabulary.common_parents else (class_name,)
    if above:
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
    return (
        parents if all(constraints.admits(child, child_parents) for child, child_parents in parents.items()) else None
    )
