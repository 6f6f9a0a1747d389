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
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact.models.logit.design import Design
from anbexact.models.logit.potentials import Floats, Potentials
from anbexact.models.logit.trust_region import minimise

"""A trust-region method, which is the default, and scipy's Newton-CG; see ``python -m benchmarks.speed refit``."""
WORK = 50_000_000
"""Number of additions, about a twentieth of a second, between two looks at the clock."""
PRECISION = 1e-7
"""Norm of the gradient per unit of weight at the end, every component divided by the root of its curvature."""
STATIONARY = 1e-6
"""A maximum has a gradient below this per unit of weight in every component, or one below this times the root of its
curvature: a strong prior turns the last digit of a shift into more."""
STEP = 0.1
"""A Newton step that changes a row's predictor by more at the end of a fit is one towards infinity."""
WRONG = 0.05
"""Share of such a change that may go to a wrong class, as a step is only computed so precisely."""
OUT_OF_TIME = "the time limit passed"
"""Why a fit ended that its deadline ended."""
Vector = npt.NDArray[np.float64]


class Stop(NamedTuple):
    """When a fit ends, and how it reports its progress.

    Attributes
    ----------
    precision : float
        Of the scaled gradient.
    max_iter : int
        Most iterations.
    deadline : Deadline, optional
    progress : callable, optional
        Told the phase, and how much of the gradient has vanished.
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
        Most iterations.
    time_limit : float, optional
        Seconds after which the best so far is returned, not converged; half of it at most for the strength of the
        prior.
    threads : int
        For cross-validation.
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
        Largest component of the gradient of ``penalised`` by the shifts, per unit of weight.
    converged : bool
        Whether this is the maximum: the gradient vanishes, and the rows are not separated.
    separated : bool
        Whether the likelihood has no finite maximum: it grows for ever along ``direction``.
    direction : (cells, classes) float64 or None
        A direction in which no row's likelihood falls and some rows' rises, for ever; its largest entry is 1.
    iterations : int
    message : str
        The message of the optimiser, if it did not converge.
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
    """Minus the penalised conditional log likelihood per unit of weight, by the scaled shifts z = scale · shift.

    The scale makes the curvature of every z 1 where :meth:`scaled_at` was called last, so that cells with few and
    with many rows, and tables of any weight, look alike to the optimiser.
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
        """Set the scale by the curvature at these shifts; return them as z."""
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
        """Return the conditional log likelihood; total in nats, without the prior."""
        shift = self.shift(z)
        return -self._weight * self.value(z)[0] + self._l2 / 2 * float(np.vdot(shift, shift))

    def value(self, z: Vector) -> tuple[float, Vector]:
        """Return the objective and its gradient.

        Raises
        ------
        _StoppedError
            If z is not a number, as can happen after a step where the curvature has almost vanished.
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
        """Return a step from z by conjugate gradients, as :class:`.trust_region.Objective` says.

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
        """Return a derivative of the objective by z, given minus that of the likelihood by the shifts."""
        return np.asarray((by_shift[:, : self.shape[1]] / (self._weight * self.scale)).ravel())


def padded(values: Floats, filler: float) -> Floats:
    """Return values padded to the number of columns that the kernels need."""
    lacking = -values.shape[1] % CLASSES
    if lacking == 0:
        return np.ascontiguousarray(values)
    padded = np.full((len(values), values.shape[1] + lacking), filler)
    padded[:, : values.shape[1]] = values
    return padded


class _StoppedError(Exception):
    """Raised within the optimiser, with the reason."""


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

    Cells that no row has are not shifted. Without prior, directions in which the likelihood does not change at all
    (families overlap, so there always are some) are not gone along.

    Parameters
    ----------
    design : Design
        The rows.
    centre : tuple of Potential
        Where the shifts are 0, and the start.
    l2 : float
        Precision of the Gaussian prior of every shift; 0 for maximum likelihood.
    weights : (rows, classes) array, optional
        Instead of those of the design.
    start : (cells, classes) array, optional
        Other shifts to start from, if they are no worse than zero shifts.
    stop : Stop, optional
        When the fit ends.

    Returns
    -------
    Fit
        Never worse than the centre.
    """
    stop = stop or Stop()
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
    stationary = min(steepest, float(np.abs(gradient).max(initial=0.0))) <= STATIONARY
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
    """Run an optimiser; return where it ended, no worse than z, its iterations, and what stopped it early."""
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
    """Return a direction along which the likelihood grows without limit, if one is found, and whether z is a maximum.

    A cell in which some class does not occur gives a direction: less of that class there. Otherwise, the end of the
    fit decides: at a finite maximum the Newton step is zero, while on the way to infinity every step adds about 1 to
    the predictors of the separated rows, however flat the likelihood has become. Such a step is checked: it must not
    favour any class over one that the row has.
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
