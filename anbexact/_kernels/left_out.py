"""The conditional log likelihood of rows that are predicted from the counts of others, for several models at once.

The probability of a class is a product of ratios, one for each family. The products of a block of rows are divided by
that of the most probable class from time to time, so that a row, or several rows of the same weight, need only one
logarithm. A product that would leave the range of floats is replaced by `LEAST_SHARE`; if it could have mattered, the
row is predicted by sums of logarithms instead.
"""

from math import exp, inf, log, log10, nan

import numpy as np

from anbexact._kernels.jit import inner, kernel, vectorised

BLOCK = 64
"""Number of rows that are predicted together."""
LEAST_SHARE = 1e-290
"""Smallest ratio of the product of a class to that of the most probable one that is kept."""
SMALLEST = 2.3e-308
"""Products below this lose digits, and count as 0."""
SMALL_SHARE = 1e-140
"""Up to this share of its class, a row has a logarithm of its own; products of shares, too, go no further."""
NEGLIGIBLE = 1e-17
"""Share of a class that does not change the sum over the classes."""
MOST_AT_ONCE, DIGITS = 16, 140
"""Maximum number of families whose factors are multiplied before the products of the classes are compared; and the
decimal logarithm of the largest product of counts that may then occur, or of the reciprocal of the smallest one: no
product of ratios leaves the range of floats."""


def factors_at_once(heaviest: float, of_cells: np.ndarray, of_given: np.ndarray) -> int:
    """Return how many factors are multiplied at once, given the largest count and what the priors add to counts."""
    largest = heaviest + float(of_given.max(initial=1.0))
    smallest = float(of_cells.min(initial=1.0))
    digits = max(log10(largest), -log10(smallest), 1.0) if smallest > 0 else inf
    return max(1, min(MOST_AT_ONCE, int(DIGITS / digits)))


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
                share = joint[m, c, t] / largest[t] if joint[m, c, t] >= SMALLEST else 0.0
                lowest[m, c, t] = min(lowest[m, c, t], share)
                joint[m, c, t] = max(share, LEAST_SHARE)


@vectorised
def _shares(joint, lowest, class_codes, mass, unsure, found):
    """Fill ``found`` (models, rows) with the share of every row's class.

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
            found[m, t] = joint[m, own, t] / mass[t] if sure else nan


@inner
def _by_logs(states, cells, given, conditional, of_cells, of_given, m, code, left_out):
    """Return ln of the share of a row's class from sums of logarithms; the row has one state in every family."""
    n_families, n_classes = len(states), cells.shape[1]
    logs = np.zeros(n_classes)
    for f in range(n_families):
        state = states[f]
        one = min(cells[state, code], 1.0) if left_out else 0.0
        for c in range(n_classes):
            own = one if c == code else 0.0
            of_cell, of_configuration = cells[state, c] - own, given[state, c] - (own if conditional[f] else 0.0)
            logs[c] += log(of_cell + of_cells[f, m]) - log(of_configuration + of_given[f, m])
    highest = logs.max()
    mass = 0.0
    for c in range(n_classes):
        mass += exp(logs[c] - highest)
    return logs[code] - highest - log(mass)


@inner
def _write(states, cells, given, conditional, f, start, n, class_codes, left_out, of_family, given_family):
    """Write the counts of n rows in a family as columns (classes, rows), without those of the rows left out."""
    for t in range(n):
        state, code = states[start + t, f], class_codes[start + t]
        for c in range(cells.shape[1]):
            of_family[c, t] = cells[state, c]
            given_family[c, t] = given[state, c]
        if left_out:
            one = min(cells[state, code], 1.0)
            of_family[code, t] -= one
            if conditional[f]:
                given_family[code, t] -= one


@kernel
def log_likelihoods(states, cells, given, conditional, of_cells, of_given, class_codes, weights, left_out, at_once):
    """Return the conditional log likelihood of rows, in nats, total, for each of several models.

    ``P(class, row)`` is proportional to the product over the families of
    ``(cells[u] + of_cells[f, model]) / (given[u] + of_given[f, model])``, with u the row's joint state in family f.

    Parameters
    ----------
    states : (rows, families) int64
        The joint state of the row in every family, numbered consecutively over all families.
    cells, given : (states, classes) float64
        The weight of a joint state with every class, and that of the states of the parents in it.
    conditional : (families,) bool
        Whether the family has parents; the others have 1 in ``given``.
    of_cells, of_given : (families, models) float64
        What the prior adds to them.
    class_codes, weights : (rows,) int64, float64
        The class of every row, and its weight.
    left_out : bool
        Whether the rows were counted, and each is left out when it is predicted. This lowers the counts of its own
        cells by 1, or by all of their weight if that is less.
    at_once : int
        See :func:`factors_at_once`.
    """
    n_rows, n_families = states.shape
    n_classes, n_models = cells.shape[1], of_cells.shape[1]
    of_block, given_block = np.ones((at_once, n_classes, BLOCK)), np.ones((at_once, n_classes, BLOCK))
    above, below = np.empty(BLOCK), np.empty(BLOCK)
    joint, lowest = np.empty((n_models, n_classes, BLOCK)), np.empty((n_models, n_classes, BLOCK))
    shares, totals = np.empty((n_models, BLOCK)), np.zeros(n_models)
    for start in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - start)
        joint[:] = 1.0
        lowest[:] = 1.0
        for first in range(0, n_families, at_once):
            last = min(first + at_once, n_families)
            for f in range(first, last):
                own = of_block[f - first], given_block[f - first]
                _write(states, cells, given, conditional, f, start, n, class_codes, left_out, *own)
            _multiply(
                of_block[: last - first], given_block[: last - first], of_cells[first:last], of_given[first:last],
                above, below, joint, lowest,
            )  # fmt: skip
        _shares(joint, lowest, class_codes[start : start + n], above, below, shares)
        alike = True
        for t in range(1, n):
            alike = alike and weights[start + t] == weights[start]
        for m in range(n_models):
            product = 1.0  # of shares of rows of the same weight, which need one logarithm
            for t in range(n):
                row, share = start + t, shares[m, t]
                if share != share:
                    value = _by_logs(
                        states[row], cells, given, conditional, of_cells, of_given, m, class_codes[row], left_out
                    )  # fmt: skip
                    totals[m] += weights[row] * value
                elif alike and share > SMALL_SHARE:
                    product *= share
                    if product < SMALL_SHARE:
                        totals[m] += weights[row] * log(product)
                        product = 1.0
                else:
                    totals[m] += weights[row] * log(share)
            totals[m] += weights[start] * log(product)
    return totals


@kernel
def class_cells(codes, places, arities, class_codes, n_classes, weights):
    """Return the joint states of some variables, and their weights by class, with and without the last variable.

    Observed joint states are numbered from 0 in lexicographic order.

    Parameters
    ----------
    codes : (rows, variables) int16
    places, arities : (chosen,) int64
        The columns of the variables, at least one, and their numbers of states, of whose product an array is made.
    class_codes : (rows,) int16
    n_classes : int
    weights : (rows,) float64

    Returns
    -------
    states : (rows,) int64
        The joint state of the variables in every row.
    cells : (joint states, classes) float64
        The weight of every joint state by class.
    given : (joint states, classes) float64
        The weight of the states of all variables but the last, in every joint state.
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
    return states, cells, given[shorter[:found]]
