"""A smooth refit's problem on coarser grids, on which strengths of smoothing are chosen faster."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from anbexact.models.smooth.fit import SmoothProblem
from anbexact.models.smooth.terms import SmoothTerm, grouped_axis

PAIR, LARGER = 5, 3
"""Most groups of an axis, for interactions of two features and of more."""


def coarser(problem: SmoothProblem) -> tuple[SmoothProblem, npt.NDArray[np.int64]]:
    """Return the problem with the neighbouring groups of interactions merged, and the new cell of every old one.

    Penalties are those of integrals over intervals of length 1, so that a strength means the same on both grids.
    """
    rows = problem.weights.sum(axis=1)
    terms: list[SmoothTerm] = []
    new_cells = np.empty(problem.n_cells, dtype=np.int64)
    for place, term in enumerate(problem.terms):
        merged = _merged(term, np.bincount(problem.cells[:, place] - term.first, rows, term.size).astype(np.float64))
        merged = replace(merged, first=terms[-1].cells.stop if terms else 0)
        numbers = np.arange(merged.first, merged.cells.stop).reshape(merged.shape)
        new_cells[term.cells] = np.ravel(numbers[np.ix_(*(axis.groups for axis in merged.axes))])
        terms.append(merged)
    return replace(problem, terms=tuple(terms), cells=new_cells[problem.cells].astype(np.int32)), new_cells


def _merged(term: SmoothTerm, weights: npt.NDArray[np.float64]) -> SmoothTerm:
    """Return the term on a coarser grid, as a function of the groups of the old one."""
    grid = weights.reshape(term.shape)
    size = {0: 0, 1: term.size, 2: PAIR}.get(len(term.axes), LARGER)
    axes = []
    for place, axis in enumerate(term.axes):
        others = tuple(k for k in range(len(term.axes)) if k != place)
        own = replace(axis, groups=np.arange(axis.size))
        axes.append(grouped_axis(own, grid.sum(axis=others), size))
    return SmoothTerm(tuple(axes), term.first)
