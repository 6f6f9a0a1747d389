"""Structures: the parents of every variable, the score, and the certificate of how good the structure is."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anbexact._runtime.displayed import Displayed
from anbexact._runtime.json_checks import flag, listed, mapped, number, reading, references, text, whole
from anbexact._runtime.json_values import decode, encode
from anbexact._runtime.units import counted
from anbexact.models.proof import Proof
from anbexact.tables.vocabulary import Vocabulary

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True)
class Certificate(Displayed):
    """What a search has proved about the structure that it returned.

    Attributes
    ----------
    optimal : bool
        Whether no structure that the search admits has a higher score (to within rounding: one part
        in 10¹² of the largest set score).
    upper_bound : float
        Proved upper bound on the score of every admitted structure, total in nats.
    gap : float
        ``upper_bound`` minus the score of the structure, total in nats; 0 when optimal.
    sets_scored : int
        Sets of variables whose score was computed.
    seconds : float
        Wall-clock time of the search.
    method : str
        The search, and the limits under which the statement holds.
    proof : Proof, optional
        The data that :func:`anbexact.verify` needs to check the statement without repeating the search.
    """

    optimal: bool
    upper_bound: float
    gap: float
    sets_scored: int
    seconds: float
    method: str
    proof: Proof | None = field(default=None, repr=False, compare=False)

    @classmethod
    def unknown(cls, method: str) -> Certificate:
        """Return the certificate of a structure whose optimality is unknown."""
        return cls(False, float("inf"), float("inf"), 0, 0.0, method)

    def statement(self) -> dict[str, Any]:
        """Return everything except the proof, by name."""
        return {own.name: getattr(self, own.name) for own in fields(self) if own.name != "proof"}

    def __str__(self) -> str:
        if math.isinf(self.gap):
            return f"nothing proved ({self.method})"
        verdict = "proved optimal" if self.optimal else f"not proved optimal: gap at most {self.gap:.6g} nats"
        return f"{verdict} ({self.method}; {counted(self.sets_scored, 'set')} scored in {self.seconds:.3g} s)"


def parents_first(parents: Mapping[Hashable, Collection[Hashable]]) -> tuple[Hashable, ...]:
    """Return the variables with parents before children: by depth, then in the order of the mapping.

    Raises
    ------
    ValueError
        If the graph has a directed cycle.
    """
    place = {name: k for k, name in enumerate(parents)}
    children: dict[Hashable, list[Hashable]] = {name: [] for name in parents}
    missing: dict[Hashable, int] = {}
    ready, order = [], []
    for child, child_parents in parents.items():
        if child_parents:
            missing[child] = len(child_parents)
        else:
            ready.append(child)
        for parent in child_parents:
            children[parent].append(child)
    while ready:
        order += ready
        following = []
        for name in ready:
            for child in children[name]:
                missing[child] -= 1
                if not missing[child]:
                    del missing[child]
                    following.append(child)
        ready = sorted(following, key=place.__getitem__)
    if missing:
        raise ValueError(f"the graph has a directed cycle among {sorted(map(str, missing))}")
    return tuple(order)


@dataclass(frozen=True)
class Structure(Displayed):
    """A directed acyclic graph over the variables of a table.

    An arc from A to B means that B is modelled given A. Arcs are not causal statements;
    see the guide "Explanations and queries".

    Attributes
    ----------
    class_name : Hashable or None
        The class variable; None for a network without a class, in which all variables are features.
    parents : Mapping
        Parents of every variable, class included; among a variable's parents the class comes first, then
        features in table order.
    score : float
        Sum of the local scores over all variables, class included; total in nats.
    certificate : Certificate
        What is proved about the score.

    Raises
    ------
    ValueError
        If a parent is not a variable or is named twice, or the graph has a directed cycle.
    """

    class_name: Hashable | None
    parents: Mapping[Hashable, tuple[Hashable, ...]]
    score: float
    certificate: Certificate

    @classmethod
    def given(
        cls, class_name: Hashable | None, parents: Mapping[Hashable, tuple[Hashable, ...]], score: float = math.nan
    ) -> Structure:
        """Return a structure whose optimality is unknown."""
        return cls(class_name, parents, score, Certificate.unknown("structure given, not searched"))

    def __post_init__(self) -> None:
        parents = {child: tuple(child_parents) for child, child_parents in self.parents.items()}
        for child, child_parents in parents.items():
            distinct = set(child_parents)
            if not distinct <= parents.keys():
                unknown = next(parent for parent in child_parents if parent not in parents)
                raise ValueError(f"{unknown!r}, a parent of {child!r}, is not a variable of the structure")
            if len(distinct) < len(child_parents):
                twice = next(parent for k, parent in enumerate(child_parents) if parent in child_parents[:k])
                raise ValueError(f"{twice!r} is named more than once among the parents of {child!r}")
        if self.class_name is not None and self.class_name not in parents:
            raise ValueError(f"the class {self.class_name!r} is not a variable of the structure")
        object.__setattr__(self, "parents", MappingProxyType(parents))
        self.topological_order()

    def __reduce__(self) -> tuple[Any, ...]:
        return Structure, (self.class_name, dict(self.parents), self.score, self.certificate)

    @property
    def features(self) -> tuple[Hashable, ...]:
        """All variables except the class, in table order."""
        return tuple(name for name in self.parents if name != self.class_name)

    @property
    def edges(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """All arcs as (parent, child) pairs, children in table order."""
        return tuple((parent, child) for child, child_parents in self.parents.items() for parent in child_parents)

    @property
    def feature_edges(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """The arcs between features as (parent, child) pairs."""
        return tuple(edge for edge in self.edges if self.class_name not in edge)

    def children(self, name: Hashable) -> tuple[Hashable, ...]:
        """Return the children of a variable, in table order."""
        return tuple(child for child, child_parents in self.parents.items() if name in child_parents)

    def topological_order(self) -> tuple[Hashable, ...]:
        """Return the variables with parents before children: by depth, then in table order.

        Raises
        ------
        ValueError
            If the graph has a directed cycle.
        """
        return parents_first(self.parents)

    def unmarried(self, child: Hashable) -> tuple[tuple[Hashable, Hashable], ...]:
        """Return the pairs of parents of a variable that are not adjacent."""
        return tuple(
            (a, b)
            for a, b in combinations(self.parents[child], 2)
            if a not in self.parents[b] and b not in self.parents[a]
        )

    def is_perfect(self) -> bool:
        """Whether variables with a common child are always adjacent."""
        return not any(self.unmarried(child) for child in self.parents)

    def is_subperfect(self) -> bool:
        """Whether variables with a common child are always adjacent, unless both are parents of the class.

        If the graph consists of the class and its Markov blanket, this is exactly the condition under which the
        network and its logistic regression represent the same conditional distributions of the class (Feelders and
        Ivanovs, Definition 1 and Theorem 2); see :func:`anbexact.adapters.to_logit` for other graphs.

        Raises
        ------
        ValueError
            If the network has no class.
        """
        if self.class_name is None:
            raise ValueError("the network has no class, so it has no logistic regression of one: ask is_perfect()")
        class_parents = set(self.parents[self.class_name])
        return all(class_parents.issuperset(pair) for child in self.parents for pair in self.unmarried(child))

    def markov_blanket(self, name: Hashable) -> tuple[Hashable, ...]:
        """Return the parents, the children and the other parents of the children of a variable, in table order.

        Given these, the variable is independent of all others.
        """
        children = self.children(name)
        members = {*self.parents[name], *children, *(parent for child in children for parent in self.parents[child])}
        return tuple(other for other in self.parents if other in members - {name})

    def to_anb(self) -> Structure:
        """Return an augmented naive Bayes structure with all class posteriors that this structure has.

        The parents of the class are joined to each other (from the earlier to the later in topological order) and
        become its children; then all other features become its children, too. The other arcs remain. Whatever the
        conditional tables of this structure are, there are tables of the result with the same
        P(class | all features). They need not have the same joint distribution, so posteriors may differ where cells
        are missing.

        Tables that are estimated from rows need not be those tables, either. With more and more rows, the posteriors
        of both structures are sure to become the same if the result can also represent the joint distribution, as it
        can if all features are adjacent to the class.

        Features outside the :meth:`markov_blanket` of the class change no posterior; ``without`` removes them.

        Returns
        -------
        Structure
            Over the same variables, with the class first among the parents; its score is NaN, and nothing is proved
            about it.

        References
        ----------
        Sugahara and Ueno, Lemma 1 (from Mihaljević, Bielza and Larrañaga, PGM 2018) and Lemmas 4 and 5.

        Examples
        --------
        >>> from anbexact import Structure
        >>> general = Structure.given("c", {"a": (), "b": (), "c": ("a", "b"), "d": ("c", "a")})
        >>> general.to_anb().edges
        (('c', 'a'), ('c', 'b'), ('a', 'b'), ('c', 'd'), ('a', 'd'))
        """
        place = {name: k for k, name in enumerate(self.parents)}
        if self.class_name is None:
            raise ValueError("the network has no class, so there is no augmented naive Bayes with its posteriors")
        of_class = [name for name in self.topological_order() if name in self.parents[self.class_name]]
        parents: dict[Hashable, tuple[Hashable, ...]] = {}
        for child, child_parents in self.parents.items():
            earlier = of_class[: of_class.index(child)] if child in of_class else []
            others = {*child_parents, *earlier} - {self.class_name}
            parents[child] = (self.class_name, *sorted(others, key=place.__getitem__))
        parents[self.class_name] = ()
        return Structure.given(self.class_name, parents)

    def without(self, names: Iterable[Hashable]) -> Structure:
        """Return the structure without some features, such as those left out in training, with the same score."""
        gone = frozenset(names)
        if not gone:
            return self
        kept = {
            child: tuple(name for name in parents if name not in gone)
            for child, parents in self.parents.items()
            if child not in gone
        }
        return replace(self, parents=kept)

    def to_networkx(self) -> nx.DiGraph[Any]:
        """Return the graph as a networkx ``DiGraph``."""
        import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph()
        graph.add_nodes_from(self.parents)
        graph.add_edges_from(self.edges)
        return graph


def structure_to_dict(structure: Structure, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the JSON form of a structure, in which variables are numbers, their positions in the vocabulary."""
    positions, proof = vocabulary.positions, structure.certificate.proof
    return {
        "parents": [
            [positions[child], [positions[parent] for parent in child_parents]]
            for child, child_parents in structure.parents.items()
        ],
        "score": encode(structure.score),
        "certificate": {key: encode(value) for key, value in structure.certificate.statement().items()},
        **({} if proof is None else {"proof": proof.to_dict(positions)}),
    }


def structure_from_dict(described: Mapping[str, Any], vocabulary: Vocabulary) -> Structure:
    """Return the structure that :func:`structure_to_dict` described.

    Raises
    ------
    ValueError
        If this is not the description of a structure; the message names the field.
    """
    names = vocabulary.names
    statement = {key: decode(value) for key, value in mapped(described["certificate"]).items()}
    for key in ("upper_bound", "gap", "seconds"):
        with reading(f"certificate, {key}"):
            number(statement[key], finite=False)
    optimal = statement["optimal"]
    with reading("certificate, optimal"):
        flag(optimal)
    whole(statement["sets_scored"])
    text(statement["method"])
    children = references([listed(pair, 2)[0] for pair in listed(described["parents"])], len(names))
    parents = {
        names[child]: tuple(names[parent] for parent in references(child_parents, len(names)))
        for child, (_, child_parents) in zip(children, described["parents"], strict=True)
    }
    proof = described.get("proof")
    if proof is not None:
        with reading("proof"):
            proof = Proof.from_dict(mapped(proof), names)
    score = number(decode(described["score"]), finite=False)
    return Structure(vocabulary.class_name, parents, score, Certificate(**statement, proof=proof))
