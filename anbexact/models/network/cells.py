"""The cells of variables at their levels, and step functions on them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.models.parameters.counts import FamilyCounts
from anbexact.scores import Universal
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary

Levels = tuple[int, ...]
"""The levels of some variables, in their order."""


@dataclass(frozen=True)
class Axes:
    """Cells, and their measures, of the variables of a vocabulary at their levels."""

    score: Universal
    vocabulary: Vocabulary

    def masses(self, name: Hashable, level: int) -> Floats:
        """Return the reference measure of the cells of a variable at a level; ones for a discrete variable."""
        if name in self.score.partitions:
            return self.score.partitions[name].masses_at(level)
        return np.ones(self.vocabulary.arity(name))

    def shape(self, names: Sequence[Hashable], levels: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers of cells of variables at levels."""
        return tuple(len(self.masses(name, level)) for name, level in zip(names, levels, strict=True))

    def refine(self, values: Floats, names: Sequence[Hashable], coarse: Levels, fine: Levels) -> Floats:
        """Return a step function on the cells of coarse levels as a function on the cells of fine levels."""
        for axis, (name, a, b) in enumerate(zip(names, coarse, fine, strict=True)):
            if a < b:
                partition = self.score.partitions[name]
                values = values.take(partition.cell_at(a)[partition.first_cell(b)], axis=axis)
        return values

    def join(self, values: Floats, name: Hashable, fine: int, coarse: int) -> Floats:
        """Add up the probabilities of a first variable's cells at a fine level by its cells at a coarse level."""
        if fine == coarse:
            return values
        partition = self.score.partitions[name]
        cells = partition.cell_at(coarse)[partition.first_cell(fine)]
        joined: Floats = np.add.reduceat(values, np.unique(cells, return_index=True)[1], axis=0)
        return joined

    def times_masses(self, values: Floats, names: Sequence[Hashable], levels: Levels, power: int = 1) -> Floats:
        """Return a function times the measures of its first variables or, if ``power`` is -1, divided by them."""
        for axis, (name, level) in enumerate(zip(names, levels, strict=False)):
            masses = self.masses(name, level) ** power
            values = values * masses.reshape(-1, *[1] * (values.ndim - axis - 1))
        return values

    def table(self, family: FamilyCounts, levels: Levels) -> DiscreteTable:
        """Return counts at levels as a table of the vocabulary; the first finest cell stands for every cell."""
        codes = np.stack(np.unravel_index(family.cells, family.shape), axis=1).astype(np.int16)
        for axis, (name, level) in enumerate(zip(family.variables, levels, strict=True)):
            if name in self.score.partitions:
                codes[:, axis] = self.score.partitions[name].first_cell(level)[codes[:, axis]]
        vocabulary = Vocabulary({name: self.vocabulary.states[name] for name in family.variables})
        return DiscreteTable(vocabulary, np.asfortranarray(codes), family.weights, len(codes))
