"""Class posteriors whose log odds are a sum of functions of a few features each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.cached import cached_property
from anbexact.models.logit.potentials import Potentials
from anbexact.models.parameters.counts import Counts
from anbexact.tables.vocabulary import CodeArray, Vocabulary

if TYPE_CHECKING:
    from anbexact.models.network.network import TableNetwork


@dataclass(frozen=True, eq=False)
class FamilySum:
    """A class posterior with ``ln P(c | x) = Σ_F f_F(x_F, c)`` + a function of the row x alone.

    F runs over the families of the class and of its children; f_F is the log of a conditional table, or what a refit
    made of it.

    Attributes
    ----------
    vocabulary : Vocabulary
        Names and states of all variables.
    counts : dict or None
        Weighted counts of the families in the training rows; None if there are none.
    log_posterior : callable
        Returns ln P(c | observed cells), shape (rows, classes), of codes of shape (features, rows).
    find_potentials : callable
        Returns the functions f_F.
    find_network : callable
        Returns the network under which missing cells are summed out.
    """

    vocabulary: Vocabulary
    counts: Counts | None
    log_posterior: Callable[[CodeArray], Floats]
    find_potentials: Callable[[], Potentials]
    find_network: Callable[[], TableNetwork]

    @cached_property
    def potentials(self) -> Potentials:
        """The functions f_F, each of a few features and the class.

        Raises
        ------
        ValueError
            If there are none, as for densities, or for tables with zeros.
        """
        return self.find_potentials()

    @cached_property
    def network(self) -> TableNetwork:
        """The network under which missing cells are summed out.

        Raises
        ------
        ValueError
            If it has densities instead of tables.
        """
        return self.find_network()

    @cached_property
    def arities(self) -> Positions:
        """The number of states of every feature."""
        return np.array([self.vocabulary.arity(name) for name in self.vocabulary.features], dtype=np.int64)

    @cached_property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.vocabulary.arity(self.vocabulary.class_name)

    @cached_property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """The features of every potential, as positions in ``vocabulary.features``."""
        place = {name: j for j, name in enumerate(self.vocabulary.features)}
        return tuple(tuple(place[name] for name in potential.features) for potential in self.potentials)


def counts_of_rows(counts: Counts | None) -> Counts | None:
    """Return counts; None if there are none, or if their total weight is 0."""
    return counts if counts and next(iter(counts.values())).weights.any() else None
