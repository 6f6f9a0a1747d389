"""Families that are scored one by one: their counts, and the best network given their scores."""

import numpy as np

from anbexact._kernels.jit import kernel


@kernel
def count_children(configuration, n_configurations, labels, n_classes, codes, arity, weights):
    """Return the counts of several children that have the same parents and ``arity`` states each.

    ``configuration`` and ``labels`` are the joint state of the feature parents, and the class, of every row;
    ``codes[child, row]`` the child's state. Shape (children, classes, configurations, states).
    """
    counts = np.zeros((codes.shape[0], n_classes, n_configurations, arity))
    for child in range(codes.shape[0]):
        for t in range(len(weights)):
            counts[child, labels[t], configuration[t], codes[child, t]] += weights[t]
    return counts


@kernel
def refine(configuration, n_configurations, codes, arity):
    """Split the joint states of the rows by one more feature; return the new ones, numbered as met, and how many."""
    numbers = np.full(n_configurations * arity, -1, np.int64)
    refined = np.empty(len(configuration), np.int64)
    fresh = 0
    for t in range(len(configuration)):
        key = configuration[t] * arity + codes[t]
        if numbers[key] < 0:
            numbers[key] = fresh
            fresh += 1
        refined[t] = numbers[key]
    return refined, fresh


@kernel
def best_totals(best):
    """Return the highest total over every set of features.

    ``best[i, s]`` is the highest local score of feature i over the subsets of the set whose mask, with bit i taken
    out, is s.
    """
    n = best.shape[0]
    totals = np.zeros(1 << n)
    for mask in range(1, 1 << n):
        highest = -np.inf
        for i in range(n):
            if (mask >> i) & 1:
                rest = mask ^ (1 << i)
                low = rest & ((1 << i) - 1)
                value = totals[rest] + best[i, (rest >> (i + 1) << i) | low]
                if value > highest:
                    highest = value
        totals[mask] = highest
    return totals


@kernel
def best_completions(best):
    """Return the highest total of the features outside every set, which come after those in it.

    ``best`` is that of :func:`best_totals`.
    """
    n = best.shape[0]
    totals = np.zeros(1 << n)
    for mask in range((1 << n) - 2, -1, -1):
        highest = -np.inf
        for i in range(n):
            if not (mask >> i) & 1:
                low = mask & ((1 << i) - 1)
                value = best[i, (mask >> (i + 1) << i) | low] + totals[mask | 1 << i]
                if value > highest:
                    highest = value
        totals[mask] = highest
    return totals
