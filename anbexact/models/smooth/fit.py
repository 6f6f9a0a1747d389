"""The maximum of the conditional log likelihood with a penalty on roughness, and the curvature there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax

from anbexact._kernels.smooth import CONVERGED, UNFINISHED, climb, project, score_variance
from anbexact._kernels.softmax import CLASSES, IMPOSSIBLE, add_cells
from anbexact._runtime.approximate import sufficient
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.tasks import in_threads
from anbexact.models.logit.curvature import (
    BlockCurvature,
    Curvature,
    DenseCurvature,
    Gridded,
    OrderedCurvature,
    RowCurvature,
)
from anbexact.models.logit.design import Design
from anbexact.models.logit.empty_cells import EliminatedCurvature, occupied
from anbexact.models.logit.fit import OUT_OF_TIME, STATIONARY, Fit, padded
from anbexact.models.logit.potentials import Floats
from anbexact.models.smooth.by_parts import PARTS, FitByParts
from anbexact.models.smooth.modes import NO_FACTOR, Factor, Modes
from anbexact.models.smooth.terms import SmoothTerm, Strengths, term_cells
from anbexact.tables.folds import Folding, Part, parts_of

RIDGE = 1e-3
"""Default precision of the Gaussian prior of every shift, without which constants of terms are not identified."""
MOST_KEPT, FEW_KEPT = 500, 20
"""Maximum number of modes of a class that a factor takes together; and, if it only speeds up a fit, number up to
which these may be more than half of the distinct rows: few rows determine few modes, and many modes make iterations
slow."""
PRECISION = 1e-20
"""Squared Newton decrement, in nats per unit of weight, at which a fit ends."""
TO_PREDICT = 1e-7
"""The same for fits of which only predictions are needed (:mod:`anbexact._runtime.approximate`)."""
MAX_ITER = 100
"""Maximum number of Newton steps."""
IN_PARTS = 4_000_000
"""Work of one pass over the rows above which a fit is divided among threads."""
LIMITED_WORK = 500_000
"""The same above which the clock is looked at after every step if there is a limit; without one, it is `IN_PARTS`."""
WHOLE_AT_END = 3e10
"""Maximum number of floating-point operations for an exact curvature at the maximum, which gives standard errors."""
DENSE_CELLS = 2_500
"""Maximum number of cells for which the curvature of two classes may be dense even if that exceeds the budget."""
MOST_OCCUPIED = 0.9
"""Share of cells with rows above which eliminating the other cells does not pay."""


@dataclass(frozen=True, eq=False)
class SmoothProblem:
    """The problem of a smooth fit: rows as cells of terms, and log odds to which shifts of the cells are added.

    Attributes
    ----------
    terms : tuple of SmoothTerm
    cells : (rows, terms) int32
        The cell of every row in every term. Cells are numbered over all terms, one term after the other.
    weights : (rows, classes) float64
        Weight of the rows for every class.
    base : (rows, classes) float64
        Log odds if all shifts are 0, up to a function of the row.
    ridge : float
        Precision of the prior of every shift.
    scores : (classes,) float64, optional
        For classes in an order: shifts are multiples of these scores, but for those of the intercept, which is the
        first term. They sum to 0, and their squares to 1. See :func:`class_scores`.
    folding : Folding or None
        How the weights are divided into folds, as in :class:`~anbexact.models.logit.design.Design`.
    threads : int
        Number of threads among which large fits are divided; results do not depend on it.
    """

    terms: tuple[SmoothTerm, ...]
    cells: np.ndarray
    weights: Floats
    base: Floats
    ridge: float = RIDGE
    scores: Floats | None = None
    folding: Folding | None = None
    threads: int = 1

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
        """The range of cells of every term."""
        return [term.cells for term in self.terms]

    @property
    def pass_work(self) -> int:
        """The work of one pass over the rows: number of distinct rows times terms times classes."""
        return len(self.weights) * len(self.terms) * self.n_classes

    @cached_property
    def rows(self) -> tuple[Any, ...]:
        """The rows as :func:`~anbexact._kernels.smooth.climb` takes them."""
        first = np.array([term.first for term in self.terms], dtype=np.int32)
        columns = np.ascontiguousarray((self.cells - first).T)
        totals, weights, base = self.weights.sum(axis=1), padded(self.weights, 0.0), padded(self.base, IMPOSSIBLE)
        scores = np.zeros(0) if self.scores is None else padded(self.scores[None], 0.0)[0]
        return self.cells, columns, totals, weights, base, self.n_classes, scores

    @property
    def reduced(self) -> tuple[Any, Any, Floats, int]:
        """The cells within their terms, totals, scores and threads, as :meth:`.modes.Factor.gained` takes them."""
        _, columns, totals, _, _, _, scores = self.rows
        return columns, totals, scores, self.threads

    def contrasts(self, term: SmoothTerm) -> Floats:
        """Return the directions in which the shifts of a term's cells can differ by class, (classes, directions).

        They are orthonormal and sum to 0 over the classes.
        """
        if self.scores is not None and term.axes:
            return self.scores[:, None]
        s = self.n_classes
        return np.asarray(np.linalg.svd(np.eye(s) - 1 / s)[0][:, : s - 1])

    def within(self, shift: Floats) -> Floats:
        """Return the nearest shifts that sum to 0 over the classes, or are multiples of the scores."""
        found = np.array(shift, order="C")
        project(found, self.n_classes, self.rows[-1])
        return found

    def weighted(self, weights: Floats) -> SmoothProblem:
        """Return the problem with other weights, and without the rows whose weights are all 0."""
        kept = weights.any(axis=1)
        return replace(self, cells=self.cells[kept], weights=weights[kept], base=self.base[kept], folding=None)

    def parts(self, folds: int) -> list[Part]:
        """Return the folds of the rows."""
        return parts_of(self.weights, self.folding, folds)

    def precisions(self, strengths: Strengths) -> list[Floats]:
        """Return the prior precision of the cells of every term, (cells, cells), the same for every class."""
        return [term.precision(strengths, self.ridge) for term in self.terms]

    def predictors(self, shift: Floats) -> Floats:
        """Return the log odds of every row, up to a function of the row, shape (rows, classes)."""
        total = self.base.copy()
        add_cells(self.cells, shift, total)
        return total


def smooth_problem(
    design: Design,
    terms: Sequence[SmoothTerm],
    base: Floats,
    ridge: float = RIDGE,
    scores: Floats | None = None,
    threads: int = 1,
) -> SmoothProblem:
    """Return the problem of a design's rows, whose log odds without shifts are ``base``, (rows, classes)."""
    cells = term_cells(design, terms)
    return SmoothProblem(tuple(terms), cells, design.weights, base, ridge, scores, design.folding, threads)


def class_scores(order: Sequence[int] | None) -> Floats | None:
    """Return equidistant scores that sum to 0, and whose squares sum to 1; None without an order of three or more.

    If shifts are multiples of the scores, the log odds of each class against the one below it have the same shapes.
    Two classes are not restricted by that.

    Parameters
    ----------
    order : sequence of int, optional
        The numbers of all classes, from the lowest to the highest.
    """
    if order is None or len(order) < 3:
        return None
    ranks = np.argsort(order) - (len(order) - 1) / 2
    return np.asarray(ranks / np.linalg.norm(ranks))


def smooth_fit(
    problem: SmoothProblem,
    strengths: Strengths,
    *,
    start: Floats | None = None,
    near: Factor | None = None,
    variances: bool = False,
    precision: float = PRECISION,
    max_iter: int = MAX_ITER,
    deadline: Deadline | None = None,
) -> tuple[Fit, Factor]:
    """Maximise ``Σ_t w_t ln P(c_t | x_t) - ½ Σ_c δ_cᵀ (Σ_k τ_k S_k + ridge I) δ_c`` over the shifts δ of all cells.

    ``S_k`` are the penalties of :attr:`~anbexact.models.smooth.terms.SmoothTerm.penalties`, the same for every class,
    so that no class is a reference (the guide "Smooth shapes" has the formulas). The ridge applies to all
    cells, including the intercept; shifts sum to 0 over the classes, and are multiples of the problem's scores. The
    objective is strictly concave and has one maximum, which Newton's method with a line search finds from any start.
    Its steps are computed by preconditioned conjugate gradients, in coordinates along the eigenvectors of the
    penalties: see :mod:`anbexact._kernels.smooth`.

    Parameters
    ----------
    problem : SmoothProblem
    strengths : mapping
        τ_k by kind; kinds that are not named are not penalised.
    start : (cells, classes) array, optional
        Shifts from which the fit starts; by default, zeros.
    near : Factor, optional
        The factor of a fit to other rows with the same terms and strengths; it is used until computing a new one is
        quicker, and the information of the modes differs from that of this factor.
    variances : bool, default False
        Whether the factor is needed for the variances of modes (:meth:`.Factor.gained`). If not, it is coarser where
        there are few rows, which is quicker; with ``near``, it may be as coarse as that one.
    precision : float
        Squared Newton decrement per unit of weight at which the fit ends.
    max_iter : int, default 100
        Maximum number of Newton steps.
    deadline : Deadline, optional

    Returns
    -------
    Fit, Factor
        Where the fit ended, and the factor that preconditioned its last steps.
    """
    s, precision = problem.n_classes, sufficient(precision, TO_PREDICT)
    modes = near.modes if near else Modes.of(problem.terms, strengths, problem.ridge)
    values = np.zeros((problem.n_cells, s + -s % CLASSES))
    if start is not None:
        values[:, :s] = modes.of_shifts(problem.within(start))
    arrays = near.arrays if near else NO_FACTOR
    most_kept = MOST_KEPT if variances else min(MOST_KEPT, max(FEW_KEPT, len(problem.weights) // 2))
    limited = deadline is not None and deadline.left < np.inf
    at_once = 1 if problem.pass_work > (min(LIMITED_WORK, IN_PARTS) if limited else IN_PARTS) else max_iter
    message, iterations, decrement, outdated = "", 0, np.inf, False
    with _climber(problem, modes, most_kept, precision) as climb:
        while True:
            late = deadline is not None and deadline.passed
            most = 0 if late or s < 2 else min(at_once, max_iter - iterations)
            status, steps, decrement, log_likelihood, penalised, ascent, arrays, outdated = climb(
                values, arrays, most, decrement, outdated
            )
            iterations += steps
            if status != UNFINISHED or s < 2:
                break
            if late or iterations >= max_iter:
                message = OUT_OF_TIME if late else "max_iter was reached"
                break
    weight = max(float(problem.weights.sum()), 1e-300)
    steepest = float(np.abs(modes.by_shifts(ascent)).max(initial=0.0))
    ended = precision > PRECISION and status == CONVERGED
    rounding = np.finfo(float).eps * float(np.abs(values / modes.scale[:, None]).sum(axis=0).max())
    fit = Fit(
        shift=np.ascontiguousarray(modes.shifts(values)[:, :s]),
        log_likelihood=log_likelihood,
        penalised=penalised,
        gradient=steepest / weight,
        converged=not message and bool(ended or steepest <= STATIONARY * weight + rounding),
        separated=False,
        direction=None,
        iterations=iterations,
        message=message,
    )
    return fit, Factor(modes, arrays)


@contextmanager
def _climber(problem: SmoothProblem, modes: Modes, most_kept: int, precision: float) -> Iterator[Callable[..., Any]]:
    """Yield the kernel ``climb`` with these arguments filled in, or its counterpart by parts if passes are long."""
    rows, prior = problem.rows, modes.prior
    if problem.pass_work > IN_PARTS:
        with in_threads(min(problem.threads, PARTS)) as run:
            yield FitByParts(run, rows, prior, most_kept, precision).climb
    else:
        yield lambda values, arrays, *state: climb(rows, prior, values, arrays, most_kept, precision, *state)


def smooth_curvature(problem: SmoothProblem, strengths: Strengths, shift: Floats) -> Curvature:
    """Return minus the Hessian of the penalised log likelihood: exact, unless that would take long."""
    precisions, p = problem.precisions(strengths), softmax(problem.predictors(shift), axis=1)
    if problem.scores is None:
        return curvature_at(problem, precisions, p, WHOLE_AT_END)
    # Of two equally probable classes, each in half of a row's weight, the log odds along the only contrast have the
    # curvature of the scores.
    half = score_variance(problem.weights.sum(axis=1), p, problem.scores)
    along = curvature_at(
        replace(problem, weights=np.stack([half, half], axis=1)), precisions, np.full((len(p), 2), 0.5), WHOLE_AT_END
    )
    return OrderedCurvature(problem, p, problem.scores, precisions[0].item(), along)


def curvature_at(problem: Gridded, precisions: Sequence[Floats], p: Floats, budget: float) -> Curvature:
    """Return minus the Hessian for class probabilities p, (rows, classes).

    The curvature is exact, in the space of the cells or in the space of the rows, if this takes at most ``budget``
    floating-point operations. For two classes and at most `DENSE_CELLS` cells, it may be exact in the space of the
    cells beyond the budget. Otherwise, it is approximated by blocks. If at least a tenth of the cells have no rows,
    these are eliminated first, unless the curvature is computed in the space of the rows.
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
    """Return the class of the curvature that suits a problem of this size; see :func:`curvature_at`."""
    whole = (n_cells * (n_classes - 1)) ** 3 / 3
    by_rows = 3.0 * n_classes * n_rows**3 + n_rows**2 * n_cells
    if whole <= min(by_rows, budget) or (n_classes == 2 and n_cells <= DENSE_CELLS and whole <= by_rows):
        return DenseCurvature
    return RowCurvature if by_rows <= budget else BlockCurvature
