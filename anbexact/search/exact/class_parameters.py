"""Exact search for the network with the fewest class parameters among I-maps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, prod
from typing import NamedTuple

from anbexact._runtime.advice import advise
from anbexact._runtime.deadline import Deadline, check_limit
from anbexact._runtime.memory import SearchTooLargeError
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import thread_count
from anbexact._runtime.units import counted, human_bytes
from anbexact.models.proof import Component, FewestClassParameters, Proof
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import Score
from anbexact.search.advice import LONG_SEARCH, expected_to_be_long
from anbexact.search.constraints import Constraints, Edge, make_constraints
from anbexact.search.exact.class_parameters_by_lists import OrderProgramme, takes_lists
from anbexact.search.exact.class_parameters_by_sets import BestOrders, Families
from anbexact.search.exact.exact_search import ExactSearch, Fallback
from anbexact.search.exact.plan import Plan, affordable_parents
from anbexact.search.exact.solution import Stopped, tie_tolerance
from anbexact.search.greedy.hill_climbing import add_arcs
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.search.scoring.totals import class_of, total_score
from anbexact.search.single_states import SingleStates
from anbexact.tables.table import DiscreteTable


def learn_mcp(
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
    """Learn the network with the fewest class parameters among I-maps, and prove that none has fewer.

    The class has no parents. Every order of the features, with the class before them all, has an I-map according to
    the score, in which the parents of a feature are the subset of the class and the features before it with the
    highest local score. Among the I-maps of all orders, the result is the one with the fewest class parameters

        (s - 1) + Σ_{i ∈ ch(C)} (r_i - 1) q_i,

    with s classes, r_i states, and q_i joint states of the parents of feature i, including the class; among I-maps
    with equally few, it is the one with the highest score. These are the parameters on which P(C | x) of a complete
    row depends. As the number of rows grows, BDeu picks the smallest sets that make a feature independent of the
    others before it, so the network is an I-map of the distribution that the rows come from.

    Where all sets of features fit into memory, they are enumerated. With F(S) the scores of all sets of features with
    and without the class, a maximum over subsets gives the best parents of feature i after every set W, and their
    class parameters d_i(W), which are 0 without the class. The fewest class parameters of the features in W are
    ``D(W) = min_{i ∈ W} [D(W ∖ i) + d_i(W ∖ i)]``, in whole numbers, in O(n 2ⁿ) steps. Local scores that are equal to
    within rounding count as ties: then the set without the class wins, then the one with fewer class parameters.
    Orders that tie in class parameters and in score are decided as by :func:`~anbexact.learn_anb`.

    Where they do not fit, and ``max_parents`` leaves at most 20 million families, all of these are scored, and an
    integer programme over orders is solved by branch and cut; then the solver decides between orders that tie. The
    highest score among the I-maps with as few class parameters is sought for another minute at most. If it is not
    proved by then, ``certificate.optimal`` is False, and ``certificate.gap`` is by how much a score can be higher.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    score : Score, default BDeu()
        Any score that does not require the class among the parents; a score without set scores supports up to 15
        features.
    max_parents : int, optional
        Maximum number of parents of a feature, counting the class. The highest local score is then the highest among
        the admitted sets, and the network need not be an I-map.
    required, forbidden : iterable of (parent, child)
        Arcs that the structure must, or must not, contain; the class can be the parent. I-maps are then restricted to
        the admitted orders and sets.
    time_limit : float, optional
        Time limit in seconds, after which no further work is started; a greedy structure without a proof is then
        returned.
    memory_limit : float, optional
        Maximum memory of the search in bytes; by default, all available memory.
    n_jobs, progress
        As in :func:`~anbexact.learn_anb`.

    Returns
    -------
    Structure
        ``certificate.optimal`` states that no I-map of an order has fewer class parameters, and that no I-map with
        equally few has a higher score; ``upper_bound`` is the highest score of these. :func:`~anbexact.verify` checks
        both.

    Raises
    ------
    TypeError
        For a score that needs the class among the parents.
    SearchTooLargeError
        Before the search starts, if it would need more memory than allowed, and there are too many families as well:
        about 24 features fit into 8 GB, more with ``max_parents``.
    ValueError
        For invalid constraints or limits.
    KeyboardInterrupt
        When interrupted; once an integer programme under way has ended.

    References
    ----------
    Sugahara, Kato and Ueno, *Learning Bayesian network classifiers to minimize the class variable parameters*, AAAI
    2024; with Cussens, Journal of Machine Learning Research 27(21), 2026. Their searches are a depth-first search
    with bounds, and an integer programme; the dynamic programme, and the programme over orders, are this package's.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.search import learn_mcp
    >>> from anbexact.datasets import load_monks
    >>> structure = learn_mcp(DiscreteTable.from_frame(*load_monks(1)))
    >>> structure.children("is_monk")
    ('body_shape', 'jacket_color')
    >>> structure.certificate.optimal
    True
    """
    score = SearchRequirements("learn_mcp", class_free=True).accept(score)
    check_limit("time_limit", time_limit)
    check_limit("memory_limit", memory_limit)
    deadline = Deadline(time_limit)
    rest = SingleStates.of(table, score, required, forbidden)
    name = class_of(table)
    within = rest.table.without_class()
    given = make_constraints(within.vocabulary.features, max_parents, required, rest.forbidden)
    if given.required[name]:
        raise ValueError(f"the class {name!r} has no parents here: required arcs cannot lead to it")
    constraints = replace(given, forbidden={**given.forbidden, name: frozenset(rest.table.vocabulary.features)})
    plan = Plan(within, score, constraints, thread_count(n_jobs), deadline, memory_limit)
    structure = _searched(plan.with_worthwhile_threads(), name, given, progress, limited=time_limit is not None)
    return rest.added_to(structure, below_class=False)


def class_parameters(
    parents: Mapping[Hashable, Sequence[Hashable]], class_name: Hashable, n_states: Callable[[Hashable], int]
) -> int:
    """Return the number of free probabilities of the class and of its children, which determine P(C | x)."""
    return sum(
        (n_states(child) - 1) * prod(map(n_states, of_child))
        for child, of_child in parents.items()
        if child == class_name or class_name in of_child
    )


def _searched(
    plan: Plan, class_name: Hashable, given: Constraints, progress: Progress | None, *, limited: bool
) -> Structure:
    """Return the structure, or a greedy one if the time did not suffice."""
    search, names = ExactSearch(plan, class_name, progress), plan.table.vocabulary.features
    if fits_lattice(plan):
        found, fallback = _over_all_sets(plan, class_name, progress, search, limited=limited)
    else:
        found, fallback = _by_lists(plan, class_name, progress), Fallback(None)
        if found is None:
            arcs = add_arcs(plan.table, plan.score, plan.constraints, plan.deadline, start=search.forest)
            fallback = Fallback(arcs)
    if found is None:
        greedy = search.concluded(Stopped(inf, 0), "", fallback)
        method = "greedy, stopped by time_limit; class parameters were not minimised"
        return replace(greedy, certificate=replace(Certificate.unknown(method), seconds=plan.deadline.worked))
    parents = {name: tuple(sorted(found.parents[name], key=lambda parent: parent != class_name)) for name in names}
    total = total_score(plan.table, plan.score, parents)
    count = class_parameters(parents, class_name, plan.table.vocabulary.arity)
    case = Component(tuple(name for name in names if name != class_name), total, FewestClassParameters(count))
    proof = Proof(plan.score, given.max_parents, given.required_edges, given.forbidden_edges, None, (case,))
    method = f"{found.method} for the fewest class parameters, {count:,}, among I-maps"
    if found.gap:
        method += ", of which none has fewer; the gap is that to the score of those with as few"
        bounded = Certificate(False, total + found.gap, found.gap, found.n_sets, plan.deadline.worked, method)
        return Structure(class_name, parents, total, bounded)
    return Structure(
        class_name, parents, total, Certificate(True, total, 0.0, found.n_sets, plan.deadline.worked, method, proof)
    )


class _Found(NamedTuple):
    """Parents of all variables, how they were found, how many sets or families were scored, and what is proved.

    ``gap`` limits how much higher the score can be among the I-maps with as few class parameters, in nats.
    """

    parents: Mapping[Hashable, tuple[Hashable, ...]]
    method: str
    n_sets: int
    gap: float


def _over_all_sets(
    plan: Plan, class_name: Hashable, progress: Progress | None, search: ExactSearch, *, limited: bool
) -> tuple[_Found | None, Fallback]:
    """Return the best parents by dynamic programming, and the fallback if the time did not suffice."""
    if not limited and plan.foreseen > LONG_SEARCH:
        advise("long search", expected_to_be_long(plan.table, plan.constraints, plan.foreseen, lattice=True))
    _, fallback = search.exhaustive()
    families = None if fallback.hopeless else Families.scored(plan, class_name, progress)
    best = None if families is None else BestOrders.of(families, plan, progress)
    if best is None or families is None:
        return None, fallback
    if best.cost[-1] < 0:
        raise ValueError(
            "no structure satisfies the constraints: see required_edges, forbidden_edges and max_parents"
        )
    parents = best.parents(families, plan.table.vocabulary.features, tie_tolerance(plan.table))
    return _Found({class_name: (), **parents}, "lattice dynamic programme", 1 << plan.n, 0.0), fallback


def _by_lists(plan: Plan, class_name: Hashable, progress: Progress | None) -> _Found | None:
    """Return the best parents by an integer programme over orders; None where the time did not suffice."""
    programme = OrderProgramme.scored(plan, class_name, progress)
    best = None if programme is None else programme.best_map(plan.deadline)
    if programme is None or best is None:
        return None
    most = plan.constraints.max_parents
    method = f"integer programme over orders, at most {counted(most, 'parent')},"
    return _Found({class_name: (), **best.parents}, method, programme.n_scored, best.gap)


def _memory(n: int, n_rows: int, threads: int) -> int:
    """Return the bytes of a search over n features and the class."""
    return ((8 * n + 32 + 40 * threads) << n) + (n + 2) * n_rows * (14 * threads + 6) + 100_000_000


def fits_lattice(plan: Plan) -> bool:
    """Return whether all sets of features are enumerated; if not, all families are scored.

    Raises
    ------
    SearchTooLargeError
        If there are too many families, too; the message says what would help.
    """
    n, rows, threads = plan.n - 1, len(plan.table.weights), plan.threads
    if not plan.has_lattice:
        return True  # The search is then by families, and checks itself that they are few enough.
    needed = _memory(n, rows, threads)
    if needed <= plan.memory or takes_lists(plan):
        return needed <= plan.memory
    fitting = n
    while fitting > 1 and _memory(fitting, rows, threads) > plan.memory:
        fitting -= 1
    limit = "is available" if plan.memory_limit is None else "is the memory_limit"
    most = affordable_parents(plan.n, plan.n - 1)
    raise SearchTooLargeError(
        f"the search for the fewest class parameters over {n} features enumerates 2^{n + 1} sets and needs "
        f"{human_bytes(needed)}; {human_bytes(int(plan.memory))} {limit}, enough for about {fitting} features. "
        f"Give max_parents={min(most, 3)} (all families with up to {counted(most, 'parent')} can be scored), select "
        "features first, raise memory_limit on a larger machine, or use an ANBClassifier, whose search takes more "
        "features."
    )
