"""Classifiers that can model continuous columns by densities instead of cutting them once and for all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from functools import partial
from typing import cast

from sklearn.utils.validation import check_is_fitted

from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.models.model import Model
from anbexact.models.network.densities import Densities
from anbexact.models.network.density_counts import count_at_levels, family_levels
from anbexact.models.network.density_network import DensityNetwork
from anbexact.models.network.network import Network, TableNetwork
from anbexact.models.network.universal_measure import UniversalMeasure
from anbexact.scores import Universal
from anbexact.tables.training import TrainingColumns

CONTINUOUS = ("discretize", "universal")
"""Treatments of continuous columns, by name."""
OF_TABLES = {
    "structure_score": "bdeu",
    "ess": "auto",
    "parameters": "eap",
    "smoothing": None,
    "discretizer": "auto",
}
"""Parameters that apply to conditional tables only, with their defaults: a universal measure does not use them."""


class MeasuredClassifier(NetworkClassifier):
    """A network that discretises continuous columns, or models them by a universal measure.

    Parameters
    ----------
    continuous : {"discretize", "universal"} or UniversalMeasure, default "discretize"
        How numeric columns with more than 10 distinct values are treated. ``"discretize"``: each is cut according to
        ``discretizer`` before the structure is learned. ``"universal"``: structure and densities come from
        :class:`~anbexact.scores.Universal`, a mixture over nested partitions, in which all variables, including
        discrete ones, have a prior weight of ½ for each joint state; ``structure_score``, ``ess``, ``parameters``,
        ``smoothing`` and ``discretizer`` must then have their defaults. Pass a :class:`~anbexact.UniversalMeasure` to
        set its details.

    Attributes
    ----------
    universal_score_ : Universal or None
        The measure, with the partitions of the continuous columns; None if columns were discretised.
    densities_ : dict or None
        The density of every variable given its parents; see
        :class:`~anbexact.models.network.densities.FamilyDensity`. With densities, ``conditional_tables_`` does not
        exist, and ``vocabulary_`` and ``cut_points_`` contain the cells of the finest levels.
    level_cost_ : float
        Increase in the mean log loss on the training rows, in nats per row, when every variable and its parents are
        restricted to their most probable levels, as in :meth:`to_discrete`; negative if the log loss falls. NaN if
        the tables would not fit into memory. The attribute does not exist if columns were discretised.

    The other parameters and attributes are those of :class:`~anbexact.NetworkClassifier`.
    """

    continuous: str | UniversalMeasure
    model_type = DensityNetwork

    @property
    def universal_score_(self) -> Universal | None:
        """The measure, with the partitions of the continuous columns; None if columns were discretised."""
        return getattr(getattr(self, "model_", None), "measure", None)

    @property
    def densities_(self) -> Densities | None:
        """The density of every variable given its parents; None if columns were discretised."""
        return getattr(getattr(self, "model_", None), "densities", None)

    @property
    def level_cost_(self) -> float:
        """By how much the mean log loss of the training rows rises in :meth:`to_discrete`, in nats per row."""
        return cast(DensityNetwork, self.model_).level_cost

    def check_parameters(self) -> None:
        super().check_parameters()
        if self._universal() is not None:
            for name, default in OF_TABLES.items():
                value = getattr(self, name)
                if value is not default and value != default:
                    raise ValueError(
                        f"{name}={value!r} applies only with continuous='discretize', because a universal "
                        f"measure has its own score and estimates: leave it {default!r}"
                    )
        elif not isinstance(self.continuous, str) or self.continuous != "discretize":
            raise ValueError(
                f"continuous must be one of {', '.join(map(repr, CONTINUOUS))}, or a UniversalMeasure, not "
                f"{self.continuous!r}"
            )

    def can_complete(self) -> bool:
        return super().can_complete() and self._universal() is None

    def _universal(self) -> UniversalMeasure | None:
        """Return how continuous columns are measured; None if they are discretised."""
        if isinstance(self.continuous, UniversalMeasure):
            return self.continuous
        named = isinstance(self.continuous, str) and self.continuous == "universal"
        return UniversalMeasure() if named else None

    def _undropped(self) -> Collection[Hashable]:
        universal = self._universal()
        return () if universal is None else universal.partitions

    def _model_learner(self) -> Callable[[TrainingColumns], Model]:
        universal = self._universal()
        return self._learn_model if universal is None else partial(self._learn_measured, universal)

    def _learn_measured(self, universal: UniversalMeasure, read: TrainingColumns) -> Network:
        """Return the network of densities by a universal measure."""
        measured = universal.measured(read.columns, read.weights, read.categories)
        weights = read.learned_weights(measured)
        for column in read.columns:
            if column.name in measured and (column.missing & (weights > 0)).any():
                raise ValueError(
                    f"column {column.name!r} is continuous and has missing cells, which cannot be a state of their "
                    "own: impute them, or use handle_missing='auto'"
                )
        score = universal.fit(read.columns, weights, read.categories, measured)
        table = read.table({name: partition.finest for name, partition in score.partitions.items()}, measured)
        structure = self._learn(table, score, getattr(self, "time_limit", None))
        counts, levels = count_at_levels(table, structure, score), family_levels(table, structure, score)
        measured_network = DensityNetwork.from_counts(table.vocabulary, structure, counts, levels, score)
        return replace(measured_network, level_cost=measured_network.cost_of_levels(table, self.n_jobs))

    def to_discrete(self) -> FixedStructureClassifier:
        """Return the network in which every variable and its parents have only their most probable levels.

        Each variable gets the cells of the finest level that is the most probable one in some family; see
        :func:`~anbexact.models.network.probable_levels.most_probable_tables`. This is the network that is exported to
        other programs. Its log loss on the training rows is higher by ``level_cost_``.

        Raises
        ------
        ValueError
            If the classifier did not learn by a universal measure, or the tables would not fit into memory.
        """
        check_is_fitted(self)
        if self.universal_score_ is None:
            raise ValueError("this classifier discretised its continuous columns and is already discrete")
        return self._classifier_of(self.model_.discrete())

    def _classifier_of(self, network: TableNetwork) -> FixedStructureClassifier:
        """Return a fitted classifier of a network that reads frames as this one does."""
        return FixedStructureClassifier.from_network(
            network,
            feature_names=getattr(self, "feature_names_in_", None),
            handle_unknown=self.handle_unknown,
            handle_missing=self.handle_missing,
            n_jobs=self.n_jobs,
        )

    def discrete_form(self) -> NetworkClassifier:
        """Return a classifier with conditional tables, for other programs.

        This is the classifier itself or, if columns are modelled by densities, the result of :meth:`to_discrete`,
        with a warning that states the cost.
        """
        check_is_fitted(self)
        if self.universal_score_ is None:
            return super().discrete_form()
        return self._classifier_of(self.model_.to_network())

    @property
    def score_name_(self) -> str:
        """Name of the score of the structure, as in the literature."""
        return super().score_name_ if self.universal_score_ is None else self.universal_score_.name
