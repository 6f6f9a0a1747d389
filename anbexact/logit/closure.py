"""Whether a network can have every posterior of its logistic regression, and the arcs that make it so."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from anbexact.structure import Structure, parents_first

Arc = tuple[Hashable, Hashable]


def obstacles(structure: Structure) -> tuple[tuple[Hashable, Hashable, Hashable], ...]:
    """Return, as (child, parent, parent), what keeps the network from having every posterior of its regression.

    These are the children of the class of which two parents are not adjacent, unless both are parents of the class;
    the class itself may be one of the two. There are none if and only if network and logistic regression index the
    same conditional distributions of the class (Feelders and Ivanovs, Theorem 2).
    """
    of_class = set(structure.parents[structure.class_name])
    return tuple(
        (child, a, b)
        for child in structure.children(structure.class_name)
        for a, b in structure.unmarried(child)
        if not of_class.issuperset((a, b))
    )


def closing_arcs(structure: Structure, shape: Mapping[Hashable, int]) -> tuple[Arc, ...]:
    """Return arcs after whose addition there are no `obstacles`.

    Children of the class are worked off from the last, and the missing arcs between their parents added, from
    the earlier to the later in a topological order that has the class as early as can be. Of several children that
    come last, the one whose missing arcs join the fewest pairs of states is taken first (``shape`` has the numbers of
    states), then the later in the order. This is elimination with a greedy order: not always the fewest arcs.
    """
    if not obstacles(structure):
        return ()
    c = structure.class_name
    ancestors = _ancestors(structure, c)
    order = sorted(structure.topological_order(), key=lambda name: 0 if name in ancestors else 1 if name == c else 2)
    rank = {name: place for place, name in enumerate(order)}
    parents = {name: set(of_name) for name, of_name in structure.parents.items()}
    later = {name: set(structure.children(name)) for name in order}
    added: list[Arc] = []

    def missing(child: Hashable) -> list[Arc]:
        if c not in parents[child]:
            return []
        present = sorted(parents[child], key=rank.__getitem__)
        pairs = [
            (a, b)
            for place, b in enumerate(present)
            for a in present[:place]
            if a not in parents[b] and not parents[c].issuperset((a, b))
        ]
        with_class = [pair for pair in pairs if c in pair]
        return with_class or pairs  # once a parent of the class, a feature need not be adjacent to the others

    def cost(child: Hashable) -> tuple[int, int]:
        return sum(shape[a] * shape[b] for a, b in missing(child)), -rank[child]

    waiting = {name for name in order if rank[name] > rank[c]}
    while waiting:
        child = min((name for name in waiting if not later[name]), key=cost)
        while arcs := missing(child):
            for a, b in arcs:
                parents[b].add(a)
                later[a].add(b)
            added += arcs
        waiting.remove(child)
        for parent in parents[child]:
            later[parent].discard(child)
    return tuple(added)


def with_arcs(structure: Structure, arcs: tuple[Arc, ...]) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return the parents of all variables with some arcs more; the class first, then in the structure's order."""
    place = {name: j for j, name in enumerate((structure.class_name, *structure.features))}
    parents = {name: set(of_name) for name, of_name in structure.parents.items()}
    for parent, child in arcs:
        parents[child].add(parent)
    sorted_parents = {name: tuple(sorted(of_name, key=place.__getitem__)) for name, of_name in parents.items()}
    parents_first(sorted_parents)
    return sorted_parents


def _ancestors(structure: Structure, name: Hashable) -> set[Hashable]:
    found: set[Hashable] = set()
    waiting = list(structure.parents[name])
    while waiting:
        ancestor = waiting.pop()
        if ancestor not in found:
            found.add(ancestor)
            waiting += structure.parents[ancestor]
    return found
