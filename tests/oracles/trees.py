"""Decision trees over the parents of a variable, by trying all splits.

A box is a tuple of frozensets, the states of every parent. A tree is ``(box, None)`` for a leaf, or
``(box, [tree, ...])``. The pseudo-count of every state in a leaf is ½.
"""

from functools import cache
from itertools import pairwise, product
from math import inf, lgamma, log


def box_counts(rows, weights, arities, child, parents, box):
    """The weights of the rows in a box, by state of the child."""
    found = [0.0] * arities[child]
    for row, weight in zip(rows, weights, strict=True):
        if all(row[parent] in states for parent, states in zip(parents, box, strict=True)):
            found[row[child]] += weight
    return found


def marginal_likelihood(counts):
    """Log of ∫ Π θ_k^n_k under Jeffreys' prior, in nats."""
    r, n = len(counts), sum(counts)
    return lgamma(r / 2) - lgamma(r / 2 + n) + sum(lgamma(0.5 + n_k) - lgamma(0.5) for n_k in counts)


def split_boxes(box):
    """All splits of a box into two: thresholds, and, with three states or more, one state against the others."""
    found = []
    for place, states in enumerate(box):
        for state, _ in pairwise(sorted(states)):
            found.append((place, {one for one in states if one <= state}))
        if len(states) > 2:
            found += [(place, {state}) for state in states]
    return [
        tuple(
            tuple(frozenset(part) if other == place else states for other, states in enumerate(box))
            for part in (first, box[place] - first)
        )
        for place, first in found
    ]


def full_box(arities, parents):
    """The box of all states."""
    return tuple(frozenset(range(arities[parent])) for parent in parents)


def class_boxes(arities, parents, class_):
    """The boxes of the classes, or the box of all states if the class is not a parent."""
    box = full_box(arities, parents)
    if class_ not in parents:
        return [box]
    place = parents.index(class_)
    return [(*box[:place], frozenset([state]), *box[place + 1 :]) for state in range(arities[class_])]


def best_tree_score(rows, weights, arities, child, parents, prior, boxes):
    """The highest score of a tree below every one of some boxes, summed; both parts of every split have rows."""

    @cache
    def best(box):
        counts = box_counts(rows, weights, arities, child, parents, box)
        splits = split_boxes(box)
        value = marginal_likelihood(counts) - (prior * log(2) if splits else 0.0)
        for parts in splits:
            if all(sum(box_counts(rows, weights, arities, child, parents, part)) > 0 for part in parts):
                value = max(value, sum(map(best, parts)) - prior * log(2 * len(splits)))
        return value

    return sum(map(best, boxes))


def greedy_tree(rows, weights, arities, child, parents, prior, box):
    """The score of the best pruning of the tree that is grown greedily below a box, and that pruning."""
    counts = box_counts(rows, weights, arities, child, parents, box)
    splits = split_boxes(box)
    value = marginal_likelihood(counts) - (prior * log(2) if splits else 0.0)
    if sum(n > 0 for n in counts) < 2:
        return value, (box, None)
    best, chosen = -inf, None
    for parts in splits:
        of_parts = [box_counts(rows, weights, arities, child, parents, part) for part in parts]
        if all(sum(of_part) > 0 for of_part in of_parts):
            likelihood = sum(map(marginal_likelihood, of_parts))
            if likelihood > best + 1e-9:
                best, chosen = likelihood, parts
    if chosen is None:
        return value, (box, None)
    below = [greedy_tree(rows, weights, arities, child, parents, prior, part) for part in chosen]
    of_split = sum(score for score, _ in below) - prior * log(2 * len(splits))
    return (of_split, (box, [tree for _, tree in below])) if of_split > value + 1e-9 else (value, (box, None))


def tree_table(rows, weights, arities, child, parents, tree, class_, strengths, exponent):
    """P(child | parents) of a tree as a dict like that of `eap`; ``strengths`` are of class splits, and of others."""
    r, table = arities[child], {}
    for joint in product(*(range(arities[parent]) for parent in parents)):
        node, above, strength = tree, [1 / r] * r, strengths[1]
        while node is not None:
            box, children = node
            counts = box_counts(rows, weights, arities, child, parents, box)
            m = strength * max(1, sum(n > 0 for n in counts)) ** exponent
            above = [(n + m * p) / (sum(counts) + m) for n, p in zip(counts, above, strict=True)]
            node = None
            for below in children or ():
                if all(state in states for state, states in zip(joint, below[0], strict=True)):
                    node = below
                    place = next(k for k, states in enumerate(box) if below[0][k] != states)
                    strength = strengths[0 if parents[place] == class_ else 1]
        for k in range(r):
            table[(k, *joint)] = above[k]
    return table
