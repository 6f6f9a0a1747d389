"""The possible parents of a feature, the numbers of joint states of their sets, and the memory of all searches."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt

from anbexact._kernels.candidates import fill_following
from anbexact._runtime.arrays import Floats, Integers, Positions
from anbexact._runtime.memory import SearchTooLargeError
from anbexact.scores import BoundedScore
from anbexact.search.constraints import Constraints
from anbexact.tables.table import DiscreteTable

Counted = tuple[tuple[int, int], ...]
MOST_JOINT_STATES = 1e280
"""Maximum number of joint states of parents that is tracked; beyond, numbers would overflow."""
MOST_CONFIGURATION_COUNTS = 1 << 20
"""Maximum number of distinct numbers of parent configurations that are tracked."""


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


@dataclass(frozen=True)
class Configurations:
    """The numbers q of joint states that parent sets can have, smaller sets first, and what depends only on q.

    Attributes
    ----------
    following : (numbers, distinct numbers of states) int32
        The number q of a set with one more parent, by the number of states of this parent; -1 if there is none.
    largest : int
        Size of the largest sets that are tracked.
    child_parameter, parameter, penalty : (numbers,) float64
        Parameters of the cells of the child with its parents, and of the parents alone; penalty of the local score.
    next_parameter, next_penalty : (numbers,) float64
        Greatest parameter of the parents, and least penalty, with one parent more.
    """

    following: npt.NDArray[np.int32]
    largest: int
    child_parameter: Floats
    parameter: Floats
    penalty: Floats
    next_parameter: Floats
    next_penalty: Floats


def configurations(counted: Counted, base: float, last_size: int) -> tuple[int, Floats, npt.NDArray[np.int32]]:
    """Return the size, at most ``last_size``, up to which sets of parents are tracked, all their q, and the next q.

    Parameters
    ----------
    counted : tuple of (number of states, how many parents have it)
        Numbers of states of all possible parents, and how many of these have each.
    base : float
        The q of the empty set.

    Returns
    -------
    largest, q, following
        See :class:`Configurations`. Sets of equal counts of parents with each number of states have one q.
    """
    states, most = np.array(counted, np.int64).reshape(-1, 2).T
    kinds = np.arange(len(counted))
    q, following = [np.array([base])], []
    parent, last, times = np.zeros((3, 1), np.int64)
    began, end, size = 0, 1, 0
    while size <= last_size:
        # Every set is made once, from the set without one of the parents of its last kind.
        makes = (kinds > last[:, None]) | ((kinds == last[:, None]) & (times[:, None] < most))
        source, kind = map(np.ascontiguousarray, np.nonzero(makes))  # not views, which kernels take for another type
        own = np.full(makes.shape, -1, np.int32)
        following.append(own)
        too_large = len(source) and (q[-1].max() * states.max()) > MOST_JOINT_STATES
        if size == last_size or end + len(source) > MOST_CONFIGURATION_COUNTS or too_large:
            break
        own[source, kind] = np.arange(end, end + len(source))
        if size:
            fill_following(parent, last, following[-2], began, own)
        q.append(q[-1][source] * states[kind])
        times = np.where(kind == last[source], times[source], 0) + 1
        parent, last = source, kind
        began, end, size = end, end + len(source), size + 1
    return size, np.concatenate(q), np.concatenate(following)


class SharedResources:
    """Resources shared by the searches for all features: memory, and tables that depend only on numbers of states."""

    def __init__(self, memory: float) -> None:
        self._left = memory
        self._lock = Lock()
        self._counting = Lock()
        self.exceeded = False
        self._known: dict[tuple[int, float, int, Counted], Configurations] = {}

    def take(self, size: int) -> bool:
        """Reserve some bytes if as many are available."""
        with self._lock:
            if size > self._left:
                self.exceeded = True
                return False
            self._left -= size
            return True

    def take_for_rows(self, size: int, table: DiscreteTable) -> None:
        """Reserve memory without which no list can be made."""
        if not self.take(size):
            raise too_many_rows(table)

    def configurations(
        self, table: DiscreteTable, score: BoundedScore, parents: PossibleParents, counted: Counted
    ) -> Configurations:
        """Tabulate the quantities that depend only on the number q of parent configurations."""
        states, weight_sum = parents.states, table.weight_sum
        key = states, parents.joint_states, parents.most_added, counted
        with self._counting:
            if key not in self._known:
                most, q, following = configurations(counted, parents.joint_states, max(parents.most_added, 0))
                next_q = q * parents.least_arity
                self.take_for_rows(40 * len(q) + following.nbytes, table)
                self._known[key] = Configurations(
                    following, most,
                    *score.family_parameters(q, states),
                    score.family_penalty(q, states, weight_sum),
                    score.family_parameters(next_q, states)[1],
                    score.family_penalty(next_q, states, weight_sum),
                )  # fmt: skip
        return self._known[key]


def too_many_rows(table: DiscreteTable) -> SearchTooLargeError:
    """Return the refusal of a table whose rows do not fit into memory once for every feature."""
    return SearchTooLargeError(
        f"there is not enough memory to lay out the {len(table.weights):,} distinct rows for each of "
        f"{len(table.vocabulary.features)} features; select features first, or raise memory_limit"
    )
