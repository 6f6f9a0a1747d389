"""Slow, obvious twins of what the package computes: the formula as it is written, and nothing of the package.

Tables are lists of rows of state numbers (``rows[t][v]``), with a weight each and the number of states of every
variable (``arities[v]``). Variables are named by their position; by convention the class is the last one.
"""

from functools import cache
from itertools import combinations, pairwise, permutations, product
from math import comb, exp, factorial, inf, lgamma, log, log1p, log2, prod

import numpy as np


def subsets(items, at_most=None):
    """All subsets, as tuples, smaller ones first."""
    items = tuple(items)
    for size in range(min(len(items), len(items) if at_most is None else at_most) + 1):
        yield from combinations(items, size)


def counts(rows, weights, arities, variables):
    """Weight of every joint state of the variables, unseen ones included."""
    table = dict.fromkeys(product(*(range(arities[v]) for v in variables)), 0.0)
    for row, weight in zip(rows, weights, strict=True):
        table[tuple(row[v] for v in variables)] += weight
    return table


def bdeu_local(rows, weights, arities, child, parents, ess):
    """BDeu: the double sum over all parent configurations j and all states k."""
    r = arities[child]
    q = 1
    for parent in parents:
        q *= arities[parent]
    joint = counts(rows, weights, arities, [*parents, child])
    total = 0.0
    for j in product(*(range(arities[parent]) for parent in parents)):
        n_jk = [joint[(*j, k)] for k in range(r)]
        total += lgamma(ess / q) - lgamma(ess / q + sum(n_jk))
        total += sum(lgamma(ess / (q * r) + n) - lgamma(ess / (q * r)) for n in n_jk)
    return total


def bdeu_set_score(rows, weights, arities, variables, ess):
    """F(T): the sum over the observed cells of T; cells are counted in a dict, so T may be large."""
    cells = {}
    for row, weight in zip(rows, weights, strict=True):
        key = tuple(row[v] for v in variables)
        cells[key] = cells.get(key, 0.0) + weight
    q = 1
    for v in variables:
        q *= arities[v]
    return sum(lgamma(ess / q + n) - lgamma(ess / q) for n in cells.values())


def structure_score(rows, weights, arities, parents, ess):
    """Total BDeu of a graph: ``parents[v]`` lists the parents of v."""
    return sum(bdeu_local(rows, weights, arities, child, of_child, ess) for child, of_child in parents.items())


def admitted(child, parents, max_parents, required, forbidden):
    """Whether these feature parents respect the constraints (edges are (parent, child) pairs)."""
    return (
        (max_parents is None or len(parents) <= max_parents)
        and all(a in parents for a, b in required if b == child)
        and not any((a, child) in set(forbidden) for a in parents)
    )


def best_over_orders(features, local, max_parents=None, required=(), forbidden=()):
    """Highest sum of ``local(i, S)`` over acyclic graphs, by brute force over the orders of the features.

    -inf if no graph is admitted.
    """
    best = -inf
    for order in permutations(features):
        total = 0.0
        for place, child in enumerate(order):
            total += max(
                (
                    local(child, parents)
                    for parents in subsets(order[:place])
                    if admitted(child, parents, max_parents, required, forbidden)
                ),
                default=-inf,
            )
        best = max(best, total)
    return best


def anb_optimum(rows, weights, arities, ess, **constraints):
    """Highest BDeu of an augmented naive Bayes, class included, by brute force; for four features or so."""
    class_ = len(arities) - 1
    known = {}

    def local(child, parents):
        key = child, tuple(sorted(parents))
        if key not in known:
            known[key] = bdeu_local(rows, weights, arities, child, [class_, *key[1]], ess)
        return known[key]

    of_class = bdeu_local(rows, weights, arities, class_, [], ess)
    return of_class + best_over_orders(range(class_), local, **constraints)


def all_set_scores(rows, weights, arities, ess):
    """F(T ∪ class) for every mask of features (bit b is feature b)."""
    class_ = len(arities) - 1
    return [
        bdeu_set_score(rows, weights, arities, [v for v in range(class_) if mask >> v & 1] + [class_], ess)
        for mask in range(1 << class_)
    ]


def lattice_optimum(set_scores, n, max_parents=None, required=(), forbidden=()):
    """Silander and Myllymäki's dynamic programme in plain Python, from the set scores of all masks.

    Returns the best total over each mask of features (without the class's own score).
    """
    full = (1 << n) - 1
    best_parents = [[-inf] * (full + 1) for _ in range(n)]
    for child in range(n):
        for mask in range(full + 1):
            if mask >> child & 1:
                continue
            parents = [v for v in range(n) if mask >> v & 1]
            here = -inf
            if admitted(child, parents, max_parents, required, forbidden):
                here = set_scores[mask | 1 << child] - set_scores[mask]
            for v in parents:
                here = max(here, best_parents[child][mask ^ 1 << v])
            best_parents[child][mask] = here
    best = [-inf] * (full + 1)
    best[0] = 0.0
    for mask in range(1, full + 1):
        for sink in range(n):
            if mask >> sink & 1:
                rest = mask ^ 1 << sink
                best[mask] = max(best[mask], best[rest] + best_parents[sink][rest])
    return best


def lattice_structure(set_scores, n, tolerance, **constraints):
    """Read the structure back by the written tie rule.

    Last feature first: the sink with the smaller parent set wins, then the parent set that comes first in
    feature order, then the later feature. Returns the feature parents of every feature.
    """
    best = lattice_optimum(set_scores, n, **constraints)
    limits = {"max_parents": None, "required": (), "forbidden": (), **constraints}
    parents = {}
    mask = (1 << n) - 1
    while mask:
        candidates = []
        for sink in range(n):
            if not mask >> sink & 1:
                continue
            rest = mask ^ 1 << sink
            for of_sink in subsets(v for v in range(n) if rest >> v & 1):
                bits = sum(1 << v for v in of_sink)
                local = set_scores[bits | 1 << sink] - set_scores[bits]
                if admitted(sink, of_sink, **limits) and best[rest] + local >= best[mask] - tolerance:
                    candidates.append((len(of_sink), of_sink, -sink, sink))
        _, of_sink, _, sink = min(candidates)
        parents[sink] = of_sink
        mask ^= 1 << sink
    return parents


def eap(rows, weights, arities, child, parents, ess):
    """Expected a posteriori table as a dict: ``table[k, j1, j2, ...]`` = P(child = k | parents = j)."""
    r = arities[child]
    q = 1
    for parent in parents:
        q *= arities[parent]
    joint = counts(rows, weights, arities, [*parents, child])
    table = {}
    for j in product(*(range(arities[parent]) for parent in parents)):
        n_j = sum(joint[(*j, k)] for k in range(r))
        for k in range(r):
            table[(k, *j)] = (joint[(*j, k)] + ess / (q * r)) / (n_j + ess / q)
    return table


def log_sum(values):
    """Logarithm of the sum of the exponentials."""
    top = max(values)
    return top if top == -inf else top + log(sum(exp(value - top) for value in values))


def log_joint(tables, arities, class_, evidence):
    """Log of P(c, evidence) for every class, by summing the whole joint distribution.

    ``tables`` maps a variable to ``(parents, dict as from eap)``; ``evidence`` maps observed features to states.
    """
    hidden = [v for v in range(len(arities)) if v != class_ and v not in evidence]
    out = []
    for c in range(arities[class_]):
        terms = []
        for completion in product(*(range(arities[v]) for v in hidden)):
            state = {**evidence, **dict(zip(hidden, completion, strict=True)), class_: c}
            terms.append(
                sum(
                    log(table[(state[v], *(state[parent] for parent in parents))])
                    for v, (parents, table) in tables.items()
                )
            )
        out.append(log_sum(terms))
    return out


def log_posterior(tables, arities, class_, evidence):
    """Log of P(c | evidence) for every class, by enumeration."""
    joint = log_joint(tables, arities, class_, evidence)
    return [value - log_sum(joint) for value in joint]


def completions(row, arities):
    """All rows without None that agree with a row elsewhere."""
    return list(product(*([cell] if cell is not None else range(arities[v]) for v, cell in enumerate(row))))


def expected_rows(rows, weights, arities, tables):
    """The completions of all rows, weighted by P(completion | observed cells), and Σ w ln P(observed cells).

    ``tables`` maps a variable to ``(parents, dict as from eap)``; a missing cell is None.
    """
    completed, shares, total = [], [], 0.0
    for row, weight in zip(rows, weights, strict=True):
        own = completions(row, arities)
        logs = [
            sum(
                log(table[(state[v], *(state[parent] for parent in parents))])
                for v, (parents, table) in tables.items()
            )
            for state in own
        ]
        total += weight * log_sum(logs)
        completed += own
        shares += [weight * exp(value - log_sum(logs)) for value in logs]
    return completed, shares, total


def em_round(rows, weights, arities, tables, graph, ess):
    """One round of expectation maximisation with EAP tables: new tables, and the log likelihood and the objective of
    the old ones, Σ w ln P(observed) + Σ_v α / (q r) Σ ln θ.
    """
    completed, shares, total = expected_rows(rows, weights, arities, tables)
    prior = sum(ess / len(table) * sum(map(log, table.values())) for _, table in tables.values())
    after = {
        child: (parents, eap(completed, shares, arities, child, parents, ess)) for child, parents in graph.items()
    }
    return after, total, total + prior


def available_naive_bayes(rows, weights, arities, class_):
    """Naive Bayes, every table from the rows in which its cells are observed; α = 1."""
    tables = {}
    for v in range(len(arities)):
        parents = [] if v == class_ else [class_]
        known = [t for t, row in enumerate(rows) if row[v] is not None and row[class_] is not None]
        own = [rows[t] for t in known]
        tables[v] = (parents, eap(own, [weights[t] for t in known], arities, v, parents, 1.0))
    return tables


def explained_term(rows, weights, arities, child, parents, class_, cells, label, against, ess):
    """The term of a family in the log odds of two classes, and the weights behind it.

    Returns ln θ(label) - ln θ(against), then for either class the weight of the rows that agree with ``cells`` on the
    variable and its parents, and of those that agree on the parents.
    """
    table = eap(rows, weights, arities, child, parents, ess)
    numbers, nats = [], []
    for c in (label, against):
        state = {**cells, class_: c}
        nats.append(log(table[(state[child], *(state[parent] for parent in parents))]))
        on_parents = [
            (row, weight)
            for row, weight in zip(rows, weights, strict=True)
            if all(row[parent] == state[parent] for parent in parents)
        ]
        numbers.append(sum(weight for row, weight in on_parents if row[child] == state[child]))
        numbers.append(sum(weight for _, weight in on_parents))
    return nats[0] - nats[1], numbers


def log_dirichlet_draws(alpha, size, rng):
    """Logs of draws from a Dirichlet distribution, however small they are, shape (size, states).

    A Gamma(a) variable is a Gamma(a + 1) variable times the a-th root of a uniform one.
    """
    logs = [np.log(rng.gamma(a + 1, size=size)) + np.log(rng.random(size)) / a for a in alpha]
    return np.stack(logs, axis=1) - np.logaddexp.reduce(logs, axis=0)[:, None]


def drawn_posteriors(problem, parents, ess, cells, draws, rng):
    """P(class | cells) by tables drawn one cell after the other, shape (draws, classes).

    ``problem`` has rows (the class last), weights and arities; ``cells`` maps every feature to its state.
    """
    rows, weights, arities = problem
    n = len(arities) - 1
    logs = np.zeros((draws, arities[n]))
    for v, of_v in parents.items():
        q = int(np.prod([arities[p] for p in of_v])) if of_v else 1
        joint = counts(rows, weights, arities, [*of_v, v])
        drawn = {}
        for c in range(arities[n]):
            own = {**cells, n: c}
            j = tuple(own[p] for p in of_v)
            if j not in drawn:
                r = arities[v]
                drawn[j] = log_dirichlet_draws([joint[(*j, k)] + ess / (q * r) for k in range(r)], draws, rng)
            logs[:, c] += drawn[j][:, own[v]]
    return np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])


def leave_one_out(rows, weights, arities, parents, ess):
    """Sum over rows of ln P(c | x) from tables fitted without one unit of that row's weight; the class comes last."""
    class_ = len(arities) - 1
    total = 0.0
    for t, row in enumerate(rows):
        others = [weight - (u == t) for u, weight in enumerate(weights)]
        tables = {v: (of_v, eap(rows, others, arities, v, of_v, ess)) for v, of_v in parents.items()}
        evidence = {v: row[v] for v in range(class_)}
        total += weights[t] * log_posterior(tables, arities, class_, evidence)[row[class_]]
    return total


def held_out(rows, weights, others, other_weights, arities, parents, ess):
    """Sum over other rows of their weight times ln P(c | x) from tables of the rows; the class comes last."""
    class_ = len(arities) - 1
    tables = {v: (of_v, eap(rows, weights, arities, v, of_v, ess)) for v, of_v in parents.items()}
    return sum(
        weight * log_posterior(tables, arities, class_, {v: row[v] for v in range(class_)})[row[class_]]
        for row, weight in zip(others, other_weights, strict=True)
    )


def is_weighted_median(cut, values, weights):
    """Whether at most half of the weight lies strictly below, and at most half strictly above, the cut."""
    values = np.asarray(values, dtype=float)
    weights = np.asarray(weights, dtype=float)
    half = weights.sum() / 2
    slack = 1e-9 * half
    return weights[values < cut].sum() <= half + slack and weights[values > cut].sum() <= half + slack


def class_entropy(rows):
    """Entropy in bits of the classes of (value, label, weight) rows."""
    total = sum(weight for _, _, weight in rows)
    shares = [sum(w for _, label, w in rows if label == c) / total for c in {label for _, label, _ in rows}]
    return -sum(share * log2(share) for share in shares)


def mdlp_split(rows):
    """Fayyad and Irani's test of the best cut: the bits that it saves, the cut, and both sides; None if rejected."""
    rows = sorted(rows, key=lambda row: row[0])
    total = sum(weight for _, _, weight in rows)
    distinct = sorted({value for value, _, _ in rows})
    splits = []
    for low, high in pairwise(distinct):
        left = [row for row in rows if row[0] <= low]
        right = [row for row in rows if row[0] > low]
        parts = [(sum(w for _, _, w in part) / total, class_entropy(part)) for part in (left, right)]
        splits.append((sum(share * bits for share, bits in parts), (low + high) / 2, left, right))
    if not splits:
        return None
    least = min(bits for bits, _, _, _ in splits)
    bits, cut, left, right = next(split for split in splits if split[0] <= least + 1e-9)
    k, k_left, k_right = (len({label for _, label, _ in part}) for part in (rows, left, right))
    delta = log2(3**k - 2) - (k * class_entropy(rows) - k_left * class_entropy(left) - k_right * class_entropy(right))
    where = log2(total - 1) if total > 2 else 0.0
    saved = total * (class_entropy(rows) - bits) - (where + delta)
    return (saved, cut, left, right) if saved > 0 else None


def mdlp_cuts(values, labels, weights, most=inf):
    """Fayyad and Irani's recursion, the split that saves most bits made next, up to so many intervals."""
    found = [mdlp_split(list(zip(values, labels, weights, strict=True)))]
    cuts = []
    while any(found) and len(cuts) < most - 1:
        best = max((split for split in found if split), key=lambda split: (round(split[0], 9), -split[1]))
        found.remove(best)
        found += [mdlp_split(best[2]), mdlp_split(best[3])]
        cuts.append(best[1])
    return sorted(cuts)


def row_weights(weights):
    """Weights as they are if one reaches 1; else scaled to sum to the effective number of rows."""
    total, squares = sum(weights), sum(weight**2 for weight in weights)
    return [weight * total / squares for weight in weights] if max(weights) < 1 else list(weights)


def log_choose(n, k):
    """Ln C(n, k), for real n too."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def modl_parts_cost(parts):
    """Sum over the parts, lists of (value, label, weight) rows, of ln C(n + J - 1, J - 1) + ln(n! / prod n_j!)."""
    classes = {label for part in parts for _, label, _ in part}
    cost = 0.0
    for part in parts:
        total = sum(weight for _, _, weight in part)
        cost += log_choose(total + len(classes) - 1, len(classes) - 1) + lgamma(total + 1)
        cost -= sum(lgamma(sum(w for _, label, w in part if label == c) + 1) for c in classes)
    return cost


def modl_cost(values, labels, weights, cuts):
    """Boulle's criterion (Machine Learning 2006): ln N + ln C(N + I - 1, I - 1) + the cost of the parts."""
    rows = list(zip(values, labels, weights, strict=True))
    ends = [-inf, *cuts, inf]
    parts = [[row for row in rows if low < row[0] <= high] for low, high in pairwise(ends)]
    total = sum(weights)
    return log(total) + log_choose(total + len(parts) - 1, len(parts) - 1) + modl_parts_cost(parts)


def modl_best_cost(values, labels, weights, most):
    """The least cost over all sets of cuts between neighbouring values that make at most so many intervals."""
    between = [(low + high) / 2 for low, high in pairwise(sorted(set(values)))]
    return min(modl_cost(values, labels, weights, cuts) for cuts in subsets(between, most - 1))


def set_partitions(values):
    """All divisions of a list into non-empty groups."""
    if not values:
        yield []
        return
    for smaller in set_partitions(values[1:]):
        yield [[values[0]], *smaller]
        for k, group in enumerate(smaller):
            yield [*smaller[:k], [values[0], *group], *smaller[k + 1 :]]


@cache
def count_divisions(n_values, most):
    """The number of divisions of so many values into at most so many groups."""
    return sum(len(division) <= most for division in set_partitions(list(range(n_values))))


def groups_cost(values, labels, weights, groups):
    """Boulle's criterion (JMLR 2005) of groups of values: ln V + ln B(V, I) + the cost of the parts."""
    rows = list(zip(values, labels, weights, strict=True))
    distinct = sorted(set(values))
    divisions = count_divisions(len(distinct), len(groups))
    parts = [[row for row in rows if row[0] in group] for group in groups]
    return log(len(distinct)) + log(divisions) + modl_parts_cost(parts)


def is_acyclic(parents):
    """Whether the graph has no directed cycle: remove variables without remaining parents until none is left."""
    left = {child: set(of_child) for child, of_child in parents.items()}
    while left:
        free = [child for child, of_child in left.items() if not of_child & left.keys()]
        if not free:
            return False
        for child in free:
            del left[child]
    return True


def families(rows, weights, arities, child, parents):
    """For every joint state of the parents, unseen ones included, the weights of the child's states."""
    joint = counts(rows, weights, arities, [*parents, child])
    configurations = product(*(range(arities[parent]) for parent in parents))
    return [[joint[(*j, k)] for k in range(arities[child])] for j in configurations]


def log_likelihood(rows, weights, arities, child, parents):
    """Sum of N_jk ln(N_jk / N_j)."""
    n_js = families(rows, weights, arities, child, parents)
    return sum(n * log(n / sum(n_j)) for n_j in n_js for n in n_j if n > 0)


def penalised_local(rows, weights, arities, child, parents, weight):
    """LL less ``weight`` per free parameter."""
    parameters = sum(arities[child] - 1 for _ in families(rows, weights, arities, child, parents))
    return log_likelihood(rows, weights, arities, child, parents) - weight * parameters


def sum_n_log_n(rows, weights, arities, variables):
    """Sum of N ln N over the cells of the variables."""
    return sum(n * log(n) for n in counts(rows, weights, arities, variables).values() if n > 0)


def n_cells(arities, variables):
    """Number of joint states of the variables."""
    cells = 1
    for v in variables:
        cells *= arities[v]
    return cells


def regret(n, k):
    """C(n, k) by its definition, for whole n: the sum over all ways to share n draws among k states."""
    total = 0.0
    for shares in product(range(n + 1), repeat=k):
        if sum(shares) == n:
            ways, chance, left = 1.0, 1.0, n
            for h in shares:
                for i in range(h):
                    ways *= (left - i) / (i + 1)
                left -= h
                chance *= (h / n) ** h if n else 1.0
            total += ways * chance
    return total


def log_regrets_by_recursion(n, k):
    """[ln C(n, 1), ..., ln C(n, k)] for whole n: C(n, 2) as a sum, then C(n, L) = C(n, L-1) + n/(L-2) C(n, L-2)."""
    two = 0.0
    for h in range(n + 1):
        ways = lgamma(n + 1) - lgamma(h + 1) - lgamma(n - h + 1)
        two += exp(ways + (h * log(h / n) if h else 0) + ((n - h) * log((n - h) / n) if h < n else 0))
    values = [0.0, log(two)]
    while len(values) < k:
        older, last = values[-2:]
        values.append(last + log(1 + n / (len(values) - 1) * exp(older - last)))
    return values[:k]


@cache
def log_regret(n, k):
    """Log of E[(1 + S/n)^n], S ~ Gamma(k - 1), for real n: the trapezoid rule in u = ln s."""
    if n == 0 or k == 1:
        return 0.0
    step = 0.1 / max(k, 25) ** 0.5
    terms = []
    for i in range(int(-45 / step), int(log(50 * (n + k) + 800) / step)):
        u = i * step
        terms.append((k - 1) * u - exp(u) + n * log1p(exp(u) / n))
    return log_sum(terms) + log(step) - lgamma(k - 1)


def qnml_local(rows, weights, arities, child, parents):
    """LL less the logarithm of the quotient C(N, states of the family) / C(N, states of the parents)."""
    n = sum(weights)
    given, joint = n_cells(arities, parents), n_cells(arities, [*parents, child])
    return log_likelihood(rows, weights, arities, child, parents) - log_regret(n, joint) + log_regret(n, given)


def fnml_local(rows, weights, arities, child, parents):
    """LL less ln C(N_j, r) for every joint state of the parents."""
    penalty = sum(log_regret(sum(n_j), len(n_j)) for n_j in families(rows, weights, arities, child, parents))
    return log_likelihood(rows, weights, arities, child, parents) - penalty


def dirichlet_local(n_js, a):
    """Sum over configurations j of the log marginal likelihood of their counts, each cell with parameter ``a``."""
    total = 0.0
    for n_j in n_js:
        total += lgamma(a * len(n_j)) - lgamma(a * len(n_j) + sum(n_j))
        total += sum(lgamma(a + n) - lgamma(a) for n in n_j)
    return total


def k2_local(rows, weights, arities, child, parents):
    """All Dirichlet parameters 1."""
    return dirichlet_local(families(rows, weights, arities, child, parents), 1.0)


def bds_local(rows, weights, arities, child, parents, ess):
    """The equivalent sample size spread over the configurations that occur."""
    observed = [n_j for n_j in families(rows, weights, arities, child, parents) if sum(n_j) > 0]
    return dirichlet_local(observed, ess / (len(observed) * arities[child]))


def mutual_information(rows, weights, arities, child, parents):
    """Sum of p(x, pa) ln(p(x, pa) / (p(x) p(pa)))."""
    n = sum(weights)
    joint = counts(rows, weights, arities, [*parents, child])
    of_child = counts(rows, weights, arities, [child])
    of_parents = counts(rows, weights, arities, parents)
    return sum(
        m / n * log(m * n / (of_child[cell[-1:]] * of_parents[cell[:-1]])) for cell, m in joint.items() if m > 0
    )


def mit_local(rows, weights, arities, child, parents, alpha):
    """2 N MI less the largest sum of quantiles over all orders of the parents."""
    from scipy.stats import chi2

    penalties = []
    for order in permutations(parents):
        before, total = 1, 0.0
        for parent in order:
            freedom = (arities[child] - 1) * (arities[parent] - 1) * before
            total += chi2.ppf(alpha, freedom) if freedom else 0.0
            before *= arities[parent]
        penalties.append(total)
    return 2 * sum(weights) * mutual_information(rows, weights, arities, child, parents) - max(penalties)


def graphs(n):
    """All acyclic graphs over n variables, as a dict of parents each."""
    for parents in product(*(list(subsets(u for u in range(n) if u != v)) for v in range(n))):
        graph = dict(enumerate(parents))
        if is_acyclic(graph):
            yield graph


def equivalence_class(graph):
    """What Markov equivalent graphs share: their skeleton, and their pairs of parents that are not adjacent."""
    skeleton = {frozenset((u, v)) for v, of_v in graph.items() for u in of_v}
    colliders = {(pair, v) for v, of_v in graph.items() for pair in map(frozenset, combinations(of_v, 2))}
    return frozenset(skeleton), frozenset((pair, v) for pair, v in colliders if pair not in skeleton)


def acll_constants_of_draws(draws):
    """Least squares fit of -ln ΣU on Σ ln U: slope and intercept, and the spread of what one draw adds to each."""
    a = [log(sum(u)) for u in draws]
    b = [sum(log(v) for v in u) for u in draws]
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    covariance = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / len(a)
    variance = sum((y - mean_b) ** 2 for y in b) / len(b)
    beta = -covariance / variance
    gamma = -mean_a - beta * mean_b
    residuals = [x + beta * y + gamma for x, y in zip(a, b, strict=True)]
    slopes = [r * (y - mean_b) / variance for r, y in zip(residuals, b, strict=True)]
    of_beta = sum(d**2 for d in slopes) / len(a)
    of_gamma = sum((r - d * mean_b) ** 2 for r, d in zip(residuals, slopes, strict=True)) / len(a)
    return beta, gamma, of_beta**0.5, of_gamma**0.5


def acll_constants_dirichlet(s, a, b):
    """Closed form for Dir(a, ..., a, b), by the moments of logarithms of Dirichlet variables."""
    from scipy.special import digamma, polygamma

    total = s * a + b
    cov_ab = s * (polygamma(1, s * a) - polygamma(1, total))
    var_b = s * polygamma(1, a) - s * s * polygamma(1, total)
    beta = -cov_ab / var_b
    return beta, -(digamma(s * a) - digamma(total)) - beta * s * (digamma(a) - digamma(total))


def acll_constants_uniform(s):
    """For [0, 1]^s: E ln(x + sum of m uniforms) is the m-th difference of the m-fold integral of ln."""
    from scipy.integrate import quad

    def integral_of_log(m, x):
        return 0.0 if x == 0 else x**m / factorial(m) * (log(x) - sum(1 / i for i in range(1, m + 1)))

    def mean_log(m, x):
        return sum((-1) ** (m - k) * comb(m, k) * integral_of_log(m, x + k) for k in range(m + 1))

    covariance = quad(lambda u: (log(u) + 1) * mean_log(s - 1, u), 0, 1, epsabs=1e-13, epsrel=1e-13)[0]
    beta = -covariance
    return beta, -mean_log(s, 0.0) + s * beta


def acll_weighted(rows, weights, arities, child, others, beta):
    """M as a dict: cells (child, others..., class) for a feature, (class,) for the class, which comes last."""
    class_ = len(arities) - 1
    if child == class_:
        n = counts(rows, weights, arities, [class_])
        return {cell: n[cell] + beta * sum(n.values()) for cell in n}
    n = counts(rows, weights, arities, [child, *others, class_])
    classes = range(arities[class_])
    return {cell: n[cell] + beta * sum(n[(*cell[:-1], c)] for c in classes) for cell in n}


def acll_parameters(weighted, pseudo_count):
    """θ from the weighted counts, none of them below the pseudo-count."""
    plus = {cell: m if m >= pseudo_count else pseudo_count for cell, m in weighted.items()}
    total = {}
    for cell, m in plus.items():
        total[cell[1:]] = total.get(cell[1:], 0.0) + m
    return {cell: m / total[cell[1:]] for cell, m in plus.items()}


def acll_local(rows, weights, arities, child, others, beta, pseudo_count):
    """Approximate conditional log likelihood of a family, at the parameters that maximise it."""
    weighted = acll_weighted(rows, weights, arities, child, others, beta)
    theta = acll_parameters(weighted, pseudo_count)
    return sum(m * log(theta[cell]) for cell, m in weighted.items())


def maximum_likelihood(rows, weights, arities, child, parents):
    """N_ijk / N_ij as a dict like that of ``eap``; 1/r where the configuration has no rows."""
    r = arities[child]
    joint = counts(rows, weights, arities, [child, *parents])
    given = counts(rows, weights, arities, parents)
    return {cell: n / given[cell[1:]] if given[cell[1:]] > 0 else 1 / r for cell, n in joint.items()}


def friedman(rows, weights, arities, child, parents, pseudo):
    """(N_ijk + N0 p_ik) / (N_ij + N0) as a dict like that of ``eap``."""
    joint = counts(rows, weights, arities, [child, *parents])
    given = counts(rows, weights, arities, parents)
    marginal = counts(rows, weights, arities, [child])
    total = sum(weights)
    return {cell: (n + pseudo * marginal[cell[:1]] / total) / (given[cell[1:]] + pseudo) for cell, n in joint.items()}


@cache
def branchings(n, tree=False):
    """All forests of arcs directed away from their roots, as tuples of parents (None: no parent).

    With ``tree``, those with one root only; the order is: first feature first, no parent before a parent.
    """
    return [
        parents
        for parents in product(*([None, *(j for j in range(n) if j != i)] for i in range(n)))
        if not tree or parents.count(None) == min(n, 1)
        if is_acyclic({i: [] if parents[i] is None else [parents[i]] for i in range(n)})
    ]


def class_parameters(arities, class_, graph):
    """Free probabilities of the class and of its children; ``graph`` maps a variable to its parents."""
    return sum(
        (arities[v] - 1) * prod(arities[u] for u in of_v)
        for v, of_v in graph.items()
        if v == class_ or class_ in of_v
    )


def best_families(n, local, arities, before, v, tolerance):
    """The sets among the class n and some features that score highest for v, and of these have least parameters."""
    families = {own: local(v, own) for own in subsets(sorted([*before, n]))}
    ties = [own for own, value in families.items() if value >= max(families.values()) - tolerance]
    least = {own: class_parameters(arities, n, {v: own}) for own in ties}
    return {own for own in ties if least[own] == min(least.values())}


def fewest_over_orders(n, local, arities, tolerance=1e-9):
    """The fewest class parameters of the I-maps of all orders of n features, and the best score with as few."""
    found = []
    for order in permutations(range(n)):
        graph = {n: ()}
        for k, v in enumerate(order):
            best = best_families(n, local, arities, order[:k], v, tolerance)
            graph[v] = max(best, key=lambda own: local(v, own))
        found.append((class_parameters(arities, n, graph), -sum(local(v, of_v) for v, of_v in graph.items())))
    count, score = min(found)
    return count, -score


def is_map_of_an_order(n, local, arities, graph, tolerance=1e-9):
    """Whether some order of the features has, for each of them, its parents in the graph among the best families."""
    return any(
        all(
            set(graph[v]) <= {*order[:k], n} and graph[v] in best_families(n, local, arities, order[:k], v, tolerance)
            for k, v in enumerate(order)
        )
        for order in permutations(range(n))
    )


def fewest_over_graphs(n, local, arities, tolerance=1e-9):
    """The same as :func:`fewest_over_orders`, by going through all graphs in which the class n has no parents."""
    found = [
        (class_parameters(arities, n, graph), -sum(local(v, of_v) for v, of_v in graph.items()))
        for graph in graphs(n + 1)
        if not graph[n] and is_map_of_an_order(n, local, arities, graph, tolerance)
    ]
    count, score = min(found)
    return count, -score


def best_branching(n, local, tree=False, required=(), forbidden=(), tolerance=1e-9):
    """Highest sum of ``local(i, parents)`` over branchings by brute force, and the first branching that reaches it.

    (-inf, None) if none satisfies the constraints.
    """
    known = {(i, j): local(i, () if j is None else (j,)) for i in range(n) for j in (None, *range(n)) if i != j}
    totals = {}
    for parents in branchings(n, tree):
        arcs = {(parents[i], i) for i in range(n)}
        if arcs >= set(required) and not arcs & set(forbidden):
            totals[parents] = sum(known[i, parents[i]] for i in range(n))
    best = max(totals.values(), default=-inf)
    return best, next((parents for parents, total in totals.items() if total >= best - tolerance), None)


def ancestors(parents, child):
    """The features on the path from the root of a branching to a feature."""
    found = []
    while parents[child] is not None:
        child = parents[child]
        found.append(child)
    return sorted(found)


def best_consistent_graph(parents, local, k, required=(), forbidden=(), tolerance=1e-9):
    """Best k-graph consistent with a branching: highest total, and the first smallest parent set of every feature."""
    total, chosen = 0.0, []
    for child in range(len(parents)):
        scores = {
            of_child: local(child, of_child)
            for of_child in subsets(ancestors(parents, child), k)
            if admitted(child, of_child, k, required, forbidden)
        }
        best = max(scores.values())
        total += best
        chosen.append(next(of_child for of_child, score in scores.items() if score >= best - tolerance))
    return total, chosen


def class_families(graph, class_):
    """The class's parents, and for each child of the class φ(i): the child and its other parents."""
    children = {child: of_child for child, of_child in graph.items() if class_ in of_child}
    return {
        class_: set(graph[class_]),
        **{child: {child, *of_child} - {class_} for child, of_child in children.items()},
    }


def logit_sets(graph, class_):
    """Formula (9) of Feelders and Ivanovs: all subsets of the families."""
    return {frozenset(S) for family in class_families(graph, class_).values() for S in subsets(family)}


def logit_sets_of_algorithm(graph, class_):
    """Formula (18): S ∪ {i} for children i and S ⊆ π(i), and S ⊆ pa(0)."""
    families = class_families(graph, class_)
    found = {frozenset(S) for S in subsets(families.pop(class_))}
    return found | {frozenset({i, *S}) for i, family in families.items() for S in subsets(family - {i})}


def is_subperfect(graph, class_):
    """Definition 1, on the graph restricted to the class's Markov blanket."""
    blanket = {class_}.union(*class_families(graph, class_).values())
    graph = {v: set(of_v) & blanket for v, of_v in graph.items() if v in blanket}
    adjacent = {frozenset((u, v)) for v, of_v in graph.items() for u in of_v}
    with_common_child = {frozenset(pair) for of_child in graph.values() for pair in combinations(of_child, 2)}
    return all(pair in adjacent or pair <= graph[class_] for pair in with_common_child)


def log_ratio(tables, class_, child, a, state):
    """Log of the child's table given class a over that given class 0, everything else as in ``state``."""
    parents, table = tables[child]
    top, bottom = {**state, class_: a}, {**state, class_: 0}
    return log(
        table[(top[child], *(top[v] for v in parents))] / table[(bottom[child], *(bottom[v] for v in parents))]
    )


def logit_part(tables, class_, child, family, S, f, a, T):
    """What the child's table at f on T, and state 0 elsewhere, adds to β_S^f(a)."""
    state = {v: f[v] if v in T else 0 for v in family}
    return (-1) ** (len(S) - len(T)) * log_ratio(tables, class_, child, a, state)


def logit_coefficient(tables, class_, S, f, a):
    """β_S^f(a), by inclusion and exclusion over the tables whose family holds S."""
    graph = {v: parents for v, (parents, _) in tables.items()}
    return sum(
        logit_part(tables, class_, child, family, S, f, a, T)
        for child, family in class_families(graph, class_).items()
        if family >= set(S)
        for T in subsets(S)
    )


def logit_terms(graph, arities, class_):
    """All (S, f), f as a dict: smaller S first, then by the variables, then by the states."""
    for S in sorted(map(sorted, logit_sets(graph, class_)), key=lambda S: (len(S), S)):
        for states in product(*(range(1, arities[v]) for v in S)):
            yield tuple(S), dict(zip(S, states, strict=True))


def log_odds(terms, betas, row):
    """Log of P(C=a | row) / P(C=0 | row) for a = 1, 2, ...: the sum of the betas whose indicators are 1."""
    return sum(np.asarray(b) for (_, f), b in zip(terms, betas, strict=True) if all(row[v] == f[v] for v in f))


def feelders_ivanovs(tables, arities, class_, beta):
    """Algorithm 1 (their Figure 1 and section 4.4): tables with the class posterior of given coefficients.

    ``beta[S, states on S]`` holds β(1), β(2), ...; S is a sorted tuple. P(X_i | π, C=0) is free, and stays as in
    ``tables``.
    """
    graph = {v: parents for v, (parents, _) in tables.items()}
    families = class_families(graph, class_)
    known = {child: {} for child in families}  # the log ratios so far, by (states on the family, class)
    new = {child: dict(table) for child, (_, table) in tables.items()}

    def sum_known(S, f, a, besides):
        """All terms of β_S^f(a) but those of the table of ``besides`` that are not known yet."""
        total = 0.0
        for child, family in families.items():
            if family >= set(S):
                for T in subsets(S):
                    state = tuple((v, f[v] if v in T else 0) for v in sorted(family))
                    if (state, a) in known[child]:
                        total += (-1) ** (len(S) - len(T)) * known[child][state, a]
                    else:
                        assert child == besides
        return total

    def set_table(child, state, probabilities):
        parents = graph[child]
        new[child][(state[child], *(state[v] for v in parents))] = probabilities

    order = []
    while len(order) < len(graph):
        order += [v for v in graph if v not in order and set(graph[v]) <= set(order)]
    for i in reversed([v for v in order if class_ in graph[v]]):
        for W in subsets(sorted(families[i] - {i})):
            for states in product(*(range(1, arities[v]) for v in W)):
                f = dict(zip(W, states, strict=True))
                where = {v: f.get(v, 0) for v in families[i] - {i}}
                q = [new[i][(k, *({**where, class_: 0}[v] for v in graph[i]))] for k in range(arities[i])]
                S = tuple(sorted({i, *W}))
                for a in range(1, arities[class_]):
                    odds = [1.0]
                    for k in range(1, arities[i]):
                        g = {**f, i: k}
                        odds.append(exp(beta[S, tuple(g[v] for v in S)][a - 1] - sum_known(S, g, a, i)))
                    total = sum(q[k] * odds[k] for k in range(arities[i]))
                    for k in range(arities[i]):
                        set_table(i, {**where, i: k, class_: a}, q[k] * odds[k] / total)
                    for k in range(arities[i]):
                        state = tuple(sorted({**where, i: k}.items()))
                        known[i][state, a] = log(odds[k] / total)
    for W in subsets(sorted(families[class_])):
        for states in product(*(range(1, arities[v]) for v in W)):
            f = dict(zip(W, states, strict=True))
            where = {v: f.get(v, 0) for v in families[class_]}
            odds = [0.0]
            for a in range(1, arities[class_]):
                odds.append(beta[W, states][a - 1] - sum_known(W, f, a, class_))
                known[class_][tuple(sorted(where.items())), a] = odds[-1]
            for a in range(arities[class_]):
                set_table(class_, {**where, class_: a}, exp(odds[a] - log_sum(odds)))
    return {v: (graph[v], new[v]) for v in graph}


def cell_indicators(rows, families, arities):
    """One column for every joint state of every family, seen or not: the design, and (family, states) of columns."""
    columns = [
        (j, states) for j, names in enumerate(families) for states in product(*(range(arities[v]) for v in names))
    ]
    design = [[float(tuple(row[v] for v in families[j]) == states) for j, states in columns] for row in rows]
    return np.array(design), columns


class Conditional:
    """Σ_t w_t ln P(c_t | x_t) - l2/2 Σ shift², its gradient and Hessian, dense, by ``shift`` (cells, classes)."""

    def __init__(self, design, base, classes, weights, l2):
        self.design, self.base, self.weights, self.l2 = design, base, np.asarray(weights, dtype=float), l2
        self.observed = np.eye(base.shape[1])[list(classes)]

    def logs(self, shift):
        """Log of P(c | x) of every row."""
        sums = self.base + self.design @ shift
        return sums - np.array([log_sum(row) for row in sums.tolist()])[:, None]

    def value(self, shift):
        """The penalised conditional log likelihood."""
        return float(self.weights @ (self.observed * self.logs(shift)).sum(axis=1) - self.l2 / 2 * (shift**2).sum())

    def gradient(self, shift):
        """Its first derivatives."""
        rest = self.observed - np.exp(self.logs(shift))
        return self.design.T @ (self.weights[:, None] * rest) - self.l2 * shift

    def hessian(self, shift):
        """Its second derivatives, (cells * classes) squared."""
        p = np.exp(self.logs(shift))
        size = shift.size
        total = -self.l2 * np.eye(size)
        for x, of_row, weight in zip(self.design, p, self.weights, strict=True):
            total -= weight * np.kron(np.outer(x, x), np.diag(of_row) - np.outer(of_row, of_row))
        return total


def roughness(values, ordered, kind):
    """What a shape, an array over its axes, pays: the first ``ordered[a]`` groups of axis a follow an order."""
    if values.ndim > 1:
        total = 0.0
        for axis, in_order in enumerate(ordered):
            lines = np.moveaxis(values, axis, -1).reshape(-1, values.shape[axis])
            total += sum(roughness(line, (in_order,), "slope") for line in lines) / len(lines)
        return total
    (m,) = ordered
    if kind == "curvature":
        return (m - 1) ** 3 * sum((values[j + 2] - 2 * values[j + 1] + values[j]) ** 2 for j in range(m - 2))
    along = (m - 1) * sum((values[j + 1] - values[j]) ** 2 for j in range(m - 1)) if m else 0.0
    return along + 2 * sum((values[j] - values.mean()) ** 2 for j in range(m, len(values)))


def quadratic_form(value, size):
    """The matrix of a quadratic form, from its values."""
    unit = np.eye(size)
    alone = [value(unit[i]) for i in range(size)]
    return np.array(
        [[(value(unit[i] + unit[j]) - alone[i] - alone[j]) / 2 for j in range(size)] for i in range(size)]
    )


class Smooth(Conditional):
    """Σ_t w_t ln P(c_t | x_t) - ½ Σ_c δ_cᵀ P δ_c, the precision P a matrix over the cells."""

    def __init__(self, design, base, classes, weights, precision):
        super().__init__(design, base, classes, weights, 0.0)
        self.precision = precision

    def value(self, shift):
        return super().value(shift) - float(np.einsum("ic,ij,jc", shift, self.precision, shift)) / 2

    def gradient(self, shift):
        return super().gradient(shift) - self.precision @ shift

    def hessian(self, shift):
        return super().hessian(shift) - np.kron(self.precision, np.eye(shift.shape[1]))

    def maximum(self):
        """The maximum, by Newton's method with halved steps."""
        shift = np.zeros((self.design.shape[1], self.base.shape[1]))
        for _ in range(100):
            step = -np.linalg.solve(self.hessian(shift), self.gradient(shift).ravel()).reshape(shift.shape)
            while self.value(shift + step) < self.value(shift) - 1e-10:
                step = step / 2
            shift = shift + step
            if np.abs(step).max() < 1e-12:
                break
        return shift


def is_separated(design, classes, n_classes):
    """Whether some direction d has (d[c_t] - d[c])·x_t >= 0 for all rows t and classes c, and > 0 for one of them.

    By linear programming: the most pairs (t, c) that one direction can raise by 1. No row may have weight 0.
    """
    from scipy.optimize import linprog

    seen = sorted({(tuple(x), c) for x, c in zip(design.tolist(), classes, strict=True)})
    pairs = [(x, c, other) for x, c in seen for other in range(n_classes) if other != c]
    if not pairs:
        return False
    size = design.shape[1] * n_classes
    matrix = np.zeros((len(pairs), size + len(pairs)))
    for j, (x, c, other) in enumerate(pairs):
        direction = np.zeros((design.shape[1], n_classes))
        direction[:, c] -= x
        direction[:, other] += x
        matrix[j, :size] = direction.ravel()
        matrix[j, size + j] = 1
    bounds = [(None, None)] * size + [(0, 1)] * len(pairs)
    cost = [0.0] * size + [-1.0] * len(pairs)
    found = linprog(cost, A_ub=matrix, b_ub=np.zeros(len(pairs)), bounds=bounds)
    assert found.status == 0
    return -found.fun > 0.5


def dealt(weights, folds):
    """Whole weights of rows by classes, as cards dealt out one by one, class after class."""
    parts = np.zeros((folds, *weights.shape))
    card = 0
    for c in range(weights.shape[1]):
        for t in range(weights.shape[0]):
            for _ in range(int(weights[t, c])):
                parts[card % folds, t, c] += 1
                card += 1
    return parts


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


def sink_optimum(features, local, max_parents=None, required=(), forbidden=()):
    """Highest sum of ``local(i, S)`` over acyclic graphs: best sinks, every admitted family at every step."""
    features = tuple(features)

    @cache
    def highest(child, others):
        return max(
            (
                local(child, parents)
                for parents in subsets(others)
                if admitted(child, parents, max_parents, required, forbidden)
            ),
            default=-inf,
        )

    @cache
    def best(members):
        rests = {sink: tuple(v for v in members if v != sink) for sink in members}
        return max((best(rest) + highest(sink, rest) for sink, rest in rests.items()), default=0.0)

    return best(features)


def proved_bound(case, features, lists):
    """What a case of a proof shows about every acyclic choice among lists: names to [(set of parents, score), ...].

    By the class names ``Duals``, ``Split`` and ``Exhaustion``, and the formulas written there.
    """
    kind = type(case).__name__
    if kind == "Split":
        absent, present = dict(lists), dict(lists)
        absent[case.child] = [own for own in lists[case.child] if case.parent not in own[0]]
        present[case.child] = [own for own in lists[case.child] if case.parent in own[0]]
        present[case.parent] = [own for own in lists[case.parent] if case.child not in own[0]]
        return max(proved_bound(case.absent, features, absent), proved_bound(case.present, features, present))
    if kind == "Exhaustion":

        def local(child, parents):
            outside = set(lists) - set(features)
            return max((score for own, score in lists[child] if own - outside == set(parents)), default=-inf)

        return sink_optimum(features, local)
    total = 0.0
    for name in features:
        total += max(
            (
                score + sum(z for cluster, k, z in case.clusters if name in cluster and len(own & set(cluster)) < k)
                for own, score in lists[name]
            ),
            default=-inf,
        )
    return total - sum(k * z for _, k, z in case.clusters)


def averaged_one_dependence(rows, weights, arities, ess, min_weight):
    """P(c, x) of every joint state, the class last: the mixture of estimators, naive Bayes where there is none."""
    *features, class_ = range(len(arities))
    pair = {(i, j): eap(rows, weights, arities, j, (class_, i), ess) for i in features for j in features if i != j}
    single = {i: eap(rows, weights, arities, i, (class_,), ess) for i in features}
    prior = eap(rows, weights, arities, class_, (), ess)
    seen = {i: counts(rows, weights, arities, [i]) for i in features}
    mass = {}
    for state in product(*map(range, arities)):
        c = state[class_]
        parents = [i for i in features if seen[i][state[i],] >= min_weight]
        mass[state] = sum(
            prior[c,] * single[i][state[i], c] * prod(pair[i, j][state[j], c, state[i]] for j in features if j != i)
            for i in parents
        )
        if not parents:
            mass[state] = prior[c,] * prod(single[i][state[i], c] for i in features)
    total = sum(mass.values())
    return {state: value / total for state, value in mass.items()}


def averaged_two_dependence(rows, weights, arities, ess):
    """P(c, x) of every joint state, the class last: the mean over pairs of features, or naive Bayes."""
    *features, class_ = range(len(arities))
    prior = eap(rows, weights, arities, class_, (), ess)
    single = {i: eap(rows, weights, arities, i, (class_,), ess) for i in features}
    second = {(i, j): eap(rows, weights, arities, j, (class_, i), ess) for i, j in combinations(features, 2)}
    third = {
        (i, j, k): eap(rows, weights, arities, k, (class_, i, j), ess)
        for i, j in combinations(features, 2)
        for k in features
        if k not in (i, j)
    }
    mass = {}
    for state in product(*map(range, arities)):
        c = state[class_]
        terms = [
            prior[c,]
            * single[i][state[i], c]
            * second[i, j][state[j], c, state[i]]
            * prod(third[i, j, k][state[k], c, state[i], state[j]] for k in features if k not in (i, j))
            for i, j in combinations(features, 2)
        ]
        few = prior[c,] * prod(single[i][state[i], c] for i in features)
        mass[state] = sum(terms) / len(terms) if terms else few
    return mass


def weighted_naive_bayes_likelihood(rows, weights, arities, exponents, ess):
    """Σ weight ln P(c | x) with P(c | x) ∝ P(c) Π P(x_i | c)^w_i, the class last; and the posterior of every row."""
    *features, class_ = range(len(arities))
    prior = eap(rows, weights, arities, class_, (), ess)
    tables = {i: eap(rows, weights, arities, i, (class_,), ess) for i in features}
    total, posteriors = 0.0, []
    for row, weight in zip(rows, weights, strict=True):
        joint = [
            log(prior[c,]) + sum(exponents[i] * log(tables[i][row[i], c]) for i in features)
            for c in range(arities[class_])
        ]
        top = log_sum(joint)
        posteriors.append([value - top for value in joint])
        total += weight * (joint[row[class_]] - top)
    return total, posteriors


def averaged_naive_bayes(rows, weights, arities, ess, arc_prior):
    """P(c, x) of every joint state: the mean over all selections of features, weighted by prior and likelihood."""
    *features, class_ = range(len(arities))
    mass, total = dict.fromkeys(product(*map(range, arities)), 0.0), 0.0
    selections = [{i: (class_,) if i in own else () for i in features} | {class_: ()} for own in subsets(features)]
    scores = [structure_score(rows, weights, arities, parents, ess) for parents in selections]
    for parents, score in zip(selections, scores, strict=True):
        chosen = [i for i in features if parents[i]]
        weight = arc_prior ** len(chosen) * (1 - arc_prior) ** (len(features) - len(chosen))
        weight *= exp(score - max(scores))
        tables = {v: eap(rows, weights, arities, v, of_v, ess) for v, of_v in parents.items()}
        total += weight
        for state in mass:
            mass[state] += weight * prod(
                table[(state[v], *(state[p] for p in parents[v]))] for v, table in tables.items()
            )
    return {state: value / total for state, value in mass.items()}


def k_dependence(rows, weights, arities, k, tolerance=1e-9):
    """The order of the features by I(X_i; C), and each one's feature parents by I(X_i; X_j | C); the class last."""
    *features, class_ = range(len(arities))

    def best(candidates, value):
        top = max(map(value, candidates))
        return min(v for v in candidates if value(v) >= top - tolerance)

    def gain(i, given, j):
        parents = [class_] * given
        more = log_likelihood(rows, weights, arities, i, [*parents, j])
        return more - log_likelihood(rows, weights, arities, i, parents)

    order, parents = [], {}
    while len(order) < len(features):
        i = best([v for v in features if v not in order], lambda v: gain(v, 0, class_))
        chosen = []
        while len(chosen) < min(k, len(order)):
            chosen.append(best([j for j in order if j not in chosen], lambda j, i=i: gain(i, 1, j)))
        order.append(i)
        parents[i] = sorted(chosen)
    return order, parents


def selective_k_dependence(rows, weights, arities, most, ess):
    """Leave-one-out likelihood for every number of features in the order of kDB and every k up to a limit."""
    class_ = len(arities) - 1
    found = {}
    for k in range(min(most, class_ - 1) + 1):
        order, parents = k_dependence(rows, weights, arities, k)
        for m in range(class_ + 1):
            graph = {class_: (), **{v: (class_, *parents[v]) for v in order[:m]}}
            left = dict.fromkeys(order[m:], ())
            found[m, k] = leave_one_out(rows, weights, arities, {**graph, **left}, ess)
    return found


def conditional_log_likelihood(rows, weights, arities, parents):
    """Σ w ln P(c | x) at the maximum likelihood parameters, the class last: products of every table's entries."""
    *_, class_ = range(len(arities))
    tables = {v: maximum_likelihood(rows, weights, arities, v, of_v) for v, of_v in parents.items()}
    total = 0.0
    for row, weight in zip(rows, weights, strict=True):
        joint = []
        for c in range(arities[class_]):
            state = (*row[:-1], c)
            joint.append(prod(tables[v][(state[v], *(state[u] for u in of_v))] for v, of_v in parents.items()))
        total += weight * log(joint[row[-1]] / sum(joint))
    return total


def conditional_description_length(rows, weights, arities, parents):
    """½ ln N |Θ| minus the conditional log likelihood."""
    parameters = sum((arities[v] - 1) * prod(arities[u] for u in of_v) for v, of_v in parents.items())
    return log(max(sum(weights), 1.0)) / 2 * parameters - conditional_log_likelihood(rows, weights, arities, parents)


def moves(graph, max_parents=None, required=(), forbidden=()):
    """All graphs with one arc less, then with one more, then with one turned round; by child, then by parent."""
    found = []
    for kind in ("delete", "add", "reverse"):
        for child, of_child in graph.items():
            for parent in graph:
                changed = {v: set(of_v) for v, of_v in graph.items()}
                if child == parent or (parent in of_child) != (kind != "add"):
                    continue
                changed[child] ^= {parent}
                if kind == "reverse":
                    changed[parent] |= {child}
                lists = {v: tuple(sorted(of_v)) for v, of_v in changed.items()}
                if is_acyclic(lists) and all(
                    admitted(v, of_v, max_parents, required, forbidden) for v, of_v in lists.items()
                ):
                    found.append(lists)
    return found


def climb(start, score, tolerance, tabu=0, **constraints):
    """Hill climbing as it is described, every graph scored from scratch: the best graph and its score."""
    graph, best, idle, recent = start, start, 0, [start]
    while True:
        candidates = [(score(other), other) for other in moves(graph, **constraints) if other not in recent]
        if not candidates or (tabu and idle >= tabu):
            return best, score(best)
        highest = max(value for value, _ in candidates)
        if not tabu and highest <= score(graph) + tolerance:
            return best, score(best)
        graph = next(other for value, other in candidates if value >= highest - tolerance)
        recent = [*recent, graph][-tabu:] if tabu else []
        idle = 0 if score(graph) > score(best) + tolerance else idle + 1
        best = best if idle else graph


def graphs_by_masks(n):
    """All acyclic graphs over n variables, as masks of parents: every choice of parents among those before."""
    found = set()
    for order in permutations(range(n)):
        for chosen in product(*(range(1 << place) for place in range(n))):
            parents = [0] * n
            for place, (child, picked) in enumerate(zip(order, chosen, strict=True)):
                parents[child] = sum(1 << order[k] for k in range(place) if picked >> k & 1)
            found.add(tuple(parents))
    return sorted(found)


def orders_of(graph):
    """How many orders have parents before children."""
    return sum(
        all(order.index(p) < order.index(v) for v, of in graph.items() for p in of) for order in permutations(graph)
    )


def graph_weights(all_graphs, local, prior):
    """Logarithms of prior times likelihood of every graph (parents by variable), in the order given.

    By the prior "orders", a graph counts once for each of its orders, and a set of k of the n - 1 other variables has
    the weight 1 / C(n - 1, k); otherwise all graphs have the same prior.
    """
    weights = []
    for graph in all_graphs:
        total = sum(local(v, tuple(parents)) for v, parents in graph.items())
        if prior == "orders":
            total += log(orders_of(graph)) - sum(
                log(comb(len(graph) - 1, len(parents))) for parents in graph.values()
            )
        weights.append(total)
    return weights


def is_class_focused_graph(graph, class_):
    """Whether every arc points to the class or to a child of it; ``graph`` maps a variable to its parents."""
    return all(child == class_ or class_ in of_child or not of_child for child, of_child in graph.items())


def g2_test(rows, weights, x, y, given):
    """G² of X and Y given Z, and its degrees of freedom: states that never occur along with z do not count."""
    strata = {}
    for row, weight in zip(rows, weights, strict=True):
        stratum = strata.setdefault(tuple(row[v] for v in given), {})
        stratum[row[x], row[y]] = stratum.get((row[x], row[y]), 0.0) + weight
    statistic, freedom = 0.0, 0
    for n_xy in strata.values():
        n_x = {a: sum(n for (s, _), n in n_xy.items() if s == a) for a, _ in n_xy}
        n_y = {b: sum(n for (_, s), n in n_xy.items() if s == b) for _, b in n_xy}
        n_z = sum(n_xy.values())
        statistic += 2 * sum(n * log(n * n_z / (n_x[a] * n_y[b])) for (a, b), n in n_xy.items())
        freedom += (len(n_x) - 1) * (len(n_y) - 1)
    return statistic, freedom


def d_separated(graph, x, y, given):
    """Whether a set separates two variables of a graph: no path in the moral graph of their ancestors avoids it."""
    kept = {x, y, *given}
    while more := {u for v in kept for u in graph[v]} - kept:
        kept |= more
    linked = {frozenset((u, v)) for v in kept for u in graph[v]}
    linked |= {frozenset(pair) for v in kept for pair in combinations(graph[v], 2)}
    reached = {x}
    while more := {v for v in kept - reached - set(given) if any(frozenset((u, v)) in linked for u in reached)}:
        reached |= more
    return y not in reached


def neighbours_in(graph, v):
    """Parents and children of a variable."""
    return {*graph[v], *(child for child, of_child in graph.items() if v in of_child)}


def max_min_candidates(n, x, association, most=None):
    """MMPC as it is described, before the correction for symmetry; ``association(x, y, given)`` < 0: independent."""
    chosen = []
    while True:
        least = {
            y: min(association(x, y, given) for given in subsets(chosen, most))
            for y in range(n)
            if y != x and y not in chosen
        }
        dependent = {y: value for y, value in least.items() if value >= 0}
        if not dependent:
            break
        chosen.append(min(y for y, value in dependent.items() if value == max(dependent.values())))
    for y in tuple(chosen):
        if any(association(x, y, given) < 0 for given in subsets([v for v in chosen if v != y], most)):
            chosen.remove(y)
    return chosen


def hiton_candidates(n, x, association, most=None):
    """Interleaved HITON-PC, before the correction for symmetry: the newest candidate is tested first."""
    alone = {y: association(x, y, ()) for y in range(n) if y != x}
    chosen = []
    for new in sorted((y for y in alone if alone[y] >= 0), key=lambda y: (-alone[y], y)):
        for y in (new, *chosen):
            rest = [v for v in {*chosen, new} if v != y]
            if any(association(x, y, given) < 0 for given in subsets(rest, most)):
                chosen = [v for v in chosen if v != y]
                if y == new:
                    break
            elif y == new:
                chosen = [*chosen, new]
    return chosen


def pcmb_candidates(n, x, association, most=None):
    """GetPCD of PCMB."""
    chosen, left = [], [y for y in range(n) if y != x]
    while True:
        before = list(chosen)
        least = {y: min(association(x, y, given) for given in subsets(chosen, most)) for y in left}
        left = [y for y in left if least[y] >= 0]
        if left:
            best = min(y for y in left if least[y] == max(least[v] for v in left))
            chosen, left = [*chosen, best], [y for y in left if y != best]
        rest = {y: [v for v in chosen if v != y] for y in chosen}
        chosen = [y for y in chosen if all(association(x, y, given) >= 0 for given in subsets(rest[y], most))]
        if chosen == before:
            return chosen


def score_based_candidates(rows, weights, arities, x, ess, spouses=False):
    """SLL before the correction for symmetry, or S²TMB: the best of all graphs over a few variables at a time."""

    def best(members):
        members = sorted(members)
        named = (
            {members[v]: [members[u] for u in of_v] for v, of_v in graph.items()} for graph in graphs(len(members))
        )
        return max(named, key=lambda graph: structure_score(rows, weights, arities, graph, ess))

    found, others = set(), set(range(len(arities))) - {x}
    for y in sorted(others):
        found = neighbours_in(best({x, y, *found}), x)
    if spouses:
        of_children = set()
        for y in sorted(others - found):
            graph = best({x, y, *found, *of_children})
            found = neighbours_in(graph, x)
            of_children = {u for of_v in graph.values() if x in of_v for u in of_v} - found - {x}
    return found


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
    held = [(a is None and value == b) or (a is not None and a < value <= b) for a, b, _ in level]
    return held.index(True)


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


def most_lost_columns(rows, single, most_lost):
    """Columns whose missing cells are a state: (holes, weight, class) of every row, columns of a single state."""

    def weight(chosen, label=None):
        return sum(w for holes, w, c in rows if label in (None, c) and any(holes[j] for j in chosen))

    def lost(chosen):
        shares = [weight(chosen) / sum(w for _, w, _ in rows)]
        for label in {c for _, w, c in rows if w > 0}:
            shares.append(weight(chosen, label) / sum(w for _, w, c in rows if c == label))
        return max(shares)

    holed = [j for j in range(len(rows[0][0])) if weight([j]) > 0]
    own = {j for j in holed if lost([j]) > most_lost + 1e-9}
    while True:
        rest = [j for j in holed if j not in own and j not in single]
        if lost(rest) <= most_lost + 1e-9:
            return own
        own.add(max(rest, key=lambda j: (weight([j]), -j)))


def pooled_posterior(logs_of_members, weights, biases):
    """P(c | x) of a logarithmic pool: exp(b_c + Σ_m w_m ln P_m(c | x)), normalised."""
    values = [
        exp(biases[c] + sum(w * logs[c] for w, logs in zip(weights, logs_of_members, strict=True)))
        for c in range(len(biases))
    ]
    return [value / sum(values) for value in values]


def pool_centre(logs, codes, row_weights):
    """Shares of the members: their likelihoods on held-out rows to the power 1/√N, N being the weight of the rows."""
    total = sum(row_weights)
    powers = [
        exp(sum(v * of_row[m][c] for of_row, c, v in zip(logs, codes, row_weights, strict=True)) / total**0.5)
        for m in range(len(logs[0]))
    ]
    return [power / sum(powers) for power in powers]


def pool_objective(logs, codes, row_weights, weights, biases, ridge, centre):
    """What the weights of a pool maximise; ``logs[t][m][c]``."""
    fit = sum(
        v * log(pooled_posterior(of_row, weights, biases)[c])
        for of_row, c, v in zip(logs, codes, row_weights, strict=True)
    )
    offset = sum((w - p) ** 2 for w, p in zip(weights, centre, strict=True)) + sum(b**2 for b in biases)
    return fit - ridge / 2 * offset


def hierarchical_entry(rows, weights, arities, child, parents, strengths, states):
    """θ(child | parents) at the states of all variables: shrunk to the same with the last parent dropped."""
    if parents is None:
        return 1 / arities[child]
    n_j = sum(w for row, w in zip(rows, weights, strict=True) if all(row[v] == states[v] for v in parents))
    n_jk = sum(
        w
        for row, w in zip(rows, weights, strict=True)
        if row[child] == states[child] and all(row[v] == states[v] for v in parents)
    )
    fewer = parents[:-1] if parents else None
    m = strengths[min(len(parents), len(strengths) - 1)]
    return (n_jk + m * hierarchical_entry(rows, weights, arities, child, fewer, strengths, states)) / (n_j + m)


def conditional_information(rows, weights, x, y, given):
    """N times I(x; y | given), by its definition."""
    cells = {}
    for row, w in zip(rows, weights, strict=True):
        if w > 0:
            key = (row[x], row[y], tuple(row[v] for v in given))
            cells[key] = cells.get(key, 0.0) + w
    total = 0.0
    for (a, b, g), w in cells.items():
        of_g = sum(v for (_, _, h), v in cells.items() if h == g)
        of_a = sum(v for (c, _, h), v in cells.items() if h == g and c == a)
        of_b = sum(v for (_, c, h), v in cells.items() if h == g and c == b)
        total += w * log(w * of_g / (of_a * of_b))
    return total


def hierarchical_posterior(rows, weights, arities, orders, strengths, row):
    """P(class | features) of hierarchical tables; ``orders[v]`` are the ordered parents, the class is the last."""
    c = len(arities) - 1
    joint = []
    for label in range(arities[c]):
        states = [*row[:c], label]
        joint.append(
            prod(
                hierarchical_entry(rows, weights, arities, v, order, strengths, states) for v, order in orders.items()
            )
        )
    return [value / sum(joint) for value in joint]


def network_joint(tables, arities):
    """Return the probability of every joint state of a network's variables, by the chain rule.

    ``tables[v]`` is the parents of v and P(v | parents), indexed by the state of v, then those of the parents.
    """
    joint = {}
    for states in product(*map(range, arities)):
        p = 1.0
        for v, (parents, values) in tables.items():
            p *= values[(states[v], *(states[parent] for parent in parents))]
        joint[states] = p
    return joint


def consistent(joint, observed):
    """Return the joint states that agree with what is observed, a mapping of variable to state."""
    return {states: p for states, p in joint.items() if all(states[v] == state for v, state in observed.items())}


def averaged_predictive(all_graphs, log_weights, problem, ess, evidence):
    """Ln P(c, evidence) for every class, averaged over graphs of the features in which the class is a parent of all.

    ``problem`` has rows (the class last), weights and arities; ``log_weights`` are ln of the graphs' posterior
    weights; ``evidence`` maps observed features to states.
    """
    rows, weights, arities = problem
    class_ = len(arities) - 1
    of_class = []
    for graph, log_weight in zip(all_graphs, log_weights, strict=True):
        families = {class_: (), **{v: (class_, *parents) for v, parents in graph.items()}}
        tables = {v: (parents, eap(rows, weights, arities, v, parents, ess)) for v, parents in families.items()}
        joint = log_joint(tables, arities, class_, evidence)
        of_class.append([log_weight - log_sum(log_weights) + value for value in joint])
    return [log_sum(values) for values in zip(*of_class, strict=True)]
