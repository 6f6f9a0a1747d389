"""Maximum spanning arborescences of dense graphs, in whole numbers."""

import numpy as np

from anbexact._kernels.copying import copy_to
from anbexact._kernels.jit import inner, kernel


@inner
def _is_better(there, weight, minor, a, u, b, w):
    """Whether there is an arc from u into a that outweighs the one from w into b, if there is one."""
    if not there[a, u] or not there[b, w]:
        return there[a, u]
    if weight[a, u] != weight[b, w]:
        return weight[a, u] > weight[b, w]
    return minor[a, u] > minor[b, w]


@inner
def _replace(there, weight, minor, tails, heads, a, u, b, w):
    """Let the arc from w into b of the contracted graph represent the arc that the one from u into a represents."""
    there[b, w] = True
    weight[b, w] = weight[a, u]
    minor[b, w] = minor[a, u]
    tails[b, w] = tails[a, u]
    heads[b, w] = heads[a, u]


@inner
def _weigh(first, second, rounding, dual, minor_dual, kept_dual, a, b, tight, reduced):
    """Write the loss of an existing arc, now that no further set separates its ends."""
    slack = first[a, b] - dual[a]
    tight[a, b] = slack == 0 and second[a, b] == minor_dual[a]
    reduced[a, b] = kept_dual[a] + (slack if slack < -rounding else 0)


@kernel
def best_arborescence(first, second, admitted, rounding, parents, tight, reduced, sets, credits):
    """Find the spanning arborescence of the largest sum of first weights, and among those of second weights.

    Edmonds' algorithm on a dense graph: follow best incoming arcs backwards from a node; where they close a cycle,
    make it one node, whose incoming arcs are weighed by what they lose against the cycle's own. O(n²) steps.

    Parameters
    ----------
    first, second : (n, n + 1) int64
        ``first[v, u]`` weighs the arc from u into v; u = n is the root.
    admitted : (n, n + 1) bool
        The existing arcs.
    rounding : int
        First weights that differ by no more count as equal in ``reduced``.
    parents : (n,) int64
        Receives the tail of every node's arc.
    tight : (n, n + 1) bool
        Receives the arcs whose weight, less the dual variables of the node sets that they enter, is zero: no other
        arc is in any optimal arborescence.
    reduced : (n, n + 1) int64
        Receives weights that stand for the first ones, those of admitted arcs: what the arc loses for certain, plus
        the dual variables (none positive) of the sets of several nodes that it enters, both 0 where they are no
        more than ``rounding``. Arborescences whose first weights are equal but for rounding have equal sums of these.
    sets : (n, n) bool
        Receives the sets of several nodes that were made one, and empty sets.
    credits : (n,) int64
        Receives, none negative, the dual variables of these sets with the sign turned: an optimal arborescence has
        the best incoming arc of every node once each arc is credited with those of the sets that it enters.

    Returns
    -------
    bool
        Whether there is a spanning arborescence.

    References
    ----------
    Edmonds, J. Research of the National Bureau of Standards 71B (1967); Tarjan, Networks 7 (1977).
    """
    n = first.shape[0]
    weight = first.copy()
    minor = second.copy()
    there = admitted.copy()
    tails = np.empty((n, n + 1), np.int32)
    heads = np.empty((n, n + 1), np.int32)
    for v in range(n):
        for u in range(n + 1):
            tails[v, u] = u
            heads[v, u] = v
    alive = np.ones(n + 1, np.bool_)
    state = np.zeros(n + 1, np.int8)  # 0 not met, 1 on the path, 2 joined to the root
    state[n] = 2
    dual = np.zeros(n, np.int64)  # sums over the sets that a node is in
    minor_dual = np.zeros(n, np.int64)
    kept_dual = np.zeros(n, np.int64)  # without those of single nodes, and without those that are rounding
    following = np.full(n, -1, np.int64)  # members of a node of the contracted graph, as a list
    final = np.arange(n)
    node = np.arange(n)  # number of the set that a node of the contracted graph stands for
    up = np.full(2 * n + 1, -1, np.int64)
    arc_tail = np.full(2 * n + 1, -1, np.int64)
    arc_head = np.full(2 * n + 1, -1, np.int64)
    n_sets = n
    path = np.empty(n + 1, np.int64)
    tight[:] = False
    reduced[:] = 0
    sets[:] = False
    credits[:] = 0
    for begin in range(n):
        if not alive[begin] or state[begin] == 2:
            continue
        path[0] = begin
        top = 0
        state[begin] = 1
        while True:
            v = path[top]
            best = -1
            for u in range(n + 1):
                met = alive[u] and u != v and there[v, u]
                if met and (best < 0 or _is_better(there, weight, minor, v, u, v, best)):
                    best = u
            if best < 0:
                return False
            lost, lost_minor = weight[v, best], minor[v, best]
            for u in range(n + 1):
                weight[v, u] -= lost
                minor[v, u] -= lost_minor
            m = v
            while m >= 0:
                dual[m] += lost
                minor_dual[m] += lost_minor
                if node[v] >= n:
                    sets[node[v] - n, m] = True
                    if lost < -rounding:
                        kept_dual[m] += lost
                m = following[m]
            if node[v] >= n:
                credits[node[v] - n] = -lost
            arc_tail[node[v]] = tails[v, best]
            arc_head[node[v]] = heads[v, best]
            if state[best] == 2:
                for k in range(top + 1):
                    state[path[k]] = 2
                break
            if state[best] == 0:
                top += 1
                path[top] = best
                state[best] = 1
                continue
            bottom = top
            while path[bottom] != best:
                bottom -= 1
            for k in range(bottom, top + 1):  # arcs within the new node, whose ends no later set separates
                for j in range(bottom, top + 1):
                    if j == k:
                        continue
                    a = path[k]
                    while a >= 0:
                        b = path[j]
                        while b >= 0:
                            if admitted[a, b]:
                                _weigh(first, second, rounding, dual, minor_dual, kept_dual, a, b, tight, reduced)
                            b = following[b]
                        a = following[a]
            for k in range(bottom, top + 1):
                up[node[path[k]]] = n_sets
                if path[k] != best:
                    alive[path[k]] = False
            for k in range(bottom + 1, top + 1):
                c = path[k]
                for u in range(n + 1):
                    if alive[u] and _is_better(there, weight, minor, c, u, best, u):
                        _replace(there, weight, minor, tails, heads, c, u, best, u)
                for x in range(n):
                    if alive[x] and _is_better(there, weight, minor, x, c, x, best):
                        _replace(there, weight, minor, tails, heads, x, c, x, best)
                following[final[best]] = c
                final[best] = final[c]
            node[best] = n_sets
            n_sets += 1
            top = bottom
    of_node = np.empty(n, np.int64)
    for v in range(n):
        if alive[v]:
            m = v
            while m >= 0:
                of_node[m] = v
                m = following[m]
    for a in range(n):
        for b in range(n + 1):
            if admitted[a, b] and (b == n or of_node[a] != of_node[b]):
                _weigh(first, second, rounding, dual, minor_dual, kept_dual, a, b, tight, reduced)
    for s in range(n_sets - 1, n - 1, -1):  # the arc into a set replaces that of the member it enters
        m = arc_head[s]
        while up[m] != s:
            m = up[m]
        arc_tail[m] = arc_tail[s]
        arc_head[m] = arc_head[s]
    copy_to(parents, arc_tail[:n])
    return True
