"""The value of a cell in a set score, lnΓ(a + w) - lnΓ(a), against sums of logarithms."""

import math
from itertools import product

import pytest

from anbexact._kernels.cells import cell_value


def test_whole_weights():
    for a, weight in product([1e-3, 0.5, 63.9, 64.0, 100.0, 1e4, 1e9], [1, 3, 50, 64, 1000]):
        expected = math.fsum(math.log(a + k) for k in range(weight))
        assert cell_value(float(weight), a, math.lgamma(a)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_real_weights_step_as_whole_ones():
    """Γ(x + 1) = x Γ(x), so that w + 1 adds ln(a + w)."""
    for a, weight in product([80.0, 1e3, 1e6], [1e-3, 0.25, 7.75]):
        step = cell_value(weight + 1, a, math.lgamma(a)) - cell_value(weight, a, math.lgamma(a))
        assert step == pytest.approx(math.log(a + weight), rel=1e-12)


def test_edges():
    assert cell_value(0.0, 2.0, math.lgamma(2.0)) == 0.0
    assert cell_value(3.0, math.inf, 0.0) == 3.0 * math.log(3.0)
