"""Classifiers that can measure continuous columns instead of cutting them once and for all."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.warn import warn
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.discretize import Cuts, interval_names
from anbexact.inputs.reading import training_columns
from anbexact.inputs.universal_measure import UniversalMeasure
from anbexact.networks.densities import (
    Axes,
    Densities,
    DensityAtCodes,
    DensityPosterior,
    Levels,
    count_at_levels,
    family_densities,
    family_levels,
    likeliest_levels,
    likeliest_tables,
)
from anbexact.networks.explain import Family, Grounds
from anbexact.parameters.counts import Counts
from anbexact.scores import Universal
from anbexact.structures.structure import Structure
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary

CONTINUOUS = ("discretize", "universal")
"""What becomes of continuous columns, by name."""
OF_TABLES = {
    "structure_score": "bdeu",
    "ess": "auto",
    "parameters": "eap",
    "smoothing": None,
    "discretizer": "auto",
}
"""Parameters that a universal measure has no use for, and their defaults."""


class MeasuredClassifier(NetworkClassifier):
    """A network that discretises continuous columns, or takes them as they are, by a universal measure.

    Parameters
    ----------
    continuous : {"discretize", "universal"} or UniversalMeasure, default "discretize"
        What becomes of columns of numbers with more than 10 distinct values. ``"discretize"``: each is cut as
        ``discretizer`` says, before the structure is learned. ``"universal"``: structure and densities come from
        :class:`~anbexact.scores.Universal`, a mixture over nested partitions, in which all variables, discrete ones
        too, have a prior weight of ½ for each joint state; ``structure_score``, ``ess``, ``parameters``,
        ``smoothing`` and ``discretizer`` then stay at their defaults. A :class:`~anbexact.UniversalMeasure` says more
        closely how.

    Attributes
    ----------
    measure_ : Universal or None
        The measure, with the partitions of the continuous columns; None if columns were discretised.
    densities_ : dict or None
        The density of every variable given its parents; see :class:`~anbexact.networks.densities.FamilyDensity`. Then
        there are no ``conditional_tables_``, and ``vocabulary_`` and ``cut_points_`` hold the cells of the finest
        levels.
    level_cost_ : float
        What the mean log loss on the training rows would rise by (fall, where it is below 0) if every variable and
        its parents had their likeliest levels alone, as in :meth:`to_discrete`; nats per row. NaN if the tables would
        not fit into memory; not there if columns were discretised.

    The other parameters and attributes are those of :class:`~anbexact.NetworkClassifier`.
    """

    continuous: str | UniversalMeasure
    measure_: Universal | None = None
    densities_: Densities | None = None
    level_cost_: float

    def _check_parameters(self) -> None:
        super()._check_parameters()
        by_name = self.continuous if isinstance(self.continuous, str) else None
        if isinstance(self.continuous, UniversalMeasure) or by_name == "universal":
            for name, default in OF_TABLES.items():
                value = getattr(self, name)
                if value is not default and value != default:
                    raise ValueError(
                        f"{name}={value!r} goes with continuous='discretize': a universal measure scores and "
                        f"estimates by itself, leave it {default!r}"
                    )
        elif by_name != "discretize":
            raise ValueError(
                f"continuous must be one of {', '.join(map(repr, CONTINUOUS))}, or a UniversalMeasure, not "
                f"{self.continuous!r}"
            )

    def _fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        if self.continuous == "discretize":
            super()._fit(X, y, classes, sample_weight)
            self.measure_ = self.densities_ = None
            self.__dict__.pop("level_cost_", None)  # of an earlier fit
            return self
        measure = self.continuous if isinstance(self.continuous, UniversalMeasure) else UniversalMeasure()
        read = training_columns(self, X, y, sample_weight, classes, named=measure.partitions)
        measured = measure.measured(read.columns, read.weights, read.categories)
        weights = read.learned_weights(measured)
        for column in read.columns:
            if column.name in measured and (column.missing & (weights > 0)).any():
                raise ValueError(
                    f"column {column.name!r} is continuous and has missing cells, which cannot be a state of their "
                    "own: fill them in, or use handle_missing='auto'"
                )
        score = measure.fit(read.columns, weights, read.categories, measured)
        cut_points = {name: partition.finest for name, partition in score.partitions.items()}
        table = read.table(cut_points, measured)
        structure = self._learn(table, score, getattr(self, "time_limit", None))
        counts, levels = count_at_levels(table, structure, score), family_levels(table, structure, score)
        self._set_measured(table.vocabulary, structure, counts, levels, score, cut_points)
        self.level_cost_ = self._cost_of_levels(table)
        self.dropped_ = dict(read.dropped)
        return self

    def _set_measured(
        self,
        vocabulary: Vocabulary,
        structure: Structure,
        counts: Counts,
        levels: Mapping[Hashable, Levels],
        measure: Universal,
        cut_points: dict[Hashable, Cuts],
    ) -> Self:
        """Estimate the densities from counts, and store the network."""
        densities = family_densities(counts, levels, measure, vocabulary)
        self._keep(vocabulary, cut_points, DensityPosterior(densities, Axes(measure, vocabulary)))
        self.structure_, self.counts_, self.measure_, self.densities_ = structure, counts, measure, densities
        self._network = None
        for name in ("conditional_tables_", "ess_", "smoothing_", "parameters_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        return self

    def _cost_of_levels(self, table: DiscreteTable) -> float:
        """Return by how much the mean log loss of rows rises in :meth:`to_discrete`; NaN if that is too large."""
        try:
            discrete = self.to_discrete()
        except ValueError:
            return float("nan")
        codes = np.stack([table.column(name) for name in table.vocabulary.features])
        own = self._coarser(codes)
        truth = table.column(table.vocabulary.class_name)[:, None]
        before, after = (
            np.take_along_axis(posterior.log_posterior(rows, self.n_jobs), truth.astype(np.intp), axis=1)[:, 0]
            for posterior, rows in ((self._posterior, codes), (discrete._posterior, own))
        )
        return float(table.weights @ (before - after) / table.weight_sum)

    def _coarser(self, codes: Any) -> Any:
        """Return codes of the finest levels as codes of the cells that :meth:`to_discrete` has."""
        measure, densities = self._fitted_measure()
        levels = likeliest_levels(densities)
        own = codes.copy()
        for j, name in enumerate(self.vocabulary_.features):
            if name in measure.partitions:
                own[j] = np.where(codes[j] < 0, codes[j], measure.partitions[name].cell_at(levels[name])[codes[j]])
        return own

    def _fitted_measure(self) -> tuple[Universal, Densities]:
        check_is_fitted(self)
        if self.measure_ is None or self.densities_ is None:
            raise ValueError("this classifier discretised its continuous columns: it is discrete already")
        return self.measure_, self.densities_

    def to_discrete(self) -> FixedStructureClassifier:
        """Return the network in which every variable and its parents have their likeliest levels alone.

        A variable gets the cells of the finest of its levels that are the likeliest in some family; see
        :func:`~anbexact.networks.densities.likeliest_tables`. It is what other programs are given, and its log loss
        on the training rows is higher by ``level_cost_``.

        Raises
        ------
        ValueError
            If the classifier did not learn by a universal measure, or the tables would not fit into memory.
        """
        measure, densities = self._fitted_measure()
        tables = likeliest_tables(densities, Axes(measure, self.vocabulary_))
        vocabulary, cut_points = self._likeliest_cells()
        discrete = FixedStructureClassifier(
            dict(self.structure_.parents),
            handle_unknown=self.handle_unknown,
            handle_missing=self.handle_missing,
            n_jobs=self.n_jobs,
        )
        discrete._set_fitted(vocabulary, self.structure_, tables, cut_points)
        discrete.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            discrete.feature_names_in_ = self.feature_names_in_
        return discrete

    def _likeliest_cells(self) -> tuple[Vocabulary, dict[Hashable, Cuts]]:
        """Return the vocabulary and the cut points of :meth:`to_discrete`."""
        measure, densities = self._fitted_measure()
        levels = likeliest_levels(densities)
        cut_points = {name: partition.cuts_at(levels[name]) for name, partition in measure.partitions.items()}
        states, quantities = dict(self.vocabulary_.states), self.vocabulary_.quantities
        states.update({name: interval_names(cuts, quantities.get(name)) for name, cuts in cut_points.items()})
        return replace(self.vocabulary_, states=states), cut_points

    def _reported_table(self, X: Any, y: Any, sample_weight: Any) -> DiscreteTable:
        if self.measure_ is None:
            return super()._reported_table(X, y, sample_weight)
        reader = copy(self)
        reader.vocabulary_, reader.cut_points_ = self._likeliest_cells()
        return reader._table(X, y, sample_weight)

    def _with_tables(self) -> NetworkClassifier:
        if self.measure_ is None:
            return super()._with_tables()
        discrete = self.to_discrete()
        cells = ", ".join(f"{name} {len(cuts) + 1}" for name, cuts in discrete.cut_points_.items())
        warn(
            f"every variable is handed over at its likeliest level (cells: {cells or 'all are discrete'}), which "
            f"changes the mean log loss on the training rows by {self.level_cost_:+.4g} nats"
        )
        return discrete

    def _add(self, table: DiscreteTable) -> Self:
        if self.measure_ is not None:
            raise ValueError(
                "rows cannot be added to a universal measure, whose levels depend on their number: fit all rows again"
            )
        return super()._add(table)

    def _families(self) -> Mapping[Hashable, Family]:
        if self.measure_ is None:
            return super()._families()
        measure, densities = self._fitted_measure()
        axes = Axes(measure, self.vocabulary_)
        return {name: DensityAtCodes(density, axes) for name, density in densities.items()}

    def _grounds(self) -> Grounds:
        if self.measure_ is None:
            return super()._grounds()
        return Grounds(
            self.counts_,
            None,
            "There are no intervals: a universal measure has no Dirichlet posterior. Counts are those of the finest "
            "cells, while a term averages over coarser cells, too.",
        )

    @property
    def score_name_(self) -> str:
        """Name of the score of the structure, as in the literature."""
        return super().score_name_ if self.measure_ is None else self.measure_.name
