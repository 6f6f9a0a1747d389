"""Cut points for continuous columns."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from anbexact.table import check_weights

Cuts = npt.NDArray[np.float64]


class MedianDiscretizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Cut every column at its weighted median, into two intervals.

    The cut is a value m such that at most half of the weight lies on either side, halfway between two
    observed values when the weight splits evenly; a value x falls into ``(-inf, m]`` or ``(m, inf)``. Where the
    median is the largest value, the cut moves below it, so that neither interval is empty. A column with a
    single value is not cut. Missing cells (NaN) count for nothing and stay missing.

    Attributes
    ----------
    cut_points_ : list of float64 arrays
        Cut points of every column: one, or none.
    n_features_in_ : int
        Columns seen in ``fit``.

    References
    ----------
    The rule of the experiments in Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*, section 4.

    Examples
    --------
    >>> MedianDiscretizer().fit([[1.0], [2.0], [4.0], [9.0]]).cut_points_
    [array([3.])]
    """

    cut_points_: list[Cuts]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the medians of the columns of X, shape (rows, columns); NaN is missing, infinity is refused."""
        array = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        weights = check_weights(sample_weight, len(array))
        self.cut_points_ = [_median_cut(column, weights) for column in array.T]
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the interval number of every cell (0 or 1; NaN where missing), shape (rows, columns)."""
        check_is_fitted(self)
        array = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        codes = [cut_codes(column, cuts) for column, cuts in zip(array.T, self.cut_points_, strict=True)]
        out = np.stack(codes, axis=1).astype(np.float64)
        out[out < 0] = np.nan
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _median_cut(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> Cuts:
    kept = (weights > 0) & ~np.isnan(values)
    distinct, inverse = np.unique(values[kept], return_inverse=True)
    if len(distinct) < 2:
        return np.empty(0)
    below = np.cumsum(np.bincount(inverse, weights[kept]))
    half = below[-1] / 2
    split_evenly = np.isclose(below, half, rtol=1e-12, atol=0)
    k = int(split_evenly.argmax()) if split_evenly.any() else int(np.searchsorted(below, half))
    if not split_evenly.any() and k < len(distinct) - 1:
        return distinct[k : k + 1]
    k = min(k, len(distinct) - 2)
    middle = distinct[k] / 2 + distinct[k + 1] / 2
    return np.array([middle if distinct[k] <= middle < distinct[k + 1] else distinct[k]])


def cut_codes(values: npt.NDArray[np.number[Any]], cuts: Cuts) -> npt.NDArray[np.int64]:
    """Return the interval number of every value: x ≤ cuts[0] is 0, and so on; -1 for NaN."""
    codes = np.searchsorted(cuts, values, side="left")
    codes[np.isnan(values)] = -1
    return codes


def interval_names(cuts: Cuts) -> tuple[str, ...]:
    """Return readable names of the intervals, in the fewest digits (6 at least) that tell the cuts apart.

    Examples
    --------
    >>> interval_names(np.array([3.1, 4.7]))
    ('(-inf, 3.1]', '(3.1, 4.7]', '(4.7, inf)')
    """
    for digits in range(6, 18):
        texts = [f"{cut:.{digits}g}" for cut in cuts]
        if len(set(texts)) == len(texts):
            break
    ends = ["-inf", *texts, "inf"] if len(cuts) else ["-inf", "inf"]
    last = len(ends) - 2
    return tuple(f"({a}, {b}{')' if k == last else ']'}" for k, (a, b) in enumerate(pairwise(ends)))
