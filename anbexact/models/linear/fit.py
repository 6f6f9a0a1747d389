"""How a linear logistic regression is fitted between that of maximum likelihood and linear discriminant analysis."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import log_softmax

from anbexact._runtime.arrays import Bools, Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import one_blas_thread
from anbexact.models.kernel.mode import Objective, mode
from anbexact.models.kernel.rows import DistinctRows
from anbexact.models.linear.model import LinearModel, naive_bayes_structure
from anbexact.models.linear.values import values_of_states
from anbexact.models.parameters.counts import count_families
from anbexact.models.parameters.tables import eap_tables
from anbexact.tables.cuts import Cuts
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable

PRECISIONS = tuple(10.0**k for k in range(-2, 3))
"""The precisions of the prior to choose from."""
CENTRES = 0.0, 0.5, 1.0
"""The shares of the coefficients of linear discriminant analysis to choose from."""
FOLDS, ROWS_TO_PREDICT = 5, 3_000
"""Number of folds of the choice, and number of distinct held-out rows that need no further fold."""
CONSTANT = 10.0
"""The constant of a class is ``w_0 + 10 w_1`` with two coefficients of precision λ: its prior variance is 101/λ."""


class LinearSetting(NamedTuple):
    """The values on which the fit of the coefficients depends.

    Attributes
    ----------
    l2 : float
        λ, above 0: the precision of the prior.
    centre : float
        s, from 0 to 1: the centre of the prior, as a share of linear discriminant analysis.
    """

    l2: float
    centre: float


class LinearChoice(NamedTuple):
    """A setting that was chosen.

    Attributes
    ----------
    setting : LinearSetting
    log_loss, of_frequencies : float
        Log loss on the held-out rows, in nats per row: with this setting, and of the class frequencies; NaN if
        nothing was held out.
    """

    setting: LinearSetting
    log_loss: float = float("nan")
    of_frequencies: float = float("nan")


class LinearFit:
    """Training rows in coordinates in which the covariance within the classes is the identity matrix.

    Parameters
    ----------
    table : DiscreteTable
        The training rows.
    cut_points : mapping
        The cut points of the columns that are cut.

    Attributes
    ----------
    values : tuple of (states, values) float64
        Those of :func:`~anbexact.models.linear.values.values_of_states`.
    biases : (classes,) float64
        Logs of P(class), with one row more that all classes share.
    covariance : (values, values) float64
        S, the covariance of the values within the classes, shrunk.
    """

    def __init__(self, table: DiscreteTable, cut_points: Mapping[Hashable, Cuts]) -> None:
        rows, of_states = DistinctRows.of(table), values_of_states(table, cut_points)
        self.values, self.biases = tuple(own.values for own in of_states), rows.biases
        values = self._values_of(rows)
        of_classes = rows.weights.sum(axis=0)
        self._known = np.flatnonzero(of_classes > 0)
        self._weights = rows.weights[:, self._known]
        means = values.T @ (self._weights / of_classes[self._known])
        self.covariance = _covariance_within(values, self._weights, means)
        self._root = cholesky(self.covariance, lower=True) if values.shape[1] else self.covariance
        self._basis = np.hstack([self._solved(values.T).T, np.full((len(values), 1), CONSTANT)])
        measured = np.concatenate([own.measured for own in of_states])
        self._directions = self._root.T @ _discriminants(self.covariance, means, measured)
        self._starts: dict[float, Floats] = {}

    def _values_of(self, rows: DistinctRows) -> Floats:
        """Return the values of rows, shape (rows, values)."""
        return np.hstack([own[codes] for own, codes in zip(self.values, rows.codes, strict=True)])

    def _solved(self, values: Floats, transposed: bool = False) -> Floats:
        """Return the product of the inverse of the Cholesky factor of S, or of its transpose, and a matrix."""
        if not len(self._root):  # which older versions of SciPy refuse
            return values
        return np.asarray(solve_triangular(self._root, values, lower=True, trans="T" if transposed else "N"))

    def coefficients(self, setting: LinearSetting) -> tuple[Floats, Floats]:
        """Return the coefficients of the values, (values, classes), and the constants, (classes,), in nats.

        In the coordinates of the rows, the penalty is ``λ/2 Σ_c |w_c - s m_c|²``. Its linear part,
        ``λ s Σ_c m_c · w_c``, enters the log likelihood by a further row m_c for every class, whose weights add up to
        0, so that it has no normalising constant: λ s for class c, less λ s divided by the number of classes for all.

        A class without rows has no coefficients, and the log of its share as its constant, lowered like those of the
        other classes on average.
        """
        l2, centre = setting
        lowered = centre / 2 * (self._directions**2).sum(axis=0)
        known = self.biases[self._known] - lowered
        constants = self.biases - lowered.mean()
        coefficients = np.zeros((len(self._root), len(constants)))
        n_known = len(self._known)
        if n_known > 1:
            drawn = np.hstack([self._directions.T, np.zeros((n_known, 1))])
            weights = l2 * centre * (np.eye(n_known) - 1 / n_known)
            basis, all_weights = np.vstack([self._basis, drawn]), np.vstack([self._weights, weights])
            start = self._starts.get(centre)
            if start is None:
                start = np.vstack([centre * self._directions, np.zeros((2, n_known))])
                start -= start.mean(axis=1, keepdims=True)
            found = mode(Objective(basis, all_weights, known, l2), Deadline(None), start).coefficients
            self._starts[centre] = found
            known = known + found[-1] + CONSTANT * found[-2]
            coefficients[:, self._known] = self._solved(found[:-2], transposed=True)
        constants[self._known] = known
        return coefficients, constants

    def loss(self, held: DistinctRows, setting: LinearSetting) -> float:
        """Return the total loss of other rows, in nats."""
        coefficients, constants = self.coefficients(setting)
        logs = log_softmax(self._values_of(held) @ coefficients + constants, axis=1)
        return -float(np.vdot(held.weights, logs))


def _discriminants(covariance: Floats, means: Floats, measured: Bools) -> Floats:
    """Return the coefficients of linear discriminant analysis of the measured values, and 0 for the others.

    Indicators are left out because they are far from normal: if a state does not occur in a class, its variance there
    is almost 0, so that the log odds would grow with the number of rows instead of its logarithm.
    """
    found = np.zeros(means.shape)
    if measured.any():
        found[measured] = np.linalg.solve(covariance[np.ix_(measured, measured)], means[measured])
    return found


def _covariance_within(values: Floats, weights: Floats, means: Floats) -> Floats:
    """Return the covariance of values within the classes, (values, values), shrunk and positive definite.

    That of Ledoit and Wolf, *A well-conditioned estimator for large-dimensional covariance matrices*, Journal of
    Multivariate Analysis 88 (2004), for rows of weight v as for v rows; as if there were one row more, whose scatter
    is the mean variance of the values times the identity matrix.
    """
    total, size = float(weights.sum()), values.shape[1]
    covariance, fourth = np.zeros((size, size)), 0.0
    for of_class, mean in zip(weights.T, means.T, strict=True):
        apart = values - mean
        covariance += (of_class[:, None] * apart).T @ apart
        fourth += float(of_class @ (apart**2).sum(axis=1) ** 2)
    if not size:
        return covariance
    covariance = (covariance + covariance.T) / (2 * total)  # symmetric in spite of rounding
    diagonal = np.diag_indices(size)
    mean_variance, squares = float(covariance[diagonal].mean()), float((covariance**2).sum())
    off = squares - size * mean_variance**2
    share = min(max((fourth / total - squares) / total, 0.0), off) / off if off > 0 else 0.0
    covariance *= 1 - share
    covariance[diagonal] += share * mean_variance
    of_all = float((weights.sum(axis=1) @ values**2).mean()) / total
    covariance *= total / (total + 1)
    covariance[diagonal] += of_all / (total + 1)
    return covariance


def choose_linear(
    table: DiscreteTable,
    cut_points: Mapping[Hashable, Cuts],
    precisions: Sequence[float],
    centres: Sequence[float],
    progress: Progress | None = None,
) -> LinearChoice:
    """Return the precision and the centre with the least log loss in cross-validation.

    In up to `FOLDS` folds, rows are held out; there is no further fold once `ROWS_TO_PREDICT` distinct rows are. Of
    equally good pairs, one with a smaller centre is chosen, and then one with a larger precision; so is the pair of
    the smallest centre and the largest precision if nothing can be held out.

    Parameters
    ----------
    table : DiscreteTable
        The training rows; if they are in groups, these are held out as a whole.
    cut_points : mapping
        The cut points of the columns that are cut.
    precisions, centres : sequences of float
        The values to choose from. With one of each, nothing is held out.
    progress : callable, optional
        Called with a phase and the share of all pairs that have been tried.
    """
    settings = [LinearSetting(l2, centre) for centre in sorted(centres) for l2 in sorted(precisions, reverse=True)]
    folds: list[tuple[LinearFit, DistinctRows]] = []
    for left, held in split_table(table, FOLDS) if len(settings) > 1 else ():
        if sum(len(rows.weights) for _, rows in folds) < ROWS_TO_PREDICT:
            folds.append((LinearFit(left, cut_points), DistinctRows.of(held)))
    if not folds:
        return LinearChoice(settings[0])
    weight = sum(float(held.weights.sum()) for _, held in folds)
    losses = []
    for setting in settings:
        losses.append(sum(fit.loss(held, setting) for fit, held in folds) / weight)
        if progress is not None:
            progress("precision and centre", len(losses) / len(settings))
    of_frequencies = -sum(float(held.weights.sum(axis=0) @ fit.biases) for fit, held in folds) / weight
    best = int(np.argmin(losses))
    return LinearChoice(settings[best], losses[best], of_frequencies)


def learn_linear(
    table: DiscreteTable,
    cut_points: Mapping[Hashable, Cuts],
    precisions: Sequence[float],
    centres: Sequence[float],
    progress: Progress | None = None,
) -> tuple[LinearModel, LinearChoice]:
    """Return the model with the best of some settings, and this choice.

    The arguments are those of :func:`choose_linear`.
    """
    vocabulary = table.vocabulary
    with one_blas_thread():
        chosen = choose_linear(table, cut_points, precisions, centres, progress)
        fit = LinearFit(table, cut_points)
        coefficients, constants = fit.coefficients(chosen.setting)
    bayes = eap_tables(count_families(table, naive_bayes_structure(vocabulary)))
    model = LinearModel(
        vocabulary=vocabulary,
        cut_points=cut_points,
        values=fit.values,
        coefficients=coefficients,
        constants=constants,
        covariance=fit.covariance,
        shares=np.exp(fit.biases),
        common_logs=tuple(np.log(bayes[name].values).mean(axis=1) for name in vocabulary.features),
        l2=chosen.setting.l2,
        centre=chosen.setting.centre,
    )
    return model, chosen
