"""Newton's method for the conditional likelihood of smooth shapes, in coordinates in which their prior is standard.

The shifts of a term are ``δ = Q (scale · u)``. The columns of Q are the eigenvectors of the term's prior precision,
and ``scale²`` are the inverses of its eigenvalues, so that the penalty is ``½ Σ u²``. Q is the Kronecker product of
one matrix for each axis of the term. A coordinate of u is a *mode*.

Arrays are those of :mod:`anbexact._kernels.softmax`, with M rows, F terms in place of families, K cells and as many
modes, and s classes. Of these, ``classes`` are real; the others are impossible and make s a multiple of four.
``columns`` (F, M) has, for every term, the cell of every row, numbered within the term. ``layout`` is a tuple of

- ``first`` (F + 1,): the first cell of every term, followed by K;
- ``axes`` (F + 1,): the number of the first axis of every term, followed by the number A of all axes;
- ``sizes`` (A,) and ``at`` (A,): the number of cells along an axis, and where its matrix starts in ``bases``.

``bases`` and ``turned`` are the matrices of all axes and their transposes, flattened. ``rows`` is the tuple of cells,
columns, totals, weights, base, classes and scores; ``prior`` is the tuple of layout, bases, turned and scale.

``scores`` (s,) has no entries, or one per class if the classes have an order. The shifts of a cell other than that of
the intercept, which is the first, are then multiples of the scores, whose sum is 0 and the sum of whose squares is 1.

A *factor* approximates the precision of the modes, and preconditions conjugate gradients. For every class, the modes
about which the rows say most are taken together, and each of the others by itself. A factor is a tuple of

- ``information`` (K, s): what the rows add to the precision of every mode by itself, which is 1 without rows;
- ``kept``: the modes that are taken together, of the first class, then of the second, and so on;
- ``ends`` (classes + 1,): 0, then where those of every class end in ``kept``. Of two classes, the second has none,
  because its precision is the same as that of the first; of classes in an order, only the first has some;
- ``lower``: the Cholesky factors of the precision of the kept modes, by class, each transposed and flattened;
- ``probability`` (M, s): the class probabilities for which the factor was computed;
- ``cost``: the number of additions that this took.

The curvature ``p_c (1 - p_c) n / (n - 1)`` of class c takes the place of the curvature of contrasts of the n classes.
It is right for two classes, and where all classes are equally probable. For classes in an order, the variance of the
scores takes its place, which is right but for what the intercept adds to its own multiple of the scores.
"""

import math

import numpy as np

from anbexact._kernels.jit import inner, kernel, summing
from anbexact._kernels.softmax import add_curvature, add_diagonal, value_and_gradient

CONVERGED, UNFINISHED, STUCK = 0, 1, 2
"""Statuses of :func:`climb`."""
LEAST = 0.1
"""Information up to which a mode is taken by itself in a factor: its precision is then close to 1 in any case."""
FEWEST_PRODUCTS = 15
"""Number of products with the Hessian for one step from which a new factor may pay.

It is computed once these products take at least as long as the last factor did, and if the information of the modes
has changed (`CHANGED`).
"""
CHANGED = 0.1
"""Share by which the information of the modes must have changed for a new factor to pay."""
MOST_PRODUCTS = 200
"""Maximum number of products with the Hessian for one step."""
LOOSE = 0.1
"""Share of the gradient that may remain after a step far from the maximum; near it, the share is smaller."""
SURPLUS = 0.1
"""A step may leave as much of the decrement as this share of the decrement at which the fit ends."""
NEGLIGIBLE = 1e-14
"""Squared Newton decrement, as a share of the objective, at which rounding hides any further gain."""
STALLED = 1e-10
"""Squared Newton decrement, as a share of the objective, below which a fit ends once steps no longer quarter it.

Far from rounding, Newton's method lowers it much faster so close to the maximum.
"""
ROWS_AT_ONCE = 256
"""Number of rows in one product of matrices, so that the values of kept modes need not be stored for all rows."""
AT_ONCE = 512
"""Number of entries of a row that are summed at once, so that the sums stay in the nearest cache."""
A_CALL = 2_000.0
"""Number of additions that take as long as a call of the linear algebra."""
DENSE = 8.0
"""Number of additions within a dense product that take as long as one addition at a scattered place."""


@kernel
def turn(layout, bases, values, spare):
    """Multiply the values of every term, (K, columns), by the matrices of its axes, in place.

    ``spare`` is an array of at least as many entries.
    """
    first, axes, sizes, at = layout
    flat = values.reshape(values.size)
    s = values.shape[1]
    for f in range(len(first) - 1):
        own = flat[first[f] * s : first[f + 1] * s]
        left, right = 1, len(own)
        for a in range(axes[f], axes[f + 1]):
            m = sizes[a]
            right //= m
            for block in range(left):
                start = block * m * right
                for begin in range(0, right, AT_ONCE):
                    count = min(AT_ONCE, right - begin)
                    for i in range(m):
                        to, row = start + i * right + begin, at[a] + i * m
                        into = spare[to : to + count]
                        for j in range(m):
                            share, k = bases[row + j], start + j * right + begin
                            given = own[k : k + count]
                            if j == 0:
                                for r in range(count):
                                    into[r] = share * given[r]
                            else:
                                for r in range(count):
                                    into[r] += share * given[r]
            own[:] = spare[: len(own)]
            left *= m


@inner
def _shifts(layout, bases, scale, modes, shift, spare):
    """Fill ``shift`` (K, s) with the shifts of the cells, given the modes."""
    for k in range(modes.shape[0]):
        for c in range(modes.shape[1]):
            shift[k, c] = scale[k] * modes[k, c]
    turn(layout, bases, shift, spare)


@kernel
def project(values, classes, scores):
    """Make the values of every cell or mode, (K, s), sum to 0 over the classes, or multiples of the scores.

    The result is the nearest such point.
    """
    for k in range(values.shape[0]):
        mean = 0.0
        for c in range(classes):
            mean += values[k, c]
        mean /= classes
        for c in range(classes):
            values[k, c] -= mean
        if k > 0 and len(scores):
            multiple = 0.0
            for c in range(classes):
                multiple += scores[c] * values[k, c]
            for c in range(classes):
                values[k, c] = multiple * scores[c]


@kernel
def score_variance(totals, probability, scores):
    """Return the variance of the scores in every row times its total weight, (M,)."""
    found = np.empty(len(totals))
    for t in range(len(totals)):
        mean, square = 0.0, 0.0
        for c in range(len(scores)):
            mean += probability[t, c] * scores[c]
        for c in range(len(scores)):
            square += probability[t, c] * (scores[c] - mean) ** 2
        found[t] = totals[t] * square
    return found


@inner
def _dot(one, other):
    """Return the sum of the products of the entries."""
    total = 0.0
    for k in range(one.shape[0]):
        for c in range(one.shape[1]):
            total += one[k, c] * other[k, c]
    return total


@inner
def _columns_of(layout, bases, scale, kept, f, begin, end):
    """Return the columns of ``Q diag(scale)`` of term f for its modes ``kept[begin:end]``, (cells, modes)."""
    first, axes, sizes, at = layout
    size = first[f + 1] - first[f]
    found = np.empty((size, end - begin))
    for place in range(begin, end):
        mode = kept[place] - first[f]
        for cell in range(size):
            value, own, other, left = scale[kept[place]], cell, mode, size
            for a in range(axes[f], axes[f + 1]):
                m = sizes[a]
                left //= m
                value *= bases[at[a] + (own // left) * m + other // left]
                own, other = own % left, other % left
            found[cell, place - begin] = value
    return found


@inner
def _precision(columns, curvature, layout, bases, scale, kept):
    """Return the precision of the kept modes, and its cost, given the curvature of every row by its predictor.

    It is summed over rows, or over the joint cells of each pair of terms, whichever takes less time.
    """
    n_terms, n_rows = columns.shape
    n_kept = len(kept)
    begin = np.searchsorted(kept, layout[0])
    parts = [_columns_of(layout, bases, scale, kept, f, begin[f], begin[f + 1]) for f in range(n_terms)]
    by_pairs = 0.0
    for f in range(n_terms):
        if begin[f] < begin[f + 1]:
            own = float(len(parts[f]))
            for g in range(f + 1):
                if begin[g] < begin[g + 1]:
                    other = float(len(parts[g])) * (begin[f + 1] - begin[f])
                    by_pairs += n_rows + A_CALL + other * (own + begin[g + 1] - begin[g]) / DENSE
    by_rows = n_rows * n_kept * (1.0 + n_kept / DENSE)
    found = np.zeros((n_kept, n_kept))
    if by_rows <= by_pairs:
        part = np.empty((min(n_rows, ROWS_AT_ONCE), n_kept))
        for start in range(0, n_rows, ROWS_AT_ONCE):
            count = min(ROWS_AT_ONCE, n_rows - start)
            for t in range(count):
                root = math.sqrt(curvature[start + t])
                for f in range(n_terms):
                    cell = columns[f, start + t]
                    for k in range(begin[f], begin[f + 1]):
                        part[t, k] = root * parts[f][cell, k - begin[f]]
            found += np.dot(part[:count].T, part[:count])
    else:
        for f in range(n_terms):
            for g in range(f + 1):
                if begin[f] == begin[f + 1] or begin[g] == begin[g + 1]:
                    continue
                block = np.zeros((len(parts[f]), len(parts[g])))
                for t in range(n_rows):
                    block[columns[f, t], columns[g, t]] += curvature[t]
                block = np.dot(np.dot(parts[f].T, block), parts[g])
                found[begin[f] : begin[f + 1], begin[g] : begin[g + 1]] = block
                if g < f:
                    found[begin[g] : begin[g + 1], begin[f] : begin[f + 1]] = block.T
    for k in range(n_kept):
        found[k, k] += 1.0
    return found, min(by_rows, by_pairs) + n_kept**3 / (3.0 * DENSE)


@kernel
def information_of(rows, prior, probability):
    """Return what the rows add to the precision of every mode by itself, (K, s), for some class probabilities."""
    cells, _, totals, _, _, classes, scores = rows
    layout, _, turned, scale = prior
    in_order = len(scores) > 0
    information = np.zeros((len(scale), probability.shape[1]))
    if in_order:
        curvature = score_variance(totals, probability, scores)
        for t in range(len(totals)):
            for f in range(cells.shape[1]):
                for c in range(classes):
                    information[cells[t, f], c] += curvature[t]
    else:
        add_diagonal(cells, totals, probability, information)
    turn(layout, turned**2, information, np.empty(information.size))
    more = 1.0 if in_order else classes / (classes - 1.0)
    for k in range(len(scale)):
        for c in range(classes):
            information[k, c] *= more * scale[k] ** 2
    return information


@kernel
def has_changed(information, before):
    """Whether the information of the modes differs from that of a factor by a share of `CHANGED` or more.

    Both are compared with the precision that the factor has for the modes, so that a mode counts for as much as the
    rows determine it.
    """
    difference, total = 0.0, 0.0
    for k in range(before.shape[0]):
        for c in range(before.shape[1]):
            difference += abs(information[k, c] - before[k, c]) / (1.0 + before[k, c])
            total += before[k, c] / (1.0 + before[k, c])
    return not difference < CHANGED * total


@kernel
def kept_modes(information, classes, in_order, most_kept):
    """Return the kept modes of all classes, and where those of every class end; at most ``most_kept`` of a class.

    See the module for ``kept`` and ``ends``; ``information`` (K, s) is that of the modes.
    """
    n_different = 1 if classes == 2 or in_order else classes
    ends = np.zeros(classes + 1, dtype=np.int64)
    kept = np.empty(n_different * len(information), dtype=np.int64)
    for c in range(n_different):
        own = np.flatnonzero(information[:, c] > LEAST)
        if len(own) > most_kept:
            bound = np.sort(information[:, c])[-most_kept - 1]
            own = np.flatnonzero(information[:, c] > bound)
        ends[c + 1] = ends[c] + len(own)
        kept[ends[c] : ends[c + 1]] = own
    ends[n_different:] = ends[n_different]
    return kept[: ends[-1]].copy(), ends


@inner
def _start_of(ends, c):
    """Return where the entries of class c start in ``lower``."""
    start = 0
    for before in range(c):
        start += (ends[before + 1] - ends[before]) ** 2
    return start


@kernel
def factor_classes(rows, prior, probability, kept, ends, lower, begin, end):
    """Fill ``lower`` for classes ``begin`` to ``end - 1``, given their probabilities (M, s); return the cost."""
    _, columns, totals, _, _, classes, scores = rows
    layout, bases, _, scale = prior
    in_order = len(scores) > 0
    curvature = score_variance(totals, probability, scores) if in_order else np.empty(len(totals))
    more = classes / (classes - 1.0)
    start, cost = _start_of(ends, begin), 0.0
    for c in range(begin, end):
        own = kept[ends[c] : ends[c + 1]]
        if not in_order:
            for t in range(len(totals)):
                curvature[t] = more * totals[t] * probability[t, c] * (1.0 - probability[t, c])
        precision, took = _precision(columns, curvature, layout, bases, scale, own)
        size = len(own) ** 2
        if size > 0:
            lower[start : start + size] = np.linalg.cholesky(precision).T.copy().reshape(size)
        start += size
        cost += took
    return cost


@inner
def _factor(rows, prior, probability, information, most_kept):
    """Return the factor for class probabilities, (M, s), and the information of the modes for these, (K, s)."""
    classes, in_order = rows[5], len(rows[6]) > 0
    kept, ends = kept_modes(information, classes, in_order, most_kept)
    lower = np.empty(_start_of(ends, classes))
    n_different = 1 if classes == 2 or in_order else classes
    cost = factor_classes(rows, prior, probability, kept, ends, lower, 0, n_different)
    return (information, kept, ends, lower, probability.copy(), cost)


@kernel
def across(columns, curvature, layout, bases, turned, scale, kept):
    """Return what the rows add to the precision between all modes and the kept ones, (K, kept).

    ``curvature`` (M,) is the curvature of every row by its predictor. Entries of terms all of whose modes are kept
    stay 0, because nothing needs them.
    """
    first = layout[0]
    begin = np.searchsorted(kept, first)
    found = np.zeros((len(scale), len(kept)))
    for g in range(len(columns)):
        if begin[g] == begin[g + 1]:
            continue
        part = _columns_of(layout, bases, scale, kept, g, begin[g], begin[g + 1])
        for f in range(len(columns)):
            if begin[f + 1] - begin[f] == first[f + 1] - first[f]:
                continue
            block = np.zeros((first[f + 1] - first[f], len(part)))
            for t in range(len(curvature)):
                block[columns[f, t], columns[g, t]] += curvature[t]
            found[first[f] : first[f + 1], begin[g] : begin[g + 1]] = np.dot(block, part)
    turn(layout, turned, found, np.empty(found.size))
    for k in range(len(scale)):
        for j in range(len(kept)):
            found[k, j] *= scale[k]
    return found


@kernel
def add_gains(layout, kept, gained, covariance, times, at, found):
    """Add to ``found``, for every term, ``times`` what the rows take off the covariances of its modes.

    Term f has the entries of ``found`` from ``at[f]`` on: a matrix, row by row, if it has one axis, and the diagonal
    otherwise. ``gained`` (K,) is what they take off the variances of modes that are not in ``kept``; the upper
    triangle of ``covariance`` (kept, kept) is the posterior covariance of the others, of prior variance 1.
    """
    first, axes, _, _ = layout
    begin = np.searchsorted(kept, first)
    variances = gained.copy()
    for j in range(len(kept)):
        variances[kept[j]] = 1.0 - covariance[j, j]
    for f in range(len(first) - 1):
        size = first[f + 1] - first[f]
        width = size + 1 if axes[f + 1] - axes[f] == 1 else 1
        for k in range(size):
            found[at[f] + k * width] += times * variances[first[f] + k]
        if width == 1:
            continue
        for j in range(begin[f], begin[f + 1]):
            for i in range(begin[f], j):
                share = times * covariance[i, j]
                one, other = kept[i] - first[f], kept[j] - first[f]
                found[at[f] + one * size + other] -= share
                found[at[f] + other * size + one] -= share


@inner
def _take_off(upper, i, values):
    """Take rows i to i + 3 of ``upper``, times the values there, off the values after these."""
    a, b, c, d = values[i], values[i + 1], values[i + 2], values[i + 3]
    w, x, y, z = upper[i], upper[i + 1], upper[i + 2], upper[i + 3]
    for j in range(i + 4, len(values)):
        values[j] -= a * w[j] + b * x[j] + c * y[j] + d * z[j]


@summing
def _sums_after(upper, i, values):
    """Return the products of rows i to i + 3 of ``upper`` and ``values``, summed over the places after these."""
    w, x, y, z = upper[i], upper[i + 1], upper[i + 2], upper[i + 3]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for j in range(i + 4, len(values)):
        a += w[j] * values[j]
        b += x[j] * values[j]
        c += y[j] * values[j]
        d += z[j] * values[j]
    return a, b, c, d


@inner
def _solve_triangles(upper, values):
    """Overwrite ``values`` (n,) with the solution x of ``Uᵀ U x = values``, for a triangular U, four rows at once."""
    n = len(values)
    for i in range(0, n, 4):
        end = min(i + 4, n)
        for k in range(i, end):
            values[k] /= upper[k, k]
            for j in range(k + 1, end):
                values[j] -= values[k] * upper[k, j]
        if end < n:
            _take_off(upper, i, values)
    for i in range(n - 1 - (n - 1) % 4, -1, -4):
        end = min(i + 4, n)
        if end < n:
            a, b, c, d = _sums_after(upper, i, values)
            values[i] -= a
            values[i + 1] -= b
            values[i + 2] -= c
            values[i + 3] -= d
        for k in range(end - 1, i - 1, -1):
            for j in range(k + 1, end):
                values[k] -= upper[k, j] * values[j]
            values[k] /= upper[k, k]


@kernel
def solve_classes(factor, gradient, found, begin, end):
    """Fill ``found`` (K, s) with the inverse of the factor's precision times a gradient, in some columns.

    These are columns ``begin`` to ``end - 1``. Where the classes share one precision (two classes, or classes in an
    order), only column 0 is filled; see :func:`solve`.
    """
    information, kept, ends, lower, _, _ = factor
    size = _start_of(ends, begin)
    for c in range(begin, end):
        for k in range(len(gradient)):
            found[k, c] = gradient[k, c] / (1.0 + information[k, c])
        own = kept[ends[c] : ends[c + 1]]
        n = len(own)
        upper = lower[size : size + n * n].reshape(n, n)
        size += n * n
        values = np.empty(n)
        for i in range(n):
            values[i] = gradient[own[i], c]
        _solve_triangles(upper, values)
        for i in range(n):
            found[own[i], c] = values[i]


@kernel
def solve(factor, classes, scores, gradient, found):
    """Fill ``found`` (K, s) with the inverse of the factor's precision times a gradient.

    Both sum to 0 over the classes, and are multiples of the scores if there are any.
    """
    if len(scores):
        along = np.zeros((len(gradient), 1))
        for k in range(len(gradient)):
            for c in range(classes):
                along[k, 0] += scores[c] * gradient[k, c]
        solve_classes(factor, along, found, 0, 1)
        for k in range(len(found)):
            multiple = found[k, 0]
            for c in range(classes):
                found[k, c] = multiple * scores[c]
        for c in range(classes):
            found[0, c] += (gradient[0, c] - along[0, 0] * scores[c]) / (1.0 + factor[0][0, c])
    elif classes == 2:
        solve_classes(factor, gradient, found, 0, 1)
        found[:, 1] = -found[:, 0]
    else:
        solve_classes(factor, gradient, found, 0, classes)
        project(found, classes, scores)


@inner
def _evaluate(rows, prior, modes, probability, ascent, spare):
    """Return the log likelihood, without and with the penalty, in nats.

    Fill ``probability``, and ``ascent`` with the gradient of the penalised log likelihood by the modes.
    """
    cells, _, totals, weights, base, classes, scores = rows
    layout, bases, turned, scale = prior
    shift = np.empty(modes.shape)
    _shifts(layout, bases, scale, modes, shift, spare)
    ascent[:] = 0.0
    log_likelihood = value_and_gradient(cells, totals, weights, base, shift, probability, ascent)
    turn(layout, turned, ascent, spare)
    for k in range(len(scale)):
        for c in range(classes):
            ascent[k, c] = -scale[k] * ascent[k, c] - modes[k, c]
    project(ascent, classes, scores)
    return log_likelihood, log_likelihood - _dot(modes, modes) / 2


@inner
def _step(rows, prior, probability, ascent, factor, weight, enough, spare):
    """Return the Newton step, by preconditioned conjugate gradients, and how many products with the Hessian it took.

    The step ends as soon as no more than ``enough`` of the decrement can remain.
    """
    cells, _, totals, _, _, classes, scores = rows
    layout, bases, turned, scale = prior
    step, product, shift, z = (
        np.zeros(ascent.shape),
        np.empty(ascent.shape),
        np.empty(ascent.shape),
        np.zeros(ascent.shape),
    )
    residual = ascent.copy()
    solve(factor, classes, scores, residual, z)
    direction = z.copy()
    size = _dot(residual, z)
    loose = max(min(LOOSE, math.sqrt(max(size, 0.0) / weight)), 1e-8)
    products = 0
    while products < MOST_PRODUCTS and size > 0.0:
        products += 1
        _shifts(layout, bases, scale, direction, shift, spare)
        product[:] = 0.0
        add_curvature(cells, totals, probability, shift, product)
        turn(layout, turned, product, spare)
        bend = 0.0
        for k in range(len(scale)):
            for c in range(classes):
                product[k, c] = scale[k] * product[k, c] + direction[k, c]
                bend += direction[k, c] * product[k, c]
        length = size / bend
        for k in range(len(scale)):
            for c in range(classes):
                step[k, c] += length * direction[k, c]
                residual[k, c] -= length * product[k, c]
        project(residual, classes, scores)
        solve(factor, classes, scores, residual, z)
        before, size = size, _dot(residual, z)
        if size <= max(loose**2 * _dot(ascent, step), enough):
            break
        for k in range(len(scale)):
            for c in range(classes):
                direction[k, c] = z[k, c] + size / before * direction[k, c]
    return step, products


@kernel
def is_last(decrement, before, value, end):
    """Whether a step is the last one, given its decrement, that of the step before it, and the objective.

    The fit ends at the decrement ``end``, or where rounding keeps it from that.
    """
    return decrement <= max(end, NEGLIGIBLE * abs(value)) or before / 4 < decrement <= STALLED * abs(value)


@kernel
def may_be_outdated(rows, factor, products):
    """Whether a step took so many products with the Hessian that a new factor may pay for the next one."""
    cells, base = rows[0], rows[4]
    a_product = 4.0 * (cells.size + len(factor[0])) * base.shape[1] + 2.0 * len(factor[3])
    return products * a_product >= max(factor[5], FEWEST_PRODUCTS * a_product)


@kernel
def climb(rows, prior, modes, factor, most_kept, precision, most, before, outdated):
    """Maximise the penalised log likelihood from ``modes`` (K, s), which are overwritten with the end of the climb.

    ``factor`` is computed here if it has no entries, or is ``outdated`` and the information of the modes has changed;
    it then has at most ``most_kept`` kept modes of a class. ``precision`` is the squared Newton decrement per unit of
    weight at which the climb ends, and ``most`` the maximum number of steps. ``before`` is the decrement of the last
    step of the previous call, or infinity.

    Return

    - the status: `CONVERGED`, `UNFINISHED` after ``most`` steps, or `STUCK` if no part of a step brings a gain;
    - the number of steps, and the decrement of the last one;
    - the log likelihood without and with the penalty, in nats, and the gradient of the latter by the modes;
    - the factor that was used last, and whether a new one may pay for the next step.
    """
    _, _, totals, _, base, _, _ = rows
    weight = max(totals.sum(), 1e-300)
    probability, ascent = np.zeros(base.shape), np.empty(modes.shape)
    spare = np.empty(modes.size)
    tried, tried_probability, tried_ascent = modes.copy(), probability.copy(), ascent.copy()
    likelihood, value = _evaluate(rows, prior, modes, probability, ascent, spare)
    steps, status = 0, UNFINISHED
    outdated = outdated or len(factor[0]) == 0
    while status == UNFINISHED and steps < most:
        if outdated:
            information = information_of(rows, prior, probability)
            if len(factor[0]) == 0 or has_changed(information, factor[0]):
                factor = _factor(rows, prior, probability, information, most_kept)
        step, products = _step(rows, prior, probability, ascent, factor, weight, SURPLUS * precision * weight, spare)
        decrement = _dot(ascent, step)
        done = is_last(decrement, before, value, precision * weight)
        before = decrement
        length, hidden = 1.0, 10 * NEGLIGIBLE * abs(value)
        status = STUCK
        for _ in range(40):
            for k in range(modes.shape[0]):
                for c in range(modes.shape[1]):
                    tried[k, c] = modes[k, c] + length * step[k, c]
            tried_likelihood, tried_value = _evaluate(rows, prior, tried, tried_probability, tried_ascent, spare)
            if done or tried_value >= value + 1e-4 * length * decrement - hidden:
                status = CONVERGED if done else UNFINISHED
                break
            length /= 2
        if status == STUCK:
            break
        modes[:], probability[:], ascent[:] = tried, tried_probability, tried_ascent
        likelihood, value = tried_likelihood, tried_value
        steps += 1
        outdated = may_be_outdated(rows, factor, products)
    return status, steps, before, likelihood, value, ascent, factor, outdated
