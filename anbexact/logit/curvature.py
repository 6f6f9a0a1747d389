"""Minus the Hessian of a smooth refit, as a whole or as blocks that stand in for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve, solve_triangular
from scipy.sparse import csr_array

from anbexact._kernels.multinomial import add_derivatives
from anbexact.logit.potentials import Floats

if TYPE_CHECKING:
    from anbexact.logit.smooth_fit import SmoothProblem

BLOCK_ENTRIES = 60_000_000
"""Entries up to which the curvature of every class is one dense block; beyond, every term is a block of its own."""
DENSE_CELLS = 2_500
"""Cells up to which the curvature of two classes is a dense matrix."""


class Curvature(ABC):
    """Minus the Hessian of the penalised log likelihood, on shifts that sum to 0 over the classes."""

    @abstractmethod
    def solve(self, gradient: Floats) -> Floats:
        """Return the inverse times a gradient that sums to 0 over the classes, both (cells, classes)."""

    @abstractmethod
    def covariance(self, contrast: Floats) -> Floats:
        """Return the posterior covariance of ``shift @ contrast``, (cells, cells); the contrast sums to 0."""

    @abstractmethod
    def block(self, cells: slice, contrasts: Floats) -> Floats:
        """Return the posterior covariance of ``shift[cells] @ contrasts``, flattened, (cells · contrasts) squared."""

    @property
    @abstractmethod
    def total(self) -> Floats:
        """The covariances of orthonormal contrasts, summed, (cells, cells)."""

    exact = True
    """Whether this is the Hessian itself."""


class DenseCurvature(Curvature):
    """The whole matrix, by log odds against the first class."""

    def __init__(self, problem: SmoothProblem, precisions: Sequence[Floats], p: Floats) -> None:
        self._s = problem.n_classes
        self._d = max(self._s - 1, 0)
        self._k = problem.n_cells
        size = self._k * self._d
        matrix, unused = np.zeros((size, size)), np.zeros((self._k, self._d))
        add_derivatives(problem.cells, problem.weights.sum(axis=1), problem.weights, p, unused, matrix)
        self._to_odds = np.eye(self._d) - 1 / self._s
        for term, precision in zip(problem.terms, precisions, strict=True):
            own = slice(term.first * self._d, (term.first + term.size) * self._d)
            matrix[own, own] += np.kron(precision, self._to_odds)
        self._factor = cho_factor(matrix, lower=True, check_finite=False, overwrite_a=True)

    def solve(self, gradient: Floats) -> Floats:
        odds = cho_solve(self._factor, gradient[:, 1:].ravel()).reshape(self._k, self._d)
        odds = np.hstack([np.zeros((self._k, 1)), odds])
        return np.asarray(odds - odds.mean(axis=1, keepdims=True))

    def _inverse(self) -> Floats:
        whole = cho_solve(self._factor, np.eye(self._k * self._d), check_finite=False)
        return np.asarray(whole).reshape(self._k, self._d, self._k, self._d)

    def covariance(self, contrast: Floats) -> Floats:
        own = contrast[1:]
        columns = np.kron(np.eye(self._k), own[:, None])
        return np.asarray(columns.T @ cho_solve(self._factor, columns))

    def block(self, cells: slice, contrasts: Floats) -> Floats:
        n = cells.stop - cells.start
        columns = np.zeros((self._k * self._d, n * contrasts.shape[1]))
        columns[cells.start * self._d : cells.stop * self._d] = np.kron(np.eye(n), contrasts[1:])
        return np.asarray(columns.T @ cho_solve(self._factor, columns))

    @property
    def total(self) -> Floats:
        return np.asarray(np.einsum("iajb,ab->ij", self._inverse(), self._to_odds, optimize=True))


class BlockCurvature(Curvature):
    """A block for every class, and for every term if there are many cells; exact for two classes and few cells.

    Between classes, the curvature ``p_c (1 - p_c)`` stands in for that of the contrasts of classes, times
    ``s / (s - 1)``, with which it is right on the whole for two classes, and where all s are equally probable.
    """

    def __init__(self, problem: SmoothProblem, precisions: Sequence[Floats], p: Floats) -> None:
        s = problem.n_classes
        totals = problem.weights.sum(axis=1)
        self._k = problem.n_cells
        together = s * self._k**2 <= BLOCK_ENTRIES
        self.exact = s == 2 and together
        self._blocks = [slice(0, self._k)] if together else [term.cells for term in problem.terms]
        self._factors = []
        for c in range(s):
            two = np.stack([1 - p[:, c], p[:, c]], axis=1)
            if len(self._blocks) == 1:
                matrix, unused = np.zeros((self._k, self._k)), np.zeros((self._k, 1))
                add_derivatives(problem.cells, totals, np.zeros_like(two), two, unused, matrix)
                matrices = [s / (s - 1) * matrix + block_diag(*precisions)]
            else:
                curvature = np.zeros(self._k)
                row = totals * two.prod(axis=1) * s / (s - 1)
                for column in problem.cells.T:
                    curvature += np.bincount(column, row, minlength=self._k)
                diagonals = [np.diag(curvature[own]) for own in self._blocks]
                matrices = [one + other for one, other in zip(diagonals, precisions, strict=True)]
            self._factors.append([cho_factor(m, lower=True, check_finite=False) for m in matrices])

    def solve(self, gradient: Floats) -> Floats:
        found = np.empty_like(gradient)
        for c, factors in enumerate(self._factors):
            for own, factor in zip(self._blocks, factors, strict=True):
                found[own, c] = cho_solve(factor, gradient[own, c], check_finite=False)
        return np.asarray(found - found.mean(axis=1, keepdims=True))

    def covariance(self, contrast: Floats) -> Floats:
        found = np.zeros((self._k, self._k))
        for weight, factors in zip(contrast**2, self._factors, strict=True):
            for own, factor in zip(self._blocks, factors, strict=True):
                found[own, own] += weight * cho_solve(factor, np.eye(own.stop - own.start), check_finite=False)
        return found

    def block(self, cells: slice, contrasts: Floats) -> Floats:
        n = cells.stop - cells.start
        found = np.zeros((n * contrasts.shape[1],) * 2)
        for weight, factors in zip(contrasts, self._factors, strict=True):
            for own, factor in zip(self._blocks, factors, strict=True):
                if own.start <= cells.start and cells.stop <= own.stop:
                    unit = np.eye(own.stop - own.start)[:, cells.start - own.start : cells.stop - own.start]
                    found += np.kron(unit.T @ cho_solve(factor, unit, check_finite=False), np.outer(weight, weight))
        return found

    @property
    def total(self) -> Floats:
        s = len(self._factors)
        return self.covariance(np.full(s, np.sqrt(1 - 1 / s)))


class RowCurvature(Curvature):
    """The whole matrix by Woodbury's identity: a block for every class, and their coupling by rows.

    With B_c the block of class c, ``Zᵀ diag(w p_c) Z + S``, and ``U_c = Zᵀ diag(√w p_c)``, minus the Hessian is
    ``diag(B_c) - U Uᵀ``, whose inverse is ``diag(B_c⁻¹) + G (I - Uᵀ G)⁻¹ Gᵀ`` with ``G_c = B_c⁻¹ U_c``. Cheap where
    rows are few and classes are many, and good enough as a preconditioner at points near by.
    """

    exact = False

    def __init__(self, problem: SmoothProblem, precisions: Sequence[Floats], p: Floats) -> None:
        n, width = problem.cells.shape
        self._k, self._s = problem.n_cells, problem.n_classes
        totals = problem.weights.sum(axis=1)
        prior = block_diag(*precisions)
        starts = np.arange(0, n * width + 1, width)
        indicators = csr_array((np.ones(n * width), problem.cells.ravel(), starts), shape=(n, self._k))
        coupling = np.eye(n)
        self._factors, self._gains = [], []
        for c in range(self._s):
            weighted = csr_array(
                (np.repeat(totals * p[:, c], width), problem.cells.ravel(), starts), indicators.shape
            )
            block = prior + (indicators.T @ weighted).toarray()
            factor = cho_factor(block, lower=True, check_finite=False, overwrite_a=True)
            scale = np.sqrt(totals) * p[:, c]
            gain = cho_solve(factor, indicators.T.toarray() * scale, check_finite=False)
            coupling -= scale[:, None] * (indicators @ gain)
            self._factors.append(factor)
            self._gains.append(gain)
        self._coupling = cho_factor(coupling, lower=True, check_finite=False, overwrite_a=True)
        self._prior = precisions

    def solve(self, gradient: Floats) -> Floats:
        found = np.empty_like(gradient)
        along = np.zeros(len(self._coupling[0]))
        for c, (factor, gain) in enumerate(zip(self._factors, self._gains, strict=True)):
            found[:, c] = cho_solve(factor, gradient[:, c], check_finite=False)
            along += gain.T @ gradient[:, c]
        along = cho_solve(self._coupling, along, check_finite=False)
        for c, gain in enumerate(self._gains):
            found[:, c] += gain @ along
        return np.asarray(found - found.mean(axis=1, keepdims=True))

    def _covariance(self, cells: slice, one: Floats, other: Floats) -> Floats:
        """Return the posterior covariance of ``shift[cells] @ one`` and ``shift[cells] @ other``."""
        n = cells.stop - cells.start
        unit = np.zeros((self._k, n))
        unit[cells] = np.eye(n)
        found = np.zeros((n, n))
        for product, factor in zip(one * other, self._factors, strict=True):
            if product:
                found += product * cho_solve(factor, unit, check_finite=False)[cells]
        left, right = (
            sum((a * gain[cells] for a, gain in zip(contrast, self._gains, strict=True) if a), np.zeros((n, 1)))
            for contrast in (one, other)
        )
        return np.asarray(found + left @ cho_solve(self._coupling, right.T, check_finite=False))

    def covariance(self, contrast: Floats) -> Floats:
        return self._covariance(slice(0, self._k), contrast, contrast)

    def block(self, cells: slice, contrasts: Floats) -> Floats:
        n, d = cells.stop - cells.start, contrasts.shape[1]
        found = np.empty((n, d, n, d))
        for a in range(d):
            for b in range(a + 1):
                found[:, a, :, b] = self._covariance(cells, contrasts[:, a], contrasts[:, b])
                found[:, b, :, a] = found[:, a, :, b].T
        return found.reshape(n * d, n * d)

    @property
    def total(self) -> Floats:
        found = -block_diag(*[np.linalg.inv(precision) for precision in self._prior])  # the mean of the classes
        unit = np.eye(self._k)
        lower, _ = self._coupling
        for factor, gain in zip(self._factors, self._gains, strict=True):
            found += cho_solve(factor, unit, check_finite=False)
            root = solve_triangular(lower, gain.T, lower=True, check_finite=False)
            found += root.T @ root
        return np.asarray(found)


def curvature_at(problem: SmoothProblem, precisions: Sequence[Floats], p: Floats, budget: float) -> Curvature:
    """Return minus the Hessian where the class probabilities are p (rows, classes).

    Whole if this takes at most ``budget`` floating-point operations, or for two classes of few cells; else in blocks.
    """
    (n, width), k, s = problem.cells.shape, problem.n_cells, problem.n_classes
    whole = (k * (s - 1)) ** 3 / 3
    by_rows = s * (k**3 / 3 + 2 * k**2 * n + 4 * n**2 * width) + n**3 / 3
    if (s == 2 and k <= DENSE_CELLS) or whole <= min(by_rows, budget):
        return DenseCurvature(problem, precisions, p)
    return (RowCurvature if by_rows <= budget else BlockCurvature)(problem, precisions, p)
