"""Searches for the best value of a positive parameter, against a fine grid."""

from math import log

import numpy as np
import pytest

from anbexact._runtime.line_search import best_on_log_grid


def values_at(top, calls=None):
    """The logarithm of a function of ln x that is skewed and highest at ``top``."""

    def values(grid):
        if calls is not None:
            calls.append(len(grid))
        apart = np.log(grid / top)
        return apart - np.exp(apart)

    return values


@pytest.mark.parametrize("top", [0.12, 0.7, 3.0, 40.0, 85.0])
def test_two_grids_find_the_top_more_precisely_than_one(top):
    calls = []
    one, _ = best_on_log_grid(values_at(top), 0.1, 100.0, points=8)
    two, value = best_on_log_grid(values_at(top, calls), 0.1, 100.0, points=8, closer=9)
    assert calls == [8, 9]
    assert abs(log(two / top)) < min(0.02, abs(log(one / top)))
    assert value == pytest.approx(-1.0, abs=0.02)
    assert value <= -1.0


@pytest.mark.parametrize(("top", "end"), [(0.001, 0.1), (1e6, 100.0)])
@pytest.mark.parametrize("closer", [0, 9])
def test_the_best_may_be_an_end_of_the_range(top, end, closer):
    found, value = best_on_log_grid(values_at(top), 0.1, 100.0, points=8, closer=closer)
    assert found == end
    assert value == values_at(top)(np.array([end]))[0]


@pytest.mark.parametrize("closer", [0, 9])
def test_one_where_the_value_makes_no_difference(closer):
    assert best_on_log_grid(lambda grid: np.full(len(grid), -3.0), 0.1, 50.0, points=8, closer=closer) == (1.0, -3.0)
    assert best_on_log_grid(lambda grid: np.full(len(grid), -3.0), 200.0, 5e3, points=8, closer=closer)[0] == 200.0
