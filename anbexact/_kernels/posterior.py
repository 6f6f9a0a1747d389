"""Log joint probability of every class with a row of codes, and the posterior from it."""

import math

from numba import njit
from numpy import int64

JOINT = 0
"""Form of a result: ln P(c, x)."""
PROBABILITY = 1
"""Form of a result: P(c | x)."""
LOG_PROBABILITY = 2
"""Form of a result: ln P(c | x)."""


@njit(cache=True, nogil=True)
def _normalise(row, form):
    """Bring a row of ln P(c, x) into the form that is asked for, in place."""
    if form == JOINT:
        return
    classes = row.shape[0]
    top = row[0]
    for c in range(1, classes):
        top = max(top, row[c])
    total = 0.0
    if form == PROBABILITY:
        for c in range(classes):
            row[c] = math.exp(row[c] - top)
            total += row[c]
        share = 1.0 / total
        for c in range(classes):
            row[c] *= share
    else:
        for c in range(classes):
            total += math.exp(row[c] - top)
        shift = top + math.log(total)
        for c in range(classes):
            row[c] -= shift


@njit(cache=True, nogil=True)
def normalise_rows(log_joint, form):
    """Bring every row of ln P(c, x), shape (rows, classes), into the form that is asked for, in place."""
    for t in range(log_joint.shape[0]):
        _normalise(log_joint[t], form)


@njit(cache=True, nogil=True)
def complete_rows(codes, prior, firsts, variables, strides, offsets, logs, form, start, stop, out):
    """Work the complete rows ``start .. stop-1``.

    Parameters
    ----------
    codes : (features, rows) int16
        States; none negative in these rows.
    prior : (classes,) float64
        What every row starts from.
    firsts, variables, strides : (families + 1,), (k,), (k,) int64
        Family f reads the rows of ``codes`` named by ``variables[firsts[f]:firsts[f + 1]]``.
    offsets, logs : (families,) int64, float64
        ``logs[offsets[f] + classes * index + c]`` is family f's log factor for class c.
    form : int
        JOINT, PROBABILITY or LOG_PROBABILITY.
    out : (rows, classes) float64
        Receives the result.
    """
    classes = prior.shape[0]
    families = offsets.shape[0]
    for t in range(start, stop):
        row = out[t]
        for c in range(classes):
            row[c] = prior[c]
        for f in range(families):
            index = 0
            for k in range(firsts[f], firsts[f + 1]):
                index += int64(codes[variables[k], t]) * strides[k]
            place = offsets[f] + classes * index
            for c in range(classes):
                row[c] += logs[place + c]
        _normalise(row, form)
