"""Conditional log likelihood of a multinomial logistic regression whose columns are indicators of cells.

Every row has one cell in each of several families; its linear predictor for class c is ``base[t, c]`` plus the sum of
``shift[cell, c]`` over its cells. Arrays are as follows, for M distinct rows, F families, K cells and s classes:
``cells`` (M, F) int32, numbered over all families; ``totals`` (M,) the weight of the row, ``weights`` (M, s) that of
the row with each class; ``base`` (M, s); ``shift`` (K, s). Rows of weight 0 are skipped.

s is a multiple of `CLASSES`: tables of other numbers of classes get impossible ones (``base`` `IMPOSSIBLE`, weight
0), since sums over four classes at once stay in registers, which is two to three times as fast for few classes.
"""

import math

import numpy as np

from anbexact._kernels.jit import inlined, kernel
from anbexact._kernels.posterior import exponentials

CLASSES = 4
FEW = 8
"""Number of classes up to which sums over four of them at once are faster than sums over all, row by row."""
IMPOSSIBLE = -1e30
WITHIN, AT_RADIUS, UNFINISHED = 0, 1, 2
"""Statuses of :func:`conjugate_gradients`."""
NEGLIGIBLE = 1e-60
"""Probabilities below this count as 0 in derivatives: their products would be subnormal numbers, which are slow."""


@inlined
def _gather(cells, t, table, sums):
    """Add to ``sums`` the rows of ``table`` that are named in row t of ``cells``."""
    if sums.shape[0] > FEW:
        for f in range(cells.shape[1]):
            row = table[cells[t, f]]
            for c in range(sums.shape[0]):
                sums[c] += row[c]
    else:
        for q in range(0, sums.shape[0], 4):
            w, x, y, z = sums[q], sums[q + 1], sums[q + 2], sums[q + 3]
            for f in range(cells.shape[1]):
                k = cells[t, f]
                w += table[k, q]
                x += table[k, q + 1]
                y += table[k, q + 2]
                z += table[k, q + 3]
            sums[q], sums[q + 1], sums[q + 2], sums[q + 3] = w, x, y, z


@inlined
def _scatter(cells, t, values, table):
    """Add ``values`` to the rows of ``table`` that are named in row t of ``cells``."""
    if values.shape[0] > FEW:
        for f in range(cells.shape[1]):
            row = table[cells[t, f]]
            for c in range(values.shape[0]):
                row[c] += values[c]
    else:
        for q in range(0, values.shape[0], 4):
            w, x, y, z = values[q], values[q + 1], values[q + 2], values[q + 3]
            for f in range(cells.shape[1]):
                k = cells[t, f]
                table[k, q] += w
                table[k, q + 1] += x
                table[k, q + 2] += y
                table[k, q + 3] += z


@kernel
def value_and_gradient(cells, totals, weights, base, shift, probability, gradient):
    """Return the conditional log likelihood, and add minus its gradient by ``shift`` to ``gradient`` (K, s).

    ``probability`` (M, s) receives P(c | x).
    """
    s = base.shape[1]
    value = 0.0
    predictor = np.empty(s)
    powers = np.empty(s, dtype=np.int64)
    for t in range(cells.shape[0]):
        if totals[t] == 0.0:
            continue
        for c in range(s):
            predictor[c] = base[t, c]
        _gather(cells, t, shift, predictor)
        top = predictor[0]
        for c in range(1, s):
            top = max(top, predictor[c])
        p = probability[t]
        for c in range(s):
            predictor[c] -= top
            p[c] = predictor[c]
        exponentials(p, powers)
        total = 0.0
        for c in range(s):
            total += p[c]
        share = 1.0 / total
        logarithm = math.log(total)
        for c in range(s):
            if weights[t, c] > 0.0:
                value += weights[t, c] * (predictor[c] - logarithm)
            p[c] = p[c] * share if p[c] > NEGLIGIBLE else 0.0
            predictor[c] = totals[t] * p[c] - weights[t, c]
        _scatter(cells, t, predictor, gradient)
    return value


@kernel
def add_curvature(cells, totals, probability, direction, product):
    """Add to ``product`` minus the Hessian of the conditional log likelihood times ``direction``, both (K, s)."""
    s = probability.shape[1]
    change = np.empty(s)
    for t in range(cells.shape[0]):
        if totals[t] == 0.0:
            continue
        change[:] = 0.0
        _gather(cells, t, direction, change)
        mean = 0.0
        for c in range(s):
            mean += probability[t, c] * change[c]
        for c in range(s):
            change[c] = totals[t] * probability[t, c] * (change[c] - mean)
        _scatter(cells, t, change, product)


@kernel
def conjugate_gradients(
    cells, totals, probability, shift_per_unit, l2, weight, radius, tolerance, most, step, slope, direction
):
    """Continue minimising the quadratic model of the penalised objective; return a status.

    The objective is minus the penalised log likelihood per unit of ``weight``, as a function of z;
    ``shift_per_unit`` (K, s) is the shift for one unit of z. ``step`` (K, s), at first 0, receives the step in z;
    ``slope`` (K, s) is the gradient of the model there, at first that of the objective, and ``direction`` (K, s) is
    at first minus that. At most ``most`` products with the Hessian are computed. The status is `WITHIN` if the norm
    of the slope is below ``tolerance``, `AT_RADIUS` if the step has reached the length ``radius`` (Steihaug 1983),
    and `UNFINISHED` if this must be called again.
    """
    n_cells, s = step.shape
    moved, product = np.empty((n_cells, s)), np.empty((n_cells, s))
    squared = 0.0
    for k in range(n_cells):
        for c in range(s):
            squared += slope[k, c] ** 2
    if squared == 0.0:
        return WITHIN
    for _ in range(most):
        if not math.isfinite(squared):
            return AT_RADIUS  # the decrease is not a number then, which ends the search
        for k in range(n_cells):
            for c in range(s):
                moved[k, c] = direction[k, c] * shift_per_unit[k, c]
                product[k, c] = l2 * moved[k, c]
        add_curvature(cells, totals, probability, moved, product)
        bend, length, along, reach = 0.0, 0.0, 0.0, 0.0
        for k in range(n_cells):
            for c in range(s):
                product[k, c] = product[k, c] * shift_per_unit[k, c] / weight
                bend += direction[k, c] * product[k, c]
                length += direction[k, c] ** 2
                along += direction[k, c] * step[k, c]
                reach += step[k, c] ** 2
        size = squared / bend if bend > 0.0 else math.inf
        bounded = bend <= 0.0 or reach + size * (2.0 * along + size * length) >= radius**2
        if bounded:
            size = (math.sqrt(along**2 + length * max(radius**2 - reach, 0.0)) - along) / length
        before, squared = squared, 0.0
        for k in range(n_cells):
            for c in range(s):
                step[k, c] += size * direction[k, c]
                slope[k, c] += size * product[k, c]
                squared += slope[k, c] ** 2
        if bounded:
            return AT_RADIUS
        if math.sqrt(squared) < tolerance:
            return WITHIN
        for k in range(n_cells):
            for c in range(s):
                direction[k, c] = squared / before * direction[k, c] - slope[k, c]
    return UNFINISHED


@kernel
def add_diagonal(cells, totals, probability, diagonal):
    """Add to ``diagonal`` (K, s) that of minus the Hessian of the conditional log likelihood."""
    s = probability.shape[1]
    curvature = np.empty(s)
    for t in range(cells.shape[0]):
        if totals[t] == 0.0:
            continue
        for c in range(s):
            curvature[c] = totals[t] * probability[t, c] * (1.0 - probability[t, c])
        _scatter(cells, t, curvature, diagonal)


@kernel
def add_cells(cells, table, sums):
    """Add to every row of ``sums`` (M, s) the rows of ``table`` (K, s) for its cells; any s."""
    for t in range(cells.shape[0]):
        for f in range(cells.shape[1]):
            k = cells[t, f]
            for c in range(sums.shape[1]):
                sums[t, c] += table[k, c]


@kernel
def add_rows(cells, values, table):
    """Add every row of ``values`` (M, s) to the rows of ``table`` (K, s) for its cells; any s."""
    for t in range(cells.shape[0]):
        for f in range(cells.shape[1]):
            k = cells[t, f]
            for c in range(values.shape[1]):
                table[k, c] += values[t, c]
