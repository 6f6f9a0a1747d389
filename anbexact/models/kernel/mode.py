"""The mode of the posterior of kernel logistic regression: a penalised fit in a basis of functions of the rows."""

from __future__ import annotations

from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky

from anbexact._kernels.dense_softmax import dense_pass, newton_step
from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.deadline import Deadline

STATIONARY = {8: 1e-7, 4: 1e-5}
"""By the number of bytes of an entry of the basis, the decrease of the objective in a step at which a fit ends, in
nats per unit of weight; relative to the objective where this is above 1."""
MOST_WORK = 1e11
"""Number of multiplications with entries of the basis in all steps after which there is no further one. On letter
(16,900 rows, 2,600 points, 26 classes), these are 90 passes over the basis, which take 15 seconds; what further
passes change is fitted to chance: the log loss of new rows is .098 then, and .105 at the minimum. Fits of other
tables end before."""
LOOSE, NEGLIGIBLE, UNEVEN = 0.5, 0.3, 0.7
"""Conjugate gradients end where the residual is at most the first share of the gradient, in the norm of the
preconditioner; or where a product with the Hessian promises to lower the objective by no more than the second share
of the decrease at which the fit ends, and by no more than the third share of what products so far did on average: the
first ones sometimes promise little, and later ones much."""
SUFFICIENT = 1e-4
"""Share of the decrease that its slope promises, which a step must achieve, or it is halved."""
FEWEST_PASSES, PASSES = 20_000, {8: 0.5, 4: 0.1}
"""How many passes over the basis take as long as the computation of a preconditioner: the first number divided by the
number of functions of the basis, because of what does not depend on it; or, if that is more, the number of functions
divided by that of classes less one, times a number that depends on the number of bytes of an entry of the basis."""
LONGER_WITH_ROOT = 4
"""How many times as many passes come before the first preconditioner if one is given, which is often good enough."""
CACHED, AT_ONCE = 1 << 22, 1 << 25
"""Numbers of bytes of the basis: those that fit into the processor's cache, and those that are copied at once."""
MOST_CLASSES = {8: 20, 4: 16}
"""By the number of bytes of an entry of the basis, the number of classes up to which a compiled kernel passes over
it, which is faster than products of matrices then."""


QUICK = 1_000_000
"""Number of multiplications of a pass up to which all conjugate gradients of a step are one call of a kernel, within
which the clock is not looked at; with one call for every product, the calls would take longer than the passes."""


class Point(NamedTuple):
    """An objective at some coordinates.

    Attributes
    ----------
    value : float
    gradient : (basis + 1, classes - 1) float64
    probability : (rows, classes) float64
        P(class | row).
    """

    value: float
    gradient: Floats
    probability: Floats


class Objective:
    """Minus the penalised log likelihood per unit of weight, as a function of coordinates of the coefficients.

    ``(-Σ_t v_t ln P(c_t | x_t) + λ/2 Σ coefficients²) / Σ_t v_t`` with ``ln P(c | x_t) = b_c + Σ_i B_ti w_ic + w_0c +
    constant``, for rows of weight v_t. The coefficients w are an array of shape (basis + 1, classes), whose last row
    is that of the constant, w_0. At the minimum, their mean over the classes is 0, so that they are U K' for
    coordinates U of shape (basis + 1, classes - 1) and orthonormal contrasts K of the classes.

    Parameters
    ----------
    basis : (rows, basis) float64 or float32
        B. Products with it have its precision; the coordinates have double precision.
    weights : (rows, classes) float64
        Σ of the v_t of equal rows, by class.
    biases : (classes,) float64
        b.
    l2 : float
        λ.
    lengths : (rows,) int64, optional
        Ascending numbers of columns of B beyond which rows have no entries but 0. With few classes, these are left
        out.

    Attributes
    ----------
    quick : bool
        Whether :meth:`step` is available and quicker than single products; see `QUICK`.
    """

    def __init__(
        self, basis: Floats, weights: Floats, biases: Floats, l2: float, lengths: Positions | None = None
    ) -> None:
        self._basis, self._weights, self._biases, self._l2 = np.ascontiguousarray(basis), weights, biases, l2
        self._lengths = np.full(len(basis), basis.shape[1], np.int64) if lengths is None else lengths
        self._per_row, self._total = weights.sum(axis=1), float(weights.sum())
        self.n_rows, self.n_classes = weights.shape
        self._contrasts = _contrasts(self.n_classes)
        self._compiled = self.n_classes <= MOST_CLASSES[basis.dtype.itemsize]
        self.shape = basis.shape[1] + 1, self.n_classes - 1
        self.quick = self._compiled and basis.size * self.shape[1] <= QUICK
        self.precision = basis.dtype

    def coefficients(self, own: Floats) -> Floats:
        """Return the coefficients with some coordinates, shape (basis + 1, classes)."""
        return np.asarray(own @ self._contrasts.T)

    def coordinates(self, coefficients: Floats) -> Floats:
        """Return the coordinates of coefficients whose mean over the classes is 0."""
        return np.asarray(coefficients @ self._contrasts)

    def _parts(self, most_bytes: int) -> list[slice]:
        at_once = max(1, most_bytes // (self._basis.itemsize * self._basis.shape[1]))
        return [slice(start, start + at_once) for start in range(0, len(self._basis), at_once)]

    def _constant(self, own: Floats) -> Floats:
        """Return what is the same in the linear predictors of all rows, (classes,)."""
        return np.asarray(self._biases + self._contrasts @ own[-1])

    def _odds(self, part: slice, own: Floats, constant: Floats) -> Floats:
        """Return the linear predictors of some rows, (rows, classes)."""
        return np.asarray((self._basis[part] @ own[:-1].astype(self.precision)) @ self._contrasts.T + constant)

    def _posteriors(self, part: slice, own: Floats) -> tuple[Floats, float]:
        """Return P(class | row) of some rows, and their log likelihood."""
        odds = self._odds(part, own, self._constant(own))
        odds -= odds.max(axis=1, keepdims=True)
        found = np.exp(odds)
        sums = found.sum(axis=1, keepdims=True)
        found /= sums
        return found, float(np.vdot(self._weights[part], odds) - self._per_row[part] @ np.log(sums[:, 0]))

    def at(self, own: Floats) -> Point:
        """Return the objective at some coordinates."""
        gradient, value = self._l2 * own, self._l2 / 2 * float(np.vdot(own, own))
        probability = np.empty(self._weights.shape)
        if self._compiled:
            value -= self._pass(own, self._constant(own), probability, gradient, curved=False)
        else:
            for part in self._parts(CACHED):  # the second product with a part of the basis finds it in the cache
                probability[part], of_part = self._posteriors(part, own)
                value -= of_part
                excess = probability[part] * self._per_row[part, None] - self._weights[part]
                self._add(part, excess @ self._contrasts, gradient)
        return Point(value / self._total, gradient / self._total, probability)

    def product(self, probability: Floats, own: Floats) -> Floats:
        """Return the product of the Hessian, where the class probabilities are these, and a change of coordinates."""
        found, constant = self._l2 * own, self._contrasts @ own[-1]
        if self._compiled:
            self._pass(own, constant, probability, found, curved=True)
        else:
            for part in self._parts(CACHED):
                change, chance = self._odds(part, own, constant), probability[part]
                change -= np.einsum("tc,tc->t", chance, change)[:, None]
                change *= chance * self._per_row[part, None]
                self._add(part, change @ self._contrasts, found)
        return found / self._total

    def step(self, point: Point, negligible: float, most: int) -> tuple[Floats, int]:
        """Return a step and its number of products, as :func:`_newton_step` without a preconditioner does."""
        step, products = newton_step(
            self._basis,
            self._lengths,
            self._weights,
            self._per_row,
            self._contrasts,
            point.probability,
            self._l2,
            point.gradient,
            LOOSE,
            negligible,
            UNEVEN,
            most,
        )
        return np.asarray(step.T), products

    def _pass(self, own: Floats, constant: Floats, probability: Floats, found: Floats, *, curved: bool) -> float:
        """Call the kernel :func:`.dense_pass`, which adds to ``found``."""
        vectors = np.ascontiguousarray(own[:-1].T, self.precision)
        by_vectors, by_constant = np.zeros(vectors.shape), np.zeros(self.n_classes)
        log_likelihood: float = dense_pass(
            self._basis,
            self._lengths,
            self._weights,
            self._per_row,
            self._contrasts,
            vectors,
            constant,
            probability,
            curved,
            by_vectors,
            by_constant,
        )
        found[:-1] += by_vectors.T
        found[-1] += by_constant @ self._contrasts
        return log_likelihood

    def _add(self, part: slice, by_odds: Floats, found: Floats) -> None:
        """Add derivatives of some rows by their log odds to those by the coordinates."""
        found[:-1] += self._basis[part].T @ by_odds.astype(self.precision)
        found[-1] += by_odds.sum(axis=0)

    def mean_curvature(self, probability: Floats) -> Floats:
        """Return the mean over the classes of the second derivatives by the coefficients of a class.

        The class probabilities of the rows are given. A matrix of shape (basis + 1, basis + 1), positive definite but
        for rounding errors, which are large in single precision.
        """
        found = np.zeros((self.shape[0], self.shape[0]))
        for part in self._parts(AT_ONCE):
            of_classes = probability[part]
            each = self._per_row[part] * (of_classes * (1 - of_classes)).mean(axis=1)
            scaled = self._basis[part] * np.sqrt(each).astype(self._basis.dtype)[:, None]
            found[:-1, :-1] += scaled.T @ scaled
            found[-1, :-1] += each @ self._basis[part]
            found[-1, -1] += each.sum()
        found[:-1, -1] = found[-1, :-1]
        found[np.diag_indices_from(found)] += self._l2
        return found / self._total


class Mode(NamedTuple):
    """Where a fit ended.

    Attributes
    ----------
    coefficients : (basis + 1, classes) float64
    root : (basis + 1, basis + 1) float64 or float32, or None
        The Cholesky factor of the mean curvature, the last preconditioner; None if there was none.
    """

    coefficients: Floats
    root: Floats | None


def mode(
    objective: Objective,
    deadline: Deadline,
    start: Floats | None = None,
    share: float = 0.0,
    root: Floats | None = None,
) -> Mode:
    """Return the coefficients that minimise an objective, or the best found before the deadline.

    Newton's method begins at ``start``, or at 0, and ends when a step decreases the objective by no more than
    `STATIONARY`, or by no more than a ``share`` of its value, or after `MOST_WORK`. Steps are found by conjugate
    gradients: after a step that had to be shortened by half as many, then by twice as many again. If these take
    longer than the factorisation of the mean curvature, this preconditions them; it is computed anew after twice as
    many passes over the basis, then after four times as many, and so on, as long as there is time. A ``root``, that
    of a similar objective near its minimum, preconditions the steps from the first on, and is replaced only after
    `LONGER_WITH_ROOT` times as many passes. In a basis of nearly equal functions, a fit can end before there is a
    preconditioner, and further from the minimum than others.

    References
    ----------
    Nocedal and Wright, *Numerical Optimization* (2006), section 7.1.
    """
    own = np.zeros(objective.shape) if start is None else objective.coordinates(start)
    n_functions, n_contrasts = objective.shape
    by_size = PASSES[objective.precision.itemsize] * n_functions / max(n_contrasts, 1)
    most = ceil(max(FEWEST_PASSES / n_functions, by_size)) * (1 if root is None else LONGER_WITH_ROOT)
    stationary = STATIONARY[objective.precision.itemsize]
    remaining = int(MOST_WORK / max(1, objective.n_rows * n_functions * n_contrasts))
    point, passes, left, limit = objective.at(own), 1, deadline.left, inf
    while True:
        if passes >= most:
            if left == inf or deadline.left > left - deadline.left:  # it takes as long as these passes
                root = _root(objective.mean_curvature(point.probability), objective.precision)
                most *= 2
            passes, left = 0, deadline.left
        enough = max(share * abs(point.value), stationary * max(1.0, abs(point.value)))
        at_most = min(most, limit, max(1, remaining - 1))
        step, products = _newton_step(objective, point, root, NEGLIGIBLE * enough, at_most, deadline)
        slope, size = float(np.vdot(point.gradient, step)), 1.0
        if not slope < 0:
            break
        spent, found = products + 1, objective.at(own + step)
        while not found.value <= point.value + SUFFICIENT * size * slope and -size * slope > enough:
            size, spent = size / 2, spent + 1
            found = objective.at(own + size * step)
        passes, remaining = passes + spent, remaining - spent
        limit = 2 * limit if size == 1 else max(1, products // 2)  # far from the minimum, steps are too long
        decrease = point.value - found.value
        if decrease > 0:
            own, point = own + size * step, found
        if not decrease > enough or remaining <= 0 or deadline.passed:
            break
    return Mode(objective.coefficients(own), root)


def _newton_step(
    objective: Objective, point: Point, root: Floats | None, negligible: float, most: float, deadline: Deadline
) -> tuple[Floats, int]:
    """Return a step from a point by at most ``most`` preconditioned conjugate gradients, and how many these were.

    They end as soon as one of them promises to lower the objective by no more than a negligible amount; see `UNEVEN`.
    """
    if root is None and objective.quick:
        return objective.step(point, negligible, int(most))
    step, residual = np.zeros(objective.shape), -point.gradient
    scaled = _preconditioned(root, residual)
    direction, size = scaled, float(np.vdot(residual, scaled))
    products, promised, least = 0, 0.0, LOOSE**2 * size
    while size > least and products < most:
        product = objective.product(point.probability, direction)
        products += 1
        curvature = float(np.vdot(direction, product))
        if not curvature > 0:  # by rounding
            break
        length = size / curvature
        step += length * direction
        gain = length * size / 2
        promised += gain
        if deadline.passed or (gain <= negligible and products * gain <= UNEVEN * promised):
            break
        residual = residual - length * product  # not in place: without a preconditioner, it is the direction, too
        scaled = _preconditioned(root, residual)
        before, size = size, float(np.vdot(residual, scaled))
        direction = scaled + size / before * direction
    return step, products


def _preconditioned(root: Floats | None, gradient: Floats) -> Floats:
    """Return the inverse of the preconditioner of this Cholesky factor, if there is one, times a gradient."""
    if root is None:
        return gradient
    found = cho_solve((root, True), gradient.astype(root.dtype, copy=False), check_finite=False)
    return np.asarray(found, dtype=np.float64)


def _contrasts(n_classes: int) -> Floats:
    """Return orthonormal vectors that add up to 0, as columns, (classes, classes - 1)."""
    found = np.tril(np.ones((n_classes, n_classes)), -1).T[:, 1:]
    found[np.arange(1, n_classes), np.arange(n_classes - 1)] = -np.arange(1, n_classes)
    return np.ascontiguousarray(found / np.linalg.norm(found, axis=0))


def _root(curvature: Floats, precision: np.dtype[Any]) -> Floats:
    """Return the Cholesky factor of a matrix, whose diagonal is raised until it is positive definite.

    The factor has the precision with which the matrix was computed.
    """
    raised = float(np.finfo(precision).eps * np.diagonal(curvature).max())
    while True:
        curvature[np.diag_indices_from(curvature)] += raised
        try:
            return np.asarray(cholesky(curvature, lower=True), dtype=precision)
        except LinAlgError:
            raised *= 10
