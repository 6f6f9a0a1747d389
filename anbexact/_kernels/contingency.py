"""G² tests of one variable with many others, given a set of variables."""

import math

import numpy as np

from anbexact._kernels.jit import inner, kernel


@kernel
def log_survival(statistic, freedom):
    """Return the logarithm of the probability that chi-squared exceeds a statistic; 0 without degrees of freedom.

    By the series of the incomplete gamma function below its mean, else by its continued fraction.
    """
    if freedom <= 0 or statistic <= 0:
        return 0.0
    a = freedom / 2
    x = statistic / 2
    scale = a * math.log(x) - x - math.lgamma(a)
    if x < a + 1:
        term = total = 1 / a
        k = a
        while term > 1e-17 * total:
            k += 1
            term *= x / k
            total += term
        return math.log(max(1 - math.exp(scale) * total, 1e-300))
    b = x + 1 - a
    c = 1e300
    d = 1 / b
    fraction = d
    change = 0.0
    k = 0
    while abs(change - 1) > 1e-12:
        k += 1
        b += 2
        d = 1 / (b - k * (k - a) * d)
        c = b - k * (k - a) / c
        change = c * d
        fraction *= change
    return scale + math.log(fraction)


@inner
def _number_groups(codes, arities, given, groups):
    """Number every row's joint state of the given variables; return how many numbers there are, few of them unused.

    Numbers that would be many more than the rows are assigned anew, as they occur.
    """
    rows = groups.shape[0]
    groups[:] = 0
    n_groups = 1
    for v in given:
        arity = np.int64(arities[v])
        of_v = codes[v]
        for t in range(rows):
            groups[t] = groups[t] * arity + of_v[t]
        n_groups *= arity
        if n_groups > 4 * rows:
            number = np.full(n_groups, -1, np.int64)
            n_groups = 0
            for t in range(rows):
                if number[groups[t]] < 0:
                    number[groups[t]] = n_groups
                    n_groups += 1
                groups[t] = number[groups[t]]
    return n_groups


@inner
def _g2(counts, n_groups, r, q, of_rows, of_columns):
    """Return G² and its degrees of freedom from a table of counts by group, row and column, and set that to 0."""
    statistic = 0.0
    freedom = 0
    for g in range(n_groups):
        own = counts[g * r * q : (g + 1) * r * q]
        for b in range(q):
            of_columns[b] = 0.0
        total = 0.0
        n_rows = 0
        for a in range(r):
            of_row = 0.0
            for b in range(q):
                of_row += own[a * q + b]
                of_columns[b] += own[a * q + b]
            of_rows[a] = of_row
            total += of_row
            n_rows += of_row > 0
        if total <= 0:
            continue
        n_columns = 0
        for b in range(q):
            n_columns += of_columns[b] > 0
        if n_rows > 1 and n_columns > 1:
            freedom += (n_rows - 1) * (n_columns - 1)
            for a in range(r):
                for b in range(q):
                    n = own[a * q + b]
                    if n > 0:
                        statistic += n * math.log(n / of_rows[a] * (total / of_columns[b]))
        for k in range(r * q):
            own[k] = 0.0
    return max(2 * statistic, 0.0), freedom


@kernel
def g2_tests(codes, arities, weights, x, others, given, logs):
    """Write the logarithm of the p-value of the test of a variable with each of others, given some variables.

    ``G² = 2 Σ_gab n_gab ln(n_gab n_g / (n_ga n_gb))`` over the joint states g of what is given and states a, b of the
    two variables. The degrees of freedom are ``Σ_g (a_g - 1) (b_g - 1)``, with a_g and b_g the numbers of states that
    occur along with g.

    Parameters
    ----------
    codes : (variables, rows) int16, contiguous
        States.
    arities : (variables,) int64
        Numbers of states.
    weights : (rows,) float64
        Weights of the rows.
    x, others, given : int, (others,) int64, (given,) int64
        The variable, those it is tested with, and those that are given.
    logs : (others,) float64
        Receives the logarithms.
    """
    rows = weights.shape[0]
    groups = np.empty(rows, np.int64)
    n_groups = _number_groups(codes, arities, given, groups)
    r = np.int64(arities[x])
    of_x = codes[x]
    for t in range(rows):
        groups[t] = groups[t] * r + of_x[t]
    widest = 0
    for y in others:
        widest = max(widest, arities[y])
    counts = np.zeros(n_groups * r * widest)
    of_rows = np.empty(r)
    of_columns = np.empty(widest)
    for k in range(others.shape[0]):
        q = np.int64(arities[others[k]])
        of_y = codes[others[k]]
        for t in range(rows):
            counts[groups[t] * q + of_y[t]] += weights[t]
        logs[k] = log_survival(*_g2(counts, n_groups, r, q, of_rows, of_columns))
