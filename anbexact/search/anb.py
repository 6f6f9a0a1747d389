"""Exact search for the optimal augmented naive Bayes: the front door."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from anbexact.limits import (
    Deadline,
    Progress,
    SearchTooLargeError,
    available_memory,
    check_limit,
    human_bytes,
    thread_count,
)
from anbexact.scores import BDeu, Score, SetScore
from anbexact.search.constraints import Constraints, Edge, make_constraints
from anbexact.search.families import MOST_FEATURES_UNLIMITED, family_memory, solve_families
from anbexact.search.hill_climbing import add_arcs
from anbexact.search.lattice import MOST_FEATURES, lattice_cost, solve_lattice
from anbexact.search.naive_bayes import class_of, learn_naive_bayes, total_score
from anbexact.search.optimum import ROUNDING, Optimum, Stopped
from anbexact.search.set_scores import cell_value_bytes
from anbexact.structure import Certificate, Structure
from anbexact.table import DiscreteTable

Solver: TypeAlias = Callable[[Constraints, int, Deadline, Progress | None], Optimum | Stopped]


def learn_anb(
    table: DiscreteTable,
    score: Score | None = None,
    *,
    max_parents: int | None = None,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    time_limit: float | None = None,
    memory_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Structure:
    """Learn the augmented naive Bayes of highest score, and prove it.

    The class is a parent of every feature; the arcs between features form the acyclic graph that maximises
    ``Σ_i local(i | {class} ∪ Π_i)``. With set scores F, ``local(i | S) = F(S ∪ i) - F(S)``, and with
    ``best_i(T)`` the highest local score over the subsets of T, the best network over T is found from its
    best sink, ``B(T) = max_{i ∈ T} [B(T ∖ i) + best_i(T ∖ i)]``. O(n 2ⁿ) steps and memory of the order of
    2ⁿ; n up to about 27 in 16 GB.

    Ties (to within rounding) are broken while the structure is read back, last feature first: the sink with
    the smaller parent set wins, then the parent set that comes first in table order, then the later feature.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    score : Score, default BDeu()
        With set scores, the search goes through the lattice of feature sets. Without, every family is scored by
        itself: n 2ⁿ⁻¹ of them, for up to 16 features, or for more with ``max_parents``.
    max_parents : int, optional
        Most feature parents of a feature, the class not counted.
    required, forbidden : iterable of (parent, child)
        Arcs between features that must, and must not, be in the structure.
    time_limit : float, optional
        Seconds after which no further work is started; the best structure known by then is returned, with
        the proved gap.
    memory_limit : float, optional
        Bytes that the search may use; all that is available by default.
    n_jobs : int, optional
        Threads; None and -1 stand for all processors. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.

    Returns
    -------
    Structure
        With ``certificate.optimal`` true unless the time ran out.

    Raises
    ------
    SearchTooLargeError
        Before the search starts, if it would need more memory than allowed, or the score has no set scores and the
        features are too many.
    ValueError
        For constraints or limits that make no sense.
    KeyboardInterrupt
        When interrupted, once the work under way (a second or so) has ended.

    References
    ----------
    Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*, section 4; the dynamic programme is
    that of Silander and Myllymäki, UAI 2006, with the layers of Malone, Yuan and Hansen, AAAI 2011.

    Examples
    --------
    >>> from anbexact import DiscreteTable, learn_anb
    >>> from anbexact.datasets import load_monks
    >>> structure = learn_anb(DiscreteTable.from_frame(*load_monks(1)))
    >>> structure.parents["body_shape"]
    ('is_monk', 'head_shape', 'jacket_color')
    >>> structure.certificate.optimal
    True
    """
    check_limit("time_limit", time_limit)
    check_limit("memory_limit", memory_limit)
    deadline = Deadline(time_limit)
    class_name = class_of(table)
    score = BDeu() if score is None else score
    features = table.vocabulary.features
    constraints = make_constraints(features, max_parents, required, forbidden)
    threads = thread_count(n_jobs)
    if not features:
        return learn_naive_bayes(table, score)
    if isinstance(score, SetScore) and score.has_set_score:
        solve: Solver = partial(solve_lattice, table, score)
        method = "lattice dynamic programme"
        _check_lattice(table, constraints, threads, memory_limit)
    else:
        solve = partial(solve_families, table, score)
        method = "dynamic programme over families"
        _check_families(table, score, constraints, threads, memory_limit, limited=max_parents is not None)
    fallback = None
    if time_limit is not None:
        fallback = add_arcs(table, score, class_name, constraints, Deadline(time_limit / 2))
    solved = solve(constraints, threads, deadline, progress)
    limits = "" if constraints.free else _describe(constraints, len(features))
    of_class = score.local_score(table, class_name, [])
    if isinstance(solved, Stopped):
        assert fallback is not None
        method = f"greedy, stopped by time_limit{limits}"
        return _certified(table, score, fallback, solved.bound + of_class, solved.sets, deadline, method)
    if not np.isfinite(solved.total):
        raise ValueError(
            "no structure satisfies the constraints: see required_edges, forbidden_edges and max_parents"
        )
    for rounding in (ROUNDING, ROUNDING / 1000, 0.0):  # heavy weights: set scores far above the total cost digits
        chosen = solved.parents(rounding)
        parents = {child: (class_name, *chosen[child]) for child in features}
        parents[class_name] = ()
        bound = solved.total + of_class
        structure = _certified(table, score, parents, bound, solved.sets, deadline, f"{method}{limits}")
        if structure.certificate.optimal:
            break
    return structure


def _check_lattice(table: DiscreteTable, constraints: Constraints, threads: int, memory_limit: float | None) -> None:
    """Refuse a lattice that would not fit into the memory."""
    n = len(table.vocabulary.features)
    if n > MOST_FEATURES:
        raise SearchTooLargeError(
            f"the exact search goes through all sets of features, and {n} features have "
            f"2^{n} of them; about 27 features fit into 16 GB. Select features first, or "
            "use a NaiveBayesClassifier."
        )
    cost = lattice_cost(n, len(table.weights), max_parents=constraints.max_parents, threads=threads)
    cost = replace(cost, memory=cost.memory + cell_value_bytes(table))
    allowed = available_memory() if memory_limit is None else memory_limit
    if cost.memory <= allowed:
        return
    fitting = n
    while fitting > 1 and lattice_cost(fitting, 0).memory > allowed:
        fitting -= 1
    enough = (
        f"enough for about {fitting} features" if lattice_cost(fitting, 0).memory <= allowed else "too little for any"
    )
    limit = "available" if memory_limit is None else "the memory_limit"
    raise SearchTooLargeError(
        f"the exact search over {n} features needs {cost}; {human_bytes(allowed)} is {limit}, "
        f"{enough}. Select features first, raise memory_limit on a larger machine, or use a "
        "NaiveBayesClassifier."
    )


def _check_families(
    table: DiscreteTable,
    score: Score,
    constraints: Constraints,
    threads: int,
    memory_limit: float | None,
    *,
    limited: bool,
) -> None:
    """Refuse more families than can be scored one by one, or than fit into the memory."""
    n = len(table.vocabulary.features)
    if n > MOST_FEATURES_UNLIMITED and not limited:
        raise SearchTooLargeError(
            f"{score.name} has no set scores (local(i | S) = F(S ∪ i) - F(S)), so each of the {n} 2^{n - 1} families "
            f"would be scored by itself: more than {MOST_FEATURES_UNLIMITED} features need max_parents=, or a score "
            "that has set scores, such as BDeu or BIC."
        )
    needed = family_memory(table, constraints.max_parents, threads)
    allowed = available_memory() if memory_limit is None else memory_limit
    if needed > allowed:
        raise SearchTooLargeError(
            f"the exact search over {n} features by a score without set scores needs {human_bytes(needed)}; "
            f"{human_bytes(allowed)} is {'available' if memory_limit is None else 'the memory_limit'}. Select "
            "features first, or use a score that has set scores, such as BDeu or BIC."
        )


def _describe(constraints: Constraints, n: int) -> str:
    parts = []
    if constraints.max_parents < n - 1:
        parts.append(f"at most {constraints.max_parents} feature parents")
    n_required = sum(map(len, constraints.required.values()))
    n_forbidden = sum(map(len, constraints.forbidden.values()))
    if n_required:
        parts.append(f"{n_required} required edges")
    if n_forbidden:
        parts.append(f"{n_forbidden} forbidden edges")
    return " among structures with " + ", ".join(parts)


def _certified(
    table: DiscreteTable,
    score: Score,
    parents: dict[Hashable, tuple[Hashable, ...]],
    bound: float,
    sets: int,
    deadline: Deadline,
    method: str,
) -> Structure:
    """Score the structure afresh and state what the bound proves."""
    total = total_score(table, score, parents)
    largest = float(table.weight_sum * np.log1p(table.weight_sum))
    optimal = bound - total <= 10 * ROUNDING * len(parents) * max(1.0, abs(total), largest)
    bound = total if optimal else bound
    certificate = Certificate(optimal, bound, bound - total, sets, deadline.elapsed, method)
    return Structure(class_of(table), parents, total, certificate)
