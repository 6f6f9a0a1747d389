"""The common base of the rules: reading the table, and converting numbers to interval numbers."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from anbexact._runtime.whole import WholeParameters, all_or_nothing
from anbexact.tables.cuts.cuts import Cuts, cut_codes, midpoint
from anbexact.tables.table import Weights, check_weights

Values = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Starts = npt.NDArray[np.intp]
OUTER_SHARE = 0.2
"""Share of the weight in the lowest, and in the highest, of three coarse intervals."""


def row_weights(weights: Weights) -> Weights:
    r"""Return weights that count rows, for rules that compare evidence with a cost.

    If at least one weight is 1 or more, the weights are used as they are: a row of weight 2 is equivalent to two
    rows. Otherwise they are only relative, like those of boosting, which sum to 1. They are then scaled to sum to the
    effective number of rows, (Σ w)² / Σ w² (Kish, *Survey Sampling*, 1965, section 11.7), which is the number of rows
    if all weights are equal.
    """
    if not 0 < weights.max(initial=0.0) < 1:
        return weights
    shares = weights / weights.max()
    return np.asarray(shares * (shares.sum() / (shares @ shares)))


def sorted_blocks(values: Values, labels: Labels, weights: Weights) -> tuple[Values, Labels, Weights, Starts]:
    """Return the rows sorted by value, and the position of the first row of every distinct value.

    Rows are sorted completely, so that their original order does not affect any sum over them.
    """
    uniform = weights.max() == weights.min()
    order = np.argsort(values, kind="stable") if uniform else np.lexsort((weights, labels, values))
    values = values[order]
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return values, labels[order], weights[order], starts


def with_coarse_cuts(cuts: Cuts, values: Values, weights: Weights) -> Cuts:
    """Return the cuts; if there are fewer than two, add those that divide the weight 1 : 3 : 1.

    A single cut is kept. The coarse cuts that are at least 20 % of the weight away from it are added.

    The intervals have unequal weight on purpose. Consider a feature with equally frequent states that depends on
    nothing. Under BDeu, its score without parents is hardly better than its score with so many parents that every row
    has its own parent configuration, and the optimal network of a short table then gives it many parents.

    Parameters
    ----------
    cuts : float64 array
        Increasing cuts.
    values, weights : (rows,) float64
        The rows, sorted by value. For each share, the nearest cut between neighbouring values is used.
    """
    ends = np.flatnonzero(values[1:] != values[:-1])  # the last rows of all values except the last value
    if len(cuts) >= 2 or not len(ends):
        return cuts
    below = np.cumsum(weights)
    parted = [float(weights[values <= cut].sum() / below[-1]) for cut in cuts]
    shares = [s for s in (OUTER_SHARE, 1 - OUTER_SHARE) if all(abs(s - own) >= OUTER_SHARE - 1e-9 for own in parted)]
    nearest = [int(np.abs(below[ends] - share * below[-1]).round(9).argmin()) for share in shares]
    coarse = [midpoint(float(values[k]), float(values[k + 1])) for k in ends[nearest]]
    return np.unique(np.array([*cuts, *coarse], dtype=np.float64))


def check_max_bins(number: Any) -> None:
    """Refuse an invalid number of intervals."""
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if number is not None and not (whole and number > 0):
        raise ValueError(f"max_bins must be a whole number above 0, or None, not {number!r}")


class CutPointDiscretizer(
    OneToOneFeatureMixin,  # type: ignore[misc]  # scikit-learn has no types
    TransformerMixin,  # type: ignore[misc]  # likewise
    WholeParameters,
    metaclass=ABCMeta,
):
    """A discretizer that cuts numeric columns into intervals. Subclasses choose the cut points.

    Attributes
    ----------
    cut_points_ : list of float64 arrays
        Increasing cut points of every column; empty for a column that is not cut.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : array of str
        Names of the columns, if all of them are strings.
    """

    cut_points_: list[Cuts]
    supervised: ClassVar[bool] = False
    """Whether the rule uses the classes."""

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the cut points.

        Parameters
        ----------
        X : (rows, columns) table of numbers
            NaN is a missing cell; its row is ignored in that column.
        y : (rows,) labels
            The classes; only rules that use them need it.
        sample_weight : (rows,) array, optional
            Real weights, zero or more; weight 0 is equivalent to leaving out the row, weight 2 to repeating it.

        Raises
        ------
        ValueError
            For infinite values, invalid weights, or missing classes if the rule needs them.
        """
        self.check_parameters()
        checks = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        if self.supervised:
            if y is not None and pd.isna(np.asarray(y, dtype=object)).any():
                raise ValueError("Input y contains NaN: leave out the rows without a class")
            array, y = validate_data(self, X, y, **checks)
            check_classification_targets(y)
            labels = np.unique(y, return_inverse=True)[1]
        else:
            array = validate_data(self, X, **checks)
            labels = np.zeros(len(array), dtype=np.int64)
        weights = check_weights(sample_weight, len(array))
        if self.supervised:
            weights = row_weights(weights)
        self.cut_points_ = []
        for column in array.T:
            kept = (weights > 0) & ~np.isnan(column)
            self.cut_points_.append(self._cuts(column[kept], labels[kept], weights[kept]))
        return self

    def check_parameters(self) -> None:  # a rule may have no parameters
        """Refuse invalid parameters."""

    @abstractmethod
    def _cuts(self, values: Values, labels: Labels, weights: Weights) -> Cuts:
        """Return the cut points of one column: finite values (there may be none), and positive weights."""

    def transform(self, X: Any) -> Values:
        """Return the interval number of every cell (0, 1, ...; NaN where missing), shape (rows, columns)."""
        check_is_fitted(self)
        array = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        codes = [cut_codes(column, cuts) for column, cuts in zip(array.T, self.cut_points_, strict=True)]
        out = np.stack(codes, axis=1).astype(np.float64)
        out[out < 0] = np.nan
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self.supervised
        return tags
