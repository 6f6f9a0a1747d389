"""Recursive entropy cuts of one sorted column."""

import numpy as np

from anbexact._kernels.jit import inner, kernel

TIE = 1e-9
"""Entropies that differ by fewer bits a row count as equal."""


@inner
def _bits(weight):
    return weight * np.log2(weight) if weight > 0.0 else 0.0


@inner
def _summary(first, last, labels, weights, sums, rows):
    """Return weight, entropy times weight (bits) and number of classes of the rows; fill the sums by class."""
    sums[:] = 0.0
    rows[:] = 0
    for t in range(first, last):
        sums[labels[t]] += weights[t]
        rows[labels[t]] += 1
    total = 0.0
    class_sum = 0.0
    classes = 0
    for c in range(len(sums)):
        if rows[c] > 0:
            total += sums[c]
            class_sum += _bits(sums[c])
            classes += 1
    return total, _bits(total) - class_sum, classes


@inner
def _best_cut(low, high, blocks, labels, weights, right, right_rows, left, total):
    """Return the first block of the right-hand side in the cut of least entropy; ``right`` holds the class sums."""
    left[:] = 0.0
    weight_left = 0.0
    of_left = 0.0
    of_right = 0.0
    for c in range(len(right)):
        of_right += _bits(right[c])
    best = np.inf
    place = low
    for b in range(low, high - 1):
        for t in range(blocks[b], blocks[b + 1]):
            c = labels[t]
            of_left -= _bits(left[c])
            of_right -= _bits(right[c])
            left[c] += weights[t]
            right_rows[c] -= 1
            right[c] = right[c] - weights[t] if right_rows[c] > 0 else 0.0
            of_left += _bits(left[c])
            of_right += _bits(right[c])
            weight_left += weights[t]
        entropy = _bits(weight_left) - of_left + _bits(total - weight_left) - of_right
        if entropy < best - TIE * total:
            best = entropy
            place = b + 1
    return place


@kernel
def accepted_cuts(blocks, labels, weights, n_classes):
    """Return the accepted cuts, sorted: each is the number of the first block to its right.

    Rows are sorted by value; block b, the rows of one value, is ``blocks[b]:blocks[b + 1]``.

    Returns
    -------
    cuts, saved, parents
        The cuts; the bits that each saves; and for each the position among them of the cut that made its interval, -1
        for the first.
    """
    sums, rows = np.empty(n_classes), np.empty(n_classes, np.int64)
    left = np.empty(n_classes)
    saved = np.zeros(len(blocks))
    parents = np.empty(len(blocks), np.int64)
    waiting = np.empty((len(blocks) + 1, 3), np.int64)
    waiting[0] = 0, len(blocks) - 1, -1
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        low, high, parent = waiting[n_waiting]
        if high - low < 2:
            continue
        total, bits, classes = _summary(blocks[low], blocks[high], labels, weights, sums, rows)
        if classes < 2:
            continue
        b = _best_cut(low, high, blocks, labels, weights, sums, rows, left, total)
        weight_l, bits_l, classes_l = _summary(blocks[low], blocks[b], labels, weights, sums, rows)
        weight_r, bits_r, classes_r = _summary(blocks[b], blocks[high], labels, weights, sums, rows)
        cost = classes * np.log2(3.0) + np.log1p(-2.0 * 3.0**-classes) / np.log(2.0)
        cost -= classes * bits / total - classes_l * bits_l / weight_l - classes_r * bits_r / weight_r
        if total > 2.0:
            cost += np.log2(total - 1.0)
        if bits - bits_l - bits_r > cost:
            saved[b] = bits - bits_l - bits_r - cost
            parents[b] = parent
            waiting[n_waiting] = low, b, b
            waiting[n_waiting + 1] = b, high, b
            n_waiting += 2
    cuts = np.flatnonzero(saved > 0.0)
    of_cuts = parents[cuts]
    for k in range(len(cuts)):
        of_cuts[k] = np.searchsorted(cuts, of_cuts[k]) if of_cuts[k] >= 0 else -1
    return cuts, saved[cuts], of_cuts
