"""Naive Bayes with a weight for every feature."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from anbexact._runtime.arrays import Floats
from anbexact._runtime.tasks import one_blas_thread
from anbexact._runtime.warn import warn
from anbexact.classifiers.derived_tables import DerivedTablesClassifier
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import ConditionalTable, Tables
from anbexact.tables.table import DiscreteTable

LEAST_LOG = -700.0
"""Used instead of the logarithm of 0, which can occur in tables other than posterior means."""
MOST_STEPS = 1000
"""Maximum number of steps of the optimisation."""


@register_classifier(
    "wnb",
    "weighted naive Bayes (WNB)",
    compared=[Compared("WNB", 12, refitted=False)],
    saved=["feature_weights_", "sample_sizes_"],
)
class WeightedNaiveBayesClassifier(DerivedTablesClassifier):
    """Naive Bayes with a weight from 0 to 1 for every feature, by conditional likelihood (WANBIA-CLL).

    ``P(c | x) ∝ P(c) Π_i P(x_i | c)^w_i``, with the weights that maximise the conditional log likelihood of the
    training rows; the tables P(c) and P(x_i | c) are those of naive Bayes. With weight 1 for all features, this is
    naive Bayes. A weight below 1 corrects for information that features share and that naive Bayes counts twice;
    weight 0 leaves a feature out. The conditional log likelihood is concave in the weights, so L-BFGS-B finds its
    maximum (to a relative accuracy of 10⁻⁹).

    The result is stored as the naive Bayes with the same posterior, ``P'(x_i | c) = P(x_i | c)^w_i / Z_i(c)`` and
    ``P'(c) ∝ P(c) Π_i Z_i(c)``. Missing cells are summed out of this network, which can be explained, converted and
    saved. It has no counts, so rows cannot be added.

    Parameters are those of :class:`~anbexact.NetworkClassifier`.

    Attributes
    ----------
    feature_weights_ : (features,) float64
        The weights, in the order of the features.
    sample_sizes_ : (2,) float64
        The values used for ``ess`` and ``smoothing``.

    The other attributes are those of :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Zaidi, Cerquides, Carman and Webb, *Alleviating naive Bayes attribute independence assumption by attribute
    weighting*, Journal of Machine Learning Research 14 (2013).

    Examples
    --------
    >>> from anbexact.classifiers import WeightedNaiveBayesClassifier
    >>> from anbexact.datasets import load_anes96
    >>> X, y = load_anes96()
    >>> wnb = WeightedNaiveBayesClassifier(ess=1.0).fit(X, y)
    >>> weights = dict(zip(X.columns, wnb.feature_weights_.round(1).tolist()))
    >>> weights["PID"], weights["income"]
    (0.8, 0.0)
    """

    feature_weights_: npt.NDArray[np.float64]

    def _derived(self, table: DiscreteTable, network: TableNetwork) -> Tables:
        class_name, features = network.structure.class_name, table.vocabulary.features
        with np.errstate(divide="ignore"):
            prior = np.maximum(np.log(network.tables[class_name].values), LEAST_LOG)
            logs = [np.maximum(np.log(network.tables[name].values), LEAST_LOG) for name in features]
        self.feature_weights_ = _best_weights(table, prior, logs)
        tables = {}
        for name, own, weight in zip(features, logs, self.feature_weights_, strict=True):
            values = np.exp(weight * own)
            prior = prior + np.log(values.sum(axis=0))
            tables[name] = ConditionalTable(name, (class_name,), values / values.sum(axis=0))
        prior = np.exp(prior - prior.max())
        tables[class_name] = ConditionalTable(class_name, (), prior / prior.sum())
        return {name: tables[name] for name in network.tables}


def _best_weights(table: DiscreteTable, prior: Floats, logs: list[Floats]) -> Floats:
    """Return the weights with the highest conditional log likelihood.

    Parameters
    ----------
    prior : (classes,) float64
        ln P(c).
    logs : list of (states, classes) float64
        ln P(x_i | c) of every feature.
    """
    codes = [table.column(name) for name in table.vocabulary.features]
    classes, rows = table.column(table.vocabulary.class_name), np.arange(len(table.weights))
    total = table.weight_sum

    def loss(weights: Floats) -> tuple[float, Floats]:
        joint = np.repeat(prior[None, :], len(rows), axis=0)
        for weight, own, states in zip(weights, logs, codes, strict=True):
            joint += (weight * own)[states]
        joint -= joint.max(axis=1, keepdims=True)
        proba = np.exp(joint)
        sums = proba.sum(axis=1)
        value = float(table.weights @ (np.log(sums) - joint[rows, classes]))
        residual = -proba * (table.weights / sums)[:, None]
        residual[rows, classes] += table.weights
        gradient = np.empty(len(logs))
        for i, (own, states) in enumerate(zip(logs, codes, strict=True)):
            by_state = np.stack(
                [np.bincount(states, residual[:, c], len(own)) for c in range(residual.shape[1])], axis=1
            )
            gradient[i] = -(by_state * own).sum()
        return value / total, gradient / total

    if not logs:
        return np.empty(0)
    with one_blas_thread():
        found = minimize(
            loss,
            np.ones(len(logs)),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * len(logs),
            options={"maxiter": MOST_STEPS, "ftol": 1e-13, "gtol": 1e-9},
        )
    if found.nit >= MOST_STEPS:
        warn(f"the weights of the features had not converged after {MOST_STEPS:,} steps; the last ones are used")
    weights: Floats = np.asarray(found.x, dtype=np.float64)
    return weights
