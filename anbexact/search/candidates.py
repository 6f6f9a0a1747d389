"""Candidate lists: for every feature, the parent sets that can still be optimal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import inf, lgamma
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, xlogy

from anbexact._kernels import candidates as kernel
from anbexact.limits import Deadline, Progress, SearchTooLargeError, run_tasks
from anbexact.scores import LL, BoundedScore
from anbexact.search.constraints import Constraints
from anbexact.search.naive_bayes import class_of
from anbexact.search.optimum import ROUNDING
from anbexact.search.pairs import FamilyScorer
from anbexact.search.parent_sets import Masks, ParentSets, n_words, pack, unpack
from anbexact.search.set_scores import entropy_order
from anbexact.table import DiscreteTable

Floats = npt.NDArray[np.float64]
_Known = dict[tuple[int, float, bytes], tuple[Floats, ...]]

QUOTA = 20_000
"""Sets that a kernel scores, about, between two looks at the clock and the memory (0.05 s)."""
TABULATED = 1024
"""Whole weights whose cell values are tabulated."""
TABLES = 128
"""Distinct numbers of parent configurations with tables of their own (2 MB a feature at most)."""
TELLING = 50_000
"""Sets of one size from whose time that of the next is foreseen."""
MOST_CONFIGURATION_COUNTS = 1 << 20
"""Distinct numbers of parent configurations that are told apart."""
MOST_SETS, FEWER_SETS = 50_000_000, 3_000_000
"""Sets that are scored when neither time nor the number of parents is limited: about two minutes on two processors
where the penalty is proportional to the number of parent configurations, so that lists come to an end; else less."""


def has_candidates(table: DiscreteTable, score: object) -> bool:
    """Return whether lists can be made: the score says when further parents cannot help."""
    return isinstance(score, BoundedScore) and score.bounded_at(table.weight_sum)


def candidate_lists(
    table: DiscreteTable,
    score: BoundedScore,
    constraints: Constraints,
    *,
    threads: int,
    deadline: Deadline,
    memory: float,
    most_sets: float,
    largest: int | None = None,
    progress: Progress | None,
) -> Candidates:
    r"""Return the candidate lists of all features, in table order.

    Sets of one size after the other are scored. A set is *closed*, and no superset of it looked at, once the best
    score B of its subsets (itself included) reaches a bound on all its supersets:

    - for Dirichlet scores Σ_j min(f_j, g_j, h_j) over its observed joint states j, the class joined, with
      ``f_j = -Σ_k min(1, N_jk) ln r``, ``g_j = Σ_a ML(N_a)`` over the joint states a of all other variables within
      j, and ``h_j = g_j + min(0, min_a [sup DM(N_a; a') - ML(N_a)])`` over the a with two or more states of the child
      and the parameters a' that supersets can have (ML: maximum log-likelihood; DM: log marginal likelihood);
    - for penalised likelihoods M - penalty(with one parent more), M being the log-likelihood with all features.

    Features that are copies of each other, but for the names of their states, are put into an order: since an optimal
    structure stays one when copies are exchanged, none need be a parent of one that comes before it, and a parent set
    need only hold a copy together with those before it.

    Where the penalty is proportional to the number q of joint states of the parents, a parent v is also given up,
    with all supersets, when what it can add to the likelihood, at most the entropy of the child and of v given the
    others, does not pay for what it adds to the penalty.

    Parameters
    ----------
    most_sets : float
        No size is begun that would take the number of scored sets above this, as far as can be foreseen.
    largest : int, optional
        Most feature parents that are gone through, though more be admitted.
    memory : float
        Bytes that the lists may take; what is known without the last size is returned when they do not suffice.

    Raises
    ------
    SearchTooLargeError
        When the features have too many different numbers of states to be told apart, or the memory does not suffice
        for the rows.

    References
    ----------
    f: de Campos and Ji, JMLR 12 (2011), for whole counts; as ln of the predictive probability of a weight is convex
    in it, weights below 1 count in proportion. g, h: Correia, Cussens and de Campos, AISTATS 2020. Penalised
    likelihoods: Tian, UAI 2000; de Campos, Scanagatta, Corani and Zaffalon, Artificial Intelligence 260 (2018).
    """
    features = table.vocabulary.features
    order = entropy_order(table, features[::-1])
    copied = _copies(table, constraints, order)
    dispersion = _dispersion(table, order, threads) if score.proportional_penalty else np.full((len(order),) * 2, inf)
    room = _Room(memory)
    known: _Known = {}
    walks = [_Walk(table, score, constraints, child, order, copied, dispersion, room, known) for child in features]
    candidates = Candidates(walks, room, threads)
    candidates.extend(deadline, most_sets=most_sets, largest=largest, progress=progress)
    return candidates


class Candidates:
    """The candidate lists of all features, and how far they have come; see :func:`candidate_lists`.

    Attributes
    ----------
    limit : str
        What ended the lists; empty if they are complete.
    """

    def __init__(self, walks: Sequence[_Walk], room: _Room, threads: int) -> None:
        self._walks, self._room, self._threads = walks, room, threads
        self.limit = ""
        self._size = 0
        self._within = False
        self._share, self._pace = 1.0, inf
        self._before, self._seconds = 0, 0.0

    @property
    def lists(self) -> tuple[ParentSets, ...]:
        """One for every feature, in table order; a size of sets that was not gone through is left out."""
        return tuple(walk.parent_sets(self.limit) for walk in self._walks)

    @property
    def largest(self) -> int | None:
        """Feature parents up to which every admitted set is listed, or dominated by a listed subset.

        None when that is so whatever their number.
        """
        return min((walk.parents for walk in self._walks if walk.open), default=None)

    @property
    def scored(self) -> int:
        """How many sets were scored."""
        return sum(walk.scored for walk in self._walks)

    def extend(
        self, deadline: Deadline, *, most_sets: float, largest: int | None = None, progress: Progress | None
    ) -> bool:
        """Go on where the lists ended, until they are complete or a limit is met; return whether a size was ended."""
        began = self._size
        self.limit = ""
        while not self.limit and any(walk.open for walk in self._walks):
            if not self._within:
                self.limit = self._obstacle(deadline, most_sets, largest)
            if not self.limit:
                self._go_through(deadline, progress)
        return self._size > began

    def _obstacle(self, deadline: Deadline, most_sets: float, largest: int | None) -> str:
        """Return why the next size is not begun; empty if it can be."""
        ahead = self._share * sum(walk.ahead for walk in self._walks)
        if largest is not None and self.largest is not None and self.largest >= largest:
            return "more were not asked for"
        if self.scored + ahead > most_sets:
            return f"there are more than {most_sets:,.0f} to score"
        if deadline.passed or ahead > self._pace * deadline.left:
            return "interrupt" if deadline.interrupted else "time_limit"
        return ""

    def _go_through(self, deadline: Deadline, progress: Progress | None) -> None:
        """Go through the sets of the next size, or what is left of them."""
        if not self._within:
            self._within, self._before, self._seconds = True, self.scored, 0.0
            for walk in self._walks:
                walk.begin()
        behind = sorted((walk for walk in self._walks if walk.behind), key=lambda walk: -walk.ahead)
        tasks = [partial(walk.grow, deadline) for walk in behind]
        began = deadline.elapsed
        with suppress(KeyboardInterrupt):
            phase = f"candidate parent sets, size {self._size + 1}"
            run_tasks(tasks, len(tasks), self._threads, deadline, phase, progress)
        self._seconds += deadline.elapsed - began
        if any(walk.behind for walk in self._walks):
            self.limit = "memory_limit" if self._room.exceeded else "time_limit"
            if deadline.interrupted:
                self.limit = "interrupt"
            return
        ahead = sum(walk.ahead for walk in self._walks)
        for walk in self._walks:
            walk.end()
        self._within = False
        self._size += 1
        scored = self.scored - self._before
        self._share = scored / max(ahead, 1)
        if scored >= TELLING:
            self._pace = scored / self._seconds


def _copies(table: DiscreteTable, constraints: Constraints, order: Sequence[Hashable]) -> dict[Hashable, Hashable]:
    """Return, for features that are the same but for the names of their states, the copy before it.

    Copies go by their order, last first; features on which constraints bear are left out.
    """
    bound = {name for edge in (*constraints.required_edges, *constraints.forbidden_edges) for name in edge}
    last: dict[tuple[int, bytes], Hashable] = {}
    copied: dict[Hashable, Hashable] = {}
    for name in reversed(order):
        if name in bound:
            continue
        _, first, states = np.unique(table.column(name), return_index=True, return_inverse=True)
        as_met = np.argsort(np.argsort(first))[states]
        key = table.vocabulary.arity(name), as_met.tobytes()
        if key in last:
            copied[name] = last[key]
        last[key] = name
    return copied


class _Room:
    """Memory that several threads share."""

    def __init__(self, size: float) -> None:
        self._left = size
        self._lock = Lock()
        self.exceeded = False

    def take(self, size: int) -> bool:
        """Take some bytes if there are as many left."""
        with self._lock:
            if size > self._left:
                self.exceeded = True
                return False
            self._left -= size
            return True


def _dispersion(table: DiscreteTable, order: Sequence[Hashable], threads: int) -> Floats:
    """Return the total weight times the entropy of feature u given the class and feature v; in nats, shape (u, v).

    On the diagonal, given the class alone.
    """
    names = table.vocabulary.names
    of_class = names.index(class_of(table))
    place = np.array([names.index(name) for name in order])
    n = len(order)
    scorer = FamilyScorer(table, LL(), threads, Deadline())
    first, second = np.triu_indices(n, 1)
    sets = np.full((1 + n + len(first), 3), -1, dtype=np.int64)
    sets[:, 2] = of_class
    sets[1 : n + 1, 1] = place
    sets[n + 1 :, 0], sets[n + 1 :, 1] = place[first], place[second]
    values = scorer.set_scores(sets, "entropies of pairs", None)
    assert values is not None
    alone = values[1 : n + 1]
    entropy = np.diag(values[0] - alone)
    entropy[first, second] = alone[second] - values[n + 1 :]
    entropy[second, first] = alone[first] - values[n + 1 :]
    return entropy


class _Walk:
    """The walk through the parent sets of one child, size by size; see :func:`anbexact._kernels.candidates.walk`."""

    def __init__(
        self,
        table: DiscreteTable,
        score: BoundedScore,
        constraints: Constraints,
        child: Hashable,
        order: Sequence[Hashable],
        copied: Mapping[Hashable, Hashable],
        dispersion: Floats,
        room: _Room,
        known: _Known,
    ) -> None:
        arity = table.vocabulary.arity
        class_name = class_of(table)
        required = constraints.required[child]
        barred = set(required | constraints.forbidden[child] | {child})
        for name in reversed(order):
            if copied.get(name) in barred - required - constraints.forbidden[child]:
                barred.add(name)
        chosen = [k for k, name in enumerate(order) if name not in barred and arity(name) > 1]
        added = [order[k] for k in chosen]
        self.before, self.after = np.full((2, len(added)), -1)
        for k, name in enumerate(added):
            if copied.get(name) in added:
                self.before[k] = added.index(copied[name])
                self.after[self.before[k]] = k
        features = table.vocabulary.features
        self.child, self.room = child, room
        self.n_features = len(features)
        self.required = [features.index(name) for name in required]
        self.added = np.array([features.index(name) for name in added], dtype=np.intp)
        self.dispersion = np.ascontiguousarray(dispersion[np.ix_(chosen, chosen)])
        self.last_size = min(constraints.max_parents - len(required), len(added))
        self.tolerance = ROUNDING * max(1.0, table.weight_sum * float(np.log1p(table.weight_sum)))
        self.states = arity(child)

        base = table.groups([class_name, *required])
        self._take(16 * len(added) * len(base))
        keys = np.stack([base, table.column(child), *(table.column(name) for name in added)]).astype(np.int32)
        sizes = np.array([int(base.max(initial=0)) + 1, self.states, *table.shape(added)], dtype=np.int64)
        rows = kernel.sort_rows(keys, sizes)
        keys = np.ascontiguousarray(keys[:, rows])
        ranks = kernel.rank_prefixes(keys, 2)
        first = np.flatnonzero(np.diff(ranks[-1], prepend=-1))
        weights = np.add.reduceat(table.weights[rows], first)
        keys = keys[:, first]
        self.ranks = np.ascontiguousarray(ranks[:, first])
        self.codes = np.ascontiguousarray(keys[2:].astype(np.uint16))
        self.arities = sizes[2:]
        self.kids = keys[1].astype(np.uint16)
        whole = table.weight_sum < 2**31 and bool(np.array_equal(weights, np.rint(weights)))
        self.weights = weights.astype(np.int32) if whole else weights
        self.starts = np.append(np.flatnonzero(np.diff(keys[0], prepend=-1)), len(first)).astype(np.uint32)

        base_states = float(np.prod([float(arity(name)) for name in (class_name, *required)]))
        self._parameters(score, table.weight_sum, base_states, known)
        self._atoms(keys)

        words = n_words(len(added))
        self.keys = np.zeros((1, words), np.uint64)
        self.children = np.zeros((1, words), np.uint64)
        self.best, self.rest = np.zeros(1), np.zeros(1)
        self.first_child = np.zeros(1, np.int32)
        self.slots = np.full(2, -1, np.int32)
        self.listed, self.listed_scores = np.zeros((1, words), np.uint64), np.zeros(1)
        self.size = 0
        self.behind = False
        self._score_required()

    def _take(self, size: int) -> None:
        """Take memory without which there can be no list."""
        if not self.room.take(size):
            raise SearchTooLargeError(
                f"the memory does not suffice to lay out the rows, and what is known of {self.child!r}, for each of "
                f"{self.n_features} features; select features first, or raise memory_limit"
            )

    def _parameters(self, score: BoundedScore, weight_sum: float, base: float, known: _Known) -> None:
        """Tabulate what depends on the number q of parent configurations alone; features share ``known``."""
        self.strides = np.zeros(len(self.arities), np.int64)
        q = np.array([base])
        for arity in sorted(set(self.arities.tolist())):
            alike = self.arities == arity
            self.strides[alike] = len(q)
            exponents = np.arange(min(int(alike.sum()), max(self.last_size, 0)) + 1)
            q = (q[None, :] * float(arity) ** exponents[:, None]).ravel()
            if len(q) > MOST_CONFIGURATION_COUNTS:
                raise SearchTooLargeError(
                    f"the possible parent sets of {self.child!r} have more than {MOST_CONFIGURATION_COUNTS:,} "
                    "different numbers of joint states; give a lower max_parents=, or merge states"
                )
        dirichlet = bool(np.isfinite(score.family_parameters(q[:1], self.states)[1][0]))
        width = int(min(TABULATED, weight_sum)) + 1
        tables = min(TABLES, len(q)) if dirichlet else 1
        self._take(8 * len(q) + 16 * tables * width)
        self.kind = kernel.DIRICHLET if dirichlet else kernel.LIKELIHOOD
        self.linear = score.proportional_penalty
        least = float(self.arities.min(initial=2))
        key = self.states, least, q.tobytes()
        if key not in known:
            self._take(40 * len(q))
            known[key] = (
                *score.family_parameters(q, self.states),
                score.family_penalty(q, self.states, weight_sum),
                score.family_parameters(q * least, self.states)[1],
                score.family_penalty(q * least, self.states, weight_sum),
            )
        self.child_parameter, self.parameter, self.penalty, self.next_parameter, self.next_penalty = known[key]
        self.tables = np.empty((tables, width)), np.empty((tables, width))
        self.table_of = np.full(len(q), -1, np.int64)
        self.numbers = np.zeros(6, np.int64)
        if self.kind == kernel.LIKELIHOOD:
            for values in self.tables:
                kernel.tabulate(values[0], inf)
            self.table_of[:] = 0
            self.numbers[5] = 1

    def _atoms(self, keys: npt.NDArray[np.int32]) -> None:
        """Find the joint states of all other variables in which two or more states of the child occur."""
        others = np.ascontiguousarray(keys[[0, *range(2, len(keys))]])
        order = kernel.sort_rows(others, np.append(keys[0].max(initial=0) + 1, self.arities))
        steps = np.zeros(len(order), dtype=np.int64)
        steps[1:] = (others[:, order[1:]] != others[:, order[:-1]]).any(axis=0)
        atom = np.empty(len(order), np.int64)
        atom[order] = np.cumsum(steps)
        totals = np.bincount(atom, self.weights)
        self.ceiling = float(xlogy(self.weights, self.weights).sum() - xlogy(totals, totals).sum())
        row = np.empty(len(totals), np.int64)
        row[atom] = np.arange(len(atom))
        mixed = np.flatnonzero(np.bincount(atom) > 1) if self.kind == kernel.DIRICHLET else np.empty(0, np.int64)
        self._take(32 * len(mixed) * self.states + 16 * self.states * int(self.arities.max(initial=1)))
        place = np.full(len(totals), -1, np.int64)
        place[mixed] = np.arange(len(mixed))
        of_mixed = np.flatnonzero(place[atom] >= 0)
        counts = np.zeros((len(mixed), self.states))
        counts[place[atom[of_mixed]], self.kids[of_mixed]] = self.weights[of_mixed]
        self.atoms = counts
        self.atom_codes = np.ascontiguousarray(self.codes[:, row[mixed]])
        self.likelihoods = xlogy(counts, counts).sum(axis=1) - xlogy(totals[mixed], totals[mixed])
        self.atom_cells = (np.searchsorted(self.starts, row[mixed], side="right") - 1).astype(np.int32)
        self.modes = _modes(self.atoms, float(self.next_parameter.max())) if len(mixed) else np.empty(0)

    def _score_required(self) -> None:
        """Score the set that every parent set contains: the class and the required parents."""
        child_a, a = float(self.child_parameter[0]), float(self.parameter[0])
        logs = [lgamma(x) if x < inf else 0.0 for x in (child_a, a)]
        nothing = np.empty(0)
        total, observed = kernel.score_cells(
            np.arange(len(self.weights), dtype=np.uint32), self.kids, self.weights, self.starts, len(self.starts) - 1,
            np.zeros(len(self.weights), np.uint16), 1, self.states, np.zeros(self.states, self.weights.dtype),
            nothing, child_a, logs[0], nothing, a, logs[1],
        )  # fmt: skip
        score = total - self.penalty[0]
        self.listed_scores[0] = self.best[0] = score
        self.rest[0] = self.ceiling - total
        bound = (
            -np.log(self.states) * observed if self.kind == kernel.DIRICHLET else self.ceiling - self.next_penalty[0]
        )
        self.numbers[1:5] = 1
        self.ahead = len(self.added) if self.last_size > 0 and score < bound else 0
        self.beyond = float(bound) if self.ahead else -inf
        self.n_listed = 1
        kernel.rehash(self.keys, 1, self.slots)

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
        self.bounds = np.array([-inf])

    def end(self) -> None:
        """Take the sets gone through into the list, now that those of all features have been."""
        if not self.open:
            return
        self.size += 1
        self.n_listed = int(self.numbers[3])
        began = int(self.numbers[1])
        self.numbers[1] = self.numbers[2]
        self.ahead = int(_lowest(self.keys[began : self.numbers[1]]).sum())
        self.beyond = float(self.bounds[0]) if self.ahead else -inf
        if not self.ahead:
            self._forget()

    @property
    def scored(self) -> int:
        """How many sets were scored."""
        return int(self.numbers[4])

    def grow(self, deadline: Deadline) -> None:
        """Go through the sets with one member more, or what is left of them; ``behind`` says if some still are."""
        depths = self.size + 2
        n_rows = len(self.weights)
        laid_out = depths * n_rows * (10 + self.weights.itemsize)
        if not self.room.take(laid_out):
            return
        members = np.full(depths + 1, -1, np.int64)
        place = np.zeros(depths + 1, np.int64)
        rows = np.empty((depths, n_rows), np.uint32)
        kids = np.empty((depths, n_rows), np.uint16)
        weights = np.empty((depths, n_rows), self.weights.dtype)
        starts = np.empty((depths, n_rows + 1), np.uint32)
        rows[0], kids[0], weights[0] = np.arange(n_rows), self.kids, self.weights
        starts[0, : len(self.starts)] = self.starts
        n_cells = np.full(depths, len(self.starts) - 1, np.int64)
        histogram = np.zeros((depths, kernel.SETTLED + 1), np.int64)
        settled = np.empty(n_rows + 1, self.weights.dtype)
        tops = np.zeros(depths, np.int64)
        atom_cells = np.empty((depths, len(self.atoms)), np.int32)
        atom_cells[0] = self.atom_cells
        while self.behind and not deadline.passed and self._make_room():
            self.behind = not kernel.walk(
                self.kind, self.linear, self.last_size, QUOTA, self.tolerance, self.numbers, members, place,
                rows, kids, weights, starts, n_cells, histogram, settled, tops,
                self.codes, self.arities, self.ranks, self.states, self.strides, self.before, self.after,
                self.child_parameter, self.parameter, self.penalty, self.next_penalty, self.next_parameter,
                self.ceiling, self.dispersion, self.table_of, *self.tables,
                self.atoms, self.atom_codes, self.likelihoods, self.modes, atom_cells,
                self.keys, self.slots, self.best, self.rest, self.first_child, self.children,
                self.listed, self.listed_scores, self.bounds,
            )  # fmt: skip
        self.room.take(-laid_out)

    def _make_room(self) -> bool:
        """Let the arrays have room for what one call of the kernel adds; return whether the memory sufficed."""
        most = QUOTA + len(self.added)
        if self.numbers[2] + most > len(self.best):
            length = max(2 * len(self.best), int(self.numbers[2]) + most)
            slots = 1 << (2 * length - 1).bit_length()
            more = (16 * self.keys.shape[1] + 20) * (length - len(self.best)) + 4 * (slots - len(self.slots))
            if length >= 2**31 or not self.room.take(more):
                return False
            self.keys, self.children = _longer(self.keys, length), _longer(self.children, length)
            self.best, self.rest = _longer(self.best, length), _longer(self.rest, length)
            self.first_child = _longer(self.first_child, length)
            self.slots = np.full(slots, -1, np.int32)
            kernel.rehash(self.keys, self.numbers[2], self.slots)
        if self.numbers[3] + most > len(self.listed):
            length = max(2 * len(self.listed), int(self.numbers[3]) + most)
            if not self.room.take((8 * self.keys.shape[1] + 8) * (length - len(self.listed))):
                return False
            self.listed, self.listed_scores = _longer(self.listed, length), _longer(self.listed_scores, length)
        return True

    def _forget(self) -> None:
        """Give back the memory of the open sets."""
        size = (16 * self.keys.shape[1] + 20) * len(self.best) + 4 * len(self.slots)
        self.keys = self.children = np.zeros((0, self.keys.shape[1]), np.uint64)
        self.best = self.rest = np.zeros(0)
        self.first_child, self.slots = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self.room.take(-size)

    def parent_sets(self, limit: str) -> ParentSets:
        """Return the list; ``limit`` says why the walk ended, if it has not come to its end."""
        listed = self.n_listed
        members = np.zeros((listed, self.n_features), dtype=bool)
        members[:, self.added] = unpack(self.listed[:listed], len(self.added))
        members[:, self.required] = True
        scores = self.listed_scores[:listed]
        first_features = np.packbits(members, axis=1)
        order = np.lexsort((*(~first_features.T[::-1]), members.sum(axis=1), -scores))
        return ParentSets(pack(members[order]), scores[order], self.scored, limit if self.ahead else "", self.beyond)


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
