"""Log joint probability of every class with a row of codes, and the posterior from it."""

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_families(codes, firsts, variables, strides, offsets, logs, start, stop, out):
    """Add the log factors of the families to ``out`` for complete rows ``start .. stop-1``.

    Parameters
    ----------
    codes : (features, rows) int16
        States; none negative in these rows.
    firsts, variables, strides : (families + 1,), (k,), (k,) int64
        Family f reads the rows of ``codes`` named by ``variables[firsts[f]:firsts[f + 1]]``.
    offsets, logs : (families,) int64, float64
        ``logs[offsets[f] + classes * index + c]`` is family f's log factor for class c.
    out : (rows, classes) float64
        Added to in place; nats.
    """
    classes = out.shape[1]
    families = offsets.shape[0]
    for t in range(start, stop):
        row = out[t]
        for f in range(families):
            index = 0
            for k in range(firsts[f], firsts[f + 1]):
                index += np.int64(codes[variables[k], t]) * strides[k]
            place = offsets[f] + classes * index
            factor = logs[place : place + classes]
            for c in range(classes):
                row[c] += factor[c]


@njit(cache=True, nogil=True)
def normalise(log_joint, start, stop, logarithmic):
    """Turn rows of ln P(c, x) into P(c | x), or ln P(c | x), in place."""
    classes = log_joint.shape[1]
    for t in range(start, stop):
        row = log_joint[t]
        top = row[0]
        for c in range(1, classes):
            top = max(top, row[c])
        total = 0.0
        if logarithmic:
            for c in range(classes):
                total += math.exp(row[c] - top)
            shift = top + math.log(total)
            for c in range(classes):
                row[c] -= shift
        else:
            for c in range(classes):
                row[c] = math.exp(row[c] - top)
                total += row[c]
            for c in range(classes):
                row[c] /= total
