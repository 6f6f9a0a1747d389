"""Measures of predictions for rows that were left out, compared with their classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats

BASELINE = "class frequencies"
"""The line of a comparison that every model should beat; it is never marked as the best."""

COLUMNS = (
    "accuracy",
    "accuracy_se",
    "log_loss",
    "cll",
    "brier",
    "calibration_error",
    "parameters",
    "rows_to_read",
    "fit_seconds",
    "predict_seconds",
)
"""The columns of a comparison."""
BINS = 10
"""Number of bins of the predicted class's probability, all of the same width."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The predictions for the rows of a fold by a model learned from the other rows.

    Attributes
    ----------
    truth, predicted : (rows,) int
        Codes of the true and the most probable class.
    proba : (rows, classes) float64
        P(class | row), columns by code.
    parameters : float
        Free parameters of the model.
    rows_to_read : float
        Rows of the tables that define it.
    fit_seconds, predict_seconds : float
        Wall-clock time.
    weights : (rows,) float64
        Weights of the rows.
    """

    truth: npt.NDArray[np.intp]
    predicted: npt.NDArray[np.intp]
    proba: Floats
    parameters: float
    rows_to_read: float
    fit_seconds: float
    predict_seconds: float
    weights: Floats


def summary(outcomes: Sequence[Outcome]) -> list[float]:
    """Return the values of `COLUMNS`: weighted over the rows of all folds; parameters and times averaged over folds.

    See :func:`anbexact.compare.compare` for what each of them is.
    """
    truth = np.concatenate([outcome.truth for outcome in outcomes])
    predicted = np.concatenate([outcome.predicted for outcome in outcomes])
    proba = np.concatenate([outcome.proba for outcome in outcomes])
    rows = np.arange(len(truth))
    weights = np.concatenate([outcome.weights for outcome in outcomes])
    right = predicted == truth
    by_fold = [np.average(outcome.predicted == outcome.truth, weights=outcome.weights) for outcome in outcomes]
    with np.errstate(divide="ignore"):
        cll = float((weights * np.log(proba[rows, truth])).sum())
    return [
        float(np.average(right, weights=weights)),
        float(np.std(by_fold, ddof=1) / np.sqrt(len(by_fold))),
        0.0 - cll / float(weights.sum()),  # not -0.0
        cll,
        float(np.average(((proba - np.eye(proba.shape[1])[truth]) ** 2).sum(axis=1), weights=weights)),
        calibration_error(proba[rows, predicted], right, sample_weight=weights),
        float(np.mean([outcome.parameters for outcome in outcomes])),
        float(np.mean([outcome.rows_to_read for outcome in outcomes])),
        float(np.mean([outcome.fit_seconds for outcome in outcomes])),
        float(np.mean([outcome.predict_seconds for outcome in outcomes])),
    ]


def calibration_error(
    confidence: npt.ArrayLike, right: npt.ArrayLike, bins: int = BINS, *, sample_weight: npt.ArrayLike | None = None
) -> float:
    """Return the expected calibration error of predicted classes.

    ``Σ_b (n_b / n) · |share right in b - mean confidence in b|``: bin b = 1, ..., B contains the n_b of the n rows
    whose confidence, the probability of the predicted class, lies in ((b - 1) / B, b / B]. Empty bins contribute
    nothing.

    Parameters
    ----------
    confidence : (rows,) array
        Probabilities of the predicted classes.
    right : (rows,) array of bool
        Whether these are the true classes.
    bins : int, default 10
        B.
    sample_weight : (rows,) array, optional
        Weights of the rows, above 0; n and n_b are then sums of weights, share and mean are weighted.

    Returns
    -------
    float
        From 0 to 1. In small samples it is above 0 even if the probabilities are the true ones, because shares vary
        by chance.

    References
    ----------
    Naeini, Cooper and Hauskrecht, *Obtaining Well Calibrated Probabilities Using Bayesian Binning*, AAAI 2015; of the
    predicted class among several: Guo, Pleiss, Sun and Weinberger, *On Calibration of Modern Neural Networks*,
    ICML 2017, section 2.

    Examples
    --------
    >>> from anbexact.compare import calibration_error
    >>> round(calibration_error([0.9, 0.9, 0.6, 0.6], [True, True, True, False]), 3)
    0.1
    """
    confidence = np.asarray(confidence, dtype=np.float64)
    weights = np.ones(len(confidence)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    surplus = weights * (np.asarray(right, dtype=np.float64) - confidence)
    place = np.searchsorted(np.arange(1, bins) / bins, confidence, side="left")
    return float(np.abs(np.bincount(place, surplus, minlength=bins)).sum() / weights.sum())
