"""MODL: the most probable cut points given the classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from anbexact._kernels.modl import best_partition, improved, joined_blocks
from anbexact._runtime.json_values import register_object
from anbexact.tables.cuts.base import (
    CutPointDiscretizer,
    Labels,
    Starts,
    Values,
    check_max_bins,
    sorted_blocks,
    with_coarse_cuts,
)
from anbexact.tables.cuts.cuts import Cuts, midpoint
from anbexact.tables.table import Weights

Prices = npt.NDArray[np.float64]
Sums = npt.NDArray[np.float64]
TIE_NATS = 1e-10
"""Costs that differ by fewer nats per row count as equal."""
MOST_BLOCKS = 1 << 14
"""Maximum number of blocks of values; if there are more, they are joined into this many of about equal weight."""
MOST_EXACT_BLOCKS_SQUARED = 1 << 18
"""Squared number of blocks times classes up to which dynamic programming is used."""
MOST_TABULATED_WEIGHT = 1 << 20
"""Total weight up to which ln Γ is tabulated."""


@register_object
class MODLDiscretizer(CutPointDiscretizer):
    r"""Cut every column into the intervals that are most probable given the classes.

    For rows of total weight N with J classes, consider a partition into I intervals, of which the i-th has weight Nᵢ,
    and weight Nᵢⱼ in class j. Its cost is

        ln N + ln C(N + I - 1, I - 1) + Σᵢ [ln C(Nᵢ + J - 1, J - 1) + ln (Nᵢ! / Πⱼ Nᵢⱼ!)]   (nats),

    minus the log of its posterior probability: all numbers of intervals, then all positions of the cuts, then all
    class frequencies within an interval have the same prior probability. Factorials are Γ functions, so weights may
    be any real numbers. J counts the classes that occur in the column's rows. Cuts lie halfway between neighbouring
    values. Missing cells (NaN) are ignored and stay missing.

    An optimal partition never separates neighbouring values that occur with the same single class, because between
    them, the cost is a concave function of the weight that one interval leaves to the other. The values that remain
    together are *blocks*. With B of them, the optimum is exact (dynamic programming in O(B² I)) as long as B² J is at
    most 2¹⁸, which allows 362 blocks with 2 classes. Otherwise, blocks are first joined bottom-up to that number,
    always the two neighbours whose union costs least, in O(B log B); the optimum over these is then improved by
    moving a cut, by splitting an interval, and by joining two or three intervals and splitting them elsewhere, until
    no such step helps. If a column has more than 16,384 blocks, these are first joined into that number of blocks of
    about equal weight.

    Parameters
    ----------
    max_bins : int, optional
        Maximum number of intervals. None sets no limit.
    coarse : bool, default False
        Whether a column with fewer than two cut points gets coarse ones, with a fifth of the weight below the lower
        and a fifth above the upper; see :func:`~anbexact.tables.cuts.base.with_coarse_cuts`.

    Notes
    -----
    Weights that are all below 1, such as those of boosting, are first scaled to their effective number of rows; see
    :func:`~anbexact.tables.cuts.base.row_weights`.

    Fitted attributes are those of :class:`~anbexact.tables.cuts.CutPointDiscretizer`.

    References
    ----------
    Boullé, *MODL: a Bayes optimal discretization method for continuous attributes*, Machine Learning 65 (2006),
    sections 2 and 3.

    Examples
    --------
    >>> X, y = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]], list("aaabbb")
    >>> MODLDiscretizer().fit(X, y).cut_points_
    [array([5.])]
    """

    supervised = True

    def __init__(self, *, max_bins: int | None = None, coarse: bool = False) -> None:
        self.max_bins = max_bins
        self.coarse = coarse

    def check_parameters(self) -> None:
        check_max_bins(self.max_bins)

    def _cuts(self, values: Values, labels: Labels, weights: Weights) -> Cuts:
        if len(values) == 0:
            return np.empty(0)
        values, labels, weights, starts = sorted_blocks(values, labels, weights)
        starts = _fewer(_without_pure_neighbours(starts, labels), weights)
        sums = _class_sums(starts, labels, weights)
        prices = interval_prices(float(sums[-1].sum()), len(starts))
        ends = modl_partition(sums, prices, self.max_bins)
        cuts = np.array([midpoint(float(values[starts[b] - 1]), float(values[starts[b]])) for b in ends[1:-1]])
        return with_coarse_cuts(cuts, values, weights) if self.coarse else cuts


def _without_pure_neighbours(starts: Starts, labels: Labels) -> Starts:
    """Return the starts of blocks of rows; neighbouring values that occur with the same single class are joined."""
    lowest, highest = np.minimum.reduceat(labels, starts), np.maximum.reduceat(labels, starts)
    pure = lowest == highest
    joined = pure[1:] & pure[:-1] & (lowest[1:] == lowest[:-1])
    return np.asarray(starts[np.append(True, ~joined)])


def _fewer(starts: Starts, weights: Weights) -> Starts:
    """Return the starts of blocks of rows, joined into ``MOST_BLOCKS`` of about equal weight if there are more."""
    if len(starts) <= MOST_BLOCKS:
        return starts
    before = np.append(0.0, np.cumsum(np.add.reduceat(weights, starts)))
    parts = np.floor(before[:-1] * (MOST_BLOCKS / before[-1]))
    return np.asarray(starts[np.append(True, parts[1:] > parts[:-1])])


def _class_sums(starts: Starts, labels: Labels, weights: Weights) -> Sums:
    """Return the weight of every observed class in the blocks before each, shape (blocks + 1, classes)."""
    classes, labels = np.unique(labels, return_inverse=True)
    n_blocks, n_classes = len(starts), len(classes)
    block = np.repeat(np.arange(n_blocks), np.diff(np.append(starts, len(labels))))
    of_blocks = np.bincount(block * n_classes + labels, weights, n_blocks * n_classes)
    return np.concatenate([np.zeros((1, n_classes)), of_blocks.reshape(n_blocks, n_classes).cumsum(axis=0)])


def interval_prices(weight: float, most: int) -> Prices:
    """Return the prices ln C(N + k - 1, k - 1) of k intervals for rows of weight N, k from 0 (free) to most."""
    k = np.arange(1, most + 1)
    return np.append(0.0, gammaln(weight + k) - gammaln(weight + 1) - gammaln(k))


def modl_partition(sums: Sums, prices: Prices, most: int | None) -> npt.NDArray[np.int64]:
    """Return the ends of the best intervals of neighbouring blocks, 0 and the number of blocks among them.

    Parameters
    ----------
    sums : (blocks + 1, classes) float64
        Weight of every class in the blocks before each.
    prices : (blocks + 1,) float64
        The price of every number of intervals, increasing.
    most : int, optional
        Maximum number of intervals.
    """
    n_blocks, n_classes = len(sums) - 1, sums.shape[1]
    total = float(sums[-1].sum())
    logs = log_gammas(sums, total)
    tie = TIE_NATS * total
    most = min(most or n_blocks, n_blocks)
    affordable = max(int(np.sqrt(MOST_EXACT_BLOCKS_SQUARED / n_classes)), 2)
    if n_blocks <= affordable:
        return np.asarray(best_partition(sums, prices, most, tie, logs))
    coarse = joined_blocks(sums, affordable, logs)
    ends = coarse[best_partition(sums[coarse], prices, most, tie, logs)]
    return np.asarray(improved(sums, ends, prices, most, tie, logs))


def log_gammas(sums: Sums, total: float) -> npt.NDArray[np.float64]:
    """Return ln Γ(k) of all whole numbers k that costs need, given class weights and the weight of all rows.

    Nothing is returned if the weights are not whole numbers.
    """
    if total > MOST_TABULATED_WEIGHT or (sums != np.rint(sums)).any():
        return np.empty(0)
    return np.asarray(gammaln(np.arange(int(total) + sums.shape[1] + 2, dtype=np.float64)))
