"""Searches for the best value of a positive parameter on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar


def best_on_log_scale(
    value: Callable[[float], float], low: float, high: float, *, first_look: int, precision: float
) -> float:
    """Return the x between ``low`` and ``high`` at which ``value`` is highest.

    The value is computed at ``first_look`` points, evenly spaced on a logarithmic scale and including both ends.
    Between the neighbours of the best point, Brent's bounded search then finds x to ``precision`` in ln x. The result
    is 1 if all points have the same value.
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


def best_on_log_grid(
    values_at: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    low: float,
    high: float,
    *,
    points: int,
    closer: int = 0,
) -> tuple[float, float]:
    """Return the x between ``low`` and ``high`` at which the value is highest, and the highest value found.

    One call computes the values of all ``points``, evenly spaced on a logarithmic scale and including both ends. If
    ``closer`` is not 0, a second call does the same for that many points between the neighbours of the best one. The
    x is the top of the parabola, in ln x, through the best point and its neighbours. If all points have the same
    value, it is 1, or the nearest value in the range.
    """
    grid = np.geomspace(low, high, points)
    values = values_at(grid)
    k = int(values.argmax())
    highest = float(values[k])
    if highest - float(values.min()) <= 1e-12 * max(1.0, abs(highest)):
        return min(max(1.0, low), high), highest
    if closer:
        grid = np.geomspace(grid[max(k - 1, 0)], grid[min(k + 1, points - 1)], closer)
        values = values_at(grid)
        k = int(values.argmax())
        highest = float(values[k])
    if 0 < k < len(grid) - 1:
        below, above = values[k] - values[k - 1], values[k] - values[k + 1]
        step = (below - above) / (2 * (below + above)) if below + above > 0 else 0.0
        return float(grid[k] * (grid[1] / grid[0]) ** step), highest
    return float(grid[k]), highest
