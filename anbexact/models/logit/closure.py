"""Whether a network can have every posterior of its logistic regression, and the arcs that make it so."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod

from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import counted, human_bytes
from anbexact.models.logit.potentials import Potential, Potentials, Shape, class_families, over, table_potential
from anbexact.models.logit.terms import count_terms, index_sets
from anbexact.models.parameters.tables import Tables
from anbexact.models.structure import Certificate, Structure

Arc = tuple[Hashable, Hashable]


@dataclass(frozen=True)
class Closure:
    """The arcs that were added to a network so that it can have every posterior of its logistic regression.

    Attributes
    ----------
    arcs : tuple of (parent, child)
        The arcs; empty if there was nothing to add.
    logit_parameters : int
        Number of additional coefficients of the logistic regression.
    network_parameters : int
        Number of additional free probabilities of the network.
    """

    arcs: tuple[Arc, ...]
    logit_parameters: int
    network_parameters: int

    def __str__(self) -> str:
        if not self.arcs:
            return "nothing to add: network and logistic regression are equivalent"
        shown = ", ".join(f"{a} -> {b}" for a, b in self.arcs[:6]) + (", ..." if len(self.arcs) > 6 else "")
        return (
            f"{counted(len(self.arcs), 'arc')} added ({shown}): {self.logit_parameters:,} more coefficients in the "
            f"logistic regression, {self.network_parameters:,} more probabilities in the network"
        )


def obstacles(structure: Structure) -> tuple[tuple[Hashable, Hashable, Hashable], ...]:
    """Return, as (child, parent, parent), what keeps the network from having every posterior of its regression.

    These are the children of the class with two parents that are not adjacent, unless both are parents of the class;
    the class itself may be one of the two. The tuple is empty exactly if network and logistic regression represent
    the same conditional distributions of the class (Feelders and Ivanovs, Theorem 2).
    """
    class_parents = set(structure.parents[structure.class_name])
    return tuple(
        (child, a, b)
        for child in structure.children(structure.class_name)
        for a, b in structure.unmarried(child)
        if not class_parents.issuperset((a, b))
    )


def closing_arcs(structure: Structure, shape: Shape) -> tuple[Arc, ...]:
    """Return arcs that leave no `obstacles` once they are added.

    Variables after the class are eliminated from the last to the first, in a topological order in which the class
    comes as early as possible. If a variable is a child of the class, the missing arcs between its parents are added,
    each from the earlier to the later variable. Of several variables without remaining children, the one is taken
    whose missing arcs join the fewest pairs of states (``shape`` has the numbers of states); ties go to the later in
    the order. The elimination order is greedy, so the arcs are not always the fewest possible.
    """
    if not obstacles(structure):
        return ()
    c = structure.class_name
    before = ancestors(structure, c)
    order = sorted(structure.topological_order(), key=lambda name: 0 if name in before else 1 if name == c else 2)
    rank = {name: place for place, name in enumerate(order)}
    parents = {name: set(of_name) for name, of_name in structure.parents.items()}
    later = {name: set(structure.children(name)) for name in order}
    added: list[Arc] = []

    def missing(child: Hashable) -> list[Arc]:
        """Return the missing arcs between a variable's parents: arcs that join the class alone if there are any."""
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
        """Return the pairs of states that the missing arcs join, and a number that breaks ties."""
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


def with_arcs(structure: Structure, arcs: tuple[Arc, ...]) -> Structure:
    """Return the structure with further arcs; the class comes first among parents, then features in table order."""
    place = {name: j for j, name in enumerate((structure.class_name, *structure.features))}
    parents = {name: set(of_name) for name, of_name in structure.parents.items()}
    for parent, child in arcs:
        parents[child].add(parent)
    ordered = {name: tuple(sorted(of_name, key=place.__getitem__)) for name, of_name in parents.items()}
    certificate = Certificate.unknown("arcs added to another structure")
    return Structure(structure.class_name, ordered, float("nan"), certificate)


def closed_cells(structure: Structure, shape: Shape) -> int:
    """Return the number of cells of the tables of the class and its children after :func:`close`."""
    families = class_families(with_arcs(structure, closing_arcs(structure, shape)))
    return shape[structure.class_name] * sum(prod(shape[name] for name in of_child) for of_child in families.values())


def close(
    structure: Structure, potentials: Potentials, tables: Tables, shape: Shape
) -> tuple[Structure, Potentials, Closure]:
    """Add the `closing_arcs` to a network, without a change of its posterior.

    Parameters
    ----------
    structure, tables
        The network.
    potentials : tuple of Potential
        Its potentials, or their values after a refit.
    shape : mapping of variable to its number of states

    Returns
    -------
    Structure, tuple of Potential, Closure
        The potentials have the same class posterior; the potential of a new child of the class comes from its table.

    Raises
    ------
    MemoryError
        If the tables of the closed network would not fit into memory.
    """
    arcs = closing_arcs(structure, shape)
    c = structure.class_name
    closed = with_arcs(structure, arcs) if arcs else structure
    families = class_families(closed)
    sizes = {name: 8 * shape[c] * prod(shape[v] for v in features) for name, features in families.items()}
    needed = 3 * sum(sizes.values())
    if needed > available_memory():
        largest = max(sizes, key=sizes.__getitem__)
        raise MemoryError(
            f"closing the network adds {len(arcs)} arcs, with which its tables would need {human_bytes(needed)}; the "
            f"largest is that of {largest!r} given {list(closed.parents[largest])}: learn with a lower max_parents"
        )
    old = {potential.child: potential for potential in potentials}
    spread = []
    for name, features in families.items():
        if name in old:
            logs = over(old[name].logs, (*old[name].features, c), (*features, c), shape)
            spread.append(Potential(name, features, logs))
        else:
            spread.append(table_potential(tables[name], features, c, shape))
    closure = Closure(
        arcs,
        _logit_parameters(closed, shape) - _logit_parameters(structure, shape),
        _network_parameters(closed, shape) - _network_parameters(structure, shape),
    )
    return closed, tuple(spread), closure


def _logit_parameters(structure: Structure, shape: Shape) -> int:
    """Return the number of coefficients of a network's logistic regression."""
    sets = index_sets(class_families(structure).values(), structure.features)
    return (shape[structure.class_name] - 1) * count_terms(sets, shape)


def _network_parameters(structure: Structure, shape: Shape) -> int:
    """Return the number of free probabilities of a network."""
    return sum((shape[name] - 1) * prod(shape[v] for v in parents) for name, parents in structure.parents.items())


def ancestors(structure: Structure, name: Hashable) -> set[Hashable]:
    """Return the ancestors of a variable."""
    found: set[Hashable] = set()
    waiting = list(structure.parents[name])
    while waiting:
        ancestor = waiting.pop()
        if ancestor not in found:
            found.add(ancestor)
            waiting += structure.parents[ancestor]
    return found
