"""Exact search for the network with the fewest class parameters among I-maps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, prod

import numpy as np
import numpy.typing as npt

from anbexact._kernels.class_parameters import best_below, best_orders
from anbexact._runtime.advice import advise
from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline, check_limit
from anbexact._runtime.memory import SearchTooLargeError
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks, thread_count
from anbexact._runtime.units import human_bytes
from anbexact.scores import Score
from anbexact.scores.capabilities import has_set_scores
from anbexact.search.advice import LONG_SEARCH, expected_to_be_long
from anbexact.search.constraints import Constraints, Edge, make_constraints
from anbexact.search.exact.by_family import family_scores
from anbexact.search.exact.exact_search import ExactSearch
from anbexact.search.exact.lattice import at_all_levels, set_scorer
from anbexact.search.exact.plan import Plan
from anbexact.search.exact.solution import Stopped, first_optimum, tie_tolerance
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.search.scoring.set_scores import prepare
from anbexact.search.scoring.totals import class_of, total_score
from anbexact.search.single_states import SingleStates
from anbexact.structures.proof import Component, FewestClassParameters, Proof
from anbexact.structures.structure import Certificate, Structure
from anbexact.tables.table import DiscreteTable

MOST_PARAMETERS = 1 << 55
"""Largest distinguished number of class parameters of a family; larger numbers count as this one."""
Whole = npt.NDArray[np.int64]


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

    There is one search. It scores all sets of features F(S) with and without the class. A maximum over subsets then
    gives the best parents of feature i after every set W, and their number of class parameters d_i(W), which is 0
    without the class. The fewest class parameters of the features in W are
    ``D(W) = min_{i ∈ W} [D(W ∖ i) + d_i(W ∖ i)]``, in whole numbers, in O(n 2ⁿ) steps. Local scores that are equal to
    within rounding count as ties: then the set without the class wins, then the one with fewer class parameters. Ties
    between orders in both class parameters and score are broken as in :func:`~anbexact.learn_anb`.

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
        Before the search starts, if it would need more memory than allowed: about 24 features fit into 8 GB.
    ValueError
        For invalid constraints or limits.
    KeyboardInterrupt
        When interrupted.

    References
    ----------
    Sugahara, Kato and Ueno, *Learning Bayesian network classifiers to minimize the class variable parameters*, AAAI
    2024; with Cussens, Journal of Machine Learning Research 27(21), 2026. They use a depth-first search with bounds
    and an integer programme; this function enumerates all sets of features.

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
    structure = _searched(plan, name, given, progress, limited=time_limit is not None)
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
    """Return the structure, or a greedy one if there was not enough time."""
    check_memory(plan)
    search = ExactSearch(plan, class_name, progress)
    if not limited and plan.foreseen > LONG_SEARCH:
        advise("long search", expected_to_be_long(plan.table, plan.constraints, plan.foreseen, lattice=True))
    _, fallback = search.exhaustive()
    families = None if fallback.hopeless else Families.scored(plan, class_name, progress)
    best = None if families is None else BestOrders.of(families, plan, progress)
    n_sets = 1 << plan.n
    if best is None or families is None:
        greedy = search.concluded(Stopped(inf, 0), "", fallback)
        method = "greedy, stopped by time_limit; class parameters were not minimised"
        return replace(greedy, certificate=replace(Certificate.unknown(method), seconds=plan.deadline.worked))
    if best.cost[-1] < 0:
        raise ValueError(
            "no structure satisfies the constraints: see required_edges, forbidden_edges and max_parents"
        )
    found = {class_name: (), **best.parents(families, plan.table.vocabulary.features, tie_tolerance(plan.table))}
    names = plan.table.vocabulary.features
    parents = {name: tuple(sorted(found[name], key=lambda parent: parent != class_name)) for name in names}
    total = total_score(plan.table, plan.score, parents)
    count = class_parameters(parents, class_name, plan.table.vocabulary.arity)
    case = Component(tuple(name for name in names if name != class_name), total, FewestClassParameters(count))
    proof = Proof(plan.score, given.max_parents, given.required_edges, given.forbidden_edges, None, (case,))
    method = f"lattice dynamic programme for the fewest class parameters, {count:,}, among I-maps"
    return Structure(
        class_name, parents, total, Certificate(True, total, 0.0, n_sets, plan.deadline.worked, method, proof)
    )


def _memory(n: int, n_rows: int, threads: int) -> int:
    """Return the bytes of a search over n features and the class."""
    return ((8 * n + 32 + 40 * threads) << n) + (n + 2) * n_rows * (14 * threads + 6) + 100_000_000


def check_memory(plan: Plan) -> None:
    """Refuse a search over more sets than fit into memory; say what would help."""
    n, rows, threads = plan.n - 1, len(plan.table.weights), plan.threads
    if not plan.has_lattice:
        return  # there are few families, and the search over families checks its memory
    needed = _memory(n, rows, threads)
    if needed <= plan.memory:
        return
    fitting = n
    while fitting > 1 and _memory(fitting, rows, threads) > plan.memory:
        fitting -= 1
    limit = "is available" if plan.memory_limit is None else "is the memory_limit"
    raise SearchTooLargeError(
        f"the search for the fewest class parameters over {n} features enumerates 2^{n + 1} sets and needs "
        f"{human_bytes(needed)}; {human_bytes(int(plan.memory))} {limit}, enough for about {fitting} features. "
        "Select features first, raise memory_limit on a larger machine, or use an ANBClassifier, whose search takes "
        "more features."
    )


@dataclass(frozen=True)
class Families:
    """The local scores of all families; bit b of a mask represents ``features[b]``, without the class.

    Attributes
    ----------
    features, n_states : sequence
        The features in the order of this search, and their numbers of states.
    n_classes : int
        Number of classes.
    raw : callable
        ``raw(b)``: local scores of feature b given every set of other features, without and with the class; the masks
        do not include its own bit.
    admits : callable
        ``admits(b)``: which of these families the constraints admit, or None for all.
    """

    features: tuple[Hashable, ...]
    n_states: tuple[int, ...]
    n_classes: int
    raw: Callable[[int], tuple[Floats, Floats]]
    admits: Callable[[int], tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]] | None]

    @classmethod
    def scored(cls, plan: Plan, class_name: Hashable, progress: Progress | None) -> Families | None:
        """Score all families; None when time ran out."""
        table, score, constraints = plan.table, plan.score, plan.constraints
        order, values, local = table.vocabulary.features, None, None
        if has_set_scores(score):
            problem = prepare(table, score, constraints.max_parents + 1)
            order = problem.features
            values = set_scorer(problem)(problem, plan.threads, plan.deadline, progress)
            values = at_all_levels(problem, values, table, score, plan.threads, plan.deadline, progress)
        else:
            local = family_scores(table, score, constraints, plan.threads, plan.deadline, progress)
        if values is None and local is None:
            return None
        place = order.index(class_name)
        features = tuple(name for name in order if name != class_name)

        def raw(b: int) -> tuple[Floats, Floats]:
            own = b + (b >= place)  # the class is one of the variables that were scored
            if values is not None:
                halves = values.reshape(-1, 2, 1 << own)
                of_child = (halves[:, 1] - halves[:, 0]).ravel()
            else:
                assert local is not None
                of_child = local[own]
            halves = of_child.reshape(-1, 2, 1 << (place - (own < place)))
            return halves[:, 0].ravel(), halves[:, 1].ravel()

        n_states = tuple(map(table.vocabulary.arity, features))
        admits = partial(_admitted, features, class_name, constraints)
        return cls(features, n_states, table.vocabulary.arity(class_name), raw, admits)

    def of_child(self, b: int) -> tuple[Floats, Floats, Whole]:
        """Return the local scores of a feature, minus infinity for families that are not admitted, and the costs.

        The costs are the class parameters of the families with the class.
        """
        without, within = self.raw(b)
        admitted = self.admits(b)
        if admitted is not None:
            without[~admitted[0]] = -np.inf
            within[~admitted[1]] = -np.inf
        cost = np.array([(self.n_states[b] - 1) * self.n_classes], dtype=np.int64)
        for other, arity in enumerate(self.n_states):
            if other != b:
                cost = np.concatenate([cost, np.minimum(cost, MOST_PARAMETERS // arity) * arity])
        return without, within, cost


def _admitted(
    features: Sequence[Hashable], class_name: Hashable, constraints: Constraints, b: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]] | None:
    """Return which families of a feature are admitted, without and with the class; None for all."""
    child = features[b]
    required, forbidden, most = constraints.required[child], constraints.forbidden[child], constraints.max_parents
    if not required and not forbidden and most >= len(features):
        return None
    others = [name for name in features if name != child]
    masks = np.arange(1 << len(others))
    must = sum(1 << k for k, name in enumerate(others) if name in required)
    must_not = sum(1 << k for k, name in enumerate(others) if name in forbidden)
    admitted = (masks & must == must) & (masks & must_not == 0)
    sizes = np.bitwise_count(masks)
    nowhere = np.zeros_like(admitted)
    without = nowhere if class_name in required else admitted & (sizes <= most)
    within = nowhere if class_name in forbidden else admitted & (sizes < most)
    return without, within


@dataclass(frozen=True)
class BestOrders:
    """The best family of every feature after every set, and the best order of every set.

    Attributes
    ----------
    family_score, family_cost : (n, 2**(n - 1)) float64, int64
        See :func:`~anbexact._kernels.class_parameters.best_below`.
    cost, score : (2**n,) int64, float64
        See :func:`~anbexact._kernels.class_parameters.best_orders`.
    """

    family_score: Floats
    family_cost: Whole
    cost: Whole
    score: Floats

    @classmethod
    def of(cls, families: Families, plan: Plan, progress: Progress | None) -> BestOrders | None:
        """Find them; None when time ran out."""
        n, tolerance = len(families.features), tie_tolerance(plan.table)
        shape = n, 1 << max(n - 1, 0)
        best = cls(
            np.empty(shape), np.empty(shape, dtype=np.int64), np.empty(1 << n, dtype=np.int64), np.empty(1 << n)
        )

        def below(b: int) -> None:
            without, within, cost = families.of_child(b)
            best_below(without, within, cost, tolerance)
            best.family_score[b], best.family_cost[b] = without, cost

        tasks = (partial(below, b) for b in range(n))
        if not run_tasks(tasks, n, plan.threads, plan.deadline, "best families", progress):
            return None
        orders = partial(best_orders, best.family_score, best.family_cost, best.cost, best.score)
        return best if run_tasks([orders], 1, 1, plan.deadline, "best orders", progress) else None

    def parents(
        self, families: Families, variables: Sequence[Hashable], tolerance: float
    ) -> dict[Hashable, tuple[Hashable, ...]]:
        """Return the parents of every feature in the best structure, ties broken as :func:`learn_mcp` says.

        ``variables`` are the features and the class in table order.
        """
        in_order = [name for name in variables if name in families.features]
        bits = [families.features.index(name) for name in in_order]

        def sinks(left: int) -> Iterator[tuple[int, tuple[int, ...]]]:
            members = sum(1 << b for k, b in enumerate(bits) if left >> k & 1)
            for k, b in enumerate(bits):
                before = members ^ (1 << b)
                if not left >> k & 1 or self.cost[before] < 0:
                    continue
                place = (members >> (b + 1) << b) | (members & ((1 << b) - 1))
                score = self.score[before] + self.family_score[b, place]
                cost = self.cost[before] + self.family_cost[b, place]
                if cost == self.cost[members] and score >= self.score[members] - tolerance:
                    yield k, self._first_set(families, variables, (b, place), tolerance)

        chosen = first_optimum(len(bits), sinks)
        return {in_order[k]: tuple(variables[v] for v in parents) for k, parents in chosen.items()}

    def _first_set(
        self, families: Families, variables: Sequence[Hashable], family: tuple[int, int], tolerance: float
    ) -> tuple[int, ...]:
        """Return the first of the equally good parent sets of a feature after a set, as numbers of variables."""
        b, after = family
        without, within, costs = families.of_child(b)
        cost = self.family_cost[b, after]
        reached = (within if cost else without) >= self.family_score[b, after] - tolerance
        masks = np.flatnonzero(reached & (costs == cost) if cost else reached)
        others = [name for name in families.features if name != families.features[b]]
        common = set(variables).difference(families.features) if cost else set()
        sets = [
            sorted(map(variables.index, common.union(name for k, name in enumerate(others) if mask >> k & 1)))
            for mask in masks[masks & ~after == 0].tolist()
        ]
        return min(map(tuple, sets), key=lambda parents: (len(parents), parents))
