"""Greedy search: a quick structure to fall back on when an exact search runs out of time."""

from __future__ import annotations

from collections.abc import Hashable

import networkx as nx

from anbexact.limits import Deadline
from anbexact.scores import Score
from anbexact.search.constraints import Constraints
from anbexact.table import DiscreteTable


def add_arcs(
    table: DiscreteTable, score: Score, class_name: Hashable, constraints: Constraints, deadline: Deadline
) -> dict[Hashable, tuple[Hashable, ...]]:
    """Add the arc between features that gains most, while one gains; the class stays a parent of all.

    Starts from the required arcs and stops early at the deadline.

    Returns
    -------
    dict
        Feature parents of every feature, in table order.
    """
    features = table.vocabulary.features

    def family(chosen: frozenset[Hashable]) -> list[Hashable]:
        return [class_name, *(name for name in features if name in chosen)]

    parents = {child: constraints.required[child] for child in features}
    current: dict[Hashable, float] = {}
    gains: dict[tuple[Hashable, Hashable], float] = {}

    def refresh(child: Hashable) -> None:
        current[child] = score.local_score(table, child, family(parents[child]))
        for parent in features:
            gains.pop((parent, child), None)
            extended = parents[child] | {parent}
            if parent == child or parent in parents[child] or not constraints.admits(child, extended):
                continue
            gains[parent, child] = score.local_score(table, child, family(extended)) - current[child]

    for child in features:
        if deadline.passed:
            break
        refresh(child)
    graph = nx.DiGraph([(parent, child) for child in features for parent in parents[child]])
    graph.add_nodes_from(features)
    while gains and not deadline.passed:
        edge = max(gains, key=gains.__getitem__)
        if gains.pop(edge) <= 0:
            break
        parent, child = edge
        if nx.has_path(graph, child, parent):
            continue
        graph.add_edge(parent, child)
        parents[child] |= {parent}
        refresh(child)
    return {child: tuple(name for name in features if name in parents[child]) for child in features}
