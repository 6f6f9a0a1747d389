"""The curvature of a smooth refit where cells have no rows: only the penalty acts on them, so they are eliminated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import block_diag, csr_array

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
        spread, free, remaining = [], [], []
        for own, precision in zip(problem.blocks, precisions, strict=True):
            here = kept[own]
            size, n_kept = len(here), int(here.sum())
            from_kept, of_empty = np.zeros((size, n_kept)), np.zeros((size, size))
            from_kept[here] = np.eye(n_kept)
            if n_kept < size:
                empty = np.ix_(~here, ~here)
                factor = cho_factor(precision[empty], lower=True, check_finite=False)
                of_empty[empty] = cho_solve(factor, np.eye(size - n_kept), check_finite=False)
                from_kept[~here] = -of_empty[empty] @ precision[np.ix_(~here, here)]
            spread.append(from_kept)
            free.append(of_empty)
            remaining.append(from_kept[here].T @ precision[here] @ from_kept)
        self._spread, self._free = csr_array(block_diag(spread)), csr_array(block_diag(free))
        ends = np.cumsum([0, *(len(precision) for precision in remaining)]).tolist()
        number = (np.cumsum(kept) - 1).astype(problem.cells.dtype)
        cells = OccupiedCells(number[problem.cells], problem.weights, [slice(*ends) for ends in pairwise(ends)])
        self._inner = of_occupied(cells, remaining)
        self._kept_before = np.concatenate([[0], np.cumsum(kept)])
        self._blocks = problem.blocks
        self.exact, self.few = self._inner.exact, self._inner.few
        self._n_contrasts = problem.n_classes - 1

    def solve(self, gradient: Floats) -> Floats:
        of_kept = self._inner.solve(self._spread.T @ gradient)
        return np.asarray(self._spread @ of_kept + self._free @ gradient)

    def covariance(self, contrast: Floats) -> Floats:
        return self._of_all(self._inner.covariance(contrast), float(contrast @ contrast))

    def block(self, cells: slice, contrasts: Floats) -> Floats:
        terms = [own for own in self._blocks if own.start < cells.stop and cells.start < own.stop]
        ends = self._kept_before[[terms[0].start, terms[-1].stop]].tolist()
        spread = np.kron(self._spread[cells, slice(*ends)].toarray(), np.eye(contrasts.shape[1]))
        free = self._free[cells, cells].toarray()
        return np.asarray(
            spread @ self._inner.block(slice(*ends), contrasts) @ spread.T + np.kron(free, contrasts.T @ contrasts)
        )

    @property
    def total(self) -> Floats:
        return self._of_all(self._inner.total, float(self._n_contrasts))

    def _of_all(self, covariance: Floats, of_empty: float) -> Floats:
        """Return the covariance of all cells, given that of the cells with rows and the factor of S_ee⁻¹."""
        found = self._spread @ (self._spread @ covariance).T
        return np.asarray(found + of_empty * self._free.toarray())
