"""The resources that the searches for the parent sets of all features share."""

from __future__ import annotations

from threading import Lock

from anbexact._runtime.memory import SearchTooLargeError
from anbexact.scores import BoundedScore
from anbexact.search.exact.configurations import Configurations, Counted, configurations
from anbexact.search.exact.possible_parents import PossibleParents
from anbexact.tables.table import DiscreteTable


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
