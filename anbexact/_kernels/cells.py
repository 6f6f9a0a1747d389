"""The value of a cell in a set score."""

import math

from numba import njit


@njit(cache=True, nogil=True)
def cell_value(weight, a, log_gamma_a):
    """Return lnΓ(a + weight) - lnΓ(a), for a large a by Stirling's series; weight * ln(weight) for an infinite a."""
    if weight <= 0.0:
        return 0.0
    if a == math.inf:
        return weight * math.log(weight)
    x = a + weight
    if a < 64.0 or weight > a:
        return math.lgamma(x) - log_gamma_a
    tail = 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5)
    tail -= 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5)
    return (x - 0.5) * math.log1p(weight / a) + weight * (math.log(a) - 1.0) + tail
