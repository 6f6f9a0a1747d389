"""The curvature of Jeffreys' penalty, ½ ln |I|, for multinomial logistic regression.

There are M distinct rows x_t, and d classes other than the first. ``totals`` (M,) has the weights of the rows, and
``p`` (M, d) their probabilities of these classes.
"""

import numpy as np

from anbexact._kernels.jit import inner, kernel


@inner
def _slopes_of_spread(total, p, slopes):
    """Fill ``slopes[b]``, (d, d), with the derivative of ``total · (diag(p) - p p')`` by the predictor of class b."""
    d = p.shape[0]
    for b in range(d):
        for a in range(d):
            for c in range(d):
                own = -p[a] * ((a == b) - p[b]) * p[c] - p[a] * p[c] * ((c == b) - p[b])
                if a == c:
                    own += p[a] * ((a == b) - p[b])
                slopes[b, a, c] = total * own


@inner
def _through(slopes, product, found):
    """Fill ``found[b]``, (d, d), with ``slopes[b] @ product``."""
    d = product.shape[0]
    for b in range(d):
        for a in range(d):
            for c in range(d):
                total = 0.0
                for g in range(d):
                    total += slopes[b, a, g] * product[g, c]
                found[b, a, c] = total


@kernel
def penalty_curvature(totals, p, products, curvature):
    """Fill ``curvature`` with minus the second derivatives of ½ ln |I| by the predictors of all rows and classes.

    ``products`` (M, d, M, d) has, for rows t and u, the block ``H_tu = (1 ⊗ x_t') I⁻¹ (1 ⊗ x_u)``, (d, d), where 1 is
    the identity. The information is ``I = Σ_t V_t ⊗ x_t x_t'`` with ``V_t = totals_t · (diag(p_t) - p_t p_t')``. Let
    V_t^b be the derivative of V_t by the predictor of class b in row t, and V_t^be its second derivative. The entry
    for class b in row t and class e in row u is ``½ tr(V_t^b H_tu V_u^e H_ut)``, minus ``½ tr(H_tt V_t^be)`` if the
    rows are the same.

    ``curvature`` has the shape of ``products``.
    """
    n, d = p.shape
    slopes = np.empty((n, d, d, d))
    for t in range(n):
        _slopes_of_spread(totals[t], p[t], slopes[t])
    here, there = np.empty((d, d, d)), np.empty((d, d, d))
    crossed = np.empty(d)
    for t in range(n):
        for u in range(t + 1):
            if d == 1:  # most models have two classes; slicing arrays would take most of the time there
                product = products[t, 0, u, 0]
                curvature[t, 0, u, 0] = 0.5 * slopes[t, 0, 0, 0] * slopes[u, 0, 0, 0] * product * product
                curvature[u, 0, t, 0] = curvature[t, 0, u, 0]
                continue
            _through(slopes[t], products[t, :, u], here)
            _through(slopes[u], products[u, :, t], there)
            for b in range(d):
                for e in range(d):
                    total = 0.0
                    for a in range(d):
                        for c in range(d):
                            total += here[b, a, c] * there[e, c, a]
                    curvature[t, b, u, e] = 0.5 * total
                    curvature[u, e, t, b] = 0.5 * total
        own = products[t, :, t]
        mean, square = 0.0, 0.0
        for a in range(d):
            crossed[a] = 0.0
            for c in range(d):
                crossed[a] += own[a, c] * p[t, c]
            mean += own[a, a] * p[t, a]
            square += crossed[a] * p[t, a]
        for b in range(d):
            for e in range(d):
                inner_sum = own[b, b] + own[e, e] + 2.0 * own[b, e] - 4.0 * (crossed[b] + crossed[e])
                second = -p[t, b] * p[t, e] * (inner_sum - 2.0 * mean + 6.0 * square)
                if b == e:
                    second += p[t, b] * (own[b, b] - mean - 2.0 * crossed[b] + 2.0 * square)
                curvature[t, b, t, e] -= 0.5 * totals[t] * second
