"""How the members of a pool are learned: in folds for their weights, then from all rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import _safe_indexing

from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.spread import spread, worker_count
from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.classifiers.pooling.members import Member
from anbexact.classifiers.pooling.shared_fits import SharedFits, network_key
from anbexact.models.pool.weights import LEAST_LOG, HeldOutLogs, PoolWeights, finite_logs, fit_pool, fit_weights
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.native_values import native
from anbexact.tables.table import Weights

Frames = tuple[Any, Any]
"""Features and classes, as ``fit`` takes them."""
MEMBER_COLUMNS = ("weight", "log_loss", "seconds", "outcome")
"""Columns of ``members_``: what is known about every member that was considered."""
OUT_OF_TIME = "out of time"
NO_WEIGHT = "weight 0"
POOLED = "pooled"
NOT_NEEDED = "not needed"
"""Outcomes of members; that of a member that cannot be learned begins with ``refused``."""


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
        Time of all its fits, in folds and to all rows.
    logs : list of (rows, classes) float64
        ln P(class | row) of the held-out rows of every fold.
    longest : float
        Time of its longest fit, in seconds.
    """

    member: Member
    outcome: str = ""
    log_loss: float = float("nan")
    seconds: float = 0.0
    logs: list[Floats] = field(default_factory=list)
    longest: float = 0.0

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the seconds that the block takes."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(time.perf_counter() - began)

    def add(self, seconds: float) -> None:
        """Add the seconds of a fit."""
        self.seconds += seconds
        self.longest = max(self.longest, seconds)

    def to_all_rows(self, n_folds: int) -> float:
        """Return the estimated seconds of a fit to all rows; the known fits left out one fold."""
        return self.longest * n_folds / (n_folds - 1)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a frame with their weights, and their classes as codes of labels."""

    frames: Frames
    weights: Weights
    codes: npt.NDArray[np.intp]

    def chosen(self, weights: Weights) -> Rows:
        """Return the rows of positive weight."""
        kept = np.flatnonzero(weights > 0)
        X, y = (_safe_indexing(part, kept) for part in self.frames)
        return Rows((X, y), weights[kept], self.codes[kept])


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows to learn from, shared by the members, and rows that are held out."""

    fits: SharedFits
    held_out: Rows


def known_labels(target: Column, weights: Weights, estimators: Sequence[DiscreteClassifier]) -> list[Any]:
    """Return the classes that occur or are declared, in arbitrary order."""
    codes, names = target.coded
    occurring = [names[code] for code in np.unique(codes[(weights > 0) & (codes >= 0)])]
    declared = list(names) if target.declared else []
    for estimator in estimators:
        declared += (getattr(estimator._begun_with(), "categories", None) or {}).get(target.name, ())
    return list(dict.fromkeys([*occurring, *map(native, declared)]))


def make_folds(X: Any, y: Any, codes: npt.NDArray[np.intp], parts: Sequence[tuple[Weights, Weights]]) -> list[Fold]:
    """Return folds of the rows of frames; ``parts`` are the weights of both sides."""
    rows = Rows((X, y), np.zeros(0), codes.astype(np.intp))
    found = []
    for learned, held in parts:
        training = rows.chosen(learned)
        found.append(Fold(SharedFits(*training.frames, training.weights), rows.chosen(held)))
    return found


def cross_fit(
    records: Sequence[Record],
    folds: Sequence[Fold],
    labels: Sequence[Any],
    deadline: Deadline,
    progress: Progress | None,
    enough: float = 0.0,
) -> None:
    """Learn every member in all folds, and record what it predicts for the rows that are held out.

    The outcome of a member says if it cannot be learned, is not needed, or would take too long. The first member that
    can be learned may take as long as it needs. Without a time limit, members and folds are learned on the workers of
    joblib's backend, where one is configured.

    Parameters
    ----------
    records : sequence of Record
        The members, the most promising first; the records are changed in place.
    folds : sequence of Fold
    labels : sequence
        The classes in the order of their codes, which is the order of the logs.
    deadline : Deadline
        The time by which the members must also have been learned from all rows.
    progress : callable, optional
        Called with a phase and the finished fraction of the whole.
    enough : float, default 0
        Total loss on the held-out rows, in nats, below which a member makes the later ones needless.
    """
    if _on_workers(deadline):
        _cross_fit_on_workers(records, folds, labels, progress)
        _leave_out_needless(records, folds, enough)
        return
    done: list[Record] = []
    for place, record in enumerate(records):
        if done and _sufficient(done[-1], folds, enough):
            break
        for number, fold in enumerate(folds):
            if progress is not None:
                share = (place + number / len(folds)) / (len(records) + 1)
                progress(f"{record.member.name}, fold {number + 1} of {len(folds)}", share)
            spare = deadline.left - sum(other.to_all_rows(len(folds)) for other in done)
            if done and spare <= record.longest + record.to_all_rows(len(folds)):
                record.outcome = OUT_OF_TIME
                break
            # An equal share for each fit that is left, doubled because a refit chooses strengths in half of its time.
            seconds = 2 * spare / (len(folds) - number + 1) if done else inf
            try:
                with record.timed(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = fold.fits.fitted(record.member.estimator, seconds)
                    if model._ended_by(seconds):
                        record.outcome = OUT_OF_TIME
                        break
                    record.logs.append(log_posteriors(model, fold.held_out.frames[0], labels))
            except (MemoryError, ValueError) as error:
                _refuse(record, records, error)
                break
        if not record.outcome:
            done.append(record)
            record.log_loss = _log_loss(record, folds)
    _leave_out_needless(records, folds, enough)


def _sufficient(record: Record, folds: Sequence[Fold], enough: float) -> bool:
    """Whether a member's total loss on the held-out rows, in nats, is so small that no other member is needed.

    The mean loss is multiplied by the total weight or, if that is less, by the number of rows: weights may be shares,
    which add up to 1.
    """
    weights = [fold.held_out.weights for fold in folds]
    return record.log_loss * max(sum(float(part.sum()) for part in weights), sum(map(len, weights))) < enough


def _leave_out_needless(records: Sequence[Record], folds: Sequence[Fold], enough: float) -> None:
    """Record that members after the first sufficient one are not needed, whether or not they were learned."""
    found = False
    for record in records:
        record.outcome = record.outcome or (NOT_NEEDED if found else "")
        found = found or (not record.outcome and _sufficient(record, folds, enough))


def _on_workers(deadline: Deadline) -> bool:
    """Whether members are learned at the same time; with a time limit they take turns, the most promising first."""
    return deadline.left == inf and worker_count() > 1


def _groups(records: Sequence[Record]) -> list[list[int]]:
    """Return the places of the records in groups whose members start from the same network."""
    groups: dict[str, list[int]] = {}
    for place, record in enumerate(records):
        groups.setdefault(network_key(record.member.estimator), []).append(place)
    return list(groups.values())


def _cross_fit_on_workers(
    records: Sequence[Record], folds: Sequence[Fold], labels: Sequence[Any], progress: Progress | None
) -> None:
    """Do the work of :func:`cross_fit` in jobs, one for every fold and every group of :func:`_groups`."""
    groups = _groups(records)
    jobs = [(group, k) for group in groups for k in range(len(folds))]
    of_member: list[list[_Fitted[Floats]]] = [[] for _ in records]
    shared = ([record.member.estimator for record in records], folds, labels)
    with warnings.catch_warnings():  # not in the jobs: all threads share the filters
        warnings.simplefilter("ignore")
        of_jobs = spread(_held_out_by_group, shared, jobs)
        for done, ((group, _), results) in enumerate(zip(jobs, of_jobs, strict=True)):
            for place, result in zip(group, results, strict=True):
                of_member[place].append(result)
            if progress is not None:
                progress("members in folds", (done + 1) / (len(jobs) + len(groups)))
    for record, results in zip(records, of_member, strict=True):
        for result in results:
            record.add(result.seconds)
        refused = [result.found for result in results if isinstance(result.found, Exception)]
        if refused:
            _refuse(record, records, refused[0])
            continue
        record.logs += [result.found for result in results if not isinstance(result.found, Exception)]
        record.log_loss = _log_loss(record, folds)


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
    estimators, folds, labels = shared
    group, k = job
    fold = folds[k]

    def logs_of(place: int) -> Floats:
        return log_posteriors(fold.fits.fitted(estimators[place]), fold.held_out.frames[0], labels)

    return [_attempted(partial(logs_of, place)) for place in group]


def _fitted_group(
    shared: tuple[list[DiscreteClassifier], tuple[Any, Any, Weights]], group: list[int]
) -> list[_Fitted[DiscreteClassifier]]:
    """Return the members of a group, learned from all rows."""
    estimators, rows = shared
    fits = SharedFits(*rows)
    return [_attempted(partial(fits.fitted, estimators[place])) for place in group]


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
    held_out = held_out_logs(records, folds)
    return fit_pool(held_out) if isinstance(ridge, str) else fit_weights(held_out, float(ridge))


def fit_members(
    pooled: Sequence[Record], records: Sequence[Record], rows: tuple[Any, Any, Weights], deadline: Deadline
) -> list[DiscreteClassifier] | None:
    """Return the members of a pool, learned from all rows; None if one of them fails, as its outcome then says.

    A refit that takes much longer than in the folds is stopped at the deadline, with a warning, and used as it is.
    """
    if _on_workers(deadline):
        return _fit_members_on_workers(pooled, records, rows)
    shared = SharedFits(*rows)
    fitted = []
    for place, record in enumerate(pooled):
        later = sum(other.longest for other in pooled[place + 1 :])
        seconds = max(deadline.left - later, 2 * record.longest) if record.longest else inf
        try:
            with record.timed():
                fitted.append(shared.fitted(record.member.estimator, seconds))
        except (MemoryError, ValueError) as error:
            _refuse(record, records, error)
            return None
    return fitted


def _fit_members_on_workers(
    pooled: Sequence[Record], records: Sequence[Record], rows: tuple[Any, Any, Weights]
) -> list[DiscreteClassifier] | None:
    """Do the work of :func:`fit_members` in jobs, one for every group of :func:`_groups`."""
    groups = _groups(pooled)
    shared = ([record.member.estimator for record in pooled], rows)
    fitted: dict[int, DiscreteClassifier] = {}
    for group, results in zip(groups, spread(_fitted_group, shared, groups), strict=True):
        for place, result in zip(group, results, strict=True):
            pooled[place].add(result.seconds)
            if isinstance(result.found, Exception):
                _refuse(pooled[place], records, result.found)
                return None
            fitted[place] = result.found
    return [fitted[place] for place in range(len(pooled))]


def held_out_logs(records: Sequence[Record], folds: Sequence[Fold]) -> HeldOutLogs:
    """Return the members' predictions for the held-out rows of all folds."""
    return HeldOutLogs.together(
        [
            HeldOutLogs(
                np.stack([record.logs[k] for record in records], axis=1),
                fold.held_out.codes,
                fold.held_out.weights,
            )
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


def _log_loss(record: Record, folds: Sequence[Fold]) -> float:
    """Return the log loss of a member on the held-out rows of all folds, in nats per row; NaN without weight."""
    total = weight_sum = 0.0
    for logs, fold in zip(record.logs, folds, strict=True):
        true_class_logs = finite_logs(logs)[np.arange(len(logs)), fold.held_out.codes]
        total -= float(fold.held_out.weights @ true_class_logs)
        weight_sum += float(fold.held_out.weights.sum())
    return total / weight_sum if weight_sum else float("nan")


def _refuse(record: Record, records: Sequence[Record], error: Exception) -> None:
    """Record why a member cannot be learned; raise the error if no other member is left."""
    record.outcome = f"refused: {str(error) or 'out of memory'}"
    if all(other.outcome.startswith("refused") or other.outcome == OUT_OF_TIME for other in records):
        raise error
