"""Graphs: all of them, and what they say of independence."""

from functools import cache
from itertools import combinations, permutations, product

from oracles.tables import subsets


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


def edges_of_class(graph, members):
    """What joins every pair in the graphs of an equivalence class: the arcs that some of them have, either way."""
    arcs = {(u, v) for member in members for v, of_v in member.items() for u in of_v}
    return {pair: (pair in arcs, pair[::-1] in arcs) for pair in combinations(graph, 2)}


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


def ancestors(parents, child):
    """The features on the path from the root of a branching to a feature."""
    found = []
    while parents[child] is not None:
        child = parents[child]
        found.append(child)
    return sorted(found)


def visited_before(parents, child):
    """The features before one in the breadth-first order of a branching: nearer to the root, then as their parents.

    Of two at the same depth, the one whose path from the root comes first, feature by feature in table order.
    """

    def place(v):
        path = [v]
        while parents[path[0]] is not None:
            path.insert(0, parents[path[0]])
        return len(path), path

    return sorted(v for v in range(len(parents)) if place(v) < place(child))


def class_families(graph, class_):
    """The class's parents, and for each child of the class φ(i): the child and its other parents."""
    children = {child: of_child for child, of_child in graph.items() if class_ in of_child}
    return {
        class_: set(graph[class_]),
        **{child: {child, *of_child} - {class_} for child, of_child in children.items()},
    }


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


def is_class_focused_graph(graph, class_):
    """Whether every arc points to the class or to a child of it; ``graph`` maps a variable to its parents."""
    return all(child == class_ or class_ in of_child or not of_child for child, of_child in graph.items())


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
