"""Set scores of all subsets of the features (each with the class added), as one array."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import comb, isqrt, log, prod
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlogy

from anbexact._kernels.cells import CellValues
from anbexact._kernels.set_scores import HISTOGRAM, Boards, Features, Levels, LowSets, SortedRows, score_subtree
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks
from anbexact.scores import MixedSetScore, SetScore
from anbexact.scores.capabilities import is_mixed
from anbexact.tables.table import DiscreteTable

TABLE_CELLS = 1 << 22
"""Maximum number of tabulated cell values of whole weights (32 MB), in addition to the few that are required."""
LEAST_TABULATED, CELLS_PER_GAMMA = 1024, 10
"""Whole weights are tabulated up to the first, and further while that costs less than ln Γ of the heavier cells: the
second is how many tabulated values cost as much as one such logarithm."""
DENSE_SLOTS, MOST_DENSE = 32, 5
"""Maximum number of joint states of the lowest features, which the walk omits, and of these features."""
SETS_TIMES_ROWS = 27
"""Approximate binary logarithm of the number of sets times rows of a task; the clock is checked between tasks."""

LEAST_SETS = 8
"""Binary logarithm of the minimum number of sets in a task: smaller tasks cost more to distribute than to do."""

MOST_SORTED_KEPT = 1_000_000
"""Maximum number of cells of a table whose sorted rows are kept for scores with other equivalent sample sizes."""


class _Sorted(NamedTuple):
    """The rows of a table, sorted by class and features, as in :class:`SortedRows` and :class:`Features`."""

    weights: npt.NDArray[np.float64]
    class_starts: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int16]
    ranks: npt.NDArray[np.int32]


_SORTED: WeakKeyDictionary[DiscreteTable, _Sorted] = WeakKeyDictionary()
"""The sorted rows of tables that are still in use; the order of features depends on the table alone."""


@dataclass(frozen=True, eq=False)
class SetScoreProblem:
    """A table prepared for the kernel; bit b of a set stands for ``features[b]``.

    Features are ordered by entropy, lowest first. The walk decides the highest bit first, so rows separate early and
    merge often where most of its nodes are.
    """

    table: DiscreteTable
    score: SetScore
    features: tuple[Hashable, ...]
    dense: int
    arities: npt.NDArray[np.int64]
    strides: npt.NDArray[np.int64]
    parameters: npt.NDArray[np.float64]
    constants: npt.NDArray[np.float64]
    max_size: int
    rooms: list[tuple[Levels, Boards]] = field(default_factory=list, init=False, repr=False)

    @property
    def table_order(self) -> tuple[Hashable, ...]:
        """The features in table order."""
        return self.table.vocabulary.features

    @property
    def decided(self) -> int:
        """Highest bits that identify a task: enough tasks, none with few sets, or with many sets times rows."""
        n = len(self.features)
        enough = n - SETS_TIMES_ROWS + len(self.table.weights).bit_length()
        return max(0, min(max(min(6, n - LEAST_SETS), n - 16, enough), n - self.dense))

    @cached_property
    def laid_out(self) -> tuple[SortedRows, Features, LowSets, CellValues]:
        """The rows sorted, their prefixes ranked, and the cell values tabulated."""
        rows = _SORTED.get(self.table)
        if rows is None:
            rows = _sorted_rows(self.table)
            if rows.codes.size <= MOST_SORTED_KEPT:
                _SORTED[self.table] = rows
        slots = np.zeros(len(rows.weights), dtype=np.int32)
        for b in reversed(range(self.dense)):
            slots = slots * np.int32(self.arities[b]) + rows.codes[b]
        values = cell_values(self.parameters, _table_shape(self.table)[1])
        whole = values.shape[1] > rows.weights.sum() and np.array_equal(rows.weights, np.rint(rows.weights))
        return (
            SortedRows(rows.weights, rows.class_starts, slots),
            Features(rows.codes, rows.ranks, self.arities, self.strides),
            self._low_sets(),
            CellValues(self.parameters, gammaln(self.parameters), values, bool(whole)),
        )

    def _low_sets(self) -> LowSets:
        """Return the subsets of the lowest features."""
        members = np.arange(1 << self.dense)[:, None] >> np.arange(self.dense) & 1
        q = members @ self.strides[: self.dense]
        _, first, place = np.unique(q, return_index=True, return_inverse=True)
        return LowSets(q, members.sum(axis=1), first[place], self.arities[: self.dense])

    def subtree(self, prefix: int, out: npt.NDArray[np.float64]) -> int:
        """Score the sets whose highest bits are ``prefix``; as many as ``out`` has room for.

        Returns the steps that it took below the prefix.
        """
        decided = len(self.features) - (len(out).bit_length() - 1)
        try:
            room = self.rooms.pop()
        except IndexError:  # more simultaneous walks than ever before
            room = Levels.empty(len(self.table.weights), self.arities), Boards.empty(self.arities[: self.dense])
        work: int = score_subtree(prefix, decided, *self.laid_out, self.max_size, *room, out)
        self.rooms.append(room)
        if self.constants.any():
            first = prefix * len(out)
            out += self.set_constants(range(first, first + len(out)))
        return work

    def set_constants(self, masks: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return the part of the set scores that depends only on the numbers of states; -1 is the full set."""
        chosen = np.asarray(masks, dtype=np.int64)
        places = np.zeros(len(chosen), dtype=np.int64)
        for b, stride in enumerate(self.strides.tolist()):
            places += stride * (chosen >> b & 1)
        return self.constants[places]


def _sorted_rows(table: DiscreteTable) -> _Sorted:
    """Return the rows of a table sorted by class and features, these in the order of :func:`entropy_order`."""
    common, features = table.vocabulary.common_parents, entropy_order(table, table.vocabulary.features)
    class_codes = table.column(*common) if common else np.zeros(len(table.codes), np.int16)
    codes = np.stack([table.column(name) for name in features])
    order = np.lexsort((*codes[::-1], class_codes))
    codes = np.ascontiguousarray(codes[:, order])
    class_codes = class_codes[order]
    ranks = np.zeros((len(features) + 1, len(order)), dtype=np.int32)
    differs = np.zeros(len(order), dtype=bool)
    differs[1:] = class_codes[1:] != class_codes[:-1]
    ranks[0] = np.cumsum(differs)
    for m in range(len(features)):
        differs[1:] |= codes[m, 1:] != codes[m, :-1]
        ranks[m + 1] = np.cumsum(differs)
    starts = np.searchsorted(class_codes, np.arange(prod(table.shape(common)) + 1)).astype(np.int32)
    return _Sorted(table.weights[order], starts, codes, ranks)


def n_sets(n: int, max_size: int) -> int:
    """Return the number of subsets of n features with at most ``max_size`` members."""
    return sum(comb(n, k) for k in range(min(n, max_size) + 1))


def entropy_order(table: DiscreteTable, features: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Return the features by marginal entropy, lowest first, ties in table order."""

    def entropy(name: Hashable) -> float:
        shares = table.counts([name]) / table.weight_sum
        shares = shares[shares > 0]
        return float(-(shares * np.log(shares)).sum())

    return tuple(sorted(features, key=entropy))


def _table_shape(table: DiscreteTable) -> tuple[int, int]:
    """Return the number of distinct parent-configuration counts q, and how many whole weights are tabulated for each.

    Weights are tabulated as far as they occur, memory allows, and it pays: a set has at most W / w cells heavier than
    w, for a total weight W. None are tabulated if memory does not allow small ones.
    """
    arities = table.shape(table.vocabulary.features)
    distinct = prod(arities.count(arity) + 1 for arity in set(arities))
    whole = np.array_equal(table.weights, np.rint(table.weights))
    heaviest = int(min(table.weight_sum, 1e9)) if whole else 0
    worthwhile = isqrt(CELLS_PER_GAMMA * (heaviest << min(len(arities), 40)) // distinct)
    most = min(TABLE_CELLS // distinct, max(LEAST_TABULATED, worthwhile))
    return distinct, 0 if most < HISTOGRAM else max(HISTOGRAM, min(heaviest, most))


def cell_value_bytes(table: DiscreteTable) -> int:
    """Return the memory of the tables for every distinct parent-configuration count q."""
    distinct, width = _table_shape(table)
    return 8 * distinct * (width + 6)


def prepare(table: DiscreteTable, score: SetScore | MixedSetScore, max_size: int) -> SetScoreProblem:
    """Order the features, and tabulate the quantities that depend only on numbers of states.

    For a mixed score, this is the problem of all variables at their coarsest level; see :func:`score_all_sets`.
    """
    if is_mixed(score):
        return prepare(score.coarsest(table), score.base, max_size)
    assert isinstance(score, SetScore)
    features = entropy_order(table, table.vocabulary.features)
    n = len(features)
    arities = np.array(table.shape(features), dtype=np.int64)
    strides = np.zeros(n, dtype=np.int64)
    log_q = np.array([log(prod(table.shape(table.vocabulary.common_parents)))])
    for arity in sorted(set(arities.tolist())):
        strides[arities == arity] = len(log_q)
        exponents = np.arange((arities == arity).sum() + 1)
        log_q = (log_q[None, :] + exponents[:, None] * log(arity)).ravel()
    n_configurations = np.rint(np.exp(log_q)) if log_q.max() < 34 else np.exp(log_q)
    dense = 1
    while dense < min(n, MOST_DENSE) and np.prod(arities[: dense + 1]) <= DENSE_SLOTS:
        dense += 1
    return SetScoreProblem(
        table,
        score,
        features,
        dense,
        arities,
        strides,
        score.cell_parameter(n_configurations),
        score.set_constant(n_configurations, table.weight_sum),
        min(max_size, n),
    )


def cell_values(parameters: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    """Return ``lnΓ(a + w) - lnΓ(a)`` for whole w from 0 to width; ``w ln w`` where the parameter a is infinite."""
    values = np.zeros((len(parameters), width + 1))
    finite = np.isfinite(parameters)
    if not finite.all():
        whole = np.arange(width + 1.0)
        values[~finite] = xlogy(whole, whole)
        values[finite] = cell_values(parameters[finite], width) if finite.any() else 0.0
        return values
    np.add.outer(parameters, np.arange(width), out=values[:, 1:])
    np.log(values[:, 1:], out=values[:, 1:])
    np.cumsum(values[:, 1:], axis=1, out=values[:, 1:])
    return values


def score_all_sets(
    problem: SetScoreProblem, threads: int, deadline: Deadline, progress: Progress | None
) -> npt.NDArray[np.float64] | None:
    """Return F(set ∪ class) for every mask, shape (2**n,), in nats; None when the time ran out.

    Sets with more than ``problem.max_size`` members are left unscored.
    """
    n = len(problem.features)
    decided = problem.decided
    size = 1 << (n - decided)
    scores = np.zeros(1 << n)
    if deadline.passed:
        return None
    _ = problem.laid_out  # before the threads that share it

    def tasks() -> Iterator[partial[int]]:
        for prefix in range(1 << decided):
            if prefix.bit_count() <= problem.max_size:
                yield partial(problem.subtree, prefix, scores[prefix * size : (prefix + 1) * size])

    complete = run_tasks(tasks(), n_sets(decided, problem.max_size), threads, deadline, "set scores", progress)
    return scores if complete else None
