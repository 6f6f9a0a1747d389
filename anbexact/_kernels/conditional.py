"""Conditional log likelihood of networks with maximum likelihood parameters, and of networks one family away.

For a set T of variables that holds the class, ``F_T(x, c) = ln N(x, c)`` over the features of T; where no row has x
and c, it is minus the log of the number of joint states of T, and *one zero*. The log factor of a family is the
difference of two such functions, that of the family and that of the parents, and so is its number of zeros: 1 where
the factor is 0. Else the factor is the relative frequency, or uniform given parents that no row has. As functions of
sets add up to the same sum in Markov equivalent networks, so do factors and zeros.
"""

import math

import numpy as np

from anbexact._kernels.families import refine
from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.posterior import BLOCK, exponentials

CLASS = -1
"""Child of the family of the class."""
IMPOSSIBLE = -1e300
"""Stands for the logarithm of 0."""
LARGEST = 1e200
"""Sums of probabilities between this and its inverse have all their digits; others are found by logarithms."""


@inner
def _log_counts(counts, log_states, zeros):
    """Replace counts by their logarithms; by ``-log_states`` and one zero where there are none. Returns Σ N ln N."""
    total = 0.0
    for c in range(counts.shape[0]):
        for g in range(counts.shape[1]):
            if counts[c, g] > 0.0:
                value = math.log(counts[c, g])
                total += counts[c, g] * value
                counts[c, g] = value
                zeros[c, g] = 0
            else:
                counts[c, g] = -log_states
                zeros[c, g] = 1
    return total


@inner
def _family(groups, n_groups, child, log_states, codes, arities, n_classes, rows, classes, weights):
    """Return a family's log factors and zeros by class and joint state, the joint state of all rows, and a total.

    ``groups`` numbers the joint states of the feature parents, ``log_states`` is the log number of the joint states
    of parents (with the class). A factor of the family of the class is that up to what does not depend on the class.
    The total is the sum of the log factors of all rows with their own classes, times their weights.
    """
    if child == CLASS:
        joint, n_joint = groups, n_groups
    else:
        joint, n_joint = refine(groups, n_groups, codes[child], arities[child])
    values = np.zeros((n_classes, n_joint))
    for j in range(len(rows)):
        values[classes[j], joint[rows[j]]] += weights[j]
    zeros = np.empty(values.shape, np.int16)
    if child == CLASS:
        return values, zeros, joint, _log_counts(values, log_states, zeros)
    group_of = np.empty(n_joint, np.int64)
    for t in range(len(joint)):
        group_of[joint[t]] = groups[t]
    given = np.zeros((n_classes, n_groups))
    for c in range(n_classes):
        for g in range(n_joint):
            given[c, group_of[g]] += values[c, g]
    given_zeros = np.empty(given.shape, np.int16)
    total = _log_counts(values, log_states + math.log(arities[child]), zeros)
    total -= _log_counts(given, log_states, given_zeros)
    for c in range(n_classes):
        for g in range(n_joint):
            values[c, g] -= given[c, group_of[g]]
            zeros[c, g] -= given_zeros[c, group_of[g]]
    return values, zeros, joint, total


@inner
def _joint_states(codes, arities, members):
    """Return the joint state of some features in every row, how many there are, and the log of how many could be."""
    groups, n_groups, log_states = np.zeros(codes.shape[1], np.int64), 1, 0.0
    for v in members:
        groups, n_groups = refine(groups, n_groups, codes[v], arities[v])
        log_states += math.log(arities[v])
    return groups, n_groups, log_states


@kernel
def add_family(codes, arities, rows, classes, weights, members, child, sign, logs, zeros):
    """Add a family to the log joint probabilities of all rows and classes, or subtract it (``sign`` = -1).

    Parameters
    ----------
    codes : (features, distinct rows of features) int16
        States.
    arities : (features,) int64
        Numbers of states.
    rows, classes, weights : (distinct rows,) int64, int64, float64
        The rows of ``codes``, classes and weights of the table.
    members : (k,) int64
        The feature parents; the class is a parent as well.
    child : int
        A feature, or ``CLASS`` for the family of the class with these parents.
    logs, zeros : (classes, distinct rows of features) float64, int16
        ln P(c, x), up to what does not depend on c, of the factors that are not 0, and how many are.
    """
    n_classes = logs.shape[0]
    groups, n_groups, log_states = _joint_states(codes, arities, members)
    log_states += math.log(n_classes)
    values, of_values, joint, _ = _family(
        groups, n_groups, child, log_states, codes, arities, n_classes, rows, classes, weights
    )
    for c in range(n_classes):
        for t in range(logs.shape[1]):
            logs[c, t] += sign * values[c, joint[t]]
            zeros[c, t] += sign * of_values[c, joint[t]]


@kernel
def relative(logs, zeros, rows, classes, weights, totals, shares, tops):
    """Write the exponentials of log joint probabilities, relative to the highest of a row, and these.

    Returns the sum of the log joint probabilities of the rows with their own classes, relative to the highest, times
    their weights.

    Parameters
    ----------
    logs, zeros, rows, classes, weights
        As in :func:`add_family`.
    totals : (distinct rows of features,) float64
        Their weights.
    shares : (classes, distinct rows of features) float64
        Receives the exponentials; 0 where there are zeros.
    tops : (distinct rows of features,) float64
        Receives the highest logarithm without a zero of every row; that of a class that the row has is one.
    """
    n_classes, n_rows = logs.shape
    powers = np.empty(BLOCK, np.int64)
    tops[:] = IMPOSSIBLE
    for c in range(n_classes):
        for t in range(n_rows):
            if zeros[c, t] == 0:
                tops[t] = max(tops[t], logs[c, t])
    for c in range(n_classes):
        for begin in range(0, n_rows, BLOCK):
            end = min(begin + BLOCK, n_rows)
            block = shares[c, begin:end]
            for t in range(end - begin):
                block[t] = logs[c, begin + t] - tops[begin + t] if zeros[c, begin + t] == 0 else IMPOSSIBLE
            exponentials(block, powers)
    total = 0.0
    for j in range(len(rows)):
        total += weights[j] * logs[classes[j], rows[j]]
    for t in range(n_rows):
        total -= totals[t] * tops[t]
    return total


@inner
def _log_sum(logs, zeros, values, of_values):
    """Return ln Σ_c P(c, x) of one row with one more family."""
    top = IMPOSSIBLE
    for c in range(len(logs)):
        if zeros[c] + of_values[c] == 0:
            top = max(top, logs[c] + values[c])
    total = 0.0
    for c in range(len(logs)):
        if zeros[c] + of_values[c] == 0:
            total += math.exp(logs[c] + values[c] - top)
    return top + math.log(total)


@kernel
def log_sums(logs, zeros, shares, tops, totals, values, of_values, groups):
    """Return Σ_t w_t ln Σ_c P(c, x_t) of the joint probabilities, relative to ``tops``, with one more family.

    Parameters
    ----------
    logs, zeros, shares, tops, totals
        As in :func:`relative`.
    values, of_values, groups
        The family: logs and zeros by class and joint state, and the joint state of every row.
    """
    n_classes, n_rows = logs.shape
    factors = np.where(of_values == 0, np.exp(values), 0.0)
    sums = np.empty(BLOCK)
    total = 0.0
    for begin in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - begin)
        sums[:] = 0.0
        for c in range(n_classes):
            for t in range(size):
                sums[t] += shares[c, begin + t] * factors[c, groups[begin + t]]
        for t in range(size):
            if 1.0 / LARGEST < sums[t] < LARGEST:
                total += totals[begin + t] * math.log(sums[t])
            else:
                x, g = begin + t, groups[begin + t]
                total += totals[x] * (_log_sum(logs[:, x], zeros[:, x], values[:, g], of_values[:, g]) - tops[x])
    return total


@kernel
def log_likelihoods(codes, arities, rows, classes, weights, totals, members, sizes, child, logs, zeros, out):
    """Write the conditional log likelihood with one more family, for several sets of parents of one child.

    Parameters
    ----------
    codes, arities, rows, classes, weights, child, logs, zeros
        As in :func:`add_family`.
    totals
        As in :func:`relative`.
    members : (families, width) int64
        The feature parents of each family, the first ``sizes`` of a row; equal beginnings are processed only once.
    sizes : (families,) int64
        -1 stands for no family at all.
    out : (families,) float64
        Receives the likelihoods, in nats.
    """
    n_classes, n_rows = logs.shape
    shares, tops = np.empty(logs.shape), np.empty(n_rows)
    own = relative(logs, zeros, rows, classes, weights, totals, shares, tops)
    head, n_head, log_head = _joint_states(codes, arities, members[0, :0])
    for k in range(len(sizes)):
        size = sizes[k]
        if size < 0:
            nothing = np.zeros((n_classes, 1))
            none = np.zeros((n_classes, 1), np.int16)
            groups = np.zeros(n_rows, np.int64)
            out[k] = own - log_sums(logs, zeros, shares, tops, totals, nothing, none, groups)
            continue
        last = max(size - 1, 0)
        same = k > 0 and sizes[k - 1] == size
        for i in range(last):
            same = same and members[k, i] == members[k - 1, i]
        if not same:
            head, n_head, log_head = _joint_states(codes, arities, members[k, :last])
        groups, n_groups, log_states = head, n_head, log_head + math.log(n_classes)
        if size:
            v = members[k, last]
            groups, n_groups = refine(head, n_head, codes[v], arities[v])
            log_states += math.log(arities[v])
        values, of_values, joint, total = _family(
            groups, n_groups, child, log_states, codes, arities, n_classes, rows, classes, weights
        )
        out[k] = own + total - log_sums(logs, zeros, shares, tops, totals, values, of_values, joint)
