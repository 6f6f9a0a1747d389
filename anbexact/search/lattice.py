"""Exact search for the optimal augmented naive Bayes, by dynamic programming over all feature sets."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from math import comb

import numpy as np
import numpy.typing as npt

from anbexact._kernels.lattice import first_parent_set, solve_blocks
from anbexact.limits import (
    Deadline,
    Progress,
    SearchTooLargeError,
    available_memory,
    check_limit,
    human_bytes,
    human_seconds,
    run_tasks,
    thread_count,
)
from anbexact.scores import BDeu, Score, SetScore
from anbexact.search.constraints import Constraints, Edge, make_constraints
from anbexact.search.hill_climbing import add_arcs
from anbexact.search.naive_bayes import class_of, learn_naive_bayes, total_score
from anbexact.search.set_scores import (
    SetScoreProblem,
    cell_value_bytes,
    entropy_order,
    n_sets,
    prepare,
    score_all_sets,
)
from anbexact.structure import Certificate, Structure
from anbexact.table import DiscreteTable

LOW_BITS = 12
"""Bits of a set that are its place within a block."""
MOST_FEATURES = 62
"""A set of features is a mask of 64 bits."""
ROUNDING = 1e-12
"""Scores closer than this share of the largest set score count as equal."""


@dataclass(frozen=True)
class Cost:
    """What a lattice search will take.

    Attributes
    ----------
    sets : int
        Feature sets to score.
    memory : int
        Peak memory in bytes.
    seconds : float
        Rough wall-clock time with the given number of threads.
    """

    sets: int
    memory: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.sets:,} sets, {human_bytes(self.memory)}, about {human_seconds(self.seconds)}"


def lattice_cost(n_features: int, n_rows: int, *, max_parents: int | None = None, threads: int = 1) -> Cost:
    """Estimate what :func:`learn_anb` takes, before anything is computed.

    The memory is what the arrays occupy: set scores and best totals (2ⁿ float64 each), two layers of
    best parent-set scores, and the row buffers of each thread. The time is a rule of thumb, right to within a
    factor of two or so on tables without much structure, too high on others: 100 ns a set and 0.7 ns for each of
    its rows, then 8 ns for each of the n 2ⁿ⁻¹ steps of the dynamic programme.

    Parameters
    ----------
    n_features, n_rows : int
        Features; distinct rows.
    max_parents : int, optional
        Limit on feature parents.
    threads : int
        Threads that share the work.
    """
    n = n_features
    sets = n_sets(n, n if max_parents is None else max_parents + 1)
    low = min(n, LOW_BITS)
    high = n - low
    layers = _layer_sizes(low, high)
    two_layers = 8 * (max(layers[::2]) + max(layers[1::2], default=0))
    buffers = (n + 1) * n_rows * (14 * threads + 4 + 2)
    memory = 16 * (1 << n) + two_layers + buffers + 100_000_000
    seconds = (sets * (100e-9 + 0.7e-9 * n_rows) + n * 2 ** (n - 1) * 8e-9) / threads
    return Cost(sets, memory, seconds)


def _layer_sizes(low: int, high: int) -> list[int]:
    """Return the numbers of best parent-set scores in the layers of blocks of 0, 1, ... high bits."""
    return [comb(high, k) * (low + 2 * (high - k)) * (1 << (low - 1)) for k in range(high + 1)]


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
        A score that has set scores.
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
    TypeError
        If the score has no set scores.
    SearchTooLargeError
        Before the search starts, if it would need more memory than allowed.
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
    set_score = _set_score(BDeu() if score is None else score)
    features = table.vocabulary.features
    constraints = make_constraints(features, max_parents, required, forbidden)
    threads = thread_count(n_jobs)
    if len(features) > MOST_FEATURES:
        raise SearchTooLargeError(
            f"the exact search goes through all sets of features, and {len(features)} features have "
            f"2^{len(features)} of them; about 27 features fit into 16 GB. Select features first, or "
            "use a NaiveBayesClassifier."
        )
    if not features:
        return learn_naive_bayes(table, set_score)
    cost = lattice_cost(len(features), len(table.weights), max_parents=constraints.max_parents, threads=threads)
    cost = replace(cost, memory=cost.memory + cell_value_bytes(table))
    _check_memory(cost, len(features), memory_limit)
    fallback = None
    if time_limit is not None:
        fallback = add_arcs(table, set_score, class_name, constraints, Deadline(time_limit / 2))
    problem = prepare(table, set_score, constraints.max_parents + 1)
    scores = score_all_sets(problem, threads, deadline, progress)
    optimum = None if scores is None else _solve(problem, scores, constraints, threads, deadline, progress)
    limits = "" if constraints.free else _describe(constraints, len(features))
    if scores is None or optimum is None:
        assert fallback is not None
        bound = _upper_bound(table, set_score, scores)
        sets = 0 if scores is None else cost.sets
        return _certified(table, set_score, fallback, bound, sets, deadline, f"greedy, stopped by time_limit{limits}")
    if not np.isfinite(optimum[-1]):
        raise ValueError(
            "no structure satisfies the constraints: see required_edges, forbidden_edges and max_parents"
        )
    bound = float(optimum[-1]) + set_score.local_score(table, class_name, [])
    method = f"lattice dynamic programme{limits}"
    for rounding in (ROUNDING, ROUNDING / 1000, 0.0):  # heavy weights: set scores far above the total cost digits
        chosen = _read_back(problem, scores, optimum, constraints, features, threads, rounding)
        parents = {child: (class_name, *chosen[child]) for child in features}
        parents[class_name] = ()
        structure = _certified(table, set_score, parents, bound, cost.sets, deadline, method)
        if structure.certificate.optimal:
            break
    return structure


def _set_score(score: Score) -> SetScore:
    """Return the score; refuse one without set scores."""
    if isinstance(score, SetScore) and score.has_set_score:
        return score
    raise TypeError(
        "learn_anb on the full lattice requires a score with set scores (local(i | S) = F(S ∪ i) - F(S)); "
        f"{getattr(score, 'name', score)!r} has none"
    )


def _check_memory(cost: Cost, n: int, memory_limit: float | None) -> None:
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


def _solve(
    problem: SetScoreProblem,
    scores: npt.NDArray[np.float64],
    constraints: Constraints,
    threads: int,
    deadline: Deadline,
    progress: Progress | None,
) -> npt.NDArray[np.float64] | None:
    """Return the best total score of a network over every set; None when the time ran out."""
    n = len(problem.features)
    low = min(n, LOW_BITS)
    high = n - low
    allowed, required = _masks(problem, constraints)
    sizes = np.bitwise_count(np.arange(1 << high))
    places = np.empty(1 << high, dtype=np.int64)
    for k in range(high + 1):
        places[sizes == k] = np.arange(comb(high, k))
    optimum = np.empty(1 << n)
    layers = _layer_sizes(low, high)
    rooms = [np.empty(max(layers[parity::2], default=0)) for parity in (0, 1)]
    previous = np.empty((0, 0, 0))
    for k in range(high + 1):
        blocks = np.flatnonzero(sizes == k)
        current = rooms[k % 2][: layers[k]].reshape(len(blocks), -1, 1 << (low - 1))
        step = max(1, len(blocks) // (8 * threads))

        def tasks(
            blocks: npt.NDArray[np.int64] = blocks,
            step: int = step,
            previous: npt.NDArray[np.float64] = previous,
            current: npt.NDArray[np.float64] = current,
        ) -> Iterator[partial[None]]:
            for first in range(0, len(blocks), step):
                yield partial(
                    solve_blocks, blocks[first : first + step], places, first, n, low, scores, allowed, required,
                    constraints.max_parents, constraints.free, previous, current, optimum,
                )  # fmt: skip

        phase = f"dynamic programme, layer {k + 1} of {high + 1}"
        if not run_tasks(tasks(), -(-len(blocks) // step), threads, deadline, phase, progress):
            return None
        previous = current
    return optimum


def _masks(problem: SetScoreProblem, constraints: Constraints) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return, per bit, the masks of allowed and of required parents."""
    features = problem.features
    allowed = np.zeros(len(features), dtype=np.int64)
    required = np.zeros(len(features), dtype=np.int64)
    for b, child in enumerate(features):
        for p, parent in enumerate(features):
            allowed[b] |= (p != b and parent not in constraints.forbidden[child]) << p
            required[b] |= (parent in constraints.required[child]) << p
    return allowed, required


def _read_back(
    problem: SetScoreProblem,
    scores: npt.NDArray[np.float64],
    optimum: npt.NDArray[np.float64],
    constraints: Constraints,
    order: tuple[Hashable, ...],
    threads: int,
    rounding: float,
) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return the feature parents in an optimal structure, ties broken as :func:`learn_anb` says."""
    n = len(problem.features)
    allowed, required = _masks(problem, constraints)
    place = {name: j for j, name in enumerate(order)}
    position = np.array([place[name] for name in problem.features])
    tolerance = rounding * max(1.0, float(np.abs(scores[[0, -1]]).max()))
    chosen: dict[Hashable, tuple[Hashable, ...]] = {}
    members = (1 << n) - 1
    with ThreadPoolExecutor(threads) as pool:
        while members:

            def parent_set(b: int, members: int = members) -> int:
                rest = members & ~(1 << b)
                threshold = optimum[members] - optimum[rest] - tolerance
                return int(
                    first_parent_set(
                        scores, b, rest, threshold, allowed[b], required[b], constraints.max_parents, position
                    )
                )

            bits = [b for b in range(n) if members >> b & 1]
            sinks = []
            for b, mask in zip(bits, pool.map(parent_set, bits), strict=True):
                if mask >= 0:
                    places = sorted(int(position[p]) for p in range(n) if mask >> p & 1)
                    sinks.append((len(places), places, -int(position[b]), b))
            _, places, _, sink = min(sinks)
            chosen[problem.features[sink]] = tuple(order[p] for p in places)
            members &= ~(1 << sink)
    return chosen


def _upper_bound(table: DiscreteTable, score: SetScore, scores: npt.NDArray[np.float64] | None) -> float:
    """Return a bound on the total score: every feature with the best of all its parent sets, cycles or not."""
    total = score.local_score(table, class_of(table), [])
    if scores is None:
        return total + sum(score.local_upper_bound(table, child) for child in table.vocabulary.features)
    bounds = {name: score.local_upper_bound(table, name) for name in table.vocabulary.features}
    for b, name in enumerate(entropy_order(table, table.vocabulary.features)):
        pairs = scores.reshape(-1, 2, 1 << b)
        total += min(bounds[name], float((pairs[:, 1] - pairs[:, 0]).max()))  # sets too large hold no score
    return total


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
    optimal = bound - total <= 10 * ROUNDING * len(parents) * max(1.0, abs(total))
    bound = total if optimal else bound
    certificate = Certificate(optimal, bound, bound - total, sets, deadline.elapsed, method)
    return Structure(class_of(table), parents, total, certificate)
