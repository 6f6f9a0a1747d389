"""The common base of all fitted models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Self

from anbexact._runtime.arrays import Floats
from anbexact._runtime.by_fields import ByFields
from anbexact.models.network.posterior import ClassPosterior
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray, Vocabulary


@dataclass(frozen=True, eq=False, kw_only=True)
class Model(ByFields, ABC):
    """A fitted model of a class and features. Subclasses define its contents.

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
        """The evaluator of the joint and posterior probabilities of the class."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Number of free probabilities."""

    @abstractmethod
    def add(self, table: DiscreteTable) -> Self:
        """Return the model with the rows of another table added; its states and its structure do not change.

        Raises
        ------
        ValueError
            If the model has no counts to add to.
        """

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c, observed cells), shape (rows, classes), in nats per row.

        Parameters
        ----------
        codes : (features, rows) int16
            Codes of states in the order of ``vocabulary.features``; a negative code is a cell that is summed out.
        n_jobs : int, optional
            Number of threads; None and -1 mean all processors.
        """
        return self.class_posterior.log_joint(codes, n_jobs)

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c | observed cells), shape (rows, classes); arguments as for :meth:`log_joint`."""
        return self.class_posterior.log_posterior(codes, n_jobs)

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return P(c | observed cells), shape (rows, classes); arguments as for :meth:`log_joint`."""
        return self.class_posterior.posterior(codes, n_jobs)
