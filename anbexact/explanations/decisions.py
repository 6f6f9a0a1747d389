"""From probabilities to decisions: other shares of the classes, costs, thresholds, rejection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from anbexact._runtime.arrays import Floats
from anbexact.tables.frames.native_values import native
from anbexact.tables.labels import order_of

REJECTED = "(reject)"
"""The decision that leaves a row to somebody else."""
SUM_TOLERANCE = 1e-6
"""Maximum deviation of the sum of shares from 1."""


def check_class_prior(class_prior: Any, classes: Sequence[Any]) -> Floats:
    """Return the shares of the classes, in their order, from a mapping or an array.

    Raises
    ------
    ValueError
        If they are not one number for each class, 0 or more, with the sum 1.
    """
    if isinstance(class_prior, Mapping | pd.Series):
        given = {native(label): share for label, share in class_prior.items()}
        if set(given) != set(classes):
            raise ValueError(
                f"class_prior has shares of {list(given)}, but the classes are {list(classes)}: give every class its "
                "share"
            )
        class_prior = [given[label] for label in classes]
    shares = np.asarray(class_prior, dtype=np.float64)
    if shares.shape != (len(classes),) or not (shares >= 0).all() or abs(shares.sum() - 1) > SUM_TOLERANCE:
        raise ValueError(
            f"class_prior must have {len(classes)} shares, 0 or more, whose sum is 1, not {class_prior!r}"
        )
    found: Floats = shares / shares.sum()
    return found


def with_class_prior(log_posterior: Floats, before: Floats, after: Floats) -> Floats:
    """Return ln P'(c | x), shape (rows, classes), in a population whose classes have other shares.

    ``P'(c | x) ∝ P(c | x) π'(c) / π(c)``, which is exact if the rows of a class are distributed as before.

    Parameters
    ----------
    log_posterior : (rows, classes) float64
        ln P(c | x).
    before, after : (classes,) float64
        The shares π and π'.

    References
    ----------
    Saerens, Latinne and Decaestecker, Neural Computation 14 (2002), equation 2.4.
    """
    with np.errstate(divide="ignore"):
        logs = log_posterior + (np.log(after) - np.log(before))
    found: Floats = logs - logsumexp(logs, axis=1, keepdims=True)
    return found


@dataclass(frozen=True, eq=False)
class Costs:
    """The costs of decisions.

    Attributes
    ----------
    decisions : list
        The decisions, in the order of the columns.
    matrix : (classes, decisions) float64
        The cost of every decision, given the true class.
    sign : int
        1; or -1, if utilities were given.
    """

    decisions: list[Any]
    matrix: Floats
    sign: int = 1

    def with_rejection(self, reject: float | None) -> Costs:
        """Return the costs with rejection as a further decision, at this cost (or utility); None adds nothing."""
        if reject is None:
            return self
        column = np.full(len(self.matrix), self.sign * float(reject))
        return Costs([*self.decisions, REJECTED], np.column_stack([self.matrix, column]), self.sign)


def class_numbers(classes: Sequence[Any], ordered_classes: Sequence[Any]) -> Floats:
    """Return the classes themselves if they are numbers, or else their ranks in the order, from 0.

    Raises
    ------
    ValueError
        If the order does not list every class once.
    """
    order = order_of(classes, ordered_classes)
    if all(type(label) in (int, float) for label in classes):
        return np.array(classes, dtype=np.float64)
    return np.argsort(order).astype(np.float64)


def distance_costs(kind: str, classes: Sequence[Any], ordered_classes: Sequence[Any] | None) -> Floats:
    """Return the costs of decisions that are off by some number of classes in an order, (classes, decisions).

    Raises
    ------
    ValueError
        For an unknown kind, or without an order that lists every class once.
    """
    if kind not in ("absolute", "squared"):
        raise ValueError(f"costs must be 'absolute', 'squared', a frame, a mapping or an array, not {kind!r}")
    if ordered_classes is None:
        raise ValueError(
            f"costs={kind!r} needs ordered_classes, the classes from the lowest to the highest: {list(classes)}"
        )
    ranks = np.argsort(order_of(classes, ordered_classes)).astype(np.float64)
    distances = np.abs(ranks[:, None] - ranks)
    return distances if kind == "absolute" else distances**2


def read_costs(given: Any, name: str, classes: Sequence[Any]) -> Costs:
    """Return costs or utilities, as ``name`` says.

    Parameters
    ----------
    given : DataFrame, mapping, array or None
        A frame with the true classes as index and the decisions as columns; a mapping of the true class to the costs
        of decisions (the cost of deciding for the true class is 0 if it is left out), or to the cost of any wrong
        decision; an array with true classes in rows and decisions in columns, both in the order of ``classes``; None
        if every wrong decision costs 1.

    Raises
    ------
    ValueError
        If a class, a decision or a number is missing, or an array has another shape.
    """
    classes = list(classes)
    sign = -1 if name == "utilities" else 1
    if given is None:
        return Costs(classes, 1.0 - np.eye(len(classes)))
    if isinstance(given, Mapping):
        given = _frame_of_mapping(given, name, classes)
    if isinstance(given, pd.DataFrame):
        index = [native(label) for label in given.index]
        if len(index) != len(classes) or set(index) != set(classes):
            raise ValueError(f"the index of {name} is {index}, but must be the classes {classes}")
        matrix = given.to_numpy(dtype=np.float64)[[index.index(label) for label in classes]]
        decisions = [native(label) for label in given.columns]
    else:
        matrix, decisions = np.asarray(given, dtype=np.float64), classes
        if matrix.shape != (len(classes),) * 2:
            raise ValueError(
                f"{name} must have {len(classes)} rows, the true classes, and as many columns, the decisions, not "
                f"the shape {matrix.shape}: use a DataFrame for other decisions"
            )
    if not decisions or not np.isfinite(matrix).all():
        raise ValueError(f"{name} must hold a finite number for every class and every decision")
    return Costs(decisions, sign * matrix, sign)


def costs_given(classes: list[Any], costs: Any, utilities: Any, reject: float | None) -> Costs | None:
    """Return the costs of decisions; None if neither costs nor utilities were given.

    Raises
    ------
    ValueError
        If costs and utilities were both given, or if they do not fit the classes.
    """
    if costs is not None and utilities is not None:
        raise ValueError("costs and utilities were both given: a decision follows from one of them")
    if utilities is not None:
        return read_costs(utilities, "utilities", classes).with_rejection(reject)
    if costs is None and reject is None:
        return None
    return read_costs(costs, "costs", classes).with_rejection(reject)


def _frame_of_mapping(given: Mapping[Any, Any], name: str, classes: list[Any]) -> pd.DataFrame:
    """Return a mapping of true classes as a frame: true classes in rows, decisions in columns, classes first."""
    rows = {native(label): row for label, row in given.items()}
    if set(rows) != set(classes):
        raise ValueError(
            f"{name} has entries for {list(rows)}, but the classes are {classes}: give every class its own"
        )
    full = {}
    for label in classes:
        row = rows[label]
        if not isinstance(row, Mapping):
            full[label] = {other: 0.0 if other == label else float(row) for other in classes}
            continue
        full[label] = {label: 0.0, **{native(decision): float(cost) for decision, cost in row.items()}}
    frame = pd.DataFrame(full).T
    known = [label for label in classes if label in frame.columns]
    return frame[[*known, *(decision for decision in frame.columns if decision not in classes)]]


def read_thresholds(thresholds: Mapping[Any, float], classes: Sequence[Any]) -> Floats:
    """Return a threshold for every class; with two classes, a missing one is 1 minus the other.

    Raises
    ------
    ValueError
        If a class has none, is unknown, or has one that is not between 0 and 1.
    """
    given = {native(label): float(value) for label, value in thresholds.items()}
    if unknown := [label for label in given if label not in classes]:
        raise ValueError(f"thresholds name {unknown[0]!r}, which is not a class; the classes are {list(classes)}")
    if len(classes) == 2 and len(given) == 1:
        ((label, value),) = given.items()
        given[next(other for other in classes if other != label)] = 1 - value
    if missing := [label for label in classes if label not in given]:
        raise ValueError(f"thresholds must name every class; {missing[0]!r} is missing")
    values = np.array([given[label] for label in classes])
    if not ((values > 0) & (values < 1)).all():
        raise ValueError(f"thresholds must be between 0 and 1, not {dict(thresholds)!r}")
    return values


def decided_by_costs(proba: Floats, classes: Sequence[Any], costs: Costs, reject: float | None) -> pd.DataFrame:
    """Return the decision of least expected cost of every row.

    This is ``argmin_d Σ_c P(c | x) cost(c, d)``, or the first of equally good decisions. The row is rejected if
    ``reject``, a cost (or a utility where utilities were given), is better than all expected costs.
    """
    expected, decisions = proba @ costs.matrix, costs.decisions
    if reject is not None:  # not a column of the matrix: rounded probabilities may not add up to exactly 1
        expected = np.column_stack([expected, np.full(len(expected), costs.sign * float(reject))])
        decisions = [*decisions, REJECTED]
    order = np.argsort(expected, axis=1, kind="stable")
    place = np.arange(len(expected))
    best = order[:, 0]
    second = order[:, min(1, len(decisions) - 1)]
    own = {label: c for c, label in enumerate(classes)}
    columns = np.array([own.get(decision, -1) for decision in decisions])[best]
    lead = expected[place, second] - expected[place, best] if len(decisions) > 1 else np.full(len(best), np.nan)
    return pd.DataFrame(
        {
            "decision": pd.Series([decisions[d] for d in best.tolist()], dtype=object).infer_objects(),
            "probability": np.where(columns >= 0, proba[place, columns], np.nan),
            "expected_cost" if costs.sign > 0 else "expected_utility": costs.sign * expected[place, best],
            "advantage": lead,
        }
    )


def decided_by_thresholds(proba: Floats, classes: Sequence[Any], thresholds: Floats) -> pd.DataFrame:
    """Return the class with the largest ratio of its probability to its threshold, the first of equal ratios.

    With two classes of thresholds t and 1 - t, a class is decided where its probability is above its threshold.
    """
    ratios = proba / thresholds
    best = ratios.argmax(axis=1)
    return pd.DataFrame(
        {
            "decision": pd.Series([classes[c] for c in best.tolist()], dtype=object).infer_objects(),
            "probability": proba[np.arange(len(best)), best],
        }
    )
