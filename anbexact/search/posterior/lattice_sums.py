"""The common base of sums over the subsets of the variables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats
from anbexact.search.posterior.families import FamilyWeights, Work, mask_at, place_of
from anbexact.search.posterior.network_sums import Drawn, NetworkSums

LEAST_PROBABILITY = 1e-12
"""Sets of parents that are less probable than this are not listed."""
Masks = npt.NDArray[np.int64]


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
