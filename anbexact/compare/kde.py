"""Naive Bayes with kernel densities, for comparisons."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.neighbors import KernelDensity
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from anbexact._runtime.arrays import Floats
from anbexact._runtime.whole import WholeParameters, all_or_nothing
from anbexact.tables.table import check_weights

ERROR = 1e-4
"""Permitted relative error of a density, which is a sum over all rows; the exact sum takes twice as long."""
FARTHEST = 1e150
"""Values count as no farther from 0 than this many units of a feature: squares of differences, and sums of these over
10⁷ features, are then finite."""
SMALLEST, LARGEST = np.finfo(np.float64).tiny, np.finfo(np.float64).max
"""Bounds of the standard deviations of kernels, which keep these above 0 and finite."""


class KernelNaiveBayes(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    WholeParameters,
):
    """Naive Bayes for numeric features, each with a Gaussian kernel density in every class.

    ``P(c | x) ∝ P(c) Π_i f_i(x_i | c)``: P(c) is the share of a class, and f_i the mean, over its rows, of normal
    densities around their values, by scikit-learn's KernelDensity. Their standard deviation follows Scott's rule,
    ``σ n^(-1/5)``, where σ is the standard deviation of the feature in the class and n the weight of its rows. Where
    σ is 0, the standard deviation in all rows is used, or else 1.

    Everything is computed in logarithms, and in units of the feature: the largest power of two below the smallest
    standard deviation of its kernels, so scaling causes no rounding. Far from all rows, where every density is below
    the smallest positive number, the logarithms still decide: in the limit for the class with the largest deviation,
    and between equal ones for that of the nearest row, as long as rounding leaves a difference. Values beyond 10¹⁵⁰
    units, whose squares would overflow, are replaced by this limit. Log probabilities are therefore finite, and
    probabilities sum to one, for all finite values.

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
    units_: Floats
    densities_: list[list[KernelDensity]]

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows; those of weight 0 are ignored."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weights = check_weights(sample_weight, len(X))
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.class_log_prior_ = np.log(np.bincount(codes, weights) / weights.sum())
        overall = _deviations(X, weights)
        overall[overall == 0] = 1.0
        rows_by_class = [(X[codes == c], weights[codes == c]) for c in range(len(self.classes_))]
        widths = np.stack([_widths(values, row_weights, overall) for values, row_weights in rows_by_class])
        self.units_ = np.ldexp(1.0, np.frexp(widths.min(axis=0))[1] - 1)
        self.densities_ = []
        for (values, row_weights), bandwidths in zip(rows_by_class, self._in_units(widths), strict=True):
            in_units = self._in_units(values)
            row_weights = None if sample_weight is None else row_weights  # weighted sums take far longer
            self.densities_.append(
                [
                    KernelDensity(bandwidth=width, rtol=ERROR).fit(in_units[:, [j]], sample_weight=row_weights)
                    for j, width in enumerate(bandwidths)
                ]
            )
        return self

    def _in_units(self, values: Floats) -> Floats:
        """Return numbers in the units of their features, none farther from 0 than ``FARTHEST``."""
        with np.errstate(over="ignore"):
            in_units: Floats = np.clip(values / self.units_, -FARTHEST, FARTHEST)
        return in_units

    def predict_log_proba(self, X: Any) -> Floats:
        """Return ln P(c | row), shape (rows, classes)."""
        check_is_fitted(self)
        X = self._in_units(validate_data(self, X, dtype=np.float64, reset=False))
        joint = np.tile(self.class_log_prior_, (len(X), 1))
        for c, densities in enumerate(self.densities_):
            for j, density in enumerate(densities):
                joint[:, c] += density.score_samples(X[:, [j]])
        joint -= joint.max(axis=1, keepdims=True)  # before normalising: added to a large number, ln 2 would be lost
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
    """Return the standard deviation of every column; exactly 0 for a constant one.

    Columns are first divided by a power of two, so that no square overflows, and a square vanishes only if others are
    far larger.
    """
    exponents = np.frexp(np.abs(values).max(axis=0))[1]
    scaled = np.ldexp(values, -exponents)
    means = np.average(scaled, axis=0, weights=weights)
    deviations: Floats = np.ldexp(np.sqrt(np.average((scaled - means) ** 2, axis=0, weights=weights)), exponents)
    return np.where(values.max(axis=0) > values.min(axis=0), deviations, 0.0)


def _widths(values: Floats, weights: Floats, overall: Floats) -> Floats:
    """Return the deviations of the kernels in a class; from those of all rows, ``overall``, where its own are 0."""
    within = _deviations(values, weights)
    with np.errstate(over="ignore"):
        widths: Floats = np.where(within > 0, within, overall) * weights.sum() ** -0.2
    return np.clip(widths, SMALLEST, LARGEST)
