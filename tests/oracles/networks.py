"""Tables of networks and what follows from them, by sums over joint states."""

from itertools import combinations, product
from math import exp, inf, log, prod

import numpy as np

from oracles.scores import structure_score
from oracles.tables import completions, counts, log_sum, subsets


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


def hierarchical_entry(rows, weights, arities, child, parents, strengths, exponent, states):
    """θ(child | parents) at the states of all variables: shrunk to the same with the last parent dropped."""
    if parents is None:
        return 1 / arities[child]
    n_j = sum(w for row, w in zip(rows, weights, strict=True) if all(row[v] == states[v] for v in parents))
    n_jk = sum(
        w
        for row, w in zip(rows, weights, strict=True)
        if row[child] == states[child] and all(row[v] == states[v] for v in parents)
    )
    occurring = {
        row[child]
        for row, w in zip(rows, weights, strict=True)
        if w > 0 and all(row[v] == states[v] for v in parents)
    }
    fewer = parents[:-1] if parents else None
    m = strengths[len(parents)] * max(1, len(occurring)) ** exponent
    coarser = hierarchical_entry(rows, weights, arities, child, fewer, strengths, exponent, states)
    return (n_jk + m * coarser) / (n_j + m)


def hierarchical_posterior(rows, weights, arities, orders, strengths, exponent, row):
    """P(class | features) of hierarchical tables; ``orders[v]`` are the ordered parents, the class is the last.

    ``strengths[v]`` are those of variable v, by the number of parents.
    """
    c = len(arities) - 1
    joint = []
    for label in range(arities[c]):
        states = [*row[:c], label]
        joint.append(
            prod(
                hierarchical_entry(rows, weights, arities, v, order, strengths[v], exponent, states)
                for v, order in orders.items()
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


def kl_divergence(joint, other):
    """Σ P(x) ln(P(x) / Q(x)) over the joint states of two distributions, in nats; infinite where only Q is 0."""
    total = 0.0
    for states, p in joint.items():
        if p > 0:
            total += inf if other[states] == 0 else p * log(p / other[states])
    return total


def consistent(joint, observed):
    """Return the joint states that agree with what is observed, a mapping of variable to state."""
    return {states: p for states, p in joint.items() if all(states[v] == state for v, state in observed.items())}
