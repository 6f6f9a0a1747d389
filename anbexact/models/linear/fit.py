"""How a linear logistic regression is fitted between that of maximum likelihood and linear discriminant analysis."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import log_softmax

from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.tasks import one_blas_thread
from anbexact.models.kernel.mode import Objective, mode
from anbexact.models.kernel.rows import DistinctRows
from anbexact.models.linear.model import LinearModel
from anbexact.models.linear.values import values_of_states
from anbexact.models.parameters.counts import count_families
from anbexact.models.parameters.tables import eap_tables
from anbexact.models.structure import Structure
from anbexact.tables.cuts import Cuts
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable

PRECISIONS = tuple(10.0**k for k in range(-2, 3))
"""The precisions of the prior to choose from."""
CENTRES = 0.0, 0.5, 1.0
"""The shares of the coefficients of linear discriminant analysis to choose from."""
FOLDS, ROWS_TO_PREDICT = 5, 3_000
"""Number of folds of the choice, and weight of held-out rows that needs no further fold."""
ENOUGH = 1e-4
"""Relative decrease of the objective in a step at which a fit in the folds ends."""
CONSTANT = 10.0
"""Value of all rows that a further coefficient multiplies: the constants of the classes have a prior that is weaker
by the square of this number than that of other coefficients."""


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
        rows = DistinctRows.of(table)
        self.values, self.biases = values_of_states(table, cut_points), rows.biases
        values = self._values_of(rows)
        of_classes = rows.weights.sum(axis=0)
        self._known = np.flatnonzero(of_classes > 0)
        self._weights = rows.weights[:, self._known]
        self._pull = self._weights / of_classes[self._known]
        means = values.T @ self._pull
        self.covariance = _covariance_within(values, self._weights, means)
        self._root = cholesky(self.covariance, lower=True)
        self._means = solve_triangular(self._root, means, lower=True)
        self._pull = self._pull - self._pull.mean(axis=1, keepdims=True)
        inner = solve_triangular(self._root, values.T, lower=True).T
        self._basis = np.hstack([inner, np.full((len(inner), 1), CONSTANT)])
        self._starts: dict[float, Floats] = {}

    def _values_of(self, rows: DistinctRows) -> Floats:
        """Return the values of rows, shape (rows, values)."""
        return np.hstack([own[codes] for own, codes in zip(self.values, rows.codes, strict=True)])

    def coefficients(self, setting: LinearSetting, share: float = 0.0) -> tuple[Floats, Floats]:
        """Return the coefficients of the values, (values, classes), and the constants, (classes,), in nats.

        They maximise ``Σ_t v_t ln P(c_t | x_t) - λ/2 Σ_c |w_c - s m_c|²`` in the coordinates of the rows, where m_c
        is the mean of class c: the coefficients of linear discriminant analysis. The linear part of this prior,
        ``λ s Σ_c m_c · w_c``, is that of a log likelihood in which class c has further rows, of total weight λ s, in
        proportion to its own ones, while the normalising constants keep the weights of the rows. The search ends at
        a relative decrease of ``share`` or less.
        """
        l2, centre = setting
        lowered = centre / 2 * (self._means**2).sum(axis=0)
        known = self.biases[self._known] - lowered
        constants = self.biases - (float(lowered.mean()) if len(self._known) else 0.0)  # of classes without rows
        coefficients = np.zeros((len(self._root), len(constants)))
        if len(self._known) > 1:
            objective = Objective(self._basis, self._weights + l2 * centre * self._pull, known, l2)
            start = self._starts.get(centre)
            found = mode(objective, Deadline(None), start, share).coefficients
            self._starts[centre] = found
            known = known + found[-1] + CONSTANT * found[-2]
            coefficients[:, self._known] = solve_triangular(self._root, found[:-2], lower=True, trans="T")
        constants[self._known] = known
        return coefficients, constants

    def losses(self, held: DistinctRows, setting: LinearSetting) -> float:
        """Return the total loss of other rows, in nats."""
        coefficients, constants = self.coefficients(setting, ENOUGH)
        logs = log_softmax(self._values_of(held) @ coefficients + constants, axis=1)
        return -float(np.vdot(held.weights, logs))


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
) -> list[LinearChoice]:
    """Return all pairs of a precision and a centre, those with the least log loss in cross-validation first.

    In up to `FOLDS` folds, rows are held out; there is no further fold once `ROWS_TO_PREDICT` are. Of equally good
    pairs, one with a larger precision comes first, and then one with a smaller centre.

    Parameters
    ----------
    table : DiscreteTable
        The training rows; if they are in groups, these are held out as a whole.
    cut_points : mapping
        The cut points of the columns that are cut.
    precisions, centres : sequences of float
        The values to choose from. With one of each, nothing is held out.
    """
    settings = [LinearSetting(l2, centre) for centre in sorted(centres) for l2 in sorted(precisions, reverse=True)]
    folds, weight, of_frequencies = [], 0.0, 0.0
    for left, held in split_table(table, FOLDS) if len(settings) > 1 else ():
        if weight < ROWS_TO_PREDICT:
            folds.append((LinearFit(left, cut_points), DistinctRows.of(held)))
            weight += held.weight_sum
            of_frequencies -= float(folds[-1][1].weights.sum(axis=0) @ folds[-1][0].biases)
    if not folds:
        return [LinearChoice(setting) for setting in settings]
    losses = [sum(fit.losses(held, setting) for fit, held in folds) / weight for setting in settings]
    order = sorted(range(len(settings)), key=lambda k: (losses[k], -settings[k].l2, settings[k].centre))
    return [LinearChoice(settings[k], losses[k], of_frequencies / weight) for k in order]


def learn_linear(
    table: DiscreteTable,
    cut_points: Mapping[Hashable, Cuts],
    precisions: Sequence[float],
    centres: Sequence[float],
) -> tuple[LinearModel, LinearChoice]:
    """Return the model with the best of some settings, and this choice.

    The arguments are those of :func:`choose_linear`.
    """
    vocabulary = table.vocabulary
    (class_name,) = vocabulary.common_parents
    with one_blas_thread():
        chosen = choose_linear(table, cut_points, precisions, centres)[0]
        fit = LinearFit(table, cut_points)
        coefficients, constants = fit.coefficients(chosen.setting)
    structure = Structure.given(class_name, {class_name: (), **dict.fromkeys(vocabulary.features, (class_name,))})
    bayes = eap_tables(count_families(table, structure))
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
