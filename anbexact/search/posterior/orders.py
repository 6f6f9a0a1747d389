"""Sums over all orders of the variables and the networks compatible with them."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from anbexact._kernels.network_sums import (
    count_orders,
    draw_networks,
    parent_probabilities,
    sum_contexts,
    sum_orders,
)
from anbexact._runtime.arrays import Floats
from anbexact.search.posterior.families import FamilyWeights, Work
from anbexact.search.posterior.lattice_sums import LatticeSums


class OrderSums(LatticeSums):
    """Sums over all pairs of an order of the variables and a network in which parents come before their children.

    ``f(W) = Σ_{i ∈ W} A_i(W - i) f(W - i)``, where A_i(U) is the sum of the weights of the sets of parents of i
    within U, in O(n² 2ⁿ) steps (Koivisto and Sood, JMLR 5, 2004). A network counts once for each of its orders.
    """

    def __init__(self, families: FamilyWeights, work: Work) -> None:
        super().__init__(families, work)
        self.forward, self.backward = _sums(families)
        self.log_sum = float(self.forward[-1])
        self.log_prior_sum = float(_sums(families.prior())[0][-1])

    def _family_probabilities(self, child: int) -> Floats:
        contexts = np.empty(self.families.weights.shape[1])
        sum_contexts(self.forward, self.backward, child, contexts, False)
        return np.asarray(np.exp(self.families.weights[child] + contexts - self.log_sum))

    @cached_property
    def _arcs(self) -> Floats:
        n = len(self.names)
        found = np.empty((n, n))

        def of_child(child: int) -> None:
            parent_probabilities(self._family_probabilities(child), child, found[child])

        self.work.run("arcs", [partial(of_child, child) for child in range(n)])
        return found.T

    def arcs(self) -> Floats:
        return self._arcs

    def _draw_masks(self, count: int, rng: np.random.Generator) -> np.ndarray:
        n = len(self.names)
        parents = np.empty((count, n), dtype=np.int64)
        draw_networks(self.families.weights, self.families.sums, self.forward, rng.random((count, n, 2)), parents)
        return parents

    def entropy(self, draws: int, rng: np.random.Generator) -> float:
        """Return the entropy of the posterior over networks, in nats, estimated by the mean of draws.

        The probability of a network is its weight times the number of its orders, divided by the sum.
        """
        counts = np.empty(len(self.forward))
        masks = self._draw_masks(draws, rng)
        logs = [self._log_weight(own) + count_orders(own, counts) - self.log_sum for own in masks]
        return -float(np.mean(logs))


def _sums(families: FamilyWeights) -> tuple[Floats, Floats]:
    forward, backward = np.empty((2, 1 << families.n))
    sum_orders(families.sums, forward, backward, False)
    return forward, backward
