"""The best structures, by enumeration of orders and graphs."""

from functools import cache
from itertools import permutations
from math import inf, prod

from oracles.graphs import ancestors, branchings, graphs, is_acyclic
from oracles.networks import leave_one_out
from oracles.scores import bdeu_local, bdeu_set_score, log_likelihood
from oracles.tables import subsets


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

    @cache
    def highest(child, before):
        return max(
            (
                local(child, parents)
                for parents in subsets(sorted(before))
                if admitted(child, parents, max_parents, required, forbidden)
            ),
            default=-inf,
        )

    return max(
        sum(highest(child, frozenset(order[:place])) for place, child in enumerate(order))
        for order in permutations(features)
    )


def anb_optimum(rows, weights, arities, ess, **constraints):
    """Highest BDeu of an augmented naive Bayes, class included, by brute force; for four features or so."""
    class_ = len(arities) - 1
    known = {}

    def local(child, parents):
        key = child, tuple(sorted(parents))
        if key not in known:
            known[key] = bdeu_local(rows, weights, arities, child, [class_, *key[1]], ess)
        return known[key]

    class_score = bdeu_local(rows, weights, arities, class_, [], ess)
    return class_score + best_over_orders(range(class_), local, **constraints)


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


def best_consistent_graph(parents, local, k, required=(), forbidden=(), tolerance=1e-9, before=ancestors):
    """Best k-graph consistent with a branching: highest total, and the first smallest parent set of every feature.

    ``before(parents, child)`` are the features that may be parents of a feature.
    """
    total, chosen = 0.0, []
    for child in range(len(parents)):
        scores = {
            of_child: local(child, of_child)
            for of_child in subsets(before(parents, child), k)
            if admitted(child, of_child, k, required, forbidden)
        }
        best = max(scores.values())
        total += best
        chosen.append(next(of_child for of_child, score in scores.items() if score >= best - tolerance))
    return total, chosen


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
