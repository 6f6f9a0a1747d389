"""Firth's penalised likelihood of multinomial logistic regression: finite estimates where classes are separated.

The penalty is Jeffreys' prior: ``ℓ*(β) = ℓ(β) + ½ ln |I(β)|``, with the Fisher information I. In exponential families
such as this one, its maximum is free of the first-order bias, O(1/n), of maximum likelihood. It is finite whenever I
is regular at some β (Firth 1993; Heinze and Schemper 2002; for several classes Bull, Mak and Greenwood 2002).

``ℓ*`` need not be concave. With few rows for many coefficients it can have several maxima.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri
from scipy.special import log_softmax

from anbexact._kernels.jeffreys import penalty_curvature
from anbexact._runtime.arrays import Floats, Integers
from anbexact._runtime.cached import cached_property

MOST_STEPS = 200
"""Maximum number of steps of a fit."""
LONGEST_STEP = 5.0
"""Maximum change of a coefficient in one step, in nats: the quadratic approximation is poor far from the maximum."""
STATIONARY = 1e-10
"""Squared Newton decrement, in nats, below which a fit ends; it is twice the gain that a further step promises."""
MOST_FALL = 0.5
"""A step is too long if, at its end, ``ℓ*`` falls along it more than this times as steeply as it rises at its start.

The information can be half the curvature of ``ℓ*`` or less. A full step then leads to the other side of the maximum,
where ``ℓ*`` is no higher than before.
"""
HALVINGS = 40
"""Maximum number of times that a step is halved."""
PREDICTORS_A_COLUMN, PREDICTORS, MOST_PREDICTORS = 6, 100, 3_000
"""Numbers of predictors (rows times classes other than the first) that decide when the curvature of ``ℓ*`` is used.

Rows are few if their predictors are at most `PREDICTORS` plus `PREDICTORS_A_COLUMN` for each column. With more, the
curvature takes longer than several steps with the Fisher information. With more than `MOST_PREDICTORS`, it takes too
long and needs too much memory: both grow with the square of this number.
"""
PATIENCE = 3
"""Number of steps with the Fisher information, divided by predictors per column, after which the curvature is used.

This applies if rows are not few. The curvature takes about as long as that many steps. Usually, fewer steps suffice;
more are needed if the penalty matters because some cells have few rows.
"""
MORE_STARTS, SPREAD, MOST_RANDOM = 4, 1.0, 100
"""Number of random starts of a fit with few rows, the standard deviation of their coefficients, in nats, and the
number of coefficients beyond which they would take too long."""
BETTER = 1e-6
"""Difference of ``ℓ*``, in nats, by which another maximum must be higher to replace the first."""


@dataclass(frozen=True, eq=False)
class FirthFit:
    """The highest maximum of the penalised likelihood that was found.

    Attributes
    ----------
    coefficients : (columns, classes - 1) float64
        β in nats; the first class is the reference.
    covariance : (k, k) float64
        The inverse of the Fisher information; its k = columns · (classes - 1) coefficients are ordered by class.
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


@dataclass(frozen=True, eq=False)
class FirthPoint:
    """The penalised likelihood and its derivatives at some coefficients.

    Attributes
    ----------
    problem : FirthProblem
    beta : (k,) float64
        The coefficients.
    proba : (rows, classes - 1) float64
        P(class | row) of the classes other than the first.
    log_likelihood, value : float
        ``ℓ`` and ``ℓ*``, in nats, total.
    gradient : (k,) float64
        The gradient of ``ℓ*``.
    information : (k, k) float64
        The Fisher information.
    spread : (k, classes - 1, rows) float64
        ``R (e_b ⊗ x)`` for every class b and every row x of the design, with ``R' R = I⁻¹`` and unit vectors e_b.
    """

    problem: FirthProblem
    beta: Floats
    proba: Floats
    log_likelihood: float
    value: float
    gradient: Floats
    information: Floats
    spread: Floats

    @cached_property
    def curvature(self) -> Floats:
        """Minus the Hessian of ``ℓ*``, (k, k)."""
        design, (n, d) = self.problem.design, self.proba.shape
        columns = self.spread.transpose(0, 2, 1).reshape(-1, n * d)
        products = (columns.T @ columns).reshape(n, d, n, d)
        of_rows = np.empty_like(products)
        penalty_curvature(self.problem.totals, self.proba, products, of_rows)
        found = self.information.copy()
        blocks = found.reshape(d, design.shape[1], d, design.shape[1])
        for a in range(d):
            for b in range(d):
                blocks[a, :, b] += design.T @ of_rows[:, a, :, b] @ design
        return found

    def matrix(self, steps: int = 0) -> Floats:
        """Return the curvature, (k, k), where it pays after this many steps of a search, and else the information."""
        return self.curvature if self.problem.uses_curvature(steps) else self.information

    def solve(self, right: Floats, places: Integers, steps: int = 0) -> Floats:
        """Return the inverse of :meth:`matrix`, limited to the coefficients in some places, times a vector.

        The Fisher information takes the place of a matrix that is not positive definite.
        """
        if not len(places):
            return right  # LAPACK would refuse a matrix without rows
        for matrix in (self.matrix(steps), self.information):
            factor, failed = dpotrf(matrix[np.ix_(places, places)], lower=1)
            if not failed:
                break
        return np.asarray(dpotrs(factor, right, lower=1)[0])


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where a search for a maximum of ``ℓ*`` ended, after how many steps, and whether it converged."""

    point: FirthPoint
    steps: int
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
        self.n_columns, self.n_contrasts = int(design.shape[1]), int(weights.shape[1]) - 1

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return int(self.n_columns * self.n_contrasts)

    @property
    def has_few_rows(self) -> bool:
        """Whether there are so few rows for this many columns that the curvature is used from the start."""
        return self._n_predictors <= min(PREDICTORS + PREDICTORS_A_COLUMN * self.n_columns, MOST_PREDICTORS)

    @property
    def _n_predictors(self) -> int:
        """Number of rows times classes other than the first."""
        return int(len(self.design) * self.n_contrasts)

    def uses_curvature(self, steps: int) -> bool:
        """Return whether the curvature pays after this many steps of a search."""
        return self.has_few_rows or (
            steps * self.n_columns >= PATIENCE * self._n_predictors and self._n_predictors <= MOST_PREDICTORS
        )

    def at(self, beta: Floats) -> FirthPoint | None:
        """Return ``ℓ*`` and its derivatives, or None where the Fisher information is singular.

        The gradient of ½ ln |I| with respect to β_bj is ``½ tr(I⁻¹ ∂I/∂β_bj)``. With h_ac = x' (I⁻¹)_ac x for the
        blocks of I⁻¹, it is ``½ Σ_t w_t x_tj Σ_ac h_ac ∂[p_a (1{a=c} - p_c)]/∂η_b``.
        """
        d, p, n = self.n_contrasts, self.n_columns, len(self.design)
        odds = np.zeros((n, d + 1))
        odds[:, 1:] = self.design @ beta.reshape(d, p).T
        logs = log_softmax(odds, axis=1)
        whole = np.exp(logs)
        proba = np.ascontiguousarray(whole[:, 1:])
        information = self._information(whole)
        factor, failed = dpotrf(information, lower=1)
        if failed:
            return None
        root = np.ascontiguousarray(dtrtri(factor, lower=1)[0])
        spread = (root.reshape(-1, p) @ self.design.T).reshape(d * p, d, n)
        blocks = np.einsum("kat,kct->tac", spread, spread)
        diagonal = np.einsum("taa->ta", blocks)
        crossed = np.einsum("tac,tc->ta", blocks, proba)
        mean = np.einsum("ta,ta->t", diagonal, proba)
        square = np.einsum("ta,ta->t", crossed, proba)
        change = proba * (diagonal - mean[:, None] - 2 * crossed + 2 * square[:, None])
        of_rows = self.weights[:, 1:] - self.totals[:, None] * proba + 0.5 * self.totals[:, None] * change
        gradient = (self.design.T @ of_rows).T.ravel()
        likelihood = float((self.weights * logs).sum())
        value = likelihood + float(np.log(np.diag(factor)).sum())
        return FirthPoint(self, beta, proba, likelihood, value, gradient, information, spread)

    def _information(self, proba: Floats) -> Floats:
        """Return the Fisher information, (k, k), for the probabilities of all classes, (rows, classes)."""
        d, p = self.n_contrasts, self.n_columns
        found = np.empty((d, p, d, p))
        for a in range(d):
            # the sum of the other probabilities has digits that 1 - p loses where p is almost 1
            rest = np.delete(proba, a + 1, axis=1).sum(axis=1)
            for b in range(a, d):
                own = self.totals * proba[:, a + 1] * (rest if a == b else -proba[:, b + 1])
                found[a, :, b] = found[b, :, a] = (self.design.T * own) @ self.design
        return found.reshape(d * p, d * p)

    def maximise(self, point: FirthPoint, places: Integers) -> Maximum:
        """Return a maximum of ``ℓ*`` over the coefficients in some places, found from a point.

        Steps are those of Newton's method or, if there are many rows, at first those of Fisher scoring.
        """
        for step in range(MOST_STEPS):
            if not len(places):
                return Maximum(point, step, True)
            own = point.gradient[places]
            move = point.solve(own, places, step)
            if float(own @ move) < STATIONARY:
                return Maximum(point, step, True)
            move *= min(1.0, LONGEST_STEP / np.abs(move).max())
            rise = float(own @ move)
            for _ in range(HALVINGS):
                beta = point.beta.copy()
                beta[places] += move
                tried = self.at(beta)
                if (
                    tried is not None
                    and tried.value > point.value - 1e-12 * abs(point.value)
                    and float(tried.gradient[places] @ move) > -MOST_FALL * rise
                ):
                    break
                move, rise = move / 2, rise / 2
            else:
                return Maximum(point, step, False)
            point = tried
        return Maximum(point, MOST_STEPS, False)

    def fit(self) -> FirthFit:
        """Return the highest of the maxima found from 0 and, if rows and coefficients are few, from random starts.

        The fit counts as converged if the search that led to this maximum did.
        """
        best = self._maximum_from(np.zeros(self.size))
        assert best is not None  # the information at 0 is regular, because the design has full column rank
        rng = np.random.default_rng(0)
        for _ in range(MORE_STARTS if self.has_few_rows and self.size <= MOST_RANDOM else 0):
            found = self._maximum_from(rng.normal(0.0, SPREAD, self.size))
            if found is not None and found.point.value > best.point.value + BETTER:
                best = found
        point = best.point
        covariance: Floats = np.asarray(np.linalg.inv(point.information), dtype=np.float64)
        coefficients = point.beta.reshape(self.n_contrasts, self.n_columns).T
        return FirthFit(coefficients, covariance, point.value, point.log_likelihood, best.steps, best.converged)

    def _maximum_from(self, start: Floats) -> Maximum | None:
        """Return the maximum found from some coefficients; None if the information is singular there."""
        point = self.at(start)
        return None if point is None else self.maximise(point, np.arange(self.size))
