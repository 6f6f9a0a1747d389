"""The median cut."""

from __future__ import annotations

import numpy as np

from anbexact._runtime.json_values import register_object
from anbexact.tables.cuts.base import CutPointDiscretizer, Labels, Values
from anbexact.tables.cuts.cuts import Cuts, midpoint
from anbexact.tables.table import Weights


@register_object
class MedianDiscretizer(CutPointDiscretizer):
    """Cut every column at its weighted median, into two intervals.

    The cut is a value m such that at most half of the weight lies on either side, halfway between two
    observed values when the weight splits evenly; a value x falls into ``(-inf, m]`` or ``(m, inf)``. Where the
    median is the largest value, the cut moves below it, so that neither interval is empty. A column with a
    single value is not cut. Missing cells (NaN) are ignored and stay missing.

    Fitted attributes are those of :class:`~anbexact.tables.cuts.CutPointDiscretizer`.

    References
    ----------
    The rule of the experiments in Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*, section 4.

    Examples
    --------
    >>> MedianDiscretizer().fit([[1.0], [2.0], [4.0], [9.0]]).cut_points_
    [array([3.])]
    """

    def _cuts(self, values: Values, labels: Labels, weights: Weights) -> Cuts:
        distinct, inverse = np.unique(values, return_inverse=True)
        if len(distinct) < 2:
            return np.empty(0)
        below = np.cumsum(np.bincount(inverse, weights))
        half = below[-1] / 2
        split_evenly = np.isclose(below, half, rtol=1e-12, atol=0)
        k = int(split_evenly.argmax()) if split_evenly.any() else int(np.searchsorted(below, half))
        if not split_evenly.any() and k < len(distinct) - 1:
            return distinct[k : k + 1]
        k = min(k, len(distinct) - 2)
        return np.array([midpoint(float(distinct[k]), float(distinct[k + 1]))])
