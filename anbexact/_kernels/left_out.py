"""The conditional log likelihood of rows that are predicted from the counts of others, for several models at once.

The probability of a class is a product of ratios, one for each family. The products of a block of rows are divided by
that of the most probable class from time to time, so that logarithms are needed only once per row. A product that
would leave the range of floats is replaced by `LEAST_SHARE`; if it could have mattered, the row is predicted by sums
of logarithms instead.
"""

from math import exp, inf, log, nan

import numpy as np

from anbexact._kernels.jit import inner, kernel, vectorised

BLOCK = 64
"""Number of rows that are predicted together."""
LEAST_SHARE = 1e-290
"""Smallest ratio of the product of a class to that of the most probable one that is kept."""
NEGLIGIBLE = 1e-17
"""Share of a class that does not change the sum over the classes."""
AT_ONCE, LARGEST_FACTOR = 4, 1e35
"""Number of families whose factors are multiplied before the products are compared, if no factor is larger than the
second number or smaller than its reciprocal: no product of ratios then leaves the range of floats."""


def factors_at_once(heaviest: float, of_cells: np.ndarray) -> int:
    """Return how many factors are multiplied at once, given the largest count and what the priors add to counts."""
    lightest = float(of_cells.min(initial=inf))
    return AT_ONCE if heaviest < LARGEST_FACTOR and lightest > 1 / LARGEST_FACTOR else 1


@vectorised
def _multiply(cells, given, of_cells, of_given, above, below, joint, lowest):
    """Multiply the products of a block of rows by the ratios of some families.

    ``cells`` and ``given`` have shape (families, classes, `BLOCK`), and ``joint`` (models, classes, `BLOCK`), the
    lowest values of whose entries are in ``lowest``. Places after the last row may hold anything.
    """
    n_families, n_classes = cells.shape[:2]
    for m in range(len(joint)):
        for c in range(n_classes):
            above[:] = 1.0
            below[:] = 1.0
            for f in range(n_families):
                of_cell, of_configuration = of_cells[f, m], of_given[f, m]
                for t in range(BLOCK):
                    above[t] *= cells[f, c, t] + of_cell
                    below[t] *= given[f, c, t] + of_configuration
            for t in range(BLOCK):
                joint[m, c, t] *= above[t] / below[t]
        largest = above
        largest[:] = 0.0
        for c in range(n_classes):
            for t in range(BLOCK):
                largest[t] = max(largest[t], joint[m, c, t])
        for c in range(n_classes):
            for t in range(BLOCK):
                share = joint[m, c, t] / largest[t] if largest[t] > 0.0 else 0.0
                lowest[m, c, t] = min(lowest[m, c, t], share)
                joint[m, c, t] = max(share, LEAST_SHARE)


@vectorised
def _log_shares(joint, lowest, class_codes, mass, unsure, found):
    """Fill ``found`` (models, rows) with ln of the share of every row's class.

    It is NaN where a product that was raised to `LEAST_SHARE`, or that is not a number, could change it.
    """
    for m in range(len(joint)):
        mass[:] = 0.0
        unsure[:] = 0.0
        for c in range(joint.shape[1]):
            for t in range(BLOCK):
                mass[t] += joint[m, c, t]
        for c in range(joint.shape[1]):
            for t in range(BLOCK):
                sure = lowest[m, c, t] >= LEAST_SHARE or joint[m, c, t] < NEGLIGIBLE * mass[t]
                unsure[t] += 0.0 if sure else 1.0
        for t in range(len(class_codes)):
            own = class_codes[t]
            sure = unsure[t] == 0.0 and mass[t] < inf and lowest[m, own, t] >= LEAST_SHARE
            found[m, t] = log(joint[m, own, t] / mass[t]) if sure else nan


@inner
def _by_logs(cells, given, of_cells, of_given, m, code):
    """Return ln of the share of a row's class from sums of logarithms; ``cells``, ``given`` (families, classes)."""
    n_families, n_classes = cells.shape
    logs = np.zeros(n_classes)
    for c in range(n_classes):
        for f in range(n_families):
            logs[c] += log(cells[f, c] + of_cells[f, m]) - log(given[f, c] + of_given[f, m])
    highest = logs.max()
    mass = 0.0
    for c in range(n_classes):
        mass += exp(logs[c] - highest)
    return logs[code] - highest - log(mass)


@kernel
def held_out_log_likelihoods(cells, given, of_cells, of_given, class_codes, weights, at_once):
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
    at_once : int
        See :func:`factors_at_once`.
    """
    n_families, n_rows, n_classes = cells.shape
    n_models = of_cells.shape[1]
    of_block, given_block = np.ones((at_once, n_classes, BLOCK)), np.ones((at_once, n_classes, BLOCK))
    above, below = np.empty(BLOCK), np.empty(BLOCK)
    joint, lowest = np.empty((n_models, n_classes, BLOCK)), np.empty((n_models, n_classes, BLOCK))
    logs, totals = np.empty((n_models, BLOCK)), np.zeros(n_models)
    for start in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - start)
        joint[:] = 1.0
        lowest[:] = 1.0
        for first in range(0, n_families, at_once):
            last = min(first + at_once, n_families)
            for f in range(first, last):
                for t in range(n):
                    for c in range(n_classes):
                        of_block[f - first, c, t] = cells[f, start + t, c]
                        given_block[f - first, c, t] = given[f, start + t, c]
            _multiply(
                of_block[: last - first], given_block[: last - first], of_cells[first:last], of_given[first:last],
                above, below, joint, lowest,
            )  # fmt: skip
        _log_shares(joint, lowest, class_codes[start : start + n], above, below, logs)
        for m in range(n_models):
            for t in range(n):
                row, value = start + t, logs[m, t]
                if value != value:
                    value = _by_logs(cells[:, row], given[:, row], of_cells, of_given, m, class_codes[row])
                totals[m] += weights[row] * value
    return totals


@inner
def _leave_out(states, cells, given, conditional, f, start, n, class_codes, of_family, given_family):
    """Write the counts of n rows in a family, without those of the row itself, as columns (classes, rows)."""
    for t in range(n):
        state, code = states[start + t, f], class_codes[start + t]
        for c in range(cells.shape[1]):
            of_family[c, t] = cells[state, c]
            given_family[c, t] = given[state, c]
        one = min(cells[state, code], 1.0)
        of_family[code, t] -= one
        if conditional[f]:
            given_family[code, t] -= one


@kernel
def left_out_log_likelihoods(states, cells, given, conditional, of_cells, of_given, class_codes, weights, at_once):
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
    of_cells, of_given, class_codes, weights, at_once
        See :func:`held_out_log_likelihoods`.

    Returns
    -------
    (models,) float64
        Nats, total.
    """
    n_rows, n_families = states.shape
    n_classes, n_models = cells.shape[1], of_cells.shape[1]
    of_block, given_block = np.ones((at_once, n_classes, BLOCK)), np.ones((at_once, n_classes, BLOCK))
    of_row, given_row = np.empty((n_families, n_classes, 1)), np.empty((n_families, n_classes, 1))
    above, below = np.empty(BLOCK), np.empty(BLOCK)
    joint, lowest = np.empty((n_models, n_classes, BLOCK)), np.empty((n_models, n_classes, BLOCK))
    logs, totals = np.empty((n_models, BLOCK)), np.zeros(n_models)
    for start in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - start)
        joint[:] = 1.0
        lowest[:] = 1.0
        for first in range(0, n_families, at_once):
            last = min(first + at_once, n_families)
            for f in range(first, last):
                own = of_block[f - first], given_block[f - first]
                _leave_out(states, cells, given, conditional, f, start, n, class_codes, *own)
            _multiply(
                of_block[: last - first], given_block[: last - first], of_cells[first:last], of_given[first:last],
                above, below, joint, lowest,
            )  # fmt: skip
        _log_shares(joint, lowest, class_codes[start : start + n], above, below, logs)
        for t in range(n):
            row, written = start + t, False
            for m in range(n_models):
                value = logs[m, t]
                if value != value:
                    for f in range(0 if written else n_families):
                        own = of_row[f], given_row[f]
                        _leave_out(states, cells, given, conditional, f, row, 1, class_codes, *own)
                    written = True
                    value = _by_logs(of_row[:, :, 0], given_row[:, :, 0], of_cells, of_given, m, class_codes[row])
                totals[m] += weights[row] * value
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
