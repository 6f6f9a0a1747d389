"""Naive Bayes whose tables are derived from the estimated ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.choosing.frequencies import compare_relearned, later_corrected
from anbexact.classifiers.choosing.sample_size import PLAIN, Learned, Validation
from anbexact.models.network.estimation import Estimation
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import Tables
from anbexact.models.structure import Structure
from anbexact.scores import Score
from anbexact.search import learn_naive_bayes
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable


class DerivedTablesClassifier(NetworkClassifier):
    """A naive Bayes classifier whose tables are derived from the estimated ones. Subclasses define how.

    It has no counts, because counts do not determine its tables, so rows cannot be added.
    """

    sample_sizes_: npt.NDArray[np.float64]
    """Equivalent sample sizes of the score, and of the tables from which the others are derived."""

    def _structure_learner(self, table: DiscreteTable, validation: Validation = PLAIN) -> Callable[..., Learned]:
        """Return a function that learns the structure; only the derived tables are compared with frequencies."""
        learner = super()._structure_learner(table, validation)

        def learned(**limits: Any) -> Learned:
            with later_corrected():
                return learner(**limits)

        return learned

    @abstractmethod
    def _derived(self, table: DiscreteTable, network: TableNetwork) -> Tables:
        """Return the tables, given the network that was estimated from a table."""

    @property
    def ess_(self) -> float:
        """The value used for ``ess``."""
        return float(self.sample_sizes_[0])

    @property
    def smoothing_(self) -> float:
        """The value used for ``smoothing``."""
        return float(self.sample_sizes_[1])

    @property
    def parameters_(self) -> str:
        """The value of ``parameters``."""
        return str(self.parameters)

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        return learn_naive_bayes(table, score)

    def _estimated(
        self, table: DiscreteTable, structure: Structure, cut_points: dict[Hashable, Cuts], estimation: Estimation
    ) -> TableNetwork:
        estimated = super()._estimated
        self.sample_sizes_ = np.array([estimation.ess, estimation.smoothing])

        def derived(rows: DiscreteTable) -> TableNetwork:
            network = estimated(rows, structure, cut_points, estimation)
            return replace(network, tables=self._derived(rows, network), counts=None, estimation=None)

        compare_relearned(table, derived)
        return derived(table)
