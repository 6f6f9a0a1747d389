"""MDLP: cut points that tell the classes apart, as many as the minimum description length principle allows."""

from __future__ import annotations

import numpy as np

from anbexact._kernels.mdlp import accepted_cuts
from anbexact.discretize.base import CutPointDiscretizer, Labels, Values
from anbexact.discretize.cuts import Cuts, midpoint
from anbexact.table import Weights


class MDLPDiscretizer(CutPointDiscretizer):
    r"""Cut every column where the classes part, recursively, as long as a cut saves description length.

    For rows S of total weight N with k classes, the cut T into S₁ and S₂ (halfway between two neighbouring values)
    is the one of least class information entropy ``E = (N₁ Ent(S₁) + N₂ Ent(S₂)) / N``, in bits; the lowest of
    equal ones (to within 10⁻⁹ bits a row). It is accepted, and both sides are cut further, if and only if

        Ent(S) - E > [log₂(N - 1) + log₂(3ᵏ - 2) - (k Ent(S) - k₁ Ent(S₁) - k₂ Ent(S₂))] / N.

    A column that does not help is left whole: it becomes a feature with a single state. Weights enter N as rows
    would: a row of weight 2 is as good as two. (A set of weight 2 or less pays 0 for ``log₂(N - 1)``.) Missing cells
    (NaN) count for nothing and stay missing.

    Fitted attributes are those of :class:`~anbexact.discretize.CutPointDiscretizer`.

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

    def _cuts(self, values: Values, labels: Labels, weights: Weights) -> Cuts:
        if len(values) == 0:
            return np.empty(0)
        uniform = weights.max() == weights.min()
        order = np.argsort(values, kind="stable") if uniform else np.lexsort((weights, labels, values))
        values, labels, weights = values[order], labels[order], weights[order]
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        blocks = np.append(starts, len(values))
        accepted = accepted_cuts(blocks, labels, weights, int(labels.max()) + 1)
        return np.array([midpoint(float(values[blocks[b] - 1]), float(values[blocks[b]])) for b in accepted])
