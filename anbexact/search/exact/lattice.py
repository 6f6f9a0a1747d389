"""Dynamic programming over all feature sets, for scores with set scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb, prod

import numpy as np
import numpy.typing as npt

from anbexact._kernels.lattice import ParentLimits, first_parent_sets, solve_blocks
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks
from anbexact._runtime.units import human_bytes, human_seconds
from anbexact.scores import MixedSetScore, SetScore
from anbexact.search.constraints import Constraints
from anbexact.search.exact.enumerated import subsets
from anbexact.search.exact.solution import Optimum, Stopped, first_optimum, local_bound, tie_tolerance
from anbexact.search.scoring.pair_scores import FamilyScorer
from anbexact.search.scoring.set_scores import SETS_TIMES_ROWS, SetScoreProblem, n_sets, prepare, score_all_sets
from anbexact.search.scoring.universal_sets import MASKS_PER_BLOCK
from anbexact.tables.table import DiscreteTable

SetScorer = Callable[[SetScoreProblem, int, Deadline, Progress | None], npt.NDArray[np.float64] | None]
LOW_BITS = 12
"""Bits of a set that are its place within a block."""
LEAST_SAMPLES, MOST_SAMPLES, STEPS_TRIED = 4, 32, 100_000_000
"""Bounds of the number of parts from whose work the total time is estimated, and the number of steps that ends the
estimate."""
FEWER_SETS_TIMES_ROWS = 23
"""Approximate binary logarithm of the number of sets times rows of such a part."""
LEAST_ROWS_COUNTED = 10_000
"""Minimum number of distinct rows for counting sets one by one."""
LAY_OUT_SECONDS, LAID_OUT_SHARE = 50e-9, 0.1
"""Processor seconds per row and feature to lay out the rows, and the share of the remaining time for this."""
COUNTING_SECONDS, REFINING_SECONDS = 1.6e-9, 2.5e-9
"""Processor seconds per row for counting a set, and per entry for refining groups of rows."""
MOST_FEATURES = 62
"""A set of features is a mask of 64 bits."""


@dataclass(frozen=True)
class Cost:
    """The estimated cost of a lattice search.

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
    """Estimate the cost of :func:`learn_anb` before anything is computed.

    The memory is that of the arrays: set scores and best totals (2ⁿ float64 each), two layers of best parent-set
    scores, and the row buffers of each thread. The time is a rule of thumb, accurate to within a factor of about two
    on tables without much structure and too high on others: 100 ns a set and 0.7 ns for each of its rows, then 16 ns
    for each of the n 2ⁿ⁻¹ steps of the dynamic programme.

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
    seconds = (sets * (100e-9 + 0.7e-9 * n_rows) + n * 2 ** (n - 1) * 16e-9) / threads
    return Cost(sets, memory, seconds)


def lattice_seconds(table: DiscreteTable, score: SetScore, max_parents: int, deadline: Deadline) -> float | None:
    """Estimate the processor time more accurately than :func:`lattice_cost`, from the work of a few small parts.

    The estimate counts steps and does not use the clock, so it is always the same for a table. It is accurate to
    within a factor of about two. It takes a second or two on a million rows, and milliseconds on a thousand. The
    result is None if time ran out, or if the estimate itself would take too much of it.
    """
    n = len(table.vocabulary.features)
    problem = prepare(table, score, max_parents + 1)
    of_networks = n * 2 ** (n - 1) * 16e-9
    if counting_pays(problem):
        return counting_seconds(problem) + float(of_networks)
    if n * len(table.weights) * LAY_OUT_SECONDS > LAID_OUT_SHARE * deadline.left:
        return None
    bits = SETS_TIMES_ROWS - FEWER_SETS_TIMES_ROWS + problem.decided
    decided = min(bits, n - problem.dense)
    rng = np.random.default_rng(0)
    scores = np.empty(1 << (n - decided))
    steps, samples, spent = 0, 0, 0
    while samples < LEAST_SAMPLES or (samples < MOST_SAMPLES and spent < STEPS_TRIED):
        if deadline.passed:
            return None
        steps += problem.subtree(_random_set(rng, decided, problem.max_size), scores)
        samples += 1
        spent = steps + samples * n * len(table.weights)
    of_scores = n_sets(n, problem.max_size) * 180e-9 + steps / samples * n_sets(decided, problem.max_size) * 1.3e-9
    return float(of_scores + of_networks)


def _random_set(rng: np.random.Generator, n: int, max_size: int) -> int:
    """Return the mask of a random subset of ``range(n)`` with a limited number of members, all equally probable."""
    sizes = np.array([comb(n, k) for k in range(min(n, max_size) + 1)], dtype=np.float64)
    size = int(rng.choice(len(sizes), p=sizes / sizes.sum()))
    return sum(1 << int(b) for b in rng.choice(n, size, replace=False))


def counting_pays(problem: SetScoreProblem) -> bool:
    """Whether counting every set separately is expected to be quicker than refining groups of rows.

    This is the case if there are few, small sets and many rows, and groups of rows do not become so small that they
    need no further work.
    """
    n, most, rows = len(problem.features), problem.max_size, len(problem.table.weights)
    if most >= n or rows < LEAST_ROWS_COUNTED:
        return False
    states = np.append(1.0, np.cumprod(problem.arities.astype(np.float64)))
    largest = [float(np.prod(np.sort(problem.arities)[n - size :].astype(np.float64))) for size in range(most + 1)]
    n_classes = prod(problem.table.shape(problem.table.vocabulary.common_parents))
    if largest[-1] * n_classes > rows / 4:
        return False
    entries = sum(
        comb(n - m, size) * min(float(rows), states[m] * n_classes * largest[size])
        for m in range(problem.dense, n)
        for size in range(most + 1)
    )
    return bool(counting_seconds(problem) < entries * REFINING_SECONDS)


def counting_seconds(problem: SetScoreProblem) -> float:
    """Estimate the processor time of counting all sets of a problem one by one."""
    return n_sets(len(problem.features), problem.max_size) * len(problem.table.weights) * COUNTING_SECONDS


def _counted_scores(
    problem: SetScoreProblem, threads: int, deadline: Deadline, progress: Progress | None
) -> npt.NDArray[np.float64] | None:
    """Return the same as :func:`score_all_sets`, with every set counted separately."""
    n, names = len(problem.features), problem.table.vocabulary.names
    scorer = FamilyScorer(problem.table, problem.score, threads, deadline)
    place = np.array([names.index(name) for name in problem.features])
    common = len(scorer.common)
    members, masks = [], []
    for size in range(problem.max_size + 1):
        bits = subsets(n, size)
        own = np.full((len(bits), common + problem.max_size), -1, dtype=np.int64)
        own[:, problem.max_size - size : own.shape[1] - size] = scorer.common
        own[:, own.shape[1] - size :] = place[bits]
        members.append(own)
        masks.append((1 << bits).sum(axis=1))
    found = scorer.set_scores(np.concatenate(members), "set scores", progress)
    if found is None:
        return None
    scores = np.zeros(1 << n)
    scores[np.concatenate(masks)] = found
    return scores


def _layer_sizes(low: int, high: int) -> list[int]:
    """Return the numbers of best parent-set scores in the layers of blocks of 0, 1, ... high bits."""
    return [comb(high, k) * (low + 2 * (high - k)) * (1 << (low - 1)) for k in range(high + 1)]


def set_scorer(problem: SetScoreProblem) -> SetScorer:
    """Return the faster way to score all sets of a problem: :func:`score_all_sets`, or counting every set."""
    return _counted_scores if counting_pays(problem) else score_all_sets


def at_all_levels(
    problem: SetScoreProblem,
    scores: npt.NDArray[np.float64] | None,
    table: DiscreteTable,
    score: SetScore | MixedSetScore,
    threads: int,
    deadline: Deadline,
    progress: Progress | None,
) -> npt.NDArray[np.float64] | None:
    """Return F(set ∪ class) for every mask, given the scores of the problem that :func:`prepare` made of a table.

    They are the scores of the problem, except with a mixed score. Its problem has all variables at their coarsest
    level, and sets that have variables at several levels are scored at each of their tuples of levels. None when time
    ran out.
    """
    scorer = FamilyScorer(table, score, threads, deadline)
    mixture = scorer.mixture
    if scores is None or mixture is None:
        return scores
    places = np.array([table.vocabulary.names.index(name) for name in problem.features])
    for b, name in enumerate(problem.features):
        scores.reshape(-1, 2, 1 << b)[:, 1] -= mixture.score.log_measure(table, (name, 1))
    bits = np.arange(len(places))
    n_blocks = max(1, len(scores) // MASKS_PER_BLOCK)
    for k, masks in enumerate(mixture.mixed_sets(problem.features, problem.max_size)):

        def shown(phase: str, fraction: float, k: int = k) -> None:
            if progress is not None:
                progress(phase, (k + fraction) / n_blocks)

        members = np.where(masks[:, None] >> bits & 1, places, -1)
        members = np.concatenate([members, np.tile(scorer.common, (len(masks), 1))], axis=1)
        found = scorer.set_scores(np.sort(members, axis=1), "set scores at all levels", shown)
        if found is None:
            return None
        scores[masks] = found
    return scores


def solve_lattice(
    table: DiscreteTable,
    score: SetScore | MixedSetScore,
    constraints: Constraints,
    threads: int,
    deadline: Deadline,
    progress: Progress | None,
) -> Optimum | Stopped:
    """Return the best feature parents by set scores and dynamic programming; see :func:`~anbexact.learn_anb`."""
    sets = n_sets(len(table.vocabulary.features), constraints.max_parents + 1)
    if deadline.passed:
        return unsolved(table, score)
    problem = prepare(table, score, constraints.max_parents + 1)
    scores = set_scorer(problem)(problem, threads, deadline, progress)
    scores = at_all_levels(problem, scores, table, score, threads, deadline, progress)
    if scores is None:
        return unsolved(table, score)
    optimum = solve_sets(problem, scores, constraints, threads, deadline, progress)
    if optimum is None:
        return Stopped(_upper_bound(table, score, problem, scores), sets)
    total = float(optimum[-1])

    def parents(rounding: float) -> dict[Hashable, tuple[Hashable, ...]]:
        return read_back(problem, scores, optimum, constraints, tie_tolerance(table, rounding))

    return Optimum(total, sets, parents)


def solve_sets(
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
    limits = parent_limits(problem.features, constraints)
    sizes = np.bitwise_count(np.arange(1 << high))
    places = np.empty(1 << high, dtype=np.int64)
    for k in range(high + 1):
        places[sizes == k] = np.arange(comb(high, k))
    optimum = np.empty(1 << n)
    layers = _layer_sizes(low, high)
    buffers = [np.empty(max(layers[parity::2], default=0)) for parity in (0, 1)]
    previous = np.empty((0, 0, 0))
    for k in range(high + 1):
        blocks = np.flatnonzero(sizes == k)
        current = buffers[k % 2][: layers[k]].reshape(len(blocks), -1, 1 << (low - 1))
        step = max(1, len(blocks) // (8 * threads))

        def tasks(
            blocks: npt.NDArray[np.int64] = blocks,
            step: int = step,
            previous: npt.NDArray[np.float64] = previous,
            current: npt.NDArray[np.float64] = current,
        ) -> Iterator[partial[None]]:
            for first in range(0, len(blocks), step):
                yield partial(
                    solve_blocks, blocks[first : first + step], places, first, low, scores, limits, previous, current,
                    optimum,
                )  # fmt: skip

        phase = f"dynamic programme, layer {k + 1} of {high + 1}"
        if not run_tasks(tasks(), -(-len(blocks) // step), threads, deadline, phase, progress):
            return None
        previous = current
    return optimum


def parent_limits(features: Sequence[Hashable], constraints: Constraints) -> ParentLimits:
    """Return the constraints for the kernels; bit b of a mask stands for ``features[b]``."""
    bits = {name: 1 << b for b, name in enumerate(features)}

    def masks(of: Mapping[Hashable, Collection[Hashable]]) -> npt.NDArray[np.int64]:
        return np.array([sum(bits.get(name, 0) for name in of[child]) for child in features], dtype=np.int64)

    own, required = np.array([*bits.values()], dtype=np.int64), masks(constraints.required)
    allowed = ((1 << len(features)) - 1) & ~own & ~masks(constraints.forbidden)
    return ParentLimits(allowed, required, constraints.max_parents, constraints.free)


def read_back(
    problem: SetScoreProblem,
    scores: npt.NDArray[np.float64],
    optimum: npt.NDArray[np.float64],
    constraints: Constraints,
    tolerance: float,
) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return the feature parents in an optimal structure, ties broken as :func:`learn_anb` says."""
    n = len(problem.features)
    limits = parent_limits(problem.features, constraints)
    order = problem.table_order
    place = {name: j for j, name in enumerate(order)}
    position = [place[name] for name in problem.features]
    in_order = np.argsort(position)

    def sinks(left: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        members = sum(1 << b for b in range(n) if left >> position[b] & 1)
        for size in range(n):
            masks = first_parent_sets(scores, optimum, members, size, tolerance, limits, in_order).tolist()
            for b, mask in enumerate(masks):
                if mask >= 0:
                    yield position[b], tuple(sorted(position[p] for p in range(n) if mask >> p & 1))
            if max(masks) >= 0:  # a larger set never wins
                return

    chosen = first_optimum((1 << n) - 1, sinks)
    return {order[k]: tuple(order[p] for p in places) for k, places in chosen.items()}


def unsolved(table: DiscreteTable, score: SetScore | MixedSetScore, *_: object) -> Stopped:
    """Return the result without any scored set, given the arguments of :func:`solve_lattice`."""
    return Stopped(sum(local_bound(table, score, child) for child in table.vocabulary.features), 0)


def _upper_bound(
    table: DiscreteTable,
    score: SetScore | MixedSetScore,
    problem: SetScoreProblem,
    scores: npt.NDArray[np.float64],
) -> float:
    """Return a bound on the features' score: each with the best of all its parent sets, cycles or not."""
    bounds = {name: local_bound(table, score, name) for name in table.vocabulary.features}
    total = 0.0
    for b, name in enumerate(problem.features):
        pairs = scores.reshape(-1, 2, 1 << b)
        total += min(bounds[name], float((pairs[:, 1] - pairs[:, 0]).max()))  # sets that are too large have no score
    return total
