"""Sums over all spanning trees and forests by the elimination of nodes, without a subtraction, in logarithms.

The sum over all spanning arborescences is a determinant (Tutte's matrix-tree theorem). Weights of networks differ by
hundreds of nats, so Gaussian elimination would lose all digits; the elimination of Grassmann, Taksar and Heyman adds
positive numbers only. To eliminate node v, the arc from u to x takes over the way through v, with the weight
``w(u, v) w(v, x) / t(v)``, t(v) being the sum over the arcs into v; the determinant is the product of all t(v).
"""

import math

from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.network_sums import log_add


@kernel
def eliminate(arcs, roots, forest, totals):
    """Eliminate all nodes, the last first; return the logarithm of the sum over all trees, or forests.

    Parameters
    ----------
    arcs : (n, n) float64
        ``arcs[u, v]`` is the logarithm of the weight of the arc from u to v; receives that of the reduced graph from
        which u and v go on: the later of both is the next node to be eliminated.
    roots : (n,) float64
        Logarithms of the weights of nodes without a parent; receives those of the reduced graph, likewise.
    forest : bool
        Whether several nodes may be without a parent; otherwise, one is.
    totals : (n,) float64
        Receives ln t.

    References
    ----------
    Tutte, *Graph Theory* (1984), section VI; Grassmann, Taksar and Heyman, Operations Research 33 (1985).
    """
    n = arcs.shape[0]
    value = 0.0
    rooted = forest
    for v in range(n - 1, -1, -1):
        total = roots[v] if rooted else -math.inf
        for u in range(v):
            total = log_add(total, arcs[u, v])
        only_root = not rooted and total == -math.inf
        if only_root:
            total = roots[v]
            rooted = True
        totals[v] = total
        value += total
        if total == -math.inf:
            return total
        for x in range(v):
            onward = arcs[v, x] - total
            if only_root:
                roots[x] = arcs[v, x]
                continue
            if onward == -math.inf:
                continue
            for u in range(v):
                if u != x:
                    arcs[u, x] = log_add(arcs[u, x], arcs[u, v] + onward)
            roots[x] = log_add(roots[x], roots[v] + onward)
    return value


@kernel
def arc_probabilities(arcs, roots, forest, totals, of_arcs, of_roots):
    """Write the probability of every arc, and of every node to have no parent: elimination backwards.

    Parameters
    ----------
    arcs, roots, forest, totals
        As :func:`eliminate` left them; ``arcs`` and ``roots`` are overwritten.
    of_arcs, of_roots : (n, n), (n,) float64
        Receive the probabilities, which are 0 in front.
    """
    n = arcs.shape[0]
    only_root = -1 if forest else _only_root(arcs)
    for v in range(n):
        if v == only_root:
            for x in range(v):
                of_arcs[v, x] = of_roots[x]
                of_roots[x] = 0.0
            of_roots[v] = 1.0
            continue
        onwards = 0.0
        from_root = 0.0
        for x in range(v):
            onward = arcs[v, x] - totals[v]
            if onward == -math.inf:
                continue
            for u in range(v):
                if u == x or arcs[u, v] == -math.inf:
                    continue
                way = arcs[u, v] + onward
                share = min(1.0, math.exp(way - arcs[u, x]))
                taken = of_arcs[u, x] * share
                of_arcs[u, x] -= taken
                of_arcs[v, x] += taken
                of_arcs[u, v] += taken
                onwards += taken
                arcs[u, x] = arcs[u, x] + math.log1p(-share) if share < 1.0 else -math.inf
            if of_roots[x] > 0.0 and roots[v] > -math.inf:
                share = min(1.0, math.exp(roots[v] + onward - roots[x]))
                taken = of_roots[x] * share
                of_roots[x] -= taken
                of_arcs[v, x] += taken
                from_root += taken
                onwards += taken
                roots[x] = roots[x] + math.log1p(-share) if share < 1.0 else -math.inf
        left = 1.0 - onwards
        for u in range(v):
            of_arcs[u, v] = max(0.0, of_arcs[u, v] + left * math.exp(arcs[u, v] - totals[v]))
        if forest or v < only_root:
            from_root += left * math.exp(roots[v] - totals[v])
        of_roots[v] = max(0.0, from_root)


@inner
def _only_root(arcs):
    """Return the node that can only be the root when it is eliminated, as no arc enters it from those that are left.

    The weights of roots are vanishingly small for a tree: they count where nothing else is left. From then on, arcs
    out of this node are the roots.
    """
    for v in range(arcs.shape[0] - 1, -1, -1):
        enters = False
        for u in range(v):
            enters |= arcs[u, v] > -math.inf
        if not enters:
            return v
    return 0
