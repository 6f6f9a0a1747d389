"""Groups of categories, alone and in classifiers."""

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anbexact._kernels.groups import log_divisions
from anbexact.columns import read_column
from anbexact.discretize import MODLGrouper
from anbexact.discretize.groups import group_values


def groups_of(values, labels, weights=None):
    """The groups of one column."""
    return MODLGrouper().fit([[value] for value in values], labels, weights).groups_[0]


@st.composite
def labelled_categories(draw, most=6):
    """Values of a column, labels and weights; labels often follow the values."""
    n = draw(st.integers(1, 30))
    values = draw(st.lists(st.sampled_from("abcdefg"[:most]), min_size=n, max_size=n))
    n_classes = draw(st.integers(1, 4))
    noise = draw(st.lists(st.integers(0, 7), min_size=n, max_size=n))
    labels = [ord(v) % n_classes if k > 3 else k % n_classes for v, k in zip(values, noise, strict=True)]
    of_weight = draw(st.sampled_from([st.just(1.0), st.integers(1, 30).map(float), st.floats(0.01, 20)]))
    return values, labels, draw(st.lists(of_weight, min_size=n, max_size=n))


def least_cost(values, labels, weights):
    """The least cost over all divisions of the values."""
    divisions = oracles.set_partitions(sorted(set(values)))
    return min(oracles.groups_cost(values, labels, weights, division) for division in divisions)


class TestCriterion:
    @given(labelled_categories())
    @settings(max_examples=120)
    def test_no_division_costs_less(self, column):
        values, labels, weights = column
        found = groups_of(*column)
        weights = oracles.row_weights(weights)
        cost = oracles.groups_cost(values, labels, weights, found)
        assert cost == pytest.approx(least_cost(values, labels, weights), rel=1e-9, abs=1e-7)
        assert sorted(value for group in found for value in group) == sorted(set(values))

    @pytest.mark.parametrize("seed", range(5))
    def test_seven_values(self, seed):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 2 + seed % 2, 90)
        values = ["abcdefg"[k] for k in np.where(rng.random(90) < 0.6, 2 * labels, rng.integers(0, 7, 90))]
        cost = oracles.groups_cost(values, labels, [1] * 90, groups_of(values, labels))
        assert cost == pytest.approx(least_cost(values, labels, [1] * 90))

    @given(labelled_categories())
    def test_joining_and_moving_comes_close_to_the_optimum(self, column):
        values, labels, weights = column
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("anbexact.discretize.groups.EXACT_VALUES", 0)
            found = groups_of(*column)
        weights = oracles.row_weights(weights)
        best = least_cost(values, labels, weights)
        assert best - 1e-7 <= oracles.groups_cost(values, labels, weights, found) <= best + 2.0

    def test_many_values_are_joined_along_a_line_first(self, monkeypatch):
        rng = np.random.default_rng(0)
        of_value = rng.integers(0, 3, 60)
        codes = rng.integers(0, 60, 3000)
        labels = np.where(rng.random(3000) < 0.8, of_value[codes], rng.integers(0, 3, 3000))
        values = [f"v{k:02d}" for k in codes]
        expected = {frozenset(f"v{k:02d}" for k in np.flatnonzero(of_value == c)) for c in range(3)}
        assert {frozenset(group) for group in groups_of(values, labels)} == expected
        monkeypatch.setattr("anbexact.discretize.groups.MOST_VALUES", 12)
        assert {frozenset(group) for group in groups_of(values, labels)} == expected

    def test_by_hand(self):
        # a, b: 4 rows each, a all yes, b all no. Together: ln 2 + ln B(2, 1) + ln C(9, 1) + ln 8!/(4! 4!)
        # = ln(2 * 9 * 70); apart: ln 2 + ln B(2, 2) + 2 ln C(5, 1) = ln(2 * 2 * 25).
        values, labels = list("aaaabbbb"), list("yyyynnnn")
        assert oracles.groups_cost(values, labels, [1] * 8, [["a", "b"]]) == pytest.approx(np.log(1260))
        assert oracles.groups_cost(values, labels, [1] * 8, [["a"], ["b"]]) == pytest.approx(np.log(100))
        assert groups_of(values, labels) == (("a",), ("b",))

    @given(labelled_categories(), st.data())
    def test_weights_are_copies(self, column, data):
        values, labels, _ = column
        repeats = data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))
        if any(repeats):
            copied = [np.repeat(part, repeats).tolist() for part in (values, labels)]
            assert groups_of(values, labels, repeats) == groups_of(*copied)

    @given(labelled_categories(), st.randoms())
    def test_row_order_does_not_matter(self, column, random):
        rows = list(zip(*column, strict=True))
        random.shuffle(rows)
        assert groups_of(*column) == groups_of(*zip(*rows, strict=True))

    @pytest.mark.parametrize("n_values", [1, 2, 5, 8])
    def test_divisions_are_counted(self, n_values):
        sizes = [len(division) for division in oracles.set_partitions(list(range(n_values)))]
        expected = [sum(size <= k for size in sizes) for k in range(1, n_values + 1)]
        np.testing.assert_allclose(np.exp(log_divisions(n_values, n_values)[1:]), expected)
        np.testing.assert_allclose(np.exp(log_divisions(n_values, 2)[1:]), expected[:2])

    def test_divisions_of_very_many_values(self):
        # B(V, 2) = 2 ** (V - 1), whatever V.
        assert log_divisions(20_000, 3)[2] == pytest.approx(19_999 * np.log(2))

    def test_ordered_values_are_parted_into_runs(self):
        values = ["low"] * 20 + ["mid"] * 20 + ["high"] * 20
        labels = [0] * 20 + [1] * 20 + [0] * 20
        column = read_column(pd.Categorical(values, ["low", "mid", "high", "top"], ordered=True), "size")
        found = group_values(column, np.array(labels), np.ones(60), ordered=True)
        assert found == (("low",), ("mid",), ("high", "top"))
        assert set(groups_of(values, labels)) == {("high", "low"), ("mid",)}
