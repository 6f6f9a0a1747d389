"""Predictions, explanations and the logistic regression of a fitted pool."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.arrays import Floats
from anbexact._runtime.whole import all_or_nothing
from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.models.pool.pool import Pool, PoolMember
from anbexact.models.pool.weights import PoolWeights, shares
from anbexact.tables.reader import Reader

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

    @property
    def model_(self) -> Pool:
        """The members' models, with their weights."""
        check_is_fitted(self)
        members = tuple(
            PoolMember(name=name, weight=float(w), model=own.model_, reader=own.reader_, n_jobs=own._threads())
            for w, (name, own) in zip(self.weights_, self.estimators_, strict=True)
        )
        common = None if self.common_ is None else self.common_.origin()
        return Pool(members=members, biases=self.biases_, ridge=self.ridge_, common=common)

    def _threads(self) -> int | None:
        """Return None: every member has its own number of threads."""
        return None

    def _read_by(self) -> DiscreteClassifier:
        return self.estimators_[0][1]._read_by()

    @property
    def class_prior_(self) -> npt.NDArray[np.float64]:
        """P(class) when no feature is known, shape (classes,): the weighted mean over the members.

        If all weights are 0, it is the mean over the members.
        """
        check_is_fitted(self)
        priors = np.stack([model.class_prior_ for _, model in self.estimators_])
        return np.asarray(shares(self.weights_) @ priors)

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
        return self.model_.explain(X, label, against)

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
        return self.model_.to_logit()

    @property
    def reader_(self) -> Reader:
        """How frames are read, as codes of the states of ``vocabulary_``."""
        check_is_fitted(self)
        source = self.estimators_[0][1] if self.common_ is None else self.common_
        return source.reader_


def first_table_classifier(classifier: DiscreteClassifier) -> TableClassifier:
    """Return the classifier that read the table: a refit's network, or that of a pool's first member."""
    return cast(TableClassifier, classifier._read_by())
