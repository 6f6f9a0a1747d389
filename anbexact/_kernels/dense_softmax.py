"""Conditional log likelihood of a multinomial logistic regression with few classes and a dense matrix of columns.

A matrix is read once for a value and its gradient, or for a product with the Hessian, several rows at a time: two
products with it, one after the other, would read it from memory twice for every class.
"""

import math

import numpy as np

from anbexact._kernels.jit import inner, kernel, summing

AT_ONCE = 4
"""Number of rows whose products with a vector are computed together."""
FLUSHED = 256
"""Number of rows whose contributions to the gradient are added in the precision of the matrix."""


@summing
def _products(first, second, third, fourth, vector, length, found):
    """Write the products of the first entries of four rows with those of a vector into ``found``."""
    found[0] = 0
    a = b = c = d = found[0]  # of the type of the products, which a literal is not
    for k in range(length):
        value = vector[k]
        a += first[k] * value
        b += second[k] * value
        c += third[k] * value
        d += fourth[k] * value
    found[0], found[1], found[2], found[3] = a, b, c, d


@inner
def _excess(weights, total, predictors, probability):
    """Return the log likelihood of a row, and overwrite the predictors with minus its derivatives by them.

    Fill ``probability`` with the class probabilities.
    """
    top, below, value = -math.inf, 0.0, 0.0
    for c in range(len(predictors)):
        top = max(top, predictors[c])
    for c in range(len(predictors)):
        value += weights[c] * (predictors[c] - top)
        predictors[c] = math.exp(predictors[c] - top)
        below += predictors[c]
    for c in range(len(predictors)):
        probability[c] = predictors[c] / below
        predictors[c] = total * probability[c] - weights[c]
    return value - total * math.log(below)


@inner
def _change(total, predictors, probability):
    """Overwrite changes of the predictors with those of minus the derivatives that follow, to first order."""
    mean = 0.0
    for c in range(len(predictors)):
        mean += probability[c] * predictors[c]
    for c in range(len(predictors)):
        predictors[c] = total * probability[c] * (predictors[c] - mean)


@kernel
def dense_pass(
    columns, lengths, weights, totals, contrasts, vectors, constant, probability, curved, gradient, of_constant
):
    """Return the conditional log likelihood, and add minus its gradient to two arrays, or a product with the Hessian.

    The linear predictor for class c is ``constant[c] + Σ_j contrasts[c, j] Σ_k columns[t, k] vectors[j, k]``.

    Parameters
    ----------
    columns : (rows, columns) float64 or float32
    lengths : (rows,) int64
        Row t has no entries but 0 from column ``lengths[t]`` on; ascending.
    weights : (rows, classes) float64
        Weight of the row with each class.
    totals : (rows,) float64
        Their sums.
    contrasts : (classes, contrasts) float64
    vectors : (contrasts, columns) of the type of the columns
    constant : (classes,) float64
    probability : (rows, classes) float64
        The class probabilities, which are filled in or, if ``curved``, given.
    curved : bool
        Whether the Hessian of minus the log likelihood, at these probabilities, times the vectors and the constant is
        added in place of the gradient; 0 is returned then.
    gradient : (contrasts, columns) float64
        By the vectors.
    of_constant : (classes,) float64
        By the constant.
    """
    n_rows, n_columns = columns.shape
    n_contrasts, n_classes = len(vectors), len(constant)
    products = np.zeros((n_contrasts, AT_ONCE), columns.dtype)
    slopes = np.zeros((n_contrasts, AT_ONCE), columns.dtype)
    sums = np.zeros((n_contrasts, n_columns), columns.dtype)
    own = np.zeros(n_classes)
    value = 0.0
    for start in range(0, n_rows, AT_ONCE):
        last = n_rows - 1
        first, second = columns[start], columns[min(start + 1, last)]
        third, fourth = columns[min(start + 2, last)], columns[min(start + 3, last)]
        length = lengths[min(start + AT_ONCE, n_rows) - 1]
        for j in range(n_contrasts):
            _products(first, second, third, fourth, vectors[j], length, products[j])
        for i in range(AT_ONCE):
            t = start + i
            if t > last:
                for j in range(n_contrasts):
                    slopes[j, i] = 0
                continue
            for c in range(n_classes):
                predictor = constant[c]
                for j in range(n_contrasts):
                    predictor += contrasts[c, j] * products[j, i]
                own[c] = predictor
            if curved:
                _change(totals[t], own, probability[t])
            else:
                value += _excess(weights[t], totals[t], own, probability[t])
            for c in range(n_classes):
                of_constant[c] += own[c]
            for j in range(n_contrasts):
                slope = 0.0
                for c in range(n_classes):
                    slope += contrasts[c, j] * own[c]
                slopes[j, i] = slope
        for j in range(n_contrasts):
            a, b, c, d = slopes[j, 0], slopes[j, 1], slopes[j, 2], slopes[j, 3]
            for k in range(length):
                sums[j, k] += a * first[k] + b * second[k] + c * third[k] + d * fourth[k]
        if (start + AT_ONCE) % FLUSHED == 0 or start + AT_ONCE > last:
            for j in range(n_contrasts):
                for k in range(n_columns):
                    gradient[j, k] += sums[j, k]
                    sums[j, k] = 0
    return value


@kernel
def newton_step(
    columns, lengths, weights, totals, contrasts, probability, l2, gradient, loose, negligible, uneven, most
):
    """Return a step by conjugate gradients, transposed, and the number of products with the Hessian that it took.

    This is what ``anbexact.models.kernel.mode._newton_step`` does without a preconditioner and without a deadline;
    the two must be changed together. The objective is minus the penalised conditional log likelihood per unit of
    weight, with precision ``l2`` of the vectors and the constant of :func:`dense_pass`. The step begins at 0 and ends

    - where the residual is at most ``loose`` times the gradient;
    - where a product promises to lower the objective by no more than ``negligible``, and by no more than ``uneven``
      times what products so far did on average;
    - after ``most`` products, or where rounding makes the Hessian indefinite.

    Parameters
    ----------
    columns, lengths, weights, totals, contrasts, probability
        As for :func:`dense_pass`.
    l2, loose, negligible, uneven : float
    gradient : (columns + 1, contrasts) float64
        Of the objective; that of the constant comes last.
    most : int
    """
    n_columns, n_contrasts, n_classes = columns.shape[1], gradient.shape[1], len(contrasts)
    step = np.zeros((n_contrasts, n_columns + 1))
    residual, product = np.empty(step.shape), np.empty(step.shape)
    vectors, constant = np.empty((n_contrasts, n_columns), columns.dtype), np.empty(n_classes)
    by_vectors, by_constant = np.empty((n_contrasts, n_columns)), np.empty(n_classes)
    weight, size, promised, products = totals.sum(), 0.0, 0.0, 0
    for j in range(n_contrasts):
        for k in range(n_columns + 1):
            residual[j, k] = -gradient[k, j]
            size += gradient[k, j] ** 2
    direction, least = residual.copy(), loose**2 * size
    while size > least and products < most:
        for j in range(n_contrasts):
            for k in range(n_columns):
                vectors[j, k] = direction[j, k]
        for c in range(n_classes):
            constant[c] = 0.0
            for j in range(n_contrasts):
                constant[c] += contrasts[c, j] * direction[j, n_columns]
        by_vectors[:], by_constant[:] = 0.0, 0.0
        dense_pass(
            columns,
            lengths,
            weights,
            totals,
            contrasts,
            vectors,
            constant,
            probability,
            True,
            by_vectors,
            by_constant,
        )
        products += 1
        curvature = 0.0
        for j in range(n_contrasts):
            for k in range(n_columns):
                product[j, k] = (l2 * direction[j, k] + by_vectors[j, k]) / weight
                curvature += direction[j, k] * product[j, k]
            of_constant = l2 * direction[j, n_columns]
            for c in range(n_classes):
                of_constant += contrasts[c, j] * by_constant[c]
            product[j, n_columns] = of_constant / weight
            curvature += direction[j, n_columns] * product[j, n_columns]
        if not curvature > 0.0:
            break
        length, before = size / curvature, size
        gain = length * size / 2
        promised += gain
        size = 0.0
        for j in range(n_contrasts):
            for k in range(n_columns + 1):
                step[j, k] += length * direction[j, k]
                residual[j, k] -= length * product[j, k]
                size += residual[j, k] ** 2
        if gain <= negligible and products * gain <= uneven * promised:
            break
        for j in range(n_contrasts):
            for k in range(n_columns + 1):
                direction[j, k] = residual[j, k] + size / before * direction[j, k]
    return step, products
