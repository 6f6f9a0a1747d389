"""Naive Bayes with kernel densities, to compare with."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KernelDensity
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from anbexact.compare.measures import Floats
from anbexact.table import check_weights

ERROR = 1e-4
"""Relative error of a density that the sum over all rows may have; without it, that takes twice as long."""


class KernelNaiveBayes(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]  # likewise
):
    """Naive Bayes of numbers, whose features have a Gaussian kernel density in every class.

    ``P(c | x) ∝ P(c) Π_i f_i(x_i | c)``: P(c) is the share of a class, and f_i the mean, over its rows, of normal
    densities around their values, by scikit-learn's KernelDensity. Their deviation is by Scott's rule,
    ``σ n^(-1/5)``: σ is the deviation of the feature in the class, and n the weight of its rows. Where σ is 0, that
    of the feature in all rows takes its place, or else 1.

    References
    ----------
    John and Langley, *Estimating Continuous Distributions in Bayesian Classifiers*, UAI 1995; Scott, *Multivariate
    Density Estimation*, 1992.

    Examples
    --------
    >>> from anbexact.compare.kde import KernelNaiveBayes
    >>> from anbexact.datasets import load_iris
    >>> X, y = load_iris()
    >>> round(KernelNaiveBayes().fit(X, y).score(X, y), 3)
    0.96
    """

    classes_: Any
    class_log_prior_: Floats
    densities_: list[list[KernelDensity]]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows; those of weight 0 count for nothing."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weights = check_weights(sample_weight, len(X))
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.class_log_prior_ = np.log(np.bincount(codes, weights) / weights.sum())
        overall = _deviations(X, weights)
        overall[overall == 0] = 1.0
        self.densities_ = []
        for c in range(len(self.classes_)):
            values, of_rows = X[codes == c], weights[codes == c]
            within = _deviations(values, of_rows)
            widths = np.where(within > 0, within, overall) * of_rows.sum() ** -0.2
            of_rows = None if sample_weight is None else of_rows  # whose sums take far longer
            self.densities_.append(
                [
                    KernelDensity(bandwidth=width, rtol=ERROR).fit(values[:, [j]], sample_weight=of_rows)
                    for j, width in enumerate(widths)
                ]
            )
        return self

    def predict_log_proba(self, X: Any) -> Floats:
        """Return ln P(c | row), shape (rows, classes)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        joint = np.tile(self.class_log_prior_, (len(X), 1))
        for c, densities in enumerate(self.densities_):
            for j, density in enumerate(densities):
                joint[:, c] += density.score_samples(X[:, [j]])
        normalised: Floats = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return normalised

    def predict_proba(self, X: Any) -> Floats:
        """Return P(c | row), shape (rows, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Any:
        """Return the most probable class of every row."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]


def _deviations(values: Floats, weights: Floats) -> Floats:
    """Return the standard deviation of every column; exactly 0 for a constant one."""
    means = np.average(values, axis=0, weights=weights)
    deviations: Floats = np.sqrt(np.average((values - means) ** 2, axis=0, weights=weights))
    return np.where(np.ptp(values, axis=0) > 0, deviations, 0.0)
