"""Sums over all acyclic graphs, every graph once, in logarithms, and draws from them.

A graph is a sequence of layers: its sources, then what become sources once these are removed, and so on. A variable
has a parent in the layer just before its own, and otherwise any in the layers before. Let ``A_i(U)`` be the sum of
the weights of the sets of parents of i within U. Then i has the weight ``A_i(U) - A_i(U - R)`` in the layer that
follows R, where U are all layers so far. The state (U, R) has the number in base 3 whose digit is 2 for a member of
R, 1 for another member of U, and 0 for the rest. For masks and places, see :mod:`anbexact._kernels.network_sums`.
"""

import math

import numpy as np

from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.network_sums import log_add, place, sum_supersets


@inner
def _log_subtract(x, y):
    """Return ln(exp(x) - exp(y)), minus infinity if that is not above 0."""
    if y == -math.inf:
        return x
    return x + math.log1p(-math.exp(y - x)) if y < x else -math.inf


@inner
def _base_three(n):
    """Return the number in base 3 with the digit 1 for every member, of all sets."""
    numbers = np.zeros(1 << n, np.int64)
    power = 1
    for i in range(n):
        for mask in range(1 << i):
            numbers[mask | 1 << i] = numbers[mask] + power
        power *= 3
    return numbers


@inner
def _list_rest(n, members, rest):
    """Write the variables that are not in a set; return how many."""
    count = 0
    for i in range(n):
        if not members >> i & 1:
            rest[count] = i
            count += 1
    return count


@inner
def _factor(sums, i, before, layer):
    """Return the weight of variable i in the layer that follows ``layer``, the last of those in ``before``."""
    whole = sums[i, place(before, i)]
    return whole if layer == 0 else _log_subtract(whole, sums[i, place(before & ~layer, i)])


@inner
def _products(sums, before, layer, rest, count, factors, products):
    """Write the products of the factors of all sets of the variables that are left."""
    for k in range(count):
        factors[k] = _factor(sums, rest[k], before, layer)
    products[0] = 0.0
    for k in range(count):
        for t in range(1 << k):
            products[t | 1 << k] = products[t] + factors[k]


@inner
def _next_states(numbers, before, rest, count, states):
    """Write the numbers of the states (before ∪ T, T) for all sets T of the variables that are left."""
    states[0] = numbers[before]
    for k in range(count):
        for t in range(1 << k):
            states[t | 1 << k] = states[t] + 2 * numbers[1 << rest[k]]


@kernel
def sum_layers(sums, forward, backward):
    """Write the sums over all ways to reach every state, and over all ways to go on from it; return that over all.

    Parameters
    ----------
    sums : (n, 2**(n - 1)) float64
        ``A_i``, in logarithms.
    forward, backward : (3**n,) float64
        Receive the sums, by the number of the state.
    """
    n = sums.shape[0]
    numbers = _base_three(n)
    full = (1 << n) - 1
    rest = np.empty(n, np.int64)
    factors = np.empty(n)
    products, states = np.empty(1 << n), np.empty(1 << n, np.int64)
    for s in range(forward.shape[0]):
        forward[s] = -math.inf
        backward[s] = -math.inf
    forward[0] = 0.0
    for before in range(full):
        count = _list_rest(n, before, rest)
        _next_states(numbers, before, rest, count, states)
        layer = before
        while True:
            here = forward[numbers[before] + numbers[layer]]
            if here > -math.inf:
                _products(sums, before, layer, rest, count, factors, products)
                for t in range(1, 1 << count):
                    forward[states[t]] = log_add(forward[states[t]], here + products[t])
            layer = (layer - 1) & before
            if layer == 0 or before == 0:
                break
    for layer in range(1, full + 1):
        backward[numbers[full] + numbers[layer]] = 0.0
    for before in range(full - 1, -1, -1):
        count = _list_rest(n, before, rest)
        _next_states(numbers, before, rest, count, states)
        layer = before
        while True:
            _products(sums, before, layer, rest, count, factors, products)
            total = -math.inf
            for t in range(1, 1 << count):
                total = log_add(total, products[t] + backward[states[t]])
            backward[numbers[before] + numbers[layer]] = total
            layer = (layer - 1) & before
            if layer == 0 or before == 0:
                break
    return backward[0]


@kernel
def sum_layer_contexts(sums, forward, backward, i, within, without):
    """Write the sums around a family of variable i, if a parent may be in the layer before, and if none may.

    ``exp(within[S]) - exp(without[S])`` is the sum of all graphs in which i has the parents S, without the weight of
    this family; both by the place of S, shape (2**(n - 1),), in logarithms. Other parameters as in
    :func:`sum_layers`.
    """
    n = sums.shape[0]
    numbers = _base_three(n)
    rest = np.empty(n, np.int64)
    factors = np.empty(n)
    products, states = np.empty(1 << n), np.empty(1 << n, np.int64)
    for t in range(within.shape[0]):
        within[t] = -math.inf
        without[t] = -math.inf
    for before in range((1 << n) - 1):
        if before >> i & 1:
            continue
        count = _list_rest(n, before, rest)
        _next_states(numbers, before, rest, count, states)
        own = 1
        for k in range(count):
            if rest[k] == i:
                own = 1 << k
        layer = before
        while True:
            here = forward[numbers[before] + numbers[layer]]
            if here > -math.inf:
                _products(sums, before, layer, rest, count, factors, products)
                total = -math.inf
                for t in range(1 << count):
                    if t & own:
                        total = log_add(total, products[t ^ own] + backward[states[t]])
                at = place(before, i)
                within[at] = log_add(within[at], here + total)
                if layer:
                    at = place(before & ~layer, i)
                    without[at] = log_add(without[at], here + total)
            layer = (layer - 1) & before
            if layer == 0 or before == 0:
                break
    sum_supersets(within, False)
    sum_supersets(without, False)


@kernel
def draw_graphs(weights, sums, forward, uniforms, parents):
    """Draw graphs in proportion to their weights: the last layer, then backwards.

    Parameters
    ----------
    weights, sums : (n, 2**(n - 1)) float64
        Weights of the sets of parents, and ``A_i``, in logarithms.
    forward : (3**n,) float64
        From :func:`sum_layers`.
    uniforms : (draws, 2 n) float64
        Random numbers from 0 up to 1.
    parents : (draws, n) int64
        Receives the sets of parents.
    """
    n = weights.shape[0]
    numbers = _base_three(n)
    shares = np.empty(1 << n)
    for d in range(parents.shape[0]):
        used = 0
        members = (1 << n) - 1
        layer = members
        while layer:
            shares[layer] = forward[numbers[members] + numbers[layer]]
            layer = (layer - 1) & members
        layer = _draw_subset(shares, members, 1, uniforms[d, used])
        used += 1
        while members:
            before = members & ~layer
            previous = before
            if before:
                while previous:
                    share = forward[numbers[before] + numbers[previous]]
                    for i in range(n):
                        if layer >> i & 1:
                            share += _factor(sums, i, before, previous)
                    shares[previous] = share
                    previous = (previous - 1) & before
                previous = _draw_subset(shares, before, 1, uniforms[d, used])
                used += 1
            for i in range(n):
                if layer >> i & 1:
                    subset = before
                    while True:
                        meets = subset & previous or before == 0
                        shares[subset] = weights[i, place(subset, i)] if meets else -math.inf
                        if subset == 0:
                            break
                        subset = (subset - 1) & before
                    parents[d, i] = _draw_subset(shares, before, 0, uniforms[d, used])
                    used += 1
            members = before
            layer = previous


@inner
def _draw_subset(shares, among, least, left):
    """Draw a subset in proportion to exp(shares); ``least`` is 1 if it must not be empty."""
    top = -math.inf
    subset = among
    while subset or least == 0:
        top = max(top, shares[subset])
        if subset == 0:
            break
        subset = (subset - 1) & among
    total = 0.0
    subset = among
    while subset or least == 0:
        total += math.exp(shares[subset] - top)
        if subset == 0:
            break
        subset = (subset - 1) & among
    left *= total
    last = among
    subset = among
    while subset or least == 0:
        share = math.exp(shares[subset] - top)
        if share > 0.0:
            last = subset
            left -= share
            if left < 0.0:
                break
        if subset == 0:
            break
        subset = (subset - 1) & among
    return last
