"""Multinomial logistic regression on indicator columns: predictors, likelihood, derivatives, bounds.

A row has one column, or none, of every term. Arrays are as follows, for M distinct rows, T terms, K columns and s
classes, the first of which is the reference: ``cells`` (M, T) the columns of every row, ascending, -1 for none;
``totals`` (M,) the weight of the row, ``weights`` (M, s) that of the row with each class; ``p`` (M, s) its class
probabilities; ``predictor`` (M, s-1); ``coefficients`` (K, s-1).
"""

import math

import numpy as np

from anbexact._kernels.jit import kernel


@kernel
def add_predictors(cells, coefficients, predictor):
    """Add to every row's ``predictor`` the coefficients of its columns."""
    for t in range(cells.shape[0]):
        for f in range(cells.shape[1]):
            k = cells[t, f]
            if k >= 0:
                for a in range(predictor.shape[1]):
                    predictor[t, a] += coefficients[k, a]


@kernel
def likelihood(predictor, weights, p):
    """Return the conditional log likelihood, and fill ``p``."""
    s = p.shape[1]
    value = 0.0
    for t in range(p.shape[0]):
        top = 0.0
        for a in range(s - 1):
            top = max(top, predictor[t, a])
        p[t, 0] = math.exp(-top)
        total = p[t, 0]
        for a in range(s - 1):
            p[t, a + 1] = math.exp(predictor[t, a] - top)
            total += p[t, a + 1]
        logarithm = top + math.log(total)
        if weights[t, 0] > 0.0:
            value -= weights[t, 0] * logarithm
        for a in range(s - 1):
            if weights[t, a + 1] > 0.0:
                value += weights[t, a + 1] * (predictor[t, a] - logarithm)
        for c in range(s):
            p[t, c] /= total
    return value


@kernel
def add_derivatives(cells, totals, weights, p, gradient, curvature):
    """Add the gradient, (K, s-1), and the lower triangle of minus the Hessian, (K (s-1), K (s-1))."""
    d = p.shape[1] - 1
    active = np.empty(cells.shape[1], dtype=np.int64)
    block = np.empty((d, d))
    for t in range(cells.shape[0]):
        n = 0
        for f in range(cells.shape[1]):
            if cells[t, f] >= 0:
                active[n] = cells[t, f]
                n += 1
        for a in range(d):
            share = totals[t] * p[t, a + 1]
            others = p[t, 0]  # 1 - p, without cancellation
            for b in range(d):
                block[a, b] = -share * p[t, b + 1]
                if a != b:
                    others += p[t, b + 1]
            block[a, a] = share * others
            rest = weights[t, a + 1] - share
            for f in range(n):
                gradient[active[f], a] += rest
        for f in range(n):
            for a in range(d):
                row = curvature[active[f] * d + a]
                for g in range(f + 1):
                    first = active[g] * d
                    for b in range(d):
                        row[first + b] += block[a, b]


@kernel
def add_border(cells, extra, totals, weights, p, gradient, cross, corner):
    """Add the derivatives by the columns of one term more, ``extra`` (M,): D columns, -1 for none.

    ``gradient`` (D, s-1); ``cross`` (K (s-1), D (s-1)) and ``corner`` (D (s-1), D (s-1)), parts of minus the Hessian.
    """
    d = p.shape[1] - 1
    for t in range(cells.shape[0]):
        k = extra[t]
        if k < 0:
            continue
        for a in range(d):
            share = totals[t] * p[t, a + 1]
            gradient[k, a] += weights[t, a + 1] - share
            others = p[t, 0]
            for b in range(d):
                if a != b:
                    others += p[t, b + 1]
            for b in range(d):
                value = share * others if a == b else -share * p[t, b + 1]
                corner[k * d + a, k * d + b] += value
                for f in range(cells.shape[1]):
                    if cells[t, f] >= 0:
                        cross[cells[t, f] * d + a, k * d + b] += value


@kernel
def bound(totals, p, change):
    """Return an upper bound on the possible gain of the likelihood, and the weight by which it fails to hold.

    ``change`` (M, s-1) is what the Newton step changes the predictors by. With z = change - Σ_c p_c change_c, the
    quasi-distributions q = p (1 + z) have the moments of the data. If they are not negative, the divergence of q
    from p bounds the gain. Returned are the divergence and the total negative weight.
    """
    divergence, negative = 0.0, 0.0
    for t in range(p.shape[0]):
        mean = 0.0
        for a in range(change.shape[1]):
            mean += p[t, a + 1] * change[t, a]
        for c in range(p.shape[1]):
            z = (change[t, c - 1] if c > 0 else 0.0) - mean
            if z > -1.0:
                divergence += totals[t] * p[t, c] * (1.0 + z) * math.log1p(z)
            else:
                negative -= totals[t] * p[t, c] * (1.0 + z)
    return divergence, negative
