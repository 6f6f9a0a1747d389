"""Minus the Hessian of a smooth refit, as a whole matrix or approximated by blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri

from anbexact._kernels.multinomial import add_derivatives
from anbexact.models.logit.potentials import Floats

BLOCK_ENTRIES = 60_000_000
"""Entries, over all classes, up to which the curvature of a class is one dense block.

Beyond it, every term is a block of its own. This many float64 take about half a gigabyte.
"""


class Gridded(Protocol):
    """Rows, each given by the cell into which it falls in every term.

    Attributes
    ----------
    cells : (rows, terms) int32
    weights : (rows, classes) float64
        Weight of every distinct row, by class.
    blocks : sequence of slice
        The range of cells of every term, in ascending order.
    n_cells, n_classes : int
    """

    @property
    def cells(self) -> np.ndarray: ...

    @property
    def weights(self) -> Floats: ...

    @property
    def blocks(self) -> Sequence[slice]: ...

    @property
    def n_cells(self) -> int: ...

    @property
    def n_classes(self) -> int: ...


class Curvature(ABC):
    """Minus the Hessian of the penalised log likelihood, for shifts that sum to 0 over the classes."""

    @abstractmethod
    def covariance(self, contrast: Floats) -> Floats:
        """Return the posterior covariance of ``shift @ contrast``, (cells, cells); the contrast sums to 0."""

    @abstractmethod
    def block(self, cells: slice, contrasts: Floats) -> Floats:
        """Return the posterior covariance of the flattened ``shift[cells] @ contrasts``.

        Its shape is (cells · contrasts, cells · contrasts); each column of the contrasts sums to 0.
        """

    @property
    @abstractmethod
    def total(self) -> Floats:
        """The sum of the covariances for orthonormal contrasts of the classes, (cells, cells)."""


class DenseCurvature(Curvature):
    """The whole matrix, with the log odds against the first class as coordinates."""

    def __init__(self, problem: Gridded, precisions: Sequence[Floats], p: Floats) -> None:
        self._s = problem.n_classes
        self._d = max(self._s - 1, 0)
        self._k = problem.n_cells
        size = self._k * self._d
        matrix, unused = np.zeros((size, size)), np.zeros((self._k, self._d))
        add_derivatives(problem.cells, problem.weights.sum(axis=1), problem.weights, p, unused, matrix)
        self._to_odds = np.eye(self._d) - 1 / self._s
        for cells, precision in zip(problem.blocks, precisions, strict=True):
            own = slice(cells.start * self._d, cells.stop * self._d)
            product = precision[:, None, :, None] * self._to_odds[:, None, :]
            matrix[own, own] += product.reshape(matrix[own, own].shape)
        self._factor = cho_factor(matrix, lower=True, check_finite=False, overwrite_a=True)

    def _inverse(self) -> Floats:
        """Return the covariance of the log odds, (cells, classes - 1, cells, classes - 1)."""
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

    The block of class c has the curvature ``p_c (1 - p_c) s / (s - 1)`` in place of the curvature of contrasts of the
    s classes. With this factor, the covariance of contrasts is right for two classes, and where all s classes are
    equally probable.
    """

    def __init__(self, problem: Gridded, precisions: Sequence[Floats], p: Floats) -> None:
        s = problem.n_classes
        totals = problem.weights.sum(axis=1)
        self._k = problem.n_cells
        together = s * self._k**2 <= BLOCK_ENTRIES
        self._blocks = [slice(0, self._k)] if together else problem.blocks
        self._inverses: list[list[Floats]] = []
        for c in range(s):
            if s == 2 and c == 1:
                self._inverses.append(self._inverses[0])  # p (1 - p) is the same for both classes
                continue
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
            self._inverses.append([_inverse(m) for m in matrices])

    def covariance(self, contrast: Floats) -> Floats:
        found = np.zeros((self._k, self._k))
        for weight, inverses in zip(contrast**2, self._inverses, strict=True):
            for own, inverse in zip(self._blocks, inverses, strict=True):
                found[own, own] += weight * _whole(inverse)
        return found

    def block(self, cells: slice, contrasts: Floats) -> Floats:
        n = cells.stop - cells.start
        found = np.zeros((n * contrasts.shape[1],) * 2)
        for weight, inverses in zip(contrasts, self._inverses, strict=True):
            for own, inverse in zip(self._blocks, inverses, strict=True):
                if own.start <= cells.start and cells.stop <= own.stop:
                    here = slice(cells.start - own.start, cells.stop - own.start)
                    found += np.kron(_whole(inverse[here, here]), np.outer(weight, weight))
        return found

    @property
    def total(self) -> Floats:
        s = len(self._inverses)
        return self.covariance(np.full(s, np.sqrt(1 - 1 / s)))


def _inverse(matrix: Floats) -> Floats:
    """Return the inverse of a positive definite matrix: its upper triangle, with arbitrary entries below."""
    factor, failed = dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError(f"the curvature is not positive definite in row {failed}")
    inverse, _ = dpotri(factor, lower=0, overwrite_c=1)
    return np.asarray(inverse)


def _whole(upper: Floats) -> Floats:
    """Return the symmetric matrix that has this upper triangle."""
    beyond = np.triu(upper, 1)
    return np.asarray(np.diag(np.diagonal(upper)) + beyond + beyond.T)


class RowCurvature(Curvature):
    """The whole matrix, inverted in the space of the rows by Woodbury's identity; quick with fewer rows than cells.

    Let S be the prior precision, the same for every class, Z the indicators of the rows' cells, ``G = Z S⁻¹ Zᵀ``,
    ``D_c = diag(w p_c)``, ``E_c = (D_c⁻¹ + G)⁻¹`` and ``M = Σ_c E_c``. The inverse has the blocks
    ``δ_cd S⁻¹ - S⁻¹ Zᵀ Q_cd Z S⁻¹`` of classes c and d, where ``Q_cd = δ_cd E_c - E_c M⁻¹ E_d``. See Rasmussen and
    Williams, *Gaussian Processes for Machine Learning* (2006), section 3.5.
    """

    def __init__(self, problem: Gridded, precisions: Sequence[Floats], p: Floats) -> None:
        n = len(problem.cells)
        inverses: dict[bytes, Floats] = {}  # most terms have the same penalties
        self._terms = problem.blocks
        self._prior = []
        self._spread = np.empty((n, problem.n_cells))  # Z S⁻¹
        covariance = np.zeros((n, n))
        for own, column, precision in zip(self._terms, problem.cells.T, precisions, strict=True):
            key = precision.tobytes()
            if key not in inverses:
                inverses[key] = np.asarray(np.linalg.inv(precision), dtype=np.float64)
            self._prior.append(inverses[key])
            self._spread[:, own] = inverses[key][column - own.start]
            covariance += inverses[key][np.ix_(column - own.start, column - own.start)]
        self._cells = problem.cells
        self._parts = np.empty((problem.n_classes, n, n))
        for c, share in enumerate(np.sqrt(problem.weights.sum(axis=1)[:, None] * p).T):
            inner = share[:, None] * covariance * share
            inner[np.diag_indices(n)] += 1.0
            factor = cho_factor(inner, lower=True, check_finite=False, overwrite_a=True)
            self._parts[c] = share[:, None] * cho_solve(factor, np.diag(share), check_finite=False)
        # Rows of weight 0 would make the sum singular.
        self._sum = cho_factor(self._parts.sum(axis=0) + 1e-300 * np.eye(n), lower=True, check_finite=False)

    def _smoothed(self, values: Floats) -> Floats:
        """Return the prior's covariance times values of the cells."""
        return np.concatenate([prior @ values[own] for prior, own in zip(self._prior, self._terms, strict=True)])

    def _gained(self, one: Floats, other: Floats) -> Floats:
        """Return ``Σ_cd one_c Q_cd other_d``, (rows, rows)."""
        left, right = (np.tensordot(contrast, self._parts, 1) for contrast in (one, other))
        return np.asarray(np.tensordot(one * other, self._parts, 1) - left @ cho_solve(self._sum, right))

    def covariance(self, contrast: Floats) -> Floats:
        prior = block_diag(*self._prior) * (contrast @ contrast)
        return np.asarray(prior - self._spread.T @ self._gained(contrast, contrast) @ self._spread)

    def block(self, cells: slice, contrasts: Floats) -> Floats:
        n, d = cells.stop - cells.start, contrasts.shape[1]
        prior = self._smoothed(np.eye(self._spread.shape[1], n, -cells.start))[cells]
        spread = self._spread[:, cells]
        found = np.empty((n, d, n, d))
        for a, one in enumerate(contrasts.T):
            for b, other in enumerate(contrasts.T[: a + 1]):
                found[:, a, :, b] = prior * (one @ other) - spread.T @ self._gained(one, other) @ spread
                found[:, b, :, a] = found[:, a, :, b].T
        return found.reshape(n * d, n * d)

    @property
    def total(self) -> Floats:
        gained = self._parts.sum(axis=0)
        for part in self._parts:
            gained -= part @ cho_solve(self._sum, part, check_finite=False)
        prior = block_diag(*self._prior) * (len(self._parts) - 1)
        return np.asarray(prior - self._spread.T @ gained @ self._spread)


class OrderedCurvature(Curvature):
    """The curvature for classes in an order, whose shifts are multiples of scores h but for those of the intercept.

    Let the shifts of the cells be ``v hᵀ``, and let those of the intercept contain multiples b of further contrasts Q
    of the classes, which are orthogonal to h. With b held fixed, v has the covariance C. Let B be the part of minus
    the Hessian between v and b, and D the part of b. Then b has the covariance ``E = (D - Bᵀ C B)⁻¹``, v has
    ``C + C B E Bᵀ C``, and v and b together ``-C B E``.

    Parameters
    ----------
    problem : Gridded
        Its first cell is that of the intercept.
    p : (rows, classes) float64
        Class probabilities.
    scores : (classes,) float64
        h, whose sum is 0 and the sum of whose squares is 1.
    ridge : float
        The prior precision of the intercept.
    along : Curvature
        That of two classes whose only contrast has the covariance C.
    """

    def __init__(self, problem: Gridded, p: Floats, scores: Floats, ridge: float, along: Curvature) -> None:
        s = problem.n_classes
        self._scores = scores
        self._others = np.linalg.svd(np.stack([scores, np.full(s, s**-0.5)]))[2][2:].T
        totals = problem.weights.sum(axis=1)
        centred = self._others - (p @ self._others)[:, None]
        deviations = scores - (p @ scores)[:, None]
        by_row = totals[:, None] * np.einsum("tc,tc,tcq->tq", p, deviations, centred)
        between = np.zeros((problem.n_cells, s - 2))
        for column in problem.cells.T:
            np.add.at(between, column, by_row)
        own = np.einsum("t,tc,tcq,tcr->qr", totals, p, centred, centred, optimize=True) + ridge * np.eye(s - 2)
        fixed = along.covariance(np.array([-1.0, 1.0]) / np.sqrt(2))
        explained = fixed @ between
        self._of_others = np.linalg.inv(own - between.T @ explained)
        self._together = -explained @ self._of_others
        self._of_scores = fixed - self._together @ explained.T

    def covariance(self, contrast: Floats) -> Floats:
        along, others = float(self._scores @ contrast), self._others.T @ contrast
        found = along**2 * self._of_scores
        cross = along * self._together @ others
        found[0] += cross
        found[:, 0] += cross
        found[0, 0] += others @ self._of_others @ others
        return np.asarray(found)

    def block(self, cells: slice, contrasts: Floats) -> Floats:
        along, others = self._scores @ contrasts, self._others.T @ contrasts
        n, d = cells.stop - cells.start, contrasts.shape[1]
        found = np.kron(self._of_scores[cells, cells], np.outer(along, along)).reshape(n, d, n, d)
        if cells.start == 0:
            cross = np.einsum("iq,qa,b->iab", self._together[cells], others, along)
            found[0] += cross.transpose(1, 0, 2)
            found[:, :, 0] += cross.transpose(0, 2, 1)
            found[0, :, 0] += others.T @ self._of_others @ others
        return np.asarray(found.reshape(n * d, n * d))

    @property
    def total(self) -> Floats:
        found = self._of_scores.copy()
        found[0, 0] += np.trace(self._of_others)
        return found
