"""Scores of families and structures, from their formulas."""

from functools import cache
from itertools import permutations, product
from math import comb, exp, factorial, lgamma, log, log1p, prod

from oracles.tables import counts, families, log_sum


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


def bde_local(rows, weights, arities, child, parents, joint, ess):
    """Prior counts ess P(x, pa), from the joint distribution of a prior network: joint states and probabilities."""

    def prior(fixed):
        return ess * sum(p for states, p in joint.items() if all(states[v] == state for v, state in fixed.items()))

    total = 0.0
    for j in product(*(range(arities[parent]) for parent in parents)):
        given = dict(zip(parents, j, strict=True))
        own = [w for row, w in zip(rows, weights, strict=True) if all(row[v] == s for v, s in given.items())]
        total += lgamma(prior(given)) - lgamma(prior(given) + sum(own))
        for k in range(arities[child]):
            cell = {**given, child: k}
            n = sum(w for row, w in zip(rows, weights, strict=True) if all(row[v] == s for v, s in cell.items()))
            total += lgamma(prior(cell) + n) - lgamma(prior(cell))
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


def acll_standard_error_of_draws(draws):
    """Root of the mean square of ln ΣU + β Σ ln U + γ over draws, with the β and γ that fit them best."""
    beta, gamma, *_ = acll_constants_of_draws(draws)
    residuals = [log(sum(u)) + beta * sum(log(v) for v in u) + gamma for u in draws]
    return (sum(r**2 for r in residuals) / len(draws)) ** 0.5


def acll_standard_error_uniform(s):
    """√(Var(A) - Cov(A, B)² / Var(B)) for [0, 1]^s: the moments of ln ΣU from the density of a sum of uniforms."""
    from scipy.integrate import quad

    def density(x):
        return sum((-1) ** k * comb(s, k) * (x - k) ** (s - 1) for k in range(int(x) + 1)) / factorial(s - 1)

    def moment(power):
        pieces = (quad(lambda x: log(x) ** power * density(x), k, k + 1, epsabs=1e-13)[0] for k in range(s))
        return sum(pieces)

    beta, _ = acll_constants_uniform(s)
    return (moment(2) - moment(1) ** 2 - s * beta**2) ** 0.5


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
