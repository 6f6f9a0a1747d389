"""The maximum of the conditional log likelihood with a penalty on roughness, and the curvature there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anbexact._kernels.softmax import CLASSES, IMPOSSIBLE, add_cells, add_curvature, value_and_gradient
from anbexact._runtime.deadline import Deadline
from anbexact.logit.curvature import Curvature, curvature_at
from anbexact.logit.design import Design
from anbexact.logit.fit import OUT_OF_TIME, STATIONARY, Fit
from anbexact.logit.potentials import Floats
from anbexact.logit.smooth_terms import SmoothTerm, Strengths, term_cells

RIDGE = 1e-3
"""Precision of the Gaussian prior of every cell beside the penalty on roughness: constants of terms are redundant."""
PRECISION = 1e-16
"""Squared Newton decrement per unit of weight at the end of a fit."""
ROUNDING = 1e-14
"""Squared Newton decrement, as a share of the objective, below which the value no longer tells points apart."""
STALLED = 1e-10
"""Squared Newton decrement, as a share of the objective, below which steps that no longer lower it are rounding."""
MAX_ITER = 100
MOST_PRODUCTS = 200
"""Products of the Hessian for one step."""
WHOLE = 2e9
"""Floating-point operations that the whole curvature may take on the way to a maximum: some ten milliseconds."""
WHOLE_AT_END = 3e10
"""Those that it may take for standard errors."""
FEW_PRODUCTS = 15
"""Products up to which the curvature of an earlier point still does as preconditioner, for few cells."""
CELLS_A_PRODUCT = 50
"""For so many cells, one product more is worth while: new factors take cells³ operations, a product cells²."""


@dataclass(frozen=True, eq=False)
class SmoothProblem:
    """Rows as cells of terms, and what the shifts of the cells are added to.

    Attributes
    ----------
    terms : tuple of SmoothTerm
    cells : (rows, terms) int32
        Ascending: those of a term follow those of the term before.
    weights : (rows, classes) float64
        Weight of the rows with every class.
    base : (rows, classes) float64
        Log odds, up to a function of the row, where all shifts are 0.
    ridge : float
        Precision of the prior of every shift.
    """

    terms: tuple[SmoothTerm, ...]
    cells: np.ndarray
    weights: Floats
    base: Floats
    ridge: float = RIDGE

    @property
    def n_cells(self) -> int:
        """Number of cells of all terms."""
        return self.terms[-1].first + self.terms[-1].size

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.weights.shape[1])

    def weighted(self, weights: Floats) -> SmoothProblem:
        """Return the problem with other weights of the rows."""
        kept = weights.any(axis=1)
        return replace(self, cells=self.cells[kept], weights=weights[kept], base=self.base[kept])

    def precisions(self, strengths: Strengths) -> list[Floats]:
        """Return the prior precision of the cells of every term, (cells, cells), the same for every class."""
        return [term.precision(strengths, self.ridge) for term in self.terms]

    def predictors(self, shift: Floats) -> Floats:
        """Return the log odds of every row, up to a function of the row, shape (rows, classes)."""
        total = self.base.copy()
        add_cells(self.cells, shift, total)
        return total


def smooth_problem(design: Design, terms: Sequence[SmoothTerm], base: Floats, ridge: float = RIDGE) -> SmoothProblem:
    """Return the rows of a design as cells of terms; ``base`` (rows, classes) is what shifts are added to."""
    return SmoothProblem(tuple(terms), term_cells(design, terms), design.weights, base, ridge)


class _State:
    """Shifts, with the value and the gradient of the penalised log likelihood there."""

    def __init__(self, problem: SmoothProblem, precisions: Sequence[Floats], shift: Floats) -> None:
        s = problem.n_classes
        self.problem, self.precisions, self.shift = problem, precisions, shift
        self._totals = problem.weights.sum(axis=1)
        probability = np.zeros((len(problem.base), s + -s % CLASSES))
        gradient = np.zeros((len(shift), probability.shape[1]))
        padded = [_wide(problem.weights, 0.0), _wide(problem.base, IMPOSSIBLE), _wide(shift, 0.0)]
        self.log_likelihood = float(value_and_gradient(problem.cells, self._totals, *padded, probability, gradient))
        self._probability = probability
        self.p = np.ascontiguousarray(probability[:, :s])
        rough = self._penalty(shift)
        self.value = self.log_likelihood - float(np.vdot(shift, rough)) / 2
        ascent = -gradient[:, :s] - rough
        self.gradient = ascent - ascent.mean(axis=1, keepdims=True)

    def _penalty(self, shift: Floats) -> Floats:
        product = np.empty_like(shift)
        for term, precision in zip(self.problem.terms, self.precisions, strict=True):
            product[term.cells] = precision @ shift[term.cells]
        return product

    def product(self, direction: Floats) -> Floats:
        """Return minus the Hessian times a direction that sums to 0 over the classes."""
        found = np.zeros((len(direction), self._probability.shape[1]))
        add_curvature(self.problem.cells, self._totals, self._probability, _wide(direction, 0.0), found)
        return np.asarray(found[:, : direction.shape[1]] + self._penalty(direction))

    def curvature(self) -> Curvature:
        """Return minus the Hessian, whole or in blocks."""
        return curvature_at(self.problem, self.precisions, self.p, WHOLE)

    def step(self, curvature: Curvature, precision: float) -> tuple[Floats, int]:
        """Return the Newton step, and how many products it took.

        By conjugate gradients if the curvature is not exact, which preconditions them then.
        """
        step = curvature.solve(self.gradient)
        if curvature.exact:
            return step, 0
        residual = self.gradient - self.product(step)
        first = z = curvature.solve(residual)
        direction, size = first, float(np.vdot(residual, z))
        target = precision**2 * float(np.vdot(self.gradient, step))
        products = 1
        while products < MOST_PRODUCTS and size > target:
            products += 1
            product = self.product(direction)
            length = size / float(np.vdot(direction, product))
            step = step + length * direction
            residual = residual - length * product
            z = curvature.solve(residual)
            size, before = float(np.vdot(residual, z)), size
            direction = z + size / before * direction
        return step, products


def _wide(values: Floats, filler: float) -> Floats:
    """Return values with as many columns as the kernels want."""
    lacking = -values.shape[1] % CLASSES
    if not lacking:
        return np.ascontiguousarray(values)
    return np.hstack([values, np.full((len(values), lacking), filler)])


def smooth_fit(
    problem: SmoothProblem,
    strengths: Strengths,
    *,
    start: Floats | None = None,
    precision: float = PRECISION,
    max_iter: int = MAX_ITER,
    curvature_too: bool = True,
    deadline: Deadline | None = None,
) -> tuple[Fit, Curvature]:
    """Maximise ``Σ_t w_t ln P(c_t | x_t) - ½ Σ_c δ_cᵀ (Σ_k τ_k S_k + ridge I) δ_c`` over the shifts δ of all cells.

    ``S_k`` are the penalties of :attr:`~anbexact.logit.smooth_terms.SmoothTerm.penalties`, the same for every class,
    so that no class is a reference; shifts sum to 0 over the classes. The objective is strictly concave and has one
    maximum, which Newton's method with a line search finds from any start.

    Parameters
    ----------
    problem : SmoothProblem
    strengths : mapping
        τ_k by kind; kinds that are not named have none.
    start : (cells, classes) array, optional
    precision : float
        Squared Newton decrement per unit of weight at which the fit ends.
    max_iter : int, default 100
        Most Newton steps.
    curvature_too : bool, default True
        Whether the curvature must be that at the end; else it may be one of the points before.
    deadline : Deadline, optional

    Returns
    -------
    Fit, Curvature
        Where it ended, and the curvature there.
    """
    precisions = problem.precisions(strengths)
    shift = np.zeros((problem.n_cells, problem.n_classes)) if start is None else start
    state = _State(problem, precisions, shift - shift.mean(axis=1, keepdims=True))
    weight = max(float(problem.weights.sum()), 1e-300)
    message, iterations, decrement = "", 0, np.inf
    curvature, stale = state.curvature(), False
    few = max(FEW_PRODUCTS, problem.n_cells // CELLS_A_PRODUCT)
    while problem.n_classes > 1:
        loose = min(0.1, float(np.abs(state.gradient).max()) / weight)
        step, products = state.step(curvature, max(loose, 1e-8))
        decrement, before = float(np.vdot(state.gradient, step)), decrement
        stalled = before / 4 < decrement <= STALLED * abs(state.value)
        if stalled or decrement <= max(precision * weight, ROUNDING * abs(state.value)):
            state = _State(problem, precisions, state.shift + step)
            break
        if iterations >= max_iter:
            message = "max_iter was reached"
            break
        if deadline is not None and deadline.passed:
            message = OUT_OF_TIME
            break
        better = _line_search(state, step, decrement)
        if better is None:
            break
        state, iterations = better, iterations + 1
        stale = not curvature.exact and products < few
        if not stale:
            curvature = state.curvature()
    if stale and curvature_too:
        curvature = state.curvature()
    steepest = float(np.abs(state.gradient).max(initial=0.0)) / weight
    fit = Fit(
        shift=state.shift,
        log_likelihood=state.log_likelihood,
        penalised=state.value,
        gradient=steepest,
        converged=not message and steepest <= STATIONARY,
        separated=False,
        direction=None,
        iterations=iterations,
        message=message,
    )
    return fit, curvature


def smooth_curvature(problem: SmoothProblem, strengths: Strengths, shift: Floats) -> Curvature:
    """Return minus the Hessian of the penalised log likelihood: whole, unless that would take long."""
    precisions = problem.precisions(strengths)
    return curvature_at(problem, precisions, _State(problem, precisions, shift).p, WHOLE_AT_END)


def _line_search(state: _State, step: Floats, decrement: float) -> _State | None:
    """Return a state that is better by a share of what the step promises; None if rounding hides any gain."""
    length, hidden = 1.0, 10 * ROUNDING * abs(state.value)
    for _ in range(40):
        tried = _State(state.problem, state.precisions, state.shift + length * step)
        if tried.value >= state.value + 1e-4 * length * decrement - hidden:
            return tried
        length /= 2
    return None
