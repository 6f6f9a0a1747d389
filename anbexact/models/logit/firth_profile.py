"""Intervals and tests of single coefficients by the profile of Firth's penalised likelihood."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact.models.logit.firth import BETTER, FirthFit, FirthPoint, FirthProblem, Maximum

APPROACHES = 6
"""How often a step is halved where the information is singular; after that, ``ℓ*`` counts as minus infinity."""
FARTHEST = 60.0
"""Absolute value, in nats, beyond which the end of an interval counts as infinite."""
CLOSE = 1e-7
"""Distance from the end of an interval, in nats, at which the search for it stops."""
NEAR_THE_MAXIMUM = 1e-3
"""Share of the quantile below which the deviance is predicted from its curvature, not from its slope.

So close to the maximum, the slope is too small to tell where the deviance reaches the quantile.
"""
MOST_POINTS = 100
"""Maximum number of values at which the profile is computed in the search for one end."""


class FirthProfile:
    """The profile deviance of a coefficient, ``D(b) = 2 (max ℓ* - max_{β_k = b} ℓ*)``, with its interval and test.

    ``ℓ*`` can have several maxima, of which a search finds one. The profile is followed from the maximum of ``ℓ*``,
    step by step. At 0 and where an interval would end, it is compared with the maxima found from two other starts,
    and the highest counts. No search can guarantee that there is none higher.

    If ``D`` has several minima, the values with ``D`` below the quantile need not form one interval. Nevertheless,
    the interval agrees with the test: 0 is in the interval of level 1 - α if and only if the p-value is at least α.
    To ensure this, the search for the end on the side of 0 starts at 0 if ``D(0)`` is at most the quantile, and
    otherwise does not go beyond 0.

    Parameters
    ----------
    problem : FirthProblem
    fit : FirthFit
        The maximum of ``ℓ*``.
    place : int
        Position k of the coefficient in the vector β, which is ordered class by class.

    Attributes
    ----------
    uncertain : set of {"interval", "p-value"}
        Which of the results computed so far rest on a search that did not converge.
    excess : float
        How far, in nats, the highest ``ℓ*`` found on the profile exceeds the value at ``fit``; 0 if it does not.

    References
    ----------
    Heinze and Schemper, *A solution to the problem of separation in logistic regression*, Statistics in Medicine 21
    (2002), section 3; Venzon and Moolgavkar, *A method for computing profile-likelihood-based confidence intervals*,
    Applied Statistics 37 (1988).
    """

    def __init__(self, problem: FirthProblem, fit: FirthFit, place: int) -> None:
        self._problem, self._place = problem, place
        self._others = np.delete(np.arange(problem.size), place)
        point = problem.at(fit.coefficients.T.ravel())
        assert point is not None  # a fit ends where the information is regular
        self._best = Maximum(point, 0, fit.converged)
        self._centre = self._value(self._best)
        self.uncertain: set[str] = set()
        self.excess = 0.0

    @cached_property
    def _at_zero(self) -> Maximum | None:
        """The maximum for ``β_k = 0``; None if the information is singular there."""
        found = self._highest(self._led_to(self._best, 0.0), 0.0)
        self._judge(found, "p-value")
        return found

    @property
    def p_value(self) -> float:
        """The p-value of ``β_k = 0``: the probability that χ² with one degree of freedom exceeds ``D(0)``."""
        return float(chi2.sf(max(self._deviance(self._at_zero), 0.0), 1))

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of an interval, in nats, where ``D`` reaches the quantile of χ² with one degree of freedom.

        An end is infinite if all values on its side up to 60 nats away from 0 lie inside, and NaN if it was not found
        in `MOST_POINTS` steps.

        Parameters
        ----------
        level : float
            Probability of the interval, 1 - α.
        """
        quantile = float(chi2.ppf(level, 1))
        lower, upper = (self._end(sign, quantile) for sign in (-1, 1))
        return lower, upper

    def _end(self, sign: int, quantile: float) -> float:
        """Return the lower (``sign`` -1) or upper (1) end, at which the deviance reaches a quantile."""
        inner, limit = self._best, None
        if sign * self._centre < 0:  # 0 lies on this side
            if self._deviance(self._at_zero) <= quantile and self._at_zero is not None:
                inner = self._at_zero
            else:
                limit = 0.0
        latest, outer = inner, limit
        for count in range(MOST_POINTS):
            inside, last = self._value(inner), self._value(latest)
            value = self._predicted(latest, sign, quantile)
            # if a bracket holds no solution, the search changes there from one maximum to another
            collapsed = outer is not None and abs(outer - inside) < CLOSE
            if collapsed and outer == limit:
                return inside
            if collapsed or abs(value - last) < CLOSE:
                at_end, known = (last, latest) if outer is None or not collapsed else (outer, None)
                found = self._highest(known, at_end)
                if found is None or self._deviance(found) > quantile - 2 * BETTER:
                    self._judge(latest, "interval")
                    return inside if collapsed else last
                inner, latest, outer = found, found, limit  # go on along the higher maximum
                continue
            if outer is None:
                if abs(inside) > FARTHEST:
                    return sign * np.inf
                longest = 2 * max(abs(inside - self._centre), 1.0)
                ahead = sign * (value - inside)
                value = inside + sign * (ahead if 0 < ahead < longest else longest)
            elif not min(inside, outer) < value < max(inside, outer) or count % 3 == 2:
                value = (inside + outer) / 2
            found = self._led_to(min(inner, latest, key=lambda known: abs(self._value(known) - value)), value)
            latest = found or latest
            if found is not None and self._deviance(found) <= quantile:
                inner = found
            else:
                outer = value
        self.uncertain.add("interval")
        return np.nan

    def _predicted(self, latest: Maximum, sign: int, quantile: float) -> float:
        """Return where ``D`` reaches a quantile if ``√D`` is linear; NaN if ``D`` does not rise outwards."""
        deviance, value = self._deviance(latest), self._value(latest)
        if deviance < NEAR_THE_MAXIMUM * quantile:
            curvature = latest.point.matrix()[self._place]
            bend = float(curvature[self._place] + curvature[self._others] @ self._tangent(latest.point))
            return value + sign * float(np.sqrt(quantile / bend)) if bend > 0 else np.nan
        slope = -2 * float(latest.point.gradient[self._place])  # the derivatives by the others are 0
        if sign * slope <= 0:
            return np.nan
        root = float(np.sqrt(deviance))
        return value + 2 * root * (float(np.sqrt(quantile)) - root) / slope

    def _tangent(self, point: FirthPoint) -> Floats:
        """Return how fast the other coefficients at the maximum change with this one."""
        return point.solve(-point.matrix()[self._others, self._place], self._others)

    def _led_to(self, origin: Maximum, value: float, halvings: int = APPROACHES) -> Maximum | None:
        """Return the maximum at a value, found from the maximum at another value.

        None if the information stays singular however often the step is halved.
        """
        kept = origin.point.beta.copy()
        kept[self._place] = value
        moved = kept.copy()
        moved[self._others] += (value - self._value(origin)) * self._tangent(origin.point)
        starts = [start for start in map(self._problem.at, (kept, moved)) if start is not None]
        if starts:
            return self._maximum(max(starts, key=lambda start: start.value))
        if not halvings:
            return None
        middle = self._led_to(origin, (self._value(origin) + value) / 2, halvings - 1)
        return None if middle is None else self._led_to(middle, value, halvings - 1)

    def _highest(self, found: Maximum | None, value: float) -> Maximum | None:
        """Return the highest of three maxima at a value: ``found``, and those found from the estimates and from 0."""
        for beta in (self._best.point.beta.copy(), np.zeros(self._problem.size)):
            beta[self._place] = value
            if (start := self._problem.at(beta)) is not None:
                other = self._maximum(start)
                if self._deviance(other) < self._deviance(found) - 2 * BETTER:
                    found = other
        return found

    def _maximum(self, start: FirthPoint) -> Maximum:
        """Return the maximum over the other coefficients found from a point, and record any `excess`."""
        found = self._problem.maximise(start, self._others)
        self.excess = max(self.excess, found.point.value - self._best.point.value)
        return found

    def _judge(self, found: Maximum | None, what: str) -> None:
        """Record ``what`` as uncertain if the search that it rests on did not converge."""
        if found is not None and not found.converged:
            self.uncertain.add(what)

    def _value(self, found: Maximum) -> float:
        """Return the value of the coefficient at a maximum."""
        return float(found.point.beta[self._place])

    def _deviance(self, found: Maximum | None) -> float:
        """Return the deviance, in nats; infinite for None, which stands for a singular information."""
        return np.inf if found is None else 2 * (self._best.point.value - found.point.value)
