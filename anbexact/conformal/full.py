"""Full conformal prediction: the structure is learned again with the new row, for each class that it may have."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from anbexact._runtime.whole import all_or_nothing
from anbexact.classifiers import ANBClassifier
from anbexact.conformal.base import ConformalClassifier
from anbexact.conformal.ranks import METHODS, Others, Rank, rank
from anbexact.scores import BDeu
from anbexact.search.posterior.relearner import Relearner, check_relearnable
from anbexact.search.posterior.setting import Limits
from anbexact.tables.cuts import RULES
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import UNKNOWN


class FullConformalClassifier(ConformalClassifier):
    """Sets of classes by full conformal prediction, with the optimal augmented naive Bayes relearned for each class.

    For every class that a new row may have, the row joins the training rows with that class. The optimal structure of
    all these rows is learned, and every row is predicted from the others by tables of that structure. The p-value of
    the class is the share of rows, including the new one, whose own class is predicted no better than that of the new
    row. The set contains the classes whose p-value is above ``1 - confidence``.

    If the new row and the training rows are exchangeable (as independent draws from one population are), the set
    contains the true class with a probability of at least ``confidence``, for any population and even if the model is
    wrong. No rows are set aside. The probability is over draws of both the training rows and the new row, and over
    all classes together; with ``by_class`` it holds in each class.

    This requires rules that treat the new row like all others. Cut points and groups of values that were learned from
    the classes, sample sizes that were chosen with the help of the classes, and rows whose missing cells are summed
    out violate this, and are refused. Cut points that depend only on the features of the training rows are taken as
    given. A value that did not occur in training becomes one more state of its feature, because the states are those
    of the training rows and the new row together.

    Parameters
    ----------
    estimator : ANBClassifier, optional
        The classifier whose limits of the search, and whose rules for reading tables, are used. ``ess`` must be a
        number. By default,
        ``ANBClassifier(ess=1.0, discretizer="equal_frequency", group_categories=None)``.
    method : {"lac", "aps"}, default "lac"
        Nonconformity of a row: 1 - P(its class), which makes sets small; or the probability of all classes that are
        at least as probable as its own (adaptive prediction sets), which makes larger sets where classes are hard to
        distinguish.
    by_class : bool, default False
        Whether a row with a class is ranked only among the rows of that class (Mondrian). The probability then holds
        in each class, and sets are larger.
    smoothed : bool, default False
        Whether ties are broken at random. The probability is then exactly ``confidence``; otherwise it is at least
        that.
    random_state : int, optional
        Seed of the random numbers for ties.

    Attributes
    ----------
    estimator_ : ANBClassifier
        Fitted to the training rows; ``predict`` and ``predict_proba`` are its own.

    The cost of a row and class is that of one search over all sets of features, n² 2ⁿ steps, and of predicting all
    training rows: for 13 features and 200 rows, a few milliseconds.

    References
    ----------
    Vovk, Gammerman and Shafer, *Algorithmic Learning in a Random World* (2005), chapter 2; Angelopoulos and Bates,
    *Conformal prediction: a gentle introduction*, Foundations and Trends in Machine Learning 16 (2023); Romano, Sesia
    and Candès, *Classification with valid and adaptive coverage*, NeurIPS 2020.

    Examples
    --------
    >>> from anbexact.conformal import FullConformalClassifier
    >>> from anbexact.datasets import load_wine
    >>> X, y = load_wine()
    >>> conformal = FullConformalClassifier().fit(X.iloc[1:, :6], y[1:])
    >>> found = conformal.predict_set(X.iloc[:1, :6], confidence=0.95)
    >>> found.labels, found.coverage(y[:1])
    ([('class_0',)], 1.0)
    """

    def __init__(
        self,
        estimator: ANBClassifier | None = None,
        *,
        method: str = "lac",
        by_class: bool = False,
        smoothed: bool = False,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.by_class = by_class
        self.smoothed = smoothed
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Read the training rows, and learn from them.

        Parameters
        ----------
        X, y : table, classes
            As for :class:`~anbexact.ANBClassifier`.
        sample_weight : (rows,) array, optional
            Whole numbers: how many equal rows each row represents.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            If a parameter would treat the new row differently from the others; the message says which, and what to
            do.
        """
        self._check()
        given = _default() if self.estimator is None else clone(self.estimator)
        _check_estimator(given)
        fitted = given.fit(X, y, sample_weight=sample_weight)
        _check_reading(fitted)
        table = fitted.reader_.table(X, y, sample_weight)
        check_relearnable(table.weights, "a row counts as one among the others, or as several")
        limit: Any = None if fitted.max_parents == "auto" else fitted.max_parents
        edges = tuple(fitted.required_edges), tuple(fitted.forbidden_edges)
        self._limits = Limits(limit, *edges, fitted.memory_limit, fitted.n_jobs)
        self.estimator_, self._table = fitted, table
        self._relearner = self._relearner_of(table)
        return self

    def _relearner_of(self, table: DiscreteTable) -> Relearner:
        setting = self._limits.setting(table, BDeu(self.estimator_.ess_), type(self).__name__)
        return Relearner(setting)

    def _n_others(self) -> int:
        return round(self._table.weight_sum)

    def _ranks(self, X: Any) -> list[list[Rank]]:
        codes = self.estimator_.reader_.codes(X)
        _refuse_missing(self.estimator_, X)
        names = np.array(self._table.vocabulary.features, dtype=object)
        relearners = {(): self._relearner}  # by the features whose value is unknown
        found: dict[bytes, list[Rank]] = {}
        ranks = []
        for row in codes.T:
            key = row.tobytes()
            if key not in found:
                unknown = tuple(names[row == UNKNOWN].tolist())
                if unknown not in relearners:
                    relearners[unknown] = self._relearner_of(_with_one_more_state(self._table, unknown))
                found[key] = self._ranked(relearners[unknown], dict(zip(names, row.tolist(), strict=True)))
            ranks.append(found[key])
        return ranks

    def _ranked(self, relearner: Relearner, states: Mapping[Hashable, int]) -> list[Rank]:
        """Return the rank of a row with each class; an unknown value is the last state of its feature."""
        scores_of, classes = METHODS[self.method], relearner.classes
        last = relearner.arities - 1
        row = np.array([states[name] for name in relearner.ordered], dtype=np.int16)
        ranks = []
        for c, joined in enumerate(relearner.with_row(np.where(row == UNKNOWN, last, row).astype(np.int16))):
            scores = scores_of(joined.posterior)[np.arange(len(classes)), classes]
            own = float(scores_of(joined.own[None])[0, c])
            ranks.append(rank(own, c, Others(scores, classes, relearner.table.weights), by_class=self.by_class))
        return ranks


def _default() -> ANBClassifier:
    return ANBClassifier(ess=1.0, discretizer="equal_frequency", group_categories=None)


def _check_estimator(given: Any) -> None:
    """Refuse estimators for which a new row cannot be treated like the training rows."""
    if not isinstance(given, ANBClassifier):
        raise TypeError(
            f"full conformal prediction relearns an ANBClassifier, not {type(given).__name__}: use "
            "SplitConformalClassifier for other classifiers"
        )
    reasons = {
        "ess": (
            not isinstance(given.ess, str),
            "a number, as a choice would treat the new row differently from the others",
        ),
        "structure_score": (given.structure_score == "bdeu", "'bdeu'"),
        "parameters": (given.parameters == "eap", "'eap'"),
        "smoothing": (given.smoothing is None, "None"),
        "continuous": (given.continuous == "discretize", "'discretize'"),
        "class_weight": (given.class_weight is None, "None, as rows must count alike"),
    }
    for name, (fits, wanted) in reasons.items():
        if not fits:
            raise ValueError(f"{name} of the estimator must be {wanted}, not {getattr(given, name)!r}")


def _check_reading(fitted: ANBClassifier) -> None:
    """Refuse states that were learned from the classes."""
    if fitted.groups_:
        raise ValueError(
            f"the values of column {next(iter(fitted.groups_))!r} were grouped with the help of the classes, but the "
            "new row's class had no part in it, so the sets would not be valid: use group_categories=None"
        )
    rule = fitted.discretizer
    if isinstance(rule, str):
        rule = RULES[rule]()
    if rule is not None and fitted.cut_points_ and get_tags(rule).target_tags.required:
        raise ValueError(
            f"column {next(iter(fitted.cut_points_))!r} was cut with the help of the classes, but the new row's "
            "class had no part in it, so the sets would not be valid: use discretizer='equal_frequency', or another "
            "rule that does not look at the classes"
        )


def _with_one_more_state(table: DiscreteTable, names: Collection[Hashable]) -> DiscreteTable:
    """Return a table in which some features have one more state, which no row has."""
    vocabulary = table.vocabulary
    states = {name: (*of, object()) if name in names else of for name, of in vocabulary.states.items()}
    return replace(table, vocabulary=replace(vocabulary, states=states))


def _refuse_missing(fitted: ANBClassifier, X: Any) -> None:
    """Refuse rows with a missing cell that is not a state."""
    for column in fitted.reader_.states(X):
        name = column.name
        if (
            fitted.handle_missing_[name] != "own_state"
            and column.missing.any()
            and fitted.vocabulary_.arity(name) > 1
        ):
            row = int(column.missing.argmax())
            raise ValueError(
                f"column {name!r}, row {row}: the cell is missing, but training rows with a missing cell in this "
                "column were left out, so the row cannot be compared with them: use handle_missing='own_state', or "
                "fill the cell in"
            )
