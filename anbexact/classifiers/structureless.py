"""The common base of classifiers whose model follows from the rows without a choice of structure."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import ClassVar

from anbexact._runtime.progress import Progress
from anbexact.classifiers.choosing.frequencies import compare_relearned
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.models.model import Model
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable
from anbexact.tables.training import TrainingColumns


class StructurelessClassifier(TableClassifier):
    """A classifier that does not choose a structure, such as AODE. Subclasses define the model.

    ``fit`` also learns the model from a part of the rows, and warns if it predicts the other rows worse than the
    class frequencies do (:func:`~anbexact.classifiers.choosing.frequencies.compare_relearned`).
    """

    _most_compared: ClassVar[int | None] = None
    """Maximum number of features with two or more states for this comparison, if it becomes too slow beyond."""

    @abstractmethod
    def _model_of(self, table: DiscreteTable, cut_points: dict[Hashable, Cuts], progress: Progress | None) -> Model:
        """Return the model of the rows of a table."""

    def _learn_model(self, read: TrainingColumns) -> Model:
        """Return the model of all rows."""
        table, cut_points = read.discretised(self.discretizer)
        vocabulary = table.vocabulary
        n_features = sum(vocabulary.arity(name) > 1 for name in vocabulary.features)
        if self._most_compared is None or n_features <= self._most_compared:
            compare_relearned(table, lambda rows: self._model_of(rows, cut_points, None))
        return self._model_of(table, cut_points, self.progress())
