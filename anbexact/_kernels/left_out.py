"""The conditional log likelihood of rows, each predicted by tables in which its own counts are lowered."""

from math import exp, log

import numpy as np

from anbexact._kernels.jit import kernel

AT_ONCE = 4
"""Number of ratios that are multiplied before a logarithm is taken, so that no product is too large or too small."""


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
def held_out_log_likelihoods(cells, given, of_cells, of_given, class_codes, weights):
    """Return the conditional log likelihood of rows, in nats, total, for each of several models.

    ``P(class, row)`` is proportional to the product over the families of
    ``(cells[f] + of_cells[f, model]) / (given[f] + of_given[f, model])``.

    Parameters
    ----------
    cells, given : (families, rows, classes) float64
        The weight of the row's cell with every class, and that of the parents' states alone.
    of_cells, of_given : (families, models) float64
        What the prior adds to them.
    class_codes, weights : (rows,) int64, float64
        The class of every row, and its weight.
    """
    n_families, n_rows, n_classes = cells.shape
    totals = np.zeros(of_cells.shape[1])
    joint = np.empty(n_classes)
    for m in range(len(totals)):
        total = 0.0
        for t in range(n_rows):
            for c in range(n_classes):
                value, ratio = 0.0, 1.0
                for f in range(n_families):
                    ratio *= (cells[f, t, c] + of_cells[f, m]) / (given[f, t, c] + of_given[f, m])
                    if f % AT_ONCE == AT_ONCE - 1:
                        value += log(ratio)
                        ratio = 1.0
                joint[c] = value + log(ratio)
            highest = joint.max()
            mass = 0.0
            for c in range(n_classes):
                mass += exp(joint[c] - highest)
            total += weights[t] * (joint[class_codes[t]] - highest - log(mass))
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
