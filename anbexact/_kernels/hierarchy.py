"""Conditional log likelihood of hierarchical tables, and its derivatives with respect to the logs of strengths.

For L levels, s classes and M held-out rows, ``joint`` and ``given`` (L, s, M) are total weights of other rows. For
level d, class c and row t, ``given`` counts those that match row t, with its class set to c, in the first parents of
the level; ``joint`` counts those that match in the variable as well; ``occurring`` is the number of states of the
variable in the rows of ``given``. The levels of a family are adjacent, starting with no parents; those of family f
end before ``ends[f]``. ``uniform[f]`` is 1 / the number of states of its variable.
"""

import math

import numpy as np

from anbexact._kernels.jit import kernel

BLOCK = 64
"""Number of rows that are processed together, so that their data stay in the cache."""


@kernel
def value_and_gradient(
    joint, given, occurring, ends, uniform, strengths, exponent, log_states, classes, weights, gradient
):
    """Return Σ_t w_t ln P(c_t | x_t), and add its derivatives to ``gradient`` (L + 1,): by ln m, and by the exponent.

    ``classes`` and ``weights`` (M,) are c_t and w_t; ``strengths`` (L,) are m. ``log_states[T]`` is ln T, and 0 for
    T = 0. The innermost loops run over rows and have no branches.
    """
    n_levels, n_classes, n_rows = joint.shape
    entries = np.empty((n_levels, n_classes, BLOCK))
    shares = np.empty((n_levels, n_classes, BLOCK))
    logs, slopes = np.empty((n_classes, BLOCK)), np.empty((n_classes, BLOCK))
    change, tilt, root = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    powers = np.exp(exponent * log_states)
    total = 0.0
    for first in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - first)
        logs[:] = 0.0
        level = 0
        for f in range(len(ends)):
            root[:] = uniform[f]
            for d in range(level, ends[f]):
                strength_of = strengths[d] * powers
                for c in range(n_classes):
                    entry, share = entries[d, c], shares[d, c]
                    whole, part = given[d, c, first : first + size], joint[d, c, first : first + size]
                    kinds = occurring[d, c, first : first + size]
                    coarser = entries[d - 1, c] if d > level else root
                    for t in range(size):
                        m = strength_of[kinds[t]]
                        inverse = 1.0 / (whole[t] + m)
                        entry[t] = (part[t] + m * coarser[t]) * inverse
                        share[t] = m * inverse
            for c in range(n_classes):
                for t in range(size):
                    logs[c, t] += math.log(entries[ends[f] - 1, c, t])
            level = ends[f]
        for t in range(size):
            own, weight = classes[first + t], weights[first + t]
            top = logs[0, t]
            for c in range(1, n_classes):
                top = max(top, logs[c, t])
            normaliser = 0.0
            for c in range(n_classes):
                normaliser += math.exp(logs[c, t] - top)
            total += weight * (logs[own, t] - top - math.log(normaliser))
            for c in range(n_classes):
                logs[c, t] = -weight * math.exp(logs[c, t] - top) / normaliser
            logs[own, t] += weight
        level = 0
        for f in range(len(ends)):
            root[:] = uniform[f]
            for c in range(n_classes):
                for t in range(size):
                    slopes[c, t] = logs[c, t] / entries[ends[f] - 1, c, t]
            for d in range(ends[f] - 1, level - 1, -1):
                change[:] = 0.0
                tilt[:] = 0.0
                for c in range(n_classes):
                    slope, share, entry = slopes[c], shares[d, c], entries[d, c]
                    kinds = occurring[d, c, first : first + size]
                    coarser = entries[d - 1, c] if d > level else root
                    for t in range(size):
                        slope[t] *= share[t]
                        by_log = slope[t] * (coarser[t] - entry[t])
                        change[t] += by_log
                        tilt[t] += by_log * log_states[kinds[t]]
                gradient[d] += change[:size].sum()
                gradient[n_levels] += tilt[:size].sum()
            level = ends[f]
    return total
