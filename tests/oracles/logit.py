"""Networks as logistic regressions, and maxima of the conditional likelihood."""

from itertools import combinations, product
from math import exp, log

import numpy as np

from oracles.graphs import class_families
from oracles.tables import log_sum, subsets


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
        p, size = np.exp(self.logs(shift)), shift.size
        of_rows = np.array([np.diag(of_row) - np.outer(of_row, of_row) for of_row in p])
        x, w = self.design, self.weights
        curved = np.einsum("t,ti,tj,tcd->icjd", w, x, x, of_rows, optimize=True).reshape(size, size)
        return -curved - self.l2 * np.eye(size)


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


def naive_bayes_odds(columns, arities, weights, ess=1.0):
    """The log joint of every row and class under naive Bayes with BDeu tables, less its mean over the classes.

    ``columns`` are the features' states of the rows, ``weights`` those of (rows, classes).
    """
    s = weights.shape[1]
    class_counts = weights.sum(axis=0) + ess / s
    odds = np.tile(np.log(class_counts), (len(weights), 1))
    for states, m in zip(columns, arities, strict=True):
        counts = np.array([weights[states == k].sum(axis=0) for k in range(m)])
        odds += np.log((counts + ess / (m * s)) / class_counts)[states]
    return odds - odds.mean(axis=1, keepdims=True)


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
