"""Groups of categories: the most probable division of a column's values given the classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from anbexact._kernels.groups import best_division, joined_values, log_divisions, moved_values
from anbexact._kernels.modl import joined_blocks
from anbexact._runtime.whole import WholeParameters, all_or_nothing
from anbexact.tables.cuts.base import Labels, row_weights, with_coarse_cuts
from anbexact.tables.cuts.modl import TIE_NATS, Prices, Sums, interval_prices, log_gammas, modl_partition
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.native_values import sorted_positions
from anbexact.tables.frames.reading import names_only, read_columns
from anbexact.tables.table import Weights, check_weights
from anbexact.tables.vocabulary import Groups

MOST_GROUPS = 500
"""Divisions into more groups are not considered."""
EXACT_VALUES = 11
"""Maximum number of values (equal proportions joined) for searching all divisions, with three or more classes."""
MOST_VALUES = 256
"""Values, equal proportions joined, that are joined pairwise; more are joined along a line first."""


class MODLGrouper(
    OneToOneFeatureMixin,  # type: ignore[misc]  # scikit-learn has no types
    TransformerMixin,  # type: ignore[misc]  # likewise
    WholeParameters,
):
    r"""Divide the values of every categorical column into the groups that are most probable given the classes.

    For rows of total weight N with J classes, consider a division of the V observed values into I groups, of which
    the i-th has weight Nᵢ, and weight Nᵢⱼ in class j. Its cost is

        ln V + ln B(V, I) + Σᵢ [ln C(Nᵢ + J - 1, J - 1) + ln (Nᵢ! / Πⱼ Nᵢⱼ!)]   (nats),

    minus the log of its posterior probability, where B(V, I) is the number of divisions of V values into at most I
    groups: all numbers of groups, then all divisions, then all class frequencies within a group have the same prior
    probability. Factorials are Γ functions, so that weights may be any real numbers. Rare values are therefore
    grouped together, and a column with hundreds of values gets few groups. Missing cells stay missing.

    The cost of a group is a concave function of its class weights. Therefore values with equal proportions of the
    classes fall into one group, and with two classes every group is a run of values in the order of their
    proportions; these are divided as :class:`~anbexact.MODLDiscretizer` cuts numbers. With three or more classes, the
    optimum is exact for up to 11 different proportions. Otherwise, values are joined bottom-up, always the two groups
    whose union costs least, down to one group; the best division found in this process is improved by moving single
    values until no move helps. If there are more than 256 different proportions, neighbours in the order of their
    most frequent class and its share are joined first. ln B(V, I) is the log of a sum of Stirling numbers, by their
    recurrence in logs; divisions into more than 500 groups are not considered.

    Attributes
    ----------
    groups_ : list of tuples of tuples
        The groups of every column, each a tuple of sorted values, in the order of their first values.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : array of str
        Names of the columns, if all of them are strings.

    Notes
    -----
    Weights that are all below 1, such as those of boosting, are first scaled to their effective number of rows; see
    :func:`~anbexact.tables.cuts.base.row_weights`.

    References
    ----------
    Boullé, *A Bayes optimal approach for partitioning the values of categorical attributes*, Journal of Machine
    Learning Research 6 (2005), sections 2 and 3.

    Examples
    --------
    >>> X = [["a"], ["b"], ["c"], ["d"]] * 5
    >>> y = ["yes", "no", "yes", "no"] * 5
    >>> MODLGrouper().fit(X, y).groups_
    [(('a', 'c'), ('b', 'd'))]
    """

    groups_: list[Groups]

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : eager dataframe, 2-d array or list of rows
            The columns; cells of any hashable kind.
        y : (rows,) labels
            The classes.
        sample_weight : (rows,) array, optional
            Real weights, zero or more; weight 0 is equivalent to leaving out the row, weight 2 to repeating it.

        Raises
        ------
        TypeError, ValueError
            For a table or weights that cannot be read, or missing classes.
        """
        columns = read_columns(X, estimator=self)
        validate_data(self, names_only(X), skip_check_array=True)
        check_consistent_length(columns[0].missing, y)
        if pd.isna(np.asarray(y, dtype=object)).any():
            raise ValueError("Input y contains NaN: leave out the rows without a class")
        check_classification_targets(y)
        labels = np.unique(column_or_1d(y), return_inverse=True)[1]
        weights = row_weights(check_weights(sample_weight, len(labels)))
        self.groups_ = [group_values(column, labels, weights) for column in columns]
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the group number of every cell (0, 1, ...; NaN where missing or unknown), shape (rows, columns)."""
        check_is_fitted(self)
        columns = read_columns(X, estimator=self)
        validate_data(self, names_only(X), skip_check_array=True, reset=False)
        out = np.empty((len(columns[0]), len(columns)))
        for j, (column, groups) in enumerate(zip(columns, self.groups_, strict=True)):
            number = {value: k for k, values in enumerate(groups) for value in values}
            codes, categories = column.coded
            lookup = np.array([*(number.get(value, np.nan) for value in categories), np.nan])
            out[:, j] = lookup[np.where(codes < 0, -1, codes)]
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def group_values(column: Column, labels: Labels, weights: Weights) -> Groups:
    """Return the groups of the values of a column that occur in rows of positive weight.

    Declared values that do not occur in such rows are added to the group with the most values. The groups of an
    ordered categorical dtype are runs of values, cut coarsely (:func:`~anbexact.tables.cuts.base.with_coarse_cuts`)
    if there would be fewer than three; values that do not occur are grouped with the value before them.
    """
    codes, categories = column.coded
    kept = (weights > 0) & (codes >= 0)
    codes, labels, weights = codes[kept].astype(np.int64), labels[kept], weights[kept]
    order = np.lexsort((weights, labels, codes))  # no sum depends on the order of rows
    codes, labels, weights = codes[order], labels[order], weights[order]
    classes, labels = np.unique(labels, return_inverse=True)
    shape = len(categories), max(len(classes), 1)
    sums: Sums = (
        np.bincount(codes * shape[1] + labels, weights, shape[0] * shape[1]).reshape(shape).astype(np.float64)
    )
    in_order = range(shape[0]) if column.declared else sorted_positions(categories)
    seen = np.zeros(shape[0], dtype=bool)
    seen[codes] = True
    shown = [code for code in in_order if seen[code]]
    if not shown:
        return (tuple(categories[code] for code in in_order),) if categories else ()
    of_value = np.zeros(shape[0], dtype=np.int64)
    if column.ordered:
        rank = np.cumsum(seen) - 1.0  # the ranks of the values that occur
        runs = _runs(sums[shown], interval_prices(float(weights.sum()), len(shown)))
        between = np.asarray(np.flatnonzero(np.diff(runs)) + 0.5, dtype=np.float64)
        cuts = with_coarse_cuts(between, rank[codes], weights)
        of_value[shown] = np.searchsorted(cuts, np.arange(len(shown)))
    else:
        of_value[shown] = modl_groups(sums[shown])
    if column.declared:
        of_value[~seen] = np.bincount(of_value[shown]).argmax()
        if column.ordered:
            of_value = np.maximum.accumulate(np.where(seen, of_value, 0))
        shown = list(in_order)
    found: dict[int, list[Any]] = {}
    for code in shown:
        found.setdefault(int(of_value[code]), []).append(categories[code])
    return tuple(map(tuple, found.values()))


def modl_groups(sums: Sums) -> npt.NDArray[np.int64]:
    """Return the number of every value's group, given the class weights of the values, shape (values, classes)."""
    n_values, n_classes = sums.shape
    # Values with equal proportions of the classes share a group: they are one element, in the order of proportions.
    shares = (sums / sums.sum(axis=1, keepdims=True)).round(12)
    if n_classes == 2:
        _, element = np.unique(shares[:, 0], return_inverse=True)
    else:
        first = shares.argmax(axis=1)
        _, element = np.unique(np.column_stack([first, shares.max(axis=1), shares]), axis=0, return_inverse=True)
    element = element.ravel()
    joined = np.zeros((element.max() + 1, n_classes))
    np.add.at(joined, element, sums)
    prices = np.asarray(log_divisions(n_values, min(MOST_GROUPS, n_values)))
    if n_classes == 1:
        return np.zeros(n_values, dtype=np.int64)
    if n_classes == 2:
        return _runs(joined, prices)[element]
    total = float(sums.sum())
    tie = TIE_NATS * total
    logs = log_gammas(sums, total)
    most = len(prices) - 1
    if len(joined) <= EXACT_VALUES:
        return np.asarray(best_division(joined, prices, most, tie, logs))[element]
    start = np.arange(len(joined))
    if len(joined) > MOST_VALUES:
        ends = joined_blocks(_before(joined), MOST_VALUES, logs)
        start = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    few = np.zeros((start.max() + 1, n_classes))
    np.add.at(few, start, joined)
    group = np.asarray(joined_values(few, prices, most, tie, logs))[start]
    moved_values(joined, group, prices, tie, logs)
    return group[element]


def _runs(sums: Sums, prices: Prices) -> npt.NDArray[np.int64]:
    """Return the number of the run of every value, for values in the given order."""
    ends = modl_partition(_before(sums), prices, len(prices) - 1)
    return np.repeat(np.arange(len(ends) - 1), np.diff(ends))


def _before(sums: Sums) -> Sums:
    """Return the class weights before each of the values."""
    return np.concatenate([np.zeros((1, sums.shape[1])), sums.cumsum(axis=0)])
