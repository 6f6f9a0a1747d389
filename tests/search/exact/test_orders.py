"""The improvement of orders by insertions, with which branch and cut finds its first networks."""

from itertools import permutations

import numpy as np
import pytest
from tiers import repeats

from anbexact._kernels.orders import improve_order


def random_lists(rng, n):
    """Random lists of parent sets, best first, the last of each empty: masks, where they start, and scores."""
    masks, starts, scores = [], [0], []
    for i in range(n):
        sets = {0, *(int(m) & ~(1 << i) for m in rng.integers(0, 1 << n, 6))}
        own = sorted(((float(rng.normal()) if m else -3.0, m) for m in sets), reverse=True)
        own = [pair for k, pair in enumerate(own) if all(m != 0 for _, m in own[:k])]  # nothing worse than no parent
        masks += [[m] for _, m in own]
        scores += [s for s, _ in own]
        starts.append(len(masks))
    return np.array(masks, np.uint64), np.array(starts), np.array(scores)


def total_of(order, masks, starts, scores):
    """The highest score of a network whose parents come before their children."""
    total, before = 0.0, 0
    for i in order:
        total += max(scores[s] for s in range(starts[i], starts[i + 1]) if int(masks[s, 0]) & ~before == 0)
        before |= 1 << int(i)
    return total


@pytest.mark.parametrize("seed", repeats(20))
def test_ends_where_no_insertion_helps(seed):
    rng = np.random.default_rng(seed)
    n = 6
    masks, starts, scores = random_lists(rng, n)
    start = rng.permutation(n)
    order, chosen = improve_order(masks, starts, scores, start, 0, np.array([seed], np.uint64))
    total = total_of(order, masks, starts, scores)
    assert scores[chosen].sum() == pytest.approx(total)
    assert total >= total_of(start, masks, starts, scores) - 1e-9
    for p in range(n):
        rest = np.delete(order, p)
        for q in range(n):
            assert total_of(np.insert(rest, q, order[p]), masks, starts, scores) <= total + 1e-8


@pytest.mark.parametrize("seed", repeats(6))
def test_restarts_find_the_best_order(seed):
    rng = np.random.default_rng(seed)
    masks, starts, scores = random_lists(rng, 5)
    best = max(total_of(order, masks, starts, scores) for order in permutations(range(5)))
    order, _ = improve_order(masks, starts, scores, np.arange(5), 200, np.array([seed], np.uint64))
    assert total_of(order, masks, starts, scores) == pytest.approx(best)
