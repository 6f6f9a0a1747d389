"""The tightest bounds on scores of parent sets, over all tables that could have been seen."""

from math import exp, inf, lgamma, log


def highest_likelihood(n_k):
    """Highest log-likelihood of counts of one distribution: Σ n ln(n / Σ n)."""
    return sum(n * log(n / sum(n_k)) for n in n_k if n > 0)


def evenly_spread(n_k, a):
    """Log marginal likelihood of the counts of one distribution under Dirichlet(a / r, ..., a / r)."""
    r = len(n_k)
    return lgamma(a) - lgamma(a + sum(n_k)) + sum(lgamma(a / r + n) - lgamma(a / r) for n in n_k)


def highest_evenly_spread(n_k, largest):
    """Supremum of :func:`evenly_spread` over 0 < a <= largest: the best point of a grid in ln a, then finer ones."""
    low, high = log(largest) - 50, log(largest)
    best = -inf
    for _ in range(6):
        grid = [low + (high - low) * i / 24 for i in range(25)]
        values = [evenly_spread(n_k, exp(x)) for x in grid]
        at = values.index(max(values))
        best = max(best, values[at])
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, 24)]
    return best


def dirichlet_bounds(atoms, largest):
    """f, g and h of one cell, of which ``atoms`` are the counts of the child in the joint states of all the rest."""
    r = len(atoms[0])
    whole = [sum(n_k) for n_k in zip(*atoms, strict=True)]
    f = -sum(min(1.0, n) for n in whole) * log(r)
    g = sum(highest_likelihood(n_k) for n_k in atoms)
    drops = [
        highest_evenly_spread(n_k, largest) - highest_likelihood(n_k) for n_k in atoms if sum(n > 0 for n in n_k) > 1
    ]
    return f, g, g + min([0.0, *drops])


def atoms_of_cells(rows, weights, arities, child, parents, others):
    """For every seen joint state of the parents: the counts of the child in every seen joint state of the others."""
    cells = {}
    for row, weight in zip(rows, weights, strict=True):
        of_cell = cells.setdefault(tuple(row[v] for v in parents), {})
        n_k = of_cell.setdefault(tuple(row[v] for v in others), [0.0] * arities[child])
        n_k[row[child]] += weight
    return [list(of_cell.values()) for of_cell in cells.values()]


def conditional_entropy(rows, weights, child, given):
    """Total weight times the entropy of a variable given others: Σ N_jk ln(N_j / N_jk), in nats."""
    joint, of_given = {}, {}
    for row, weight in zip(rows, weights, strict=True):
        j = tuple(row[v] for v in given)
        joint[j, row[child]] = joint.get((j, row[child]), 0.0) + weight
        of_given[j] = of_given.get(j, 0.0) + weight
    return sum(n * log(of_given[j] / n) for (j, _), n in joint.items())
