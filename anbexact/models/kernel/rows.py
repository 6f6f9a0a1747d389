"""The distinct rows of a table, with the weights of their classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of the features, in ascending order, and the weight of every class in each of them.

    Attributes
    ----------
    codes : (features, rows) int16
    weights : (rows, classes) float64
    """

    codes: CodeArray
    weights: Floats

    @classmethod
    def of(cls, table: DiscreteTable) -> DistinctRows:
        """Return those of a table."""
        vocabulary = table.vocabulary
        codes = np.array([table.column(name) for name in vocabulary.features], dtype=np.int16)
        order = np.lexsort(codes[::-1])
        group = table.groups(vocabulary.features)[order]
        first = np.concatenate([[True], group[1:] != group[:-1]])
        weights = np.zeros((np.count_nonzero(first), vocabulary.arity(vocabulary.class_name)))
        labels = table.column(vocabulary.class_name)[order]
        np.add.at(weights, (np.cumsum(first) - 1, labels), table.weights[order])
        return cls(np.ascontiguousarray(codes[:, order[first]]), weights)

    def some(self, most: int, rng: np.random.Generator) -> DistinctRows:
        """Return at most ``most`` of the rows, drawn at random."""
        if len(self.weights) <= most:
            return self
        return self.at(np.sort(rng.permutation(len(self.weights))[:most]))

    def at(self, places: npt.NDArray[np.integer]) -> DistinctRows:
        """Return the rows at some places, in their order."""
        return DistinctRows(np.ascontiguousarray(self.codes[:, places]), self.weights[places])

    def places_of(self, some: DistinctRows) -> npt.NDArray[np.intp]:
        """Return the places of some of the rows, (rows of these,), in the order of these, which is ascending."""
        n_rows = len(self.weights)
        order = np.lexsort(np.concatenate([self.codes, some.codes], axis=1)[::-1])
        own = order < n_rows  # of two equal rows, the one of all rows comes first
        return np.asarray(order[own][(np.cumsum(own) - 1)[~own]])

    @property
    def biases(self) -> Floats:
        """Logs of P(class), (classes,), from the weights of the classes and one row more, shared by all classes."""
        found = self.weights.sum(axis=0) + 1 / self.weights.shape[1]
        return np.asarray(np.log(found / found.sum()))
