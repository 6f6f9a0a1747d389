"""Which form of the curvature of a smooth refit is cheapest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from anbexact.models.logit.curvature import BlockCurvature, Curvature, DenseCurvature, Gridded, RowCurvature
from anbexact.models.logit.empty_cells import EliminatedCurvature, occupied
from anbexact.models.logit.potentials import Floats

DENSE_CELLS = 2_500
"""Cells up to which the curvature of two classes may be a dense matrix even beyond the budget."""
MOST_OCCUPIED = 0.9
"""Share of cells with rows beyond which it does not pay to eliminate the others."""


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
