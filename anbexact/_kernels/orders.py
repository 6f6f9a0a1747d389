"""Local search over orders of features, each of which takes its best listed parents among those before it."""

import numpy as np

from anbexact._kernels.bits import flip, holds
from anbexact._kernels.copying import copy_to
from anbexact._kernels.jit import inner, kernel


@inner
def _first_within(masks, low, high, before):
    """Return the first set from ``low`` up to ``high`` that lies in ``before``; -1 if none does."""
    for s in range(low, high):
        inside = True
        for w in range(masks.shape[1]):
            if masks[s, w] & ~before[w]:
                inside = False
                break
        if inside:
            return s
    return -1


@kernel
def greedy_order(masks, starts, scores, hoped):
    """Return the order that appends, each time, the feature whose best parents so far miss ``hoped`` by least."""
    n = len(starts) - 1
    before = np.zeros(masks.shape[1], np.uint64)
    order = np.empty(n, np.int64)
    best = np.full(n, -1, np.int64)
    placed = np.zeros(n, np.bool_)
    for p in range(n):
        choice = -1
        least = np.inf
        for i in range(n):
            if placed[i]:
                continue
            found = _first_within(masks, starts[i], starts[i + 1] if best[i] < 0 else best[i], before)
            if found >= 0:
                best[i] = found
            if best[i] >= 0 and hoped[i] - scores[best[i]] < least:
                least = hoped[i] - scores[best[i]]
                choice = i
        order[p] = choice
        placed[choice] = True
        flip(before, choice)
    return order


@inner
def _choose(masks, starts, order, chosen):
    """Give every feature its best set within those before it; return whether each has one."""
    before = np.zeros(masks.shape[1], np.uint64)
    for i in order:
        chosen[i] = _first_within(masks, starts[i], starts[i + 1], before)
        if chosen[i] < 0:
            return False
        flip(before, i)
    return True


@inner
def _swap(masks, starts, scores, chosen, before, early, late):
    """Let ``late`` come just before ``early``, both after ``before``; return what that gains, -inf if impossible."""
    gain = 0.0
    if holds(masks[chosen[late]], early):
        found = _first_within(masks, chosen[late] + 1, starts[late + 1], before)
        if found < 0:
            return -np.inf
        gain += scores[found] - scores[chosen[late]]
        chosen[late] = found
    flip(before, late)
    found = _first_within(masks, starts[early], chosen[early], before)
    flip(before, late)
    if found >= 0:
        gain += scores[found] - scores[chosen[early]]
        chosen[early] = found
    return gain


@inner
def _insert(masks, starts, scores, order, chosen, p):
    """Move the feature in place p to where it gains most; return the gain, 0 if it stays."""
    n = len(order)
    v = order[p]
    before = np.zeros(masks.shape[1], np.uint64)
    best = 1e-9
    place = p
    trial = chosen.copy()
    for q in range(p):
        flip(before, order[q])
    held = before.copy()
    gain = 0.0
    for q in range(p - 1, -1, -1):
        flip(before, order[q])
        gain += _swap(masks, starts, scores, trial, before, order[q], v)
        if gain == -np.inf:
            break
        if gain > best:
            best, place = gain, q
    copy_to(before, held)
    copy_to(trial, chosen)
    gain = 0.0
    for q in range(p + 1, n):
        gain += _swap(masks, starts, scores, trial, before, v, order[q])
        if gain == -np.inf:
            break
        flip(before, order[q])
        if gain > best:
            best, place = gain, q
    if place == p:
        return 0.0
    step = 1 if place > p else -1
    for q in range(p, place, step):
        order[q] = order[q + step]
    order[place] = v
    _choose(masks, starts, order, chosen)
    return best


@inner
def _total(scores, chosen):
    """Return the sum of the chosen scores."""
    total = 0.0
    for s in chosen:
        total += scores[s]
    return total


@inner
def _draw(state, below):
    """Return a random number from 0 up to ``below``, and move the state on (SplitMix64: Steele et al., 2014)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((z ^ (z >> np.uint64(31))) % np.uint64(below))


@kernel
def improve_order(masks, starts, scores, order, rounds, state):
    """Improve an order by insertions, then ``rounds`` times from where a few random ones lead.

    ``masks[starts[i]:starts[i + 1]]`` are the sets of feature i, best first; ``state`` is that of the random
    numbers. Returns the best order and its choice.
    Insertion neighbourhood: Lee & van Beek, Metaheuristics for score-and-search Bayesian network structure
    learning, Canadian AI 2017.
    """
    n = len(order)
    best_order = order.copy()
    best_chosen = np.empty(n, np.int64)
    chosen = np.empty(n, np.int64)
    best = -np.inf
    here = -np.inf
    here_order = order.copy()
    order = order.copy()
    turns = order.copy()
    for turn in range(rounds + 1):
        if turn:
            copy_to(order, here_order)
            for _ in range(2 + _draw(state, 5)):
                p = _draw(state, n)
                q = _draw(state, n)
                v = order[p]
                step = 1 if q > p else -1
                for r in range(p, q, step):
                    order[r] = order[r + step]
                order[q] = v
        if not _choose(masks, starts, order, chosen):
            continue
        moved = True
        while moved:
            moved = False
            for k in range(n - 1, 0, -1):
                other = _draw(state, k + 1)
                turns[k], turns[other] = turns[other], turns[k]
            for v in turns:
                p = 0
                while order[p] != v:
                    p += 1
                if _insert(masks, starts, scores, order, chosen, p) > 0:
                    moved = True
        total = _total(scores, chosen)
        if total >= here - 1e-9 or _draw(state, 1 << 30) < (1 << 30) * np.exp((total - here) / 2.0):
            here = total
            copy_to(here_order, order)
        if total > best + 1e-9:
            best = total
            copy_to(best_order, order)
            copy_to(best_chosen, chosen)
    return best_order, best_chosen
