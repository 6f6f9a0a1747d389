"""Cut points and groups of values, by enumeration."""

from functools import cache
from itertools import pairwise
from math import inf, lgamma, log, log2

import numpy as np

from oracles.tables import set_partitions, subsets


def is_weighted_median(cut, values, weights):
    """Whether at most half of the weight lies strictly below, and at most half strictly above, the cut."""
    values = np.asarray(values, dtype=float)
    weights = np.asarray(weights, dtype=float)
    half = weights.sum() / 2
    slack = 1e-9 * half
    return weights[values < cut].sum() <= half + slack and weights[values > cut].sum() <= half + slack


def class_entropy(rows):
    """Entropy in bits of the classes of (value, label, weight) rows."""
    total = sum(weight for _, _, weight in rows)
    shares = [sum(w for _, label, w in rows if label == c) / total for c in {label for _, label, _ in rows}]
    return -sum(share * log2(share) for share in shares)


def mdlp_split(rows):
    """Fayyad and Irani's test of the best cut: the bits that it saves, the cut, and both sides; None if rejected."""
    rows = sorted(rows, key=lambda row: row[0])
    total = sum(weight for _, _, weight in rows)
    distinct = sorted({value for value, _, _ in rows})
    splits = []
    for low, high in pairwise(distinct):
        left = [row for row in rows if row[0] <= low]
        right = [row for row in rows if row[0] > low]
        parts = [(sum(w for _, _, w in part) / total, class_entropy(part)) for part in (left, right)]
        splits.append((sum(share * bits for share, bits in parts), (low + high) / 2, left, right))
    if not splits:
        return None
    least = min(bits for bits, _, _, _ in splits)
    bits, cut, left, right = next(split for split in splits if split[0] <= least + 1e-9)
    k, k_left, k_right = (len({label for _, label, _ in part}) for part in (rows, left, right))
    delta = log2(3**k - 2) - (k * class_entropy(rows) - k_left * class_entropy(left) - k_right * class_entropy(right))
    where = log2(total - 1) if total > 2 else 0.0
    saved = total * (class_entropy(rows) - bits) - (where + delta)
    return (saved, cut, left, right) if saved > 0 else None


def mdlp_cuts(values, labels, weights, most=inf):
    """Fayyad and Irani's recursion, the split that saves most bits made next, up to so many intervals."""
    found = [mdlp_split(list(zip(values, labels, weights, strict=True)))]
    cuts = []
    while any(found) and len(cuts) < most - 1:
        best = max((split for split in found if split), key=lambda split: (round(split[0], 9), -split[1]))
        found.remove(best)
        found += [mdlp_split(best[2]), mdlp_split(best[3])]
        cuts.append(best[1])
    return sorted(cuts)


def log_choose(n, k):
    """Ln C(n, k), for real n too."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def modl_parts_cost(parts):
    """Sum over the parts, lists of (value, label, weight) rows, of ln C(n + J - 1, J - 1) + ln(n! / prod n_j!)."""
    classes = {label for part in parts for _, label, _ in part}
    cost = 0.0
    for part in parts:
        total = sum(weight for _, _, weight in part)
        cost += log_choose(total + len(classes) - 1, len(classes) - 1) + lgamma(total + 1)
        cost -= sum(lgamma(sum(w for _, label, w in part if label == c) + 1) for c in classes)
    return cost


def modl_cost(values, labels, weights, cuts):
    """Boulle's criterion (Machine Learning 2006): ln N + ln C(N + I - 1, I - 1) + the cost of the parts."""
    rows = list(zip(values, labels, weights, strict=True))
    ends = [-inf, *cuts, inf]
    parts = [[row for row in rows if low < row[0] <= high] for low, high in pairwise(ends)]
    total = sum(weights)
    return log(total) + log_choose(total + len(parts) - 1, len(parts) - 1) + modl_parts_cost(parts)


def modl_best_cost(values, labels, weights, most):
    """The least cost over all sets of cuts between neighbouring values that make at most so many intervals."""
    between = [(low + high) / 2 for low, high in pairwise(sorted(set(values)))]
    return min(modl_cost(values, labels, weights, cuts) for cuts in subsets(between, most - 1))


@cache
def count_divisions(n_values, most):
    """The number of divisions of so many values into at most so many groups."""
    return sum(len(division) <= most for division in set_partitions(list(range(n_values))))


def groups_cost(values, labels, weights, groups):
    """Boulle's criterion (JMLR 2005) of groups of values: ln V + ln B(V, I) + the cost of the parts."""
    rows = list(zip(values, labels, weights, strict=True))
    distinct = sorted(set(values))
    divisions = count_divisions(len(distinct), len(groups))
    parts = [[row for row in rows if row[0] in group] for group in groups]
    return log(len(distinct)) + log(divisions) + modl_parts_cost(parts)


def most_lost_columns(rows, single, most_lost):
    """Columns whose missing cells are a state: (holes, weight, class) of every row, columns of a single state."""

    def weight(chosen, label=None):
        return sum(w for holes, w, c in rows if label in (None, c) and any(holes[j] for j in chosen))

    def lost(chosen):
        shares = [weight(chosen) / sum(w for _, w, _ in rows)]
        for label in {c for _, w, c in rows if w > 0}:
            shares.append(weight(chosen, label) / sum(w for _, w, c in rows if c == label))
        return max(shares)

    holed = [j for j in range(len(rows[0][0])) if weight([j]) > 0]
    own = {j for j in holed if lost([j]) > most_lost + 1e-9}
    while True:
        rest = [j for j in holed if j not in own and j not in single]
        if lost(rest) <= most_lost + 1e-9:
            return own
        own.add(max(rest, key=lambda j: (weight([j]), -j)))
