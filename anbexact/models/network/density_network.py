"""Networks in which continuous columns are modelled by a universal measure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from math import nan, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from anbexact._runtime.cached import cached_property
from anbexact._runtime.json_checks import listed, mapped, reading, references, shortened
from anbexact._runtime.json_values import decode, encode
from anbexact._runtime.warn import warn
from anbexact.models.network.cells import Axes, Levels
from anbexact.models.network.densities import Densities, DensityAtCodes, family_densities
from anbexact.models.network.density_posterior import DensityPosterior
from anbexact.models.network.explanation_terms import Family, Grounds
from anbexact.models.network.network import Network, TableNetwork, check_families, read_structure
from anbexact.models.network.probable_levels import (
    cell_tables,
    finest_levels,
    most_probable_levels,
    most_probable_tables,
)
from anbexact.models.network.sampling import sample_network
from anbexact.models.parameters.counts import Counts, FamilyCounts, check_memory
from anbexact.models.structure import Structure
from anbexact.scores import Universal
from anbexact.scores.universal import as_universal
from anbexact.tables.cuts import Cuts, interval_names
from anbexact.tables.frames.records import ColumnRecord
from anbexact.tables.reader import Reader
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray, Vocabulary

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DensityNetwork(Network):
    """A network in which continuous columns are modelled by a universal measure.

    Attributes
    ----------
    densities : dict
        The density of every variable given its parents (:class:`~anbexact.models.network.densities.FamilyDensity`).
    measure : Universal
        The score, with the partitions of the continuous columns.
    level_cost : float
        By how much the mean log loss of the training rows rises in :meth:`discrete`, in nats per row; NaN without a
        class.

    The other attributes are those of :class:`Network`; ``vocabulary`` and ``cut_points`` contain the cells of the
    finest levels.
    """

    densities: Densities
    measure: Universal
    level_cost: float = nan

    @classmethod
    def from_counts(
        cls,
        vocabulary: Vocabulary,
        structure: Structure,
        counts: Counts,
        levels: Mapping[Hashable, Levels],
        measure: Universal,
    ) -> DensityNetwork:
        """Return the network whose densities are estimated from counts at the finest levels of every family."""
        return cls(
            vocabulary=vocabulary,
            cut_points={name: partition.finest for name, partition in measure.partitions.items()},
            structure=structure,
            counts=counts,
            densities=family_densities(counts, levels, measure, vocabulary),
            measure=measure,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the structure, the measure, and the counts at levels."""
        return {
            **super().to_dict(),
            "measure": encode(self.measure),
            "level_cost": encode(self.level_cost),
            "levels": [list(density.levels) for density in self.densities.values()],
            "counts": self._counts_to_dict(),
        }

    @classmethod
    def from_dict(
        cls, described: Mapping[str, Any], vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts], estimator: Any
    ) -> Network:
        """Return the network that was described: one of tables if the columns were discretised.

        See :meth:`Model.from_dict`.
        """
        if "measure" not in described:
            return TableNetwork.from_dict(described, vocabulary, cut_points, estimator)
        structure = read_structure(described, vocabulary)
        with reading("measure, levels and counts"):
            network = cls._read(described, vocabulary, structure, cut_points)
            with reading("level_cost"):
                network = replace(network, level_cost=float(decode(described["level_cost"])))
                network.prepare()
            return network

    @classmethod
    def _read(
        cls,
        described: Mapping[str, Any],
        vocabulary: Vocabulary,
        structure: Structure,
        cut_points: Mapping[Hashable, Cuts],
    ) -> DensityNetwork:
        """Return the network of a structure, without the cost of its levels."""
        names, measure = vocabulary.names, as_universal(decode(described["measure"]))
        if any(len(partition.masses) != vocabulary.arity(name) for name, partition in measure.partitions.items()):
            raise ValueError("a partition does not match the states")
        finest = {name: list(partition.cuts) for name, partition in measure.partitions.items()}
        if finest != {name: cuts.tolist() for name, cuts in cut_points.items()}:
            raise ValueError("a partition does not match the cut points")
        axes = Axes(measure, vocabulary)
        counts, levels = {}, {}
        for of_counts, of_family in zip(listed(described["counts"]), listed(described["levels"]), strict=True):
            variables = [names[j] for j in references(mapped(of_counts)["variables"], len(names))]
            level = dict(zip(variables, listed(of_family), strict=True))
            for name, k in level.items():
                if type(k) is not int or k not in range(1, measure.n_levels(name) + 1):
                    raise ValueError(f"{name!r} has no level {shortened(k)}")
            cells = {name: len(axes.masses(name, k)) for name, k in level.items()}
            family = FamilyCounts.from_dict(of_counts, names, cells.__getitem__)
            counts[family.name], levels[family.name] = family, tuple(of_family)
        check_families(list(counts.values()), structure)
        check_memory(sum(prod(family.shape) for family in counts.values()))
        return cls.from_counts(vocabulary, structure, counts, levels, measure)

    @cached_property
    def _axes(self) -> Axes:
        return Axes(self.measure, self.vocabulary)

    @cached_property
    def class_posterior(self) -> DensityPosterior:
        """The evaluator of the joint density and the posterior probabilities of the class."""
        return DensityPosterior(self.densities, self._axes)

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities, of every family at its most probable levels: Σ_v (r_v - 1) q_v."""
        tables = [density.most_probable_values for density in self.densities.values()]
        return sum(values.size - values[0].size for values in tables)

    @property
    def families(self) -> Mapping[Hashable, Family]:
        """The densities, at the codes of the finest levels."""
        return {name: DensityAtCodes(density, self._axes) for name, density in self.densities.items()}

    @property
    def grounds(self) -> Grounds:
        """The counts of the finest cells."""
        return Grounds(
            self.counts,
            None,
            "Intervals are not available: a universal measure has no Dirichlet posterior. Counts are those of the "
            "finest cells, while a term averages over coarser cells, too.",
        )

    def facts(self) -> dict[str, Any]:
        """Return the cells and the most probable levels of its densities, and its structure."""
        return {
            "cut_points": self.discrete_cut_points,
            "measure": self.measure,
            "levels": {
                name: dict(zip(density.variables, density.most_probable, strict=True))
                for name, density in self.densities.items()
            },
            "level_cost": self.level_cost,
            "structure": self.structure,
            "score_name": self.measure.name,
        }

    def add(self, table: DiscreteTable) -> DensityNetwork:
        """Refuse, because the levels depend on the number of rows.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            "rows cannot be added to a universal measure, whose levels depend on their number: fit all rows again"
        )

    def sample(
        self,
        n: int,
        evidence: Mapping[Hashable, Any] | None = None,
        *,
        random_state: int | np.random.Generator | None = None,
        missing: bool = False,
        reader: Reader | None = None,
    ) -> pd.DataFrame:
        """Return rows drawn from the densities, given the values of some variables; see :meth:`Model.sample`.

        Cells are drawn from :meth:`on_cells`, and numbers within a cell according to the reference measure: equally
        probable where it is the width of intervals, otherwise as the training values in the cell. (The measure of
        :class:`~anbexact.tables.cuts.CountPartition` has no mean, so large counts are drawn in this way, too.)
        """
        cells = self.on_cells()
        records = {**cells.vocabulary.records, **self._records_of_widths()}
        own = replace(cells, vocabulary=replace(cells.vocabulary, records=records))
        return sample_network(own, n, evidence, random_state, missing, reader)

    def _records_of_widths(self) -> dict[Hashable, ColumnRecord]:
        """Return records with equally probable values for the columns that are measured by width."""
        return {
            name: ColumnRecord(partition.range, dtype="float64")
            for name, partition in self.measure.partitions.items()
            if partition.range is not None
        }

    def counted(self) -> TableNetwork:
        """Refuse, because the levels depend on the number of rows."""
        raise ValueError(
            "densities of a universal measure depend on the number of rows and cannot be counted separately"
        )

    @property
    def summing_network(self) -> TableNetwork:
        """Refuse, because explanations of densities do not sum cells out."""
        raise ValueError(
            "this explanation needs conditional tables, and this classifier has densities: explain the "
            "classifier that its to_discrete() returns"
        )

    # ---- the network with the most probable levels

    def to_network(self) -> TableNetwork:
        """Return :meth:`discrete`, with a warning that states the cost."""
        network = self.discrete()
        cells = ", ".join(f"{name} {len(cuts) + 1}" for name, cuts in network.cut_points.items())
        cost = f", which changes the mean log loss on the training rows by {self.level_cost:+.4g} nats"
        warn(
            f"every variable is exported at its most probable level (cells: {cells or 'all are discrete'})"
            + cost * (self.vocabulary.class_name is not None)
        )
        return network

    @cached_property
    def _levels(self) -> dict[Hashable, int]:
        return most_probable_levels(self.densities)

    @property
    def discrete_cut_points(self) -> dict[Hashable, Cuts]:
        """The cut points of :meth:`discrete`."""
        return self._cuts_at(self._levels)

    @property
    def discrete_vocabulary(self) -> Vocabulary:
        """The vocabulary of :meth:`discrete`."""
        return self._with_cells(self.discrete_cut_points)

    def _cuts_at(self, levels: Mapping[Hashable, int]) -> dict[Hashable, Cuts]:
        """Return the cut points of every continuous variable at its level."""
        return {name: partition.cuts_at(levels[name]) for name, partition in self.measure.partitions.items()}

    def _with_cells(self, cut_points: Mapping[Hashable, Cuts]) -> Vocabulary:
        """Return the vocabulary in which the states of continuous variables are the cells between cut points."""
        states, quantities = dict(self.vocabulary.states), self.vocabulary.quantities
        states.update({name: interval_names(cuts, quantities.get(name)) for name, cuts in cut_points.items()})
        return replace(self.vocabulary, states=states)

    def discrete(self) -> TableNetwork:
        """Return the network in which every variable and its parents have only their most probable levels.

        Each variable gets the cells of the finest level that is the most probable one in some family; see
        :func:`~anbexact.models.network.probable_levels.most_probable_tables`.

        Raises
        ------
        ValueError
            If the tables would not fit into memory.
        """
        return TableNetwork(
            vocabulary=self.discrete_vocabulary,
            cut_points=self.discrete_cut_points,
            structure=self.structure,
            tables=most_probable_tables(self.densities, self._axes),
        )

    @cached_property
    def _finest(self) -> dict[Hashable, int]:
        return finest_levels(self.densities, {name: density.levels for name, density in self.densities.items()})

    @property
    def n_cells(self) -> int:
        """Number of entries of the tables of :meth:`on_cells`."""
        shapes = [
            self._axes.shape(d.variables, [self._finest[v] for v in d.variables]) for d in self.densities.values()
        ]
        return sum(map(prod, shapes))

    @property
    def cell_cut_points(self) -> dict[Hashable, Cuts]:
        """The cut points of :meth:`on_cells`."""
        return self._cuts_at(self._finest)

    def on_one_graph(self, most_cells: int) -> TableNetwork:
        """Return :meth:`on_cells`, or :meth:`discrete` if that has more entries than ``most_cells``."""
        return self.on_cells() if self.n_cells <= most_cells else self.discrete()

    def on_cells(self) -> TableNetwork:
        """Return the network of the probabilities of cells, on which all densities are constant.

        Given any states and cells, it has the same class posterior as this network given values within these cells.

        Raises
        ------
        ValueError
            If the tables would not fit into memory.
        """
        return TableNetwork(
            vocabulary=self._with_cells(self.cell_cut_points),
            cut_points=self.cell_cut_points,
            structure=self.structure,
            tables=cell_tables(self.densities, self._axes),
        )

    def discrete_codes(self, codes: CodeArray) -> CodeArray:
        """Return codes of the finest levels as codes of the cells of :meth:`discrete`."""
        own = codes.copy()
        for j, name in enumerate(self.vocabulary.features):
            if name in self.measure.partitions:
                cells = self.measure.partitions[name].cell_at(self._levels[name])
                own[j] = np.where(codes[j] < 0, codes[j], cells[codes[j]])
        return own

    def discrete_counts(self) -> Counts | None:
        """Return the counts of the cells of :meth:`discrete`."""
        if self.counts is None:
            return None
        return {name: self._coarse(family) for name, family in self.counts.items()}

    def _coarse(self, family: FamilyCounts) -> FamilyCounts:
        """Return counts of the finest cells as counts of the cells of :meth:`discrete`."""
        codes = list(np.unravel_index(family.cells, family.shape))
        for axis, name in enumerate(family.variables):
            if name in self.measure.partitions:
                codes[axis] = self.measure.partitions[name].cell_at(self._levels[name])[codes[axis]].astype(np.intp)
        shape = tuple(self.discrete_vocabulary.arity(name) for name in family.variables)
        cells, inverse = np.unique(np.ravel_multi_index(tuple(codes), shape), return_inverse=True)
        weights = np.bincount(inverse.reshape(-1), family.weights, len(cells)).astype(np.float64, copy=False)
        return FamilyCounts(family.name, family.parents, shape, cells.astype(np.int64), weights)

    def cost_of_levels(self, table: DiscreteTable, n_jobs: int | None = None) -> float:
        """Return by how much the mean log loss of rows rises in :meth:`discrete`; nats per row.

        NaN if the tables of the discrete network would not fit into memory.
        """
        try:
            discrete = self.discrete()
        except ValueError:
            return float("nan")
        codes = np.stack([table.column(name) for name in self.vocabulary.features])
        truth = table.column(self.vocabulary.class_name)[:, None].astype(np.intp)
        before, after = (
            np.take_along_axis(network.log_posterior(rows, n_jobs), truth, axis=1)[:, 0]
            for network, rows in ((self, codes), (discrete, self.discrete_codes(codes)))
        )
        return float(table.weights @ (before - after) / table.weight_sum)
