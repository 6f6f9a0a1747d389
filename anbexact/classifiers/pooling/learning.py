"""How the members of a pool are learned: from all rows, then again in folds for their weights."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, isnan
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import _safe_indexing

from anbexact._runtime.approximate import predictions_only
from anbexact._runtime.arrays import Floats
from anbexact._runtime.by_fields import ByFields
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import SHORTEST, Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.spread import spread, worker_count
from anbexact._runtime.units import human_seconds
from anbexact.classifiers.discrete import DiscreteClassifier, FitRows
from anbexact.classifiers.naive_bayes import NaiveBayesClassifier
from anbexact.classifiers.pooling.members import Member
from anbexact.classifiers.pooling.shared_fits import SharedFits, network_key
from anbexact.models.pool.weights import LEAST_LOG, HeldOutLogs, PoolWeights, finite_logs, fit_pool, fit_weights
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.native_values import native
from anbexact.tables.table import Weights

MEMBER_COLUMNS = ("weight", "log_loss", "seconds", "outcome")
"""Columns of ``members_``: what is known about every member that was considered."""
FAR_BEHIND = 2.0
"""Log loss of members, as a multiple of the least one, above which a member that extends them is left out."""
OUT_OF_TIME = "out of time"
NO_WEIGHT = "weight 0"
POOLED = "pooled"
NOT_NEEDED = "not needed"
SAME = "same as {}"
BEHIND = "far behind"
"""Outcomes of members; that of a member that cannot be learned begins with ``refused``, and that of one
that extends members far behind the best ends so."""

FREQUENCIES = "class frequencies"
"""The name of the record of the class frequencies."""
ALIKE = 0.02
"""Root mean square, over rows and classes, of the differences of ln P(class | row) of two members, in nats. Below it,
they count as the same model."""
LITTLE, LITTLE_PER_ROW = 1.0, 0.001
"""Total and mean loss of a member on the held-out rows, in nats, below which later members cannot improve much."""
ROWS_TO_SUFFICE = 500
"""Number of held-out rows of the first fold from which on no other fold is needed if the first member suffices."""


@dataclass(frozen=True)
class Spared:
    """What may be left out of a fit to save time.

    Attributes
    ----------
    members : bool
        Members that could hardly improve the pool: those that, learned from all rows, predict them as an earlier one
        does; those that only extend members whose log loss is more than `FAR_BEHIND` times the least one; and those
        after a member whose total loss on the held-out rows is below `LITTLE`, or whose mean loss is below
        `LITTLE_PER_ROW`.
    folds : bool
        All folds but the first, if members may be left out, the mean loss of the first member that can be learned is
        below `LITTLE_PER_ROW` in this fold, and the fold holds out `ROWS_TO_SUFFICE` rows or more.
    precision : bool
        The last steps of fits to all rows, which hardly change predictions and are left out in folds in any case
        (:func:`~anbexact._runtime.approximate.predictions_only`).
    """

    members: bool = False
    folds: bool = False
    precision: bool = False


@dataclass
class Record:
    """The outcome for one member.

    Attributes
    ----------
    member : Member
    outcome : str
        Whether it is in the pool, or why it is not.
    log_loss : float
        Log loss on rows that it did not learn from; nats per row.
    seconds : float
        Time of all its fits, to all rows and in folds.
    fitted : DiscreteClassifier or None
        The member, learned from all rows.
    caught : list of WarningMessage
        The warnings of this fit.
    copies : int
        Number of members that it stands for: itself, and those left out because they predict all rows alike.
    own_logs : (rows, classes) float64 or None
        ln P(class | row) of the same rows, after the fit to all rows; None until the member is compared with others.
    logs : list of (rows, classes) float64
        ln P(class | row) of the held-out rows of every fold.
    longest : float
        Time of its longest fit in a fold, in seconds.
    constant : (classes,) float64 or None
        ln P(class) after all rows, for a record whose predictions depend on no feature. It has no fitted member.
    """

    member: Member
    outcome: str = ""
    log_loss: float = float("nan")
    seconds: float = 0.0
    fitted: DiscreteClassifier | None = None
    caught: list[warnings.WarningMessage] = field(default_factory=list)
    copies: int = 1
    own_logs: Floats | None = None
    logs: list[Floats] = field(default_factory=list)
    longest: float = 0.0
    constant: Floats | None = None

    def repeats(self, others: Sequence[Record], frames: Sequence[Any], labels: Sequence[Any]) -> bool:
        """Record and return whether it, learned from all rows, predicts those of frames as one of the others does."""
        for other in others:
            if np.sqrt(np.mean((self._logs_of(frames, labels) - other._logs_of(frames, labels)) ** 2)) < ALIKE:
                self.outcome = SAME.format(other.member.name)
                return True
        return False

    def _logs_of(self, frames: Sequence[Any], labels: Sequence[Any]) -> Floats:
        """Return ``own_logs``, computed once: the frames and labels are always the same."""
        if self.own_logs is None:
            assert self.fitted is not None
            self.own_logs = np.concatenate([finite_logs(log_posteriors(self.fitted, X, labels)) for X in frames])
        return self.own_logs

    def is_behind(self, others: Sequence[Record]) -> bool:
        """Record and return whether all members that this one extends are far behind the best.

        The best is one of those that extend none themselves. A member that is left out for this reason counts as far
        behind; one that is the same as another has the log loss of that one; and one that is refused does not count.
        """
        extended = [
            other
            for other in others
            if other.member.name in self.member.extends and not other.outcome.startswith("refused")
        ]
        losses = [other.log_loss for other in others if not other.outcome and not other.member.extends]
        most = FAR_BEHIND * min((loss for loss in losses if not isnan(loss)), default=inf)
        left_out = [other.outcome for other in extended if other.outcome.endswith(BEHIND)]
        twins = {SAME.format(other.member.name): other for other in others}
        behind = [other.member.name for other in extended if twins.get(other.outcome, other).log_loss > most]
        if extended and len(left_out) + len(behind) == len(extended):
            self.outcome = left_out[0] if left_out else _behind(behind)
        return bool(self.outcome)

    def like(self, others: Sequence[Record]) -> DiscreteClassifier | None:
        """Return the one of the others, learned from all rows, whose choices this member takes over."""
        return next((other.fitted for other in others if other.member.name == self.member.like), None)

    def learn(
        self, fits: SharedFits, seconds: float, like: DiscreteClassifier | None = None, *, to_predict: bool = False
    ) -> None:
        """Learn the member from all rows, with some choices of ``like``; a refit ends after ``seconds``.

        It may end earlier if it is only ``to_predict``.
        """
        began = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught, predictions_only(to_predict):
            warnings.simplefilter("always")
            self.fitted = fits.fitted(self.member.estimator, seconds, like)
        self.caught += caught
        self.seconds += time.perf_counter() - began

    def learn_again(self, fold: Fold, labels: Sequence[Any], seconds: float) -> bool:
        """Learn the member again in a fold and record its predictions; return whether this ended in time."""
        assert self.fitted is not None
        began = time.perf_counter()
        with warnings.catch_warnings(), predictions_only():
            warnings.simplefilter("ignore")
            model = fold.fits.fitted_again(self.fitted, seconds)
            in_time = not model._ended_by(seconds)
            if in_time:
                self.logs.append(log_posteriors(model, fold.held_out.given.X, labels))
        took = time.perf_counter() - began
        self.seconds, self.longest = self.seconds + took, max(self.longest, took)
        return in_time

    def forget_rows(self) -> None:
        """Forget what the fit to all rows kept for those in folds."""
        if self.fitted is not None:
            self.fitted._forget_rows()


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a fit, their classes as codes of labels, and their target probabilities in the order of labels."""

    given: FitRows
    codes: npt.NDArray[np.intp]
    targets: Floats | None

    @property
    def weights(self) -> Weights:
        """The weights of the rows."""
        found: Weights = self.given.weights
        return found

    def chosen(self, weights: Weights) -> Rows:
        """Return the rows of positive weight."""
        kept = np.flatnonzero(weights > 0)
        X, y = (_safe_indexing(part, kept) for part in self.given[:2])
        soft = None if self.given.soft is None else self.given.soft[kept]
        targets = None if self.targets is None else self.targets[kept]
        groups = None if self.given.groups is None else self.given.groups[kept]
        if groups is not None and len(np.unique(groups)) < 2:  # nothing can be held out then
            groups = None
        return Rows(FitRows(X, y, weights[kept], soft, groups), self.codes[kept], targets)

    def log_frequencies(self, n_classes: int) -> Floats:
        """Return ln P(class), (classes,), from the weights of the classes and one row more, shared by all classes."""
        counted = self.with_logs(np.zeros((len(self.codes), 1, n_classes)))
        weights = np.bincount(counted.codes, counted.weights, n_classes) + 1 / n_classes
        return np.asarray(np.log(weights / weights.sum()))

    def with_logs(self, logs: Floats) -> HeldOutLogs:
        """Return predictions for the rows, the first axis of ``logs``, with the weight of every class that counts.

        A row whose target is a probability counts once for every class of positive probability.
        """
        if self.targets is None:
            return HeldOutLogs(logs, self.codes, self.weights)
        row, codes = np.nonzero(self.targets)
        return HeldOutLogs(logs[row], codes.astype(np.intp), self.weights[row] * self.targets[row, codes])


@dataclass(frozen=True, eq=False)
class Fold(ByFields):
    """Rows to learn from, and rows that are held out; both are taken from all rows when they are first needed.

    Attributes
    ----------
    rows : Rows
        All rows.
    parts : pair of (rows,) float64
        The weight of every row among those to learn from, and among those held out; 0 where it is not one of them.
    """

    rows: Rows
    parts: tuple[Weights, Weights]

    @cached_property
    def learned(self) -> Rows:
        """The rows to learn from."""
        return self.rows.chosen(self.parts[0])

    @cached_property
    def held_out(self) -> Rows:
        """The rows that are held out."""
        return self.rows.chosen(self.parts[1])

    @cached_property
    def fits(self) -> SharedFits:
        """The fits to the rows to learn from, which the members share."""
        return SharedFits(*self.learned.given)

    @property
    def n_learned(self) -> int:
        """Number of rows to learn from."""
        return int(np.count_nonzero(self.parts[0] > 0))

    @property
    def n_held_out(self) -> int:
        """Number of rows that are held out."""
        return int(np.count_nonzero(self.parts[1] > 0))

    def keep(self, keys: Collection[str]) -> None:
        """Forget the networks without these keys, if any were learned; see :meth:`.SharedFits.keep`."""
        if "fits" in vars(self):
            self.fits.keep(keys)


def known_labels(target: Column, weights: Weights, estimators: Sequence[DiscreteClassifier]) -> list[Any]:
    """Return the classes that occur or are declared, in arbitrary order."""
    codes, names = target.coded
    occurring = [names[code] for code in np.unique(codes[(weights > 0) & (codes >= 0)])]
    declared = list(names) if target.declared else []
    for estimator in estimators:
        declared += (getattr(estimator._begun_with(), "categories", None) or {}).get(target.name, ())
    return list(dict.fromkeys([*occurring, *map(native, declared)]))


def make_folds(rows: Rows, parts: Sequence[tuple[Weights, Weights]]) -> list[Fold]:
    """Return folds of rows; ``parts`` are the weights of both sides."""
    return [Fold(rows, part) for part in parts]


def of_frequencies(rows: Rows, folds: Sequence[Fold], n_classes: int) -> Record:
    """Return a record of the class frequencies: for every fold, those in the rows to learn from."""
    record = Record(Member(FREQUENCIES, NaiveBayesClassifier()))  # what naive Bayes is without features
    record.constant = rows.log_frequencies(n_classes)
    for fold in folds:
        record.logs.append(np.tile(fold.learned.log_frequencies(n_classes), (len(fold.held_out.codes), 1)))
    record.log_loss = _log_loss(record.logs, folds)
    return record


def learn_members(
    records: Sequence[Record],
    rows: FitRows,
    folds: Sequence[Fold],
    labels: Sequence[Any],
    deadline: Deadline,
    progress: Progress | None,
    spared: Spared,
) -> Sequence[Fold]:
    """Learn every member from all rows, and again in all folds; record what it predicts for the rows held out.

    Returns the folds in which the members were learned: all of them, or the first if no other is needed.

    In the folds, cut points, structures and tables are learned anew, unless they would be the same. Equivalent sample
    sizes, limits on parents, strengths of smoothing and priors of refits are kept, as
    :meth:`.DiscreteClassifier._fitted_again` says. The outcome of a member says if it cannot be learned, is not
    needed, or would take too long. The first member that can be learned is kept even if the time runs out before it
    is learned in all folds. Without a time limit, members and folds are learned on the workers of joblib's backend,
    where one is configured.

    Parameters
    ----------
    records : sequence of Record
        The members, the most promising first; the records are changed in place.
    rows : FitRows
        All rows.
    folds : sequence of Fold
    labels : sequence
        The classes in the order of their codes, which is the order of the logs.
    deadline : Deadline
        The time by which everything must be learned.
    progress : callable, optional
        Called with a phase and the finished fraction of the whole.
    spared : Spared
        What may be left out.
    """
    if _on_workers(deadline):
        _learn_on_workers(records, rows, folds, labels, progress, spared)
    else:
        _learn_in_turn(records, rows, folds, labels, deadline, progress, spared)
    if spared.members:
        first = next((record for record in records if record.fitted is not None and not record.outcome), None)
        if spared.folds and first is not None and first.logs and _suffices_at_once(first, folds):
            first.logs, folds = first.logs[:1], folds[:1]
            first.log_loss = _log_loss(first.logs, folds)
        _leave_out_needless(records, folds)
        for record in records:
            record.copies += sum(other.outcome == SAME.format(record.member.name) for other in records)
    return folds


def _learn_in_turn(
    records: Sequence[Record],
    rows: FitRows,
    folds: Sequence[Fold],
    labels: Sequence[Any],
    deadline: Deadline,
    progress: Progress | None,
    spared: Spared,
) -> None:
    """Do the work of :func:`learn_members`, one member after another."""
    fits = SharedFits(*rows)
    per_member = len(folds) + 1
    networks = [network_key(record.member.estimator) for record in records]
    done: list[Record] = []
    for place, record in enumerate(records):
        fits.keep(networks[place:])
        for fold in folds:
            fold.keep(networks[place:])
        if spared.members and done and folds and _sufficient(done[-1], folds):
            break
        least = sum(other.seconds for other in records if other.member.name == record.member.slower_than)
        if done and (deadline.passed or deadline.left < least):
            record.outcome = OUT_OF_TIME
            continue

        if spared.members and record.is_behind(records[:place]):
            continue

        def tell(step: str, number: int, place: int = place, record: Record = record) -> None:
            share = (place * per_member + number) / (len(records) * per_member)
            if progress is not None:
                progress(f"{record.member.name}, {step}{_time_left(deadline.elapsed, share)}", share)

        try:
            tell("all rows", 0)
            seconds, like = deadline.left or SHORTEST, record.like(records[:place])
            record.learn(fits, seconds, like, to_predict=spared.precision)
            if spared.members and folds and done and record.repeats(done, _to_compare(rows, folds), labels):
                continue
            for number, fold in enumerate(folds):
                if deadline.left <= record.longest:
                    record.outcome = OUT_OF_TIME
                    break
                tell(f"fold {number + 1} of {len(folds)}", number + 1)
                in_time = record.learn_again(fold, labels, deadline.left)
                fold.keep(networks[place + 1 :])
                if not in_time:
                    record.outcome = OUT_OF_TIME
                    break
                if spared.folds and not done and number == 0 and _suffices_at_once(record, folds):
                    folds = folds[:1]
                    break
        except (MemoryError, ValueError) as error:
            _refuse(record, records, error)
            continue
        finally:
            record.forget_rows()
        if not record.outcome:
            record.log_loss = _log_loss(record.logs, folds)
        elif not done:
            record.outcome = ""
        if not record.outcome:
            done.append(record)


def _behind(names: Sequence[str]) -> str:
    """Return the outcome of a member that extends some which are far behind."""
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} {BEHIND}"


def _time_left(elapsed: float, share: float) -> str:
    """Return how long the rest will take, judging by the time of a share of the work; empty without an estimate."""
    return f", about {human_seconds(elapsed * (1 - share) / share)} left" if share > 0 else ""


def _sufficient(record: Record, folds: Sequence[Fold]) -> bool:
    """Whether a member's loss on the held-out rows is so small, in total or per row, that no other member is needed.

    For the total, the mean loss is multiplied by the total weight or, if that is less, by the number of rows: weights
    may be shares, which add up to 1.
    """
    weights = [fold.held_out.weights for fold in folds]
    total = record.log_loss * max(sum(float(part.sum()) for part in weights), sum(map(len, weights)))
    return total < LITTLE or record.log_loss < LITTLE_PER_ROW


def _suffices_at_once(record: Record, folds: Sequence[Fold]) -> bool:
    """Whether a member's loss on many held-out rows of the first fold is so small that nothing else is needed."""
    if folds[0].n_held_out < ROWS_TO_SUFFICE:
        return False
    return _log_loss(record.logs[:1], folds[:1]) < LITTLE_PER_ROW


def _to_compare(rows: FitRows, folds: Sequence[Fold]) -> list[Any]:
    """Return the rows that are held out in some fold, in as few frames as possible."""
    if sum(fold.n_held_out for fold in folds) == len(rows.weights):
        return [rows.X]
    return [fold.held_out.given.X for fold in folds]


def _leave_out_same(
    records: Sequence[Record],
    places: Iterable[int],
    known: Sequence[Record],
    frames: Sequence[Any],
    labels: Sequence[Any],
) -> None:
    """Record which members at some places, learned from all rows, predict them as a known or an earlier one does."""
    earlier = list(known)
    for record in (records[place] for place in places):
        if record.outcome:
            continue
        try:
            if not record.repeats(earlier, frames, labels):
                earlier.append(record)
        except (MemoryError, ValueError) as error:
            _refuse(record, records, error)


def _leave_out_needless(records: Sequence[Record], folds: Sequence[Fold]) -> None:
    """Record that members after the first sufficient one are not needed, whatever became of them on workers."""
    found = False
    for record in records:
        record.outcome = NOT_NEEDED if found else record.outcome
        found = found or (not record.outcome and _sufficient(record, folds))


def _on_workers(deadline: Deadline) -> bool:
    """Whether members are learned at the same time; with a time limit they take turns, the most promising first."""
    return deadline.left == inf and worker_count() > 1


def _groups(records: Sequence[Record], places: Iterable[int]) -> list[list[int]]:
    """Return the places of some records in groups whose members start from the same network."""
    groups: dict[str, list[int]] = {}
    for place in places:
        groups.setdefault(network_key(records[place].member.estimator), []).append(place)
    return list(groups.values())


def _learn_on_workers(
    records: Sequence[Record],
    rows: FitRows,
    folds: Sequence[Fold],
    labels: Sequence[Any],
    progress: Progress | None,
    spared: Spared,
) -> None:
    """Do the work of :func:`learn_members` in jobs: groups of :func:`_groups` from all rows, then in each fold.

    Members that take over choices of others are learned after these, and so are those that extend others, if they do
    not show that these can be left out. They learn their networks again.
    """
    for fold in folds:  # threads would take the rows several times
        fold.fits, fold.held_out  # noqa: B018  # cached
    waves = _waves(records, sparing=spared.members)
    n_jobs, done = sum(len(_groups(records, wave)) for wave in waves) * (len(folds) + 1), 0
    known: list[Record] = []

    def results_of(
        work: Any, shared: Any, jobs: Sequence[tuple[list[int], int]]
    ) -> Iterator[tuple[Record, _Fitted[Any]]]:
        nonlocal done
        for (group, _), results in zip(jobs, spread(work, shared, jobs), strict=True):
            done += 1
            if progress is not None:
                progress("members", min(done / n_jobs, 1.0))
            yield from zip([records[place] for place in group], results, strict=True)

    def learn(places: Sequence[int], known: Sequence[Record]) -> None:
        groups = _groups(records, places)
        jobs = [(group, 0) for group in groups]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            likes = [record.like(records[:place]) for place, record in enumerate(records)]
            shared: Any = [record.member.estimator for record in records], likes, rows, spared.precision
            for record, result in results_of(_fitted_group, shared, jobs):
                record.seconds += result.seconds
                if isinstance(result.found, Exception):
                    _refuse(record, records, result.found)
                else:
                    record.fitted = result.found
        for place in places:
            records[place].caught = caught  # which member gave a warning is not known
        if spared.members and folds:
            _leave_out_same(records, places, known, _to_compare(rows, folds), labels)
        learned = [[place for place in group if not records[place].outcome] for group in groups]
        jobs = [(group, k) for group in learned if group for k in range(len(folds))]
        with warnings.catch_warnings():  # not in the jobs: all threads share the filters
            warnings.simplefilter("ignore")
            shared = [record.fitted for record in records], folds, labels
            for record, result in results_of(_held_out_by_group, shared, jobs):
                record.seconds += result.seconds
                if isinstance(result.found, Exception):
                    _refuse(record, records, result.found)
                else:
                    record.logs.append(result.found)
        for place in places:
            records[place].forget_rows()
            if not records[place].outcome:
                records[place].log_loss = _log_loss(records[place].logs, folds)

    for wave in waves:
        if spared.members and folds and any(_sufficient(record, folds) for record in known):
            break
        learn([place for place in wave if not (spared.members and records[place].is_behind(records[:place]))], known)
        known += [records[place] for place in wave if not records[place].outcome]


def _waves(records: Sequence[Record], *, sparing: bool) -> list[list[int]]:
    """Return the places of all records in their order, those together that are learned at the same time.

    A member that takes over a choice of another one comes in a later wave than that one and, if members are spared,
    so does a member that extends others.
    """
    waves: list[list[int]] = [[]]
    for place, record in enumerate(records):
        names = {records[other].member.name for other in waves[-1]}
        if record.member.like in names or (sparing and names & {*record.member.extends}):
            waves.append([])
        waves[-1].append(place)
    return waves


Found = TypeVar("Found")


@dataclass(frozen=True)
class _Fitted(Generic[Found]):
    """The result for a member on a worker, or the error that refuses it, and the seconds that it took."""

    found: Found | MemoryError | ValueError
    seconds: float


def _attempted(attempt: Callable[[], Found]) -> _Fitted[Found]:
    """Return what an attempt returned, or the error that refuses a member."""
    began = time.perf_counter()
    try:
        found: Found | MemoryError | ValueError = attempt()
    except (MemoryError, ValueError) as error:
        found = error
    return _Fitted(found, time.perf_counter() - began)


def _held_out_by_group(
    shared: tuple[list[DiscreteClassifier], Sequence[Fold], Sequence[Any]], job: tuple[list[int], int]
) -> list[_Fitted[Floats]]:
    """Return the logs of :func:`log_posteriors` for the held-out rows of a fold, by every member of a group."""
    members, folds, labels = shared
    group, k = job
    fold = folds[k]

    def logs_of(place: int) -> Floats:
        with predictions_only():
            return log_posteriors(fold.fits.fitted_again(members[place]), fold.held_out.given.X, labels)

    return [_attempted(partial(logs_of, place)) for place in group]


def _fitted_group(
    shared: tuple[list[DiscreteClassifier], list[DiscreteClassifier | None], FitRows, bool],
    job: tuple[list[int], int],
) -> list[_Fitted[DiscreteClassifier]]:
    """Return the members of a group, learned from all rows, with some choices of those that they are like."""
    estimators, likes, rows, to_predict = shared
    fits = SharedFits(*rows)
    with predictions_only(to_predict):
        return [_attempted(partial(fits.fitted, estimators[place], like=likes[place])) for place in job[0]]


def log_posteriors(model: DiscreteClassifier, X: Any, labels: Sequence[Any]) -> Floats:
    """Return ln P(class | row), columns in the order of labels; `LEAST_LOG` for a class that the model lacks."""
    place = {label: k for k, label in enumerate(labels)}
    columns = [place[label] for label in model.classes_.tolist()]
    of_model = model.predict_log_proba(X)
    logs = np.full((len(of_model), len(labels)), LEAST_LOG)
    logs[:, columns] = of_model
    return logs


def pool_weights(records: Sequence[Record], folds: Sequence[Fold], n_classes: int, ridge: float | str) -> PoolWeights:
    """Return the weights of members; equal ones where nothing was held out.

    A member that stands for others has the weight of all of them: it is fitted as often as they are.

    Parameters
    ----------
    records : sequence of Record
        Learned in all folds.
    folds : sequence of Fold
    n_classes : int
    ridge : float or "auto"
    """
    if not folds:
        return PoolWeights.equal(len(records), n_classes)
    copies = np.array([record.copies for record in records])
    held_out = held_out_logs(records, folds)
    repeated = replace(held_out, logs=held_out.logs[:, np.repeat(np.arange(len(copies)), copies)])
    found = fit_pool(repeated) if isinstance(ridge, str) else fit_weights(repeated, float(ridge))
    return replace(found, weights=np.add.reduceat(found.weights, np.cumsum(copies) - copies))


def fewest_members(
    records: Sequence[Record], folds: Sequence[Fold], n_classes: int, ridge: float | str, tolerance: float
) -> list[Record]:
    """Return few members whose pool predicts the held-out rows almost as well as that of all members.

    Members of weight 0 are left out first. Then the member without which the loss is least is left out, as long as it
    is not above the loss of all members by more than the tolerance. The precision of the prior of the weights is that
    of all members throughout.

    Parameters
    ----------
    records, folds, n_classes, ridge
        As for :func:`pool_weights`.
    tolerance : float
        Nats per row.
    """
    if not folds:
        return list(records)
    found = pool_weights(records, folds, n_classes, ridge)

    def loss(some: Sequence[Record]) -> float:
        held_out = held_out_logs(some, folds)
        weights = pool_weights(some, folds, n_classes, found.ridge)
        return -weights.log_likelihood(held_out) / float(held_out.weights.sum())

    kept = list(records)
    most = loss(kept) + tolerance
    without = [[record for record, weight in zip(kept, found.weights, strict=True) if weight > 0]]
    while without[0]:
        losses = [loss(rest) for rest in without]
        best = int(np.argmin(losses))
        if losses[best] > most:
            break
        kept = without[best]
        without = [[other for other in kept if other is not record] for record in kept]
    return kept


def held_out_logs(records: Sequence[Record], folds: Sequence[Fold]) -> HeldOutLogs:
    """Return the members' predictions for the held-out rows of all folds."""
    return HeldOutLogs.together(
        [
            fold.held_out.with_logs(np.stack([record.logs[k] for record in records], axis=1))
            for k, fold in enumerate(folds)
        ]
    )


def member_table(records: Sequence[Record], weights: Mapping[str, float]) -> pd.DataFrame:
    """Return the outcome of every member; ``weights`` maps the names of the pool's members to their weights."""
    rows = [
        (record.member.name, weights.get(record.member.name, 0.0), record.log_loss, record.seconds, record.outcome)
        for record in records
    ]
    return pd.DataFrame(rows, columns=["member", *MEMBER_COLUMNS]).set_index("member")


def _log_loss(logs: Sequence[Floats], folds: Sequence[Fold]) -> float:
    """Return a member's log loss on the held-out rows of folds, in nats per row; NaN without weight."""
    total = weight_sum = 0.0
    for of_fold, fold in zip(logs, folds, strict=True):
        held_out = fold.held_out.with_logs(finite_logs(of_fold))
        total -= float(held_out.weights @ held_out.logs[np.arange(len(held_out.codes)), held_out.codes])
        weight_sum += float(held_out.weights.sum())
    return total / weight_sum if weight_sum else float("nan")


def _refuse(record: Record, records: Sequence[Record], error: Exception) -> None:
    """Record why a member cannot be learned; raise the error if no other member is left."""
    record.outcome = f"refused: {str(error) or 'out of memory'}"
    if all(other.outcome.startswith("refused") or other.outcome == OUT_OF_TIME for other in records):
        raise error
