"""Conditional densities of a variable given its parents, by a universal measure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats
from anbexact.models.network.cells import Axes, Levels
from anbexact.models.parameters.counts import FamilyCounts
from anbexact.models.parameters.tables import shown
from anbexact.scores import Universal
from anbexact.scores.kt import HALF
from anbexact.tables.cuts import interval_names
from anbexact.tables.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class FamilyDensity:
    """The density of a variable given its parents, a step function on the cells of some levels.

    Attributes
    ----------
    name : Hashable
        The variable.
    parents : tuple
        Its parents.
    levels : tuple of int
        Level of the variable, then of its parents; the density is constant on the cells of these levels.
    values : float64 array
        ``values[k, j1, j2, ...]``: density, with respect to the reference measure of the variable, in its cell k
        given the parents' cells j1, j2, ...; a probability for a discrete variable.
    most_probable : tuple of int
        The levels with the highest posterior probability.
    most_probable_values : float64 array
        The density at only these levels, on their cells.
    """

    name: Hashable
    parents: tuple[Hashable, ...]
    levels: Levels
    values: Floats
    most_probable: Levels
    most_probable_values: Floats

    def __repr__(self) -> str:
        return (
            f"FamilyDensity(name={self.name!r}, parents={self.parents!r}, levels={self.levels!r}, "
            f"values={shown(self.values)}, most_probable={self.most_probable!r})"
        )

    @property
    def variables(self) -> tuple[Hashable, ...]:
        """The variable, then its parents: the axes of ``values``."""
        return (self.name, *self.parents)


@dataclass(frozen=True, eq=False)
class DensityAtCodes:
    """A density whose variables are given by cells of their finest levels."""

    density: FamilyDensity
    axes: Axes

    @property
    def variables(self) -> tuple[Hashable, ...]:
        """The variable, then its parents."""
        return self.density.variables

    @property
    def values(self) -> Floats:
        """The density; its axes are the variables."""
        return self.density.values

    def cells(self, codes: Mapping[Hashable, npt.NDArray[np.intp]]) -> tuple[npt.NDArray[np.intp], ...]:
        """Return the positions in ``values`` of the cells that contain given finest cells of the variables."""
        places: list[npt.NDArray[np.intp]] = []
        for name, level in zip(self.variables, self.density.levels, strict=True):
            partition = self.axes.score.partitions.get(name)
            own = codes[name] if partition is None else partition.cell_at(level)[codes[name]].astype(np.intp)
            places.append(own)
        return tuple(places)

    def states(self, name: Hashable, vocabulary: Vocabulary) -> Sequence[Any]:
        """Return the states of a discrete variable, or the cells of constant density of a continuous one."""
        if name not in self.axes.score.partitions:
            return vocabulary.states[name]
        partition, level = self.axes.score.partitions[name], self.density.levels[self.variables.index(name)]
        return interval_names(partition.cuts_at(level), vocabulary.quantities.get(name))


Densities = dict[Hashable, FamilyDensity]
"""The densities of all variables."""


def family_densities(
    counts: Mapping[Hashable, FamilyCounts],
    levels: Mapping[Hashable, Levels],
    score: Universal,
    vocabulary: Vocabulary,
) -> Densities:
    """Return the predictive densities of all variables given their parents.

    Given rows of total weight N, a variable and its parents T have the predictive density

        g(t) = Σ_k W_k (N_tk + ½) / (N + q_k / 2) / η(cell of t at levels k),

    where N_tk is the weight of the cell of t at levels k, q_k is the number of cells, and W_k is the posterior
    probability of these levels, proportional to the terms of :class:`~anbexact.scores.Universal`. The density of the
    variable given its parents is g divided by its integral along the variable.

    Parameters
    ----------
    counts : mapping
        Those of :func:`count_at_levels`.
    levels : mapping
        Those of :func:`family_levels`.
    score : Universal
        The measure, with the partitions of the continuous variables.
    vocabulary : Vocabulary
        Names and states of all variables; the states of continuous ones are the cells of the finest level.

    Returns
    -------
    dict
        A density for every variable, in the order of ``counts``.

    References
    ----------
    Suzuki, Entropy 17 (2015), section 3.2; the predictive probability is that of Krichevsky and Trofimov (1981).
    """
    axes = Axes(score, vocabulary)
    return {name: _density(family, levels[name], axes) for name, family in counts.items()}


def _density(family: FamilyCounts, finest: Levels, axes: Axes) -> FamilyDensity:
    """Return the density of a variable given its parents."""
    names, score = family.variables, axes.score
    table = axes.table(family, finest)
    tuples, terms = score.terms(table, names, finest)
    shares = np.exp(terms - terms.max())
    shares /= shares.sum()
    most_probable = tuples[int(shares.argmax())]
    mixed = np.zeros(family.shape)
    for levels, share in zip(tuples, shares.tolist(), strict=True):
        views = tuple(zip(names, levels, strict=True))
        weights = score.at_levels(table, views).counts(views)
        predictive = axes.times_masses(weights + HALF, names, levels, -1) / (table.weight_sum + weights.size / 2)
        if levels == most_probable:
            alone = _given_parents(predictive, names, levels, axes)
        mixed += share * axes.refine(predictive, names, levels, finest)
    values = _given_parents(mixed, names, finest, axes)
    return FamilyDensity(family.name, family.parents, finest, values, most_probable, alone)


def _given_parents(values: Floats, names: Sequence[Hashable], levels: Levels, axes: Axes) -> Floats:
    """Return a density of a variable and its parents over its integral along the variable."""
    given: Floats = values / axes.times_masses(values, names[:1], levels[:1]).sum(axis=0)
    return given
