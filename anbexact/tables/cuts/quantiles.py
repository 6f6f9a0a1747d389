"""Many intervals of about equal weight."""

from __future__ import annotations

import numpy as np

from anbexact.tables.cuts.base import CutPointDiscretizer, Labels, Values, check_max_bins
from anbexact.tables.cuts.cuts import Cuts, midpoint
from anbexact.tables.table import Weights


class QuantileDiscretizer(CutPointDiscretizer):
    """Cut every column into intervals of about equal weight, at most one for each value.

    A column with no more than ``max_bins`` values is cut between all of them. In others, the k-th cut lies between
    two neighbouring values such that the share of the weight below it is as near as possible to ``k / max_bins``.
    Unlike in scikit-learn's ``KBinsDiscretizer``, the two largest values are not always in the same interval. Missing
    cells (NaN) are ignored and stay missing.

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
            shares = np.arange(1, self.max_bins) / self.max_bins
            ends = np.unique(np.abs(below[ends] / below[-1] - shares[:, None]).round(9).argmin(axis=1))
        return np.array([midpoint(float(distinct[k]), float(distinct[k + 1])) for k in ends], dtype=np.float64)
