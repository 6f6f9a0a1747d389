"""The walk through the parent sets of one feature: its rows laid out, its sets and its list."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, xlogy

from anbexact._kernels.candidates import Current, Extent, Features, Listed, Scoring, extend_sets, fill_following
from anbexact._kernels.child_bounds import Atoms
from anbexact._kernels.child_scores import COUNTS, Added, CellTables, score_cells, tabulate
from anbexact._kernels.open_sets import OpenSets, rehash
from anbexact._kernels.refinement import DIRICHLET, LIKELIHOOD, Cells, Layout
from anbexact._kernels.sorted_rows import number_rows, rank_prefixes, sort_rows
from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.memory import SearchTooLargeError
from anbexact.scores import BoundedScore
from anbexact.search.constraints import Constraints
from anbexact.search.exact.parent_sets import Masks, ParentSets, n_words, pack, unpack
from anbexact.search.exact.solution import ROUNDING, rough_bound
from anbexact.tables.table import DiscreteTable

_Counted = tuple[tuple[int, int], ...]

QUOTA = 20_000
"""Sets that a kernel scores, about, between two looks at the clock and the memory (0.05 s)."""
TABULATED = 1024
"""Whole weights whose cell values are tabulated."""
TABLES = 128
"""Distinct numbers of parent configurations with tables of their own (2 MB a feature at most)."""
MOST_JOINT_STATES = 1e280
"""Joint states of parents that are told apart; beyond, numbers would overflow."""
MOST_CONFIGURATION_COUNTS = 1 << 20
"""Distinct numbers of parent configurations that are told apart."""


@dataclass(frozen=True)
class Configurations:
    """The numbers q of joint states that parent sets can have, smaller sets first, and what depends on q alone.

    Attributes
    ----------
    following : (numbers, distinct numbers of states) int32
        The number q of a set with one parent more, by how many states this has; -1 where there is none.
    largest : int
        Size of the sets that are told apart.
    child_parameter, parameter, penalty : (numbers,) float64
        Parameters of the cells of the child with its parents, and of the parents alone; penalty of the local score.
    next_parameter, next_penalty : (numbers,) float64
        Greatest parameter of the parents, and least penalty, with one parent more.
    """

    following: npt.NDArray[np.int32]
    largest: int
    child_parameter: Floats
    parameter: Floats
    penalty: Floats
    next_parameter: Floats
    next_penalty: Floats


class Shared:
    """What the walks of all features share: memory, and what depends on numbers of states alone."""

    def __init__(self, memory: float) -> None:
        self._left = memory
        self._lock = Lock()
        self.counting = Lock()
        self.exceeded = False
        self.known: dict[tuple[int, float, int, _Counted], Configurations] = {}

    def take(self, size: int) -> bool:
        """Take some bytes if there are as many left."""
        with self._lock:
            if size > self._left:
                self.exceeded = True
                return False
            self._left -= size
            return True


def too_many_rows(table: DiscreteTable) -> SearchTooLargeError:
    """Return the refusal of a table whose rows do not fit into memory once for every feature."""
    return SearchTooLargeError(
        f"the memory does not suffice to lay out the rows, {len(table.weights):,} distinct ones, for each of "
        f"{len(table.vocabulary.features)} features; select features first, or raise memory_limit"
    )


class Walk:
    """The walk through the parent sets of one child, size by size; see :mod:`anbexact._kernels.candidates`.

    Until the rows are laid out, the required parents stand in for the list.
    """

    def __init__(
        self,
        table: DiscreteTable,
        score: BoundedScore,
        constraints: Constraints,
        child: Hashable,
        order: Sequence[Hashable],
        copied: Mapping[Hashable, Hashable],
        shared: Shared,
    ) -> None:
        arity, features = table.vocabulary.arity, table.vocabulary.features
        required = constraints.required[child]
        barred = {*required, *constraints.forbidden[child], child}
        after_child = {child}
        for name in reversed(order):
            if name in copied and copied[name] in after_child:
                after_child.add(name)
        barred |= after_child
        self.chosen = [k for k, name in enumerate(order) if name not in barred and arity(name) > 1]
        self.added = [order[k] for k in self.chosen]
        place = {name: k for k, name in enumerate(self.added)}
        self.before, self.after = np.full((2, len(self.added)), -1)
        for name, earlier in copied.items():
            if name in place and earlier in place:
                self.before[place[name]] = place[earlier]
                self.after[place[earlier]] = place[name]
        self.table, self.score, self.child, self.shared = table, score, child, shared
        self.required = [k for k, name in enumerate(features) if name in required] if required else []
        self.given = [*table.vocabulary.common_parents, *(features[k] for k in self.required)]
        self.states = arity(child)
        self.base = float(np.prod([float(arity(name)) for name in self.given]))
        self.arities = np.array(table.shape(self.added), np.int64)
        self.last_size = min(constraints.max_parents - len(required), len(self.added))
        self.largest = self.last_size
        self.tolerance = ROUNDING * max(1.0, table.weight_sum * float(np.log1p(table.weight_sum)))
        words = n_words(len(self.added))
        self.open_sets = OpenSets.zeros(1, 2, words)
        self.listed = Listed(np.zeros((1, words), np.uint64), np.zeros(1))
        self.extent = Extent(next=0, end=1, n_open=1, n_listed=1, n_scored=1, n_tables=0, bound=-inf)
        self.n_listed = 1
        self.size = 0
        self.laid_out = self.behind = False

    def stand_in(self) -> None:
        """List the required parents, and bound the score of all other sets with little work."""
        bound = rough_bound(self.table, self.score, self.child, self.given, float(self.arities.min(initial=2)))
        self._list_required(self.score.local_score(self.table, self.child, self.given), bound)

    @property
    def size_laid_out(self) -> int:
        """Bytes that the rows take once they are laid out."""
        return 16 * len(self.added) * len(self.table.weights)

    def lay_out(self, dispersion: Floats, deadline: Deadline) -> None:
        """Sort the rows, merge those that agree, and score the required parents; given up when time runs out."""
        table, added = self.table, self.added
        if self.score.proportional_penalty:  # else the kernels do not look at it
            self._take(8 * len(added) ** 2)
            dispersion = np.ascontiguousarray(dispersion[np.ix_(self.chosen, self.chosen)])
        base = table.groups(self.given)
        self._take(self.size_laid_out)
        keys = np.stack([base, table.column(self.child), *(table.column(name) for name in added)]).astype(np.int32)
        sizes = np.array([int(base.max(initial=0)) + 1, self.states, *self.arities], dtype=np.int64)
        rows = sort_rows(keys, sizes)
        keys = np.ascontiguousarray(keys[:, rows])
        ranks = rank_prefixes(keys, 2)
        first = np.flatnonzero(np.diff(ranks[-1], prepend=-1))
        weights = np.add.reduceat(table.weights[rows], first)
        keys = keys[:, first]
        codes = np.ascontiguousarray(keys[2:].astype(np.uint16))
        states, alike, times = np.unique(self.arities, return_inverse=True, return_counts=True)
        self.features = Features(
            codes, np.ascontiguousarray(codes.T), self.arities, np.ascontiguousarray(ranks[:, first]), alike,
            self.before, self.after,
        )  # fmt: skip
        whole = table.weight_sum < 2**31 and bool(np.array_equal(weights, np.rint(weights)))
        starts = np.append(np.flatnonzero(np.diff(keys[0], prepend=-1)), len(first)).astype(np.uint32)
        self.cells = Cells(
            np.arange(len(weights), dtype=np.uint32), keys[1].astype(np.uint16),
            weights.astype(np.int32) if whole else weights, starts, len(starts) - 1,
        )  # fmt: skip
        if deadline.passed:
            return
        of_q = self._configurations(tuple(zip(states.tolist(), times.tolist(), strict=True)))
        self.largest = of_q.largest
        kind = DIRICHLET if np.isfinite(of_q.parameter[0]) else LIKELIHOOD
        self._tabulate(kind, len(of_q.parameter))
        self.atoms, ceiling = self._atoms(keys, kind, float(of_q.next_parameter.max()))
        self.scoring = Scoring(
            kind, self.score.proportional_penalty, self.states, self.tolerance, ceiling, dispersion, of_q.following,
            of_q.child_parameter, of_q.parameter, of_q.penalty, of_q.next_parameter, of_q.next_penalty,
        )  # fmt: skip
        rehash(self.open_sets.masks, 1, self.open_sets.slots)
        self._score_required()
        self.laid_out = True

    def _take(self, size: int) -> None:
        """Take memory without which there can be no list."""
        if not self.shared.take(size):
            raise too_many_rows(self.table)

    def _configurations(self, counted: _Counted) -> Configurations:
        """Tabulate what depends on the number q of parent configurations alone."""
        score, weight_sum = self.score, self.table.weight_sum
        key = self.states, self.base, self.last_size, counted
        with self.shared.counting:
            if key not in self.shared.known:
                most, q, following = configurations(counted, self.base, max(self.last_size, 0))
                least = float(self.arities.min(initial=2))
                self._take(40 * len(q) + following.nbytes)
                self.shared.known[key] = Configurations(
                    following, most,
                    *score.family_parameters(q, self.states),
                    score.family_penalty(q, self.states, weight_sum),
                    score.family_parameters(q * least, self.states)[1],
                    score.family_penalty(q * least, self.states, weight_sum),
                )  # fmt: skip
        return self.shared.known[key]

    def _tabulate(self, kind: int, numbers: int) -> None:
        """Make room for tables of cell values; fill the only one of a likelihood."""
        width = int(min(TABULATED, self.table.weight_sum)) + 1
        tables = min(TABLES, numbers) if kind == DIRICHLET else 1
        self._take(8 * numbers + 16 * tables * width)
        self.tables = CellTables(np.full(numbers, -1, np.int64), np.empty((tables, width)), np.empty((tables, width)))
        self.extent = self.extent._replace(n_tables=0)
        if kind == LIKELIHOOD:
            for values in (self.tables.child, self.tables.parents):
                tabulate(values[0], inf)
            self.tables.table_of[:] = 0
            self.extent = self.extent._replace(n_tables=1)

    def _atoms(self, keys: npt.NDArray[np.int32], kind: int, most: float) -> tuple[Atoms, float]:
        """Find the joint states of all other variables in which two or more states of the child occur.

        Returns also the log-likelihood with all features as parents.
        """
        kids, weights = self.cells.kids, self.cells.weights
        others = np.ascontiguousarray(keys[[0, *range(2, len(keys))]])
        order = sort_rows(others, np.append(keys[0].max(initial=0) + 1, self.arities))
        atom = number_rows(others, order)
        totals = np.bincount(atom, weights)
        ceiling = float(xlogy(weights, weights).sum() - xlogy(totals, totals).sum())
        row = np.empty(len(totals), np.int64)
        row[atom] = np.arange(len(atom))
        mixed = np.flatnonzero(np.bincount(atom) > 1) if kind == DIRICHLET else np.empty(0, np.int64)
        self._take(32 * len(mixed) * self.states + 16 * self.states * int(self.arities.max(initial=1)))
        place = np.full(len(totals), -1, np.int64)
        place[mixed] = np.arange(len(mixed))
        of_mixed = np.flatnonzero(place[atom] >= 0)
        counts = np.zeros((len(mixed), self.states))
        counts[place[atom[of_mixed]], kids[of_mixed]] = weights[of_mixed]
        codes = np.ascontiguousarray(self.features.codes[:, row[mixed]])
        likelihoods = xlogy(counts, counts).sum(axis=1) - xlogy(totals[mixed], totals[mixed])
        modes = _modes(counts, most) if len(mixed) else np.empty(0)
        cells = np.searchsorted(self.cells.starts, row[mixed], side="right") - 1
        return Atoms(counts, codes, likelihoods, modes, cells.astype(np.int32)[None], np.empty((2, 0))), ceiling

    def _score_required(self) -> None:
        """Score the set that every parent set contains: the class and the required parents."""
        scoring, cells = self.scoring, self.cells
        one_state, alone = np.zeros((len(cells.rows), 1), np.uint16), np.ones(1, np.int64)
        added = Added.zeros(1, self.states, cells.weights.dtype)
        added.tables[0] = -1
        added.child_parameters[0], added.parameters[0] = scoring.child_parameter[0], scoring.parameter[0]
        score_cells(scoring.kind, self.states, cells, one_state, alone, added, 0, 1, self.tables)
        self.open_sets.rest[0] = scoring.ceiling - added.totals[0]
        bound = -np.log(self.states) * added.observed[0]
        if scoring.kind == LIKELIHOOD:
            bound = scoring.ceiling - scoring.next_penalty[0]
        self._list_required(float(added.totals[0] - scoring.penalty[0]), float(bound))

    def _list_required(self, score: float, bound: float) -> None:
        """List the required parents alone, given a bound on all supersets."""
        self.listed.scores[0] = self.open_sets.best[0] = score
        self.ahead = len(self.added) if self.last_size > 0 and score < bound else 0
        self.beyond = bound if self.ahead else -inf

    @property
    def parents(self) -> int:
        """Feature parents of the sets that were gone through last."""
        return len(self.required) + self.size

    @property
    def open(self) -> bool:
        """Whether larger sets could be of use."""
        return self.ahead > 0

    def begin(self) -> None:
        """Begin to go through the sets with one member more."""
        self.behind = self.open
        self.extent = self.extent._replace(bound=-inf)

    def end(self) -> None:
        """Take the sets gone through into the list, now that those of all features have been."""
        if not self.open:
            return
        self.size += 1
        began, end = self.extent.end, self.extent.n_open
        self.n_listed = self.extent.n_listed
        self.extent = self.extent._replace(end=end)
        self.ahead = int(_lowest(self.open_sets.masks[began:end]).sum())
        self.beyond = self.extent.bound if self.ahead else -inf
        if not self.ahead:
            self._forget()

    @property
    def scored(self) -> int:
        """How many sets were scored."""
        return self.extent.n_scored

    def grow(self, deadline: Deadline) -> None:
        """Go through the sets with one member more, or what is left of them; ``behind`` says if some still are."""
        depths, cells = self.size + 2, self.cells
        n_rows, dtype = len(cells.weights), cells.weights.dtype
        laid_out = depths * n_rows * (10 + dtype.itemsize)
        if not self.shared.take(laid_out):
            return
        most_states = int(self.arities.max())
        layout = Layout.of(cells, depths, most_states)
        current = Current.zeros(self.open_sets.masks.shape[1], depths)
        added = Added.zeros(len(self.added), max(most_states * self.states, COUNTS), dtype)
        atoms = self.atoms._replace(
            cells=np.repeat(self.atoms.cells, depths, axis=0), by_cell=np.empty((2, n_rows + 1))
        )
        while self.behind and not deadline.passed and self._make_room():
            self.extent = extend_sets(
                self.extent, QUOTA, self.last_size, self.features, self.scoring, self.tables, atoms, current, added,
                layout, self.open_sets, self.listed,
            )  # fmt: skip
            self.behind = self.extent.next < self.extent.end
        self.shared.take(-laid_out)

    def _make_room(self) -> bool:
        """Let the arrays have room for what one call of the kernel adds; return whether the memory sufficed."""
        most, words = QUOTA + len(self.added), self.open_sets.masks.shape[1]
        n_open, n_listed, old = self.extent.n_open, self.extent.n_listed, self.open_sets
        if n_open + most > len(old.best):
            length = max(2 * len(old.best), n_open + most)
            slots = 1 << (2 * length - 1).bit_length()
            more = (16 * words + 20) * (length - len(old.best)) + 4 * (slots - len(old.slots))
            if length >= 2**31 or not self.shared.take(more):
                return False
            self.open_sets = OpenSets(
                _longer(old.masks, length), np.full(slots, -1, np.int32), _longer(old.best, length),
                _longer(old.rest, length), _longer(old.first_child, length), _longer(old.children, length),
            )  # fmt: skip
            rehash(self.open_sets.masks, n_open, self.open_sets.slots)
        if n_listed + most > len(self.listed.scores):
            length = max(2 * len(self.listed.scores), n_listed + most)
            if not self.shared.take((8 * words + 8) * (length - len(self.listed.scores))):
                return False
            self.listed = Listed(_longer(self.listed.masks, length), _longer(self.listed.scores, length))
        return True

    def _forget(self) -> None:
        """Give back the memory of the open sets."""
        words = self.open_sets.masks.shape[1]
        size = (16 * words + 20) * len(self.open_sets.best) + 4 * len(self.open_sets.slots)
        self.open_sets = OpenSets.zeros(0, 0, words)
        self.shared.take(-size)

    def parent_sets(self, limit: str) -> ParentSets:
        """Return the list; ``limit`` says why the walk ended, if it has not come to its end."""
        listed, features = self.n_listed, self.table.vocabulary.features
        members = np.zeros((listed, len(features)), dtype=bool)
        place = {name: k for k, name in enumerate(features)}
        members[:, [place[name] for name in self.added]] = unpack(self.listed.masks[:listed], len(self.added))
        members[:, self.required] = True
        scores = self.listed.scores[:listed]
        first_features = np.packbits(members, axis=1)
        order = np.lexsort((*(~first_features.T[::-1]), members.sum(axis=1), -scores))
        return ParentSets(pack(members[order]), scores[order], self.scored, limit if self.ahead else "", self.beyond)


def configurations(counted: _Counted, base: float, last_size: int) -> tuple[int, Floats, npt.NDArray[np.int32]]:
    """Return up to which size, ``last_size`` at most, sets of parents are told apart, all their q, and what follows.

    Parameters
    ----------
    counted : tuple of (number of states, how many parents have it)
        Of all possible parents.
    base : float
        The q of the empty set.

    Returns
    -------
    largest, q, following
        See :class:`Configurations`. Sets of equal counts of parents with each number of states have one q.
    """
    states, most = np.array(counted, np.int64).reshape(-1, 2).T
    kinds = np.arange(len(counted))
    q, following = [np.array([base])], []
    parent, last, times = np.zeros((3, 1), np.int64)
    began, end, size = 0, 1, 0
    while size <= last_size:
        # Every set is made once, from the set without one of its parents of the last kind.
        makes = (kinds > last[:, None]) | ((kinds == last[:, None]) & (times[:, None] < most))
        source, kind = np.nonzero(makes)
        own = np.full(makes.shape, -1, np.int32)
        following.append(own)
        too_large = len(source) and (q[-1].max() * states.max()) > MOST_JOINT_STATES
        if size == last_size or end + len(source) > MOST_CONFIGURATION_COUNTS or too_large:
            break
        own[source, kind] = np.arange(end, end + len(source))
        if size:
            fill_following(parent, last, following[-2], began, own)
        q.append(q[-1][source] * states[kind])
        times = np.where(kind == last[source], times[source], 0) + 1
        parent, last = source, kind
        began, end, size = end, end + len(source), size + 1
    return size, np.concatenate(q), np.concatenate(following)


def _modes(counts: Floats, most: float) -> Floats:
    """Return the parameters a' <= most that maximise the Dirichlet marginal likelihood of every row of counts.

    It has one maximum when two or more counts are positive (Levin and Reeds, 1977).
    """
    states = counts.shape[1]
    given = counts.sum(axis=1)

    def rises(of: npt.NDArray[np.intp], a: Floats) -> npt.NDArray[np.bool_]:
        share = a[:, None] / states
        slope = np.where(counts[of] > 0, digamma(counts[of] + share) - digamma(share), 0.0).sum(axis=1) / states
        up: npt.NDArray[np.bool_] = slope >= digamma(a + given[of]) - digamma(a)
        return up

    modes = np.full(len(counts), most)
    inner = np.flatnonzero(~rises(np.arange(len(counts)), modes))
    low, high = np.full(len(inner), np.log(most) - 60.0), np.full(len(inner), np.log(most))
    for _ in range(60):
        middle = (low + high) / 2
        up = rises(inner, np.exp(middle))
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    modes[inner] = np.exp((low + high) / 2)
    return modes


def _lowest(keys: Masks) -> npt.NDArray[np.int64]:
    """Return the smallest member of every set, none of which is empty."""
    lowest = np.zeros(len(keys), np.int64)
    for w in reversed(range(keys.shape[1])):
        word = keys[:, w]
        bit = np.bitwise_count((word & (~word + np.uint64(1))) - np.uint64(1)).astype(np.int64)
        lowest = np.where(word > 0, 64 * w + bit, lowest)
    return lowest


def _longer(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """Return a copy with room for more."""
    longer = np.empty((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
