"""Which arcs between features a search must and must not use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Edge = tuple[Hashable, Hashable]
ARROW = "->"
"""The separator of an edge that is written as text, which the functions here do not accept."""


@dataclass(frozen=True)
class Constraints:
    """Limits on the feature parents of every feature.

    Attributes
    ----------
    required, forbidden : mapping of feature to set of features
        Parents that a feature must, and must not, have.
    max_parents : int
        Maximum number of feature parents, not counting the class.
    """

    required: dict[Hashable, frozenset[Hashable]]
    forbidden: dict[Hashable, frozenset[Hashable]]
    max_parents: int

    def admits(self, child: Hashable, parents: Iterable[Hashable]) -> bool:
        """Whether ``child`` may have exactly these feature parents."""
        chosen = frozenset(parents)
        return (
            len(chosen) <= self.max_parents and self.required[child] <= chosen and not self.forbidden[child] & chosen
        )

    @property
    def required_edges(self) -> tuple[Edge, ...]:
        """The required arcs, children and then parents in table order."""
        return _sorted_edges(self.required)

    @property
    def forbidden_edges(self) -> tuple[Edge, ...]:
        """The forbidden arcs, children and then parents in table order."""
        return _sorted_edges(self.forbidden)

    @property
    def free(self) -> bool:
        """Whether nothing is constrained."""
        features = len(self.required)
        return self.max_parents >= features - 1 and not any((*self.required.values(), *self.forbidden.values()))


def _sorted_edges(parents: dict[Hashable, frozenset[Hashable]]) -> tuple[Edge, ...]:
    return tuple((parent, child) for child in parents for parent in parents if parent in parents[child])


def check_max_parents(max_parents: Any) -> None:
    """Refuse a maximum number of parents that is neither None nor a whole number."""
    if max_parents is None:
        return
    if isinstance(max_parents, bool) or not hasattr(max_parents, "__index__") or max_parents < 0:
        raise ValueError(f"max_parents must be None or a whole number, 0 or more, not {max_parents!r}")


def make_constraints(
    features: Sequence[Hashable],
    max_parents: int | None,
    required: Iterable[Edge],
    forbidden: Iterable[Edge],
) -> Constraints:
    """Check the constraints and convert them to one form.

    Raises
    ------
    ValueError
        If ``max_parents`` is negative, an edge is not a pair of features, an edge is both required and forbidden, or
        the required edges form a cycle or exceed ``max_parents``.
    """
    if max_parents is None:
        max_parents = max(len(features) - 1, 0)
    check_max_parents(max_parents)
    must = _edges(features, required, "required")
    must_not = _edges(features, forbidden, "forbidden")
    both = set(must) & set(must_not)
    if both:
        raise ValueError(f"the edge {min(both, key=str)!r} is both required and forbidden")
    if must:
        import networkx as nx  # slow to import

        graph: nx.DiGraph[Any] = nx.DiGraph(must)
        if not nx.is_directed_acyclic_graph(graph):
            raise ValueError(f"the required edges form a cycle: {nx.find_cycle(graph)}")
    parents = {child: frozenset(a for a, b in must if b == child) for child in features}
    crowded = [child for child in features if len(parents[child]) > max_parents]
    if crowded:
        raise ValueError(
            f"the required edges give {crowded[0]!r} {len(parents[crowded[0]])} parents, "
            f"but max_parents is {max_parents}"
        )
    barred = {child: frozenset(a for a, b in must_not if b == child) for child in features}
    return Constraints(parents, barred, int(max_parents))


def most_required_parents(required: Iterable[Edge]) -> int:
    """Return the largest number of parents that required edges give a variable.

    Raises
    ------
    TypeError, ValueError
        If they are not pairs.
    """
    return max(Counter(child for _, child in _pairs(required, "required")).values(), default=0)


def _pairs(edges: Any, kind: str) -> list[Edge]:
    if isinstance(edges, Iterator):
        raise TypeError(
            f"{kind} edges must be a collection that can be iterated over more than once, not a "
            f"{type(edges).__name__}"
        )
    expected = f"{kind} edges must be (parent, child) pairs of feature names"
    if not isinstance(edges, Iterable):
        raise TypeError(f"{expected}, such as [('a', 'b')], not {edges!r}")
    pairs: list[Edge] = []
    for edge in [edges] if isinstance(edges, str) else edges:
        if not isinstance(edge, tuple | list) or len(edge) != 2:
            ends = tuple(end.strip() for end in edge.split(ARROW)) if isinstance(edge, str) else ()
            example = ends if len(ends) == 2 else ("a", "b")
            raise ValueError(f"{expected}, not {edge!r}: write a list such as [{example!r}]")
        pairs.append((edge[0], edge[1]))
    return pairs


def _edges(features: Sequence[Hashable], edges: Iterable[Edge], kind: str) -> list[Edge]:
    known = set(features)
    pairs = _pairs(edges, kind)
    for parent, child in pairs:
        for name in (parent, child):
            if name not in known:
                raise ValueError(
                    f"the {kind} edge {(parent, child)!r} names {name!r}, but edges can be {kind} between "
                    f"{list(features)} only (in an augmented naive Bayes, the class is a parent of every feature)"
                )
        if parent == child:
            raise ValueError(f"the {kind} edge {(parent, child)!r} joins a feature to itself")
    return pairs
