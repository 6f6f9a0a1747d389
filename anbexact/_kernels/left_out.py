"""The conditional log likelihood of rows that are predicted from the counts of others, for several models at once."""

from math import exp, log

import numpy as np

from anbexact._kernels.jit import inner, kernel, vectorised

BLOCK = 64
"""Number of rows that are predicted at once."""
AT_ONCE = 4
"""Number of factors that are multiplied before products are divided by the largest, so that none is out of range."""
LEAST_SHARE = 1e-280
"""Share of a class below which logarithms are added up instead of products: its digits would be lost."""


@vectorised
def _add_block(cells, given, of_cells, of_given, class_codes, weights, totals):
    """Add the conditional log likelihood of a block of rows to the totals of all models.

    ``cells`` and ``given`` have shape (families, classes, `BLOCK`); rows without a weight do not count. See
    :func:`held_out_log_likelihoods`.
    """
    n_families, n_classes = cells.shape[:2]
    above, below = np.empty(BLOCK), np.empty(BLOCK)
    joint = np.empty((n_classes, BLOCK))
    for m in range(len(totals)):
        joint[:] = 1.0
        for first in range(0, n_families, AT_ONCE):
            for c in range(n_classes):
                above[:] = 1.0
                below[:] = 1.0
                for f in range(first, min(first + AT_ONCE, n_families)):
                    of_cell, of_configuration = of_cells[f, m], of_given[f, m]
                    for t in range(BLOCK):
                        above[t] *= cells[f, c, t] + of_cell
                        below[t] *= given[f, c, t] + of_configuration
                for t in range(BLOCK):
                    joint[c, t] *= above[t] / below[t]
            above[:] = 0.0
            for c in range(n_classes):
                for t in range(BLOCK):
                    above[t] = max(above[t], joint[c, t])
            for c in range(n_classes):
                for t in range(BLOCK):
                    joint[c, t] /= above[t]
        below[:] = 0.0
        for c in range(n_classes):
            for t in range(BLOCK):
                below[t] += joint[c, t]
        total = 0.0
        for t in range(len(weights)):
            own = joint[class_codes[t], t]
            if own > LEAST_SHARE:
                total += weights[t] * log(own / below[t])
            else:
                total += weights[t] * _by_logs(cells, given, of_cells, of_given, m, class_codes[t], t)
        totals[m] += total


@inner
def _by_logs(cells, given, of_cells, of_given, m, code, t):
    """Return the conditional log likelihood of a row of a block for one model, from sums of logarithms."""
    n_families, n_classes = cells.shape[:2]
    logs = np.zeros(n_classes)
    for c in range(n_classes):
        for f in range(n_families):
            logs[c] += log(cells[f, c, t] + of_cells[f, m]) - log(given[f, c, t] + of_given[f, m])
    highest = logs.max()
    mass = 0.0
    for c in range(n_classes):
        mass += exp(logs[c] - highest)
    return logs[code] - highest - log(mass)


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
    of_block, given_block = np.ones((n_families, n_classes, BLOCK)), np.ones((n_families, n_classes, BLOCK))
    totals = np.zeros(of_cells.shape[1])
    for first in range(0, n_rows, BLOCK):
        last = min(first + BLOCK, n_rows)
        for f in range(n_families):
            for t in range(first, last):
                for c in range(n_classes):
                    of_block[f, c, t - first] = cells[f, t, c]
                    given_block[f, c, t - first] = given[f, t, c]
        block = class_codes[first:last], weights[first:last]
        _add_block(of_block, given_block, of_cells, of_given, *block, totals)
    return totals


@kernel
def left_out_log_likelihoods(states, cells, given, conditional, of_cells, of_given, class_codes, weights):
    """Return the conditional log likelihood of counted rows, each of which is left out when it is predicted.

    A row that is left out lowers the counts of its own cells by 1, or by all of their weight if that is less.

    Parameters
    ----------
    states : (rows, families) int64
        The joint state of the row in every family, numbered consecutively over all families.
    cells, given : (states, classes) float64
        The weight of a joint state with every class, and that of the states of the parents in it.
    conditional : (families,) bool
        Whether the family has parents; the others have 1 in ``given``.
    of_cells, of_given, class_codes, weights
        See :func:`held_out_log_likelihoods`.

    Returns
    -------
    (models,) float64
        Nats, total.
    """
    n_rows, n_families = states.shape
    n_classes = cells.shape[1]
    of_block, given_block = np.ones((n_families, n_classes, BLOCK)), np.ones((n_families, n_classes, BLOCK))
    totals = np.zeros(of_cells.shape[1])
    for first in range(0, n_rows, BLOCK):
        last = min(first + BLOCK, n_rows)
        for f in range(n_families):
            for t in range(first, last):
                state, code, place = states[t, f], class_codes[t], t - first
                for c in range(n_classes):
                    of_block[f, c, place] = cells[state, c]
                    given_block[f, c, place] = given[state, c]
                one = min(cells[state, code], 1.0)
                of_block[f, code, place] -= one
                if conditional[f]:
                    given_block[f, code, place] -= one
        block = class_codes[first:last], weights[first:last]
        _add_block(of_block, given_block, of_cells, of_given, *block, totals)
    return totals


@kernel
def class_cells(codes, places, arities, class_codes, n_classes, weights):
    """Return the joint states of some variables, their weights by class, and the same for all variables but the last.

    Observed joint states are numbered from 0 in lexicographic order.

    Parameters
    ----------
    codes : (rows, variables) int16
    places, arities : (chosen,) int64
        The columns of the variables, at least one, and their numbers of states, of whose product an array is made.
    class_codes : (rows,) int64
    n_classes : int
    weights : (rows,) float64

    Returns
    -------
    states : (rows,) int64
        The joint state of the variables in every row.
    cells : (joint states, classes) float64
        The weight of every joint state by class.
    given : (shorter joint states, classes) float64
        The same without the last variable.
    shorter : (joint states,) int64
        The joint state of the others in every joint state.
    """
    states = np.zeros(len(weights), dtype=np.int64)
    size = 1
    for k in range(len(places)):
        column = codes[:, places[k]]
        size *= arities[k]
        for t in range(len(states)):
            states[t] = states[t] * arities[k] + column[t]
    last = arities[len(places) - 1]
    numbers = np.zeros(size, dtype=np.int64)
    for state in states:
        numbers[state] = 1
    shorter = np.empty(min(size, len(states)), dtype=np.int64)
    found, n_shorter, before = 0, 0, -1
    for state in range(size):
        if numbers[state]:
            n_shorter += state // last != before
            before = state // last
            shorter[found] = n_shorter - 1
            numbers[state] = found
            found += 1
    cells, given = np.zeros((found, n_classes)), np.zeros((n_shorter, n_classes))
    for t in range(len(states)):
        states[t] = numbers[states[t]]
        cells[states[t], class_codes[t]] += weights[t]
        given[shorter[states[t]], class_codes[t]] += weights[t]
    return states, cells, given, shorter[:found]
