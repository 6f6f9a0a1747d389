"""Firth's penalised likelihood of multinomial logistic regression: finite estimates where classes are separated.

The penalty is Jeffreys' prior: ``ℓ*(β) = ℓ(β) + ½ ln |I(β)|``, with the Fisher information I. In exponential families
such as this one, its maximum is free of the first-order bias, O(1/n), of maximum likelihood. It is finite whenever I
is regular at some β (Firth 1993; Heinze and Schemper 2002; for several classes Bull, Mak and Greenwood 2002).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import brentq
from scipy.special import log_softmax
from scipy.stats import chi2

from anbexact._runtime.arrays import Bools, Floats, Integers

MOST_STEPS = 200
"""Maximum number of steps of a fit."""
LONGEST_STEP = 5.0
"""Maximum change of a coefficient, in nats, in a step: far from the maximum, the quadratic approximation is poor."""
STATIONARY = 1e-10
"""Squared Newton decrement, in nats, below which a fit ends: twice the gain that a further step promises."""
MOST_FALL = 0.5
"""A step is too long if the slope at its end falls by more than this part of the slope at its start, which rises.

The information can be half the curvature of ``ℓ*`` or less. A full step then leads to the other side of the maximum,
where ``ℓ*`` is as high as before.
"""
HALVINGS = 40
"""Maximum number of times that a step is halved."""
APPROACHES = 6
"""How often a step of a profile is halved where the information is singular; beyond, ``ℓ*`` is minus infinity."""
FARTHEST = 60.0
"""Absolute value, in nats, beyond which the end of an interval counts as infinite."""


@dataclass(frozen=True, eq=False)
class FirthFit:
    """The maximum of the penalised likelihood.

    Attributes
    ----------
    coefficients : (columns, classes - 1) float64
        β in nats; the first class is the reference.
    covariance : (k, k) float64
        The inverse of the Fisher information, of the k = columns · (classes - 1) coefficients class by class.
    penalised : float
        ``ℓ*``, in nats, total.
    log_likelihood : float
        ``ℓ``, in nats, total.
    iterations : int
    converged : bool
    """

    coefficients: Floats
    covariance: Floats
    penalised: float
    log_likelihood: float
    iterations: int
    converged: bool


class FirthProblem:
    """The penalised likelihood of a multinomial logistic regression.

    Coefficients are a vector of the k = columns · (classes - 1) values of β, class by class.

    Parameters
    ----------
    design : (rows, columns) float64
        A design of full column rank.
    weights : (rows, classes) float64
        Weight of the rows with this design and this class.
    """

    def __init__(self, design: Floats, weights: Floats) -> None:
        self.design, self.weights = design, weights
        self.totals = weights.sum(axis=1)
        self.n_columns, self.n_contrasts = design.shape[1], weights.shape[1] - 1

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return int(self.n_columns * self.n_contrasts)

    def _proba(self, beta: Floats) -> tuple[Floats, float]:
        """Return P(class | row) of the classes other than the first, and the log likelihood."""
        odds = self.design @ beta.reshape(self.n_contrasts, self.n_columns).T
        logs = log_softmax(np.concatenate([np.zeros((len(odds), 1)), odds], axis=1), axis=1)
        return np.exp(logs[:, 1:]), float((self.weights * logs).sum())

    def _information(self, proba: Floats) -> Floats:
        """Return the Fisher information, shape (k, k)."""
        s, p = self.n_contrasts, self.n_columns
        found = np.empty((s, p, s, p))
        for a in range(s):
            for b in range(a, s):
                own = self.totals * proba[:, a] * ((a == b) - proba[:, b])
                found[a, :, b] = found[b, :, a] = (self.design.T * own) @ self.design
        return found.reshape(s * p, s * p)

    def value(self, beta: Floats) -> float:
        """Return ``ℓ*``, in nats, total; minus infinity where the information is singular."""
        proba, likelihood = self._proba(beta)
        try:
            factor = np.linalg.cholesky(self._information(proba))
        except np.linalg.LinAlgError:
            return -np.inf
        return likelihood + float(np.log(np.diag(factor)).sum())

    def slope(self, beta: Floats) -> tuple[float, Floats, Floats]:
        """Return ``ℓ*``, its gradient, and the Fisher information.

        The gradient of ½ ln |I| with respect to β_bj is ``½ tr(I⁻¹ ∂I/∂β_bj)``. With h_ac = x' (I⁻¹)_ac x for the
        blocks of I⁻¹, it is ``½ Σ_t w_t x_tj Σ_ac h_ac ∂[p_a (1{a=c} - p_c)]/∂η_b``.
        """
        proba, likelihood = self._proba(beta)
        information = self._information(proba)
        s, p = self.n_contrasts, self.n_columns
        factor = np.linalg.cholesky(information)
        inverse = cho_solve((factor, True), np.eye(s * p)).reshape(s, p, s, p)
        of_blocks = np.einsum("tj,ajck,tk->tac", self.design, inverse, self.design, optimize=True)
        diagonal = np.einsum("taa->ta", of_blocks)
        crossed = np.einsum("tac,tc->ta", of_blocks, proba)
        mean = np.einsum("ta,ta->t", diagonal, proba)
        square = np.einsum("ta,ta->t", crossed, proba)
        change = proba * (diagonal - mean[:, None] - 2 * crossed + 2 * square[:, None])
        of_rows = self.weights[:, 1:] - self.totals[:, None] * proba + 0.5 * self.totals[:, None] * change
        gradient = (self.design.T @ of_rows).T.ravel()
        value = likelihood + float(np.log(np.diag(factor)).sum())
        return value, gradient, information

    def maximise(self, start: Floats, free: Bools | None = None) -> tuple[Floats, float, int, bool]:
        """Return where ``ℓ*`` is largest, its value there, the number of steps, and whether the fit converged.

        Coefficients that are not ``free`` keep their values.
        """
        beta = start.copy()
        places: Integers = np.arange(self.size) if free is None else np.flatnonzero(free)
        value, gradient, information = self.slope(beta)
        for step in range(MOST_STEPS):
            if not len(places):
                return beta, value, step, True
            own = gradient[places]
            move = np.linalg.solve(information[np.ix_(places, places)], own)
            if float(own @ move) < STATIONARY:
                return beta, value, step, True
            move *= min(1.0, LONGEST_STEP / np.abs(move).max())
            rise = float(own @ move)
            for _ in range(HALVINGS):
                tried = beta.copy()
                tried[places] += move
                if self.value(tried) > value - 1e-12 * abs(value):
                    found = self.slope(tried)
                    if float(found[1][places] @ move) > -MOST_FALL * rise:
                        break
                move, rise = move / 2, rise / 2
            else:
                return beta, value, step, False
            beta = tried
            value, gradient, information = found
        return beta, value, MOST_STEPS, False

    def fit(self) -> FirthFit:
        """Return the maximum, found by Fisher scoring with the modified score; steps that lower ``ℓ*`` are halved."""
        beta, value, steps, converged = self.maximise(np.zeros(self.size))
        proba, likelihood = self._proba(beta)
        covariance: Floats = np.asarray(np.linalg.inv(self._information(proba)), dtype=np.float64)
        return FirthFit(
            beta.reshape(self.n_contrasts, self.n_columns).T, covariance, value, likelihood, steps, converged
        )

    def profile(self, fit: FirthFit, place: int, level: float) -> tuple[float, float, float]:
        """Return the interval of a coefficient by its profile penalised likelihood, and the p-value of 0.

        The interval contains the values b for which ``2 (max ℓ* - max_{β_k = b} ℓ*)`` is at most the quantile of χ²
        with one degree of freedom. An end is infinite if no value up to 60 nats away from 0 lies outside it.

        Parameters
        ----------
        fit : FirthFit
        place : int
            Position k of the coefficient, class by class.
        level : float
            Probability of the interval.
        """
        best = fit.coefficients.T.ravel()
        free = np.ones(self.size, dtype=bool)
        free[place] = False
        latest = best.copy()

        def deviance(value: float, halvings: int = APPROACHES) -> float:
            nonlocal latest
            found = []
            for origin in (latest, best):  # ``ℓ*`` can have several maxima
                start = origin.copy()
                start[place] = value
                if self.value(start) > -np.inf:
                    found.append(self.maximise(start, free))
            if not found:  # too far away: let the other coefficients follow on the way
                half = (float(latest[place]) + value) / 2
                if not halvings or deviance(half, halvings - 1) == np.inf:
                    return np.inf
                return deviance(value, halvings - 1)
            latest, highest, _, _ = max(found, key=lambda maximum: maximum[1])
            return 2 * (fit.penalised - highest)

        quantile = float(chi2.ppf(level, 1))
        width = float(np.sqrt(fit.covariance[place, place]))
        ends = []
        for sign in (-1, 1):
            latest = best.copy()
            ends.append(_crossing(deviance, float(best[place]), sign * width, quantile))
        latest = best.copy()
        return ends[0], ends[1], float(chi2.sf(max(deviance(0.0), 0.0), 1))


def _crossing(deviance: Callable[[float], float], centre: float, step: float, quantile: float) -> float:
    """Return where the deviance reaches a quantile on one side of its minimum; the sign of ``step`` says which."""
    known = {centre: -quantile}

    def excess(value: float) -> float:
        if value not in known:  # computed again, from another start, it could differ in its last digits
            known[value] = deviance(value) - quantile
        return known[value]

    near, far = centre, centre + 2 * step
    while excess(far) < 0:
        if abs(far) > FARTHEST:
            return float(np.copysign(np.inf, step))
        near, far = far, far + 2 * (far - near)
    return float(brentq(excess, near, far, xtol=1e-8, rtol=1e-10))
