"""Many intervals of about equal weight."""

from __future__ import annotations

import numpy as np

from anbexact.tables.cuts.base import CutPointDiscretizer, Labels, Values, check_max_bins
from anbexact.tables.cuts.cuts import Cuts, midpoint
from anbexact.tables.table import Weights


class QuantileDiscretizer(CutPointDiscretizer):
    """Cut every column into intervals of about equal weight, at most one for each value.

    A column of at most ``max_bins`` values is cut between all of them. In any other column, the k-th cut lies between
    the two neighbouring values for which the share of the weight below it is as near as possible to
    ``k / max_bins``; cuts that coincide count once. Unlike scikit-learn's ``KBinsDiscretizer``, this rule can cut
    between the two largest values, too. Missing cells (NaN) are ignored and stay missing.

    Fitted attributes are those of :class:`~anbexact.tables.cuts.CutPointDiscretizer`.

    Parameters
    ----------
    max_bins : int or None, default 64
        Maximum number of intervals, 1 or more; None for as many as there are values.

    Examples
    --------
    >>> QuantileDiscretizer(2).fit([[1.0], [2.0], [2.0], [9.0], [9.0], [9.0]]).cut_points_
    [array([5.5])]
    """

    def __init__(self, max_bins: int | None = 64) -> None:
        self.max_bins = max_bins

    def check_parameters(self) -> None:
        """Refuse invalid parameters."""
        check_max_bins(self.max_bins)

    def _cuts(self, values: Values, labels: Labels, weights: Weights) -> Cuts:
        distinct, inverse = np.unique(values, return_inverse=True)
        ends = np.arange(len(distinct) - 1)
        if self.max_bins is not None and len(distinct) > self.max_bins:
            below = np.cumsum(np.bincount(inverse, weights))
            below, shares = below[ends] / below[-1], np.arange(1, self.max_bins) / self.max_bins
            higher = np.searchsorted(below, shares).clip(1, len(ends) - 1)
            # rounded, as otherwise rounding errors would choose between two values that are equally near
            near = np.abs(below[[higher - 1, higher]] - shares).round(9)
            ends = np.unique(np.where(near[0] <= near[1], higher - 1, higher))
        return np.array([midpoint(float(distinct[k]), float(distinct[k + 1])) for k in ends], dtype=np.float64)
