"""The indicator columns of a refitted logistic regression, and which of them its rows can distinguish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.units import human_bytes

if TYPE_CHECKING:
    from anbexact.models.logit.model import LogitModel

MOST_DESIGN = 1_000_000_000
"""Maximum number of bytes of a dense design, and of the products of its columns."""
DEPENDENT = 1e-9
"""A column is redundant if this share of its squared norm, or less, remains after projection on the earlier ones."""


def design_matrix(model: LogitModel) -> npt.NDArray[np.float64]:
    """Return the indicators of the model's terms in the distinct rows of its refit, (rows, terms).

    Raises
    ------
    MemoryError
        If it would take more than 1 GB.
    """
    assert model.refitted is not None
    design = model.refitted.design
    needed = 8 * len(design.weights) * len(model.terms)
    if needed > MOST_DESIGN:
        raise MemoryError(
            f"the dense design of {len(design.weights):,} distinct rows and {len(model.terms):,} terms would take "
            f"{human_bytes(needed)}, more than the {human_bytes(MOST_DESIGN)} set aside for it"
        )
    present: dict[Any, npt.NDArray[np.bool_]] = {}
    matrix = np.empty((len(design.weights), len(model.terms)), order="F")
    for j, (variables, states) in enumerate(zip(model.terms["variables"], model.terms["states"], strict=True)):
        column = np.ones(len(matrix), dtype=bool)
        for name, state in zip(variables, states, strict=True):
            if (name, state) not in present:
                present[name, state] = design.states(name) == model.vocabulary.states[name].index(state)
            column &= present[name, state]
        matrix[:, j] = column
    return matrix


def identified(model: LogitModel) -> npt.NDArray[np.bool_]:
    """Return which terms the rows of the refit can distinguish from earlier terms, shape (terms,).

    These are neither terms that occur in no row nor terms whose indicator is a linear combination of earlier ones.

    Raises
    ------
    MemoryError
        If the design, or the products of its columns, would take more than 1 GB.
    """
    return independent_columns(design_matrix(model))


def independent_columns(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return which columns are not linear combinations of earlier ones, shape (columns,).

    Raises
    ------
    MemoryError
        If the products of all pairs of columns that are not 0 in all rows would take more than 1 GB.
    """
    kept = np.zeros(matrix.shape[1], dtype=bool)
    shown = np.flatnonzero(matrix.any(axis=0))
    if (needed := 8 * len(shown) ** 2) > MOST_DESIGN:
        raise MemoryError(
            f"{len(shown):,} terms occur in these rows, and the products of their columns would take "
            f"{human_bytes(needed)}, more than the {human_bytes(MOST_DESIGN)} set aside for them"
        )
    columns = matrix[:, shown]
    gram = columns.T @ columns
    factor = np.zeros((min(columns.shape), len(shown)))  # Cholesky factor of the kept columns' Gram matrix
    rank = 0
    for j, term in enumerate(shown.tolist()):
        own = gram[j, j]
        rest = own - float(factor[:rank, j] @ factor[:rank, j])
        if rank < len(factor) and rest > DEPENDENT * max(own, 1.0):
            factor[rank, j:] = (gram[j, j:] - factor[:rank, j] @ factor[:rank, j:]) / np.sqrt(rest)
            kept[term] = True
            rank += 1
    return kept
