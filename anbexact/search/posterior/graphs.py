"""Sums over all acyclic graphs, every graph once."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from anbexact._kernels.graph_sums import draw_graphs, sum_layer_contexts, sum_layers
from anbexact._kernels.network_sums import parent_probabilities
from anbexact._runtime.arrays import Floats
from anbexact.search.posterior.families import FamilyWeights, Work
from anbexact.search.posterior.lattice_sums import LatticeSums, Masks

MOST_VARIABLES = 12
"""Maximum number of variables for sums over all graphs, which take 4ⁿ steps."""


class GraphSums(LatticeSums):
    """Sums over all acyclic graphs, by layers, in O(4ⁿ) steps.

    A graph is the sequence of its layers: its sources, the sources of the rest, and so on. Every graph counts once,
    and only the weights of sets of parents outside the last layer are subtracted, so there is no cancellation as in
    inclusion and exclusion over sinks (Tian and He, UAI 2009).
    """

    def __init__(self, families: FamilyWeights, work: Work) -> None:
        super().__init__(families, work)
        self.forward, self.backward = np.empty((2, 3**families.n))
        self.log_sum = float(sum_layers(families.sums, self.forward, self.backward))
        unweighted = families.prior()
        self.log_prior_sum = float(sum_layers(unweighted.sums, *np.empty((2, 3**families.n))))

    @cached_property
    def _probabilities(self) -> Floats:
        n = len(self.names)
        found = np.empty((n, 1 << max(n - 1, 0)))

        def of_child(child: int) -> None:
            contexts = np.empty((2, found.shape[1]))
            sum_layer_contexts(self.families.sums, self.forward, self.backward, child, *contexts)
            within, without = np.exp(self.families.weights[child] + contexts - self.log_sum)
            found[child] = np.maximum(within - without, 0.0)

        self.work.run("families", [partial(of_child, child) for child in range(n)])
        return found

    def _family_probabilities(self, child: int) -> Floats:
        return np.asarray(self._probabilities[child])

    def arcs(self) -> Floats:
        found = np.empty((len(self.names), len(self.names)))
        for child, own in enumerate(self._probabilities):
            parent_probabilities(own, child, found[child])
        return found.T

    def _draw_masks(self, count: int, rng: np.random.Generator) -> Masks:
        n = len(self.names)
        parents = np.empty((count, n), dtype=np.int64)
        draw_graphs(self.families.weights, self.families.sums, self.forward, rng.random((count, 2 * n + 1)), parents)
        return parents

    def entropy(self, draws: int, rng: np.random.Generator) -> float:
        """Return the entropy, ln Z - Σ P(family) ln weight, in nats; the arguments are not used."""
        weights = self.families.weights
        return self.log_sum - float((self._probabilities * np.where(np.isneginf(weights), 0.0, weights)).sum())
