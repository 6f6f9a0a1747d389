"""Predictions averaged over all networks: sums of prior times likelihood with one more row, divided by those without.

A sum over networks with one more row is the sum without it in which every family's weight is multiplied by the
family's predictive probability of that row. Each partial sum is kept as the *ratio* of the two: that of a sum is the
mean of the ratios of its terms, weighted by their shares of the sum without the row. Shares do not depend on the row,
and ratios stay near 1 where weights differ by hundreds of nats, so that logarithms are needed for the shares alone.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.network_sums import log_add, mask_at, place
from anbexact._kernels.one_row import agreeing_in_sets, agreements

TOGETHER = 8
"""Number of pairs of a row and a class that are averaged over orders together, so that a processor handles several at
once."""


class TableOfRows(NamedTuple):
    """The training rows: states, shape (n, rows), classes and weights, shape (rows,)."""

    codes: npt.NDArray[np.int16]
    classes: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]


class Pairs(NamedTuple):
    """The layout of the counts of pairs; the attributes are those of :class:`~anbexact.models.aode.PairCounts`."""

    rows: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    arities: npt.NDArray[np.int64]
    n_classes: int


@kernel
def subset_shares(weights, shares):
    """Write the shares of the terms of sums over subsets, as they are added one variable after the other.

    Parameters
    ----------
    weights : (2**m,) float64
        Logarithms; replaced by their sums over subsets.
    shares : (m, 2**m / 2) float64
        Receive, for every variable, the share that a set with it has in its sum with the same set without it.
    """
    step = 1
    bit = 0
    while step < weights.shape[0]:
        k = 0
        for base in range(0, weights.shape[0], 2 * step):
            for t in range(base, base + step):
                total = log_add(weights[t + step], weights[t])
                shares[bit, k] = 0.0 if total == -math.inf else math.exp(weights[t + step] - total)
                weights[t + step] = total
                k += 1
        step *= 2
        bit += 1


@kernel
def last_shares(sums, forward, shares):
    """Write the probability of variable i to come last among those of a set W and i, by the place of W.

    Parameters are those of :func:`~anbexact._kernels.network_sums.sum_orders`; shares : (n, 2**(n - 1)).
    """
    n = sums.shape[0]
    for members in range(1, forward.shape[0]):
        for i in range(n):
            if members >> i & 1:
                rest = members ^ (1 << i)
                own = sums[i, place(rest, i)] + forward[rest]
                shares[i, place(rest, i)] = 0.0 if own == -math.inf else math.exp(own - forward[members])


@kernel
def rows_by_orders(table, parameters, of_subsets, of_last, rows, out):
    """Write ln P(row | class) averaged over all orders, and the networks that agree with them.

    Parameters
    ----------
    table : TableOfRows
        The rows learned from.
    parameters : (2**n,) float64
        Dirichlet parameter of a cell of every set of features with the class.
    of_subsets, of_last
        From :func:`subset_shares`, shape (n, n - 1, 2**(n - 2)), and :func:`last_shares`.
    rows : (n, rows to be predicted) int16
        States.
    out : (rows to be predicted, classes) float64
        Receives them.
    """
    n = table.codes.shape[0]
    size = 1 << n
    classes = out.shape[1]
    masks = np.empty(table.codes.shape[1], np.int64)
    own, row = np.empty(size), np.empty(n, np.int16)
    counts, totals = np.empty((size, TOGETHER)), np.empty((size, TOGETHER))
    ratios = np.empty((n, size // 2, TOGETHER))
    pairs = rows.shape[1] * classes
    for start in range(0, pairs, TOGETHER):
        for k in range(TOGETHER):
            pair = min(start + k, pairs - 1)
            for b in range(n):
                row[b] = rows[b, pair // classes]
            agreements(table.codes, row, masks)
            agreeing_in_sets(masks, table.classes, table.weights, pair % classes, own)
            for s in range(size):
                counts[s, k] = own[s] + parameters[s]
        for i in range(n):
            _mean_over_subsets(counts, of_subsets[i], i, ratios[i])
        _mean_over_orders(ratios, of_last, totals)
        for k in range(min(TOGETHER, pairs - start)):
            out[(start + k) // classes, (start + k) % classes] = math.log(totals[size - 1, k])


@inner
def _mean_over_subsets(counts, shares, i, values):
    """Write, for every set, the mean predictive probability of variable i over its subsets as parents."""
    half = values.shape[0]
    for t in range(half):
        parents = mask_at(t, i)
        for k in range(TOGETHER):
            values[t, k] = counts[parents | 1 << i, k] / counts[parents, k]
    step = 1
    bit = 0
    while step < half:
        j = 0
        for base in range(0, half, 2 * step):
            for t in range(base, base + step):
                share = shares[bit, j]
                for k in range(TOGETHER):
                    values[t + step, k] = values[t, k] + share * (values[t + step, k] - values[t, k])
                j += 1
        step *= 2
        bit += 1


@inner
def _mean_over_orders(ratios, shares, totals):
    """Write the means over the orders of every set."""
    n = ratios.shape[0]
    for k in range(TOGETHER):
        totals[0, k] = 1.0
    for members in range(1, totals.shape[0]):
        for k in range(TOGETHER):
            totals[members, k] = 0.0
        for i in range(n):
            if members >> i & 1:
                rest = members ^ (1 << i)
                t = place(rest, i)
                share = shares[i, t]
                for k in range(TOGETHER):
                    totals[members, k] += share * ratios[i, t, k] * totals[rest, k]


@kernel
def family_ratios(table, parameters, row, class_, out):
    """Write ln of the predictive probability of a row's state of every feature given every set of parents.

    Parameters
    ----------
    table, parameters
        As for :func:`rows_by_orders`.
    row : (n,) int16
        States.
    class_ : int
        The class.
    out : (n, 2**(n - 1)) float64
        Receives them, by the place of the set.
    """
    n = table.codes.shape[0]
    masks = np.empty(table.codes.shape[1], np.int64)
    counts = np.empty(1 << n)
    agreements(table.codes, row, masks)
    agreeing_in_sets(masks, table.classes, table.weights, class_, counts)
    for s in range(counts.shape[0]):
        counts[s] = math.log(counts[s] + parameters[s])
    for s in range(counts.shape[0]):
        for i in range(n):
            if not s >> i & 1:
                out[i, place(s, i)] = counts[s | 1 << i] - counts[s]


@kernel
def cell_parameters(arities, n_classes, ess, out):
    """Write ess over the number of cells of every set of features with the class, shape (2**n,)."""
    for s in range(out.shape[0]):
        cells = float(n_classes)
        for b in range(arities.shape[0]):
            if s >> b & 1:
                cells *= arities[b]
        out[s] = ess / cells


@kernel
def pair_ratios(weights, layout, ess, rows, arcs, roots):
    """Write the predictive probabilities of the states of rows given one parent, and given none.

    Parameters
    ----------
    weights : float64
        Weights of all pairs of states with every class; see :class:`~anbexact.models.aode.PairCounts`.
    layout : Pairs
        The layout of the weights.
    ess : float
        Equivalent sample size.
    rows : (n, m) int16
        States.
    arcs : (n, n, m * classes) float64
        Receive P(x_v | x_u, c) at ``[u, v]``, classes fastest; the diagonal is not written.
    roots : (n, m * classes) float64
        Receive P(x_v | c).
    """
    n, m = rows.shape
    s = layout.n_classes
    for r in range(m):
        for v in range(n):
            h = layout.offsets[v] + rows[v, r]
            of_v = ess / (s * layout.arities[v])
            for c in range(s):
                roots[v, r * s + c] = (weights[layout.rows[h] + c] + of_v) / (weights[c] + ess / s)
            for u in range(v):
                g = layout.offsets[u] + rows[u, r]
                of_u = ess / (s * layout.arities[u])
                joint = layout.rows[h] + s * (1 + g)
                for c in range(s):
                    together = weights[joint + c] + of_v / layout.arities[u]
                    arcs[u, v, r * s + c] = together / (weights[layout.rows[g] + c] + of_u)
                    arcs[v, u, r * s + c] = together / (weights[layout.rows[h] + c] + of_v)


@kernel
def rows_by_trees(arcs, roots, forest, of_arcs, of_roots, out):
    """Write ln P(row | class) averaged over all trees, or forests, by the elimination of nodes.

    Parameters
    ----------
    arcs, roots, forest
        As for :func:`~anbexact._kernels.tree_sums.eliminate`, which explains the elimination; both are overwritten.
    of_arcs, of_roots : (n, n, m), (n, m) float64
        From :func:`pair_ratios`; overwritten.
    out : (m,) float64
        Receives them.
    """
    n, m = of_roots.shape
    total = np.empty(m)
    way = np.empty(m)
    for k in range(m):
        out[k] = 0.0
    rooted = forest
    for v in range(n - 1, -1, -1):
        weight = roots[v] if rooted else -math.inf
        for u in range(v):
            weight = log_add(weight, arcs[u, v])
        only_root = not rooted and weight == -math.inf
        if only_root:
            weight = roots[v]
            rooted = True
        for k in range(m):
            total[k] = 0.0
        if rooted:
            _add_share(roots[v] - weight, of_roots[v], total)
        if not only_root:
            for u in range(v):
                _add_share(arcs[u, v] - weight, of_arcs[u, v], total)
        for k in range(m):
            out[k] += math.log(total[k])
        for x in range(v):
            onward = arcs[v, x] - weight
            if only_root:
                roots[x] = arcs[v, x]
                for k in range(m):
                    of_roots[x, k] = of_arcs[v, x, k]
                continue
            if onward == -math.inf:
                continue
            for k in range(m):
                way[k] = of_arcs[v, x, k] / total[k]
            for u in range(v):
                if u != x:
                    arcs[u, x] = _join(arcs[u, x], arcs[u, v] + onward, of_arcs[u, x], of_arcs[u, v], way)
            roots[x] = _join(roots[x], roots[v] + onward, of_roots[x], of_roots[v], way)


@inner
def _add_share(log_share, ratios, total):
    if log_share > -math.inf:
        share = math.exp(log_share)
        for k in range(total.shape[0]):
            total[k] += share * ratios[k]


@inner
def _join(direct, through, ratios, first, second):
    """Return the sum of an arc and of the way through a node, and join their ratios by their shares."""
    both = log_add(direct, through)
    if through > -math.inf:
        share = math.exp(through - both)
        for k in range(ratios.shape[0]):
            ratios[k] += share * (first[k] * second[k] - ratios[k])
    return both
