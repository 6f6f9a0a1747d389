"""The mode of the posterior of kernel logistic regression: a penalised fit in a basis of functions of the rows."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.optimize import minimize

from anbexact._kernels.dense_softmax import dense_value_and_gradient
from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline

STATIONARY = 1e-7
"""Decrease of the objective in an iteration at which a fit ends, in nats per unit of weight; relative to the
objective where this is above 1."""
FEWEST_ITERATIONS, MORE_CLASSES = 10, {8: 10, 4: 30}
"""Fewest iterations before the coordinates change; and, by the number of bytes of an entry of the basis, a number of
classes: an iteration takes about as long as (classes + this number) × rows × basis multiplications, or less with few
classes, and a change of coordinates as rows × basis²."""
LONGER_WITH_ROOT = 4
"""How many times as many iterations come before the first change if coordinates are given, which are often good
enough."""
LIMIT_REACHED = 1
"""The status that scipy's L-BFGS gives where the limit of iterations ended a fit."""
CACHED, AT_ONCE = 1 << 22, 1 << 25
"""Numbers of bytes of the basis: those that fit into the processor's cache, and those that are copied at once."""
MOST_CLASSES = {8: 20, 4: 16}
"""By the number of bytes of an entry of the basis, the number of classes up to which a compiled kernel computes the
objective, which is faster than products of matrices then."""


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
    triangular : bool
        Whether B is lower triangular, so that half of the work is left out with few classes.
    """

    def __init__(
        self, basis: Floats, weights: Floats, biases: Floats, l2: float, *, triangular: bool = False
    ) -> None:
        self._basis, self._weights, self._biases, self._l2 = np.ascontiguousarray(basis), weights, biases, l2
        self._triangular = triangular
        self._per_row, self._total = weights.sum(axis=1), float(weights.sum())
        self.n_classes = weights.shape[1]
        self._contrasts = _contrasts(self.n_classes)
        self.shape = basis.shape[1] + 1, self.n_classes - 1
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

    def _posteriors(self, part: slice, own: Floats) -> tuple[Floats, float]:
        """Return P(class | row) of some rows, and their log likelihood."""
        odds = (self._basis[part] @ own[:-1].astype(self.precision)) @ self._contrasts.T + self._constant(own)
        odds -= odds.max(axis=1, keepdims=True)
        found = np.exp(odds)
        sums = found.sum(axis=1, keepdims=True)
        found /= sums
        return found, float(np.vdot(self._weights[part], odds) - self._per_row[part] @ np.log(sums[:, 0]))

    def value_and_gradient(self, own: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient at some coordinates."""
        gradient, value = self._l2 * own, self._l2 / 2 * float(np.vdot(own, own))
        if self.n_classes <= MOST_CLASSES[self.precision.itemsize]:
            value -= self._add_at_once(own, gradient)
        else:
            value -= self._add_by_parts(own, gradient)
        return value / self._total, gradient / self._total

    def _add_at_once(self, own: Floats, gradient: Floats) -> float:
        """Return the log likelihood, and add minus its gradient."""
        vectors = np.ascontiguousarray(own[:-1].T, self.precision)
        by_vectors, by_constant = np.zeros(vectors.shape), np.zeros(self.n_classes)
        log_likelihood: float = dense_value_and_gradient(
            self._basis,
            self._triangular,
            self._weights,
            self._per_row,
            self._contrasts,
            vectors,
            self._constant(own),
            by_vectors,
            by_constant,
        )
        gradient[:-1] += by_vectors.T
        gradient[-1] += by_constant @ self._contrasts
        return log_likelihood

    def _add_by_parts(self, own: Floats, gradient: Floats) -> float:
        """Return the log likelihood, and add minus its gradient, which is quicker with many classes."""
        log_likelihood = 0.0
        for part in self._parts(CACHED):  # the second product with a part of the basis finds it in the cache
            excess, of_part = self._posteriors(part, own)
            log_likelihood += of_part
            excess *= self._per_row[part, None]
            excess -= self._weights[part]
            by_odds = excess @ self._contrasts
            gradient[:-1] += self._basis[part].T @ by_odds.astype(self.precision)
            gradient[-1] += by_odds.sum(axis=0)
        return log_likelihood

    def mean_curvature(self, own: Floats) -> Floats:
        """Return the mean over the classes of the second derivatives by the coefficients of a class, at coordinates.

        A matrix of shape (basis + 1, basis + 1), positive definite but for rounding errors, which are large in single
        precision.
        """
        found = np.zeros((len(own), len(own)))
        for part in self._parts(AT_ONCE):
            of_classes, _ = self._posteriors(part, own)
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
    root : (basis + 1, basis + 1) float64 or None
        The Cholesky factor of the mean curvature at the last change of coordinates; None if there was none.
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

    L-BFGS (Liu and Nocedal, *On the limited memory BFGS method for large scale optimization*, 1989) begins at
    ``start``, or at 0, and ends when an iteration decreases the objective by no more than `STATIONARY`, or by no more
    than a ``share`` of its value. If that takes longer than a change of coordinates, it begins anew where it is, in
    coordinates in which the mean curvature there is the identity (preconditioning). The coordinates change again
    after the same number of iterations, then after twice and four times that number, and so on, as long as there is
    time. With a ``root``, that of a similar objective near its minimum, it begins in the coordinates that this gives,
    which change only after `LONGER_WITH_ROOT` times as many iterations.
    """
    before = inf

    def check(intermediate_result: Any) -> None:  # the name by which scipy passes the result
        nonlocal before
        value = float(intermediate_result.fun)
        if deadline.passed or (share > 0 and before - value <= share * value):
            raise StopIteration
        before = value

    own = np.zeros(objective.shape) if start is None else objective.coordinates(start)
    more = MORE_CLASSES[objective.precision.itemsize]
    most = max(FEWEST_ITERATIONS, objective.shape[0] // (objective.n_classes + more))
    most *= 1 if root is None else LONGER_WITH_ROOT
    while True:
        options: Any = {"maxiter": most, "maxfun": 10 * most, "maxcor": 20, "ftol": STATIONARY, "gtol": 0}
        first = own if root is None else root.T @ own
        function: Any = _in_coordinates(objective, root)
        left, before = deadline.left, inf
        found = minimize(function, first.ravel(), jac=True, method="L-BFGS-B", callback=check, options=options)
        own = _coordinates(root, found.x.reshape(objective.shape))
        if found.status != LIMIT_REACHED or deadline.passed:
            return Mode(objective.coefficients(own), root)
        most = most if root is None else 2 * most
        if left == inf or deadline.left > left - deadline.left:  # a change takes about as long as these iterations
            root = _root(objective.mean_curvature(own), np.finfo(objective.precision).eps)


def _contrasts(n_classes: int) -> Floats:
    """Return orthonormal vectors that add up to 0, as columns, (classes, classes - 1)."""
    found = np.tril(np.ones((n_classes, n_classes)), -1).T[:, 1:]
    found[np.arange(1, n_classes), np.arange(n_classes - 1)] = -np.arange(1, n_classes)
    return np.ascontiguousarray(found / np.linalg.norm(found, axis=0))


def _root(curvature: Floats, rounding: float) -> Floats:
    """Return the Cholesky factor of a matrix, whose diagonal is raised until it is positive definite."""
    raised = rounding * float(np.diagonal(curvature).max())
    while True:
        curvature[np.diag_indices_from(curvature)] += raised
        try:
            return np.asarray(cholesky(curvature, lower=True))
        except LinAlgError:
            raised *= 10


def _in_coordinates(objective: Objective, root: Floats | None) -> Any:
    """Return the function of flat coordinates whose value and gradient are those of the objective.

    The coordinates are the transpose of a Cholesky factor times the coefficients or, without a factor, these.
    """

    def function(flat: Floats) -> tuple[float, Floats]:
        value, gradient = objective.value_and_gradient(_coordinates(root, flat.reshape(objective.shape)))
        if root is not None:
            gradient = solve_triangular(root, gradient, lower=True, overwrite_b=True, check_finite=False)
        return value, gradient.ravel()

    return function


def _coordinates(root: Floats | None, transformed: Floats) -> Floats:
    """Return the coordinates of which others are the transpose of a factor times these."""
    if root is None:
        return transformed
    return np.asarray(solve_triangular(root, transformed, lower=True, trans="T", check_finite=False))
