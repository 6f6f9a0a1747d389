"""MDLP: cut points that separate the classes, as many as the minimum description length principle allows."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from anbexact._kernels.mdlp import accepted_cuts
from anbexact._runtime.json_values import register_object
from anbexact.tables.cuts.base import (
    CutPointDiscretizer,
    Labels,
    Values,
    check_max_bins,
    sorted_blocks,
    with_coarse_cuts,
)
from anbexact.tables.cuts.cuts import Cuts, midpoint
from anbexact.tables.table import Weights


@register_object
class MDLPDiscretizer(CutPointDiscretizer):
    r"""Cut every column recursively, as long as a cut reduces the description length of the classes.

    For rows S of total weight N with k classes, the cut T into S₁ and S₂ (halfway between two neighbouring values) is
    the one with the smallest class information entropy ``E = (N₁ Ent(S₁) + N₂ Ent(S₂)) / N``, in bits; among equally
    good cuts (to within 10⁻⁹ bits a row), it is the lowest. The cut is accepted, and both sides are cut further, if
    and only if

        Ent(S) - E > [log₂(N - 1) + log₂(3ᵏ - 2) - (k Ent(S) - k₁ Ent(S₁) - k₂ Ent(S₂))] / N.

    A column without an accepted cut becomes a feature with a single state. Weights count like rows: a row of weight 2
    is equivalent to two rows. (For a set of weight 2 or less, ``log₂(N - 1)`` is replaced by 0.) Missing cells (NaN)
    are ignored and stay missing.

    Weights that are all below 1, such as those of boosting, are first scaled to their effective number of rows; see
    :func:`~anbexact.tables.cuts.base.row_weights`.

    Parameters
    ----------
    max_bins : int, optional
        Maximum number of intervals. The recursion then always makes the cut that saves the most bits in any interval,
        and stops at this number of intervals. None sets no limit.
    coarse : bool, default False
        Whether a column with fewer than two cut points gets coarse ones, with a fifth of the weight below the lower
        and a fifth above the upper; see :func:`~anbexact.tables.cuts.base.with_coarse_cuts`.

    Fitted attributes are those of :class:`~anbexact.tables.cuts.CutPointDiscretizer`.

    References
    ----------
    Fayyad and Irani, *Multi-interval discretization of continuous-valued attributes for classification learning*,
    IJCAI 1993, section 3.

    Examples
    --------
    >>> X, y = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]], list("aaabbb")
    >>> MDLPDiscretizer().fit(X, y).cut_points_
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
        blocks = np.append(starts, len(values))
        accepted, saved, parents = accepted_cuts(blocks, labels, weights, int(labels.max()) + 1)
        if self.max_bins is not None and len(accepted) >= self.max_bins:
            accepted = accepted[_first(saved, parents, self.max_bins - 1)]
        cuts = np.array([midpoint(float(values[blocks[b] - 1]), float(values[blocks[b]])) for b in accepted])
        return with_coarse_cuts(cuts, values, weights) if self.coarse else cuts


def _first(saved: npt.NDArray[np.float64], parents: npt.NDArray[np.int64], n_cuts: int) -> list[int]:
    """Return the sorted positions of the first cuts, if the cut that saves the most is always made next."""
    below: dict[int, list[int]] = {}
    for k, parent in enumerate(parents.tolist()):
        below.setdefault(parent, []).append(k)
    chosen: list[int] = []
    saved = saved.round(9)  # equal savings are equal, however they were added up
    possible = [(-saved[k], k) for k in below[-1]]
    while len(chosen) < n_cuts:
        _, k = heapq.heappop(possible)
        chosen.append(k)
        for child in below.get(k, ()):
            heapq.heappush(possible, (-saved[child], child))
    return sorted(chosen)
