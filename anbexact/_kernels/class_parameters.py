"""Dynamic programme for the fewest class parameters: the best families below every set, and the best order.

Sets are bit masks of n features, without the class; a set of parents of feature b is a mask with bit b taken out.
"""

import numpy as np

from anbexact._kernels.jit import kernel


@kernel
def best_below(without, within, cost, tolerance):
    """Replace score and cost of every set of parents by those of the best of its subsets, in place.

    Parameters
    ----------
    without, within : (2**(n - 1),) float64
        Local scores of a feature given the set alone, and given the set and the class. Afterwards ``without`` is the
        score of the best family: with the class only where this scores higher by more than the tolerance.
    cost : (2**(n - 1),) int64
        Class parameters of the family with the class. Afterwards those of the best family: the fewest of families
        that score the same, 0 where it is without the class.
    tolerance : float
        Local scores that differ by no more than this count as equal.
    """
    step = 1
    while step < without.shape[0]:
        for start in range(0, without.shape[0], 2 * step):
            for low in range(start, start + step):
                high = low + step
                without[high] = max(without[low], without[high])
                gain = within[low] - within[high]
                if gain > tolerance or (gain >= -tolerance and cost[low] < cost[high]):
                    cost[high] = cost[low]
                within[high] = max(within[low], within[high])
        step *= 2
    for s in range(without.shape[0]):
        if within[s] > without[s] + tolerance:
            without[s] = within[s]
        else:
            cost[s] = 0


@kernel
def best_orders(scores, costs, total_cost, total_score):
    """Find the fewest class parameters of the features of every set over its orders, and the best score with as many.

    Parameters
    ----------
    scores : (n, 2**(n - 1)) float64
        Local score of the best family of every feature after every set, as :func:`best_below` leaves it; minus
        infinity where no family is admitted.
    costs : (n, 2**(n - 1)) int64
        Its class parameters.
    total_cost : (2**n,) int64
        Receives the class parameters; -1 where no order is admitted.
    total_score : (2**n,) float64
        Receives the score; minus infinity where no order is admitted.
    """
    n = scores.shape[0]
    total_cost[0] = 0
    total_score[0] = 0.0
    for members in range(1, total_cost.shape[0]):
        fewest = np.int64(-1)
        highest = -np.inf
        for b in range(n):
            if not (members >> b) & 1:
                continue
            before = members ^ (1 << b)
            place = ((members >> (b + 1)) << b) | (members & ((1 << b) - 1))
            score = total_score[before] + scores[b, place]
            if score == -np.inf:
                continue
            cost = total_cost[before] + costs[b, place]
            if fewest < 0 or cost < fewest or (cost == fewest and score > highest):
                fewest = cost
                highest = score
        total_cost[members] = fewest
        total_score[members] = highest
