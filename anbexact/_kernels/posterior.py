"""Log joint probability of every class with a row of codes, and the posterior from it."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._kernels.jit import inner, kernel

JOINT = 0
"""Form of a result: ln P(c, x)."""
PROBABILITY = 1
"""Form of a result: P(c | x)."""
LOG_PROBABILITY = 2
"""Form of a result: ln P(c | x)."""

BLOCK = 64
"""Number of complete rows that are processed together."""


class Families(NamedTuple):
    """The log conditional tables of a network; parents stand before their children, and the class last.

    Attributes
    ----------
    children : (families,) int64
        The feature whose conditional table a family is; -1 for the class.
    firsts, variables, strides : (families + 1,), (k,), (k,) int64
        Family f reads the rows of ``codes`` named by ``variables[firsts[f]:firsts[f + 1]]``.
    offsets, logs : (families + 1,) int64, float64
        ``logs[offsets[f] + classes * index + c]`` is family f's log factor for class c.
    """

    children: npt.NDArray[np.int64]
    firsts: npt.NDArray[np.int64]
    variables: npt.NDArray[np.int64]
    strides: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    logs: npt.NDArray[np.float64]


@kernel
def exponentials(x, powers):
    """Replace every x ≤ 0 by exp(x), to within two units in the last place; below -708, by 0.

    x = k ln 2 + r with |r| ≤ ln(2)/2; exp(r) is its Taylor polynomial of degree 13, 2**k is written into the
    exponent bits of ``powers`` (int64, as long as x). Without branches and calls, so that it runs in vectors.
    """
    scale = powers.view(np.float64)
    for c in range(x.shape[0]):
        k = np.floor(x[c] * 1.4426950408889634 + 0.5)
        powers[c] = (np.int64(max(k, -1022.0)) + np.int64(1023)) << np.int64(52)
        r = (x[c] - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        x[c] = p * scale[c] if x[c] > -708.0 else 0.0


@kernel
def normalise_rows(log_joint, form, scratch, powers):
    """Convert rows of ln P(c, x) to the requested form, in place.

    Parameters
    ----------
    log_joint : (rows, classes) float64, contiguous
        A few rows.
    form : int
        JOINT, PROBABILITY or LOG_PROBABILITY.
    scratch, powers : float64, int64
        Room for rows * classes numbers each.

    Where every class is impossible, so that there is no posterior, the row becomes NaN.
    """
    if form == JOINT:
        return
    rows, classes = log_joint.shape
    for t in range(rows):
        top = log_joint[t, 0]
        for c in range(1, classes):
            top = max(top, log_joint[t, c])
        for c in range(classes):
            log_joint[t, c] -= top
            scratch[t * classes + c] = log_joint[t, c]
    exponentials(scratch[: rows * classes], powers)
    for t in range(rows):
        total = 0.0
        for c in range(classes):
            total += scratch[t * classes + c]
        if not total > 0.0:  # as in a network with zeros, where no class allows for the row
            log_joint[t, :] = np.nan
            continue
        if form == PROBABILITY:
            share = 1.0 / total
            for c in range(classes):
                log_joint[t, c] = scratch[t * classes + c] * share
        else:
            shift = math.log(total)
            for c in range(classes):
                log_joint[t, c] -= shift


@kernel
def complete_rows(codes, families, form, start, stop, out):
    """Compute the results of the complete rows ``start .. stop-1``.

    Parameters
    ----------
    codes : (features, rows) int16
        States; none negative in these rows.
    families : Families
        The network.
    form : int
        JOINT, PROBABILITY or LOG_PROBABILITY.
    out : (rows, classes) float64
        Receives the result.
    """
    firsts, variables, strides = families.firsts, families.variables, families.strides
    offsets, logs = families.offsets, families.logs
    classes = out.shape[1]
    n_families = firsts.shape[0] - 1
    scratch = np.empty(BLOCK * classes)
    powers = np.empty(BLOCK * classes, np.int64)
    places = np.empty(BLOCK, np.int64)
    for begin in range(start, stop, BLOCK):
        end = min(begin + BLOCK, stop)
        block = out[begin:end]
        block[:] = 0.0
        for f in range(n_families):
            places[:] = 0
            for k in range(firsts[f], firsts[f + 1]):
                of_feature = codes[variables[k], begin:end]
                step = strides[k] * classes
                for t in range(end - begin):
                    places[t] += np.int64(of_feature[t]) * step
            of_family = logs[offsets[f] : offsets[f + 1]]
            for t in range(end - begin):
                row = block[t]
                factor = of_family[places[t] : places[t] + classes]
                for c in range(classes):
                    row[c] += factor[c]
        normalise_rows(block, form, scratch, powers)


@inner
def _list_hidden(state, families, needed, hidden):
    """Mark the features that matter, list those that are missing and have an observed descendant; return how many."""
    children, firsts, variables = families.children, families.firsts, families.variables
    for v in range(state.shape[0]):
        needed[v] = state[v] >= 0
    n_hidden = 0
    for f in range(children.shape[0] - 1, -1, -1):
        if children[f] < 0 or needed[children[f]]:
            for k in range(firsts[f], firsts[f + 1]):
                if not needed[variables[k]]:
                    needed[variables[k]] = True
                    hidden[n_hidden] = variables[k]
                    n_hidden += 1
    return n_hidden


@inner
def _place(state, f, families, classes):
    """Return where the log factors of a family begin at a joint state of the features."""
    firsts, variables, strides = families.firsts, families.variables, families.strides
    index = 0
    for k in range(firsts[f], firsts[f + 1]):
        index += max(state[variables[k]], 0) * strides[k]
    return families.offsets[f] + classes * index


@inner
def _is_open(state, f, families):
    """Return whether features of a family are missing."""
    firsts, variables = families.firsts, families.variables
    for k in range(firsts[f], firsts[f + 1]):  # noqa: SIM110 - a generator takes longer to compile
        if state[variables[k]] < 0:
            return True
    return False


@kernel
def incomplete_rows(codes, families, arities, most, form, start, stop, out, done):
    """Compute the results of rows ``start .. stop-1`` that have few joint states of hidden features to be summed.

    Parameters
    ----------
    codes : (features, rows) int16
        States, negative where missing.
    families, form, out
        As in :func:`complete_rows`.
    arities : (features,) int64
        States of every feature.
    most : int
        Maximum number of joint states that are summed.
    done : (rows,) bool
        Receives whether a row is done; the others have zeros in ``out``.
    """
    children, logs = families.children, families.logs
    classes, n_features, n_families = out.shape[1], codes.shape[0], children.shape[0]
    scratch = np.empty(max(most, BLOCK) * classes)
    powers = np.empty(max(most, BLOCK) * classes, np.int64)
    state, hidden = np.empty(n_features, np.int64), np.empty(n_features, np.int64)
    needed = np.empty(n_features, np.bool_)
    touched = np.empty(n_families, np.int64)
    for t in range(start, stop):
        for v in range(n_features):
            state[v] = codes[v, t]
        n_hidden = _list_hidden(state, families, needed, hidden)
        n_states = 1
        for h in range(n_hidden):
            n_states = min(n_states * arities[hidden[h]], most + 1)
        done[t] = n_states <= most
        for c in range(classes):
            out[t, c] = 0.0
        if not done[t]:
            continue
        n_touched = 0
        for f in range(n_families):
            if children[f] < 0 or needed[children[f]]:
                if n_hidden and _is_open(state, f, families):
                    touched[n_touched] = f
                    n_touched += 1
                else:
                    place = _place(state, f, families, classes)
                    for c in range(classes):
                        out[t, c] += logs[place + c]
        if n_hidden == 0:
            continue
        for j in range(n_states):
            rest = j
            for h in range(n_hidden):
                state[hidden[h]] = rest % arities[hidden[h]]
                rest //= arities[hidden[h]]
            for c in range(classes):
                scratch[j * classes + c] = 0.0
            for i in range(n_touched):
                place = _place(state, touched[i], families, classes)
                for c in range(classes):
                    scratch[j * classes + c] += logs[place + c]
        _add_log_sums(scratch[: n_states * classes], powers, out, t)
    for begin in range(start, stop, BLOCK):
        normalise_rows(out[begin : min(begin + BLOCK, stop)], form, scratch, powers)


@inner
def _add_log_sums(logs, powers, out, t):
    """Add ln Σ exp over joint states to row t; ``logs`` are those of all classes, state after state, and are lost."""
    classes = out.shape[1]
    for c in range(classes):
        top = -np.inf
        for place in range(c, logs.shape[0], classes):
            top = max(top, logs[place])
        out[t, c] += top
        if top > -np.inf:
            for place in range(c, logs.shape[0], classes):
                logs[place] -= top
    exponentials(logs, powers)
    for c in range(classes):
        total = 0.0
        for place in range(c, logs.shape[0], classes):
            total += logs[place]
        if out[t, c] > -np.inf:
            out[t, c] += math.log(total)
