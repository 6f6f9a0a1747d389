"""Searches for the best value of a positive parameter on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt


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
    grid = _log_grid(low, high, points)
    values = values_at(grid)
    k = int(values.argmax())
    highest = float(values[k])
    if highest - float(values.min()) <= 1e-12 * max(1.0, abs(highest)):
        return min(max(1.0, low), high), highest
    if closer:
        grid = _log_grid(grid[max(k - 1, 0)], grid[min(k + 1, points - 1)], closer)
        values = values_at(grid)
        k = int(values.argmax())
        highest = float(values[k])
    if 0 < k < len(grid) - 1:
        below, above = values[k] - values[k - 1], values[k] - values[k + 1]
        step = (below - above) / (2 * (below + above)) if below + above > 0 else 0.0
        return float(grid[k] * (grid[1] / grid[0]) ** step), highest
    return float(grid[k]), highest


def _log_grid(low: float, high: float, points: int) -> npt.NDArray[np.float64]:
    """Return points evenly spaced on a logarithmic scale; the last is ``high`` itself."""
    grid = low * (high / low) ** (np.arange(points) / (points - 1))
    grid[-1] = high
    return np.asarray(grid)
