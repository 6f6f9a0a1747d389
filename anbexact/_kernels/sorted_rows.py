"""Rows of a table in sorted order."""

import numpy as np

from anbexact._kernels.jit import kernel


@kernel
def sort_rows(keys, sizes):
    """Return the order that sorts rows by ``keys[0]``, then ``keys[1]``, ...; key k has values below ``sizes[k]``."""
    n_rows = keys.shape[1]
    order, spare = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    for t in range(n_rows):
        order[t] = t
    for k in range(keys.shape[0] - 1, -1, -1):
        places = np.zeros(sizes[k] + 1, np.int64)
        for t in range(n_rows):
            places[keys[k, t] + 1] += 1
        for value in range(sizes[k]):
            places[value + 1] += places[value]
        for t in range(n_rows):
            value = keys[k, order[t]]
            spare[places[value]] = order[t]
            places[value] += 1
        order, spare = spare, order
    return order


@kernel
def number_rows(keys, order):
    """Number the distinct rows by their place in the order that sorts them."""
    numbers = np.zeros(keys.shape[1], np.int64)
    last = 0
    for t in range(1, keys.shape[1]):
        for k in range(keys.shape[0]):
            if keys[k, order[t]] != keys[k, order[t - 1]]:
                last += 1
                break
        numbers[order[t]] = last
    return numbers


@kernel
def rank_prefixes(keys, first):
    """Number, in sorted rows, the distinct values of ``keys[: first + m]``, for m = 0, 1, ...; (prefixes, rows)."""
    n_keys, n_rows = keys.shape
    ranks = np.zeros((n_keys - first + 1, n_rows), np.int32)
    for t in range(1, n_rows):
        differs = n_keys
        for k in range(n_keys):
            if keys[k, t] != keys[k, t - 1]:
                differs = k
                break
        for m in range(n_keys - first + 1):
            ranks[m, t] = ranks[m, t - 1] + (1 if differs < first + m else 0)
    return ranks
