"""The curvature of a smooth refit where cells have no rows: only the penalty acts on them, so they are eliminated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve

from anbexact.logit.curvature import Curvature, Gridded
from anbexact.logit.potentials import Floats


@dataclass(frozen=True, eq=False)
class OccupiedCells:
    """Rows as cells of terms that have no others; see :class:`~anbexact.logit.curvature.Gridded`."""

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

    Let S be the prior precision of a term, o its cells with rows and e the others. The likelihood depends on the
    shifts of o alone. So the maximum has ``δ_e = -T δ_o`` with ``T = S_ee⁻¹ S_eo``, and the cells o have the prior
    precision ``S_oo - S_oe T``. With their covariance C and ``L = [I; -T]``, the covariance of all cells is
    ``L C Lᵀ + [0, 0; 0, S_ee⁻¹]``.

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
            remaining.append(precision if term.full else term.spread.T @ precision @ term.spread)
        number = (np.cumsum(kept) - 1).astype(problem.cells.dtype)
        blocks = [term.kept for term in self._terms]
        self._inner = of_occupied(OccupiedCells(number[problem.cells], problem.weights, blocks), remaining)
        self._n_cells, self._n_kept, self._n_contrasts = problem.n_cells, first, problem.n_classes - 1
        self.exact, self.few = self._inner.exact, self._inner.few

    def solve(self, gradient: Floats) -> Floats:
        of_kept = np.empty((self._n_kept, gradient.shape[1]))
        for term in self._terms:
            of_kept[term.kept] = gradient[term.own] if term.full else term.spread.T @ gradient[term.own]
        found: Floats = self._of_all(self._inner.solve(of_kept))
        for term in self._terms:
            if not term.full:
                found[term.own] += term.free @ gradient[term.own]
        return found

    def covariance(self, contrast: Floats) -> Floats:
        return self._with_free(self._inner.covariance(contrast), float(contrast @ contrast))

    def block(self, cells: slice, contrasts: Floats) -> Floats:
        terms = [term for term in self._terms if term.own.start < cells.stop and cells.start < term.own.stop]
        here = slice(cells.start - terms[0].own.start, cells.stop - terms[0].own.start)
        spread = block_diag(*(term.spread for term in terms))[here]
        free = block_diag(*(term.free for term in terms))[here, here]
        of_kept = self._inner.block(slice(terms[0].kept.start, terms[-1].kept.stop), contrasts)
        of_classes = np.kron(spread, np.eye(contrasts.shape[1]))
        return np.asarray(of_classes @ of_kept @ of_classes.T + np.kron(free, contrasts.T @ contrasts))

    @property
    def total(self) -> Floats:
        return self._with_free(self._inner.total, float(self._n_contrasts))

    def _of_all(self, of_kept: Floats) -> Floats:
        """Return what follows for all cells from values of those with rows, (cells with rows, columns)."""
        found = np.empty((self._n_cells, of_kept.shape[1]))
        for term in self._terms:
            found[term.own] = of_kept[term.kept] if term.full else term.spread @ of_kept[term.kept]
        return found

    def _with_free(self, covariance: Floats, factor: float) -> Floats:
        """Return the covariance of all cells, given that of the cells with rows and the factor of S_ee⁻¹."""
        found = self._of_all(self._of_all(covariance).T)
        for term in self._terms:
            found[term.own, term.own] += factor * term.free
        return found


@dataclass(frozen=True, eq=False)
class _Term:
    """The cells of a term, and how those without rows follow from the others.

    Attributes
    ----------
    own, kept : slice
        Its cells among all, and those with rows among all that have rows.
    spread : (size, kept) array
        L, for the cells in their order.
    free : (size, size) array
        S_ee⁻¹; 0 for cells with rows.
    """

    own: slice
    kept: slice
    spread: Floats
    free: Floats

    @classmethod
    def of(cls, own: slice, first: int, precision: Floats, here: np.ndarray) -> _Term:
        """Return the term, given the number of its first cell with rows, and which of its cells have rows."""
        size, n_kept = len(here), int(here.sum())
        spread, free = np.zeros((size, n_kept)), np.zeros((size, size))
        spread[here] = np.eye(n_kept)
        if n_kept < size:
            empty = np.ix_(~here, ~here)
            factor = cho_factor(precision[empty], lower=True, check_finite=False)
            free[empty] = cho_solve(factor, np.eye(size - n_kept), check_finite=False)
            spread[~here] = -free[empty] @ precision[np.ix_(~here, here)]
        return cls(own, slice(first, first + n_kept), spread, free)

    @property
    def full(self) -> bool:
        """Whether all cells have rows."""
        return bool(self.kept.stop - self.kept.start == len(self.free))
