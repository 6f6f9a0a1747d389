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


@kernel
def held_out_log_likelihoods(joint, class_codes, weights):
    """Return the conditional log likelihood of rows, in nats, total, for each of several models.

    Parameters
    ----------
    joint : (models, rows, classes) float64
        ln P(class, row), up to a constant of the row.
    class_codes, weights : (rows,) int64, float64
        The class of every row, and its weight.
    """
    n_models, n_rows, n_classes = joint.shape
    totals = np.zeros(n_models)
    for m in range(n_models):
        total = 0.0
        for t in range(n_rows):
            highest = joint[m, t, 0]
            for c in range(1, n_classes):
                highest = max(highest, joint[m, t, c])
            mass = 0.0
            for c in range(n_classes):
                mass += exp(joint[m, t, c] - highest)
            total += weights[t] * (joint[m, t, class_codes[t]] - highest - log(mass))
        totals[m] = total
    return totals


@kernel
def class_cells(codes, places, arities, class_codes, n_classes, weights):
    """Return the joint state of some variables in every row, and the weight of every joint state by class.

    Observed joint states are numbered from 0 in lexicographic order.

    Parameters
    ----------
    codes : (rows, variables) int16
    places, arities : (chosen,) int64
        The columns of the variables, and their numbers of states, of whose product an array is made.
    class_codes : (rows,) int64
    n_classes : int
    weights : (rows,) float64

    Returns
    -------
    (rows,) int64, (joint states, classes) float64
    """
    states = np.zeros(len(weights), dtype=np.int64)
    size = 1
    for k in range(len(places)):
        column = codes[:, places[k]]
        size *= arities[k]
        for t in range(len(states)):
            states[t] = states[t] * arities[k] + column[t]
    numbers = np.zeros(size, dtype=np.int64)
    for state in states:
        numbers[state] = 1
    found = 0
    for state in range(size):
        seen = numbers[state]
        numbers[state] = found
        found += seen
    cells = np.zeros((found, n_classes))
    for t in range(len(states)):
        states[t] = numbers[states[t]]
        cells[states[t], class_codes[t]] += weights[t]
    return states, cells
