"""The best value of a positive parameter."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

import numpy as np
from scipy.optimize import minimize_scalar


def best_on_log_scale(
    value: Callable[[float], float], low: float, high: float, *, first_look: int, precision: float
) -> float:
    """Return the x between low and high of highest value.

    ``first_look`` points, evenly spaced on a logarithmic scale, ends included; then Brent's bounded search between
    the neighbours of the best of them, to ``precision`` in ln x. 1 where all points are worth the same.
    """
    grid = np.linspace(log(low), log(high), first_look)
    values = np.array([value(exp(point)) for point in grid])
    if values.max() - values.min() <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return 1.0
    k = int(values.argmax())
    bounds = grid[max(k - 1, 0)], grid[min(k + 1, first_look - 1)]
    found = minimize_scalar(
        lambda point: -value(exp(point)), bounds=bounds, method="bounded", options={"xatol": precision}
    )
    return exp(float(found.x if -found.fun > values[k] else grid[k]))
