"""Rows: how often they occur, what a missing cell may be, how they are divided."""

from itertools import combinations, product
from math import exp, inf, log

import numpy as np


def subsets(items, at_most=None):
    """All subsets, as tuples, smaller ones first."""
    items = tuple(items)
    for size in range(min(len(items), len(items) if at_most is None else at_most) + 1):
        yield from combinations(items, size)


def counts(rows, weights, arities, variables):
    """Weight of every joint state of the variables, unseen ones included."""
    table = dict.fromkeys(product(*(range(arities[v]) for v in variables)), 0.0)
    for row, weight in zip(rows, weights, strict=True):
        table[tuple(row[v] for v in variables)] += weight
    return table


def log_sum(values):
    """Logarithm of the sum of the exponentials."""
    top = max(values)
    return top if top == -inf else top + log(sum(exp(value - top) for value in values))


def completions(row, arities):
    """All rows without None that agree with a row elsewhere."""
    return list(product(*([cell] if cell is not None else range(arities[v]) for v, cell in enumerate(row))))


def row_weights(weights):
    """Weights as they are if one reaches 1; else scaled to sum to the effective number of rows."""
    total, squares = sum(weights), sum(weight**2 for weight in weights)
    return [weight * total / squares for weight in weights] if max(weights) < 1 else list(weights)


def set_partitions(values):
    """All divisions of a list into non-empty groups."""
    if not values:
        yield []
        return
    for smaller in set_partitions(values[1:]):
        yield [[values[0]], *smaller]
        for k, group in enumerate(smaller):
            yield [*smaller[:k], [values[0], *group], *smaller[k + 1 :]]


def families(rows, weights, arities, child, parents):
    """For every joint state of the parents, unseen ones included, the weights of the child's states."""
    joint = counts(rows, weights, arities, [*parents, child])
    configurations = product(*(range(arities[parent]) for parent in parents))
    return [[joint[(*j, k)] for k in range(arities[child])] for j in configurations]


def dealt(weights, folds):
    """Whole weights of rows by classes, as cards dealt out one by one, class after class."""
    parts = np.zeros((folds, *weights.shape))
    card = 0
    for c in range(weights.shape[1]):
        for t in range(weights.shape[0]):
            for _ in range(int(weights[t, c])):
                parts[card % folds, t, c] += 1
                card += 1
    return parts


def conditional_information(rows, weights, x, y, given):
    """N times I(x; y | given), by its definition."""
    cells = {}
    for row, w in zip(rows, weights, strict=True):
        if w > 0:
            key = (row[x], row[y], tuple(row[v] for v in given))
            cells[key] = cells.get(key, 0.0) + w
    total = 0.0
    for (a, b, g), w in cells.items():
        of_g = sum(v for (_, _, h), v in cells.items() if h == g)
        of_a = sum(v for (c, _, h), v in cells.items() if h == g and c == a)
        of_b = sum(v for (_, c, h), v in cells.items() if h == g and c == b)
        total += w * log(w * of_g / (of_a * of_b))
    return total
