"""Features with one state, which are removed from a table before a search and added to its result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

from anbexact.models.structure import Structure
from anbexact.scores import BDeu
from anbexact.scores.capabilities import needed_variables
from anbexact.search.constraints import Edge
from anbexact.tables.table import DiscreteTable

P = ParamSpec("P")
Search = Callable[Concatenate[DiscreteTable, P], Structure]


def single_states(table: DiscreteTable, score: object, keep: Collection[Hashable] = ()) -> tuple[Hashable, ...]:
    """Return the features of one state that a search by a score can do without, in table order.

    With a score whose attribute ``ignores_single_states`` is True, a feature with one state scores 0 with any
    parents, and changes nothing as a parent; see :class:`~anbexact.scores.Score`. Features that the score needs
    nevertheless are kept; see :func:`~anbexact.scores.capabilities.needed_variables`.

    Parameters
    ----------
    keep : collection of features
        Features that are kept in any case.
    """
    if not getattr(score, "ignores_single_states", False):
        return ()
    kept = {*keep, *needed_variables(score)}
    return tuple(name for name in table.vocabulary.features if table.vocabulary.arity(name) == 1 and name not in kept)


def without(table: DiscreteTable, names: Collection[Hashable]) -> DiscreteTable:
    """Return the table without features of one state; its distinct rows stay distinct."""
    return table.without_single_states(names)


@dataclass(frozen=True)
class SingleStates:
    """A table without its features of one state, and how to add them to the structure found for the others.

    Attributes
    ----------
    table : DiscreteTable
        The table without them.
    forbidden : iterable of (parent, child)
        The forbidden arcs that concern it.
    names : tuple
        All variables, in the order of the whole table.
    apart : tuple
        The features that were left out.
    """

    table: DiscreteTable
    forbidden: Iterable[Edge]
    names: tuple[Hashable, ...]
    apart: tuple[Hashable, ...]

    @classmethod
    def of(
        cls, table: DiscreteTable, score: object, required: Iterable[Edge] = (), forbidden: Iterable[Edge] = ()
    ) -> SingleStates:
        """Leave out the features of one state that a search by a score can do without.

        Features that ``required`` arcs name are kept in the table, and so are all such features if the score is not
        known to ignore them.
        """
        keep = () if isinstance(required, Iterator) else _ends(required)
        apart, names = single_states(table, score, keep), table.vocabulary.names
        if not apart:
            return cls(table, forbidden, names, ())
        return cls(without(table, apart), _without_edges(forbidden, apart, names), names, apart)

    def added_to(self, structure: Structure, *, below_class: bool) -> Structure:
        """Return a structure with the features that were left out, which have no children.

        Parameters
        ----------
        below_class : bool
            Whether the class, if there is one, is their parent, as in searches in which it is a parent of every
            feature.
        """
        if not self.apart:
            return structure
        above = (structure.class_name,) if below_class and structure.class_name is not None else ()
        parents = {name: above if name in self.apart else structure.parents[name] for name in self.names}
        return replace(structure, parents=parents)


def single_states_apart(*, below_class: bool) -> Callable[[Search[P]], Search[P]]:
    """Make a search use the table without its features of one state; see :class:`SingleStates`.

    Parameters
    ----------
    below_class : bool
        Whether the class is a parent of every feature in the structures that the search admits.
    """

    def decorated(search: Search[P]) -> Search[P]:
        @wraps(search)
        def apart(table: DiscreteTable, *args: P.args, **kwargs: P.kwargs) -> Structure:
            options: dict[str, Any] = kwargs
            score = args[0] if args else options.get("score")
            edges = options.get("required", ()), options.get("forbidden", ())
            rest = SingleStates.of(table, BDeu() if score is None else score, *edges)
            if "forbidden" in options:
                options["forbidden"] = rest.forbidden
            return rest.added_to(search(rest.table, *args, **kwargs), below_class=below_class)

        return cast(Search[P], apart)

    return decorated


def _ends(edges: Iterable[Any]) -> set[Hashable]:
    """Return the names in edges; an edge that is not a pair, which the search refuses, contributes none."""
    return {name for edge in edges if isinstance(edge, tuple | list) for name in edge if isinstance(name, Hashable)}


def _without_edges(edges: Iterable[Any], apart: Collection[Hashable], known: Collection[Hashable]) -> Iterable[Edge]:
    """Return the edges without those between a feature that is left out and another known variable."""
    if isinstance(edges, Iterator):
        return edges

    def is_moot(edge: Any) -> bool:
        ends = _ends([edge])
        return len(ends) == 2 == len(edge) and ends <= set(known) and not ends.isdisjoint(apart)

    return tuple(edge for edge in edges if not is_moot(edge))
