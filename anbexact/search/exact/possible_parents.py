"""The possible parents of one feature, numbered for the search for its parent sets."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anbexact._runtime.arrays import Integers, Positions
from anbexact.search.constraints import Constraints
from anbexact.tables.table import DiscreteTable


@dataclass(frozen=True, eq=False)
class PossibleParents:
    """The variables that can be parents of a child, and those that must be.

    Attributes
    ----------
    child : Hashable
        The feature whose parents are searched for.
    states : int
        Its number of states.
    required : list of int
        Features that are always parents, by their position in the table.
    given : list
        All variables that are always parents, by name: the class, if it is a parent, and the required features.
    joint_states : float
        Number of joint states of ``given``.
    places : list of int
        Features that may be added, by their position in the order of the search.
    added : list
        The same features by name.
    arities : (added,) int64
        Their numbers of states.
    before, after : (added,) int
        For a feature that is a copy of others, the previous and the next copy; -1 if there is none.
    most_added : int
        Maximum number of features that may be added.
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
            The earlier feature of which a feature is a copy, for every copy.
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
        """Minimum number of states of the features that may be added."""
        return float(self.arities.min(initial=2))
