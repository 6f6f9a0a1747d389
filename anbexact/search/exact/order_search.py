"""Good acyclic choices of parent sets, found by local search over orders."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anbexact._kernels.orders import greedy_order, improve_order
from anbexact._runtime.deadline import Deadline
from anbexact.search.exact.listed_sets import Lists

RESTARTS_PER_LOOK = 20
"""Number of restarts between checks of the clock."""
IDLE_LOOKS = 10
"""Number of such rounds without a better choice after which the search ends."""


class Orders:
    """Local search over orders, which keeps the best choice found.

    Attributes
    ----------
    chosen : (features,) int64
        The best acyclic choice: positions in ``lists.masks``.
    """

    def __init__(self, lists: Lists) -> None:
        self.lists = lists
        self.chosen: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self.state = np.zeros(1, np.uint64)
        self.rng = np.random.default_rng(0)
        self.start_from(lists.scores[lists.starts[:-1]], 0)

    @property
    def total(self) -> float:
        """The sum of scores of the best choice, in nats; -inf before there is one."""
        return float(self.lists.scores[self.chosen].sum()) if len(self.chosen) else float("-inf")

    def start_from(self, hoped: npt.NDArray[np.float64], rounds: int) -> bool:
        """Search from the greedy order towards these local scores; return whether a better choice was found."""
        lists = self.lists
        return self._search(greedy_order(lists.masks, lists.starts, lists.scores, hoped), rounds)

    def search(self, deadline: Deadline) -> None:
        """Restart from the best order and from greedy orders in turn, until there is no improvement for a while."""
        highest = self.lists.scores[self.lists.starts[:-1]]
        idle = 0
        while idle < IDLE_LOOKS and not deadline.passed:
            idle = 0 if self._search(self.order, RESTARTS_PER_LOOK) else idle + 1
            lost = highest - self.lists.scores[self.chosen]
            if self.start_from(highest - lost * self.rng.random(len(lost)), RESTARTS_PER_LOOK):
                idle = 0

    def _search(self, order: npt.NDArray[np.int64], rounds: int) -> bool:
        lists = self.lists
        order, chosen = improve_order(lists.masks, lists.starts, lists.scores, order, rounds, self.state)
        if float(lists.scores[chosen].sum()) <= self.total + 1e-9:
            return False
        self.order, self.chosen = order, chosen
        return True
