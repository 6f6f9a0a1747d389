"""The union of the families of a pool's members: potentials on common states, and a closed graph over them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from anbexact.models.coding import Coding
from anbexact.models.logit.potentials import Potential, Potentials, over
from anbexact.models.pool.weights import shares
from anbexact.models.structure import Structure

ARRAYS_AT_ONCE = 3
"""Number of temporary arrays of the size of a potential that exist while it is computed."""


@dataclass(frozen=True, eq=False)
class MemberTerms:
    """The contribution of a member to a pool.

    Attributes
    ----------
    weight : float
        Its weight, 0 or more.
    coding : Coding
        Its states.
    potentials : tuple of Potential
        Over these states; the class is the last axis, in the order of the pool's classes.
    """

    weight: float
    coding: Coding
    potentials: Potentials


def union_of_terms(members: Sequence[MemberTerms], biases: Floats, common: Coding) -> Potentials:
    """Return the weighted sum of the members' potentials, one potential for every set of features.

    ``ln P(c | x) = Σ potentials + a function of x``. The mean of a member's logs over the classes, on which no class
    posterior depends, gets the weight w_m / Σ w (equal weights if all w are 0): a pooled joint distribution is a
    geometric mean of the members'. The potentials include one without features and one of every single feature.

    Parameters
    ----------
    members : sequence of MemberTerms
    biases : (classes,) float64
        The constant added to the log odds of every class.
    common : Coding
        The common refinement of the members' codings.

    Raises
    ------
    MemoryError
        If the potentials would not fit into memory; the message names the largest.
    """
    vocabulary = common.vocabulary
    place = {name: j for j, name in enumerate(vocabulary.features)}
    sets = {frozenset[Hashable]()} | {frozenset([name]) for name in vocabulary.features}
    sets |= {frozenset(potential.features) for member in members for potential in member.potentials}
    ordered = {of_set: tuple(sorted(of_set, key=place.__getitem__)) for of_set in sets}
    shape = {name: vocabulary.arity(name) for name in vocabulary.features}
    _check_memory(ordered.values(), shape, len(biases), "the terms of the pool")
    in_joint = shares(np.array([member.weight for member in members])).tolist()
    found = {of_set: np.zeros([*(shape[v] for v in names), len(biases)]) for of_set, names in ordered.items()}
    found[frozenset()] += biases
    for member, share in zip(members, in_joint, strict=True):
        for potential in member.potentials:
            names = ordered[frozenset(potential.features)]
            axes = [potential.features.index(name) for name in names]
            logs = potential.logs.transpose([*axes, len(axes)])
            mean = logs.mean(axis=-1, keepdims=True)
            logs = member.weight * (logs - mean) + share * mean
            for axis, name in enumerate(names):
                logs = np.take(logs, member.coding.places_of(common, name), axis=axis)
            found[frozenset(names)] += logs
    assert vocabulary.class_name is not None
    by_size = sorted(ordered, key=lambda of_set: (len(of_set), [place[name] for name in ordered[of_set]]))
    return tuple(
        Potential(ordered[of_set][-1] if of_set else vocabulary.class_name, ordered[of_set], found[of_set])
        for of_set in by_size
    )


def closed_structure(potentials: Potentials, class_name: Hashable, shape: Mapping[Hashable, int]) -> Structure:
    """Return a graph in which every potential lies within a family, and the parents of every feature are adjacent.

    The class is a parent of every feature. Features are eliminated one after the other, the one whose neighbours have
    the fewest joint states first; its neighbours become its parents, and neighbours of each other.

    Parameters
    ----------
    potentials : tuple of Potential
    class_name : Hashable
    shape : mapping of feature to its number of states
        In the order of the table.
    """
    neighbours: dict[Hashable, set[Hashable]] = {name: set() for name in shape}
    for potential in potentials:
        for name in potential.features:
            neighbours[name] |= set(potential.features) - {name}
    place = {name: j for j, name in enumerate(shape)}
    parents: dict[Hashable, tuple[Hashable, ...]] = {class_name: ()}
    while neighbours:
        child = min(neighbours, key=lambda name: (prod(shape[v] for v in neighbours[name]), -place[name]))
        others = neighbours.pop(child)
        for other in others:
            neighbours[other] |= others - {other}
            neighbours[other].discard(child)
        parents[child] = (class_name, *sorted(others, key=place.__getitem__))
    in_order = {name: parents[name] for name in (*shape, class_name)}
    return Structure.given(class_name, in_order, float("nan"))


def spread_over(potentials: Potentials, structure: Structure, shape: Mapping[Hashable, int]) -> Potentials:
    """Return the sum of potentials as one potential for the class and each feature, over its family in a structure.

    Raises
    ------
    MemoryError
        If they would not fit into memory; the message names the largest.
    """
    c = structure.class_name
    families = {name: (name, *(v for v in structure.parents[name] if v != c)) for name in shape}
    families = {c: (), **families}
    n_classes = potentials[0].logs.shape[-1]
    _check_memory(families.values(), shape, n_classes, "the closed network of the pool")
    sizes = {**shape, c: n_classes}
    found = {name: np.zeros([*(shape[v] for v in features), n_classes]) for name, features in families.items()}
    for potential in potentials:
        wanted = set(potential.features)
        child = next(name for name, features in families.items() if wanted <= set(features) and (wanted or name == c))
        found[child] += over(potential.logs, (*potential.features, c), (*families[child], c), sizes)
    return tuple(Potential(name, features, found[name]) for name, features in families.items())


def _check_memory(
    families: Collection[tuple[Hashable, ...]], shape: Mapping[Hashable, int], n_classes: int, what: str
) -> None:
    """Refuse arrays over families that would not fit into memory."""
    sizes = {names: 8 * n_classes * prod(shape[name] for name in names) for names in families}
    largest = max(sizes, key=sizes.__getitem__)
    needed = sum(sizes.values()) + ARRAYS_AT_ONCE * sizes[largest]
    if needed > available_memory():
        raise MemoryError(
            f"{what} would need {human_bytes(needed)}, most of it for the {prod(shape[v] for v in largest):,} joint "
            f"states of {', '.join(map(str, largest))}, on the common refinement of the members' cut points. Pool "
            "members with fewer parents or intervals (for automatic members, readable=True); predict and explain of "
            "the pool do not need this"
        )
