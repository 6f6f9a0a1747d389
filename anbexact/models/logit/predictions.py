"""What a logistic regression made from a network can answer: predictions, explanations, queries, likelihood."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logsumexp

from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact._runtime.progress import Progress, progress_of
from anbexact.models.additive_effects import AdditiveEffects, effects_of_potentials, rows_of_counts
from anbexact.models.family_sum import FamilySum, counts_of_rows
from anbexact.models.logit.completions import n_completions, summed_over_completions
from anbexact.models.logit.potentials import Potentials, potential_tables
from anbexact.models.model import Model
from anbexact.models.network.evidence import query_network
from anbexact.models.network.explain import Explanations, Grounds, explain_rows
from anbexact.models.network.explanation_terms import Family
from anbexact.models.network.network import Network, TableNetwork
from anbexact.models.network.posterior import Posterior
from anbexact.models.structure import Structure
from anbexact.tables.cuts import Cuts
from anbexact.tables.labels import logs_of_labels
from anbexact.tables.reader import Reader
from anbexact.tables.vocabulary import CodeArray, Vocabulary

if TYPE_CHECKING:
    from anbexact.classifiers.fixed import FixedStructureClassifier

MOST_CLOSED = 10_000_000
"""Number of cells of a closed network beyond which rows with few hidden cells are completed in all possible ways."""
MOST_COMPLETIONS = 10_000
"""Maximum number of completions of such a row."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Origin:
    """What a logistic regression takes over from the classifier of its network.

    Attributes
    ----------
    learned : Network
        The network as it was learned, before it was discretised or its intervals were refined.
    reader : Reader
        How frames are read as codes of the regression's states.
    fixed : type
        :class:`~anbexact.classifiers.FixedStructureClassifier`.
    parameters : mapping
        Its parameters, which are those of the classifier: how the tables are estimated and columns are read.
    """

    learned: Network
    reader: Reader
    fixed: type[FixedStructureClassifier]
    parameters: Mapping[str, Any]

    @property
    def n_jobs(self) -> int | None:
        """Number of threads."""
        found: int | None = self.parameters["n_jobs"]
        return found

    @property
    def progress(self) -> Progress | None:
        """The callback for the progress of long work; None for no progress."""
        return progress_of(self.parameters["verbose"])

    def classifier_of(self, network: TableNetwork, l2: float | str | None = None) -> FixedStructureClassifier:
        """Return a fitted classifier of a network over the same columns.

        The ``fit`` method of the result estimates the tables of that structure by the same rules as the classifier,
        and refits them with the prior precision ``l2``, by default that of the classifier.
        """
        parameters = dict(self.parameters) if l2 is None else {**self.parameters, "l2": l2}
        return self.fixed.from_network(network, feature_names=self.reader.feature_names, **parameters)


class LogitPosterior(Model):
    """The class posterior of potentials over the columns of a fitted classifier; see :class:`LogitModel`."""

    network: TableNetwork
    origin: Origin
    potentials: Potentials
    structure: Structure

    @property
    def vocabulary(self) -> Vocabulary:
        """Names and states of all variables."""
        return self.network.vocabulary

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, the reference first."""
        return self.vocabulary.classes

    @property
    @abstractmethod
    def terms(self) -> pd.DataFrame:
        """One row for every coefficient: its features and their states, with its name as index."""

    @property
    @abstractmethod
    def coefficients(self) -> npt.NDArray[np.float64]:
        """β in nats, shape (terms, classes - 1): rows as in ``terms``, columns as in ``classes_[1:]``."""

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficients, in nats, as a frame: terms in rows, classes other than the first in columns."""
        columns = pd.Index(self.classes_[1:], name=self.structure.class_name)
        return pd.DataFrame(self.coefficients, index=self.terms.index, columns=columns)

    @cached_property
    def _shape(self) -> dict[Hashable, int]:
        """The number of states of every variable."""
        return {name: self.vocabulary.arity(name) for name in self.vocabulary.names}

    @cached_property
    def _posterior(self) -> Posterior:
        """The evaluator of the posterior of rows without missing or unknown cells."""
        logs = [(potential.child, potential.features, potential.logs) for potential in self.potentials]
        return Posterior.from_logs(logs, {name: self._shape[name] for name in self.vocabulary.features})

    def _log_posterior(self, X: Any) -> npt.NDArray[np.float64]:
        """Return ln P(class | row), shape (rows, classes), for the rows of a frame."""
        return self.log_posterior(self.origin.reader.codes(X), self.origin.n_jobs)

    @property
    def model_(self) -> Self:
        """The model itself, which is passed to exports like a fitted classifier."""
        return self

    @property
    def reader_(self) -> Reader:
        """How frames are read."""
        return self.origin.reader

    @property
    def learned(self) -> Network:
        """The network as it was learned."""
        return self.origin.learned

    @property
    def cut_points(self) -> dict[Hashable, Cuts]:
        """Cut points of every feature that was discretised."""
        return dict(self.network.cut_points)

    def family_sum(self) -> FamilySum:
        """Return the log odds as the sum of the potentials."""
        counts = counts_of_rows(self.network.counts) if self.structure is self.network.structure else None
        return FamilySum(
            self.vocabulary, counts, self.log_posterior, lambda: self.potentials, lambda: self.summing_network
        )

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> npt.NDArray[np.float64]:
        """Return ln P(class | observed cells), shape (rows, classes), in nats per row.

        See :meth:`anbexact.models.model.Model.log_posterior`.
        """
        hidden = np.any(codes < 0, axis=0)
        if not hidden.any():
            return self._posterior.log_posterior(codes, n_jobs)
        logs = np.empty((codes.shape[1], len(self.classes_)))
        logs[~hidden] = self._posterior.log_posterior(np.ascontiguousarray(codes[:, ~hidden]), n_jobs)
        logs[hidden] = self._summed_out(np.ascontiguousarray(codes[:, hidden]), n_jobs)
        return logs

    def _summed_out(self, codes: CodeArray, n_jobs: int | None) -> npt.NDArray[np.float64]:
        """Return ln P(class | observed cells) of rows with hidden cells, shape (rows, classes), in nats per row."""
        if self._cells_to_close <= MOST_CLOSED:
            return self.summing_network.log_posterior(codes, n_jobs)
        arities = np.array([self._shape[name] for name in self.vocabulary.features])
        few = n_completions(codes, arities) <= MOST_COMPLETIONS
        logs = np.empty((codes.shape[1], len(self.classes_)))
        if few.any():
            logs[few] = summed_over_completions(
                codes[:, few],
                arities,
                lambda rows: self._posterior.log_posterior(rows, n_jobs),
                lambda rows: logsumexp(self.network.log_joint(rows, n_jobs), axis=1),
            )
        if not few.all():
            logs[~few] = self.summing_network.log_posterior(np.ascontiguousarray(codes[:, ~few]), n_jobs)
        return logs

    @property
    def _cells_to_close(self) -> int:
        """Number of cells of the tables that :attr:`summing_network` needs in addition to the network's own."""
        return 0

    @property
    @abstractmethod
    def summing_network(self) -> TableNetwork:
        """The network with this posterior, under which missing and unknown cells are summed out."""

    @property
    def summed_families(self) -> list[tuple[Hashable, Family]]:
        """The potentials as tables whose terms explain a row, each with its variable."""
        return [*potential_tables(self.potentials, self.structure).items()]

    def to_potentials(self) -> Potentials:
        """Return the potentials."""
        return self.potentials

    @property
    def training_rows(self) -> tuple[CodeArray, Floats] | None:
        """The distinct rows of a refit: codes of the features, and weights, (rows, classes); None if there are none.

        The code of a feature on which the posterior does not depend is 0.
        """
        return None

    def additive_effects(self, codes: CodeArray | None = None, weights: Floats | None = None) -> AdditiveEffects:
        """Return the log odds as effects of single features and of several together.

        They are the functional ANOVA of the potentials, weighted by rows (Hooker 2007).

        Parameters
        ----------
        codes : (features, rows) int16, optional
            Rows without missing cells, in the order of ``vocabulary.features``; by default, those of the refit, or
            the counts of the network, in which features of several families are independent given the class.
        weights : (rows,) float64, optional
            Their weights; by default, 1.

        Raises
        ------
        ValueError
            If there are neither rows nor counts.
        """
        if codes is None and self.training_rows is not None:
            codes, by_class = self.training_rows
            weights = by_class.sum(axis=1)
        if codes is not None:
            given = np.ones(codes.shape[1]) if weights is None else weights
            states = dict(zip(self.vocabulary.features, codes.astype(np.int64), strict=True))
            found = effects_of_potentials(self.potentials, self._shape, lambda _: (states, given))
        else:
            counts = counts_of_rows(self.network.counts)
            if counts is None:
                raise ValueError("effects are weighted by rows, and this model has no counts of rows: pass X")
            found = effects_of_potentials(
                self.potentials, self._shape, rows_of_counts(counts, self._shape, self.structure.class_name)
            )
        return AdditiveEffects.anchored(found, self.log_posterior, self.vocabulary.features)

    def answer(
        self, reader: Reader, evidence: Mapping[Hashable, Any] | None, values: Mapping[str, Any]
    ) -> pd.Series[float]:
        """Return P(class | some cells); other cells are summed out as in :meth:`log_posterior`."""
        return query_network(self, reader, evidence, values)

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return ln P(class | row), shape (rows, classes); see :meth:`predict_proba`."""
        return self._log_posterior(X)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return P(class | row), shape (rows, classes), columns as in ``classes_``.

        Missing cells and unknown states are summed out under a network with this posterior: that of
        :meth:`to_classifier`, after :meth:`close` where this is needed. If the tables of the closed network would
        have more than 10 million cells, a row with few of them hidden is completed in all possible ways instead, and
        the posteriors are averaged by the probabilities of the completions under the network as it was learned:
        ``P(c | x_o) = Σ_h P(x_h | x_o) P(c | x)``.
        """
        return np.exp(self._log_posterior(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row, shape (rows,); of equally probable classes, the first."""
        return np.asarray(self.classes_[self._log_posterior(X).argmax(axis=1)])

    def explain(self, X: Any, *, label: Any = None, against: Any = None) -> Explanations:
        """Return, per row, what each feature adds to the log odds of one class against another.

        See :meth:`anbexact.NetworkClassifier.explain`. The terms are differences of the ``potentials``, the logs of
        the network's tables as shifted by the refit. (Those of the tables of :meth:`to_classifier` have the same
        sums, but are larger and cancel each other.) Rows with missing or unknown cells are explained by the tables of
        the network under which these cells are summed out.

        Raises
        ------
        ValueError
            If ``label`` or ``against`` is not a class, or both are the same.
        """
        rows = self.origin.reader.rows(X)
        hidden = np.any(rows.codes < 0, axis=0)
        counts = self.network.counts if self.structure is self.network.structure else None
        note = "Refitted terms have no intervals, because they have no Dirichlet posterior."
        compared = (self.vocabulary, Grounds(counts, None, note), label, against)
        families = self.summed_families
        if not hidden.any():
            return explain_rows(rows, self._posterior, families, *compared)
        network = self.summing_network
        complete = iter(explain_rows(rows.chosen(~hidden), self._posterior, families, *compared))
        grounds = Grounds(None, None, note)
        others = iter(
            explain_rows(
                rows.chosen(hidden),
                network.class_posterior,
                network.summed_families,
                self.vocabulary,
                grounds,
                label,
                against,
            )
        )
        return Explanations((next(others if of_row else complete) for of_row in hidden.tolist()), rows.index)

    def sample(
        self,
        n: int,
        evidence: Mapping[Hashable, Any] | None = None,
        *,
        random_state: int | np.random.Generator | None = None,
        missing: bool = False,
        reader: Reader | None = None,
    ) -> pd.DataFrame:
        """Return rows drawn from the network of :meth:`to_network`; see :meth:`Model.sample`."""
        network = self.to_network()
        return network.sample(
            n, evidence, random_state=random_state, missing=missing, reader=reader or self.origin.reader
        )

    def query(self, evidence: Mapping[Hashable, Any] | None = None, /, **values: Any) -> pd.Series[float]:
        """Return P(class | some cells); see :meth:`anbexact.NetworkClassifier.query`.

        All other cells are summed out under a network with this posterior, as in :meth:`predict_proba`.
        """
        return self.answer(self.origin.reader, evidence, values)

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the conditional log likelihood ``Σ_t w_t ln P(c_t | x_t)``; total in nats.

        Raises
        ------
        ValueError
            If a row of positive weight has a class that the model does not know.
        """
        logs, weights = self._logs_of_classes(X, y, sample_weight)
        return float(weights @ logs)

    def _logs_of_classes(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return ln P(true class | row) in nats, and the weights, of rows; see :meth:`log_likelihood`."""
        return logs_of_labels(self._log_posterior(X), self.classes_.tolist(), y, sample_weight)
