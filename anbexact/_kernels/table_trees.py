"""Decision trees over the parents of a variable, whose leaves are sets of joint states that share a distribution.

A tree is an array ``nodes`` (nodes, 5), of which row 0 is the root: the parent by whose states the node is split (a
column of the codes), the state of the split, how it parts the states (`UP_TO` this state against later ones, this
`ONE` against the others, or `ALL` apart), the first of its children, which are adjacent and come after it (-1 for a
leaf), and the number of splits that the node could have. ``codes`` (cells, 1 + P) are the states of the variable and
of its P parents, ``arities`` (1 + P,) their numbers of states. A box is a set of states of every parent; all nodes
are boxes.

The score of a tree is the sum over its leaves of the log marginal likelihood of their rows, minus ``prior`` times the
sum over its nodes of ln 2 for a leaf that could be split, and of ln 2s for a node that could be split in s ways.
"""

import math

import numpy as np

from anbexact._kernels.jit import inner, kernel

SPLIT, STATE, KIND, CHILD, OPTIONS = range(5)
UP_TO, ONE, ALL = 0, 1, 2
PSEUDO_COUNT = 0.5
"""Parameter of the Dirichlet prior for every state of the variable in a leaf (Jeffreys' prior)."""
LEAST = 1e-300
"""Smallest probability, so that those far down a tree with heavy rows do not underflow."""
TIE = 1e-12
"""A value counts as larger than another if it exceeds it by this times 1,000 nats plus its size: above rounding."""


@inner
def _log_marginal(counts, total):
    """Return ln of the marginal likelihood of counts under a Dirichlet prior with all parameters `PSEUDO_COUNT`."""
    prior = PSEUDO_COUNT * len(counts)
    of_state = math.lgamma(PSEUDO_COUNT)
    value = math.lgamma(prior) - math.lgamma(prior + total)
    for k in range(len(counts)):
        if counts[k] > 0.0:
            value += math.lgamma(PSEUDO_COUNT + counts[k]) - of_state
    return value


@inner
def _exceeds(value, other):
    """Whether a value is larger than another one by more than rounding errors; any value exceeds -inf."""
    return other == -np.inf or value > other + TIE * (1000.0 + abs(other))


@inner
def _n_options(n_inside):
    """Return the number of splits by a parent of which a box has some states: thresholds, and single states."""
    return n_inside - 1 + (n_inside if n_inside > 2 else 0)


@inner
def _is_first(s, state, kind):
    """Whether a state belongs to the first part of a split into two."""
    return s == state or (kind == UP_TO and s < state)


@inner
def _strides(arities):
    """Return the steps by which a box number grows with the bits of every parent's states."""
    strides = np.ones(len(arities), np.int64)
    for p in range(len(arities) - 2, 0, -1):
        strides[p] = strides[p + 1] << arities[p + 1]
    return strides


@inner
def _n_children(nodes, v, arities):
    return arities[nodes[v, SPLIT]] if nodes[v, KIND] == ALL else 2


@kernel
def best_splits(codes, weights, arities, priors):
    """Return the split, state and kind of the tree of highest score of every box, -1 if it is a single leaf.

    The result has the shape (priors, boxes, 3). Dynamic programming over all boxes. The number of a box has a bit for
    every state of every parent, the lowest for the first state of the last parent. Both parts of a split must have
    rows.
    """
    width, r = len(arities), arities[0]
    strides = _strides(arities)
    n_boxes = strides[1] << arities[1]
    counts, totals = np.zeros((n_boxes, r)), np.zeros(n_boxes)
    values, chosen = np.zeros((n_boxes, len(priors))), np.full((len(priors), n_boxes, 3), -1, np.int16)
    for i in range(len(codes)):
        number = 0
        for p in range(1, width):
            number += strides[p] << codes[i, p]
        counts[number, codes[i, 0]] += weights[i]
        totals[number] += weights[i]
    inside = np.ones(width, np.int64)  # only boxes with a state of every parent: the others have no rows
    more = True
    while more:
        number, several, options = 0, 0, 0
        for p in range(1, width):
            number += inside[p] * strides[p]
            n_inside = 0
            for s in range(arities[p]):
                n_inside += inside[p] >> s & 1
            if n_inside > 1:
                several = p
                options += _n_options(n_inside)
        if several > 0:
            lowest = inside[several] & -inside[several]
            other = number - lowest * strides[several]
            alone = number - (inside[several] - lowest) * strides[several]
            totals[number] = totals[alone] + totals[other]
            for k in range(r):
                counts[number, k] = counts[alone, k] + counts[other, k]
        occurring = 0
        for k in range(r):
            occurring += counts[number, k] > 0.0
        best, log_ways = values[number], math.log(2.0 * max(options, 1))
        best[:] = _log_marginal(counts[number], totals[number])
        if options > 0:
            for j in range(len(priors)):
                best[j] -= priors[j] * math.log(2.0)
        for p in range(1, width if occurring > 1 else 0):
            for s in range(arities[p]):
                bit = np.int64(1) << s
                if inside[p] & bit == 0 or inside[p] == bit:
                    continue
                later = inside[p] & ~(2 * bit - 1)
                others = inside[p] - bit
                for kind in range(2):
                    part = later if kind == UP_TO else others
                    if part == 0 or (kind == ONE and others & (others - 1) == 0):
                        continue
                    one, other = number - part * strides[p], number - (inside[p] - part) * strides[p]
                    if totals[one] <= 0.0 or totals[other] <= 0.0:
                        continue
                    for j in range(len(priors)):
                        value = values[one, j] + values[other, j] - priors[j] * log_ways
                        if _exceeds(value, best[j]):
                            best[j] = value
                            chosen[j, number, 0], chosen[j, number, 1], chosen[j, number, 2] = p, s, kind
        more = False
        for p in range(width - 1, 0, -1):  # the next number: the states of the last parent change fastest
            inside[p] += 1
            if inside[p] < np.int64(1) << arities[p]:
                more = True
                break
            inside[p] = 1
    return chosen


@kernel
def grown_tree(codes, weights, arities, n_joint, first, chosen):
    """Return a tree, the weights of its nodes by state (nodes, r), and their log marginal likelihoods.

    Every node with rows of several states of the variable is split in the way that raises the sum of the two log
    marginal likelihoods most, or lowers it least, so that later splits can pay; or, if ``chosen`` is not empty, as
    `best_splits` chose. The splits are those that `best_splits` considers. If ``first`` is not 0, the root is split
    into all states of that parent. ``n_joint`` is the number of joint states of the parents that occur; there are no
    more leaves with rows.
    """
    n_cells, width = codes.shape
    r = arities[0]
    strides = _strides(arities) if len(chosen) > 0 else arities
    offsets = np.zeros(width + 1, np.int64)
    for p in range(1, width):
        offsets[p + 1] = offsets[p] + arities[p]
    n_states = offsets[width]
    apart = arities[first] if first > 0 else 0
    most, deepest = 2 * n_joint + apart + 2, min(n_states, n_joint + apart) + 2
    nodes = np.full((most, 5), -1, np.int64)
    counts, scores = np.zeros((most, r)), np.zeros(most)
    order, aside = np.arange(n_cells), np.empty(n_cells, np.int64)
    waiting = np.zeros((deepest, 3), np.int64)  # nodes to be split, and where their cells begin and end
    boxes = np.ones((deepest, n_states), np.bool_)
    box = np.ones(n_states, np.bool_)
    largest = 1
    for p in range(1, width):
        largest = max(largest, arities[p])
    by_state, occurs = np.zeros((largest, r)), np.zeros(largest, np.int64)
    lower, upper = np.zeros(r), np.zeros(r)
    waiting[0, 2] = n_cells
    n_waiting, n_nodes = 1, 1
    while n_waiting > 0:
        n_waiting -= 1
        v, a, b = waiting[n_waiting]
        for i in range(n_states):
            box[i] = boxes[n_waiting, i]
        for i in range(a, b):
            counts[v, codes[order[i], 0]] += weights[order[i]]
        total, occurring, options, number = 0.0, 0, 0, 0
        for k in range(r):
            total += counts[v, k]
            occurring += counts[v, k] > 0.0
        scores[v] = _log_marginal(counts[v], total)
        for p in range(1, width):
            n_inside = 0
            for s in range(arities[p]):
                if box[offsets[p] + s]:
                    n_inside += 1
                    if len(chosen) > 0:
                        number += strides[p] << s
            options += _n_options(n_inside)
        nodes[v, OPTIONS] = options
        if v == 0 and first > 0:
            nodes[0, SPLIT], nodes[0, STATE], nodes[0, KIND], nodes[0, CHILD] = first, 0, ALL, 1
            n_nodes += arities[first]
            place = 0
            for s in range(arities[first]):
                waiting[s, 0], waiting[s, 1] = 1 + s, place
                for i in range(n_cells):
                    if codes[i, first] == s:
                        order[place] = i
                        place += 1
                waiting[s, 2] = place
                for t in range(arities[first]):
                    boxes[s, offsets[first] + t] = s == t
            n_waiting = arities[first]
            continue
        if occurring < 2 or options == 0:
            continue
        best, parent, state, kind = -np.inf, -1, 0, 0
        if len(chosen) > 0:
            parent, state, kind = chosen[number]
        for p in range(1, width if len(chosen) == 0 else 0):
            n_inside = 0
            for s in range(arities[p]):
                n_inside += box[offsets[p] + s]
            if n_inside < 2:
                continue
            for i in range(a, b):
                s = codes[order[i], p]
                by_state[s, codes[order[i], 0]] += weights[order[i]]
                occurs[s] += 1
            for k in range(r):
                lower[k] = 0.0
            below, n_below = 0.0, 0
            for s in range(arities[p]):
                if occurs[s] == 0:
                    continue
                own = 0.0
                for k in range(r):
                    lower[k] += by_state[s, k]
                    own += by_state[s, k]
                below += own
                n_below += occurs[s]
                if n_below < b - a:
                    for k in range(r):
                        upper[k] = max(counts[v, k] - lower[k], 0.0)
                    value = _log_marginal(lower, below) + _log_marginal(upper, max(total - below, 0.0))
                    if _exceeds(value, best):
                        best, parent, state, kind = value, p, s, UP_TO
                if n_inside > 2 and occurs[s] < b - a:
                    for k in range(r):
                        upper[k] = max(counts[v, k] - by_state[s, k], 0.0)
                    value = _log_marginal(by_state[s], own) + _log_marginal(upper, max(total - own, 0.0))
                    if _exceeds(value, best):
                        best, parent, state, kind = value, p, s, ONE
            for i in range(a, b):  # only what the node has touched: parents can have thousands of states
                s = codes[order[i], p]
                by_state[s, codes[order[i], 0]] = 0.0
                occurs[s] = 0
        if parent < 0:
            continue
        middle, n_aside = a, 0
        for i in range(a, b):
            if _is_first(codes[order[i], parent], state, kind):
                order[middle] = order[i]
                middle += 1
            else:
                aside[n_aside] = order[i]
                n_aside += 1
        for i in range(n_aside):
            order[middle + i] = aside[i]
        nodes[v, SPLIT], nodes[v, STATE], nodes[v, KIND], nodes[v, CHILD] = parent, state, kind, n_nodes
        for half in range(2):
            for i in range(n_states):
                boxes[n_waiting + half, i] = box[i]
            for s in range(arities[parent]):
                if _is_first(s, state, kind) != (half == 1):
                    boxes[n_waiting + half, offsets[parent] + s] = False
        waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2] = n_nodes + 1, middle, b
        waiting[n_waiting + 1, 0], waiting[n_waiting + 1, 1], waiting[n_waiting + 1, 2] = n_nodes, a, middle
        n_waiting += 2
        n_nodes += 2
    return nodes[:n_nodes].copy(), counts[:n_nodes].copy(), scores[:n_nodes].copy()


@kernel
def pruned_tree(nodes, counts, scores, arities, prior):
    """Return the pruning of a tree with the highest score, as ``nodes`` and ``counts``.

    A split into all states is kept. If a node scores as much as a leaf, it is a leaf.
    """
    n_nodes = len(nodes)
    values, splits = np.empty(n_nodes), np.zeros(n_nodes, np.bool_)
    for v in range(n_nodes - 1, -1, -1):
        values[v] = scores[v] - (prior * math.log(2.0) if nodes[v, OPTIONS] > 0 else 0.0)
        if nodes[v, CHILD] < 0:
            continue
        below = 0.0
        for u in range(nodes[v, CHILD], nodes[v, CHILD] + _n_children(nodes, v, arities)):
            below += values[u]
        if nodes[v, KIND] != ALL:
            below -= prior * math.log(2.0 * nodes[v, OPTIONS])
        if nodes[v, KIND] == ALL or _exceeds(below, values[v]):
            splits[v], values[v] = True, below
    kept = np.empty((n_nodes, 5), np.int64)
    source = np.zeros(n_nodes, np.int64)
    n_kept, v = 1, 0
    while v < n_kept:
        for k in range(5):
            kept[v, k] = nodes[source[v], k]
        if splits[source[v]]:
            kept[v, CHILD] = n_kept
            for u in range(_n_children(nodes, source[v], arities)):
                source[n_kept] = nodes[source[v], CHILD] + u
                n_kept += 1
        else:
            kept[v, SPLIT], kept[v, CHILD] = -1, -1
        v += 1
    return kept[:n_kept].copy(), counts[source[:n_kept]]


@kernel
def shrunk_distributions(nodes, counts, arities, of_class, strengths, exponent):
    """Return the distributions of all nodes (nodes, r), each shrunk to that of the node above, the root's to 1 / r.

    ``strengths`` are m of nodes that a split by parent ``of_class`` made, and of the others.
    """
    n_nodes, r = counts.shape
    found = np.empty((n_nodes, r))
    above = np.full(n_nodes, -1, np.int64)
    for v in range(n_nodes):
        total, occurring = 0.0, 0
        for k in range(r):
            total += counts[v, k]
            occurring += counts[v, k] > 0.0
        u = above[v]
        m = strengths[0 if u >= 0 and nodes[u, SPLIT] == of_class else 1] * max(occurring, 1) ** exponent
        for k in range(r):
            coarser = found[u, k] if u >= 0 else 1.0 / r
            found[v, k] = max((counts[v, k] + m * coarser) / (total + m), LEAST)
        if nodes[v, CHILD] >= 0:
            for u in range(nodes[v, CHILD], nodes[v, CHILD] + _n_children(nodes, v, arities)):
                above[u] = v
    return found


@inner
def _leaf_of(codes, columns, nodes):
    """Return the leaf of a row, whose state of parent p is ``codes[columns[p]]``."""
    v = 0
    while nodes[v, CHILD] >= 0:
        s = codes[columns[nodes[v, SPLIT]]]
        if nodes[v, KIND] == ALL:
            v = nodes[v, CHILD] + s
        else:
            v = nodes[v, CHILD] + (0 if _is_first(s, nodes[v, STATE], nodes[v, KIND]) else 1)
    return v


@kernel
def leaves_of(codes, columns, nodes, starts):
    """Return the leaf of every row in the tree of every family, (rows, families).

    The codes of the variable of family f and of its parents are in the columns ``columns[f]`` of the codes, and the
    nodes of its tree are those from ``starts[f]`` on.
    """
    found = np.empty((len(codes), len(columns)), np.int32)
    for f in range(len(columns)):
        own = nodes[starts[f] : starts[f + 1]]
        for t in range(len(codes)):
            found[t, f] = _leaf_of(codes[t], columns[f], own)
    return found


@kernel
def leaves_of_all(nodes, arities):
    """Return the leaf of every joint state of the parents, the last parent's states fastest."""
    n_states = 1
    for p in range(1, len(arities)):
        n_states *= arities[p]
    found, codes, columns = np.empty(n_states, np.int64), np.zeros(len(arities), np.int64), np.arange(len(arities))
    for j in range(n_states):
        found[j] = _leaf_of(codes, columns, nodes)
        p = len(arities) - 1
        while p > 0:
            codes[p] += 1
            if codes[p] < arities[p]:
                break
            codes[p] = 0
            p -= 1
    return found


@kernel
def trees_log_likelihood(
    nodes, starts, arities, of_class, counts, count_starts, settings, leaves, states, class_codes, weights
):
    """Return the conditional log likelihood of rows under one tree for every family, in nats, total.

    Parameters
    ----------
    nodes : (nodes, 5) int64
        The nodes of all trees, one tree after the other.
    starts : (families + 1,) int64
        Where the nodes of every tree start.
    arities : (families, 1 + most parents) int64
        Numbers of states of the variable and its parents.
    of_class : (families,) int64
        See :func:`shrunk_distributions`.
    counts : (entries,) float64
        The weights of the nodes by state of the variable, one matrix (nodes, states) after the other, row by row.
    count_starts : (families + 1,) int64
        Where the matrix of every tree starts.
    settings : (3,) float64
        The strengths and the exponent; see :func:`shrunk_distributions`.
    leaves, states : (rows, classes, families) int32, int16
        The leaf and the state of the variable, in every family, of a row with every class.
    class_codes, weights : (rows,) int64, float64
    """
    n_rows, n_classes, n_families = leaves.shape
    logs = np.empty(len(counts))
    for f in range(n_families):
        tree, own = nodes[starts[f] : starts[f + 1]], counts[count_starts[f] : count_starts[f + 1]]
        found = shrunk_distributions(
            tree, own.reshape(len(tree), arities[f, 0]), arities[f], of_class[f], settings[:2], settings[2]
        )
        logs[count_starts[f] : count_starts[f + 1]] = np.log(found).reshape(found.size)
    joint = np.empty(n_classes)
    total = 0.0
    for t in range(n_rows):
        for c in range(n_classes):
            joint[c] = 0.0
            for f in range(n_families):
                joint[c] += logs[count_starts[f] + leaves[t, c, f] * arities[f, 0] + states[t, c, f]]
        highest, mass = joint.max(), 0.0
        for c in range(n_classes):
            mass += math.exp(joint[c] - highest)
        total += weights[t] * (joint[class_codes[t]] - highest - math.log(mass))
    return total
