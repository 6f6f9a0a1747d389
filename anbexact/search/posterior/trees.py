"""Sums over all trees, or forests, by elimination of nodes."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property

import numpy as np

from anbexact._kernels.tree_sums import arc_probabilities, eliminate
from anbexact._runtime.arrays import Floats
from anbexact.search.posterior.network_sums import Drawn, NetworkSums


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
