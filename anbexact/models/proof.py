"""Proofs of optimality that can be checked without repeating the search."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias

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


@dataclass(frozen=True)
class Exhaustion:
    """A component small enough to enumerate all orders by dynamic programming."""


@dataclass(frozen=True)
class FewestClassParameters:
    """All orders of the features, each with its I-map: by dynamic programming, or by an integer programme.

    Attributes
    ----------
    count : int
        The fewest class parameters of any of these I-maps. The bound of the component is on the score of the I-maps
        with this number, including the class's own local score.
    """

    count: int


Case: TypeAlias = Duals | Split | Exhaustion | FewestClassParameters


@dataclass(frozen=True)
class Component:
    """A subset of the features; in its bound, arcs that enter it from outside are free.

    Attributes
    ----------
    features : tuple of features
        The features of the component; no feature is in two components.
    bound : float
        Upper bound on the sum of the local scores of its features, in nats.
    case : Duals, Split, Exhaustion or FewestClassParameters
        Why.
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
        Maximum number of feature parents up to which parent sets were enumerated, if that is less: the proof then
        holds for structures with at most this many.
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
