"""Networks as values: what was learned from a table, and the answers that follow from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from anbexact.discretize import Cuts, interval_names
from anbexact.inputs.reader import Rows
from anbexact.networks.cells import Axes, Levels
from anbexact.networks.densities import Densities, DensityAtCodes, family_densities
from anbexact.networks.density_posterior import DensityPosterior
from anbexact.networks.explain import Explanations, Family, Grounds, explain_rows
from anbexact.networks.posterior import ClassPosterior, Posterior
from anbexact.networks.probable_levels import likeliest_levels, likeliest_tables
from anbexact.parameters.counts import Counts, count_families
from anbexact.parameters.tables import Tables, acll_tables, eap_tables, friedman_tables, ml_tables
from anbexact.scores import ACLL, Universal
from anbexact.structures.structure import Certificate, Structure
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray, Vocabulary

Floats = npt.NDArray[np.float64]
ESTIMATES = ("eap", "ml", "friedman", "acll")
"""How conditional tables can be estimated."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Model(ABC):
    """A fitted model of a class and features. Subclasses say what it consists of.

    Attributes
    ----------
    vocabulary : Vocabulary
        Names and states of all variables.
    cut_points : mapping
        Cut points of every feature that was discretised.
    """

    vocabulary: Vocabulary
    cut_points: Mapping[Hashable, Cuts]

    @property
    @abstractmethod
    def class_posterior(self) -> ClassPosterior:
        """What evaluates the joint and posterior probabilities of the class."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Number of free probabilities."""

    @abstractmethod
    def add(self, table: DiscreteTable) -> Self:
        """Return the model with the rows of another table added; its states, and its structure, stay.

        Raises
        ------
        ValueError
            If there are no counts to add to.
        """

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c, observed cells), shape (rows, classes), in nats per row.

        Parameters
        ----------
        codes : (features, rows) int16
            Codes of states in the order of ``vocabulary.features``; a negative code is a cell that is summed out.
        n_jobs : int, optional
            Number of threads; None and -1 stand for all processors.
        """
        return self.class_posterior.log_joint(codes, n_jobs)

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c | observed cells), shape (rows, classes); arguments as for :meth:`log_joint`."""
        return self.class_posterior.log_posterior(codes, n_jobs)

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return P(c | observed cells), shape (rows, classes); arguments as for :meth:`log_joint`."""
        return self.class_posterior.posterior(codes, n_jobs)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Network(Model):
    """A Bayesian network with a class: a structure and, for every variable, its distribution given its parents.

    A value that is never changed; estimators hold one as ``model_``. It is a :class:`TableNetwork` where all
    variables are discrete or discretised, and a :class:`DensityNetwork` where columns are measured by a universal
    score.

    Attributes
    ----------
    structure : Structure
        The graph, with its score and certificate.
    counts : dict or None
        Weighted counts of every variable with its parents; None for a network whose tables were given.

    ``vocabulary`` and ``cut_points`` are those of :class:`Model`.
    """

    structure: Structure
    counts: Counts | None = None

    @property
    @abstractmethod
    def families(self) -> Mapping[Hashable, Family]:
        """The conditional distributions, whose logarithms add up to the log joint probability."""

    @property
    @abstractmethod
    def grounds(self) -> Grounds:
        """What the distributions rest on, for explanations."""

    @abstractmethod
    def discrete(self) -> TableNetwork:
        """Return the network with conditional tables: this one, or the one with the most probable levels alone."""

    @property
    @abstractmethod
    def discrete_vocabulary(self) -> Vocabulary:
        """The vocabulary of :meth:`discrete`."""

    @property
    @abstractmethod
    def discrete_cut_points(self) -> Mapping[Hashable, Cuts]:
        """The cut points of :meth:`discrete`."""

    def __repr__(self) -> str:
        n_features, n_arcs = len(self.vocabulary.features), len(self.structure.edges)
        return f"<{type(self).__name__} of {self.structure.class_name!r}: {n_features:,} features, {n_arcs:,} arcs>"

    def explain(self, rows: Rows, label: Any = None, against: Any = None) -> Explanations:
        """Return, for every row, what each feature adds to the log odds of one class against another.

        See :func:`~anbexact.networks.explain.explain_rows`.
        """
        return explain_rows(rows, self.class_posterior, self.families, self.vocabulary, self.grounds, label, against)


@dataclass(frozen=True, eq=False)
class Estimation:
    """How the conditional tables of a network were estimated from its counts.

    Attributes
    ----------
    score : Score
        What the structure was scored by.
    ess : float
        Equivalent sample size of the score.
    smoothing : float
        Equivalent sample size of the tables, for the rule ``"eap"``.
    rule : {"eap", "ml", "friedman", "acll"}
        How the tables are estimated; see ``parameters`` of :class:`~anbexact.NetworkClassifier`.
    """

    score: Any
    ess: float
    smoothing: float
    rule: str = "eap"

    def tables(self, counts: Counts, class_name: Hashable) -> Tables:
        """Return the conditional tables that follow from counts."""
        if self.rule == "ml":
            return ml_tables(counts)
        if self.rule == "friedman":
            return friedman_tables(counts)
        if self.rule == "acll":
            score = self.score if isinstance(self.score, ACLL) else ACLL()
            return acll_tables(counts, class_name, score.prior, score.pseudo_count)
        return eap_tables(counts, self.smoothing)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableNetwork(Network):
    """A network of discrete variables.

    Attributes
    ----------
    tables : dict
        P(variable | parents) of every variable.
    estimation : Estimation or None
        How the tables follow from ``counts``; None, as ``counts`` is, where they were given.

    The others are those of :class:`Network`.
    """

    tables: Tables
    estimation: Estimation | None = None

    @classmethod
    def from_counts(
        cls,
        vocabulary: Vocabulary,
        structure: Structure,
        counts: Counts,
        cut_points: Mapping[Hashable, Cuts],
        estimation: Estimation,
    ) -> TableNetwork:
        """Return the network whose tables are estimated from counts."""
        return cls(
            vocabulary=vocabulary,
            cut_points=cut_points,
            structure=structure,
            counts=counts,
            tables=estimation.tables(counts, structure.class_name),
            estimation=estimation,
        )

    @cached_property
    def class_posterior(self) -> Posterior:
        """What evaluates the joint and posterior probabilities of the class."""
        return Posterior(self.tables, self.structure.class_name, self.vocabulary.features)

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities: Σ_v (r_v - 1) q_v, with r_v states and q_v joint states of the parents."""
        return sum(table.values.size - table.values[0].size for table in self.tables.values())

    @property
    def families(self) -> Tables:
        """The conditional tables."""
        return self.tables

    @property
    def grounds(self) -> Grounds:
        """The counts, and the smoothing of posterior means."""
        if self.counts is None or self.estimation is None:
            note = (
                "There are no counts and no intervals: the tables of this network were given, not counted from rows."
            )
            return Grounds(None, None, note)
        if self.estimation.rule == "eap":
            return Grounds(self.counts, self.estimation.smoothing)
        note = f"There are no intervals: tables by parameters={self.estimation.rule!r} have no Dirichlet posterior."
        return Grounds(self.counts, None, note)

    def discrete(self) -> TableNetwork:
        """Return this network."""
        return self

    @property
    def discrete_vocabulary(self) -> Vocabulary:
        """The vocabulary."""
        return self.vocabulary

    @property
    def discrete_cut_points(self) -> Mapping[Hashable, Cuts]:
        """The cut points."""
        return self.cut_points

    def add(self, table: DiscreteTable) -> TableNetwork:
        """Return the network with the rows of another table of the same vocabulary added.

        Counts add up, so the tables are those of all rows; structure, states and equivalent sample sizes stay.

        Raises
        ------
        ValueError
            If the tables were given, so that there are no counts to add to.
        """
        if self.counts is None or self.estimation is None:
            raise ValueError(
                "rows cannot be added: the tables of this network were given, and there are no counts behind them. "
                "Call fit, which counts."
            )
        added = count_families(table, self.structure)
        counts = {name: family + added[name] for name, family in self.counts.items()}
        total = sum(
            self.estimation.score.local_score(family.table(self.vocabulary), name, family.parents)
            for name, family in counts.items()
        )
        certificate = Certificate.unknown("learned from earlier rows, not searched again")
        structure = Structure(self.structure.class_name, self.structure.parents, total, certificate)
        return TableNetwork.from_counts(self.vocabulary, structure, counts, self.cut_points, self.estimation)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DensityNetwork(Network):
    """A network in which continuous columns are measured by a universal score.

    Attributes
    ----------
    densities : dict
        The density of every variable given its parents (:class:`~anbexact.networks.densities.FamilyDensity`).
    measure : Universal
        The score, with the partitions of the continuous columns.

    The others are those of :class:`Network`; ``vocabulary`` and ``cut_points`` hold the cells of the finest levels.
    """

    densities: Densities
    measure: Universal

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

    @cached_property
    def _axes(self) -> Axes:
        return Axes(self.measure, self.vocabulary)

    @cached_property
    def class_posterior(self) -> DensityPosterior:
        """What evaluates the joint density and the posterior probabilities of the class."""
        return DensityPosterior(self.densities, self._axes)

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities, of every family at its most probable levels: Σ_v (r_v - 1) q_v."""
        tables = [density.likeliest_values for density in self.densities.values()]
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
            "There are no intervals: a universal measure has no Dirichlet posterior. Counts are those of the finest "
            "cells, while a term averages over coarser cells, too.",
        )

    def add(self, table: DiscreteTable) -> DensityNetwork:
        """Refuse: the levels depend on the number of rows.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            "rows cannot be added to a universal measure, whose levels depend on their number: fit all rows again"
        )

    # ---- the network with the most probable levels

    @cached_property
    def _levels(self) -> dict[Hashable, int]:
        return likeliest_levels(self.densities)

    @property
    def discrete_cut_points(self) -> dict[Hashable, Cuts]:
        """The cut points of :meth:`discrete`."""
        return {name: partition.cuts_at(self._levels[name]) for name, partition in self.measure.partitions.items()}

    @property
    def discrete_vocabulary(self) -> Vocabulary:
        """The vocabulary of :meth:`discrete`."""
        states, quantities = dict(self.vocabulary.states), self.vocabulary.quantities
        cut_points = self.discrete_cut_points
        states.update({name: interval_names(cuts, quantities.get(name)) for name, cuts in cut_points.items()})
        return replace(self.vocabulary, states=states)

    def discrete(self) -> TableNetwork:
        """Return the network in which every variable and its parents have their most probable levels alone.

        A variable gets the cells of the finest of its levels that are most probable in some family; see
        :func:`~anbexact.networks.densities.likeliest_tables`.

        Raises
        ------
        ValueError
            If the tables would not fit into memory.
        """
        return TableNetwork(
            vocabulary=self.discrete_vocabulary,
            cut_points=self.discrete_cut_points,
            structure=self.structure,
            tables=likeliest_tables(self.densities, self._axes),
        )

    def discrete_codes(self, codes: CodeArray) -> CodeArray:
        """Return codes of the finest levels as codes of the cells of :meth:`discrete`."""
        own = codes.copy()
        for j, name in enumerate(self.vocabulary.features):
            if name in self.measure.partitions:
                cells = self.measure.partitions[name].cell_at(self._levels[name])
                own[j] = np.where(codes[j] < 0, codes[j], cells[codes[j]])
        return own

    def level_cost(self, table: DiscreteTable, n_jobs: int | None = None) -> float:
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
