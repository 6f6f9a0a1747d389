"""Proofs of optimality that can be checked without repeating the search."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from anbexact._runtime.json_checks import listed, mapped, number, reading, references, whole
from anbexact._runtime.json_values import decode, encode
from anbexact.scores import Score

Edge = tuple[Hashable, Hashable]


@dataclass(frozen=True)
class Duals:
    """Multipliers of cluster constraints, which bound the score of every acyclic choice of parent sets.

    In an acyclic graph, at least k features of every set K of more than k features have fewer than k parents in K,
    namely the first k of them in an order of the graph. Therefore, for all z_K ≥ 0,

        score ≤ Σ_i max_W [local(i | W) + Σ_{K ∋ i, |K ∩ W| < k_K} z_K] - Σ_K k_K z_K,

    where W ranges over the admitted parent sets of i.

    Attributes
    ----------
    clusters : tuple of (tuple of features, int, float)
        K, k from 1 to the number of its features less 1, and z_K in nats.

    References
    ----------
    Cussens, Bayesian network learning with cutting planes, UAI 2011; Bartlett and Cussens, Artificial Intelligence
    244 (2017).
    """

    clusters: tuple[tuple[tuple[Hashable, ...], int, float], ...]

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form; see :meth:`Proof.to_dict`."""
        return {"clusters": [[[positions[name] for name in cluster], *rest] for cluster, *rest in self.clusters]}


@dataclass(frozen=True)
class Split:
    """Two cases: the arc from ``parent`` to ``child`` is absent, or it is present.

    Attributes
    ----------
    parent, child : Hashable
        The arc.
    absent, present : Duals, Split
        Proofs of the same bound for both cases. In the first, the parent sets of ``child`` do not contain ``parent``;
        in the second, they do, and the parent sets of ``parent`` do not contain ``child``.
    """

    parent: Hashable
    child: Hashable
    absent: Case
    present: Case

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form; see :meth:`Proof.to_dict`."""
        return {
            "arc": [positions[self.parent], positions[self.child]],
            "absent": self.absent.to_dict(positions),
            "present": self.present.to_dict(positions),
        }


@dataclass(frozen=True)
class Exhaustion:
    """A component small enough to enumerate all orders by dynamic programming."""

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form; see :meth:`Proof.to_dict`."""
        return {}


@dataclass(frozen=True)
class FewestClassParameters:
    """The I-maps of all orders of the features, compared by dynamic programming or by an integer programme.

    Attributes
    ----------
    count : int
        The fewest class parameters of any of these I-maps. The bound of the component is an upper bound on the score,
        including the local score of the class, of the I-maps with this number.
    """

    count: int

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form; see :meth:`Proof.to_dict`."""
        return {"class_parameters": self.count}


Case: TypeAlias = Duals | Split | Exhaustion | FewestClassParameters


@dataclass(frozen=True)
class Component:
    """A subset of the features, with a bound that holds whatever arcs lead into it from other features.

    Attributes
    ----------
    features : tuple of features
        The features of the component; no feature is in two components.
    bound : float
        Upper bound on the sum of the local scores of its features, in nats.
    case : Duals, Split, Exhaustion or FewestClassParameters
        The proof of the bound.
    """

    features: tuple[Hashable, ...]
    bound: float
    case: Case


@dataclass(frozen=True)
class Proof:
    """The statement of a search about all structures that it admits, and its proof.

    Attributes
    ----------
    score : Score
        The score that is bounded.
    max_parents : int
        Maximum number of feature parents that the search admits.
    required, forbidden : tuple of (parent, child)
        Arcs between features that the structure must, and must not, contain.
    largest : int, optional
        Number of feature parents up to which parent sets were enumerated, if that is less than ``max_parents``: the
        proof then holds for structures with at most this many.
    components : tuple of Component
        Their bounds, with the class's own local score, sum to the bound.
    gap : float
        Maximum difference, in nats, between the best structure for which the proof holds and this one.
    apart : tuple of features
        Features that stand alone in all structures for which the proof holds; they are in no component.
    """

    score: Score
    max_parents: int
    required: tuple[Edge, ...]
    forbidden: tuple[Edge, ...]
    largest: int | None
    components: tuple[Component, ...]
    gap: float = 0.0
    apart: tuple[Hashable, ...] = ()

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form, in which features are numbers, those that they have in ``positions``."""
        return {
            "score": encode(self.score),
            "max_parents": self.max_parents,
            "required": [[positions[parent], positions[child]] for parent, child in self.required],
            "forbidden": [[positions[parent], positions[child]] for parent, child in self.forbidden],
            "largest": self.largest,
            "gap": self.gap,
            "apart": [positions[name] for name in self.apart],
            "components": [
                {
                    "features": [positions[name] for name in component.features],
                    "bound": component.bound,
                    "case": component.case.to_dict(positions),
                }
                for component in self.components
            ],
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any], names: Sequence[Hashable]) -> Proof:
        """Return the proof that :meth:`to_dict` described; ``names[k]`` is the feature with number k.

        Raises
        ------
        ValueError
            If this is not the description of a proof. :func:`anbexact.verify` checks whether a proof is correct.
        """
        score = decode(described["score"])
        with reading("components"):
            components = tuple(
                Component(
                    _named(component["features"], names),
                    number(component["bound"]),
                    _case(mapped(component["case"]), names),
                )
                for component in map(mapped, listed(described["components"]))
            )
        with reading("limits"):
            largest = described["largest"]
            return cls(
                score,
                whole(described["max_parents"]),
                _edges(described["required"], names),
                _edges(described["forbidden"], names),
                None if largest is None else whole(largest, -1),
                components,
                number(described["gap"]),
                _named(described.get("apart", []), names),
            )


def _named(described: Any, names: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Return the features with given numbers."""
    return tuple(names[k] for k in references(described, len(names)))


def _edges(described: Any, names: Sequence[Hashable]) -> tuple[Edge, ...]:
    """Return the arcs between features with given numbers."""
    edges = []
    for edge in listed(described):
        parent, child = references(listed(edge, 2), len(names))
        edges.append((names[parent], names[child]))
    return tuple(edges)


def _case(described: Mapping[str, Any], names: Sequence[Hashable]) -> Case:
    """Return the proof of a component's bound; its kind follows from the fields."""
    if "arc" in described:
        parent, child = references(listed(described["arc"], 2), len(names))
        absent, present = (_case(mapped(described[key]), names) for key in ("absent", "present"))
        return Split(names[parent], names[child], absent, present)
    if "clusters" in described:
        clusters = [listed(cluster, 3) for cluster in listed(described["clusters"])]
        return Duals(
            tuple((_named(features, names), whole(least, 1), number(z, least=0)) for features, least, z in clusters)
        )
    if "class_parameters" in described:
        return FewestClassParameters(whole(described["class_parameters"]))
    return Exhaustion()
