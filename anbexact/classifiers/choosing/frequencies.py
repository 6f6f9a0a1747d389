"""Whether a model predicts better than the frequencies of the classes, which take no feature into account."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf

import numpy as np
from scipy.special import xlogy

from anbexact._runtime.arrays import Floats
from anbexact._runtime.units import counted
from anbexact._runtime.warn import first_action, warn
from anbexact.models.logit.refit import Refit
from anbexact.models.model import Model
from anbexact.models.parameters.smoothing import LeaveOneOut, best_left_out_smoothing, second_smoothing
from anbexact.models.structure import Structure
from anbexact.tables.counted.counted_table import CountedTable
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable

FEW_ROWS = 1000.0
"""Total weight below which models are learned again in all folds: choices by leave-one-out are unreliable then."""
FOLDS = 5
"""Number of folds of these comparisons."""
MARGIN_NATS = 0.01
"""Nats per row by which structures with fewer parents, or the frequencies of the classes, must predict better to
count as better."""
PREDICTED_WORSE = "held-out rows are predicted worse than by the class frequencies"
"""What the warning says about a model that predicts worse than the frequencies of the classes."""
INSTEAD = "AdditiveClassifier(NaiveBayesClassifier())"
"""What the warning recommends: a model that cross-validation shrinks towards the class frequencies."""
LEAST_ROWS_COMPARED = 30
"""Minimum number of distinct rows for a meaningful comparison with the frequencies of the classes."""
MOST_ROWS_COMPARED = 1_000
"""Maximum number of distinct rows to be predicted if a single fold is held out; of more rows, evenly spaced ones are
taken."""


class PredictedWorseWarning(UserWarning):
    """Held-out rows are predicted worse than by the frequencies of the classes."""


@contextmanager
def later_corrected() -> Iterator[None]:
    """Silence `PredictedWorseWarning` within the block, where a later refit or weighting changes the predictions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PredictedWorseWarning)
        yield


def warn_if_worse(
    log_loss: float,
    of_frequencies: float,
    why: str,
    smoothing: float | None = None,
    smoothed: float = inf,
    instead: str | None = INSTEAD,
) -> None:
    """Warn if a log loss on held-out rows is clearly above the log loss of the class frequencies; nats per row.

    ``why`` says what the reason may be, such as too few rows. ``smoothing`` is a larger equivalent sample size of the
    tables that is used because of this, and ``smoothed`` the log loss with it. ``instead`` is what to use instead.
    """
    if log_loss > of_frequencies + MARGIN_NATS:
        more = f", so smoothing={smoothing:.4g} is used, with {smoothed:.3f}" if smoothed < log_loss else ""
        warn(
            f"in cross-validation, {PREDICTED_WORSE} (log loss {log_loss:.3f} against {of_frequencies:.3f} nats per "
            f"row){more}: {why}, or the features may not tell the classes apart"
            + (f". Use {instead} instead" if instead is not None else ""),
            PredictedWorseWarning,
        )


def smoothing_compared(
    table: DiscreteTable, structure: Structure, given: float | None = None
) -> tuple[float, float | None]:
    """Return a smoothing, after a comparison of its predictions with those of the class frequencies.

    Each row is predicted from all others. If no smoothing is ``given``, the value that predicts them best is used
    (:func:`~anbexact.models.parameters.smoothing.best_smoothing`). If the class frequencies predict clearly better, a
    warning says so, and a larger equivalent sample size is tried unless the smoothing was given. If the larger one is
    returned, the second value is the equivalent sample size of the table of the class; otherwise, it is None.
    """
    few = len(table.weights) < LEAST_ROWS_COMPARED
    if few and given is not None:
        return given, None
    left_out = LeaveOneOut(table, structure)
    if given is None:
        smoothing, log_likelihood = best_left_out_smoothing(table, left_out)
    else:
        smoothing, log_likelihood = given, left_out.log_likelihood(given)
    if few:
        return smoothing, None
    n_classes = table.vocabulary.arity(structure.class_name)
    counts = np.bincount(table.column(structure.class_name), table.weights, n_classes).astype(np.float64)
    usual = smoothed = -log_likelihood / left_out.weight
    by_frequencies, class_smoothing = _left_out_loss(counts), None
    if usual > by_frequencies + MARGIN_NATS and given is None:
        second, own, value = second_smoothing(table, left_out)
        if -value / left_out.weight < usual:
            smoothing, class_smoothing, smoothed = second, own, -value / left_out.weight
    warn_if_worse(usual, by_frequencies, _repeating(table), smoothing, smoothed)
    return smoothing, class_smoothing


def too_few(table: DiscreteTable, n_features: int) -> str:
    """Return the possible reason for poor predictions that the rows of a table are too few for its features."""
    return f"{len(table.weights):,} distinct rows may be too few for {counted(n_features, 'feature')}"


def compare_folds(
    table: DiscreteTable,
    folds: Sequence[tuple[DiscreteTable, DiscreteTable]],
    value: float,
    beyond: Callable[[], tuple[float, float | None, float]] | None = None,
) -> tuple[float, float | None] | None:
    """Warn if held-out rows are predicted worse than by the frequencies of the classes in the other rows.

    Parameters
    ----------
    table : DiscreteTable
    folds : sequence of (other rows, held-out rows)
    value : float
        The conditional log likelihood of the held-out rows of all folds, in nats, total.
    beyond : callable, optional
        Returns a larger equivalent sample size of the tables; the equivalent sample size of the table of the class,
        or None if it is the same; and the conditional log likelihood with these, in nats, total.

    Returns
    -------
    (float, float or None) or None
        These equivalent sample sizes, if the rows are predicted worse than by the frequencies, and better with them.
    """
    if len(table.weights) < LEAST_ROWS_COMPARED:
        return None
    name = table.vocabulary.class_name
    n_classes = table.vocabulary.arity(name)
    by_frequencies = 0.0
    for rows, others in folds:
        counts = np.bincount(rows.column(name), rows.weights, n_classes) + 1
        by_frequencies += float(others.weights @ np.log(counts / counts.sum())[others.column(name)])
    weight = sum(float(others.weights.sum()) for _, others in folds)
    few = too_few(table, len(table.vocabulary.features))
    why = few if table.weight_sum < FEW_ROWS else _repeating(table)
    second: tuple[float, float | None] | None = None
    smoothed = value
    if beyond is not None and value < by_frequencies - MARGIN_NATS * weight:
        ess, own, at_tried = beyond()
        if at_tried > value:
            second, smoothed = (ess, own), at_tried
    warn_if_worse(
        -value / weight, -by_frequencies / weight, why, None if second is None else second[0], -smoothed / weight
    )
    return second


def compare_relearned(table: DiscreteTable, learn: Callable[[DiscreteTable], Model]) -> None:
    """Warn if models predict rows from which they were not learned worse than the class frequencies do.

    ``learn(rows)`` returns the model learned from some of the rows. Below a total weight of 1,000, the rows of every
    fold are predicted from the other folds; otherwise, only the rows of one fold are predicted, at most 1,000 of
    them. Nothing is learned if the warning would be ignored, or if only the counts of the rows are known.
    """
    if isinstance(table, CountedTable) or first_action(PredictedWorseWarning) == "ignore":
        return
    if len(table.weights) < LEAST_ROWS_COMPARED:
        return
    folds = split_table(table, FOLDS)
    if table.weight_sum >= FEW_ROWS:
        folds = [(rows, _thinned(others)) for rows, others in folds[:1]]
    value = 0.0
    for rows, others in folds:
        codes = np.array([others.column(name) for name in table.vocabulary.features])
        logs = learn(rows).log_posterior(codes)
        value += float(others.weights @ logs[np.arange(len(logs)), others.column(table.vocabulary.class_name)])
    if folds:
        compare_folds(table, folds, value)


def compare_refit(refit: Refit | None) -> None:
    """Warn if no precision of the prior of a refit predicts held-out rows better than the class frequencies do.

    This is known if the precision was chosen by cross-validation; otherwise nothing is compared.
    """
    if refit is None or refit.strength is None or not refit.strength.tried:
        return
    weights = refit.design.weights
    if len(weights) >= LEAST_ROWS_COMPARED:
        value = max(value for _, value in refit.strength.tried)
        few = f"{len(weights):,} distinct rows may be too few for the terms of the refit"
        warn_if_worse(-value / float(weights.sum()), _left_out_loss(weights.sum(axis=0)), few)


def _left_out_loss(counts: Floats) -> float:
    """Return the log loss of the class frequencies in the other rows, smoothed by one row per class; nats per row."""
    others = (counts + 1 - np.minimum(counts, 1)) / (counts.sum() + len(counts) - 1)
    return -float(xlogy(counts, others).sum()) / float(counts.sum())


def _repeating(table: DiscreteTable) -> str:
    """Return the probable reason for poor predictions if there are enough rows."""
    n_features = len(table.vocabulary.features)
    return f"some of the {n_features:,} features may repeat each other, and the model counts each repetition as new"


def _thinned(table: DiscreteTable) -> DiscreteTable:
    """Return at most `MOST_ROWS_COMPARED` rows of a table, evenly spaced."""
    places = np.linspace(0, len(table.weights) - 1, min(len(table.weights), MOST_ROWS_COMPARED)).astype(np.int64)
    codes = np.asfortranarray(table.codes[places])
    return replace(table, codes=codes, weights=table.weights[places], folding=None)
