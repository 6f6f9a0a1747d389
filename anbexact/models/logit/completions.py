"""Rows with hidden cells, summed out over all their completions."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from anbexact._runtime.arrays import Floats, Integers
from anbexact.tables.vocabulary import CodeArray

AT_ONCE = 100_000
"""Number of completed rows that are evaluated together."""


def n_completions(codes: CodeArray, arities: Integers) -> Floats:
    """Return in how many ways the hidden cells of every row can be completed, (rows,).

    Parameters
    ----------
    codes : (features, rows) int16
        States; a negative code is a hidden cell.
    arities : (features,) int64
        Numbers of states.
    """
    return np.asarray(np.where(codes < 0, arities[:, None].astype(np.float64), 1.0).prod(axis=0))


def summed_over_completions(
    codes: CodeArray,
    arities: Integers,
    log_posterior: Callable[[CodeArray], Floats],
    log_density: Callable[[CodeArray], Floats],
) -> Floats:
    """Return ``ln Σ_h P(x_h | x_o) P(c | x)`` of rows with observed cells x_o and hidden cells x_h.

    Parameters
    ----------
    codes, arities
        As for :func:`n_completions`.
    log_posterior : callable
        Returns ln P(c | x) of complete rows, (rows, classes).
    log_density : callable
        Returns ln P(x) of complete rows, (rows,).

    Returns
    -------
    (rows, classes) float64
        Nats, per row.
    """
    found: Floats | None = None
    patterns, of_row = np.unique(codes < 0, axis=1, return_inverse=True)
    for k, hidden in enumerate(patterns.T):
        rows = np.flatnonzero(of_row.reshape(-1) == k)
        shape = tuple(arities[hidden].tolist())
        states = np.indices(shape, dtype=np.int16).reshape(len(shape), prod(shape))
        step = max(1, AT_ONCE // states.shape[1])
        for first in range(0, len(rows), step):
            some = rows[first : first + step]
            complete: npt.NDArray[np.int16] = np.repeat(codes[:, some], states.shape[1], axis=1)
            complete[hidden] = np.tile(states, len(some))
            weights = log_density(complete).reshape(len(some), -1)
            weights -= logsumexp(weights, axis=1, keepdims=True)
            logs = log_posterior(complete).reshape(len(some), states.shape[1], -1)
            summed = logsumexp(logs + weights[..., None], axis=1)
            found = np.empty((codes.shape[1], summed.shape[1])) if found is None else found
            found[some] = summed
    assert found is not None
    return found
