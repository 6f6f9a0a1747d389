"""Conditional log likelihood of hierarchical tables, and its derivatives with respect to the logs of strengths.

For M held-out rows, L levels and s classes, ``joint`` and ``given`` (M, L, s) are total weights of other rows. For
row t, level d and class c, ``given`` counts those that match row t, with its class set to c, in the first parents of
the level; ``joint`` counts those that match in the variable as well. The levels of a family are adjacent, starting
with no parents; those of family f end before ``ends[f]``. ``uniform[f]`` is 1 / the number of states of its variable.
"""

import math

import numpy as np

from anbexact._kernels.jit import kernel


@kernel
def value_and_gradient(joint, given, ends, uniform, strengths, classes, weights, gradient):
    """Return Σ_t w_t ln P(c_t | x_t), and add its derivatives with respect to ln m to ``gradient`` (L,).

    ``classes`` and ``weights`` (M,) are c_t and w_t; ``strengths`` (L,) are m.
    """
    n_rows, n_levels, n_classes = joint.shape
    entries = np.empty((n_levels, n_classes))
    shares = np.empty((n_levels, n_classes))
    logs, slopes, coarser = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    total = 0.0
    for t in range(n_rows):
        logs[:] = 0.0
        level = 0
        for f in range(len(ends)):
            coarser[:] = uniform[f]
            for d in range(level, ends[f]):
                m = strengths[d]
                for c in range(n_classes):
                    share = 1.0 / (given[t, d, c] + m)
                    coarser[c] = (joint[t, d, c] + m * coarser[c]) * share
                    entries[d, c] = coarser[c]
                    shares[d, c] = m * share
            for c in range(n_classes):
                logs[c] += math.log(coarser[c])
            level = ends[f]
        top = logs.max()
        normaliser = 0.0
        for c in range(n_classes):
            normaliser += math.exp(logs[c] - top)
        total += weights[t] * (logs[classes[t]] - top - math.log(normaliser))
        for c in range(n_classes):
            logs[c] = -weights[t] * math.exp(logs[c] - top) / normaliser
        logs[classes[t]] += weights[t]
        level = 0
        for f in range(len(ends)):
            for c in range(n_classes):
                slopes[c] = logs[c] / entries[ends[f] - 1, c]
            for d in range(ends[f] - 1, level - 1, -1):
                change = 0.0
                for c in range(n_classes):
                    slopes[c] *= shares[d, c]
                    above = entries[d - 1, c] if d > level else uniform[f]
                    change += slopes[c] * (above - entries[d, c])
                gradient[d] += change
            level = ends[f]
    return total
