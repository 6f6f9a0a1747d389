"""Maximum conditional likelihood of multinomial logistic regressions on features and pairs of features.

Newton's method on the distinct rows, with an upper bound on what is still to be gained. Models that cannot win are
given up early by this bound, and the best model never is. Let δ be the Newton step from probabilities p, and z the
change that it makes to the predictors of a row, minus the mean of this change under p. The functions
``q = p (1 + z)`` sum to 1 and match all moments of the data. If none of them is negative, maximum likelihood gains
at most ``Σ w KL(q || p)``: among all distributions with these moments, the maximum p* has the least divergence from
p, and this divergence is the gain. To second order, the bound equals the gain. It is also valid under separation,
where the likelihood only has a supremum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from anbexact._kernels.multinomial import add_border, add_derivatives, add_predictors, bound, likelihood
from anbexact._runtime.deadline import Deadline
from anbexact.rivals.indicators import Columns, Floats, Labels, Rows, Term

RIDGE = 1e-10
"""Added to the scaled curvature, whose diagonal is 1, because columns may be linear combinations of others."""
LOST = 10.0
"""If a Newton step promises more than this many times what can be gained at all, the curvature has vanished there."""
FAINT = 1e-7
"""Least probability of a row's class at a start; below it, the curvature has no information about that row."""
DROP = 0.01
"""The share of its probability that the class of every row must keep in one step."""
MAX_ITER = 200
"""Maximum number of Newton steps of a fit."""


class Point:
    """Coefficients of a design, with the likelihood and all else that a Newton step needs.

    Attributes
    ----------
    coefficients : (columns, classes but the first) float64
    value : float
        Conditional log likelihood; total in nats.
    p : (rows, classes) float64
        Class probabilities.
    """

    def __init__(self, rows: Rows, design: Columns, coefficients: Floats) -> None:
        self.rows, self.design, self.coefficients = rows, design, coefficients
        self.predictor = changes(design.cells, coefficients)
        self.p = np.empty(rows.weights.shape)
        self.value = float(likelihood(self.predictor, rows.weights, self.p))

    def factorise(self) -> None:
        """Prepare `scale`, `factor` (upper Cholesky, of the scaled curvature) and `solved` (of the gradient)."""
        size = self.coefficients.size
        gradient = np.zeros(self.coefficients.shape)
        curvature = np.zeros((size, size))
        add_derivatives(self.design.cells, self.rows.totals, self.rows.weights, self.p, gradient, curvature)
        self.scale = scales(curvature)
        curvature *= self.scale[:, None]
        curvature *= self.scale
        self.factor = cholesky(curvature.T)
        self.solved = triangular(self.factor, gradient.ravel() * self.scale, transposed=True)
        self._lost = bool((np.abs(gradient.ravel())[self.scale == 0] > self.rows.precision).any())

    def newton(self) -> tuple[Floats, float]:
        """Return the Newton step and its product with the gradient, which is twice the gain of a quadratic function.

        The product is infinite if there is a slope without curvature.
        """
        step = self.scale * triangular(self.factor, self.solved)
        return step.reshape(self.coefficients.shape), np.inf if self._lost else float(self.solved @ self.solved)


def changes(cells: Labels, coefficients: Floats) -> Floats:
    """Return the sum of the coefficients of the columns that each row is in."""
    predictor = np.zeros((len(cells), coefficients.shape[1]))
    add_predictors(cells, coefficients, predictor)
    return predictor


def scales(curvature: Floats) -> Floats:
    """Return the factors that make the diagonal 1; 0 for columns without curvature, which are then not moved."""
    diagonal = np.diagonal(curvature)
    positive = diagonal > 1e-280
    return np.asarray(np.where(positive, 1 / np.sqrt(np.where(positive, diagonal, 1.0)), 0.0))


def cholesky(curvature: Floats) -> Floats:
    """Return the upper factor of a scaled curvature plus a ridge; only the upper triangle is read."""
    ridge = RIDGE
    while True:
        assert np.isfinite(ridge)
        raised = curvature.copy(order="F")
        raised[np.diag_indices(len(raised))] += ridge
        raised[np.diag_indices(len(raised))] += np.where(np.diagonal(curvature) == 0, 1.0, 0.0)
        factor, failed = dpotrf(raised, lower=0, clean=1, overwrite_a=1)
        if not failed:
            return np.asarray(factor)
        ridge *= 100


def triangular(factor: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    """Return the solution of a linear system whose matrix is an upper factor, or the transpose of one."""
    if not len(factor):
        return right.copy()
    solution, _ = dtrtrs(factor, right, lower=0, trans=int(transposed))
    return np.asarray(solution)


def upper_bound(rows: Rows, p: Floats, change: Floats) -> float:
    """Return an upper bound on what is still to be gained; infinite if the step does not provide a bound."""
    divergence, negative = bound(rows.totals, p, change)
    return float(divergence) if negative <= 0.01 * rows.precision else float("inf")


def maximise(
    rows: Rows, design: Columns, start: Floats, *, wanted: Callable[[], float], deadline: Deadline
) -> Point | None:
    """Return the maximum of the conditional likelihood, from coefficients to start from; or None.

    The fit ends when a Newton step promises less than ``rows.precision``; this also happens under separation, where
    the likelihood only has a supremum. The result is None if the maximum is less than ``wanted()``, which may rise in
    the meantime, or if time is up. A bad start, such as one from separated rows, is replaced by coefficients of 0.
    """
    point = Point(rows, design, start)
    at_zero = not start.any()
    for _ in range(MAX_ITER):
        if rows.n_contrasts == 0:
            break
        if not at_zero and (point.p < FAINT)[rows.weights > 0].any():
            point, at_zero = Point(rows, design, np.zeros(start.shape)), True
        point.factorise()
        step, promise = point.newton()
        if not promise > rows.precision:
            break
        to_gain = upper_bound(rows, point.p, changes(design.cells, step)) if promise < np.inf else np.inf
        if point.value + to_gain < wanted() or deadline.passed:
            return None
        lost = promise > LOST * (rows.saturated - point.value) + 1
        moved = None if lost and not at_zero else _along(point, step, promise)
        if moved is None and at_zero:
            break  # nothing left but rounding
        at_zero |= moved is None
        point = Point(rows, design, np.zeros(start.shape)) if moved is None else moved
    return point


def _along(point: Point, step: Floats, promise: float) -> Point | None:
    """Return a better point in the direction of a Newton step; None if there is none.

    The class of no row may lose most of its probability, because no curvature would remain to guide further steps. A
    quadratic function gains half of the promised gain in one step. If the likelihood gains more, its maximum may be
    at infinity, and the step is extended.
    """
    rows, design = point.rows, point.design
    observed = rows.weights > 0
    length = 1.0
    while True:
        moved = Point(rows, design, point.coefficients + length * step)
        gain = moved.value - point.value
        if gain >= 1e-4 * length * promise and (moved.p >= DROP * point.p)[observed].all():
            break
        length /= 2
        if length < 1e-9:
            return None
    while length >= 1 and gain > 0.55 * promise:
        length *= 2
        further = Point(rows, design, point.coefficients + length * step)
        if further.value <= moved.value + 0.1 * rows.precision or not (further.p >= DROP * point.p)[observed].all():
            break
        moved = further
    return moved


def with_term(point: Point, term: Term) -> tuple[Floats, float, float]:
    """Assess a design with one more term by a Newton step from the maximum without it, whose factors all terms share.

    Returns
    -------
    start : (columns, classes but the first) array
        Coefficients after one Newton step, from which a fit can go on; those of the new term come last.
    lower, upper : float
        Bounds on the maximum of the conditional log likelihood.
    """
    rows, design = point.rows, point.design
    labels, size = rows.labels(term)
    d = rows.n_contrasts
    if size == 0:  # no row belongs to its columns
        return point.coefficients, point.value, point.value + rows.precision
    gradient = np.zeros((size, d))
    cross = np.zeros((point.coefficients.size, size * d))
    corner = np.zeros((size * d, size * d))
    add_border(design.cells, labels, rows.totals, rows.weights, point.p, gradient, cross, corner)
    scale = scales(corner)
    u = triangular(point.factor, np.asfortranarray(cross * point.scale[:, None] * scale), transposed=True)
    factor = cholesky(corner * scale[:, None] * scale - u.T @ u)
    left = triangular(factor, gradient.ravel() * scale - u.T @ point.solved, transposed=True)
    own = triangular(factor, left)
    rest = point.scale * triangular(point.factor, point.solved - u @ own)
    step = np.concatenate([rest, own * scale]).reshape(-1, d)
    change = changes(design.cells, step[:-size]) + changes(labels[:, None], step[-size:])
    to_gain = upper_bound(rows, point.p, change)
    start = np.concatenate([point.coefficients, np.zeros((size, d))])
    value = float(likelihood(point.predictor + change, rows.weights, np.empty(point.p.shape)))
    if value > point.value:
        return start + step, value, point.value + to_gain
    return start, point.value, point.value + to_gain


def without_term(point: Point, place: int) -> tuple[Columns, Floats, float]:
    """Assess a design without a term by a step from the maximum with it.

    Returns
    -------
    design : Columns
    start : (columns, classes but the first) array
        Coefficients to start from.
    lower : float
        Their conditional log likelihood, which is at most the maximum.
    """
    rows = point.rows
    design, kept = point.design.minus(place)
    plain = Point(rows, design, point.coefficients[kept])
    gone = np.flatnonzero(np.repeat(~kept, rows.n_contrasts))
    if not len(gone):  # no row belongs to its columns
        return design, plain.coefficients, plain.value
    unit = np.zeros((point.coefficients.size, len(gone)), order="F")
    unit[gone, np.arange(len(gone))] = 1.0
    u = triangular(point.factor, unit, transposed=True)
    wanted = point.coefficients.ravel()[gone] / np.where(point.scale[gone] > 0, point.scale[gone], 1.0)
    multiplier, _ = dpotrs(cholesky(u.T @ u), wanted, lower=0)
    moved = point.coefficients - (point.scale * triangular(point.factor, u @ multiplier)).reshape(
        -1, rows.n_contrasts
    )
    better = Point(rows, design, np.ascontiguousarray(moved[kept]))
    best = better if better.value > plain.value else plain
    return design, best.coefficients, best.value
