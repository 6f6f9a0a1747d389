"""Sums over all networks and the orders of their variables, in logarithms, and draws from them.

A set of variables is a bit mask. What belongs to a variable and a set that it is not in is kept at the set's *place*
among these: its mask, with the bit of the variable taken out.
"""

import math

from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.lattice import popcount

LOG_LEAST = -746.0
"""The exponential of a smaller number is 0."""


@inner
def log_add(x, y):
    """Return ln(exp(x) + exp(y)); minus infinity stands for ln 0."""
    if x < y:
        x, y = y, x
    return x if y == -math.inf else x + math.log1p(math.exp(y - x))


@inner
def _join(x, y, highest):
    """Return the larger one, or the sum, of two weights."""
    return max(x, y) if highest else log_add(x, y)


@inner
def place(mask, i):
    """Return the place of a set without variable i among all such sets."""
    return (mask >> (i + 1) << i) | (mask & ((1 << i) - 1))


@inner
def mask_at(place, i):
    """Return the set at this place among the sets without variable i."""
    return (place >> i << (i + 1)) | (place & ((1 << i) - 1))


@kernel
def family_weights(scores, i, limits, log_prior, out):
    """Write the logarithms of prior weight times likelihood of variable i for all sets of its parents.

    Parameters
    ----------
    scores : (2**n,) float64
        Set scores F, in nats: the local score of i given S is F(S ∪ i) - F(S).
    i : int
        The variable.
    limits : ParentLimits
        Which sets of parents are admitted; the others get minus infinity.
    log_prior : (n,) float64
        ln of the prior weight of a set of parents, by its size.
    out : (2**(n - 1),) float64
        Receives them, by the place of the set.
    """
    bit = 1 << i
    allowed, required = limits.allowed[i], limits.required[i]
    for t in range(out.shape[0]):
        parents = mask_at(t, i)
        size = popcount(parents)
        if parents & ~allowed or required & ~parents or size > limits.max_parents:
            out[t] = -math.inf
        else:
            out[t] = scores[parents | bit] - scores[parents] + log_prior[size]


@kernel
def sum_subsets(values, highest):
    """Replace values[S] by the sum over the subsets of S, or by the highest of them, in place; 2**m logarithms."""
    step = 1
    while step < values.shape[0]:
        for base in range(0, values.shape[0], 2 * step):
            for t in range(base, base + step):
                values[t + step] = _join(values[t + step], values[t], highest)
        step *= 2


@kernel
def sum_supersets(values, highest):
    """Replace values[S] by the sum over the supersets of S, or by the highest of them, in place; 2**m logarithms."""
    step = 1
    while step < values.shape[0]:
        for base in range(0, values.shape[0], 2 * step):
            for t in range(base, base + step):
                values[t] = _join(values[t], values[t + step], highest)
        step *= 2


@kernel
def sum_orders(sums, forward, backward, highest):
    """Write the sums over the ordered networks of every set, and over those of the rest below it.

    ``forward[W]`` is the sum over the orders of W and the parents that come before each of its members, a recursion
    over the last member; ``backward[W]`` that over the orders in which the other variables can follow.

    Parameters
    ----------
    sums : (n, 2**(n - 1)) float64
        Of every variable, the sum of the weights of its sets of parents within a set, by the place of that set.
    forward, backward : (2**n,) float64
        Receive the sums.
    highest : bool
        Whether sums are replaced by the highest weight, here and in ``sums``.
    """
    n = sums.shape[0]
    forward[0] = 0.0
    for members in range(1, forward.shape[0]):
        total = -math.inf
        for i in range(n):
            if members >> i & 1:
                rest = members ^ (1 << i)
                total = _join(total, sums[i, place(rest, i)] + forward[rest], highest)
        forward[members] = total
    full = forward.shape[0] - 1
    backward[full] = 0.0
    for members in range(full - 1, -1, -1):
        total = -math.inf
        for i in range(n):
            if not members >> i & 1:
                total = _join(total, sums[i, place(members, i)] + backward[members | 1 << i], highest)
        backward[members] = total


@kernel
def sum_contexts(forward, backward, i, out, highest):
    """Write, for every set of parents S of variable i, the sum over all networks and orders around this family.

    ``out[S] = Σ_{W ⊇ S, i ∉ W} forward[W] backward[W ∪ i]`` in logarithms, shape (2**(n - 1),), by the place of S;
    the highest term instead of the sum if ``highest``.
    """
    for t in range(out.shape[0]):
        before = mask_at(t, i)
        out[t] = forward[before] + backward[before | 1 << i]
    sum_supersets(out, highest)


@kernel
def parent_probabilities(family, i, out):
    """Write the probability of every variable to be a parent of i, shape (n,), given those of its sets of parents."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    for t in range(family.shape[0]):
        parents = mask_at(t, i)
        for j in range(out.shape[0]):
            if parents >> j & 1:
                out[j] += family[t]


@kernel
def draw_networks(weights, sums, forward, uniforms, parents):
    """Draw ordered networks in proportion to their weights: the last variable, its parents, then the one before it.

    Parameters
    ----------
    weights, sums : (n, 2**(n - 1)) float64
        Weights of the sets of parents of every variable, and their sums over subsets, in logarithms.
    forward : (2**n,) float64
        From :func:`sum_orders`.
    uniforms : (draws, n, 2) float64
        Random numbers from 0 up to 1.
    parents : (draws, n) int64
        Receives the sets of parents.
    """
    n = weights.shape[0]
    for d in range(parents.shape[0]):
        members = forward.shape[0] - 1
        for k in range(n):
            left = uniforms[d, k, 0]
            chosen = -1
            for i in range(n):
                if members >> i & 1:
                    rest = members ^ (1 << i)
                    share = math.exp(sums[i, place(rest, i)] + forward[rest] - forward[members])
                    if share > 0.0:
                        chosen = i
                        left -= share
                        if left < 0.0:
                            break
            members ^= 1 << chosen
            parents[d, chosen] = _draw_parents(weights[chosen], sums[chosen], members, chosen, uniforms[d, k, 1])


@inner
def _draw_parents(weights, sums, before, i, left):
    """Draw a set of parents of i among those before it."""
    among = place(before, i)
    total = sums[among]
    last = among
    subset = among
    while True:
        log_share = weights[subset] - total
        share = math.exp(log_share) if log_share > LOG_LEAST else 0.0
        if share > 0.0:
            last = subset
            left -= share
            if left < 0.0:
                break
        if subset == 0:
            break
        subset = (subset - 1) & among
    return mask_at(last, i)


@kernel
def count_orders(parents, counts):
    """Return ln of the number of orders in which parents come before their children.

    Parameters
    ----------
    parents : (n,) int64
        Sets of parents.
    counts : (2**n,) float64
        Room.
    """
    n = parents.shape[0]
    counts[0] = 1.0
    for members in range(1, counts.shape[0]):
        total = 0.0
        for i in range(n):
            if members >> i & 1:
                rest = members ^ (1 << i)
                if parents[i] & ~rest == 0:
                    total += counts[rest]
        counts[members] = total
    return math.log(counts[counts.shape[0] - 1])
