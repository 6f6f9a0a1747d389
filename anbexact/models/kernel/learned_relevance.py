"""Relevances of features that are learned from the rows, as those under which the classes are most probable.

Let y_ic be the share of class c in the distinct row i, of weight v_i, less its share in all rows. For this purpose,
each class is a Gaussian process with noise ("least-squares classification"), with the covariances

    C_ii' = 1 + exp(-Σ_j ρ_j d_j(x_ij, x_i'j)) + [i = i'] σ² / v_i

times a common factor, for n rows. The columns of y add up to 0, so that s classes are s - 1 processes. With the best
factor, minus the log evidence is, up to a constant,

    (s - 1)/2 · [n ln Σ_c y_c' C⁻¹ y_c + ln |C|].

The logarithms of the rates ρ_j and of σ² minimise this and τ (s - 1)/2 · Σ_j (ln ρ_j - mean)²: the prior of the
rates favours equal ones. The relevance of a feature is its rate, divided by the mean of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize

from anbexact._kernels.state_distances import add_derivatives, log_correlations_below
from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact.models.kernel.distances import StateDistances
from anbexact.models.kernel.rows import DistinctRows

LEARNED = "learned"
"""The value of the parameter ``relevance`` for which relevances are learned."""
PRECISION = 3.0
"""τ, the precision of the logarithms of the rates."""
FIRST_RATE, FIRST_NOISE = 2.0, 0.3
"""Where the search begins: this number divided by the number of features, and σ²."""
RANGE_OF_RATES, RANGE_OF_NOISE = (-6.0, 5.0), (-7.0, 4.0)
"""The logarithms between which the rates, relative to the first, and σ² may vary."""
MOST_ITERATIONS = 8
"""Maximum number of iterations of L-BFGS; more of them hardly change the predictions."""
SMALL_DECREASE, DECREASE_OF_FEW, FEW_ROWS = 1e-5, 1e-3, 350
"""The search ends when an iteration lowers the value per row by less than the first number, or by less than this
times the value if that is above 1. With up to 350 rows, it is the second one: ending earlier then predicts a little
better, and takes less time."""
SMALL_EXCESS = 1e-9
"""Largest difference of class shares that counts as rounding."""
JITTER = 1e-8
"""Added to the variance of every row, so that rounding does not make the matrix singular."""


class NegativeEvidence:
    """Minus the log evidence and log prior, as functions of the logarithms of rates and noise; see the module.

    Parameters
    ----------
    rows : DistinctRows
    tables : sequence of (states, states) float64
        The distances d_j between the states of every feature.
    """

    def __init__(self, rows: DistinctRows, tables: Sequence[Floats]) -> None:
        weights = rows.weights[:, rows.weights.any(axis=0)]
        self._of_rows = weights.sum(axis=1)
        self._excess = weights / self._of_rows[:, None] - weights.sum(axis=0) / weights.sum()
        self.n_rows, self._n_processes = len(weights), weights.shape[1] - 1
        occurring, places = zip(*(np.unique(codes, return_inverse=True) for codes in rows.codes), strict=True)
        arities = np.array([len(states) for states in occurring])
        of_pairs = [table[np.ix_(states, states)].ravel() for table, states in zip(tables, occurring, strict=True)]
        starts = np.cumsum([0, *arities[:-1] ** 2])
        self._of_features = np.array(places), np.concatenate(of_pairs), starts, arities

    @property
    def informative(self) -> bool:
        """Whether the rows differ in their classes."""
        return bool(np.abs(self._excess).max(initial=0.0) > SMALL_EXCESS)

    def value_and_gradient(self, logs: Floats) -> tuple[float, Floats]:
        """Return the value per row and its gradient by ln ρ_1, ln ρ_2, ..., ln σ²."""
        rates, noise = np.exp(logs[:-1]), np.exp(logs[-1]) / self._of_rows
        correlations = np.zeros((self.n_rows, self.n_rows))  # only what is below the diagonal is used
        log_correlations_below(*self._of_features, rates, correlations)
        np.exp(correlations, out=correlations)
        covariance = correlations + 1
        covariance[np.diag_indices_from(covariance)] += noise + JITTER
        # The transpose of a matrix has its rows as columns, as LAPACK's functions, which overwrite it, expect them.
        root = cholesky(covariance.T, overwrite_a=True, check_finite=False)
        log_determinant = 2 * float(np.log(np.diagonal(root)).sum())
        solved = cho_solve((root, False), self._excess, check_finite=False)
        square = float(np.vdot(self._excess, solved))
        spread = logs[:-1] - logs[:-1].mean()
        value = self.n_rows * log(square) + log_determinant + PRECISION * float(spread @ spread)

        inverse, _ = dpotri(root, overwrite_c=1)
        by_rates, gradient = np.zeros(len(rates)), np.empty(len(logs))
        ratio = self.n_rows / square
        gradient[-1] = noise @ (np.diagonal(inverse) - ratio * np.square(solved).sum(axis=1))
        processes = np.ascontiguousarray(solved.T)
        add_derivatives(*self._of_features, inverse.T, processes, ratio, correlations, by_rates)
        gradient[:-1] = 2 * (PRECISION * spread - rates * by_rates)
        factor = self._n_processes / (2 * self.n_rows)
        return factor * value, factor * gradient


def with_learned_relevance(
    distances: Sequence[StateDistances], rows: DistinctRows, deadline: Deadline
) -> tuple[StateDistances, ...]:
    """Return distances with learned relevances, whose mean over the features with two states or more is 1.

    They are those after at most `MOST_ITERATIONS` iterations of L-BFGS from equal rates; 1 if all rows have the same
    class shares, or if no time is left; and the best found by then if the deadline passes meanwhile.

    Parameters
    ----------
    distances : sequence of StateDistances
        Those between the states of every feature, of relevance 1.
    rows : DistinctRows
        The rows to learn from.
    deadline : Deadline

    References
    ----------
    Rasmussen and Williams, *Gaussian Processes for Machine Learning* (2006), sections 5.1 (relevances that are found
    by the evidence) and 6.5 (least-squares classification).
    """
    varied = [j for j, own in enumerate(distances) if len(own.shares) > 1]
    relevances = np.ones(len(distances))
    tables = [distances[j].table for j in varied]
    relevances[varied] = _relevances(replace(rows, codes=rows.codes[varied]), tables, deadline)
    return tuple(replace(own, relevance=float(r)) for own, r in zip(distances, relevances, strict=True))


def _relevances(rows: DistinctRows, tables: Sequence[Floats], deadline: Deadline) -> Floats:
    """Return the relevances of features of two states or more, whose distances are given, (features,)."""
    n_features = len(tables)
    if n_features < 2 or deadline.passed:
        return np.ones(n_features)
    evidence = NegativeEvidence(rows, tables)
    if not evidence.informative:
        return np.ones(n_features)

    def check(intermediate_result: Any) -> None:  # noqa: ARG001  # the name by which scipy passes the result
        if deadline.passed:
            raise StopIteration

    first = log(FIRST_RATE / n_features)
    low, high = RANGE_OF_RATES
    found = minimize(
        evidence.value_and_gradient,
        [*[first] * n_features, log(FIRST_NOISE)],
        jac=True,
        method="L-BFGS-B",
        bounds=[*[(first + low, first + high)] * n_features, RANGE_OF_NOISE],
        callback=check,
        options={
            "maxiter": MOST_ITERATIONS,
            "ftol": DECREASE_OF_FEW if evidence.n_rows <= FEW_ROWS else SMALL_DECREASE,
        },
    )
    rates = np.exp(found.x[:-1])
    relevances: Floats = rates / rates.mean()
    return relevances
