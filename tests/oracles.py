"""Slow, obvious twins of what the package computes: the formula as it is written, and nothing of the package.

Tables are lists of rows of state numbers (``rows[t][v]``), with a weight each and the number of states of every
variable (``arities[v]``). Variables are named by their position; by convention the class is the last one.
"""

from itertools import combinations, pairwise, permutations, product
from math import exp, inf, lgamma, log, log2

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


def bdeu_local(rows, weights, arities, child, parents, ess):
    """BDeu: the double sum over all parent configurations j and all states k."""
    r = arities[child]
    q = 1
    for parent in parents:
        q *= arities[parent]
    joint = counts(rows, weights, arities, [*parents, child])
    total = 0.0
    for j in product(*(range(arities[parent]) for parent in parents)):
        n_jk = [joint[(*j, k)] for k in range(r)]
        total += lgamma(ess / q) - lgamma(ess / q + sum(n_jk))
        total += sum(lgamma(ess / (q * r) + n) - lgamma(ess / (q * r)) for n in n_jk)
    return total


def bdeu_set_score(rows, weights, arities, variables, ess):
    """F(T): the sum over the observed cells of T; cells are counted in a dict, so T may be large."""
    cells = {}
    for row, weight in zip(rows, weights, strict=True):
        key = tuple(row[v] for v in variables)
        cells[key] = cells.get(key, 0.0) + weight
    q = 1
    for v in variables:
        q *= arities[v]
    return sum(lgamma(ess / q + n) - lgamma(ess / q) for n in cells.values())


def structure_score(rows, weights, arities, parents, ess):
    """Total BDeu of a graph: ``parents[v]`` lists the parents of v."""
    return sum(bdeu_local(rows, weights, arities, child, of_child, ess) for child, of_child in parents.items())


def admitted(child, parents, max_parents, required, forbidden):
    """Whether these feature parents respect the constraints (edges are (parent, child) pairs)."""
    return (
        (max_parents is None or len(parents) <= max_parents)
        and all(a in parents for a, b in required if b == child)
        and not any((a, child) in set(forbidden) for a in parents)
    )


def best_over_orders(features, local, max_parents=None, required=(), forbidden=()):
    """Highest sum of ``local(i, S)`` over acyclic graphs, by brute force over the orders of the features.

    -inf if no graph is admitted.
    """
    best = -inf
    for order in permutations(features):
        total = 0.0
        for place, child in enumerate(order):
            total += max(
                (
                    local(child, parents)
                    for parents in subsets(order[:place])
                    if admitted(child, parents, max_parents, required, forbidden)
                ),
                default=-inf,
            )
        best = max(best, total)
    return best


def anb_optimum(rows, weights, arities, ess, **constraints):
    """Highest BDeu of an augmented naive Bayes, class included, by brute force; for four features or so."""
    class_ = len(arities) - 1
    known = {}

    def local(child, parents):
        key = child, tuple(sorted(parents))
        if key not in known:
            known[key] = bdeu_local(rows, weights, arities, child, [class_, *key[1]], ess)
        return known[key]

    of_class = bdeu_local(rows, weights, arities, class_, [], ess)
    return of_class + best_over_orders(range(class_), local, **constraints)


def all_set_scores(rows, weights, arities, ess):
    """F(T ∪ class) for every mask of features (bit b is feature b)."""
    class_ = len(arities) - 1
    return [
        bdeu_set_score(rows, weights, arities, [v for v in range(class_) if mask >> v & 1] + [class_], ess)
        for mask in range(1 << class_)
    ]


def lattice_optimum(set_scores, n, max_parents=None, required=(), forbidden=()):
    """Silander and Myllymäki's dynamic programme in plain Python, from the set scores of all masks.

    Returns the best total over each mask of features (without the class's own score).
    """
    full = (1 << n) - 1
    best_parents = [[-inf] * (full + 1) for _ in range(n)]
    for child in range(n):
        for mask in range(full + 1):
            if mask >> child & 1:
                continue
            parents = [v for v in range(n) if mask >> v & 1]
            here = -inf
            if admitted(child, parents, max_parents, required, forbidden):
                here = set_scores[mask | 1 << child] - set_scores[mask]
            for v in parents:
                here = max(here, best_parents[child][mask ^ 1 << v])
            best_parents[child][mask] = here
    best = [-inf] * (full + 1)
    best[0] = 0.0
    for mask in range(1, full + 1):
        for sink in range(n):
            if mask >> sink & 1:
                rest = mask ^ 1 << sink
                best[mask] = max(best[mask], best[rest] + best_parents[sink][rest])
    return best


def lattice_structure(set_scores, n, tolerance, **constraints):
    """Read the structure back by the written tie rule.

    Last feature first: the sink with the smaller parent set wins, then the parent set that comes first in
    feature order, then the later feature. Returns the feature parents of every feature.
    """
    best = lattice_optimum(set_scores, n, **constraints)
    limits = {"max_parents": None, "required": (), "forbidden": (), **constraints}
    parents = {}
    mask = (1 << n) - 1
    while mask:
        candidates = []
        for sink in range(n):
            if not mask >> sink & 1:
                continue
            rest = mask ^ 1 << sink
            for of_sink in subsets(v for v in range(n) if rest >> v & 1):
                bits = sum(1 << v for v in of_sink)
                local = set_scores[bits | 1 << sink] - set_scores[bits]
                if admitted(sink, of_sink, **limits) and best[rest] + local >= best[mask] - tolerance:
                    candidates.append((len(of_sink), of_sink, -sink, sink))
        _, of_sink, _, sink = min(candidates)
        parents[sink] = of_sink
        mask ^= 1 << sink
    return parents


def eap(rows, weights, arities, child, parents, ess):
    """Expected a posteriori table as a dict: ``table[k, j1, j2, ...]`` = P(child = k | parents = j)."""
    r = arities[child]
    q = 1
    for parent in parents:
        q *= arities[parent]
    joint = counts(rows, weights, arities, [*parents, child])
    table = {}
    for j in product(*(range(arities[parent]) for parent in parents)):
        n_j = sum(joint[(*j, k)] for k in range(r))
        for k in range(r):
            table[(k, *j)] = (joint[(*j, k)] + ess / (q * r)) / (n_j + ess / q)
    return table


def log_sum(values):
    """Logarithm of the sum of the exponentials."""
    top = max(values)
    return top if top == -inf else top + log(sum(exp(value - top) for value in values))


def log_joint(tables, arities, class_, evidence):
    """Log of P(c, evidence) for every class, by summing the whole joint distribution.

    ``tables`` maps a variable to ``(parents, dict as from eap)``; ``evidence`` maps observed features to states.
    """
    hidden = [v for v in range(len(arities)) if v != class_ and v not in evidence]
    out = []
    for c in range(arities[class_]):
        terms = []
        for completion in product(*(range(arities[v]) for v in hidden)):
            state = {**evidence, **dict(zip(hidden, completion, strict=True)), class_: c}
            terms.append(
                sum(
                    log(table[(state[v], *(state[parent] for parent in parents))])
                    for v, (parents, table) in tables.items()
                )
            )
        out.append(log_sum(terms))
    return out


def log_posterior(tables, arities, class_, evidence):
    """Log of P(c | evidence) for every class, by enumeration."""
    joint = log_joint(tables, arities, class_, evidence)
    return [value - log_sum(joint) for value in joint]


def leave_one_out(rows, weights, arities, parents, ess):
    """Sum over rows of ln P(c | x) from tables fitted without one unit of that row's weight; the class comes last."""
    class_ = len(arities) - 1
    total = 0.0
    for t, row in enumerate(rows):
        others = [weight - (u == t) for u, weight in enumerate(weights)]
        tables = {v: (of_v, eap(rows, others, arities, v, of_v, ess)) for v, of_v in parents.items()}
        evidence = {v: row[v] for v in range(class_)}
        total += weights[t] * log_posterior(tables, arities, class_, evidence)[row[class_]]
    return total


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


def mdlp_cuts(values, labels, weights):
    """Fayyad and Irani's recursion over all cuts halfway between neighbouring values."""
    rows = sorted(zip(values, labels, weights, strict=True), key=lambda row: row[0])
    total = sum(weight for _, _, weight in rows)
    distinct = sorted({value for value, _, _ in rows})
    splits = []
    for low, high in pairwise(distinct):
        left = [row for row in rows if row[0] <= low]
        right = [row for row in rows if row[0] > low]
        parts = [(sum(w for _, _, w in part) / total, class_entropy(part)) for part in (left, right)]
        splits.append((sum(share * bits for share, bits in parts), (low + high) / 2, left, right))
    if not splits:
        return []
    least = min(bits for bits, _, _, _ in splits)
    bits, cut, left, right = next(split for split in splits if split[0] <= least + 1e-9)
    k, k_left, k_right = (len({label for _, label, _ in part}) for part in (rows, left, right))
    delta = log2(3**k - 2) - (k * class_entropy(rows) - k_left * class_entropy(left) - k_right * class_entropy(right))
    where = log2(total - 1) if total > 2 else 0.0
    if class_entropy(rows) - bits <= (where + delta) / total:
        return []
    return [*mdlp_cuts(*zip(*left, strict=True)), cut, *mdlp_cuts(*zip(*right, strict=True))]


def is_acyclic(parents):
    """Whether the graph has no directed cycle: remove variables without remaining parents until none is left."""
    left = {child: set(of_child) for child, of_child in parents.items()}
    while left:
        free = [child for child, of_child in left.items() if not of_child & left.keys()]
        if not free:
            return False
        for child in free:
            del left[child]
    return True
