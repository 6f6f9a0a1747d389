"""Markov equivalence classes of graphs: the arcs that all graphs of a class have, and those that may be reversed."""

from __future__ import annotations

from dataclasses import dataclass

from anbexact.search.graphs import Graph, children, elements, parents_first


@dataclass(frozen=True)
class EquivalenceClass:
    """A Markov equivalence class of graphs: the arcs that all of them have, and the edges that may point either way.

    Attributes
    ----------
    parents : tuple of int
        For every node, the mask of the nodes with an arc to it in all graphs.
    neighbours : tuple of int
        For every node, the mask of the nodes joined to it by an undirected edge.
    """

    parents: Graph
    neighbours: Graph

    def adjacent(self, node: int, below: list[int]) -> int:
        """Return the nodes that are joined to a node, given the :func:`children` of all nodes."""
        return self.parents[node] | self.neighbours[node] | below[node]


def class_of_graph(graph: Graph) -> EquivalenceClass:
    """Return the equivalence class of an acyclic graph.

    Chickering's algorithm (*A transformational characterization of equivalent Bayesian network structures*, UAI
    1995): arcs in the order of their heads, parents first, then of their tails, last first, are labelled as compelled
    or reversible.
    """
    order = parents_first(graph)
    place = {v: k for k, v in enumerate(order)}
    compelled = [0] * len(graph)
    for head in order:
        left = graph[head]
        while left:
            tail = max(elements(left), key=place.__getitem__)
            above = compelled[tail]
            if above & ~graph[head]:
                compelled[head] |= graph[head]
                break
            compelled[head] |= above
            left &= ~above
            if graph[head] & ~(graph[tail] | 1 << tail):
                compelled[head] |= left
                break
            left = 0
    reversible = [of_head & ~forced for of_head, forced in zip(graph, compelled, strict=True)]
    back = children(reversible)
    return EquivalenceClass(tuple(compelled), tuple(a | b for a, b in zip(reversible, back, strict=True)))
