"""A logarithmic pool as one multinomial logistic regression, on the common states of its members."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.cached import cached_property
from anbexact.models.logit.model import LogitModel
from anbexact.models.logit.potentials import Potentials
from anbexact.models.logit.predictions import LogitPosterior, Origin
from anbexact.models.logit.term_list import MANY_COEFFICIENTS
from anbexact.models.logit.terms import IndexSet, assignments, coefficients, count_terms, index_sets, term_frame
from anbexact.models.network.explanation_terms import Family
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.models.pool.union import closed_structure, spread_over

if TYPE_CHECKING:
    from anbexact.classifiers.fixed import FixedStructureClassifier


class PooledLogit(LogitPosterior):
    """The multinomial logistic regression with the class posterior of a logarithmic pool of networks.

    It has the terms of the union of the members' families, on states that refine those of all members. For complete
    rows, it has the posterior of the pool. Missing cells are summed out under :meth:`to_network`, one
    network with this posterior, whereas in the pool every member sums them out under its own.

    Parameters
    ----------
    network : TableNetwork
        A network over the common states, from which the vocabulary is taken.
    origin : Origin
        What is taken over from the classifier of that network, such as how frames are read.
    potentials : tuple of Potential
        One for every set of features, as :func:`~anbexact.models.pool.union.union_of_terms` returns them.

    Attributes
    ----------
    classes_ : (classes,) array
        Columns of ``predict_proba``; the first is the reference of the coefficients.
    structure : Structure
        The graph of :meth:`to_network`, in which the parents of every feature are adjacent.
    """

    def __init__(self, network: TableNetwork, origin: Origin, potentials: Potentials) -> None:
        self.network = network
        self.origin = origin
        self.potentials = potentials
        self.structure = closed_structure(potentials, network.structure.class_name, self._arities)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments of the constructor; the structure follows from them."""
        return type(self), (self.network, self.origin, self.potentials)

    @cached_property
    def _arities(self) -> dict[Hashable, int]:
        return {name: self.vocabulary.arity(name) for name in self.vocabulary.features}

    @cached_property
    def _sets(self) -> tuple[IndexSet, ...]:
        return index_sets([potential.features for potential in self.potentials], self.vocabulary.features)

    @property
    def n_parameters(self) -> int:
        """Number of coefficients: the number of terms times the number of classes minus one."""
        return count_terms(self._sets, self._arities) * (len(self.classes_) - 1)

    @cached_property
    def terms(self) -> pd.DataFrame:
        """One row for every coefficient: its features and their states, with its name as index.

        Raises
        ------
        ValueError
            If there are more than 10 million.
        """
        self._check_size()
        listed = [
            (of_set, of_term) for of_set in self._sets for of_term in assignments(of_set, self.vocabulary.states)
        ]
        return term_frame([of_set for of_set, _ in listed], [of_term for _, of_term in listed])

    @cached_property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """β in nats, shape (terms, classes - 1): rows as in ``terms``, columns as in ``classes_[1:]``."""
        self._check_size()
        blocks = coefficients(self.potentials, self._sets)
        return np.concatenate([block.reshape(-1, len(self.classes_) - 1) for block in blocks])

    def close(self) -> LogitModel:
        """Return the logistic regression of a network with this posterior whose families contain all terms.

        Raises
        ------
        MemoryError
            If its tables would not fit into memory; the message says how much they need.
        ValueError
            If a probability would be too small for a float64.
        """
        return self._closed

    @cached_property
    def _closed(self) -> LogitModel:
        spread = spread_over(self.potentials, self.structure, self._arities)
        network = LogitModel(self.network, self.origin, spread, self.structure).to_network()
        return LogitModel(network, self.origin, spread)  # missing cells are summed out under this network

    def to_network(self) -> TableNetwork:
        """Return one network with the posterior of the pool, after :meth:`close`.

        Raises
        ------
        MemoryError, ValueError
            As :meth:`close` does.
        """
        return self._closed.network

    def to_classifier(self) -> FixedStructureClassifier:
        """Return a network classifier with the posterior of the pool; see :meth:`to_network`."""
        return self._closed.to_classifier()

    @property
    def summing_network(self) -> TableNetwork:
        """The network with this posterior, under which missing cells are summed out."""
        return self.to_network()

    @property
    def summed_families(self) -> list[tuple[Hashable, Family]]:
        """The families whose terms explain a row, each with its variable."""
        c = self.structure.class_name
        found: list[tuple[Hashable, Family]] = []
        for potential in self.potentials:
            others = tuple(name for name in potential.features if name != potential.child)
            axes = [potential.features.index(name) for name in (potential.child, *others) if name != c]
            values = np.exp(potential.logs - potential.logs.max(axis=-1, keepdims=True))
            values = values.transpose([*axes, len(axes)])
            variables = (potential.child, *others, c) if potential.features else (c,)
            found.append((potential.child, ConditionalTable(variables[0], variables[1:], values)))
        return found

    def _check_size(self) -> None:
        if self.n_parameters > MANY_COEFFICIENTS:
            raise ValueError(
                f"the model has {self.n_parameters:,} coefficients, too many to list (the limit is "
                f"{MANY_COEFFICIENTS:,}). predict_proba and to_network do not need them"
            )

    def __repr__(self) -> str:
        return f"<PooledLogit of {self.structure.class_name!r}: {self.n_parameters:,} coefficients>"
