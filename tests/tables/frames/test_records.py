"""Records of training values: what is drawn within intervals is distributed as the training values there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from anbexact.tables.cuts import cut_codes
from anbexact.tables.frames.records import MOST_VALUES, ColumnRecord, record_of_numbers

GRID = (np.arange(4000) + 0.5) / 4000
"""Uniform numbers that leave no room for chance."""


def within(record, cuts, interval):
    """Draws within one interval, for the uniform numbers of the grid."""
    return record.numbers_within(np.asarray(cuts, dtype=float), np.full(len(GRID), interval), GRID)


@examples(200)
@given(st.data())
def test_known_values_have_their_weights(data):
    """Of few values, every one of an interval is drawn as often as its weight says, and no other."""
    numbers = data.draw(st.lists(st.integers(-20, 20), min_size=1, max_size=60))
    weights = data.draw(st.lists(st.floats(0.1, 9), min_size=len(numbers), max_size=len(numbers)))
    cuts = sorted(data.draw(st.sets(st.sampled_from([-15.5, -7.0, 0.0, 0.25, 3.0, 12.5]))))
    record = record_of_numbers(np.array(numbers), np.array(weights), "int64")
    for k in range(len(cuts) + 1):
        inner = [
            (v, w) for v, w in zip(numbers, weights, strict=True) if cut_codes(np.array([v]), np.array(cuts)) == k
        ]
        if not inner:
            continue
        drawn = within(record, cuts, k)
        total = sum(w for _, w in inner)
        for value in {v for v, _ in inner}:
            share = sum(w for v, w in inner if v == value) / total
            assert np.mean(drawn == value) == pytest.approx(share, abs=2 / len(GRID))
        assert set(drawn.tolist()) <= {float(v) for v, _ in inner}


@pytest.mark.parametrize("weighted", [False, True])
def test_many_values_have_their_distribution(weighted):
    """Of many values, the distribution function within every interval differs by less than one step of quantiles."""
    rng = np.random.default_rng(1)
    numbers = np.concatenate([rng.lognormal(2, 1, 5000), np.full(1500, 4.0)])
    weights = np.where(numbers > 6, 3.0, 0.5) if weighted else np.ones(len(numbers))
    cuts = np.array([2.0, 3.9, 4.0, 7.5, 30.0])
    record = record_of_numbers(numbers, weights, "float64")
    assert len(record.values) == MOST_VALUES + 1
    assert record.weights == ()
    assert record.places is None
    interval = cut_codes(numbers, cuts)
    for k in range(len(cuts) + 1):
        inner, own = numbers[interval == k], weights[interval == k]
        drawn = within(record, cuts, k)
        at = np.sort(inner)
        expected = np.array([own[inner <= x].sum() for x in at]) / own.sum()
        found = np.searchsorted(np.sort(drawn), at, side="right") / len(drawn)
        step = weights.sum() / own.sum() / MOST_VALUES
        assert np.abs(found - expected).max() < 2 * step + 1 / len(GRID)
        assert (cut_codes(drawn, cuts) == k).all()


def test_quantiles_are_those_of_the_weights():
    numbers = np.arange(1000.0)
    record = record_of_numbers(numbers, np.ones(1000), "float64")
    steps = np.arange(MOST_VALUES + 1) / MOST_VALUES
    assert record.values == tuple(np.quantile(numbers, steps, method="inverted_cdf").tolist())
    heavy = record_of_numbers(numbers, np.where(numbers == 700, 1e6, 1.0), "float64")
    assert heavy.values[1:-1] == (700.0,) * (MOST_VALUES - 1)
    assert (heavy.values[0], heavy.values[-1]) == (0.0, 999.0)


@pytest.mark.parametrize(("places", "cuts"), [(0, [100.5, 3000]), (1, [100.1, 100.2, 3000.05]), (2, [99.99, 100.0])])
def test_draws_have_the_places_of_the_values(places, cuts):
    """Rounding leads out of no interval, not even a narrow one."""
    rng = np.random.default_rng(places)
    numbers = np.round(rng.exponential(1500, 3000), places)
    record = record_of_numbers(numbers, np.ones(len(numbers)), "float64")
    assert record.places == places
    for k in range(len(cuts) + 1):
        drawn = within(record, cuts, k)
        np.testing.assert_array_equal(np.round(drawn, places), drawn)
        assert (cut_codes(drawn, np.array(cuts)) == k).all()


@pytest.mark.parametrize("size", [50, 5000], ids=["values", "quantiles"])
def test_an_interval_without_training_values(size):
    """Its numbers are equally probable; of an interval with one end, the end is drawn."""
    numbers = np.linspace(10, 20, size) ** 1.001
    record = record_of_numbers(numbers, np.ones(size), "float64")
    cuts = np.array([0.0, 4.0, 15.0, 40.0])
    assert (within(record, cuts, 0) == 0.0).all()
    assert np.mean(within(record, cuts, 1) <= 1.0) == pytest.approx(0.25, abs=0.01)
    drawn = within(record, cuts, 4)
    assert (drawn > 40).all()
    assert (drawn < 41).all()
    assert (cut_codes(drawn, cuts) == 4).all()


@pytest.mark.parametrize("scale", [1e300, 1e308, 5e-324, 1e-310])
def test_extreme_numbers(scale):
    """Neither the records nor the draws overflow, and draws stay in their intervals."""
    numbers = np.append(np.linspace(-1.7, 1.7, 900) * scale, [0.5, 0.25])
    cuts = np.array([-scale, 0.0, scale])
    for some in (numbers, numbers[::40]):
        record = record_of_numbers(some, np.ones(len(some)), "float64")
        for k in range(4):
            drawn = within(record, cuts, k)
            assert (cut_codes(drawn, cuts) == k).all()


def test_draws_depend_on_their_own_interval_only():
    record = record_of_numbers(np.arange(3000.0), np.ones(3000), "int64")
    cuts = np.array([10.5, 2000.5])
    intervals = np.arange(len(GRID)) % 3
    together = record.numbers_within(cuts, intervals, GRID)
    for k in range(3):
        np.testing.assert_array_equal(together[intervals == k], within(record, cuts, k)[intervals == k])


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"values": (1.0, 2.0), "weights": (1.0,)}, "every value must have a weight"),
        ({"values": (1.0, 2.0), "weights": (1.0, float("inf"))}, "must be finite"),
        ({"values": (1.0, 2.0), "weights": (1.5, -0.5)}, "every value must have a weight"),
        ({"values": (2.0, 1.0)}, "ascend"),
        ({"values": (1.0,)}, "two or more"),
        ({"values": (1.0, float("nan"))}, "finite"),
        ({"dtype": "int8"}, "type 'int8'"),
        ({"places": -1}, "-1 decimal places"),
    ],
    ids=str,
)
def test_refused(fields, what):
    with pytest.raises(ValueError, match=what):
        ColumnRecord(**fields)
