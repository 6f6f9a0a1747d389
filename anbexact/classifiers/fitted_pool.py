"""Predictions, explanations and the logistic regression of a fitted pool."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.arrays import Floats
from anbexact._runtime.whole import all_or_nothing
from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.classifiers.pooling.learning import log_posteriors
from anbexact.classifiers.refitted import RefittedClassifier
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.models.pool.weights import PoolWeights, shares
from anbexact.tables.cuts import Cuts
from anbexact.tables.reader import Reader
from anbexact.tables.vocabulary import Vocabulary

if TYPE_CHECKING:
    from anbexact.models.network.explanation import Explanations
    from anbexact.models.pool.logit import PooledLogit


class FittedPool(DiscreteClassifier):
    """Weighted members and the answers that follow from them; :class:`~anbexact.PooledClassifier` learns them."""

    estimators_: list[tuple[str, DiscreteClassifier]]
    weights_: Floats
    biases_: Floats
    ridge_: float
    _considered: dict[Hashable, list[Any]]
    common_: FixedStructureClassifier | None

    @all_or_nothing
    def set_pool(
        self,
        estimators: list[tuple[str, DiscreteClassifier]],
        found: PoolWeights,
        members: pd.DataFrame,
        common: FixedStructureClassifier | None,
    ) -> Self:
        """Store fitted members with their weights.

        Parameters
        ----------
        estimators : list of (name, classifier)
            Fitted classifiers with the same classes.
        found : PoolWeights
            Their weights, and the biases in the order of the classes.
        members : DataFrame
            As ``members_``.
        common : FixedStructureClassifier or None
            As ``common_``.

        Returns
        -------
        self
        """
        self.estimators_ = estimators
        self.weights_, self.biases_, self.ridge_ = found.weights, found.biases, found.ridge
        self._considered, self.common_ = members.reset_index().to_dict(orient="list"), common
        self.classes_ = estimators[0][1].classes_
        return self

    @property
    def members_(self) -> pd.DataFrame:
        """All members that were tried, with their weights and outcomes."""
        return pd.DataFrame(self._considered).set_index("member")

    def _logs(self, X: Any) -> Floats:
        """Return ln P_m(class | row), shape (rows, members, classes)."""
        check_is_fitted(self)
        labels = self.classes_.tolist()
        return np.stack([log_posteriors(model, X, labels) for _, model in self.estimators_], axis=1)

    def _log_posterior(self, X: Any) -> Floats:
        logs = self._logs(X)
        return PoolWeights(self.weights_, self.biases_, self.ridge_).log_posterior(logs)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row, shape (rows,); the first of equally probable ones."""
        best = self._log_posterior(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @property
    def class_prior_(self) -> npt.NDArray[np.float64]:
        """P(class) when no feature is known, shape (classes,): the weighted mean over the members.

        If all weights are 0, it is the mean over the members.
        """
        check_is_fitted(self)
        priors = np.stack([model.class_prior_ for _, model in self.estimators_])
        return np.asarray(shares(self.weights_) @ priors)

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> npt.NDArray[np.float64]:
        """Return P(class | row), shape (rows, classes), columns as in ``classes_``.

        Every member sums out missing and unknown cells under its own network; the posteriors are pooled.

        Parameters
        ----------
        X : table
            The features.
        class_prior : mapping or array, optional
            Shares of the classes in the population that the rows come from, if they differ from those in training;
            see :meth:`anbexact.NetworkClassifier.predict_proba`.
        """
        return np.exp(self.predict_log_proba(X, class_prior=class_prior))

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> npt.NDArray[np.float64]:
        """Return ln P(class | row), shape (rows, classes), columns as in ``classes_``; see :meth:`predict_proba`."""
        logs = self._log_posterior(X)
        return logs if class_prior is None else self._adjusted(logs, class_prior)

    def query(self, evidence: Mapping[Hashable, Any] | None = None, /, **values: Any) -> pd.Series[float]:
        """Return P(class | some cells): the members' answers, pooled.

        See :meth:`anbexact.NetworkClassifier.query`.
        """
        check_is_fitted(self)
        answers = [model.query(evidence, **values) for _, model in self.estimators_]
        with np.errstate(divide="ignore"):
            logs = np.log(np.stack([answer.to_numpy() for answer in answers]))[None]
        pooled = PoolWeights(self.weights_, self.biases_, self.ridge_).log_posterior(logs)[0]
        answer = answers[0].copy()
        answer[:] = np.exp(pooled)
        return answer

    def explain(self, X: Any, *, label: Any = None, against: Any = None) -> Explanations:
        """Return, per row, what each family of features adds to the log odds of one class against another.

        A term is the weighted sum of the contributions of all members' families with the same features, regardless of
        a member's cut points and the direction of its arcs. A member that is not a network is one term, and so is one
        whose probabilities of a row contain zeros. See :meth:`anbexact.NetworkClassifier.explain`.

        Raises
        ------
        ValueError
            If ``label`` or ``against`` is not a class, or both are the same; or if the members have no common states.
        """
        from anbexact.classifiers.pooling.forms import explained_member
        from anbexact.models.pool.explanation import explain_pool

        rows = self._of_common_states().reader_.rows(X)
        members = [
            explained_member(member, X, logs)
            for member, logs in zip(self._weighted(), self._logs(X).swapaxes(0, 1), strict=True)
        ]
        pooled = self._log_posterior(X), self.biases_
        return explain_pool(rows, members, pooled, self.vocabulary_, label, against)

    def to_logit(self) -> PooledLogit:
        """Return the logistic regression with the posterior of the pool, on the common states of its members.

        Its terms are those of the union of the members' families. ``to_logit().to_network()`` is one network with
        this posterior, if its tables fit into memory.

        Raises
        ------
        TypeError
            If a member is not a network.
        ValueError
            If a table of a member contains a zero, or the members have no common states.
        MemoryError
            If the terms would not fit into memory; the message says how much they need.

        Warns
        -----
        UserWarning
            If a member models columns by densities: the regression then has the posterior of its discrete form.
        """
        from anbexact.classifiers.pooling.forms import member_terms
        from anbexact.models.pool.logit import PooledLogit
        from anbexact.models.pool.reading import Reading
        from anbexact.models.pool.union import union_of_terms

        common = self._of_common_states()
        network = common.model_.discrete()
        terms = [member_terms(member) for member in self._weighted()]
        reading = Reading(network.vocabulary, network.cut_points)
        return PooledLogit(network, common, union_of_terms(terms, self.biases_, reading))

    def _weighted(self) -> list[tuple[str, float, DiscreteClassifier]]:
        return [(name, float(w), model) for w, (name, model) in zip(self.weights_, self.estimators_, strict=True)]

    def _of_common_states(self) -> FixedStructureClassifier:
        """Return the network on the common states of the members; refuse a pool without common states."""
        check_is_fitted(self)
        if self.common_ is None:
            from anbexact.classifiers.pooling.forms import reading_of
            from anbexact.models.pool.reading import common_refinement

            common_refinement([reading_of(model) for _, model in self.estimators_])
            raise ValueError("the members of this pool have no common states")
        return self.common_

    @property
    def _source(self) -> DiscreteClassifier:
        check_is_fitted(self)
        return self.estimators_[0][1] if self.common_ is None else self.common_

    @property
    def vocabulary_(self) -> Vocabulary:
        """Names and states of all variables: common states of the members, else those of the first."""
        return self._source.vocabulary_

    @property
    def cut_points_(self) -> dict[Hashable, Cuts]:
        """Cut points of every column that was discretised: those of all members together, else those of the first."""
        return self._source.cut_points_

    @property
    def reader_(self) -> Reader:
        """How frames are read, as codes of the states of ``vocabulary_``."""
        return self._source.reader_


def first_table_classifier(classifier: DiscreteClassifier) -> TableClassifier:
    """Return the classifier that read the table: a refit's network, or that of a pool's first member."""
    if isinstance(classifier, FittedPool):
        return first_table_classifier(classifier.estimators_[0][1])
    if isinstance(classifier, RefittedClassifier):
        return classifier.estimator_
    assert isinstance(classifier, TableClassifier)
    return classifier
