"""The value of a cell in a set score."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._kernels.jit import kernel


class CellValues(NamedTuple):
    """The data for the values ``lnΓ(a + w) - lnΓ(a)`` of cells of weight w, for several parameters a.

    Attributes
    ----------
    parameters, log_gammas : (parameters,) float64
        a and lnΓ(a). An infinite a asks for ``w ln w`` instead (likelihood scores).
    values : (parameters, length) float64
        Values of the whole weights 0, 1, ... ``length - 1``.
    whole : bool
        Whether the weights are whole numbers (and, where a kernel says so, all below ``length``).
    """

    parameters: npt.NDArray[np.float64]
    log_gammas: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    whole: bool


@kernel
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
