"""A trust-region method whose steps are found by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
FIRST_RADIUS, LARGEST_RADIUS = 10.0, 1e6
"""Radius of the first step, and the maximum radius."""
POOR, FAIR, GOOD = 0.15, 0.25, 0.75
"""Shares of the promised decrease that decide what follows a step.

A step that achieves no more than the first is not taken. The radius shrinks below the second, and may grow above the
third.
"""
LEAST_DECREASE = 1e-12
"""Share of the function's value below which a decrease is lost in rounding, so that the gradient alone decides."""


class Objective(Protocol):
    """A function to be minimised."""

    def value(self, z: Vector) -> tuple[float, Vector]:
        """Return the function and its gradient."""

    def step(self, z: Vector, radius: float, tolerance: float) -> tuple[Vector, float, bool]:
        """Return a step from z, the decrease of the quadratic model, and whether the step ended at the radius.

        Unless it did, the gradient of the model after the step has a norm below the tolerance.
        """


def minimise(
    objective: Objective, z: Vector, *, precision: float, max_iter: int, watch: Callable[[Vector], None]
) -> tuple[Vector, str]:
    """Return a point where the norm of the gradient is below ``precision``, and an empty string.

    If there is no such point within reach, return the last one, and the reason for stopping.

    Parameters
    ----------
    objective : Objective
    z : array
        Where to start.
    precision : float
    max_iter : int
        Maximum number of steps, including those that are not taken.
    watch : callable
        Called with the point after every step.

    References
    ----------
    Steihaug, *The conjugate gradient method and trust regions in large scale optimization*, SIAM Journal on Numerical
    Analysis 20 (1983); Nocedal and Wright, *Numerical Optimization* (2006), section 7.1.
    """
    value, gradient = objective.value(z)
    radius = FIRST_RADIUS
    for _ in range(max_iter):
        norm = float(np.linalg.norm(gradient))
        if norm < precision:
            return z, ""
        step, promised, bounded = objective.step(z, radius, min(0.5, sqrt(norm)) * norm)
        if not promised > 0:
            return z, "no step promised a decrease"
        found, slope = objective.value(z + step)
        if promised < LEAST_DECREASE * abs(value):
            if not np.linalg.norm(slope) < norm:
                return z, "rounding hides any further decrease"
            share = 1.0
        else:
            share = (value - found) / promised
        if not share >= FAIR:
            radius *= 0.25
        elif share > GOOD and bounded:
            radius = min(2 * radius, LARGEST_RADIUS)
        if share > POOR:
            z, value, gradient = z + step, found, slope
        watch(z)
    return z, "" if float(np.linalg.norm(gradient)) < precision else "max_iter was reached"
