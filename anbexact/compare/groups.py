"""Predictions by group: selection, error rates and calibration, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.arrays import Bools, Floats
from anbexact.compare.curves import NORMAL_95, wilson_interval
from anbexact.tables.labels import declared_order
from anbexact.tables.table import check_weights

RATES = ("share", "selected", "true_positive_rate", "false_positive_rate", "precision", "accuracy")
"""The measures that are shares of rows."""
MOST_GROUPS = 30
"""Most groups: with more, a column is no division into groups, but an identifier or a measurement."""
NO_GROUP = "(missing)"
"""The name of the group of rows whose group is not known."""


def group_metrics(
    y: Any, probability: npt.ArrayLike, group: Any, *, label: Any, selected: Any = None, sample_weight: Any = None
) -> pd.DataFrame:
    """Return how often a class is predicted, and how often wrongly, in every group of rows.

    Parameters
    ----------
    y : (rows,) array
        True classes.
    probability : (rows,) array
        Predicted probabilities of ``label``; best for rows that the model was not fitted to.
    group : (rows,) array
        The group of every row, such as its sex; the group need not be a feature. Missing ones form a group. Groups
        are sorted, those of an ordered categorical column in its order.
    label : class label
        The class whose prediction is the selection.
    selected : (rows,) array of bool, optional
        Whether ``label`` is predicted, or decided; by default, whether its probability is above 1/2.
    sample_weight : (rows,) array, optional

    Returns
    -------
    DataFrame
        A row for every group, and one for all rows. ``rows`` and ``weight``; with ``_low`` and ``_high``, the ends of
        95 % intervals:

        - ``share``: P(label), the observed share of the class;
        - ``selected``: P(selected);
        - ``true_positive_rate``: P(selected | label); ``false_positive_rate``: P(selected | another class);
        - ``precision``: P(label | selected);
        - ``accuracy``: P(selected if and only if label);
        - ``predicted``: the mean probability, without an interval;
        - ``calibration``: ``predicted`` minus ``share``, which is 0 if probabilities are right on average.

        A measure is NaN where no row counts for it. Intervals of shares are Wilson's, with the effective number of
        rows (Σ w)² / Σ w²; that of the calibration is normal, over rows. Groups can be equal in some of these
        measures only at the price of others, unless their shares are equal (Kleinberg, Mullainathan and Raghavan
        2017).

    Raises
    ------
    ValueError
        If lengths differ, a probability is not one, or there are more than 30 groups.

    References
    ----------
    Kleinberg, Mullainathan and Raghavan, *Inherent trade-offs in the fair determination of risk scores*, ITCS (2017);
    Wilson, Journal of the American Statistical Association 22 (1927).

    Examples
    --------
    >>> from anbexact.compare import group_metrics
    >>> frame = group_metrics(["ill", "well", "ill", "well"], [0.9, 0.2, 0.4, 0.7], ["f", "f", "m", "m"], label="ill")
    >>> frame[["rows", "share", "selected", "accuracy"]]
               rows  share  selected  accuracy
    group
    f             2    0.5       0.5       1.0
    m             2    0.5       0.5       0.0
    (all rows)    4    0.5       0.5       0.5
    """
    p = np.asarray(probability, dtype=np.float64)
    event = np.asarray(pd.Series(y, dtype=object) == label, dtype=np.bool_)
    ordered = declared_order(group) or []
    groups = pd.Series(np.asarray(group, dtype=object))
    taken = p > 0.5 if selected is None else np.asarray(selected, dtype=np.bool_)
    for name, values in (("probability", p), ("group", groups), ("selected", taken)):
        if len(values) != len(event):
            raise ValueError(f"y has {len(event)} rows, but {name} has {len(values)}")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("probability must be numbers from 0 to 1; leave out rows without a prediction")
    weights = check_weights(sample_weight, len(event))
    codes, names = pd.factorize(groups)
    if len(names) > MOST_GROUPS:
        raise ValueError(
            f"the rows are in {len(names):,} groups, more than {MOST_GROUPS}: choose a column of few values, or cut "
            "this one into intervals first"
        )
    place = {name: k for k, name in enumerate(ordered)}
    order = sorted(range(len(names)), key=lambda k: (place.get(names[k], 0), str(type(names[k])), names[k]))
    parts = [(names[k], codes == k) for k in order]
    if (codes < 0).any():
        parts.append((NO_GROUP, codes < 0))
    parts.append(("(all rows)", np.ones(len(event), dtype=np.bool_)))
    rows = [_measures(event[own], p[own], taken[own], weights[own]) for _, own in parts]
    return pd.DataFrame(rows, index=pd.Index([name for name, _ in parts], name="group", dtype=object))


def _measures(event: Bools, p: Floats, taken: Bools, weights: Floats) -> dict[str, float]:
    """Return the measures of the rows of one group."""
    everyone = np.ones(len(event), dtype=np.bool_)
    found: dict[str, float] = {"rows": len(event), "weight": float(weights.sum())}
    counted = {
        "share": (event, everyone),
        "selected": (taken, everyone),
        "true_positive_rate": (taken, event),
        "false_positive_rate": (taken, ~event),
        "precision": (event, taken),
        "accuracy": (event == taken, everyone),
    }
    for name, (numerator, among) in counted.items():
        found |= _share(name, numerator[among], weights[among])
    total = weights.sum()
    found["predicted"] = float(weights @ p / total) if total else np.nan
    apart = p - event
    mean = float(weights @ apart / total) if total else np.nan
    half = NORMAL_95 * float(np.sqrt(weights**2 @ (apart - mean) ** 2) / total) if total else np.nan
    return found | {"calibration": mean, "calibration_low": mean - half, "calibration_high": mean + half}


def _share(name: str, event: Bools, weights: Floats) -> dict[str, float]:
    """Return a share with its interval; NaN without rows."""
    total = float(weights.sum())
    if not total:
        return {name: np.nan, f"{name}_low": np.nan, f"{name}_high": np.nan}
    share = np.array([weights @ event / total])
    low, high = wilson_interval(share, np.array([total**2 / float(weights @ weights)]))
    return {name: float(share[0]), f"{name}_low": float(low[0]), f"{name}_high": float(high[0])}
