"""The answers of sums over a set of networks: probabilities of arcs and families, and draws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from anbexact._runtime.arrays import Floats

ParentSets = Mapping[Hashable, tuple[Hashable, ...]]
"""The parents of every variable."""


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
