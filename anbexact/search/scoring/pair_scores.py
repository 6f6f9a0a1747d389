"""Local scores of many small families at once, in particular of every pair of features with the class."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
from scipy.special import gammaln

from anbexact._kernels.cells import CellValues
from anbexact._kernels.pair_counts import Rows, VariableSets, count_cells, sum_cells
from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks
from anbexact._runtime.units import human_bytes
from anbexact.scores import FamilyScore, Score, SetScore
from anbexact.scores.capabilities import has_set_scores
from anbexact.search.scoring.set_scores import cell_values
from anbexact.search.scoring.universal_sets import Mixture, mixture_of
from anbexact.tables.counted.counted_table import CountedTable
from anbexact.tables.table import DiscreteTable

TIED_GAINS = 1e-12
"""Gains that differ by less than this share of the score of naive Bayes, or of W ln W, count as equal."""
LARGEST_TABLE = 1 << 22
"""Maximum size of a contingency table in joint states (32 MB a thread); larger ones are left to the score."""
BATCH_CELLS = 1 << 19
"""Number of cells that ``family_scores`` gets at once (4 MB a thread, and a few times that within the score)."""
TASK_STEPS = 20_000_000
"""Number of rows times sets that are processed between two checks of the clock (tens of milliseconds)."""
TABULATED_WEIGHTS = 256
"""Whole weights whose cell values are tabulated."""


@dataclass(frozen=True)
class FamilyScorer:
    """Local scores of features given some other features and the class, if there is one.

    Uses the fastest method that the score allows.

    For a score with set scores, a kernel sums every set once. A :class:`~anbexact.scores.FamilyScore` gets the counts
    of many families of one shape. Any other score is called family by family.

    Variables are given by their positions in the table. Memory beyond the arguments and results: a copy of the
    codes, and for each thread one contingency table (32 MB at most) or batch of them (4 MB, and what
    ``family_scores`` needs for it).

    ``part`` says that the table is part of a much larger one, in whose order the cells of a set are to be summed.
    """

    table: DiscreteTable
    score: Score
    threads: int
    deadline: Deadline
    part: bool = False

    @property
    def n(self) -> int:
        """Number of features."""
        return len(self.table.vocabulary.features)

    @cached_property
    def names(self) -> tuple[Hashable, ...]:
        """The variables by position."""
        return self.table.vocabulary.names

    @cached_property
    def common(self) -> Positions:
        """Position of the class; nothing without a class."""
        return np.array([self.names.index(name) for name in self.table.vocabulary.common_parents], dtype=np.int64)

    @cached_property
    def class_position(self) -> int:
        """Position of the class; -1, which stands for no variable in sets, without a class."""
        return int(self.common[0]) if len(self.common) else -1

    @cached_property
    def features(self) -> Positions:
        """Positions of the features."""
        return np.delete(np.arange(len(self.names)), self.common)

    @cached_property
    def has_set_score(self) -> bool:
        """Whether local scores are differences of set scores."""
        return has_set_scores(self.score)

    @cached_property
    def mixture(self) -> Mixture | None:
        """How sets are scored at several levels of their variables; None for a score without levels."""
        return mixture_of(self.table, self.score)

    @cached_property
    def _of_levels(self) -> FamilyScorer:
        """The scorer of variables at single levels."""
        assert self.mixture is not None
        return FamilyScorer(self.mixture.of_levels, self.mixture.score.base, self.threads, self.deadline)

    @cached_property
    def _arities(self) -> Positions:
        return np.array(self.table.shape(self.names), dtype=np.int64)

    @cached_property
    def _rows(self) -> Rows:
        most = LARGEST_TABLE if self.part else 2 * len(self.table.weights)
        return Rows(np.ascontiguousarray(self.table.codes.T), self._arities, self.table.weights, most)

    def set_scores(self, members: Positions, phase: str, progress: Progress | None) -> Floats | None:
        """Return F of every set, a row of positions (-1 in front where it is shorter); None when time ran out."""
        if self.mixture is not None:
            return self._mixed_scores(self.mixture, members, phase, progress)
        if isinstance(self.table, CountedTable):
            return self._scores_of_parts(self.table, members, phase)
        score = cast(SetScore, self.score)  # to check a protocol would take longer than to score a few sets
        arities = np.append(self._arities, 1)  # position -1
        joint = np.multiply.reduce(arities[members].astype(np.float64), axis=1)
        distinct, kinds = np.unique(joint, return_inverse=True)
        parameters = score.cell_parameter(distinct)
        out = np.empty(len(members))
        small = np.flatnonzero(joint <= LARGEST_TABLE)
        sets = VariableSets(members[small], joint[small].astype(np.int64), kinds[small].astype(np.int64))
        sums = np.empty(len(small))
        weights = self.table.weights
        whole = bool(np.array_equal(weights, np.rint(weights)))
        values = CellValues(parameters, gammaln(parameters), cell_values(parameters, TABULATED_WEIGHTS - 1), whole)
        work = np.minimum(sets.sizes, 2 * len(weights)) + 2 * len(weights)
        bounds = self._shares(work)
        rest = np.flatnonzero(joint > LARGEST_TABLE)

        def one(t: int) -> None:
            out[t] = score.set_score(self.table, [self.names[v] for v in members[t] if v >= 0])

        def tasks() -> Iterator[Callable[[], object]]:
            for k in range(len(bounds) - 1):
                yield partial(sum_cells, self._rows, sets, values, bounds[k], bounds[k + 1], sums)
            for t in rest:
                yield partial(one, int(t))

        if not run_tasks(tasks(), len(bounds) - 1 + len(rest), self.threads, self.deadline, phase, progress):
            return None
        out[small] = sums + score.set_constant(distinct, self.table.weight_sum)[kinds[small]]
        return out

    def _scores_of_parts(self, table: CountedTable, members: Positions, phase: str) -> Floats | None:
        """Return F of every set, part by part of a table that is not in memory; see :meth:`set_scores`."""
        sets = [[self.names[v] for v in row if v >= 0] for row in members.tolist()]
        out = np.empty(len(members))
        for part, own in table.parts_of(sets):
            if self.deadline.passed:
                return None
            place = np.full(len(self.names) + 1, -1)  # the last one is for position -1
            for j, name in enumerate(part.vocabulary.names):
                if name in self.names:
                    place[self.names.index(name)] = j
            scorer = FamilyScorer(part, self.score, self.threads, self.deadline, part=True)
            scores = scorer.set_scores(place[members[own]], phase, None)  # the queries report
            if scores is None:
                return None
            out[own] = scores
        return out

    def _mixed_scores(
        self, mixture: Mixture, members: Positions, phase: str, progress: Progress | None
    ) -> Floats | None:
        """Return ln g of every set; see :meth:`set_scores`."""
        out = np.empty(len(members))
        done = 0
        for batch in mixture.batches(members):
            scores = self._of_levels.set_scores(batch.members, phase, None)
            if scores is None:
                return None
            out[batch.sets] = batch.mixed(scores)
            done += len(batch.sets)
            if progress is not None:
                progress(phase, done / len(members))
        return out

    def local_scores(
        self, children: Positions, parents: Positions, phase: str, progress: Progress | None
    ) -> Floats | None:
        """Return local(child | class, parents) of every family, total in nats; None when time ran out.

        Without a class, local(child | parents).

        Parameters
        ----------
        children : (families,) int64
            Positions of the children.
        parents : (families, width) int64
            Positions of the parents without the class, ascending in every row.
        """
        if len(children) == 0:
            return np.empty(0)
        class_columns = np.tile(self.common, (len(children), 1))
        if self.has_set_score:
            given = np.concatenate([class_columns, parents], axis=1)
            joint = np.concatenate(
                [class_columns, np.sort(np.concatenate([parents, children[:, None]], axis=1))], axis=1
            )
            padded = np.concatenate([np.full((len(children), 1), -1), given], axis=1)
            sets, place = _distinct(np.concatenate([joint, padded]), len(self.names))
            scores = self.set_scores(sets, phase, progress)
            return None if scores is None else scores[place[: len(joint)]] - scores[place[len(joint) :]]
        members = np.concatenate([class_columns, parents, children[:, None]], axis=1)
        out = np.empty(len(children))
        if isinstance(self.score, FamilyScore):
            batches = list(self._batches(members))
        else:
            batches = [np.array([t]) for t in range(len(members))]
        threads = self.threads if isinstance(self.score, FamilyScore) else 1
        tasks = (partial(self._batch, members, batch, out) for batch in batches)
        return out if run_tasks(tasks, len(batches), threads, self.deadline, phase, progress) else None

    def _batches(self, members: Positions) -> Iterator[Positions]:
        """Divide the families into batches with equal numbers of states and limited size."""
        shapes, group = np.unique(self._arities[members], axis=0, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(group.ravel(), minlength=len(shapes)))
        for shape, first, last in zip(shapes, [0, *ends[:-1]], ends, strict=True):
            cells = float(np.prod(shape.astype(np.float64)))
            rows = max(len(self.table.weights), 1)
            step = int(max(1, min(BATCH_CELLS // cells, TASK_STEPS // rows, -(-(last - first) // self.threads))))
            for begin in range(first, last, step):
                yield order[begin : min(begin + step, last)]

    def _batch(self, members: Positions, batch: Positions, out: Floats) -> None:
        """Score the families of a batch."""
        arities = self._arities[members[batch[0]]]
        cells = float(np.prod(arities.astype(np.float64)))
        if not isinstance(self.score, FamilyScore) or cells > LARGEST_TABLE:
            for t in batch:
                *parents, child = (self.names[v] for v in members[t])
                out[t] = self.score.local_score(self.table, child, parents)
            return
        counts = np.empty((len(batch), int(cells)))
        own = np.ascontiguousarray(members[batch])
        count_cells(self._rows, own, 0, len(batch), counts)
        n_classes = int(arities[0]) if len(self.common) else 1
        families = counts.reshape(len(batch), n_classes, -1, int(arities[-1]))
        out[batch] = self.score.family_scores(families, tuple(arities[:-1].tolist()))

    def _shares(self, work: Positions) -> list[int]:
        """Divide a sequence into runs of about equal work, enough of them to share and short enough to be stopped."""
        total = int(work.sum())
        share = min(TASK_STEPS, max(total // (4 * self.threads), 2_000_000))
        if total < share:
            return [0, len(work)] if len(work) else [0]
        done = np.cumsum(work)
        inner = np.flatnonzero(np.diff(done // share)) + 1
        return [0, *inner.tolist(), len(work)]


def _distinct(sets: Positions, n_variables: int) -> tuple[Positions, Positions]:
    """Return the distinct rows, and the position of every row among them."""
    base, width = n_variables + 1, sets.shape[1]
    if base**width >= 2**62:
        rows, place = np.unique(sets, axis=0, return_inverse=True)
        return rows, place.ravel()
    key = np.zeros(len(sets), dtype=np.int64)
    for k in range(width):
        key = key * base + sets[:, k] + 1
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return np.ascontiguousarray(sets[first]), place


@dataclass(frozen=True)
class PairScores:
    """The scores of all features with the class alone, and the gains from each other feature as a further parent.

    Attributes
    ----------
    class_score : float
        local(class), in nats; 0 without a class.
    alone : (n,) float64
        local(i | class), in nats; local(i) without a class.
    gains : (n, n) float64
        ``gains[j, i]`` = local(i | class, j) - local(i | class), in nats; 0 on the diagonal. Without a class,
        local(i | j) - local(i).
    largest_term : float
        W ln W for rows of total weight W: the magnitude of the terms that cancel within local scores, in nats.
    scored : int
        Sets, or families, that were scored.
    """

    class_score: float
    alone: Floats
    gains: Floats
    largest_term: float
    scored: int

    @property
    def rounding(self) -> float:
        """Gains that differ by less than this count as equal."""
        return TIED_GAINS * max(1.0, abs(self.class_score) + float(np.abs(self.alone).sum()), self.largest_term)


def pair_scores(scorer: FamilyScorer, progress: Progress | None) -> PairScores | None:
    """Return the local scores of all features given the class, if there is one, and given one more feature.

    With a score-equivalent score ``gains`` is symmetric, and each pair is scored once. O(n² N) steps for n features
    and N distinct rows; memory about 100 n² bytes (200 n² where the score is not equivalent), which covers a search
    for a branching, too, and what :class:`FamilyScorer` takes. None when time ran out.

    Raises
    ------
    SearchTooLargeError
        If that is more memory than there is.
    ValueError
        If a score is NaN or infinite; minus infinity is allowed, given a further parent.
    """
    n, features, phase = scorer.n, scorer.features, "pair scores"
    _check_memory(n, scorer.score.score_equivalent)
    earlier, later = np.triu_indices(n, 1)
    gains = np.zeros((n, n))
    largest = scorer.table.weight_sum * float(np.log1p(scorer.table.weight_sum))
    if scorer.has_set_score:
        members = np.full((2 + n + len(later), 3), -1)
        members[1, 2] = members[2 : 2 + n, 1] = members[2 + n :, 0] = scorer.class_position
        members[2 : 2 + n, 2] = features
        members[2 + n :, 1], members[2 + n :, 2] = features[earlier], features[later]
        scores = scorer.set_scores(members, phase, progress)
        if scores is None:
            return None
        class_score, with_class = float(scores[1] - scores[0]), scores[2 : 2 + n]
        alone = with_class - scores[1]
        symmetric = scores[2 + n :] - with_class[earlier] - with_class[later] + scores[1]
        gains[earlier, later] = gains[later, earlier] = symmetric
        return _checked(scorer, PairScores(class_score, alone, gains, largest, len(members)))
    common = scorer.table.vocabulary.common_parents
    class_score = sum(scorer.score.local_score(scorer.table, name, []) for name in common)
    single = scorer.local_scores(features, np.empty((n, 0), dtype=np.int64), phase, None)
    if single is None:
        return None
    alone = single
    parents, children = earlier, later
    if not scorer.score.score_equivalent:
        parents, children = np.nonzero(~np.eye(n, dtype=bool))
    scores = scorer.local_scores(features[children], features[parents][:, None], phase, progress)
    if scores is None:
        return None
    gains[parents, children] = scores - alone[children]
    if scorer.score.score_equivalent:
        gains[children, parents] = gains[parents, children]
    return _checked(scorer, PairScores(class_score, alone, gains, largest, len(scores) + n + 1))


def _check_memory(n: int, symmetric: bool) -> None:
    """Refuse a search that would not fit into memory."""
    needed, available = n * n * (100 if symmetric else 200), available_memory()
    if needed > available:
        raise SearchTooLargeError(
            f"all pairs of {n} features need {human_bytes(needed)}; {human_bytes(available)} is available. Select "
            "features first, or use a NaiveBayesClassifier."
        )


def _checked(scorer: FamilyScorer, scores: PairScores) -> PairScores:
    """Return the scores; refuse scores that cannot be compared."""
    bad = ~np.isfinite(scores.alone)
    if bad.any() or not np.isfinite(scores.class_score):
        name = scorer.names[scorer.features[bad.argmax()] if bad.any() else scorer.class_position]
        alone = " given the class alone" if len(scorer.common) else " without parents"
        raise ValueError(f"the score {scorer.score.name!r} of {name!r}{alone} is not a finite number")
    bad_gains = np.isnan(scores.gains) | (scores.gains == np.inf)
    if bad_gains.any():
        parent, child = (scorer.names[scorer.features[v]] for v in np.argwhere(bad_gains)[0])
        given = f"the class and {parent!r}" if len(scorer.common) else repr(parent)
        raise ValueError(f"the score {scorer.score.name!r} of {child!r} given {given} is not a number")
    return scores
