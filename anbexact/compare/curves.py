"""Curves of predictions against the truth: calibration, ROC, precision and recall, gains and lift, confusion."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.arrays import Bools, Floats, Integers

NORMAL_95 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution: half the width of bands, in standard errors."""


def wilson_interval(share: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return 95 % intervals of proportions.

    ``(p + z²/2n ± z √(p (1 - p)/n + z²/4n²)) / (1 + z²/n)`` with z = 1.96, observed share p and n rows.

    Parameters
    ----------
    share : (k,) array
        Observed shares.
    weight : (k,) array
        Number of rows behind each share, above 0; with weights, the effective number (Σ w)² / Σ w².

    References
    ----------
    Wilson, Journal of the American Statistical Association 22 (1927).
    """
    z2 = NORMAL_95**2
    middle = share + z2 / (2 * weight)
    half = NORMAL_95 * np.sqrt(share * (1 - share) / weight + z2 / (4 * weight**2))
    return (middle - half) / (1 + z2 / weight), (middle + half) / (1 + z2 / weight)


def reliability(
    truth: npt.ArrayLike, probability: npt.ArrayLike, bins: int = 10, sample_weight: npt.ArrayLike | None = None
) -> pd.DataFrame:
    """Return how often an event occurs among rows with about the same predicted probability.

    Rows are sorted by probability and divided into bins of about equal weight; equal probabilities are never
    separated.

    Parameters
    ----------
    truth : (rows,) array of bool
        Whether the event occurs.
    probability : (rows,) array
        Its predicted probability.
    bins : int, default 10
        Maximum number of bins.
    sample_weight : (rows,) array, optional
        Weights of the rows.

    Returns
    -------
    DataFrame
        A row for every bin: ``predicted`` (mean probability), ``observed`` (share of rows with the event), ``low``
        and ``high`` (its 95 % interval by :func:`wilson_interval`), ``weight``.
    """
    event, p, weights = _checked(truth, probability, sample_weight)
    order = np.argsort(p, kind="stable")
    event, p, weights = event[order], p[order], weights[order]
    middle = np.cumsum(weights) - weights / 2
    place = np.minimum((bins * middle / weights.sum()).astype(np.intp), bins - 1)
    first = np.searchsorted(p, p, side="left")  # equal probabilities are in the bin of the first of them
    place = place[first]
    _used, place = np.unique(place, return_inverse=True)
    totals = np.bincount(place, weights)
    effective = totals**2 / np.bincount(place, weights**2)
    observed = np.bincount(place, weights * event) / totals
    low, high = wilson_interval(observed, effective)
    predicted = np.bincount(place, weights * p) / totals
    return pd.DataFrame({"predicted": predicted, "observed": observed, "low": low, "high": high, "weight": totals})


def gains(
    truth: npt.ArrayLike, probability: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
) -> pd.DataFrame:
    """Return the share of all events that is among the rows with the highest predicted probabilities.

    Parameters
    ----------
    truth, probability, sample_weight
        As for :func:`reliability`.

    Returns
    -------
    DataFrame
        A row for every distinct probability, the highest first, and one for an empty selection: ``selected`` (share
        of the rows whose probability is as high or higher), ``captured`` (share of all events among them), ``lift``
        (the quotient of the two: how much more frequent the event is among them than among all rows).
    """
    event, p, weights = _checked(truth, probability, sample_weight)
    order = np.argsort(-p, kind="stable")
    event, p, weights = event[order], p[order], weights[order]
    ends = np.append(np.flatnonzero(np.diff(p)), len(p) - 1)
    selected = np.cumsum(weights)[ends] / weights.sum()
    total = float(weights @ event)
    captured = np.cumsum(weights * event)[ends] / total if total else np.full(len(ends), np.nan)
    lift = captured / selected
    return pd.DataFrame(
        {
            "selected": np.append(0.0, selected),
            "captured": np.append(0.0 if total else np.nan, captured),
            "lift": np.append(lift[:1], lift),
        }
    )


def roc(
    truth: npt.ArrayLike, probability: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
) -> tuple[pd.DataFrame, float]:
    """Return the receiver operating characteristic and the area under it.

    Parameters
    ----------
    truth, probability, sample_weight
        As for :func:`reliability`.

    Returns
    -------
    curve : DataFrame
        ``false_positive_rate`` and ``true_positive_rate`` by falling ``threshold``.
    area : float
        P(a row with the event has a higher probability than one without), with ties counted as a half; NaN if there
        are no rows with the event, or none without it.
    """
    from sklearn.metrics import auc, roc_curve

    event, p, weights = _checked(truth, probability, sample_weight)
    if event.all() or not event.any():
        return pd.DataFrame(columns=["false_positive_rate", "true_positive_rate", "threshold"], dtype=float), np.nan
    false, true, threshold = roc_curve(event, p, sample_weight=weights)
    curve = {"false_positive_rate": false, "true_positive_rate": true, "threshold": threshold}
    return pd.DataFrame(curve), float(auc(false, true))


def precision_recall(
    truth: npt.ArrayLike, probability: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
) -> tuple[pd.DataFrame, float]:
    """Return precision by recall, and the average precision ``Σ (R_n - R_{n-1}) P_n``.

    Parameters
    ----------
    truth, probability, sample_weight
        As for :func:`reliability`.

    Returns
    -------
    curve : DataFrame
        ``recall`` and ``precision``.
    average : float
        NaN without a row that has the event.
    """
    from sklearn.metrics import average_precision_score, precision_recall_curve

    event, p, weights = _checked(truth, probability, sample_weight)
    if not event.any():
        return pd.DataFrame(columns=["recall", "precision"], dtype=float), np.nan
    precision, recall, _ = precision_recall_curve(event, p, sample_weight=weights)
    average = float(average_precision_score(event, p, sample_weight=weights))
    return pd.DataFrame({"recall": recall[::-1], "precision": precision[::-1]}), average


def confusion(
    truth: Integers, predicted: Integers, classes: list[Any], sample_weight: npt.ArrayLike | None = None
) -> pd.DataFrame:
    """Return the weight of rows by true (rows) and predicted class (columns), from codes of the classes."""
    n, weights = len(classes), _weights(sample_weight, len(truth))
    cells = np.bincount(n * np.asarray(truth) + np.asarray(predicted), weights, n * n).reshape(n, n)
    index, columns = pd.Index(classes, name="true", dtype=object), pd.Index(classes, name="predicted", dtype=object)
    return pd.DataFrame(cells, index=index, columns=columns)


def _checked(truth: npt.ArrayLike, probability: npt.ArrayLike, weight: Any) -> tuple[Bools, Floats, Floats]:
    event, p = np.asarray(truth, dtype=np.bool_), np.asarray(probability, dtype=np.float64)
    if event.shape != p.shape or event.ndim != 1 or not len(event):
        raise ValueError(
            f"truth and probability must have one value for every row, not the shapes {event.shape} and {p.shape}"
        )
    if np.isnan(p).any():
        raise ValueError("probability contains NaN: leave out the rows that are impossible under the model")
    return event, p, _weights(weight, len(event))


def _weights(weight: Any, n_rows: int) -> Floats:
    return np.ones(n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
