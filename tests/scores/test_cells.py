"""The value of a cell in a set score, lnΓ(a + w) - lnΓ(a), against sums of logarithms."""

import math

import pytest

from anbexact._kernels.cells import cell_value


@pytest.mark.parametrize("a", [1e-3, 0.5, 63.9, 64.0, 100.0, 1e4, 1e9])
@pytest.mark.parametrize("weight", [1, 3, 50, 64, 1000])
def test_whole_weights(a, weight):
    expected = math.fsum(math.log(a + k) for k in range(weight))
    assert cell_value(float(weight), a, math.lgamma(a)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("a", [80.0, 1e3, 1e6])
@pytest.mark.parametrize("weight", [1e-3, 0.25, 7.75])
def test_real_weights_step_as_whole_ones(a, weight):
    """Γ(x + 1) = x Γ(x), so that w + 1 adds ln(a + w)."""
    step = cell_value(weight + 1, a, math.lgamma(a)) - cell_value(weight, a, math.lgamma(a))
    assert step == pytest.approx(math.log(a + weight), rel=1e-12)


def test_edges():
    assert cell_value(0.0, 2.0, math.lgamma(2.0)) == 0.0
    assert cell_value(3.0, math.inf, 0.0) == 3.0 * math.log(3.0)
