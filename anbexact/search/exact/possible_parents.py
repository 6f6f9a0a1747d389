"""The possible parents of one feature, as the search for its parent sets numbers them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anbexact._runtime.arrays import Integers, Positions
from anbexact.search.constraints import Constraints
from anbexact.tables.table import DiscreteTable


@dataclass(frozen=True, eq=False)
class PossibleParents:
    """What can be a parent of a child, and what must be.

    Attributes
    ----------
    child : Hashable
        The feature whose parents are searched for.
    states : int
        Its number of states.
    required : list of int
        Features that are parents in any case, by their place in the table.
    given : list
        All variables that are parents in any case, by name: the class, if it is one, and the required features.
    joint_states : float
        Number of joint states of ``given``.
    places : list of int
        Features that may be added, by their place in the order of the search.
    added : list
        The same features by name.
    arities : (added,) int64
        Their numbers of states.
    before, after : (added,) int
        Of a feature that is a copy of others, the copy before it and the one after it; -1 where there is none.
    most_added : int
        Most features that may be added.
    """

    child: Hashable
    states: int
    required: list[int]
    given: list[Hashable]
    joint_states: float
    places: list[int]
    added: list[Hashable]
    arities: Positions
    before: Integers
    after: Integers
    most_added: int

    @classmethod
    def of(
        cls,
        table: DiscreteTable,
        constraints: Constraints,
        child: Hashable,
        order: Sequence[Hashable],
        copied: Mapping[Hashable, Hashable],
    ) -> PossibleParents:
        """Return the possible parents that constraints admit.

        Parameters
        ----------
        order : sequence
            All features, in the order of the search.
        copied : mapping
            Of features that are copies of an earlier one, that one.
        """
        arity, features = table.vocabulary.arity, table.vocabulary.features
        required = constraints.required[child]
        barred = {*required, *constraints.forbidden[child], child}
        after_child = {child}
        for name in reversed(order):
            if name in copied and copied[name] in after_child:
                after_child.add(name)
        barred |= after_child
        places = [k for k, name in enumerate(order) if name not in barred and arity(name) > 1]
        added = [order[k] for k in places]
        place = {name: k for k, name in enumerate(added)}
        before, after = np.full((2, len(added)), -1)
        for name, earlier in copied.items():
            if name in place and earlier in place:
                before[place[name]] = place[earlier]
                after[place[earlier]] = place[name]
        always = [k for k, name in enumerate(features) if name in required] if required else []
        given = [*table.vocabulary.common_parents, *(features[k] for k in always)]
        return cls(
            child=child,
            states=arity(child),
            required=always,
            given=given,
            joint_states=float(np.prod([float(arity(name)) for name in given])),
            places=places,
            added=added,
            arities=np.array(table.shape(added), np.int64),
            before=before,
            after=after,
            most_added=min(constraints.max_parents - len(required), len(added)),
        )

    @property
    def least_arity(self) -> float:
        """Fewest states of a feature that may be added."""
        return float(self.arities.min(initial=2))
