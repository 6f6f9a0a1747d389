"""Curves of predictions against the truth: from their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anbexact.compare.curves import NORMAL_95, confusion, gains, precision_recall, reliability, roc, wilson_interval

shares = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5000001, 0.9, 1.0])
rows = st.lists(st.tuples(st.booleans(), shares, st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=25)


@given(share=st.floats(0, 1), n=st.floats(0.5, 500))
def test_the_ends_of_an_interval_are_rejected_by_a_hair(share, n):
    low, high = (float(end[0]) for end in wilson_interval(np.array([share]), np.array([n])))
    assert -1e-12 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1 + 1e-12
    for end in (low, high):
        assert abs(share - end) == pytest.approx(NORMAL_95 * math.sqrt(max(end * (1 - end), 0) / n), abs=1e-7)


@given(table=rows, bins=st.integers(1, 6))
def test_reliability(table, bins):
    event, p, w = (np.array(column) for column in zip(*table, strict=True))
    curve = reliability(event, p, bins, w)
    assert len(curve) <= bins
    assert curve["weight"].sum() == pytest.approx(w.sum())
    assert (np.diff(curve["predicted"]) > 0).all()
    assert curve["weight"] @ curve["predicted"] == pytest.approx(w @ p)
    assert curve["weight"] @ curve["observed"] == pytest.approx(w @ event)
    assert ((curve["low"] <= curve["observed"] + 1e-9) & (curve["observed"] <= curve["high"] + 1e-9)).all()
    alone = reliability(event, p, 10_000, w)  # a bin of its own for every distinct probability
    for value, of_value in zip(sorted(set(p.tolist())), alone.itertuples(), strict=True):
        mine = p == value
        assert of_value.weight == pytest.approx(w[mine].sum())
        assert of_value.observed == pytest.approx(np.average(event[mine], weights=w[mine]))


@given(table=rows)
def test_gains_and_lift(table):
    event, p, w = (np.array(column) for column in zip(*table, strict=True))
    curve = gains(event, p, w)
    thresholds = sorted(set(p.tolist()), reverse=True)
    assert len(curve) == len(thresholds) + 1
    for threshold, point in zip(thresholds, curve[1:].itertuples(), strict=True):
        selected = p >= threshold
        assert point.selected == pytest.approx(w[selected].sum() / w.sum())
        if not event.any():
            assert math.isnan(point.captured)
            continue
        assert point.captured == pytest.approx(w[selected & event].sum() / w[event].sum())
        frequency, overall = np.average(event[selected], weights=w[selected]), np.average(event, weights=w)
        assert point.lift == pytest.approx(frequency / overall)


@given(table=rows)
def test_areas(table):
    event, p, w = (np.array(column) for column in zip(*table, strict=True))
    _, area = roc(event, p, w)
    if event.all() or not event.any():
        assert math.isnan(area)
    else:
        pairs = [
            (a, b, v * u)
            for a, v in zip(p[event], w[event], strict=True)
            for b, u in zip(p[~event], w[~event], strict=True)
        ]
        expected = sum(x * ((a > b) + (a == b) / 2) for a, b, x in pairs) / sum(x for *_, x in pairs)
        assert area == pytest.approx(expected)
    _, average = precision_recall(event, p, w)
    if not event.any():
        assert math.isnan(average)
        return
    expected, before = 0.0, 0.0
    for threshold in sorted(set(p.tolist()), reverse=True):
        selected = p >= threshold
        recall = w[selected & event].sum() / w[event].sum()
        expected += (recall - before) * w[selected & event].sum() / w[selected].sum()
        before = recall
    assert average == pytest.approx(expected)


def test_confusion_adds_weights():
    matrix = confusion(np.array([0, 0, 2, 2]), np.array([0, 1, 2, 2]), ["a", "b", "c"], [1.0, 2.0, 3.0, 4.0])
    assert matrix.to_numpy().tolist() == [[1, 2, 0], [0, 0, 0], [0, 0, 7]]
    assert matrix.loc["a", "b"] == 2


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        reliability([True, False], [0.5, np.nan])
    with pytest.raises(ValueError, match="one value for every row"):
        gains([True, False], [0.5])
