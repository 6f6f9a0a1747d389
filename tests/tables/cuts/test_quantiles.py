"""Intervals of about equal weight: against shares that are counted cut by cut."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anbexact.tables.cuts.quantiles import QuantileDiscretizer


@given(
    st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 3)), min_size=1, max_size=60).filter(
        lambda rows: any(weight for _, weight in rows)
    ),
    st.integers(1, 8),
)
def test_cuts_are_nearest_to_equal_shares(rows, most):
    values, weights = np.array(rows, dtype=float).T
    (found,) = QuantileDiscretizer(most).fit(values[:, None], sample_weight=weights).cut_points_
    distinct = sorted({int(value) for value, weight in rows if weight})
    between = [Fraction(low + high, 2) for low, high in pairwise(distinct)]
    if len(distinct) <= most:
        assert found.tolist() == between
        return
    total = sum(weight for _, weight in rows)
    below = [Fraction(sum(weight for value, weight in rows if value < cut), total) for cut in between]
    nearest = {
        min(range(len(between)), key=lambda k: abs(below[k] - Fraction(part, most))) for part in range(1, most)
    }
    assert found.tolist() == [between[k] for k in sorted(nearest)]


@pytest.mark.parametrize(("n_values", "n_cuts"), [(1, 0), (12, 11), (64, 63), (65, 63)])
def test_every_value_is_an_interval_if_there_are_not_too_many(n_values, n_cuts):
    discretizer = QuantileDiscretizer().fit(np.append(np.arange(n_values, dtype=float), np.nan)[:, None])
    assert len(discretizer.cut_points_[0]) == n_cuts
    (every,) = QuantileDiscretizer(None).fit(np.arange(n_values, dtype=float)[:, None]).cut_points_
    assert len(every) == n_values - 1
    codes = discretizer.transform([[0.0], [n_values - 1.0], [np.nan]])
    assert np.array_equal(codes[:, 0], [0, n_cuts, np.nan], equal_nan=True)


def test_a_model_tells_the_two_largest_values_apart():
    from anbexact.classifiers import KernelClassifier

    X = np.repeat(np.arange(12.0), 10)[:, None]
    model = KernelClassifier(n_jobs=1).fit(X, X[:, 0] == 11)
    assert model.predict([[10.0], [11.0]]).tolist() == [False, True]
