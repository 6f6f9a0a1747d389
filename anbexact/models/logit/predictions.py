"""The answers of a logistic regression made from a network: predictions, explanations, queries, likelihood."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_consistent_length

from anbexact._runtime.progress import Progress
from anbexact.models.logit.potentials import Potentials, potential_tables
from anbexact.models.network.evidence import query_network
from anbexact.models.network.explain import Explanations, Grounds, explain_rows
from anbexact.models.network.explanation_terms import Family
from anbexact.models.network.network import TableNetwork
from anbexact.models.network.posterior import Posterior
from anbexact.models.structure import Structure
from anbexact.tables.labels import read_labels
from anbexact.tables.reader import Reader
from anbexact.tables.table import check_weights
from anbexact.tables.vocabulary import CodeArray, Vocabulary

if TYPE_CHECKING:
    from anbexact.classifiers.fixed import FixedStructureClassifier


class FittedClassifier(Protocol):
    """The interface of the classifier from whose network a logistic regression was made."""

    n_jobs: int | None
    classes_: npt.NDArray[Any]

    @property
    def reader_(self) -> Reader:
        """How frames are read."""

    def progress(self) -> Progress | None:
        """Return the callback for the progress of long work."""

    def with_network(self, network: TableNetwork, l2: float | str | None = None) -> FixedStructureClassifier:
        """Return a fitted classifier of another network over the same columns."""


class LogitPosterior(ABC):
    """The class posterior of potentials over the columns of a fitted classifier; see :class:`LogitModel`."""

    network: TableNetwork
    classifier: FittedClassifier
    potentials: Potentials
    structure: Structure

    @property
    def vocabulary(self) -> Vocabulary:
        """Names and states of all variables."""
        return self.network.vocabulary

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, the reference first."""
        return self.classifier.classes_

    @cached_property
    def _shape(self) -> dict[Hashable, int]:
        return {name: self.vocabulary.arity(name) for name in self.vocabulary.names}

    @cached_property
    def _posterior(self) -> Posterior:
        logs = [(potential.child, potential.features, potential.logs) for potential in self.potentials]
        return Posterior.from_logs(logs, {name: self._shape[name] for name in self.vocabulary.features})

    def _log_posterior(self, X: Any) -> npt.NDArray[np.float64]:
        """Return ln P(class | row); the result for a row does not depend on other rows."""
        return self.log_posterior(self.classifier.reader_.codes(X))

    def log_posterior(self, codes: CodeArray) -> npt.NDArray[np.float64]:
        """Return ln P(class | row) of rows of codes, shape (rows, classes), in nats per row.

        Parameters
        ----------
        codes : (features, rows) int16
            Codes of states in the order of ``vocabulary.features``; a negative code is a cell that is summed out.
        """
        n_jobs = self.classifier.n_jobs
        hidden = np.any(codes < 0, axis=0)
        if not hidden.any():
            return self._posterior.log_posterior(codes, n_jobs)
        logs = np.empty((codes.shape[1], len(self.classes_)))
        logs[~hidden] = self._posterior.log_posterior(np.ascontiguousarray(codes[:, ~hidden]), n_jobs)
        rest = np.ascontiguousarray(codes[:, hidden])
        logs[hidden] = self._summing_network.log_posterior(rest, n_jobs)
        return logs

    @property
    def summing_network(self) -> TableNetwork:
        """The network, of this posterior, under which missing and unknown cells are summed out."""
        return self._summing_network

    @property
    @abstractmethod
    def _summing_network(self) -> TableNetwork:
        """The network with this posterior, under which hidden cells are summed out."""

    @property
    def _explained(self) -> Mapping[Hashable, Family] | Sequence[tuple[Hashable, Family]]:
        """The families, whose terms are the explanation of a row."""
        return potential_tables(self.potentials, self.structure)

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return ln P(class | row), shape (rows, classes); see :meth:`predict_proba`."""
        return self._log_posterior(X)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return P(class | row), shape (rows, classes), columns as in ``classes_``.

        Missing cells and unknown states are summed out under a network with this posterior (:meth:`to_classifier`,
        after :meth:`close` where it is needed).
        """
        return np.exp(self._log_posterior(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row, shape (rows,); the first of equally probable ones."""
        return np.asarray(self.classes_[self._log_posterior(X).argmax(axis=1)])

    def explain(self, X: Any, *, label: Any = None, against: Any = None) -> Explanations:
        """Return, per row, what each feature adds to the log odds of one class against another.

        See :meth:`anbexact.NetworkClassifier.explain`. The terms are differences of the ``potentials``: of the logs
        of the network's tables, as the refit shifted them, which is as little as the rows and the prior ask for. (The
        tables of :meth:`to_classifier` have the same sums, but in larger terms that cancel each other.) Rows with
        missing or unknown cells are explained by the tables of the network under which these are summed out.

        Raises
        ------
        ValueError
            If ``label`` or ``against`` is not a class, or both are the same.
        """
        rows = self.classifier.reader_.rows(X)
        hidden = np.any(rows.codes < 0, axis=0)
        counts = self.network.counts if self.structure is self.network.structure else None
        note = "Refitted terms have no intervals, because they have no Dirichlet posterior."
        compared = (self.vocabulary, Grounds(counts, None, note), label, against)
        families = self._explained
        if not hidden.any():
            return explain_rows(rows, self._posterior, families, *compared)
        network = self._summing_network
        complete = iter(explain_rows(rows.chosen(~hidden), self._posterior, families, *compared))
        grounds = Grounds(None, None, note)
        others = iter(
            explain_rows(
                rows.chosen(hidden),
                network.class_posterior,
                network.tables,
                self.vocabulary,
                grounds,
                label,
                against,
            )
        )
        return Explanations((next(others if of_row else complete) for of_row in hidden.tolist()), rows.index)

    def query(self, evidence: Mapping[Hashable, Any] | None = None, /, **values: Any) -> pd.Series[float]:
        """Return P(class | some cells), the others being summed out; see :meth:`anbexact.NetworkClassifier.query`.

        They are summed out under a network with this posterior, as in :meth:`predict_proba`.
        """
        return query_network(self._summing_network, self.classifier.reader_, evidence, values)

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the conditional log likelihood ``Σ_t w_t ln P(c_t | x_t)``; total in nats.

        Raises
        ------
        ValueError
            For a class that was not there in ``fit``.
        """
        logs = self._log_posterior(X)
        check_consistent_length(logs, y)
        weights = check_weights(sample_weight, len(logs))
        codes, labels = read_labels(y).coded
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        unknown = [labels[code] if code >= 0 else None for code in np.unique(codes[weights > 0])]
        unknown = [label for label in unknown if label not in place]
        if unknown:
            raise ValueError(
                f"y contains {unknown[0]!r}, which is not a class of this model (classes: {self.classes_.tolist()}): "
                "leave such rows out, as they have no likelihood under it"
            )
        known = np.array([*(place.get(label, 0) for label in labels), 0])[codes]
        return float(weights @ logs[np.arange(len(logs)), known])
