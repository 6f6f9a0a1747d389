"""What every fitted classifier has learned: a model of the class given the features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact._runtime.by_fields import ByFields
from anbexact._runtime.units import with_article
from anbexact.models.coding import Coding
from anbexact.models.network.evidence import query_network
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from anbexact.models.estimator_average import AnDE
    from anbexact.models.family_sum import FamilySum
    from anbexact.models.logit.potentials import Potentials
    from anbexact.models.logit.predictions import LogitPosterior
    from anbexact.models.network.explanation_terms import Family
    from anbexact.models.network.network import Network, TableNetwork
    from anbexact.models.network.posterior import ClassPosterior
    from anbexact.models.network.table_draws import Draw
    from anbexact.tables.reader import Reader


def check_class(vocabulary: Vocabulary, what: str) -> None:
    """Refuse what only a model of a class has, which ``what`` names.

    Raises
    ------
    ValueError
        If the vocabulary has no class.
    """
    if vocabulary.class_name is None:
        raise ValueError(
            f"a network without a class has no {what}: from_pgmpy(to_pgmpy(network), name), with both functions from "
            "anbexact.adapters, is a classifier of any of its variables"
        )


class Model(ABC):
    """A fitted model: a distribution of the class given the features, over the states of a vocabulary.

    Classifiers have one as ``model_``. A subclass defines :meth:`log_posterior` and ``n_parameters``, and overrides
    whatever else it can answer; the other methods of this class refuse with a sentence.

    Attributes
    ----------
    vocabulary : Vocabulary
        Names and states of all variables.
    cut_points : mapping
        Cut points of every feature that was discretised.
    """

    if TYPE_CHECKING:  # fields or properties of the subclasses

        @property
        def vocabulary(self) -> Vocabulary: ...

        @property
        def cut_points(self) -> Mapping[Hashable, Cuts]: ...

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Number of free parameters."""

    @property
    def degrees_of_freedom(self) -> float:
        """Number of free parameters; of smooth shapes, their effective degrees of freedom."""
        return float(self.n_parameters)

    @property
    def rows_to_read(self) -> float:
        """Number of rows of the tables that define the model: ``n_parameters`` with all classes but one in a row."""
        return self.n_parameters / max(len(self.vocabulary.classes) - 1, 1)

    @abstractmethod
    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c | observed cells), shape (rows, classes), in nats per row.

        Parameters
        ----------
        codes : (features, rows) int16
            Codes of states in the order of ``vocabulary.features``; a negative code is a cell that is summed out.
        n_jobs : int, optional
            Number of threads; None and -1 mean all processors.
        """

    def codes(self, reader: Reader, X: Any) -> CodeArray:
        """Return the rows of a frame as codes for :meth:`log_posterior`, shape (``n_codes``, rows)."""
        return reader.codes(X)

    @property
    def n_codes(self) -> int:
        """Number of codes of a row."""
        return len(self.vocabulary.features)

    def answer(
        self, reader: Reader, evidence: Mapping[Hashable, Any] | None, values: Mapping[str, Any]
    ) -> pd.Series[float]:
        """Return P(class | some cells), indexed by class.

        ``evidence`` and ``values`` both map features to their raw values; ``values`` are those given as keywords.

        Raises
        ------
        TypeError, ValueError
            See :meth:`anbexact.NetworkClassifier.query`.
        """
        return query_network(self, reader, evidence, values)

    def sample(
        self,
        n: int,
        evidence: Mapping[Hashable, Any] | None = None,
        *,
        random_state: int | np.random.Generator | None = None,
        missing: bool = False,
        reader: Reader | None = None,
    ) -> pd.DataFrame:
        """Return rows drawn from the joint distribution of all variables, given the values of some.

        Parameters
        ----------
        n, evidence, random_state, missing
            See :meth:`anbexact.NetworkClassifier.sample`.
        reader : Reader, optional
            How the evidence is read; by default, according to :attr:`vocabulary` and :attr:`cut_points`.

        Raises
        ------
        TypeError
            If this kind of model has no joint distribution from which rows can be drawn.
        ValueError
            See :meth:`anbexact.NetworkClassifier.sample`.
        """
        raise TypeError(
            f"rows cannot be drawn from {with_article(type(self).__name__)}, because it is not one network: draw "
            "them from a classifier that learns a network, such as ANBClassifier"
        )

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return P(c | observed cells), shape (rows, classes); arguments as for :meth:`log_posterior`."""
        return np.exp(self.log_posterior(codes, n_jobs))

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c, observed cells), shape (rows, classes); arguments as for :meth:`log_posterior`.

        Raises
        ------
        TypeError
            If the model has no distribution of the features.
        """
        raise TypeError(f"{with_article(type(self).__name__)} has no distribution of the features, only of the class")

    def log_support(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return scores, shape (rows, classes), that are largest for the most probable class of each row.

        All scores of a row are minus infinity if the model gives it probability 0. Arguments as for
        :meth:`log_posterior`.
        """
        return self.log_posterior(codes, n_jobs)

    def prepare(self) -> None:  # noqa: B027  # most have nothing to prepare
        """Compute now what the first prediction would have to compute."""

    @property
    def coding(self) -> Coding:
        """Its states and cut points; of a model of densities, those of its discrete form."""
        return Coding(self.vocabulary, self.cut_points)

    @property
    def summed_families(self) -> Sequence[tuple[Hashable, Family]] | None:
        """The families whose terms explain a row, each with its variable; None if log odds are not a sum of terms."""
        return None

    @property
    def learned(self) -> Network | None:
        """The network that was learned: this model, or the one that it was made from; None if there is none."""
        return None

    @property
    def estimators(self) -> AnDE | None:
        """The model itself if it is an average of estimators whose counts determine it, such as AODE; else None."""
        return None

    @property
    def has_table_posterior(self) -> bool:
        """Whether its tables are means of Dirichlet posteriors, from which intervals of probabilities follow."""
        return False

    def facts(self) -> dict[str, Any]:
        """Return what users should know about the model, by name; scores and log likelihoods in nats, total.

        Reports, notebooks and the command line show a model by the facts that it has, whatever its type is:

        - ``ess``, ``smoothing`` and ``parameters`` (the rule) of its tables;
        - ``structure``, with score and certificate, and ``score_name``;
        - ``measure``, ``levels`` and ``level_cost`` of densities;
        - ``estimators``, with ``min_weight``, of an average of estimators;
        - ``ess_shares``, ``exact``, ``draws``, ``n_drawn`` and ``arcs`` of an average of networks;
        - ``refit``, the facts of a refit, and ``edits``, the changes by hand since then;
        - ``weights``, ``members``, ``biases`` and ``ridge`` of a pool.

        A fact with another name is shown as its name and its value as text, and written to JSON unchanged. None means
        that the fact is not known. A fact that takes long to compute is a function without arguments.
        """
        return {"free_parameters": self.n_parameters}

    def on_one_graph(self, most_cells: int) -> Network | LogitPosterior:
        """Return a model of this posterior with one ``structure``, whose ``to_network()`` answers under any evidence.

        A model of densities is discretised: to the cells on which all densities are constant, if the tables then
        have no more than ``most_cells`` entries, and otherwise to the cells of the most probable levels.

        Raises
        ------
        TypeError
            If this kind of model has none.
        ValueError, MemoryError
            If this model has none, or its tables would not fit into memory.
        """
        raise TypeError(f"{with_article(type(self).__name__)} is not a network of conditional tables")

    def to_network(self) -> TableNetwork:
        """Return a network of conditional tables with this class posterior, for other programs.

        Raises
        ------
        TypeError
            If this kind of model has none.
        ValueError, MemoryError
            If this model has none, or its tables would not fit into memory.
        """
        raise TypeError(f"{with_article(type(self).__name__)} is not a network of conditional tables")

    def to_potentials(self) -> Potentials:
        """Return the log posterior as a sum of functions of a few features and the class, over :attr:`coding`.

        Raises
        ------
        TypeError
            If it is no such sum.
        ValueError
            If a function would be infinite, because a table contains a zero.
        """
        raise TypeError(
            f"the log odds of {with_article(type(self).__name__)} are not a sum over families of features"
        )

    def family_sum(self) -> FamilySum:
        """Return the log odds as a sum of functions of a few features each, for explanations and exports.

        Raises
        ------
        TypeError
            If the log odds are no such sum.
        """
        raise TypeError(
            f"the log odds of {with_article(type(self).__name__)} are not a sum over families of features"
        )

    def add(self, table: DiscreteTable) -> Self:
        """Return the model with the rows of another table added; its states and its structure do not change.

        Raises
        ------
        ValueError
            If the model has no counts to add to.
        """
        raise ValueError(f"rows cannot be added to {with_article(type(self).__name__)}: fit again with all rows")

    def to_dict(self) -> dict[str, Any]:
        """Return, as JSON values, what a file needs in addition to :attr:`vocabulary` and :attr:`cut_points`.

        Variables are numbers, by ``vocabulary.positions``; :func:`~anbexact._runtime.json_values.encode` makes JSON
        of all other values.

        Raises
        ------
        TypeError
            If this kind of model cannot be saved.
        """
        raise TypeError(f"cannot save {with_article(type(self).__name__)}: it has no method to_dict")

    @classmethod
    def from_dict(
        cls,
        described: Mapping[str, Any],  # noqa: ARG003  # used by subclasses
        vocabulary: Vocabulary,  # noqa: ARG003  # likewise
        cut_points: Mapping[Hashable, Cuts],  # noqa: ARG003  # likewise
        estimator: Any,  # noqa: ARG003  # likewise
    ) -> Model:
        """Return the model that :meth:`to_dict` described.

        Parameters
        ----------
        described : mapping
            The result of :meth:`to_dict`; it may contain other keys.
        vocabulary, cut_points
            Those of the model.
        estimator : classifier
            With the parameters under which the model was learned, but not fitted.

        Raises
        ------
        TypeError
            If this kind of model cannot be saved.
        ValueError
            If a field is missing or has an invalid value.
        """
        raise TypeError(f"cannot read {with_article(cls.__name__)}: it has no method from_dict")

    def counted(self) -> TableNetwork:
        """Return the network whose counts can be added up and compared with later rows: this model.

        Raises
        ------
        ValueError
            If the model has no counts of this kind.
        """
        raise ValueError(f"{with_article(type(self).__name__)} has no counts of families to add up or to compare")

    def draw_tables(self, n: int, rng: np.random.Generator) -> Iterator[Draw]:
        """Return an iterator over ``n`` draws of conditional tables, and of structures, from their posterior.

        Raises
        ------
        TypeError
            If this kind of model has no such posterior.
        ValueError
            If this model has none.
        """
        raise TypeError(f"{with_article(type(self).__name__)} has no posterior of tables")


@dataclass(frozen=True, eq=False, kw_only=True)
class JointModel(ByFields, Model):
    """A model of the joint distribution of class and features. Subclasses define its contents.

    ``vocabulary`` and ``cut_points`` are those of :class:`Model`.
    """

    vocabulary: Vocabulary
    cut_points: Mapping[Hashable, Cuts]

    @property
    @abstractmethod
    def class_posterior(self) -> ClassPosterior:
        """The evaluator of the joint and posterior probabilities of the class."""

    def evaluator(self, codes: CodeArray) -> ClassPosterior:
        """Return the evaluator for rows of these codes, shape (features, rows)."""
        return self.class_posterior

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c, observed cells), shape (rows, classes); see :meth:`Model.log_joint`.

        Without a class, it is ln P(observed cells), shape (rows, 1).
        """
        return self.evaluator(codes).log_joint(codes, n_jobs)

    def log_support(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c, observed cells), shape (rows, classes); see :meth:`Model.log_support`."""
        return self.log_joint(codes, n_jobs)

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c | observed cells), shape (rows, classes); see :meth:`Model.log_posterior`."""
        check_class(self.vocabulary, "posterior of a class")
        return self.evaluator(codes).log_posterior(codes, n_jobs)

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return P(c | observed cells), shape (rows, classes); see :meth:`Model.posterior`."""
        check_class(self.vocabulary, "posterior of a class")
        return self.evaluator(codes).posterior(codes, n_jobs)

    def prepare(self) -> None:
        """Compute the evaluator of the class posterior."""
        self.class_posterior  # noqa: B018  # cached
