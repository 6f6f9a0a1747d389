"""The conditional log likelihood of rows, each predicted by tables in which its own counts are lowered."""

from math import exp, log

import numpy as np

from anbexact._kernels.jit import kernel


@kernel
def left_out_log_likelihood(states, class_codes, weights, logs, lowered):
    """Return ``Σ_t w_t [z_tc - ln Σ_c' exp z_tc']``, c the class of row t; nats, total.

    ``z_tc'`` is the sum over the families of the log of the row's cell: from ``lowered`` for its own class, from
    ``logs`` for the others.

    Parameters
    ----------
    states : (rows, families) int64
        The joint state of the row in every family, numbered consecutively over all families.
    class_codes : (rows,) int64
        The class of the row.
    weights : (rows,) float64
    logs, lowered : (states, classes) float64
        The log of every cell, and its value for a row of the cell when the row itself is left out.
    """
    n_rows, n_families = states.shape
    n_classes = logs.shape[1]
    joint = np.empty(n_classes)
    total = 0.0
    for t in range(n_rows):
        own = 0.0
        joint[:] = 0.0
        code = class_codes[t]
        for f in range(n_families):
            state = states[t, f]
            own += lowered[state, code]
            for c in range(n_classes):
                joint[c] += logs[state, c]
        joint[code] = own
        largest = joint.max()
        below = 0.0
        for c in range(n_classes):
            below += exp(joint[c] - largest)
        total += weights[t] * (own - largest - log(below))
    return total
