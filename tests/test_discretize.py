"""The median cut."""

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from anbexact import MedianDiscretizer
from anbexact.discretize import cut_codes, interval_names

VALUES = st.lists(st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 1)), min_size=1, max_size=15)
WEIGHTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.0, 1.0, 2.0, 3.7]), min_size=15, max_size=15)


def cut_of(values, weights=None):
    """The cut of one column; None where it has none."""
    (cuts,) = MedianDiscretizer().fit(np.array(values, dtype=float)[:, None], sample_weight=weights).cut_points_
    assert len(cuts) <= 1
    return cuts[0] if len(cuts) else None


class TestMedian:
    @given(VALUES, WEIGHTS)
    def test_is_a_weighted_median_and_leaves_no_interval_empty(self, values, weights):
        weights = weights[: len(values)]
        if not any(weights):
            return
        cut = cut_of(values, weights)
        kept = [(value, weight) for value, weight in zip(values, weights, strict=True) if weight > 0]
        values, weights = zip(*kept, strict=True)
        if len(set(values)) == 1:
            assert cut is None
            return
        assert any(value <= cut for value in values)
        assert any(value > cut for value in values)
        if not oracles.is_weighted_median(max(values), values, weights):
            assert oracles.is_weighted_median(cut, values, weights)

    @given(VALUES, st.lists(st.integers(0, 3), min_size=15, max_size=15))
    def test_weights_are_copies(self, values, repeats):
        repeats = repeats[: len(values)]
        copies = [value for value, k in zip(values, repeats, strict=True) for _ in range(k)]
        if copies:
            assert cut_of(values, repeats) == cut_of(copies)

    @pytest.mark.parametrize(
        ("values", "cut"),
        [
            ([1, 2, 3, 4], 2.5),
            ([1, 2, 3], 2),
            ([1, 1, 1, 5], 1),
            ([1, 5, 5, 5], 3),
            ([5], None),
            ([2, 2], None),
            ([1, np.nan, 3], 2),
            ([np.nan, np.nan], None),
            ([-0.0, 0.0], None),
            ([1.0, np.nextafter(1.0, 2.0)], 1.0),
            ([-1.7e308, 1.7e308], 0.0),
            ([0.0, 5e-324], 0.0),
        ],
    )
    def test_by_hand(self, values, cut):
        assert cut_of(values) == cut

    @given(VALUES)
    def test_row_order_does_not_matter(self, values):
        assert cut_of(values) == cut_of(values[::-1])


class TestTransformer:
    def test_transforms_into_two_intervals(self):
        X = [[1.0, 5.0], [2.0, 5.0], [4.0, 5.0], [9.0, np.nan]]
        out = MedianDiscretizer().fit_transform(X)
        np.testing.assert_array_equal(out, [[0, 0], [0, 0], [1, 0], [1, np.nan]])

    def test_the_cut_itself_is_below(self):
        transformer = MedianDiscretizer().fit([[1.0], [2.0], [3.0]])
        np.testing.assert_array_equal(transformer.transform([[2.0], [2.0000001], [-1e300]]).ravel(), [0, 1, 0])

    def test_infinity_is_refused(self):
        with pytest.raises(ValueError, match="infinity"):
            MedianDiscretizer().fit([[1.0], [np.inf]])

    def test_weights_are_checked(self):
        with pytest.raises(ValueError, match=r"sample_weight\[0\] is -1.0"):
            MedianDiscretizer().fit([[1.0], [2.0]], sample_weight=[-1, 1])

    def test_frames_and_clones(self):
        X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 3.0]})
        before = X.copy()
        transformer = clone(MedianDiscretizer()).fit(X)
        assert transformer.feature_names_in_.tolist() == ["a", "b"]
        assert [cuts.tolist() for cuts in transformer.cut_points_] == [[1.5], []]
        pd.testing.assert_frame_equal(X, before)


class TestIntervals:
    def test_codes(self):
        assert cut_codes(np.array([0.0, 1.0, 1.5, np.nan, np.inf, -np.inf]), np.array([1.0])).tolist() == [
            0, 0, 1, -1, 1, 0,
        ]  # fmt: skip
        assert cut_codes(np.array([3, 4, 5]), np.array([3.0, 4.0])).tolist() == [0, 1, 2]
        assert cut_codes(np.array([3.0, np.nan]), np.empty(0)).tolist() == [0, -1]

    @given(st.lists(st.floats(-1e9, 1e9, allow_nan=False), unique=True, max_size=5))
    def test_names_are_distinct_and_one_more_than_cuts(self, cuts):
        names = interval_names(np.array(sorted(cuts)))
        assert len(set(names)) == len(names) == len(cuts) + 1

    def test_names_of_close_cuts(self):
        assert interval_names(np.array([1.0, 1.0 + 1e-9])) == (
            "(-inf, 1]",
            "(1, 1.000000001]",
            "(1.000000001, inf)",
        )
        assert interval_names(np.empty(0)) == ("(-inf, inf)",)
