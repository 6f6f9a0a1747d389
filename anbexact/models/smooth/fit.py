"""The maximum of the conditional log likelihood with a penalty on roughness, and the curvature there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from anbexact._kernels.softmax import CLASSES, IMPOSSIBLE, add_cells, add_curvature, value_and_gradient
from anbexact._runtime.deadline import Deadline
from anbexact.models.logit.curvature import BlockCurvature, Curvature, DenseCurvature, Gridded, RowCurvature
from anbexact.models.logit.design import Design
from anbexact.models.logit.empty_cells import EliminatedCurvature, occupied
from anbexact.models.logit.fit import OUT_OF_TIME, STATIONARY, Fit, padded
from anbexact.models.logit.potentials import Floats
from anbexact.models.smooth.terms import SmoothTerm, Strengths, term_cells

RIDGE = 1e-3
"""Precision of the Gaussian prior of every cell, without which the constants of terms would not be identified."""
PRECISION = 1e-16
"""Squared Newton decrement per unit of weight at the end of a fit."""
NEGLIGIBLE_DECREMENT = 1e-14
"""Squared Newton decrement, as a share of the objective, at which rounding hides any further gain."""
STALLED = 1e-10
"""Squared Newton decrement, as a share of the objective, below which a fit ends if steps no longer lower it."""
SURPLUS = 1e-3
"""Share of the decrement at the end of the fit that an inexact step may leave over."""
MAX_ITER = 100
MOST_PRODUCTS = 200
"""Maximum number of products with the Hessian for one step."""
WHOLE = 2e9
"""Maximum number of floating-point operations for a dense curvature during a fit: tens of milliseconds."""
WHOLE_AT_END = 3e10
"""The same for the curvature at the end, from which standard errors follow."""
DENSE_CELLS = 2_500
"""Maximum number of cells for which the curvature of two classes may be a dense matrix even if that exceeds the
budget."""
MOST_OCCUPIED = 0.9
"""Share of cells that have rows above which eliminating the other cells does not pay."""


@dataclass(frozen=True, eq=False)
class SmoothProblem:
    """The problem of a smooth fit: rows as cells of terms, and log odds to which shifts of the cells are added.

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

    @property
    def blocks(self) -> list[slice]:
        """The cells of every term."""
        return [term.cells for term in self.terms]

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
    """Return the rows of a design as cells of terms; the shifts are added to ``base``, (rows, classes)."""
    return SmoothProblem(tuple(terms), term_cells(design, terms), design.weights, base, ridge)


class Penalty:
    """The prior precisions of the cells of every term.

    Attributes
    ----------
    precisions : list of (size, size) arrays
    """

    def __init__(self, terms: Sequence[SmoothTerm], precisions: Sequence[Floats]) -> None:
        self.precisions = precisions
        places: dict[int, list[int]] = {}
        for place, term in enumerate(terms):
            places.setdefault(term.size, []).append(place)
        self._groups = []
        for size, same in places.items():
            cells = np.array([terms[place].first for place in same])[:, None] + np.arange(size)
            self._groups.append((cells, np.stack([precisions[place] for place in same])))

    def times(self, shift: Floats) -> Floats:
        """Return the product of the precision of all terms, in blocks, and shifts, (cells, classes)."""
        product = np.empty_like(shift)
        for cells, precision in self._groups:
            product[cells] = precision @ shift[cells]
        return product

    def rounding(self, shift: Floats) -> float:
        """Return the possible rounding error of an entry of this product, in which large terms cancel."""
        sizes = [np.max(np.abs(precision) @ np.abs(shift[cells])) for cells, precision in self._groups]
        return float(np.finfo(float).eps * max(sizes, default=0.0))


class _State:
    """Shifts, with the value and the gradient of the penalised log likelihood there."""

    def __init__(self, problem: SmoothProblem, penalty: Penalty, shift: Floats) -> None:
        s = problem.n_classes
        self.problem, self.penalty, self.shift = problem, penalty, shift
        self._totals = problem.weights.sum(axis=1)
        probability = np.zeros((len(problem.base), s + -s % CLASSES))
        gradient = np.zeros((len(shift), probability.shape[1]))
        wide = [padded(problem.weights, 0.0), padded(problem.base, IMPOSSIBLE), padded(shift, 0.0)]
        self.log_likelihood = float(value_and_gradient(problem.cells, self._totals, *wide, probability, gradient))
        self._probability = probability
        self.p = np.ascontiguousarray(probability[:, :s])
        rough = penalty.times(shift)
        self.value = self.log_likelihood - float(np.vdot(shift, rough)) / 2
        ascent = -gradient[:, :s] - rough
        self.gradient = ascent - ascent.mean(axis=1, keepdims=True)
        self.steepest = float(np.abs(self.gradient).max(initial=0.0))

    def product(self, direction: Floats) -> Floats:
        """Return minus the Hessian times a direction that sums to 0 over the classes."""
        found = np.zeros((len(direction), self._probability.shape[1]))
        add_curvature(self.problem.cells, self._totals, self._probability, padded(direction, 0.0), found)
        return np.asarray(found[:, : direction.shape[1]] + self.penalty.times(direction))

    def curvature(self) -> Curvature:
        """Return minus the Hessian, dense or in blocks."""
        return curvature_at(self.problem, self.penalty.precisions, self.p, WHOLE)

    def step(self, curvature: Curvature, *, exact: bool, precision: float, enough: float = 0.0) -> tuple[Floats, int]:
        """Return the Newton step, and how many products it took.

        If the curvature is not exactly that of this point, the step is found by conjugate gradients, preconditioned
        by it. They end when their residual, in the norm of the curvature, is ``precision`` times the gradient, or
        promises a gain of less than ``enough``.
        """
        step = curvature.solve(self.gradient)
        if exact:
            return step, 0
        residual = self.gradient - self.product(step)
        first = z = curvature.solve(residual)
        direction, size = first, float(np.vdot(residual, z))
        target = max(precision**2 * float(np.vdot(self.gradient, step)), enough)
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


def smooth_fit(
    problem: SmoothProblem,
    strengths: Strengths,
    *,
    start: Floats | None = None,
    near: Curvature | None = None,
    precision: float = PRECISION,
    max_iter: int = MAX_ITER,
    curvature_too: bool = True,
    deadline: Deadline | None = None,
) -> tuple[Fit, Curvature]:
    """Maximise ``Σ_t w_t ln P(c_t | x_t) - ½ Σ_c δ_cᵀ (Σ_k τ_k S_k + ridge I) δ_c`` over the shifts δ of all cells.

    ``S_k`` are the penalties of :attr:`~anbexact.models.smooth.terms.SmoothTerm.penalties`, the same for every class,
    so that no class is a reference (``docs/guides/smooth-shapes.md`` has the formulas). The ridge applies to all
    cells, including the intercept; shifts sum to 0 over the classes. The objective is strictly concave and has one
    maximum, which Newton's method with a line search finds from any start.

    Parameters
    ----------
    problem : SmoothProblem
    strengths : mapping
        τ_k by kind; kinds that are not named have none.
    start : (cells, classes) array, optional
    near : Curvature, optional
        The curvature at another point, for similar strengths or most of the rows; it is used until computing a new
        one is quicker.
    precision : float
        Squared Newton decrement per unit of weight at which the fit ends.
    max_iter : int, default 100
        Most Newton steps.
    curvature_too : bool, default True
        Whether the curvature must be that at the end; otherwise, it may be that of an earlier point.
    deadline : Deadline, optional

    Returns
    -------
    Fit, Curvature
        The end of the fit, and the curvature there or nearby.
    """
    penalty = Penalty(problem.terms, problem.precisions(strengths))
    shift = np.zeros((problem.n_cells, problem.n_classes)) if start is None else start
    state = _State(problem, penalty, shift - shift.mean(axis=1, keepdims=True))
    weight = max(float(problem.weights.sum()), 1e-300)
    message, iterations, decrement = "", 0, np.inf
    if near is None or near.few == 0:
        curvature, here = state.curvature(), True
    else:
        curvature, here = near, False
    while problem.n_classes > 1:
        loose = max(min(0.1, state.steepest / weight), 1e-8)
        end = max(precision * weight, NEGLIGIBLE_DECREMENT * abs(state.value))
        step, products = state.step(curvature, exact=here and curvature.exact, precision=loose, enough=end * SURPLUS)
        decrement, before = float(np.vdot(state.gradient, step)), decrement
        stalled = before / 4 < decrement <= STALLED * abs(state.value)
        if stalled or decrement <= end:
            state = _State(problem, penalty, state.shift + step)
            if here or not curvature.exact or state.steepest <= STATIONARY * weight:
                break
            # Very strong penalties leave a gradient from rounding, which a step by the curvature here removes.
            curvature, here = state.curvature(), True
            continue
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
        here = products >= curvature.few
        if here:
            curvature = state.curvature()
    if curvature_too and not here:
        curvature = state.curvature()
    steepest = state.steepest / weight
    vanishes = state.steepest <= STATIONARY * weight + penalty.rounding(state.shift)
    fit = Fit(
        shift=state.shift,
        log_likelihood=state.log_likelihood,
        penalised=state.value,
        gradient=steepest,
        converged=not message and vanishes,
        separated=False,
        direction=None,
        iterations=iterations,
        message=message,
    )
    return fit, curvature


def smooth_curvature(problem: SmoothProblem, strengths: Strengths, shift: Floats) -> Curvature:
    """Return minus the Hessian of the penalised log likelihood: dense, unless that would take long."""
    penalty = Penalty(problem.terms, problem.precisions(strengths))
    return curvature_at(problem, penalty.precisions, _State(problem, penalty, shift).p, WHOLE_AT_END)


def _line_search(state: _State, step: Floats, decrement: float) -> _State | None:
    """Return a state that gains a share of what the step promises; None if rounding hides any gain."""
    length, hidden = 1.0, 10 * NEGLIGIBLE_DECREMENT * abs(state.value)
    for _ in range(40):
        tried = _State(state.problem, state.penalty, state.shift + length * step)
        if tried.value >= state.value + 1e-4 * length * decrement - hidden:
            return tried
        length /= 2
    return None


def curvature_at(problem: Gridded, precisions: Sequence[Floats], p: Floats, budget: float) -> Curvature:
    """Return minus the Hessian where the class probabilities are p (rows, classes).

    The curvature is one matrix, by cells or in the space of the rows, if this takes at most ``budget`` floating-point
    operations. For two classes and at most `DENSE_CELLS` cells, it may be one matrix by cells beyond the budget.
    Otherwise, it is in blocks. If at least a tenth of the cells have no rows, these are eliminated first, unless the
    curvature is found in the space of the rows.
    """
    n, s = problem.weights.shape
    kept = occupied(problem)
    n_kept = int(kept.sum())
    eliminated = n_kept <= MOST_OCCUPIED * problem.n_cells
    kind = _cheapest(n, n_kept if eliminated else problem.n_cells, s, budget)
    if eliminated and kind is not RowCurvature:
        return EliminatedCurvature(problem, precisions, kept, partial(kind, p=p))
    return kind(problem, precisions, p)


def _cheapest(
    n_rows: int, n_cells: int, n_classes: int, budget: float
) -> type[DenseCurvature | RowCurvature | BlockCurvature]:
    """Return the form for a problem of this size."""
    whole = (n_cells * (n_classes - 1)) ** 3 / 3
    by_rows = 3.0 * n_classes * n_rows**3 + n_rows**2 * n_cells
    if whole <= min(by_rows, budget) or (n_classes == 2 and n_cells <= DENSE_CELLS and whole <= by_rows):
        return DenseCurvature
    return RowCurvature if by_rows <= budget else BlockCurvature
