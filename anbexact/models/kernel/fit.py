"""How kernel logistic regression is fitted, and how its rate and the precision of its prior are chosen."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import log_softmax

from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import one_blas_thread
from anbexact.models.kernel.distances import StateDistances, correlations, distances_of, log_correlations
from anbexact.models.kernel.model import KernelModel
from anbexact.tables.cuts import Cuts
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray

RATES = tuple(2.0**k for k in range(-2, 5))
"""The rates to choose from, times the number of features with two states or more."""
PRECISIONS = tuple(10.0**k for k in range(-4, 1))
"""The precisions of the prior to choose from."""
FIRST = 3, 3
"""Where the search for both begins."""
FOLDS, ROWS_TO_PREDICT = 3, 800
"""Number of folds for this search, and number of distinct held-out rows with which it needs no further fold."""
ROWS_TO_CHOOSE = 1_000
"""Maximum numbers of distinct rows to learn from, and of rows to predict, in each of these folds."""
MOST_CORRELATIONS = 5 * 10**7
"""Maximum number of correlations between rows and points; with more rows, there are fewer points."""
JITTER = 1e-8
"""What is added to the variance of every point, so that rounding does not make their covariance singular."""
STATIONARY, SETTLED = 1e-7, 1e-6
"""Decrease of the objective in an iteration, in nats per unit of weight, at which a fit ends, and of those fits that
are only compared."""
CACHED = 1 << 17
"""Number of values of the basis that the processor's cache holds."""
MOST_ITERATIONS = 1_000
"""Maximum number of iterations of a fit."""
SEED = 0


@dataclass(frozen=True, eq=False)
class _Rows:
    """The distinct rows of features, in ascending order, and the weight of each class in them."""

    codes: CodeArray
    weights: Floats

    @classmethod
    def of(cls, table: DiscreteTable) -> _Rows:
        vocabulary = table.vocabulary
        group = table.groups(vocabulary.features)
        order = np.lexsort(np.array([table.column(name) for name in vocabulary.features][::-1]))
        _, first, place = np.unique(group[order], return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))[place]
        weights = np.zeros((len(first), vocabulary.arity(vocabulary.class_name)))
        np.add.at(weights, (rank, table.column(vocabulary.class_name)[order]), table.weights[order])
        rows = order[np.sort(first)]
        return cls(np.array([table.column(name)[rows] for name in vocabulary.features], dtype=np.int16), weights)

    def some(self, most: int, rng: np.random.Generator) -> _Rows:
        """Return at most some number of the rows, drawn at random."""
        if len(self.weights) <= most:
            return self
        kept = np.sort(rng.permutation(len(self.weights))[:most])
        return _Rows(np.ascontiguousarray(self.codes[:, kept]), self.weights[kept])

    @property
    def biases(self) -> Floats:
        """Logs of the class frequencies, with one row more that all classes share; shape (classes,)."""
        found = self.weights.sum(axis=0) + 1 / self.weights.shape[1]
        return np.asarray(np.log(found / found.sum()))


@dataclass(frozen=True)
class KernelChoice:
    """The rate and the precision that were chosen.

    Attributes
    ----------
    rate, l2 : float
    log_loss, of_frequencies : float
        Log loss on the rows held out, with this choice and of the class frequencies; nats per row. NaN if nothing
        was held out.
    """

    rate: float
    l2: float
    log_loss: float = float("nan")
    of_frequencies: float = float("nan")


class _Fold:
    """A fold: rows to learn from, and rows to predict."""

    def __init__(self, left: _Rows, held: _Rows, distances: Sequence[StateDistances]) -> None:
        self._left, self._held = left, held
        self._between = log_correlations(left.codes, left.codes, distances, 1.0)
        self._to_held = log_correlations(held.codes, left.codes, distances, 1.0)
        self._bases: dict[float, tuple[Floats, Floats]] = {}
        self._starts: dict[float, Floats] = {}

    @property
    def n_held(self) -> int:
        """Number of distinct rows to predict."""
        return len(self._held.weights)

    @property
    def weight(self) -> float:
        """Weight of the rows to predict."""
        return float(self._held.weights.sum())

    @property
    def loss_of_frequencies(self) -> float:
        """The total loss of the class frequencies, in nats."""
        return -float(self._held.weights.sum(axis=0) @ self._left.biases)

    def loss(self, rate: float, l2: float, deadline: Deadline) -> float:
        """Return the total loss on the rows to predict, in nats."""
        if rate not in self._bases:
            root = _root(np.exp(rate * self._between))
            back = solve_triangular(root, np.exp(rate * self._to_held).T, lower=True).T
            self._bases[rate] = root, back
        basis, back = self._bases[rate]
        found = _fitted(basis, self._left, l2, deadline, self._starts.get(rate), SETTLED)
        self._starts[rate] = found
        logs = log_softmax(self._left.biases + found[-1] + back @ found[:-1], axis=1)
        return -float((self._held.weights * logs).sum())


def choose_kernel(
    table: DiscreteTable,
    distances: Sequence[StateDistances],
    rates: Sequence[float],
    precisions: Sequence[float],
    deadline: Deadline,
    progress: Progress | None = None,
) -> KernelChoice:
    """Return the rate and the precision with the least log loss in cross-validation.

    The search begins at the values of `FIRST`, and goes on to the best of the neighbouring pairs of values as long
    as it is better. In up to `FOLDS` folds, the model is learned from at most `ROWS_TO_CHOOSE` distinct rows, and
    predicts as many of the others.

    Parameters
    ----------
    table : DiscreteTable
        The training rows; if they are in groups, these are held out as a whole.
    distances : sequence of StateDistances
    rates, precisions : sequence of float
        The values to choose from, in ascending order. With one of each, nothing is held out.
    deadline : Deadline
        The time by which the search must end.
    progress : callable, optional
    """
    place = min(FIRST[0], len(rates) - 1), min(FIRST[1], len(precisions) - 1)
    if len(rates) == len(precisions) == 1:
        return KernelChoice(rates[0], precisions[0])
    rng = np.random.default_rng(SEED)
    folds: list[_Fold] = []
    for left, held in split_table(table, FOLDS):
        if sum(fold.n_held for fold in folds) >= ROWS_TO_PREDICT:
            break
        some = (_Rows.of(part).some(ROWS_TO_CHOOSE, rng) for part in (left, held))
        folds.append(_Fold(*some, distances))
    if not folds:
        return KernelChoice(rates[place[0]], precisions[place[1]])
    weight, known = sum(fold.weight for fold in folds), {}

    def loss_at(i: int, j: int) -> float:
        if (i, j) not in known:
            known[i, j] = sum(fold.loss(rates[i], precisions[j], deadline) for fold in folds) / weight
            if progress is not None:
                progress("rate and precision", len(known) / (len(rates) * len(precisions)))
        return known[i, j]

    best = loss_at(*place)
    while not deadline.passed:
        i, j = place
        for near in ((i, j - 1), (i, j + 1), (i - 1, j), (i + 1, j)):
            inside = 0 <= near[0] < len(rates) and 0 <= near[1] < len(precisions)
            if inside and not deadline.passed and loss_at(*near) < best:
                best, place = known[near], near
        if place == (i, j):
            break
    of_frequencies = sum(fold.loss_of_frequencies for fold in folds) / weight
    return KernelChoice(rates[place[0]], precisions[place[1]], best, of_frequencies)


def fit_kernel(
    table: DiscreteTable,
    cut_points: dict[Hashable, Cuts],
    distances: Sequence[StateDistances],
    chosen: KernelChoice,
    most_points: int,
    deadline: Deadline,
) -> tuple[KernelModel, bool]:
    """Return the fitted model, and whether the fit ended in time.

    The coefficients of the points maximise ``Σ_t v_t ln P(c_t | x_t) - λ/2 Σ_c (β_c² + Σ_ij a_ic k(z_i, z_j) a_jc)``
    for rows of weight v_t, where ``β_c`` is the difference of the bias of a class from the log of its frequency. This
    is the mode of the posterior if the log odds are a Gaussian process with covariance ``(1 + k(x, x')) / λ``, on the
    functions that the points span. If all distinct rows are points, these include the mode over all functions.

    Parameters
    ----------
    table : DiscreteTable
        The training rows.
    cut_points : dict
        Of the columns that are cut.
    distances : sequence of StateDistances
    chosen : KernelChoice
        θ and λ.
    most_points : int
        Maximum number of points: all distinct rows or, if there are more, some of them, drawn at random.
    deadline : Deadline
        When it passes, the best coefficients found so far are used.
    """
    rows = _Rows.of(table)
    n_rows = len(rows.weights)
    points = rows.some(max(1, min(most_points, MOST_CORRELATIONS // max(n_rows, 1))), np.random.default_rng(SEED))
    root = _root(correlations(points.codes, points.codes, distances, chosen.rate))
    basis = root
    if len(points.weights) < n_rows:
        between = correlations(points.codes, rows.codes, distances, chosen.rate)
        basis = np.ascontiguousarray(solve_triangular(root, between, lower=True, overwrite_b=True).T)
    found = _fitted(basis, rows, chosen.l2, deadline)
    # in the order of files, as products of matrices in another order have other rounding errors
    coefficients = np.ascontiguousarray(solve_triangular(root, found[:-1], lower=True, trans="T"))
    model = KernelModel(
        vocabulary=table.vocabulary,
        cut_points=cut_points,
        distances=tuple(distances),
        points=points.codes,
        coefficients=coefficients,
        biases=rows.biases + found[-1],
        rate=chosen.rate,
        l2=chosen.l2,
    )
    return model, not deadline.passed


def _root(covariance: Floats) -> Floats:
    """Return the lower Cholesky factor of a matrix of correlations, which is overwritten."""
    covariance[np.diag_indices_from(covariance)] += JITTER
    return np.asarray(cholesky(covariance, lower=True, overwrite_a=True))


def _fitted(
    basis: Floats,
    rows: _Rows,
    l2: float,
    deadline: Deadline,
    start: Floats | None = None,
    stationary: float = STATIONARY,
) -> Floats:
    """Return the coefficients of a basis and, in the last row, of a constant, shape (basis + 1, classes).

    They minimise ``-Σ_t v_t ln P(c_t | x_t) + λ/2 Σ coefficients²`` by L-BFGS (Liu and Nocedal 1989), from ``start``
    until the decrease in an iteration is ``stationary``.
    """
    weights, biases = rows.weights, rows.biases
    per_row, total = weights.sum(axis=1, keepdims=True), float(weights.sum())
    shape = basis.shape[1] + 1, weights.shape[1]

    at_once = max(1, CACHED // shape[0])
    parts = [slice(start, start + at_once) for start in range(0, len(basis), at_once)]

    def objective(flat: Floats) -> tuple[float, Floats]:
        own = flat.reshape(shape)
        gradient, value = l2 * own, l2 / 2 * float(flat @ flat)
        for part in parts:  # each is read from memory once, although two products need it
            logs = log_softmax(basis[part] @ own[:-1] + (biases + own[-1]), axis=1)
            value -= float(np.vdot(weights[part], logs))
            excess = per_row[part] * np.exp(logs) - weights[part]
            gradient[:-1] += basis[part].T @ excess
            gradient[-1] += excess.sum(axis=0)
        return value / total, gradient.ravel() / total

    def check(intermediate_result: Any) -> None:  # noqa: ARG001  # the name by which scipy passes the result
        if deadline.passed:
            raise StopIteration

    first = np.zeros(shape) if start is None else start
    options = {"maxiter": MOST_ITERATIONS, "maxfun": 2 * MOST_ITERATIONS, "maxcor": 20, "ftol": stationary, "gtol": 0}
    found = minimize(objective, first.ravel(), jac=True, method="L-BFGS-B", callback=check, options=options)
    return np.asarray(found.x.reshape(shape))


def learn_kernel(
    table: DiscreteTable,
    cut_points: dict[Hashable, Cuts],
    rates: Sequence[float],
    precisions: Sequence[float],
    most_points: int,
    deadline: Deadline,
    progress: Progress | None = None,
) -> tuple[KernelModel, KernelChoice, bool]:
    """Return the model with the best of some rates and precisions, this choice, and whether all ended in time."""
    with one_blas_thread():
        distances = distances_of(table, cut_points)
        chosen = choose_kernel(table, distances, rates, precisions, deadline, progress)
        model, in_time = fit_kernel(table, cut_points, distances, chosen, most_points, deadline)
    return model, chosen, in_time
