"""Exact search for the optimal augmented naive Bayes and the optimal general network: the public functions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import NamedTuple

from anbexact._runtime.advice import advise
from anbexact._runtime.deadline import Deadline, check_limit
from anbexact._runtime.memory import refused_without_memory
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import thread_count
from anbexact.models.proof import Proof
from anbexact.models.structure import Structure
from anbexact.scores import Score
from anbexact.search.advice import LONG_SEARCH, expected_to_be_long, not_proved
from anbexact.search.constraints import Edge, make_constraints
from anbexact.search.exact.exact_search import ExactSearch
from anbexact.search.exact.plan import Plan, check_fits
from anbexact.search.naive_bayes import without_feature_arcs
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.search.scoring.totals import class_of
from anbexact.search.single_states import SingleStates
from anbexact.tables.table import DiscreteTable


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
    """Learn the highest-scoring augmented naive Bayes and prove that it is optimal.

    The class is a parent of every feature; the arcs between features form the acyclic graph that maximises
    ``Σ_i local(i | {class} ∪ Π_i)``. There are two searches; the certificate names the one that was used.

    *All sets of features* are enumerated if they fit into memory (n up to about 27 in 16 GB) and no other search is
    faster. With set scores F, ``local(i | S) = F(S ∪ i) - F(S)``, and with ``best_i(T)`` the highest local score over
    the subsets of T, the best network over T is found from its best sink, ``B(T) = max_{i ∈ T} [B(T ∖ i) + best_i(T ∖
    i)]``, in O(n 2ⁿ) steps. Ties (to within rounding) are broken while the structure is read back, last feature
    first: the sink with the smaller parent set wins, then the parent set that comes first in table order, then the
    later feature.

    *Candidate lists* are used otherwise. They contain, for every feature, the parent sets that can still be optimal
    (see :func:`~anbexact.search.exact.candidates.candidate_lists`), from which branch and cut chooses (see
    :func:`~anbexact.search.exact.branch_and_cut.solve_lists`). Ties are broken by the same rule, so the arcs do not
    depend on the search that is used. The exceptions are networks without a proof, and those whose ties would take
    more than 20,000 parent sets or 100 branches to break: then the search returns the first best structure that it
    found (see :func:`~anbexact.search.exact.ties.first_choice`). If a limit is reached, the lists are complete only
    for small parent sets; the certificate then states up to how many feature parents the structure is optimal, and
    its bound holds for all structures. Without ``time_limit`` and ``max_parents``, that limit is a number of parent
    sets (3 million; 50 million where the penalty is proportional to the number of parent configurations), and the
    search stops trying to prove optimality after 20 processor seconds.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class. If its rows are not in memory, all families are scored, for which ``max_parents`` must
        leave no more than 200,000 (see the guide "Large tables").
    score : Score, default BDeu()
        BDeu, K2, LL, AIC, BIC, HQ and qNML have candidate lists. For other scores without set scores, the search
        scores all n 2ⁿ⁻¹ families separately, for up to 16 features. If this does not fit into memory and
        ``max_parents`` leaves no more than 20 million families, the search scores all of these for any other score.
        Branch and cut then chooses from the lists of those that score higher than all their subsets, and stops trying
        to prove optimality after 20 processor seconds.
    max_parents : int, optional
        Maximum number of feature parents of a feature, not counting the class.
    required, forbidden : iterable of (parent, child)
        Arcs between features that the structure must, or must not, contain.
    time_limit : float, optional
        Time limit in seconds, after which no further work is started; the best structure found so far is returned,
        with the proved gap.
    memory_limit : float, optional
        Maximum memory of the search in bytes; by default, all available memory.
    n_jobs : int, optional
        Number of threads; None and -1 use all processors. A search of milliseconds uses one. Score and certificate do
        not depend on it, unless a limit ends the search.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.

    Returns
    -------
    Structure
        With ``certificate.optimal`` true unless a limit ended the search. :func:`~anbexact.verify` checks the
        certificate.

    Raises
    ------
    SearchTooLargeError
        Before the search starts, if it would need more memory than allowed, or if there are too many features for a
        score without candidate lists.
    ValueError
        For invalid constraints or limits.
    KeyboardInterrupt
        When interrupted while it enumerates all sets of features, as soon as the current step (about a second) has
        ended. The search by candidate lists returns the best structure so far instead, with a warning.

    References
    ----------
    Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*, section 4; the dynamic programme is that of
    Silander and Myllymäki, UAI 2006, with the layers of Malone, Yuan and Hansen, AAAI 2011. For candidate lists and
    branch and cut, see the references of the functions named above.

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
    score = SearchRequirements("learn_anb").accept(score)
    rest = SingleStates.of(table, score, required, forbidden)
    limits = SearchLimits(max_parents, required, rest.forbidden, time_limit, memory_limit, n_jobs)
    structure = _learn(rest.table, class_of(table), score, limits, progress)
    return rest.added_to(structure, below_class=True)


def learn_gbn(
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
    """Learn the highest-scoring general Bayesian network and prove that it is optimal.

    The result is the acyclic graph over all variables that maximises ``Σ_v local(v | Π_v)``; the class is treated
    like any other variable, and the table need not have one. The searches, their cost, their tie rule and their
    proofs are those of :func:`learn_anb`, with one more variable if there is a class. With a score-equivalent score,
    Markov equivalent networks have the same score (and, with EAP tables, the same posterior); the tie rule decides
    which of them is returned.

    Parameters
    ----------
    table : DiscreteTable
        A table with or without a class.
    score : Score, default BDeu()
        Any score that does not require the class among the parents; aCLL does.
    max_parents : int, optional
        Maximum number of parents of a variable, counting the class.
    required, forbidden : iterable of (parent, child)
        Arcs that the structure must, or must not, contain; they may include the class.
    time_limit, memory_limit, n_jobs, progress
        As in :func:`learn_anb`.

    Returns
    -------
    Structure
        With ``certificate.optimal`` true unless a limit ended the search. :func:`~anbexact.verify` checks the
        certificate. Its ``class_name`` is None if the table has no class.

    Raises
    ------
    TypeError
        For a score that needs the class among the parents.
    SearchTooLargeError, ValueError, KeyboardInterrupt
        As :func:`learn_anb`.

    References
    ----------
    Silander and Myllymäki, UAI 2006; Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*, section 3.

    Examples
    --------
    >>> from anbexact import DiscreteTable, learn_gbn
    >>> from anbexact.datasets import load_monks
    >>> structure = learn_gbn(DiscreteTable.from_frame(*load_monks(1)))
    >>> structure.parents["is_monk"]
    ('head_shape', 'body_shape', 'jacket_color')
    >>> structure.certificate.optimal
    True

    Without a class:

    >>> X, _ = load_monks(1)
    >>> learn_gbn(DiscreteTable.from_frame(X)).edges
    ()
    """
    score = SearchRequirements("learn_gbn", class_free=True).accept(score, table)
    rest = SingleStates.of(table, score, required, forbidden)
    limits = SearchLimits(max_parents, required, rest.forbidden, time_limit, memory_limit, n_jobs)
    structure = _learn(rest.table.without_class(), table.vocabulary.class_name, score, limits, progress)
    return rest.added_to(structure, below_class=False)


class SearchLimits(NamedTuple):
    """The limits of a search: the structures that it admits, and its time, memory and threads."""

    max_parents: int | None
    required: Iterable[Edge]
    forbidden: Iterable[Edge]
    time_limit: float | None
    memory_limit: float | None
    n_jobs: int | None


def _learn(
    table: DiscreteTable, class_name: Hashable | None, score: Score, limits: SearchLimits, progress: Progress | None
) -> Structure:
    """Return the best structure over the features of a table; its class, if it has one, is a parent of them all."""
    check_limit("time_limit", limits.time_limit)
    check_limit("memory_limit", limits.memory_limit)
    deadline = Deadline(limits.time_limit)
    features = table.vocabulary.features
    constraints = make_constraints(features, limits.max_parents, limits.required, limits.forbidden)
    if not features:
        bare = without_feature_arcs(table, score)
        return replace(bare, certificate=replace(bare.certificate, proof=Proof(score, 0, (), (), None, ())))
    plan = Plan(table, score, constraints, thread_count(limits.n_jobs), deadline, limits.memory_limit)
    plan = plan.with_worthwhile_threads()
    search = ExactSearch(plan, class_name, progress)
    with refused_without_memory(f"searching for the best structure over {plan.n} features"):
        _ = search.forest  # first, in case there is no time for more
        if not plan.prunes:
            check_fits(plan)
        if limits.time_limit is None and plan.foreseen > LONG_SEARCH:
            advise("long search", expected_to_be_long(table, constraints, plan.foreseen, lattice=plan.all_sets))
        structure = search.pruned() if plan.prunes else None
        if structure is None:
            (solve, method), fallback = search.exhaustive()
            solved = solve(table, score, constraints, plan.threads, deadline, progress)
            structure = search.concluded(solved, method, fallback)
    if limits.time_limit is None and not (structure.certificate.optimal or deadline.interrupted):
        advise("not proved", not_proved(structure.certificate, constraints))
    return structure
