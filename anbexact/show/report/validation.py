"""How well a classifier and its rivals predict rows that they were not learned from: relearned in every fold."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from anbexact._runtime.arrays import Floats, Integers
from anbexact._runtime.progress import Progress
from anbexact.classifiers.discrete import first_table_classifier
from anbexact.compare.budget import Budget
from anbexact.compare.cross_validation import measure
from anbexact.compare.curves import NORMAL_95, wilson_interval
from anbexact.compare.folds import prepare
from anbexact.compare.metrics import BASELINE, COLUMNS, Outcome, summary
from anbexact.compare.models import choose, has_tables
from anbexact.models.pool.weights import PoolWeights
from anbexact.show.report.subject import Subject


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of one model for all rows, each by a copy that was learned without the row.

    Attributes
    ----------
    truth : (rows,) int
        Positions of the true classes among those of the validation.
    proba : (rows, classes) float64
        Probabilities.
    weights : (rows,) float64
        Weights of the rows.
    values : mapping
        The measures of :func:`anbexact.compare.compare`.
    """

    truth: Integers
    proba: Floats
    weights: Floats
    values: dict[str, float]

    @property
    def losses(self) -> Floats:
        """-ln P(true class) of every row, in nats."""
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(self.proba[np.arange(len(self.truth)), self.truth]))

    @property
    def right(self) -> Floats:
        """1 where the most probable class is the true one, else 0."""
        return np.asarray(self.proba.argmax(axis=1) == self.truth, dtype=np.float64)

    def possible(self) -> HeldOut:
        """Return the rows with probabilities; rows that are impossible under the model have none."""
        kept = ~np.isnan(self.proba).any(axis=1)
        return HeldOut(self.truth[kept], self.proba[kept], self.weights[kept], self.values)

    def accuracy_interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the accuracy, over rows."""
        size = np.array([self.weights.sum() ** 2 / (self.weights**2).sum()])
        low, high = wilson_interval(np.array([self.values["accuracy"]]), size)
        return float(low[0]), float(high[0])

    def loss_interval(self, other: HeldOut | None = None) -> tuple[float, float, float]:
        """Return the mean log loss, or its difference from another model's, with its 95 % interval over rows."""
        with np.errstate(invalid="ignore"):
            each = self.losses if other is None else self.losses - other.losses
        mean = float(np.average(each, weights=self.weights))
        if not math.isfinite(mean):
            return mean, math.nan, math.nan
        share = self.weights / self.weights.sum()
        half = NORMAL_95 * math.sqrt(float((share**2 * (each - mean) ** 2).sum()))
        return mean, mean - half, mean + half


@dataclass(frozen=True, eq=False)
class Validation:
    """Cross-validated predictions by model, with notes on them.

    Attributes
    ----------
    lines : mapping of name to HeldOut
        The models.
    own : str
        The classifier of the report.
    refit : tuple of (generative, refitted, pooled) or None
        The names of a network, of its refit, and of the pool of both with equal weights.
    classes : list
        Columns of the probabilities.
    folds, finished : int
        Number of folds, and of those in which the models were measured.
    n_rows : int
        Number of rows in all folds.
    notes : list of str
        Remarks.
    """

    lines: dict[str, HeldOut]
    own: str
    refit: tuple[str, str, str] | None
    classes: list[Any]
    folds: int
    finished: int
    n_rows: int
    notes: list[str]


def obstacle(subject: Subject) -> str:
    """Return why rows cannot be divided into folds, empty if they can."""
    sizes = np.bincount(subject.truth, minlength=len(subject.classes))
    single = [str(subject.classes[k]) for k in np.flatnonzero(sizes == 1).tolist()]
    if (sizes > 0).sum() < 2:
        return "there is only one class among the rows"
    if single and (sizes > 1).sum() < 2:
        return f"the class {single[0]} has a single row, which cannot be in both training and test rows"
    return ""


def validate(
    subject: Subject,
    folds: int,
    seed: int,
    models: Sequence[str],
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Validation:
    """Cross-validate the classifier, its network or refit, the rivals asked for, and the class frequencies.

    If ``time_limit`` seconds are too short for all folds, all models are measured in those that the classifier has
    finished, and notes name the models that are left out.

    Raises
    ------
    ValueError
        For an unknown rival, or rows that cannot be divided into folds.
    """
    weights = subject.weights if subject.weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notes say the same
        decimal = getattr(first_table_classifier(subject.classifier), "decimal", None)
        data = prepare(subject.X, subject.y, weights, folds, seed, decimal=decimal)
        own = f"{subject.name} (this model)"
        n_jobs = getattr(subject.estimator, "n_jobs", None)
        mine, refit_of, names = _own_lines(subject, own)
        chosen = choose(mine, data, None)
        rivals = [name for name in dict.fromkeys([*models, BASELINE]) if name not in chosen]
        chosen |= choose(rivals, data, n_jobs)
        measured: dict[str, Sequence[Outcome]] = {}
        budget = Budget(time_limit)
        first = {own: chosen.pop(own)}
        for _, found in measure(first, refit_of, data, progress, budget, partial=True):
            measured |= {name: outcomes for name, outcomes in found.items() if outcomes is not None}
        finished = len(measured.get(own, data.splits))
        part = replace(data, splits=data.splits[:finished])
        baseline = {BASELINE: chosen.pop(BASELINE)} if BASELINE in chosen else {}
        for others, limit in ((baseline, Budget()), (chosen, budget)):
            for _, found in measure(others, {}, part, progress, limit):
                measured |= {name: outcomes for name, outcomes in found.items() if outcomes is not None}
    refit = None
    if names is not None and set(names[:2]) <= set(measured):
        refit = names
        measured[names[2]] = _pooled(measured[names[0]], measured[names[1]])
    order = sorted(measured, key=lambda name: (refit is None or name not in refit, name == BASELINE))
    lines = {name: _held_out(measured[name]) for name in order}
    return Validation(lines, own, refit, data.classes, len(data.splits), finished, len(data.codes), data.notes)


def _own_lines(subject: Subject, own: str) -> tuple[dict[str, Any], dict[str, str], tuple[str, str, str] | None]:
    """Return what is cross-validated for the classifier itself.

    Returns
    -------
    models : dict
        The classifier by the name ``own``; for a refit, also its network. All are unfitted.
    refit_of : dict
        The name of the refit of a network that is refitted in the folds.
    names : tuple or None
        The names of the network, its refit, and the pool of both; None for a classifier without a refit.
    """
    classifier: Any = subject.classifier
    if "refit" in subject.facts:
        learned = subject.name.rpartition(" ")[0]
        fresh = clone(classifier)
        if isinstance(classifier.estimator, FrozenEstimator):
            fresh.set_params(estimator=clone(classifier.estimator_))
        generative = f"{learned} generative"
        return {own: fresh, generative: clone(classifier.estimator_)}, {}, (generative, own, f"{learned} pooled")
    estimator = clone(classifier)
    if has_tables(classifier):
        refitted = f"{subject.name} refitted"
        return {own: estimator}, {own: refitted}, (own, refitted, f"{subject.name} pooled")
    return {own: estimator}, {}, None


def _pooled(network: Sequence[Outcome], refit: Sequence[Outcome]) -> list[Outcome]:
    """Return the predictions of the pool of a network and its refit with equal weights, fold by fold."""
    found = []
    for first, second in zip(network, refit, strict=True):
        with np.errstate(divide="ignore"):
            logs = np.log(np.stack([first.proba, second.proba], axis=1))
        proba = np.exp(PoolWeights.equal(2, logs.shape[2]).log_posterior(logs))
        found.append(
            replace(
                first,
                predicted=proba.argmax(axis=1),
                proba=proba,
                parameters=first.parameters + second.parameters,
                rows_to_read=first.rows_to_read + second.rows_to_read,
                fit_seconds=first.fit_seconds + second.fit_seconds,
                predict_seconds=first.predict_seconds + second.predict_seconds,
            )
        )
    return found


def _held_out(outcomes: Sequence[Outcome]) -> HeldOut:
    return HeldOut(
        np.concatenate([outcome.truth for outcome in outcomes]),
        np.concatenate([outcome.proba for outcome in outcomes]),
        np.concatenate([outcome.weights for outcome in outcomes]),
        dict(zip(COLUMNS, summary(outcomes), strict=True)),
    )
