"""Weights of a logarithmic pool: a convex fit to the log posteriors of rows that the members did not learn from.

``P(c | x) ∝ exp(b_c + Σ_m w_m ln P_m(c | x))`` with ``w_m ≥ 0``. The fit maximises

    Σ_t v_t ln P(c_t | x_t) - λ/2 · [Σ_m (w_m - p_m)² + Σ_c b_c²]

for rows of weight v_t, where p, the centre of the prior, adds up to 1 and favours members that predict well by
themselves; see :func:`prior_centre`. The logarithm of a sum of exponentials of linear functions is convex, and the
ridge makes the maximum unique. The biases b sum to 0 at the maximum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isinf, log
from typing import Any

import numpy as np
from scipy.special import log_softmax, xlogy

from anbexact._runtime.arrays import Bools, Floats, Integers
from anbexact._runtime.json_checks import listed, numbers, reading
from anbexact._runtime.json_values import decode, encode

LEAST_LOG = -700.0
"""The logarithm that is used for a probability that is 0, or too small for a float."""
RIDGES = tuple(10.0 ** (k / 2) for k in range(11))
"""Precisions of the prior of the weights to choose from: from 1 to 100,000, two for each power of ten."""
USUAL_RIDGE, SPREAD_OF_RIDGE = 100.0, 2.5
"""Median of the prior of that precision, and standard deviation of its natural logarithm: with few rows, the evidence
alone would allow weights that fit the held-out rows by chance."""
SHARPNESS = 1.5
"""Factor in the exponent of :func:`prior_centre`."""
MOST_STEPS = 200
"""Maximum number of Newton steps of a fit."""
STATIONARY = 1e-10
"""Squared Newton decrement per unit of weight at which a fit ends."""
SUFFICIENT = 1e-4
"""Share of the decrease predicted by the gradient that a step must achieve (Armijo's rule)."""
NEAR_BOUND = 1e-9
"""Weight up to which a member is fixed at 0 if its weight would fall."""


@dataclass(frozen=True, eq=False)
class HeldOutLogs:
    """The members' predictions for rows from which they did not learn.

    Attributes
    ----------
    logs : (rows, members, classes) float64
        ln P_m(c | x); minus infinity and NaN count as `LEAST_LOG`.
    codes : (rows,) intp
        The true classes.
    weights : (rows,) float64
        Weights of the rows, 0 or more.
    """

    logs: Floats
    codes: Integers
    weights: Floats

    @property
    def log_likelihood_of_frequencies(self) -> float:
        """Σ_t v_t ln of the share of class c_t in these rows; total in nats."""
        class_weights = np.bincount(self.codes, self.weights)
        return float(xlogy(class_weights, class_weights).sum() - xlogy(self.weights.sum(), self.weights.sum()))

    @classmethod
    def together(cls, parts: Sequence[HeldOutLogs]) -> HeldOutLogs:
        """Return the rows of several folds as one."""
        return cls(
            np.concatenate([part.logs for part in parts]),
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class PoolWeights:
    """The weights of a pool's members, and the biases of its classes.

    Attributes
    ----------
    weights : (members,) float64
        0 or more; they need not add up to 1.
    biases : (classes,) float64
        Nats; they add up to 0.
    ridge : float
        Precision of the prior.
    """

    weights: Floats
    biases: Floats
    ridge: float

    @classmethod
    def equal(cls, n_members: int, n_classes: int) -> PoolWeights:
        """Return the weights 1/M, without biases: the normalised geometric mean of the members' posteriors."""
        return cls(np.full(n_members, 1.0 / n_members), np.zeros(n_classes), inf)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "weights": self.weights.tolist(),
            "biases": self.biases.tolist(),
            "ridge": encode(float(self.ridge)),
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any], n_members: int, n_classes: int) -> PoolWeights:
        """Return the weights that :meth:`to_dict` described.

        Raises
        ------
        ValueError
            For other numbers of members or classes, or a weight below 0; the message names the field.
        """
        with reading("weights"):
            weights = numbers(listed(described["weights"], n_members))
            if not (weights >= 0).all():
                raise ValueError(f"a weight is below 0: {float(weights.min())!r}")
        with reading("biases"):
            biases = numbers(listed(described["biases"], n_classes))
        with reading("ridge"):
            return cls(weights, biases, float(decode(described["ridge"])))

    def log_posterior(self, logs: Floats) -> Floats:
        """Return ln P(c | x), shape (rows, classes), from the members' logs, shape (rows, members, classes)."""
        total = self.biases + np.einsum("tmc,m->tc", finite_logs(logs), self.weights)
        return np.asarray(log_softmax(total, axis=1))

    def log_likelihood(self, held_out: HeldOutLogs) -> float:
        """Return Σ_t v_t ln P(c_t | x_t); total in nats."""
        true_class_logs = self.log_posterior(held_out.logs)[np.arange(len(held_out.codes)), held_out.codes]
        return float(held_out.weights @ true_class_logs)


def shares(weights: Floats) -> Floats:
    """Return the weights w_m / Σ w, which add up to 1, shape (members,); they are equal if all w are 0."""
    total = float(weights.sum())
    return weights / total if total else np.full(len(weights), 1.0 / len(weights))


def finite_logs(logs: Floats) -> Floats:
    """Return log probabilities without infinities; see `LEAST_LOG`."""
    return np.maximum(np.nan_to_num(logs, nan=LEAST_LOG, neginf=LEAST_LOG), LEAST_LOG)


def prior_centre(held_out: HeldOutLogs) -> Floats:
    """Return the centre p of the prior of the weights, shape (members,); its elements add up to 1.

    ``p_m ∝ exp(-1.5 √N (ℓ_m - min ℓ))``, where ℓ_m is the log loss of a member, in nats per row, and N the weight of
    the rows. These are the likelihoods of the members on held-out rows to the power 1.5/√N, because the difference of
    two losses is itself uncertain by about 1/(2 √N). The factor was chosen by measurement.
    """
    n_members = held_out.logs.shape[1]
    total = float(held_out.weights.sum())
    if total <= 0:
        return np.full(n_members, 1.0 / n_members)
    true_class_logs = finite_logs(held_out.logs)[np.arange(len(held_out.codes)), :, held_out.codes]
    losses = -(held_out.weights @ true_class_logs) / total
    shares = np.exp(-SHARPNESS * np.sqrt(total) * (losses - losses.min()))
    return np.asarray(shares / shares.sum())


def fit_weights(held_out: HeldOutLogs, ridge: float) -> PoolWeights:
    """Return the weights and biases with the largest penalised log likelihood.

    Uses Newton's method on weights above 0, while the others are fixed at 0 as long as they would fall (Bertsekas
    1982), with a line search along the projection. There are M + s unknowns for M members and s classes.

    Parameters
    ----------
    held_out : HeldOutLogs
        Rows that the members did not learn from.
    ridge : float
        λ, above 0; infinity gives the centre of the prior.

    References
    ----------
    Bertsekas, *Projected Newton methods for optimization problems with simple constraints*, SIAM Journal on Control
    and Optimization 20 (1982).
    """
    return _fit(Problem(held_out), ridge)


def _fit(problem: Problem, ridge: float, start: PoolWeights | None = None) -> PoolWeights:
    """Return the result of :func:`fit_weights`; the search starts from weights under another precision, if given."""
    n_members = problem.n_members
    if isinf(ridge) or not problem.weight_sum:
        return PoolWeights(problem.centre[:n_members], problem.centre[n_members:], ridge)
    point = problem.centre if start is None else np.concatenate([start.weights, start.biases])
    bounded = np.arange(len(point)) < n_members
    value, gradient, hessian = problem.derivatives(point, ridge)
    for _ in range(MOST_STEPS):
        held = bounded & (point <= NEAR_BOUND) & (gradient > 0)
        free = ~held
        step = np.zeros(len(point))
        step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        step[held] = -point[held]
        if -float(gradient @ step) <= STATIONARY * problem.weight_sum:
            break
        size = 1.0
        while size > 1e-12:  # below, rounding hides any decrease
            tried = _projected(point + size * step, bounded)
            if problem.value(tried, ridge) <= value + SUFFICIENT * float(gradient @ (tried - point)):
                break
            size /= 2
        else:
            break
        point = tried
        value, gradient, hessian = problem.derivatives(point, ridge)
    point = np.where(bounded & (point <= NEAR_BOUND), 0.0, point)
    biases = point[n_members:]
    return PoolWeights(point[:n_members], biases - biases.mean(), ridge)


def log_evidence(problem: Problem, found: PoolWeights) -> float:
    """Return the Laplace approximation of the log evidence of a precision, at the weights that were fitted with it.

    ``-F(w, b) + (d ln λ - ln |H|) / 2``, where F is minus the penalised log likelihood, H its Hessian, and both the
    determinant and d, the number of unknowns, leave out the members of weight 0. In nats, up to a constant.
    """
    point = np.concatenate([found.weights, found.biases])
    value, _, hessian = problem.derivatives(point, found.ridge)
    free = (np.arange(len(point)) >= problem.n_members) | (point > 0)
    _, log_determinant = np.linalg.slogdet(hessian[np.ix_(free, free)])
    return -value + float(free.sum() * log(found.ridge) - log_determinant) / 2


def fit_pool(held_out: HeldOutLogs, ridges: Sequence[float] = RIDGES) -> PoolWeights:
    """Return the weights and biases under the most probable precision; of equally probable ones, the largest.

    The probability of a precision is proportional to its evidence times its prior, which is log-normal around 100.
    The precision is not cross-validated: with few rows, chance would decide.
    """
    problem = Problem(held_out)
    fits: list[PoolWeights] = []
    for ridge in sorted(ridges, reverse=True):
        fits.append(_fit(problem, ridge, fits[-1] if fits else None))
    return max(fits, key=lambda found: log_evidence(problem, found) + log_prior_of_ridge(found.ridge))


def log_prior_of_ridge(ridge: float) -> float:
    """Return ln p(ln λ) for a precision λ, in nats, up to a constant: normal, with `SPREAD_OF_RIDGE`."""
    return -((log(ridge / USUAL_RIDGE) / SPREAD_OF_RIDGE) ** 2) / 2


def _projected(point: Floats, bounded: Bools) -> Floats:
    """Return a point in which negative values of bounded unknowns are replaced by 0."""
    return np.where(bounded, np.maximum(point, 0.0), point)


class Problem:
    """Minus the penalised log likelihood, as a function of the weights followed by the biases.

    Attributes
    ----------
    n_members : int
    centre : (members + classes,) float64
        The centre of the prior.
    weight_sum : float
        Σ_t v_t.
    """

    def __init__(self, held_out: HeldOutLogs) -> None:
        counted = held_out.weights > 0
        logs = finite_logs(held_out.logs[counted])
        codes, self._weights = held_out.codes[counted], held_out.weights[counted]
        self._logs = np.ascontiguousarray(logs.T)  # classes, members, rows: sums along a short last axis are slow
        self._own = np.ascontiguousarray(logs[np.arange(len(logs)), :, codes].T)
        self._label_weights = np.bincount(codes, self._weights, logs.shape[2])
        self.n_members = logs.shape[1]
        self.centre = np.concatenate([prior_centre(held_out), np.zeros(logs.shape[2])])
        self.weight_sum = float(self._weights.sum())

    def _log_likelihood(self, point: Floats) -> tuple[float, Floats]:
        """Return the log likelihood, in nats, and P(c | x) of every row, shape (classes, rows)."""
        weights, biases = point[: self.n_members], point[self.n_members :]
        probability = weights @ self._logs + biases[:, None]
        top = probability.max(axis=0)
        probability -= top
        np.exp(probability, out=probability)
        sums = probability.sum(axis=0)
        probability /= sums
        norms = top + np.log(sums)
        value = self._weights @ (weights @ self._own - norms) + self._label_weights @ biases
        return float(value), probability

    def value(self, point: Floats, ridge: float) -> float:
        """Return the function at a point, in nats, for a precision λ of the prior."""
        return ridge / 2 * float(np.sum((point - self.centre) ** 2)) - self._log_likelihood(point)[0]

    def derivatives(self, point: Floats, ridge: float) -> tuple[float, Floats, Floats]:
        """Return the function, its gradient and its Hessian at a point, for a precision λ of the prior."""
        log_likelihood, probability = self._log_likelihood(point)
        weighted = probability * self._weights
        means = (probability[:, None] * self._logs).sum(axis=0)
        of_classes, members = weighted.sum(axis=1), self.n_members
        gradient = np.concatenate([(means - self._own) @ self._weights, of_classes - self._label_weights])
        spread = self._logs - means
        scaled = spread * weighted[:, None]
        across = scaled.sum(axis=2)
        hessian = np.empty((len(point), len(point)))
        hessian[:members, :members] = (scaled @ spread.transpose(0, 2, 1)).sum(axis=0)
        hessian[members:, :members] = across
        hessian[:members, members:] = across.T
        hessian[members:, members:] = np.diag(of_classes) - probability @ weighted.T
        offset = point - self.centre
        hessian[np.diag_indices(len(point))] += ridge
        return ridge / 2 * float(offset @ offset) - log_likelihood, gradient + ridge * offset, hessian
