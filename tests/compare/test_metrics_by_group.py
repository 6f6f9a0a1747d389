"""Measures by group: against counts by loops, with weights, missing groups and groups without a case."""

import numpy as np
import pandas as pd
import pytest
from tiers import repeats

from anbexact.compare import group_metrics

Z = 1.959963984540054


def naive(y, p, group, label, weights, name):
    """Return the measures of a group, row by row, from their definitions."""
    rows = [t for t in range(len(y)) if name is None or group[t] == name]
    sums = dict.fromkeys(["all", "event", "taken", "both", "right", "none", "false"], 0.0)
    for t in rows:
        event, taken, w = y[t] == label, p[t] > 0.5, weights[t]
        sums["all"] += w
        sums["event"] += w * event
        sums["taken"] += w * taken
        sums["both"] += w * (event and taken)
        sums["right"] += w * (event == taken)
        sums["none"] += w * (not event)
        sums["false"] += w * (taken and not event)
    mean = sum(weights[t] * (p[t] - (y[t] == label)) for t in rows) / sums["all"]
    square = sum((weights[t] * (p[t] - (y[t] == label) - mean)) ** 2 for t in rows)
    return {
        "rows": len(rows),
        "weight": sums["all"],
        "share": sums["event"] / sums["all"],
        "selected": sums["taken"] / sums["all"],
        "true_positive_rate": sums["both"] / sums["event"],
        "false_positive_rate": sums["false"] / sums["none"],
        "precision": sums["both"] / sums["taken"],
        "accuracy": sums["right"] / sums["all"],
        "calibration": mean,
        "calibration_high": mean + Z * np.sqrt(square) / sums["all"],
    }


def test_measures_are_those_of_the_definitions():
    for seed in repeats(4):
        rng = np.random.default_rng(seed)
        n = 120
        y, group = rng.choice(["a", "b", "c"], n), rng.choice(["f", "m"], n)
        p, weights = rng.random(n), rng.random(n) + 0.1
        frame = group_metrics(y, p, group, label="b", sample_weight=weights)
        assert list(frame.index) == ["f", "m", "(all rows)"]
        for name in frame.index:
            expected = naive(y, p, group, "b", weights, None if name == "(all rows)" else name)
            for key, value in expected.items():
                assert frame.loc[name, key] == pytest.approx(value), (name, key)


def test_intervals_are_wilsons():
    """The ends are the shares at which the score test has z = 1.96."""
    y, p = np.array(["x"] * 7 + ["y"] * 13), np.r_[np.full(7, 0.8), np.full(5, 0.9), np.full(8, 0.1)]
    row = group_metrics(y, p, np.zeros(20), label="x").iloc[0]
    for key, share, n in (("share", 7 / 20, 20), ("precision", 7 / 12, 12), ("false_positive_rate", 5 / 13, 13)):
        assert row[key] == pytest.approx(share)
        for end in (row[f"{key}_low"], row[f"{key}_high"]):
            assert abs(share - end) / np.sqrt(end * (1 - end) / n) == pytest.approx(Z)


def test_missing_groups_and_groups_without_a_case():
    frame = group_metrics(["x", "y", "y"], [0.2, 0.3, 0.9], ["u", None, "w"], label="x")
    assert list(frame.index) == ["u", "w", "(missing)", "(all rows)"]
    assert frame["true_positive_rate"].isna().tolist() == [False, True, True, False]
    assert frame["precision"].isna().tolist() == [True, False, True, False]
    decided = group_metrics(["x", "y"], [0.2, 0.3], [1, 1], label="x", selected=[True, False])
    assert decided["accuracy"].tolist() == [1.0, 1.0]


WRONG = [
    ({"probability": [0.1]}, "y has 2 rows, but probability has 1"),
    ({"group": ["a"]}, "y has 2 rows, but group has 1"),
    ({"probability": [0.1, np.nan]}, "probability must be numbers from 0 to 1"),
]


@pytest.mark.parametrize(("change", "text"), WRONG)
def test_refusals(change, text):
    with pytest.raises(ValueError, match=text):
        group_metrics(**{"y": ["x", "y"], "probability": [0.1, 0.2], "group": ["a", "b"], "label": "x"} | change)


def test_a_measurement_is_no_group():
    with pytest.raises(ValueError, match="in 31 groups, more than 30"):
        group_metrics(["x"] * 31, np.full(31, 0.5), pd.Series(range(31)), label="x")
