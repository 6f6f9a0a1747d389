"""The convex relaxation of a scorecard, whose points may be any numbers, and quadratic bounds of its loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from anbexact._runtime.arrays import Bools, Floats, Positions
from anbexact._runtime.cached import cached_property

STEPS = 60
"""Maximum number of Newton steps of a fit."""
DECREMENT = 1e-12
"""Expected decrease of the loss, in nats per row, below which a fit is optimal."""
ROUNDS = 60
"""Maximum number of rounds in which the reach of the rows is found."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """What may have points, and the loss that the points are to make small.

    Attributes
    ----------
    columns : (rows, tables) int64
        The variable that a row has in a table; -1 where it has the state without points.
    weights : (rows, classes) float64
        The share of the rows with these states and this class; the reference class comes first, and all add up to 1.
    tables : (variables,) int64
        The table of every variable.
    features : tuple of frozenset of int
        The features of every table.
    centre : (variables, scores) float64
        The log odds to which the pull draws those of every variable, in nats.
    pull : float
        Precision of a Gaussian prior around ``centre``, divided by the weight of all rows.
    """

    columns: Positions
    weights: Floats
    tables: Positions
    features: tuple[frozenset[int], ...]
    centre: Floats
    pull: float

    @property
    def n_scores(self) -> int:
        """Number of classes minus one."""
        return int(self.weights.shape[1]) - 1

    @cached_property
    def of_variables(self) -> tuple[frozenset[int], ...]:
        """The features of every variable."""
        return tuple(self.features[table] for table in self.tables.tolist())

    @cached_property
    def design(self) -> Floats:
        """Whether a row has a variable, and a column of ones, (rows, variables + 1)."""
        found = np.zeros((len(self.columns), len(self.tables) + 2))
        np.put_along_axis(found, self.columns, 1.0, axis=1)  # -1 is the last column
        found[:, -2] = 1.0
        return np.ascontiguousarray(found[:, :-1])

    def variables(self, features: frozenset[int]) -> Bools:
        """Return which variables belong to tables of these features alone."""
        return np.array([own <= features for own in self.of_variables], dtype=bool)


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The best log odds of some variables, while the others have none.

    Attributes
    ----------
    candidates : Candidates
    active : (n,) int64
        The variables.
    log_odds : (n + 1, scores) float64
        In nats; the last row has the offsets.
    loss : float
        In nats per row, with the pull.
    """

    candidates: Candidates
    active: Positions
    log_odds: Floats
    loss: float

    @cached_property
    def design(self) -> Floats:
        """The columns of the active variables, and a column of ones."""
        return np.ascontiguousarray(self.candidates.design[:, [*self.active.tolist(), -1]])

    @cached_property
    def chances(self) -> Floats:
        """The probabilities of the classes other than the reference, (rows, scores)."""
        return _chances(self.design @ self.log_odds)[0]

    def curvature(self, factors: Floats | float = 1.0) -> Floats:
        """Return the Hessian of the loss, every row times a factor; the order is score by score."""
        return _curvature(self.candidates, self.design, self.chances, factors, len(self.active))

    @cached_property
    def plain_bound(self) -> QuadraticBound:
        """The second-order approximation, which is no bound but tells what matters."""
        return QuadraticBound(self, self.curvature())

    def bound(self, room: float) -> QuadraticBound:
        """Return a quadratic function that is at most the loss, where this is at most the least one plus ``room``.

        A logarithm of a sum of exponentials is generalised self-concordant: if the log odds of a row change by r at
        most, its curvature along the change falls by the factor exp(-r) at most, so that the loss is at least the
        second-order approximation with the second-order part times κ(r) = 2 (exp(-r) + r - 1) / r² (Bach 2010,
        Proposition 1). Let r_t be such that all points of the ellipsoid of the resulting quadratic function at the
        level ``room`` change row t by less. Then no point with a loss of at most ``room`` above the least changes a
        row by more: on the way to it, the first row to reach r_t would be within the bound.
        """
        n_scores = self.candidates.n_scores
        reach = np.zeros(len(self.design))
        for round_ in range(ROUNDS):
            curvature = self.curvature(_kappa(reach))
            inverse = np.linalg.inv(curvature)
            blocks = inverse.reshape(n_scores, len(self.active) + 1, n_scores, -1)
            forms = np.empty((n_scores, n_scores, len(reach)))
            for k in range(n_scores):
                for m in range(k, n_scores):
                    forms[k, m] = np.einsum("ti,ti->t", self.design @ blocks[k, :, m], self.design)
            largest = np.zeros(len(reach))
            for k in range(n_scores):
                np.maximum(largest, forms[k, k], out=largest)
                for m in range(k + 1, n_scores):
                    np.maximum(largest, forms[k, k] + forms[m, m] - 2 * forms[k, m], out=largest)
            needed = np.sqrt(2 * max(room, 0.0) * np.maximum(largest, 0.0))
            if round_ and (needed <= reach).all():
                return QuadraticBound(self, curvature)
            reach = np.maximum(reach, needed) * 1.01
        return QuadraticBound(self, self.curvature(0.0) + 1e-300)  # no bound but the least loss


@dataclass(frozen=True, eq=False)
class QuadraticBound:
    """A function ``loss + (z - x)ᵀ curvature (z - x) / 2`` of log odds z, around the least loss at x.

    ``curvature`` has the active variables and the offset of the first score, then those of the second, and so on.
    """

    at: Relaxed
    curvature: Floats

    @cached_property
    def _places(self) -> Positions:
        """The rows and columns of the variables, without the offsets."""
        n, n_scores = len(self.at.active), self.at.candidates.n_scores
        return np.concatenate([np.arange(n) + k * (n + 1) for k in range(n_scores)]).astype(np.int64)

    @cached_property
    def variables(self) -> Positions:
        """The variable and the score of each of the free log odds, (n, 2)."""
        n, n_scores = len(self.at.active), self.at.candidates.n_scores
        return np.stack([np.tile(self.at.active, n_scores), np.repeat(np.arange(n_scores), n)], axis=1)

    @cached_property
    def without_offsets(self) -> Floats:
        """The curvature at the best offsets, in the order of ``variables``: a Schur complement."""
        places = self._places
        rest = np.setdiff1d(np.arange(len(self.curvature)), places)
        own = self.curvature[np.ix_(places, places)]
        across = self.curvature[np.ix_(places, rest)]
        return np.asarray(own - across @ np.linalg.solve(self.curvature[np.ix_(rest, rest)], across.T))

    def costs(self, features: Sequence[int]) -> Floats:
        """Return, for each feature, by how much the loss rises at least without it, (features,)."""
        inverse = np.linalg.inv(self.without_offsets)
        log_odds = self.at.log_odds[:-1].T.ravel()
        of_variables = self.at.candidates.of_variables
        found = np.zeros(len(features))
        for j, feature in enumerate(features):
            own = np.array([feature in of_variables[v] for v in self.variables[:, 0].tolist()], dtype=bool)
            if own.any():
                found[j] = 0.5 * log_odds[own] @ np.linalg.solve(inverse[np.ix_(own, own)], log_odds[own])
        return found

    def triangle(self) -> tuple[Floats, Floats, Positions]:
        """Return an upper triangular R, ``R x``, and the variables in its order, the most telling ones last.

        The function is ``loss + |R (z - x)|²``.
        """
        log_odds = self.at.log_odds[:-1].T.ravel()
        schur = self.without_offsets / 2
        order = np.argsort(np.abs(log_odds) * np.sqrt(np.diag(schur)), kind="stable")
        root = np.linalg.cholesky(schur[np.ix_(order, order)]).T
        return np.ascontiguousarray(root), root @ log_odds[order], np.ascontiguousarray(self.variables[order])


def _kappa(reach: Floats) -> Floats:
    """Return 2 (exp(-r) + r - 1) / r², which is 1 at 0."""
    r = np.maximum(reach, 1e-4)
    return np.asarray(np.where(reach < 1e-4, 1 - reach / 3, 2 * (np.exp(-r) + r - 1) / r**2))


def _chances(logits: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities of the classes other than the reference, and the log of 1 + Σ exp(logits)."""
    top = np.maximum(logits.max(axis=1), 0.0)
    powers = np.exp(logits - top[:, None])
    total = powers.sum(axis=1) + np.exp(-top)
    return powers / total[:, None], top + np.log(total)


def _curvature(candidates: Candidates, design: Floats, chances: Floats, factors: Floats | float, n: int) -> Floats:
    n_scores = chances.shape[1]
    totals = candidates.weights.sum(axis=1) * factors
    size = n + 1
    found = np.empty((n_scores * size, n_scores * size))
    for k in range(n_scores):
        for m in range(k, n_scores):
            weight = totals * chances[:, k] * ((k == m) - chances[:, m])
            block = (design * weight[:, None]).T @ design
            found[k * size : (k + 1) * size, m * size : (m + 1) * size] = block
            found[m * size : (m + 1) * size, k * size : (k + 1) * size] = block.T
    ridge = np.full(size, candidates.pull)
    ridge[-1] = 1e-12
    found[np.diag_indices(len(found))] += np.tile(ridge, n_scores)
    return found


def relaxed(candidates: Candidates, active: Positions, start: Floats | None = None) -> Relaxed:
    """Return the log odds of some variables with the least loss, by Newton's method.

    Parameters
    ----------
    candidates : Candidates
    active : (n,) int64
    start : (n + 1, scores) float64, optional
        Where to start; the last row has the offsets.
    """
    design = np.ascontiguousarray(candidates.design[:, [*active.tolist(), -1]])
    weights, n_scores = candidates.weights, candidates.n_scores
    centre = np.vstack([candidates.centre[active], np.zeros((1, n_scores))])
    pulls = np.full((len(active) + 1, 1), candidates.pull)
    pulls[-1] = 0.0
    left_out = np.ones(len(candidates.tables), dtype=bool)
    left_out[active] = False
    constant = 0.5 * candidates.pull * float((candidates.centre[left_out] ** 2).sum())

    def value(log_odds: Floats) -> tuple[float, Floats]:
        logits = design @ log_odds
        chances, levels = _chances(logits)
        log_loss = weights.sum(axis=1) @ levels - (weights[:, 1:] * logits).sum()
        return float(log_loss + 0.5 * (pulls * (log_odds - centre) ** 2).sum() + constant), chances

    if start is None:
        shares = np.maximum(weights.sum(axis=0), 1e-12)
        start = np.zeros((len(active) + 1, n_scores))
        start[-1] = np.log(shares[1:] / shares[0])
    log_odds = start
    loss, chances = value(log_odds)
    for _ in range(STEPS):
        excess = weights.sum(axis=1)[:, None] * chances - weights[:, 1:]
        slope = (design.T @ excess + pulls * (log_odds - centre)).T.ravel()
        curvature = _curvature(candidates, design, chances, 1.0, len(active))
        step = cho_solve(cho_factor(curvature), slope)
        expected = 0.5 * float(step @ slope)
        if not expected > DECREMENT:
            break
        change, length = step.reshape(n_scores, -1).T, 1.0
        while length > 1e-10:
            found, tried = value(log_odds - length * change)
            if found <= loss - 1e-4 * length * expected:
                break
            length /= 2
        if length <= 1e-10:
            break
        log_odds, loss, chances = log_odds - length * change, found, tried
    return Relaxed(candidates, active, log_odds, loss)
