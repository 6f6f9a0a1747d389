"""Independence tests, and parents and children, as published."""

from math import log

from oracles.graphs import graphs
from oracles.scores import structure_score
from oracles.tables import subsets


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
