"""From sets of parents to structures over all variables of a table."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass

from anbexact.models.structure import Certificate, Structure
from anbexact.search.single_states import SingleStates


@dataclass(frozen=True)
class StructureMaker:
    """Adds the variables left out of the sums to sets of parents.

    Attributes
    ----------
    class_name : Hashable
        The class.
    augmented : bool
        Whether the class is a parent of every feature; otherwise it is an ordinary variable.
    rest : SingleStates
        The features with a single state; if the class is an ordinary variable, it may be one of them.
    """

    class_name: Hashable
    augmented: bool
    rest: SingleStates

    def in_order(self, names: Collection[Hashable]) -> tuple[Hashable, ...]:
        """Return variables in table order."""
        return tuple(name for name in self.rest.names if name in names)

    def make(
        self, parents: Mapping[Hashable, Collection[Hashable]], score: float, certificate: Certificate
    ) -> Structure:
        """Return the structure with these parents, to which a class that is a parent of every feature is added."""
        above = (self.class_name,) if self.augmented else ()
        found: dict[Hashable, tuple[Hashable, ...]] = {
            child: (*above, *self.in_order(parents[child]))
            for child in self.rest.names
            if child in parents and child != self.class_name
        }
        found[self.class_name] = self.in_order(parents.get(self.class_name, ()))
        return self.rest.added_to(Structure(self.class_name, found, score, certificate), below_class=self.augmented)
