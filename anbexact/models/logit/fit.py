"""The maximum of the conditional log likelihood, with a Gaussian prior around given potentials or without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, cg

from anbexact._kernels.softmax import (
    AT_RADIUS,
    CLASSES,
    IMPOSSIBLE,
    UNFINISHED,
    add_curvature,
    add_diagonal,
    conjugate_gradients,
    value_and_gradient,
)
from anbexact._runtime.approximate import sufficient
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact.models.logit.design import Design
from anbexact.models.logit.potentials import Floats, Potentials
from anbexact.models.logit.trust_region import minimise

WORK = 50_000_000
"""Number of additions, about a twentieth of a second, between two looks at the clock."""
PRECISION = 1e-7
"""Norm of the gradient at which a fit ends: per unit of weight, each component divided by the root of its curvature.

The curvature is taken per unit of weight, too.
"""
TO_PREDICT = 1e-3
"""The same for fits of which only predictions are needed (:mod:`anbexact._runtime.approximate`)."""
STATIONARY = 1e-6
"""A point counts as a maximum if every component of the gradient per unit of weight is below this, or below the norm
at which the fit was to end.

It is enough if every component is below this times the root of its curvature per unit of weight: under a strong
prior, rounding the last digit of a shift changes the gradient by more than the first bound allows.
"""
STEP = 0.1
"""Change of a row's predictor, in nats, above which a Newton step at the end of a fit counts as one to infinity."""
WRONG = 0.05
"""Share of such a change that may favour a wrong class, because the step is not computed more precisely."""
OUT_OF_TIME = "the time limit passed"
"""The message of a fit that its deadline ended."""
Vector = npt.NDArray[np.float64]


class Stop(NamedTuple):
    """When a fit ends, and how it reports its progress.

    Attributes
    ----------
    precision : float
        Norm of the scaled gradient; see `PRECISION`.
    max_iter : int
        Maximum number of iterations.
    deadline : Deadline, optional
    progress : callable, optional
        Called with the phase and its finished fraction: how far the gradient has fallen towards ``precision``, on a
        logarithmic scale.
    """

    precision: float = PRECISION
    max_iter: int = 500
    deadline: Deadline | None = None
    progress: Progress | None = None


class Effort(NamedTuple):
    """The limits of a refit.

    Attributes
    ----------
    max_iter : int
        Maximum number of iterations of a fit.
    time_limit : float, optional
        Time limit in seconds, after which the best coefficients found so far are returned as not converged. At most
        half of it is spent on choosing the strength of the prior.
    threads : int
        Number of threads for cross-validation, and for large smooth fits.
    progress : callable, optional
        Called with a phase and its finished fraction.
    """

    max_iter: int = 500
    time_limit: float | None = None
    threads: int = 1
    progress: Progress | None = None


@dataclass(frozen=True, eq=False)
class Fit:
    """Where a fit ended.

    Attributes
    ----------
    shift : (cells, classes) float64
        The shifts of the potentials of the observed cells.
    log_likelihood, penalised : float
        Conditional log likelihood, without and with the log prior density (0 at its centre); totals in nats.
    gradient : float
        Largest absolute component of the gradient of ``penalised`` by the shifts, per unit of weight.
    converged : bool
        Whether this is the maximum: the gradient vanishes (to the precision of the fit, which is less in members of a
        pool that only serve to predict), and the rows are not separated.
    separated : bool
        Whether the likelihood has no finite maximum, because it never stops rising along ``direction``.
    direction : (cells, classes) float64 or None
        A direction along which the likelihood of some rows rises without end and that of no row falls; its largest
        entry has the absolute value 1.
    iterations : int
    message : str
        Why the optimiser stopped before it converged; empty if it did converge.
    """

    shift: Floats
    log_likelihood: float
    penalised: float
    gradient: float
    converged: bool
    separated: bool
    direction: Floats | None
    iterations: int
    message: str

    def to_dict(self, shift: Floats | None = None) -> dict[str, Any]:
        """Return the JSON form, with another shift if one is given."""
        return {
            "log_likelihood": self.log_likelihood,
            "penalised": self.penalised,
            "gradient": self.gradient,
            "converged": bool(self.converged),
            "separated": bool(self.separated),
            "iterations": self.iterations,
            "message": self.message,
            "shift": (self.shift if shift is None else shift).ravel().tolist(),
            "direction": None if self.direction is None else self.direction.ravel().tolist(),
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any], shape: tuple[int, int]) -> Fit:
        """Return the fit that :meth:`to_dict` described.

        Raises
        ------
        ValueError
            If its shifts do not have this shape, (cells, classes).
        """
        shift, direction = _finite(described["shift"], shape, "shifts"), described["direction"]
        return cls(
            shift,
            float(described["log_likelihood"]),
            float(described["penalised"]),
            float(described["gradient"]),
            bool(described["converged"]),
            bool(described["separated"]),
            None if direction is None else _finite(direction, shape, "direction"),
            int(described["iterations"]),
            str(described["message"]),
        )


def _finite(values: Sequence[float], shape: tuple[int, int], what: str) -> Floats:
    """Return finite numbers as an array of this shape."""
    found: Floats = np.array(values, dtype=np.float64)
    if found.shape != (shape[0] * shape[1],) or not np.isfinite(found).all():
        raise ValueError(f"the {what} of the refit are not {shape[0]} by {shape[1]} finite numbers")
    return found.reshape(shape)


class _Objective:
    """Minus the penalised conditional log likelihood per unit of weight, as a function of z = scale · shift.

    With the scale, the curvature by every component of z is 1 at the shifts of the last :meth:`scaled_at`. So cells
    with few rows and cells with many, and tables of any weight, look alike to the optimiser.
    """

    def __init__(
        self, design: Design, weights: Floats, centre: Potentials, l2: float, deadline: Deadline | None = None
    ) -> None:
        self._cells = design.cells
        self._weights = padded(weights, 0.0)
        self._totals = weights.sum(axis=1)
        self._weight = float(weights.sum())
        self._base = padded(design.sums(centre), IMPOSSIBLE)
        self._l2 = l2
        self._deadline = deadline
        self.shape = (design.n_cells, design.n_classes)
        self._probability = np.zeros(self._base.shape)
        self._known: Vector | None = None
        self._value: tuple[float, Vector] = (0.0, np.empty(0))
        self.scale = np.ones(self.shape)

    def scaled_at(self, shift: Floats) -> Vector:
        """Set the scale according to the curvature at these shifts, and return them as z."""
        self.scale, self._known = np.ones(self.shape), None
        value, slope = self.value(shift.ravel())
        curvature = np.full(self._base.shape[1:], self._l2) + np.zeros((len(shift), 1))
        add_diagonal(self._cells, self._totals, self._probability, curvature)
        curvature = curvature[:, : self.shape[1]]
        steepest = float(curvature.max())
        if steepest > 0:
            self.scale = np.sqrt(np.maximum(curvature, 1e-6 * steepest) / self._weight)
        self._known, self._value = (shift * self.scale).ravel(), (value, slope / self.scale.ravel())
        return self._known.copy()

    def shift(self, z: Vector) -> Floats:
        """Return the shifts that correspond to z, (cells, classes)."""
        return z.reshape(self.shape) / self.scale

    def log_likelihood(self, z: Vector) -> float:
        """Return the conditional log likelihood without the prior; total in nats."""
        shift = self.shift(z)
        return -self._weight * self.value(z)[0] + self._l2 / 2 * float(np.vdot(shift, shift))

    def value(self, z: Vector) -> tuple[float, Vector]:
        """Return the objective and its gradient.

        Raises
        ------
        _StoppedError
            If z is not finite, as can happen after a step where the curvature has almost vanished.
        """
        if not np.isfinite(z).all():
            raise _StoppedError("the optimiser broke down")
        if self._known is not None and np.array_equal(self._known, z):
            return self._value
        shift = padded(self.shift(z), 0.0)
        gradient = self._l2 * shift
        arrays = (self._cells, self._totals, self._weights, self._base, shift)
        value = value_and_gradient(*arrays, self._probability, gradient)
        self._known = z.copy()
        value -= self._l2 / 2 * float(np.vdot(shift, shift))
        self._value = -value / self._weight, self._by_z(gradient)
        return self._value

    def curvature(self, z: Vector, direction: Vector) -> Vector:
        """Return the product of the Hessian at z and a direction.

        Raises
        ------
        _StoppedError
            After the deadline: a single step can take hundreds of products.
        """
        if self._deadline is not None and self._deadline.passed:
            raise _StoppedError(OUT_OF_TIME)
        if self._known is None or not np.array_equal(self._known, z):
            self.value(z)
        moved = padded(self.shift(direction), 0.0)
        product = self._l2 * moved
        add_curvature(self._cells, self._totals, self._probability, moved, product)
        return self._by_z(product)

    def step(self, z: Vector, radius: float, tolerance: float) -> tuple[Vector, float, bool]:
        """Return a step from z by conjugate gradients; see :class:`.trust_region.Objective`.

        Raises
        ------
        _StoppedError
            After the deadline: a single step can take hundreds of products.
        """
        gradient = self.value(z)[1].reshape(self.shape)
        slope = padded(gradient.copy(), 0.0)
        step, direction = np.zeros(slope.shape), -slope
        shift_per_unit = padded(1 / self.scale, 0.0)
        model = (self._cells, self._totals, self._probability, shift_per_unit, self._l2, self._weight)
        most = max(WORK // max(self._cells.size * slope.shape[1], 1), 1)
        status = UNFINISHED
        while status == UNFINISHED:
            if self._deadline is not None and self._deadline.passed:
                raise _StoppedError(OUT_OF_TIME)
            status = conjugate_gradients(*model, radius, tolerance, most, step, slope, direction)
        step, slope = step[:, : self.shape[1]], slope[:, : self.shape[1]]
        decrease = -(float(np.vdot(gradient, step)) + float(np.vdot(slope, step))) / 2
        return step.ravel(), decrease, bool(status == AT_RADIUS)

    def _by_z(self, by_shift: Floats) -> Vector:
        """Return a derivative by z, given the derivative by the padded shifts, which is not per unit of weight."""
        return np.asarray((by_shift[:, : self.shape[1]] / (self._weight * self.scale)).ravel())


def padded(values: Floats, filler: float) -> Floats:
    """Return values with further columns of a filler, up to a multiple of `CLASSES`, as the kernels need them."""
    lacking = -values.shape[1] % CLASSES
    if lacking == 0:
        return np.ascontiguousarray(values)
    padded = np.full((len(values), values.shape[1] + lacking), filler)
    padded[:, : values.shape[1]] = values
    return padded


class _StoppedError(Exception):
    """Raised within the optimiser to stop it; its text is the reason."""


def fit(
    design: Design,
    centre: Potentials,
    l2: float,
    *,
    weights: Floats | None = None,
    start: Floats | None = None,
    stop: Stop | None = None,
) -> Fit:
    """Maximise ``Σ_t w_t ln P(c_t | x_t) - l2/2 · Σ shift²`` over the shifts of the potentials' observed cells.

    Cells without rows are not shifted. Without a prior, the fit does not move along directions in which the
    likelihood does not change at all; there are always some, because families overlap.

    Parameters
    ----------
    design : Design
        The rows.
    centre : tuple of Potential
        The potentials whose shifts are 0; the fit starts there.
    l2 : float
        Precision of the Gaussian prior of every shift; 0 for maximum likelihood.
    weights : (rows, classes) array, optional
        Weights of the rows in place of those of the design.
    start : (cells, classes) array, optional
        Other shifts to start from; they are used if the objective is no worse there than at zero shifts.
    stop : Stop, optional
        When the fit ends.

    Returns
    -------
    Fit
        Never worse than the centre.
    """
    stop = stop or Stop()
    stop = stop._replace(precision=sufficient(stop.precision, TO_PREDICT))
    weights = design.weights if weights is None else weights
    objective = _Objective(design, weights, centre, l2, stop.deadline)
    z = objective.scaled_at(np.zeros(objective.shape))
    if start is not None:
        least = objective.value(z)[0]
        moved = objective.scaled_at(start)
        z = moved if objective.value(moved)[0] <= least else objective.scaled_at(np.zeros(objective.shape))
    iterations, message = 0, ""
    if design.n_classes > 1:
        z, iterations, message = _maximise(objective, z, stop)
    shift = objective.shift(z)
    _, gradient = objective.value(z)
    log_likelihood = objective.log_likelihood(z)
    steepest = float(np.abs(gradient.reshape(objective.shape) * objective.scale).max(initial=0.0))
    stationary = min(steepest, float(np.abs(gradient).max(initial=0.0))) <= max(STATIONARY, stop.precision)
    direction, settled = None, True
    if l2 == 0 and design.n_classes > 1:
        try:
            direction, settled = _towards_infinity(objective, design, weights, z, gradient)
        except _StoppedError as stopped:
            settled, message = False, str(stopped)
    if not settled and direction is None:
        growing = "the likelihood keeps growing: the rows may be separated"
        message = f"{message.rstrip('.')}; {growing}" if message else growing
    return Fit(
        shift=shift,
        log_likelihood=log_likelihood,
        penalised=log_likelihood - l2 / 2 * float(np.vdot(shift, shift)),
        gradient=steepest,
        converged=stationary and settled,
        separated=direction is not None,
        direction=direction,
        iterations=iterations,
        message=message,
    )


def _maximise(
    objective: _Objective,
    z: Vector,
    stop: Stop,
) -> tuple[Vector, int, str]:
    """Run the optimiser from z; return where it ended, the number of iterations, and what stopped it early, or ""."""
    _, gradient = objective.value(z)
    decades = log(max(float(np.linalg.norm(gradient)) / stop.precision, 2.0))
    reached = z
    iterations = 0

    def watch(z: Vector) -> None:
        nonlocal reached, iterations
        reached = z.copy()
        iterations += 1
        if stop.progress is not None:
            left = max(float(np.linalg.norm(objective.value(z)[1])) / stop.precision, 1.0)
            stop.progress("refit", max(0.0, 1 - log(left) / decades))
        if stop.deadline is not None and stop.deadline.passed:
            raise _StoppedError(OUT_OF_TIME)

    try:
        found, message = minimise(objective, z, precision=stop.precision, max_iter=stop.max_iter, watch=watch)
    except _StoppedError as stopped:
        return reached, iterations, str(stopped)
    return found, iterations, message


def _towards_infinity(
    objective: _Objective,
    design: Design,
    weights: Floats,
    z: Vector,
    gradient: Vector,
) -> tuple[Floats | None, bool]:
    """Return a direction along which the likelihood never stops rising, if one is found, and whether z is a maximum.

    A cell in which some class does not occur gives such a direction: lower that class there. Otherwise, the Newton
    step at z decides. It is 0 at a finite maximum. On the way to infinity, however, every step adds about 1 to the
    predictors of the separated rows, however flat the likelihood has become. Such a step is a direction of separation
    only if it favours no class over one that the row has.
    """
    occurs = design.by_cell(weights)
    never = (occurs.sum(axis=1, keepdims=True) > 0) & (occurs == 0)
    if never.any():
        return -never.astype(np.float64), False
    hessian = LinearOperator((len(z), len(z)), matvec=lambda v: objective.curvature(z, v), dtype=np.float64)
    step, _ = cg(hessian, -gradient, rtol=1e-2, maxiter=300)
    shift = objective.shift(step)
    change = design.by_row(shift)
    reach = float(np.ptp(change[weights.sum(axis=1) > 0], axis=1).max(initial=0.0))
    wrong = float((change.max(axis=1, keepdims=True) - change)[weights > 0].max(initial=0.0))
    if reach <= STEP:
        return None, True
    return (np.asarray(shift / np.abs(shift).max()) if wrong <= WRONG * reach else None), False
