"""Sums over sets of networks: over orders, over acyclic graphs, and over trees or forests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from anbexact._kernels.graph_sums import draw_graphs, sum_layer_contexts, sum_layers
from anbexact._kernels.network_sums import (
    count_orders,
    draw_networks,
    parent_probabilities,
    sum_contexts,
    sum_orders,
)
from anbexact._kernels.tree_sums import arc_probabilities, eliminate
from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact.search.exact.by_family import mask_at, place_of
from anbexact.search.posterior.families import FamilyWeights, Work

ParentSets = Mapping[Hashable, tuple[Hashable, ...]]
"""The parents of every variable."""
LEAST_PROBABILITY = 1e-12
"""Sets of parents that are less probable than this are not listed."""
Masks = npt.NDArray[np.int64]
MOST_VARIABLES = 12
"""Maximum number of variables for sums over all graphs, which take 4ⁿ steps."""


@dataclass(frozen=True)
class Drawn:
    """A network that was drawn.

    Attributes
    ----------
    parents : mapping
        The parents of every variable, without the class.
    log_likelihood : float
        Sum of the local scores of these variables, in nats.
    """

    parents: ParentSets
    log_likelihood: float


class NetworkSums(ABC):
    """Sums over all admitted networks, weighted by prior times likelihood.

    Attributes
    ----------
    names : tuple
        The variables, in the order of the arrays.
    log_sum, log_prior_sum : float
        ln of the sum over the networks, with and without the likelihood.
    """

    names: tuple[Hashable, ...]
    log_sum: float
    log_prior_sum: float

    @abstractmethod
    def arcs(self) -> Floats:
        """Return the probability of every arc, shape (n, n), parents by children."""

    @abstractmethod
    def parent_sets(self, child: int) -> list[tuple[tuple[Hashable, ...], float]]:
        """Return the sets of parents of a variable with positive probabilities, and these, the highest first."""

    @abstractmethod
    def draw(self, count: int, rng: np.random.Generator) -> list[Drawn]:
        """Return independent draws."""

    @abstractmethod
    def entropy(self, draws: int, rng: np.random.Generator) -> float:
        """Return the entropy of the posterior over networks in nats; estimated by draws where it cannot be summed."""


class LatticeSums(NetworkSums):
    """Sums made of the weights of all families."""

    def __init__(self, families: FamilyWeights, work: Work) -> None:
        self.families, self.work = families, work
        self.names = families.names

    @abstractmethod
    def _family_probabilities(self, child: int) -> Floats:
        """Return the probabilities of the sets of parents of a variable, by place."""

    @abstractmethod
    def _draw_masks(self, count: int, rng: np.random.Generator) -> Masks:
        """Return the sets of parents of independent draws, shape (draws, n)."""

    def parent_sets(self, child: int) -> list[tuple[tuple[Hashable, ...], float]]:
        found = self._family_probabilities(child)
        places = np.flatnonzero(found > LEAST_PROBABILITY)
        ordered = places[np.argsort(-found[places], kind="stable")]
        return [(self._members(mask_at(place, child)), float(found[place])) for place in ordered.tolist()]

    def draw(self, count: int, rng: np.random.Generator) -> list[Drawn]:
        drawn = []
        for masks in self._draw_masks(count, rng):
            parents = dict(zip(self.names, map(self._members, masks.tolist()), strict=True))
            log_prior = float(self.families.log_prior[np.bitwise_count(masks)].sum())
            drawn.append(Drawn(parents, self._log_weight(masks) - log_prior))
        return drawn

    def _log_weight(self, parents: Masks) -> float:
        places = [place_of(mask, i) for i, mask in enumerate(parents.tolist())]
        return float(self.families.weights[np.arange(len(places)), places].sum())

    def _members(self, mask: int) -> tuple[Hashable, ...]:
        return tuple(name for b, name in enumerate(self.names) if mask >> b & 1)


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


class TreeSums(NetworkSums):
    """Sums over all spanning trees directed away from a root, or all forests of such trees, in O(n³) steps.

    Parameters
    ----------
    names : tuple
        The features.
    arcs : (n, n) float64
        ln of the weight of every arc, parents by children; minus infinity for none.
    roots : (n,) float64
        ln of the weight of every feature without a parent.
    forest : bool
        Whether several features may be without a parent.

    References
    ----------
    Meilă and Jaakkola, UAI 2000; Cerquides and López de Mántaras, ICML 2005.
    """

    def __init__(self, names: tuple[Hashable, ...], arcs: Floats, roots: Floats, *, forest: bool) -> None:
        self.names, self.forest = names, forest
        self.weights = arcs.copy(), roots.copy()
        np.fill_diagonal(self.weights[0], -np.inf)
        self._eliminated = self._eliminate(*self.weights)
        self.log_sum = self._eliminated[0]
        self.log_prior_sum = self._eliminate(*(np.where(np.isneginf(own), own, 0.0) for own in self.weights))[0]

    def _eliminate(self, arcs: Floats, roots: Floats) -> tuple[float, Floats, Floats, Floats]:
        arcs, roots, totals = arcs.copy(), roots.copy(), np.empty(len(roots))
        return float(eliminate(arcs, roots, self.forest, totals)), arcs, roots, totals

    def _probabilities_of(self, eliminated: tuple[float, Floats, Floats, Floats]) -> tuple[Floats, Floats]:
        _, arcs, roots, totals = eliminated
        n = len(roots)
        of_arcs, of_roots = np.zeros((n, n)), np.zeros(n)
        arc_probabilities(arcs.copy(), roots.copy(), self.forest, totals, of_arcs, of_roots)
        return of_arcs, of_roots

    @cached_property
    def _probabilities(self) -> tuple[Floats, Floats]:
        return self._probabilities_of(self._eliminated)

    def arcs(self) -> Floats:
        return self._probabilities[0]

    def parent_sets(self, child: int) -> list[tuple[tuple[Hashable, ...], float]]:
        of_arcs, of_roots = self._probabilities
        found = [
            ((), float(of_roots[child])),
            *(((name,), float(p)) for name, p in zip(self.names, of_arcs[:, child], strict=True)),
        ]
        return sorted((own for own in found if own[1] > 0), key=lambda own: -own[1])

    def draw(self, count: int, rng: np.random.Generator) -> list[Drawn]:
        """Return independent draws, in O(n⁴) steps each: one feature's parent after the other, given those before."""
        return [self._drawn(rng) for _ in range(count)]

    def _drawn(self, rng: np.random.Generator) -> Drawn:
        arcs, roots = self.weights[0].copy(), self.weights[1].copy()
        log_weight = 0.0
        parents: dict[Hashable, tuple[Hashable, ...]] = {}
        for child, name in enumerate(self.names):
            of_arcs, of_roots = self._probabilities_of(self._eliminate(arcs, roots))
            shares = np.append(of_arcs[:, child], of_roots[child])
            parent = int(rng.choice(len(shares), p=shares / shares.sum()))
            rooted = parent == len(roots)
            log_weight += roots[child] if rooted else arcs[parent, child]
            kept = -np.inf if rooted else arcs[parent, child]
            arcs[:, child] = -np.inf
            if rooted:
                parents[name] = ()
            else:
                arcs[parent, child] = kept
                roots[child] = -np.inf
                parents[name] = (self.names[parent],)
        return Drawn(parents, float(log_weight))

    def entropy(self, draws: int, rng: np.random.Generator) -> float:
        """Return the entropy, ln Z - Σ P(arc) ln weight, in nats; the arguments are not used."""
        total = self.log_sum
        for weights, found in zip(self.weights, self._probabilities, strict=True):
            total -= float((found * np.where(np.isneginf(weights), 0.0, weights)).sum())
        return total
