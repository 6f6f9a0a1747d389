"""Exact search for the best graph of limited in-degree that is consistent with the optimal branching."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, islice, pairwise
from math import comb

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline, check_limit
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import thread_count
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import Score
from anbexact.search.constraints import Constraints, Edge
from anbexact.search.naive_bayes import learn_naive_bayes
from anbexact.search.scoring.pair_scores import FamilyScorer, pair_scores
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.search.scoring.totals import class_of
from anbexact.search.single_states import single_states_apart
from anbexact.search.trees.branching import (
    as_structure,
    best_branching,
    describe,
    one_parent,
    out_of_time,
    upper_bound,
)
from anbexact.tables.prediction import check_choice
from anbexact.tables.table import DiscreteTable

PARENT_SETS_PER_BATCH = 20_000
"""Parent sets that are scored together."""


REQUIREMENTS = SearchRequirements("learn_ckg")


@single_states_apart(below_class=True)
def learn_ckg(
    table: DiscreteTable,
    score: Score | None = None,
    *,
    k: int = 2,
    order: str = "ancestors",
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Structure:
    """Learn the best k-graph consistent with the optimal branching, with the class as a parent of every feature.

    The optimal branching R is the tree of :func:`~anbexact.learn_tan`. Let A_i be the features that come before
    feature i: by default, its ancestors, on the path to it from the root of R, and with ``order="breadth_first"``,
    all features before it in breadth-first order. The parents of feature i become the class and the best ``S ⊆ A_i``
    with ``|S| ≤ k``, ``argmax_S local(i | class, S)``. Every such graph is acyclic, and R is one of them. The search
    needs at most n^(k+1) local scores.

    The breadth-first order visits the roots first, then their children, then the children of these, and so on: those
    of the feature that was visited first come first, and the children of a feature in table order. All ancestors of a
    feature come before it, so no score is lower than with the default order.

    If arcs score the same in both directions, the root of R is arbitrary, yet it determines the ancestors and the
    order. It is then the first feature in table order, so the result depends on the order of features. Ties between
    parent sets (as for :func:`~anbexact.learn_tan`): the smaller one wins, then the one that comes first in table
    order.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    score : Score, default BDeu()
        Any decomposable score.
    k : int, default 2
        Maximum number of feature parents of a feature, 1 or more.
    order : {"ancestors", "breadth_first"}, default "ancestors"
        Which features may be parents of a feature: its ancestors in R, or all features that come before it in the
        breadth-first order of R.
    required, forbidden : iterable of (parent, child)
        Arcs between features that the structure must, or must not, contain. R must satisfy them, too, so a feature
        can have only one required parent. If no spanning tree satisfies them, R is the best forest of as few trees as
        possible.
    time_limit : float, optional
        Time limit in seconds, after which no further families are scored. Every feature then gets the best of the
        parent sets scored so far; if R itself was not finished, naive Bayes is returned.
    n_jobs : int, optional
        Number of threads; None and -1 use all processors. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.

    Returns
    -------
    Structure
        ``certificate.optimal`` and ``upper_bound`` refer only to the k-graphs consistent with this R and order: other
        structures with at most k feature parents may score higher. After a time limit, the structure is not reported
        as optimal.

    Raises
    ------
    SearchTooLargeError
        If all pairs of features would need more memory than is available.
    ValueError
        For an invalid k, order, constraints or limits; if a score is not a number.

    References
    ----------
    Carvalho and Oliveira, *Learning Bayesian Networks Consistent with the Optimal Branching*, ICMLA 2007,
    Algorithm 1 and Theorem 3.2. The breadth-first order: Carvalho, Oliveira and Sagot, *Efficient Learning of
    Bayesian Network Classifiers: An Extension to the TAN Classifier*, Australian Joint Conference on Artificial
    Intelligence 2007.

    Examples
    --------
    >>> from anbexact import DiscreteTable, learn_ckg
    >>> from anbexact.datasets import load_monks
    >>> structure = learn_ckg(DiscreteTable.from_frame(*load_monks(1)))
    >>> structure.parents["body_shape"]
    ('is_monk', 'head_shape')
    """
    check_limit("time_limit", time_limit)
    if isinstance(k, bool) or not hasattr(k, "__index__") or k < 1:
        raise ValueError(f"k must be a whole number, 1 or more, not {k!r}")
    check_choice("order", order, tuple(BEFORE))
    deadline = Deadline(time_limit)
    score = REQUIREMENTS.accept(score)
    class_of(table)
    constraints = one_parent(table.vocabulary.features, required, forbidden)
    scorer = FamilyScorer(table, score, thread_count(n_jobs), deadline)
    if not table.vocabulary.features:
        return learn_naive_bayes(table, score)
    pairs = pair_scores(scorer, progress)
    if pairs is None:
        return out_of_time(scorer, constraints)
    branching = best_branching(scorer, pairs, constraints, tree=True).tolist()
    candidates = [
        _candidates(scorer, constraints, child, before) for child, before in enumerate(BEFORE[order](branching))
    ]
    choices = [_Choice(pairs.rounding) for _ in branching]
    for child, (may, must) in enumerate(candidates):
        if not must:
            choices[child].offer([()], np.zeros(1))
        single = must or tuple(may)
        choices[child].offer([(parent,) for parent in single], pairs.gains[single, child])
    scored, complete = _score_larger_sets(scorer, candidates, choices, pairs.alone, int(k), progress)
    total = pairs.class_score + float(pairs.alone.sum()) + sum(choice.best for choice in choices)
    of_what = "of the optimal branching" if order == "ancestors" else "of the optimal branching's breadth-first order"
    of_what += describe(constraints)
    method = f"best consistent {int(k)}-graph {of_what}"
    bound = total
    if not complete:
        method = f"consistent {int(k)}-graph {of_what}, stopped by time_limit"
        bound = max(total, upper_bound(scorer))
    certificate = Certificate(complete, bound, bound - total, pairs.scored + scored, deadline.worked, method)
    return as_structure(scorer, [choice.chosen for choice in choices], total, certificate)


def _ancestors(branching: list[int]) -> list[list[int]]:
    """Return the ancestors of every node of a branching."""
    found: list[list[int]] = []
    for node in branching:
        found.append([])
        while node >= 0:
            found[-1].append(node)
            node = branching[node]
    return found


def _visited_before(branching: list[int]) -> list[list[int]]:
    """Return the nodes that come before every node of a branching in breadth-first order."""
    visited = [node for node, parent in enumerate(branching) if parent < 0]
    for node in visited:  # the list grows
        visited += [child for child, parent in enumerate(branching) if parent == node]
    place = {node: k for k, node in enumerate(visited)}
    return [visited[: place[node]] for node in range(len(branching))]


BEFORE: dict[str, Callable[[list[int]], list[list[int]]]] = {
    "ancestors": _ancestors,
    "breadth_first": _visited_before,
}
"""The orders, and functions that return the nodes before every node, given the parents in a branching (-1: none)."""


def _candidates(
    scorer: FamilyScorer, constraints: Constraints, child: int, before: list[int]
) -> tuple[list[int], tuple[int, ...]]:
    """Return the nodes before a feature that may be its parents, in table order, and those of them that must be."""
    features = scorer.table.vocabulary.features
    may = [node for node in sorted(before) if features[node] not in constraints.forbidden[features[child]]]
    return may, tuple(node for node in may if features[node] in constraints.required[features[child]])


class _Choice:
    """The best parent set of a feature among those offered, smaller ones first."""

    def __init__(self, rounding: float) -> None:
        self.rounding = rounding
        self.top = -np.inf
        self.contenders: list[tuple[float, tuple[int, ...]]] = []

    def offer(self, sets: list[tuple[int, ...]], gains: Floats) -> None:
        """Consider parent sets, each with its gain over the class alone."""
        if len(sets) == 0:
            return
        if not self.contenders:
            self.contenders = [(float(gains[0]), sets[0])]
            self.top = float(gains[0])
        before = np.maximum.accumulate(np.append(self.top, gains))[:-1]
        self.contenders += [(float(gains[t]), sets[t]) for t in np.flatnonzero(gains > before)]  # others never win
        self.top = self.contenders[-1][0]
        self.contenders = [(gain, of) for gain, of in self.contenders if gain >= self.top - self.rounding]

    @property
    def best(self) -> float:
        """The gain of the chosen set."""
        return self.contenders[0][0]

    @property
    def chosen(self) -> tuple[int, ...]:
        """The smallest set, the first in table order, that gains as much as any."""
        return self.contenders[0][1]


def _score_larger_sets(
    scorer: FamilyScorer,
    candidates: list[tuple[list[int], tuple[int, ...]]],
    choices: list[_Choice],
    alone: Floats,
    k: int,
    progress: Progress | None,
) -> tuple[int, bool]:
    """Offer all sets of 2 to k parents; return their number, and whether there was enough time."""
    n_sets = sum(comb(len(may) - len(must), s - len(must)) for may, must in candidates for s in range(2, k + 1))
    scored = 0
    for size in range(2, k + 1):
        for block in _blocks(candidates, size):
            children = np.array([child for child, _ in block], dtype=np.int64)
            parents = np.array([child_parents for _, child_parents in block], dtype=np.int64)
            positions = scorer.features
            scores = scorer.local_scores(positions[children], positions[parents], "parent sets", None)
            if scores is None:
                return scored, False
            if np.isnan(scores).any() or (scores == np.inf).any():
                raise ValueError(f"the score {scorer.score.name!r} of a feature given {size} others is not a number")
            gains = scores - alone[children]
            starts = [0, *(np.flatnonzero(np.diff(children)) + 1).tolist(), len(block)]
            for first, last in pairwise(starts):
                choices[children[first]].offer(
                    [child_parents for _, child_parents in block[first:last]], gains[first:last]
                )
            scored += len(block)
            if progress is not None:
                progress("parent sets", scored / n_sets)
    return scored, True


def _blocks(
    candidates: list[tuple[list[int], tuple[int, ...]]], size: int
) -> Iterator[list[tuple[int, tuple[int, ...]]]]:
    """Yield all (child, parent set) of this size in blocks, in table order."""
    families = (
        (child, child_parents)
        for child, (may, must) in enumerate(candidates)
        for child_parents in combinations(may, size)
        if set(must) <= set(child_parents)
    )
    while block := list(islice(families, PARENT_SETS_PER_BATCH)):
        yield block
