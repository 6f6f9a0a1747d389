"""Conditional densities of a structure by a universal measure, and the class posterior that follows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from anbexact.discretize import interval_names
from anbexact.networks.posterior import Posterior
from anbexact.parameters.counts import Counts, FamilyCounts, check_room, memory_needed
from anbexact.parameters.tables import ConditionalTable, Tables, shown
from anbexact.scores import Universal
from anbexact.scores.kt import HALF
from anbexact.scores.universal import View
from anbexact.structures.structure import Structure, parents_first
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray, Vocabulary

Floats = npt.NDArray[np.float64]
Levels = tuple[int, ...]
AT_ONCE = 1 << 20
"""Cells of codes that are worked at once."""
MOST_STEPS = 2 * 10**9
"""Tuples of levels times cells that the density of a family may take (some seconds)."""
MOST_CELLS = 1 << 22
"""Cells of all densities together, every variable at its finest level, up to which one posterior serves all patterns
of missing cells (32 MB)."""


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
        """Return a step function on the cells of coarse levels as one on those of fine levels."""
        for axis, (name, a, b) in enumerate(zip(names, coarse, fine, strict=True)):
            if a < b:
                partition = self.score.partitions[name]
                values = values.take(partition.cell_at(a)[partition.first_cell(b)], axis=axis)
        return values

    def join(self, values: Floats, name: Hashable, fine: int, coarse: int) -> Floats:
        """Add up probabilities of a first variable's cells at a level to those of a coarser one."""
        if fine == coarse:
            return values
        partition = self.score.partitions[name]
        cells = partition.cell_at(coarse)[partition.first_cell(fine)]
        joined: Floats = np.add.reduceat(values, np.unique(cells, return_index=True)[1], axis=0)
        return joined

    def times_masses(self, values: Floats, names: Sequence[Hashable], levels: Levels, power: int = 1) -> Floats:
        """Return a function of variables times, or (-1) over, the measures of some first ones of them."""
        for axis, (name, level) in enumerate(zip(names, levels, strict=False)):
            masses = self.masses(name, level) ** power
            values = values * masses.reshape(-1, *[1] * (values.ndim - axis - 1))
        return values

    def table(self, family: FamilyCounts, levels: Levels) -> DiscreteTable:
        """Return counts at levels as a table of the vocabulary: for every cell, the first finest one in it."""
        codes = np.stack(np.unravel_index(family.cells, family.shape), axis=1).astype(np.int16)
        for axis, (name, level) in enumerate(zip(family.variables, levels, strict=True)):
            if name in self.score.partitions:
                codes[:, axis] = self.score.partitions[name].first_cell(level)[codes[:, axis]]
        vocabulary = Vocabulary({name: self.vocabulary.states[name] for name in family.variables})
        return DiscreteTable(vocabulary, np.asfortranarray(codes), family.weights, len(codes))


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
        Level of the variable, then of its parents, on whose cells the density is constant.
    values : float64 array
        ``values[k, j1, j2, ...]``: density, with respect to the reference measure of the variable, in its cell k
        given the parents' cells j1, j2, ...; a probability for a discrete variable.
    likeliest : tuple of int
        The levels of highest posterior probability.
    likeliest_values : float64 array
        The density at these levels alone, on their cells.
    """

    name: Hashable
    parents: tuple[Hashable, ...]
    levels: Levels
    values: Floats
    likeliest: Levels
    likeliest_values: Floats

    def __repr__(self) -> str:
        return (
            f"FamilyDensity(name={self.name!r}, parents={self.parents!r}, levels={self.levels!r}, "
            f"values={shown(self.values)}, likeliest={self.likeliest!r})"
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
        """Return the positions in ``values`` of the cells that hold finest cells of the variables."""
        places: list[npt.NDArray[np.intp]] = []
        for name, level in zip(self.variables, self.density.levels, strict=True):
            partition = self.axes.score.partitions.get(name)
            own = codes[name] if partition is None else partition.cell_at(level)[codes[name]].astype(np.intp)
            places.append(own)
        return tuple(places)

    def states(self, name: Hashable, vocabulary: Vocabulary) -> Sequence[Any]:
        """Return the states of a discrete variable; of a continuous one, the cells of a constant density."""
        if name not in self.axes.score.partitions:
            return vocabulary.states[name]
        partition, level = self.axes.score.partitions[name], self.density.levels[self.variables.index(name)]
        return interval_names(partition.cuts_at(level), vocabulary.quantities.get(name))


Densities = dict[Hashable, FamilyDensity]
"""The densities of all variables."""


def family_levels(table: DiscreteTable, structure: Structure, score: Universal) -> dict[Hashable, Levels]:
    """Return the finest levels that take part in the measure of every variable with its parents."""
    return {name: score.levels_of((name, *parents), table.weight_sum) for name, parents in structure.parents.items()}


def density_bytes(table: DiscreteTable, structure: Structure, score: Universal) -> dict[Hashable, int]:
    """Return the size of the density of every variable, 8 bytes a cell."""
    axes = Axes(score, table.vocabulary)
    return {
        name: 8 * prod(axes.shape((name, *structure.parents[name]), levels))
        for name, levels in family_levels(table, structure, score).items()
    }


def count_at_levels(table: DiscreteTable, structure: Structure, score: Universal) -> Counts:
    """Return the counts of every variable with its parents, at the levels of :func:`family_levels`.

    Raises
    ------
    ValueError
        If the densities of the structure would not fit into memory, or take too long.
    """
    sizes = density_bytes(table, structure, score)
    advice = (
        "give the universal measure fewer levels=, group the states of discrete ones, or limit the parents by "
        "max_parents= where the search has it"
    )
    check_room(sizes, structure, advice)
    for name, levels in family_levels(table, structure, score).items():
        if prod(levels) * sizes[name] > 8 * MOST_STEPS:
            raise ValueError(
                f"{name!r} and its {len(structure.parents[name])} parents have {prod(levels):,} tuples of levels, "
                f"each to be spread over {sizes[name] // 8:,} cells: {advice}"
            )
    counts = {}
    for name, levels in family_levels(table, structure, score).items():
        parents = structure.parents[name]
        views = tuple(zip((name, *parents), levels, strict=True))
        expanded = score.at_levels(table, views)
        counts[name] = FamilyCounts(name, parents, expanded.shape(views), *expanded.observed_cells(views))
    return counts


def family_densities(
    counts: Mapping[Hashable, FamilyCounts],
    levels: Mapping[Hashable, Levels],
    score: Universal,
    vocabulary: Vocabulary,
) -> Densities:
    """Return the predictive densities of all variables given their parents.

    Given rows of total weight N, a variable and its parents T have the predictive density

        g(t) = Σ_k W_k (N_tk + ½) / (N + q_k / 2) / η(cell of t at levels k),

    N_tk being the weight of the cell of t at levels k, q_k the number of cells, and W_k the posterior probability of
    these levels, in proportion to the terms of :class:`~anbexact.scores.Universal`. The density of the variable given
    its parents is g over its integral along the variable.

    Parameters
    ----------
    counts : mapping
        Those of :func:`count_at_levels`.
    levels : mapping
        Those of :func:`family_levels`.
    score : Universal
        The measure, with the partitions of the continuous variables.
    vocabulary : Vocabulary
        Names and states of all variables; those of continuous ones are the cells of the finest level.

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
    likeliest = tuples[int(shares.argmax())]
    mixed = np.zeros(family.shape)
    for levels, share in zip(tuples, shares.tolist(), strict=True):
        views = tuple(zip(names, levels, strict=True))
        weights = score.at_levels(table, views).counts(views)
        predictive = axes.times_masses(weights + HALF, names, levels, -1) / (table.weight_sum + weights.size / 2)
        if levels == likeliest:
            alone = _given_parents(predictive, names, levels, axes)
        mixed += share * axes.refine(predictive, names, levels, finest)
    values = _given_parents(mixed, names, finest, axes)
    return FamilyDensity(family.name, family.parents, finest, values, likeliest, alone)


def _given_parents(values: Floats, names: Sequence[Hashable], levels: Levels, axes: Axes) -> Floats:
    """Return a density of a variable and its parents over its integral along the variable."""
    given: Floats = values / axes.times_masses(values, names[:1], levels[:1]).sum(axis=0)
    return given


def likeliest_levels(densities: Mapping[Hashable, FamilyDensity]) -> dict[Hashable, int]:
    """Return, for every variable, the finest of its levels that are the likeliest in some family."""
    return _finest(densities, {name: density.likeliest for name, density in densities.items()})


def likeliest_tables(densities: Mapping[Hashable, FamilyDensity], axes: Axes) -> Tables:
    """Return the conditional tables of the network in which every family has its likeliest levels.

    The states of a variable are its cells at the level of :func:`likeliest_levels`; a family whose own level is
    coarser shares the probability of a cell out in proportion to the reference measure.

    Raises
    ------
    ValueError
        If the tables would not fit into memory.
    """
    finest = likeliest_levels(densities)
    sizes = [8 * prod(axes.shape(d.variables, [finest[v] for v in d.variables])) for d in densities.values()]
    needed = sum(sizes) + 2 * max(sizes)
    if needed > available_memory():
        raise ValueError(
            f"the tables of a network in which every variable has its finest cells would take {human_bytes(needed)}: "
            "limit the parents by max_parents=, or the levels by UniversalMeasure(levels=...)"
        )
    tables = {}
    for name, density in densities.items():
        levels = tuple(finest[v] for v in density.variables)
        values = axes.refine(density.likeliest_values, density.variables, density.likeliest, levels)
        values = axes.times_masses(values, density.variables[:1], levels[:1])
        tables[name] = ConditionalTable(name, density.parents, values / values.sum(axis=0))
    return tables


def _finest(densities: Mapping[Hashable, FamilyDensity], levels: Mapping[Hashable, Levels]) -> dict[Hashable, int]:
    """Return the finest level of every variable over the families."""
    finest: dict[Hashable, int] = {}
    for name, density in densities.items():
        for variable, level in zip(density.variables, levels[name], strict=True):
            finest[variable] = max(finest.get(variable, 1), level)
    return finest


class DensityPosterior:
    """The class posterior of a network of densities given rows of feature codes, as :class:`Posterior` has it.

    Codes are cells of the finest level. Missing cells are integrated out: for every pattern of them, over the cells
    of the finest level that the variable has in a family which matters. Densities are with respect to the reference
    measures.

    Parameters
    ----------
    densities : mapping of variable to FamilyDensity
        The network.
    axes : Axes
        The cells of the variables; the vocabulary has a class.
    """

    def __init__(self, densities: Mapping[Hashable, FamilyDensity], axes: Axes) -> None:
        self._axes = axes
        self._class = axes.vocabulary.class_name
        features = {
            name: [parent for parent in density.parents if parent != self._class]
            for name, density in densities.items()
            if name != self._class
        }
        self._densities = {name: densities[name] for name in (*parents_first(features), self._class)}

    @cached_property
    def _complete(self) -> _AtLevels:
        """For rows without missing cells."""
        return self._at_levels(self._densities, {})

    @cached_property
    def _incomplete(self) -> _AtLevels | None:
        """For rows with any missing cells; None where that takes too many cells."""
        finest = _finest(self._densities, {name: d.levels for name, d in self._densities.items()})
        shapes = [self._axes.shape(d.variables, [finest[v] for v in d.variables]) for d in self._densities.values()]
        common = {name: finest[name] for name in self._axes.vocabulary.features}
        return self._at_levels(self._densities, common) if sum(map(prod, shapes)) <= MOST_CELLS else None

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln of the density of class and observed cells, shape (rows, classes); see :class:`Posterior`."""
        return self._evaluate(codes, "log_joint", n_jobs)

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c | observed cells), shape (rows, classes); see :class:`Posterior`."""
        return self._evaluate(codes, "log_posterior", n_jobs)

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return P(c | observed cells), shape (rows, classes); see :class:`Posterior`."""
        return self._evaluate(codes, "posterior", n_jobs)

    def _evaluate(self, codes: CodeArray, form: str, n_jobs: int | None) -> Floats:
        out = np.empty((codes.shape[1], self._axes.vocabulary.arity(self._class)))
        step = max(1, AT_ONCE // max(len(codes), 1))
        for at_levels, rows in self._parts(codes):
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                out[some] = at_levels.evaluate(codes[:, some], form, n_jobs)
        return out

    def _parts(self, codes: CodeArray) -> Iterator[tuple[_AtLevels, npt.NDArray[np.intp]]]:
        """Part the rows by what evaluates them."""
        incomplete = (codes < 0).any(axis=0)
        yield self._complete, np.flatnonzero(~incomplete)
        rest = np.flatnonzero(incomplete)
        if len(rest) and self._incomplete is not None:
            yield self._incomplete, rest
        elif len(rest):
            group = np.unique(np.packbits(codes[:, rest] < 0, axis=0), axis=1, return_inverse=True)[1].reshape(-1)
            by_group = rest[np.argsort(group, kind="stable")]
            for rows in np.split(by_group, np.cumsum(np.bincount(group))[:-1]):
                yield self._of_pattern(codes[:, rows[0]] < 0), rows

    def _check_room(self, n_missing: int, shapes: Sequence[tuple[int, ...]]) -> None:
        """Refuse densities, at the finest cells of what is missing, that would not fit into memory."""
        needed = memory_needed(8 * prod(shape) for shape in shapes)
        if needed > available_memory():
            raise ValueError(
                f"marginalising {n_missing} missing or unknown cells needs densities of {human_bytes(needed)}: fill "
                "some of them in, or learn with fewer max_parents"
            )

    def _of_pattern(self, hidden: npt.NDArray[np.bool_]) -> _AtLevels:
        """Return what evaluates rows that lack certain features, and no others."""
        features = self._axes.vocabulary.features
        missing = {name for name, lacks in zip(features, hidden.tolist(), strict=True) if lacks}
        needed = {*features, self._class} - missing
        for name, density in reversed(self._densities.items()):
            if name in needed:
                needed.update(density.parents)
        chosen = {name: density for name, density in self._densities.items() if name in needed}
        as_parents = {name: dict(zip(d.parents, d.levels[1:], strict=True)) for name, d in chosen.items()}
        common = {v: max(levels[v] for levels in as_parents.values() if v in levels) for v in missing & needed}
        shapes = [
            self._axes.shape(d.variables, [common.get(v, k) for v, k in zip(d.variables, d.levels, strict=True)])
            for d in chosen.values()
        ]
        self._check_room(len(missing), shapes)
        return self._at_levels(chosen, common)

    def _at_levels(self, densities: Mapping[Hashable, FamilyDensity], common: Mapping[Hashable, int]) -> _AtLevels:
        """Return what evaluates rows that may lack some features: those with a common level for all families."""
        axes = self._axes
        logs: list[tuple[Hashable, tuple[Hashable, ...], Floats]] = []
        used: dict[View, None] = {}
        for name, density in densities.items():
            levels = tuple(common.get(v, k) for v, k in zip(density.variables, density.levels, strict=True))
            views = tuple(zip(density.variables, levels, strict=True))
            values = axes.refine(density.values, density.variables, density.levels, levels)
            if name in common:
                finer = max(levels[0], density.levels[0])
                values = axes.join(axes.times_masses(values, (name,), (finer,)), name, finer, levels[0])
            if self._class in density.variables:
                values = np.moveaxis(values, density.variables.index(self._class), -1)
            else:
                values = np.broadcast_to(values[..., None], (*values.shape, axes.vocabulary.arity(self._class)))
            own = tuple(view for view in views if view[0] != self._class)
            logs.append((views[0], own, np.log(values)))
            used.update(dict.fromkeys(own))
        posterior = Posterior.from_logs(logs, {view: len(axes.masses(*view)) for view in used})
        return _AtLevels(posterior, tuple(used), frozenset(common), axes)


@dataclass(frozen=True)
class _AtLevels:
    """A posterior whose codes are cells at the levels of some views.

    In that of the features that may be missing, probabilities of cells take the place of densities.
    """

    posterior: Posterior
    views: tuple[View, ...]
    missing: frozenset[Hashable]
    axes: Axes

    def evaluate(self, codes: CodeArray, form: str, n_jobs: int | None) -> Floats:
        """Return the result for rows of finest codes."""
        place = {name: j for j, name in enumerate(self.axes.vocabulary.features)}
        own = np.empty((len(self.views), codes.shape[1]), dtype=np.int16)
        log_masses = np.zeros(codes.shape[1])
        for k, (name, level) in enumerate(self.views):
            of_feature, partition = codes[place[name]], self.axes.score.partitions.get(name)
            own[k] = of_feature if partition is None else partition.cell_at(level)[of_feature]
            own[k, of_feature < 0] = -1
            if name in self.missing and form == "log_joint":
                log_masses += np.where(own[k] < 0, 0.0, np.log(self.axes.masses(name, level))[own[k]])
        result: Floats = getattr(self.posterior, form)(own, n_jobs)
        return result - log_masses[:, None] if form == "log_joint" else result
