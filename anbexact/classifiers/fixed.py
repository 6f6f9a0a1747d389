"""A classifier whose structure is given, not learned."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.choosing.frequencies import later_corrected
from anbexact.classifiers.parameters import NetworkParameters, parameter_group
from anbexact.classifiers.refit import refitted_model
from anbexact.classifiers.registry import register_classifier
from anbexact.models.logit.closure import obstacles
from anbexact.models.logit.refit import check_l2
from anbexact.models.model import check_class
from anbexact.models.network.network import Network, TableNetwork
from anbexact.models.structure import Structure
from anbexact.scores import Score
from anbexact.search.scoring.totals import total_score
from anbexact.tables.table import DiscreteTable
from anbexact.tables.training import TrainingColumns


@parameter_group
class FixedStructureParameters(NetworkParameters):
    """The given structure, and whether its tables are refitted."""

    parents: Mapping[Hashable, Sequence[Hashable]] = field(kw_only=False)
    l2: float | str | None = None


@register_classifier()
class FixedStructureClassifier(FixedStructureParameters, NetworkClassifier):
    """A network with a given structure; ``fit`` estimates its conditional tables.

    This is what :func:`anbexact.adapters.from_pgmpy` and :meth:`anbexact.adapters.LogitModel.to_classifier` return.
    The class may have parents.

    Parameters
    ----------
    parents : mapping of variable to its parents
        The parents of all variables, including the class, under the name that it gets in ``fit``.
    l2 : float, "auto" or None, default None
        None: the tables are estimated according to ``parameters``. Otherwise, the tables of the class and its
        children are refitted by conditional likelihood, with a prior of this precision around them; see
        :meth:`anbexact.adapters.LogitModel.refit`. The classifier then has no ``counts_``, so rows cannot be added.

    The other parameters, and the fitted attributes, are those of :class:`~anbexact.NetworkClassifier`.

    Raises
    ------
    TypeError
        In ``fit``, if ``parents`` is not a mapping.
    ValueError
        In ``fit``, if the mapping is not an acyclic graph over exactly the table's variables; or if the tables are to
        be refitted, and perhaps no network with this graph has the refitted posterior
        (:class:`~anbexact.RefittedClassifier` needs no such network).

    Warns
    -----
    UserWarning
        If the refit does not converge, with the reason.
    """

    def check_parameters(self) -> None:
        super().check_parameters()
        if not isinstance(self.parents, Mapping):
            raise TypeError(
                "parents must be a mapping of every variable to its parents, such as {'a': ['b'], 'b': []} or the "
                f"attribute parents of a structure, not {type(self.parents).__name__}"
            )
        if self.l2 is not None:
            check_l2(self.l2)

    def _learn_model(self, read: TrainingColumns) -> Network:
        with later_corrected() if self.l2 is not None else nullcontext():
            return super()._learn_model(read)

    def _refit(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> None:
        if self.l2 is None:
            return
        if open_pairs := obstacles(self.structure_):
            child, a, b = open_pairs[0]
            raise ValueError(
                f"l2={self.l2!r} asks for a refit, but a network of this structure may be unable to represent the "
                f"refitted posterior: {a!r} and {b!r}, both parents of {child!r}, are not adjacent. Add an arc "
                "between them to parents, or use RefittedClassifier, which does not need such a network"
            )
        model = refitted_model(self, X, y, sample_weight, l2=self.l2, groups=groups)
        tables, dropped = model.to_classifier().conditional_tables_, self.dropped_
        self.set_model(replace(self.model_.discrete(), tables=tables, counts=None, estimation=None))
        self.dropped_ = dropped

    @classmethod
    def from_network(
        cls,
        network: TableNetwork,
        *,
        feature_names: Sequence[Hashable] | npt.NDArray[Any] | None = None,
        **parameters: Any,
    ) -> Self:
        """Return a fitted classifier of a network.

        Parameters
        ----------
        network : TableNetwork
            Structure and conditional tables.
        feature_names : sequence of str, optional
            The columns that a frame must have at prediction; by default only their number is checked.
        **parameters
            Parameters of the classifier other than ``parents``.

        Raises
        ------
        ValueError
            If the network has no class.
        """
        check_class(network.vocabulary, "classifier of its own")
        parents = {name: table.parents for name, table in network.tables.items()}
        classifier = cls(parents, **parameters).set_model(network)
        classifier.n_features_in_ = len(network.vocabulary.columns)
        if feature_names is not None:
            classifier.feature_names_in_ = np.array(feature_names, dtype=object)
        return classifier

    def _unfolded(self) -> Collection[Hashable]:
        return self.parents

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        names = table.vocabulary.names
        unknown = set(names) ^ set(self.parents)
        if unknown:
            raise ValueError(
                f"parents must have exactly the variables {list(names)} as keys; unknown or missing: "
                f"{sorted(map(str, unknown))}"
            )
        parents = {name: tuple(self.parents[name]) for name in names}
        return Structure.given(table.vocabulary.class_name, parents, total_score(table, score, parents))
