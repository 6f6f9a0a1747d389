"""Universal measures of continuous columns, by their definition."""

from itertools import pairwise, product
from math import exp, inf, lgamma, log, prod

import numpy as np

from oracles.tables import log_sum


def kt_by_steps(cells, n_cells):
    """Krichevsky and Trofimov's measure of a sequence, one after the other: ln Π (times seen + ½) / (i + cells/2)."""
    seen, total = {}, 0.0
    for i, cell in enumerate(cells):
        total += log((seen.get(cell, 0) + 0.5) / (i + n_cells / 2))
        seen[cell] = seen.get(cell, 0) + 1
    return total


def cell_sums(cells, weights):
    """Weight of every cell that occurs."""
    sums = {}
    for cell, weight in zip(cells, weights, strict=True):
        sums[cell] = sums.get(cell, 0.0) + weight
    return sums


def kt_by_gamma(cells, weights, n_cells):
    """The same of weighted cells: ln Γ(q/2) Π Γ(N_t + ½) / [Γ(½)^q Γ(N + q/2)]."""
    total = lgamma(n_cells / 2) - lgamma(sum(weights) + n_cells / 2)
    return total + sum(lgamma(n + 0.5) - lgamma(0.5) for n in cell_sums(cells, weights).values())


def hannan_quinn(cells, weights, n_cells, epsilon):
    """Σ N_t ln N_t - (1 + ε) ln ln N q."""
    sums = cell_sums(cells, weights)
    penalty = (1 + epsilon) * log(log(max(sum(weights), exp(1)))) * n_cells
    return sum(n * log(n) for n in sums.values()) - penalty


def quantile_cuts(values, weights, levels):
    """Cuts that each level adds: halfway between neighbours, where the share below is nearest to i/2ᵏ."""
    distinct = sorted(set(values))
    gaps = list(pairwise(distinct))
    share = [sum(w for v, w in zip(values, weights, strict=True) if v <= low) / sum(weights) for low, _ in gaps]
    added, known = [], set()
    for k in range(1, levels + 1):
        nearest = set()
        for i in range(1, 2**k):
            distances = [abs(s - i / 2**k) for s in share]
            nearest |= {next(p for p, d in enumerate(distances) if d <= min(distances) + 1e-12)} if gaps else set()
        if nearest - known:
            added.append(sorted(sum(gaps[place]) / 2 for place in nearest - known))
        known |= nearest
    return added


def at_levels(values, cuts, measure):
    """A continuous variable at all its levels: the cells of its values, how many there are, the ln of their measures.

    ``cuts[k]`` are the cuts that level k + 1 adds; ``measure(a, b)`` is that of the interval (a, b].
    """
    views = []
    for level in range(1, max(len(cuts), 1) + 1):
        ends = [-inf, *sorted(cut for added in cuts[:level] for cut in added), inf]
        cells = [next(j for j, (a, b) in enumerate(pairwise(ends)) if a < value <= b) for value in values]
        views.append((cells, len(ends) - 1, [log(measure(ends[j], ends[j + 1])) for j in cells]))
    return views


def universal_measure(variables, weights, measure):
    """The log of g, the mean over all tuples of levels, of variables that are given as by ``at_levels``.

    ``measure(cells, n_cells)`` is ln Q of a sequence.
    """
    terms = []
    for chosen in product(*variables):
        rows = [tuple(cells[t] for cells, _, _ in chosen) for t in range(len(weights))]
        densities = sum(weight * log_eta[t] for _, _, log_eta in chosen for t, weight in enumerate(weights))
        terms.append(measure(rows, prod(n_cells for _, n_cells, _ in chosen)) - densities)
    return log_sum(terms) - log(len(terms))


def numbers_at_levels(cuts, measure):
    """A continuous variable at all its levels; a level is a list of cells (lowest value excluded, highest, measure).

    ``cuts[k]`` are the cuts that level k + 1 adds; ``measure(a, b)`` is that of the interval (a, b].
    """
    ends = [[-inf, *sorted(cut for added in cuts[:k] for cut in added), inf] for k in range(1, max(len(cuts), 1) + 1)]
    return [[(a, b, measure(a, b)) for a, b in pairwise(of_level)] for of_level in ends]


def states_as_level(states):
    """A discrete variable at its one level."""
    return [[(None, state, 1.0) for state in states]]


def cell_of(level, value):
    """The number of the cell of a level that holds a value."""
    return next(k for k, (a, b, _) in enumerate(level) if (value == b if a is None else a < value <= b))


def value_in(level, k):
    """Some value of a cell."""
    a, b, _ = level[k]
    return b if a is None or b < inf else max(a, -1e9) + 1.0


def level_terms(columns, weights, variables, measure):
    """All tuples of levels of some variables, and ln of Q / Π η at each; ``measure(cells, weights, q)`` is ln Q."""
    found = []
    for chosen in product(*variables):
        rows = [tuple(map(cell_of, chosen, row)) for row in zip(*columns, strict=True)]
        term = measure(rows, weights, prod(map(len, chosen)))
        for row, weight in zip(rows, weights, strict=True):
            term -= weight * sum(log(level[k][2]) for level, k in zip(chosen, row, strict=True))
        found.append((chosen, rows, term))
    return found


def predictive_density(terms, weights, point):
    """g(t) = Σ_k W_k (N_tk + ½) / (N + q_k / 2) / η(cell of t at levels k), W_k in proportion to Q_k / Π η.

    ``terms`` are those of ``level_terms``.
    """
    top = max(term for _, _, term in terms)
    total = 0.0
    for chosen, rows, term in terms:
        cell = tuple(map(cell_of, chosen, point))
        seen = sum(weight for row, weight in zip(rows, weights, strict=True) if row == cell)
        eta = prod(level[k][2] for level, k in zip(chosen, cell, strict=True))
        total += exp(term - top) * (seen + 0.5) / (sum(weights) + prod(map(len, chosen)) / 2) / eta
    return total / sum(exp(term - top) for _, _, term in terms)


def conditional_density(columns, weights, variables, measure):
    """The density of the first variable given the others, g(t) / ∫ g along it, at all cells of the finest levels."""
    finest = [levels[-1] for levels in variables]
    density = np.empty([len(level) for level in finest])
    terms = level_terms(columns, weights, variables, measure)
    for cell in np.ndindex(*density.shape):
        point = [value_in(level, k) for level, k in zip(finest, cell, strict=True)]
        density[cell] = predictive_density(terms, weights, point)
    masses = np.array([mass for _, _, mass in finest[0]])
    return density / np.einsum("k,k...->...", masses, density)
