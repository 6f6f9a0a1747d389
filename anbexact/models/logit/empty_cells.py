"""The curvature of a smooth refit in which some cells have no rows.

Only the penalty acts on such cells, so that they can be eliminated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve

from anbexact.models.logit.curvature import Curvature, Gridded
from anbexact.models.logit.potentials import Floats


@dataclass(frozen=True, eq=False)
class OccupiedCells:
    """Rows as cells of terms, limited to cells that have rows; see :class:`.curvature.Gridded`."""

    cells: np.ndarray
    weights: Floats
    blocks: Sequence[slice]

    @property
    def n_cells(self) -> int:
        """Number of cells of all terms."""
        return int(self.blocks[-1].stop)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.weights.shape[1])


def occupied(problem: Gridded) -> np.ndarray:
    """Return which cells have rows, shape (cells,)."""
    found = np.zeros(problem.n_cells, dtype=bool)
    found[problem.cells.ravel()] = True
    return found


class EliminatedCurvature(Curvature):
    """The curvature of all cells, from that of the cells that have rows.

    Let S be the prior precision of a term, o its cells with rows, e the others, and δ their shifts. The likelihood
    depends on ``δ_o`` alone. At the maximum, therefore, ``δ_e = -T δ_o`` with ``T = S_ee⁻¹ S_eo``. Once e is
    eliminated, the cells o have the prior precision ``S_oo - S_oe T``. Let C be the covariance of ``δ_o``, and
    ``L = [I; -T]``. The covariance of all cells is then ``L C Lᵀ + [0, 0; 0, S_ee⁻¹]``.

    Parameters
    ----------
    problem : Gridded
    precisions : sequence of (size, size) arrays
        Prior precisions of the cells of every term.
    kept : (cells,) bool
        The cells that have rows.
    of_occupied : callable
        Returns the curvature of a problem with these cells alone, given the problem and the precisions.
    """

    def __init__(
        self,
        problem: Gridded,
        precisions: Sequence[Floats],
        kept: np.ndarray,
        of_occupied: Callable[[Gridded, Sequence[Floats]], Curvature],
    ) -> None:
        self._terms, remaining, first = [], [], 0
        for own, precision in zip(problem.blocks, precisions, strict=True):
            term = _Term.of(own, first, precision, kept[own])
            first = term.kept.stop
            self._terms.append(term)
            remaining.append(term.remaining(precision))
        number = (np.cumsum(kept) - 1).astype(problem.cells.dtype)
        blocks = [term.kept for term in self._terms]
        self._inner = of_occupied(OccupiedCells(number[problem.cells], problem.weights, blocks), remaining)
        self._n_cells, self._n_contrasts = problem.n_cells, problem.n_classes - 1

    def covariance(self, contrast: Floats) -> Floats:
        return self._with_free(self._inner.covariance(contrast), float(contrast @ contrast))

    def block(self, cells: slice, contrasts: Floats) -> Floats:
        terms = [term for term in self._terms if term.own.start < cells.stop and cells.start < term.own.stop]
        first = terms[0].own.start
        spread = block_diag(*(term.spread(np.eye(term.kept.stop - term.kept.start)) for term in terms))
        free = np.zeros((len(spread), len(spread)))
        for term in terms:
            free[np.ix_(term.empty - first, term.empty - first)] = term.free
        here = slice(cells.start - first, cells.stop - first)
        of_kept = self._inner.block(slice(terms[0].kept.start, terms[-1].kept.stop), contrasts)
        of_classes = np.kron(spread[here], np.eye(contrasts.shape[1]))
        own = np.kron(free[here, here], contrasts.T @ contrasts)
        return np.asarray(of_classes @ of_kept @ of_classes.T + own)

    @property
    def total(self) -> Floats:
        return self._with_free(self._inner.total, float(self._n_contrasts))

    def _of_all(self, of_kept: Floats) -> Floats:
        """Return the values of all cells, given those of the cells with rows, (cells with rows, columns)."""
        found = np.empty((self._n_cells, of_kept.shape[1]))
        for term in self._terms:
            found[term.own] = term.spread(of_kept[term.kept])
        return found

    def _with_free(self, covariance: Floats, factor: float) -> Floats:
        """Return the covariance of all cells, given the one for cells with rows, and the factor of S_ee⁻¹."""
        found = self._of_all(self._of_all(covariance).T)
        for term in self._terms:
            found[np.ix_(term.empty, term.empty)] += factor * term.free
        return found


@dataclass(frozen=True, eq=False)
class _Term:
    """The cells of a term, and how those without rows follow from the others.

    Attributes
    ----------
    own, kept : slice
        Positions of its cells among all cells, and of those with rows among all cells with rows.
    here : (size,) bool
        Which of its cells have rows.
    empty : (empty,) intp
        Positions of its cells without rows among all cells.
    follow : (empty, kept) array
        ``-T``, which maps the shifts of the cells with rows to the shifts of the others.
    free : (empty, empty) array
        ``S_ee⁻¹``, the covariance of the cells without rows given the others.
    """

    own: slice
    kept: slice
    here: np.ndarray
    empty: np.ndarray
    follow: Floats
    free: Floats

    @classmethod
    def of(cls, own: slice, first: int, precision: Floats, here: np.ndarray) -> _Term:
        """Return the term, given the number of its first cell with rows, and which of its cells have rows."""
        n_kept = int(here.sum())
        n_empty = len(here) - n_kept
        free = np.zeros((0, 0))
        if n_empty:
            factor = cho_factor(precision[np.ix_(~here, ~here)], lower=True, check_finite=False)
            free = cho_solve(factor, np.eye(n_empty), check_finite=False)
        follow = -free @ precision[np.ix_(~here, here)]
        return cls(own, slice(first, first + n_kept), here, own.start + np.flatnonzero(~here), follow, free)

    def remaining(self, precision: Floats) -> Floats:
        """Return the prior precision of the cells with rows once the others are eliminated."""
        if not len(self.empty):
            return precision
        own, across = precision[np.ix_(self.here, self.here)], precision[np.ix_(self.here, ~self.here)]
        return np.asarray(own + across @ self.follow)

    def spread(self, of_kept: Floats) -> Floats:
        """Return the values of all cells, given those of the cells with rows."""
        if not len(self.empty):
            return of_kept
        found = np.empty((len(self.here), of_kept.shape[1]))
        found[self.here] = of_kept
        found[~self.here] = self.follow @ of_kept
        return found
