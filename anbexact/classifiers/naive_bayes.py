"""Naive Bayes: features independent given the class."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from anbexact.classifiers.measured import MeasuredClassifier
from anbexact.measure import UniversalMeasure
from anbexact.scores import Score
from anbexact.search import learn_naive_bayes
from anbexact.structure import Structure
from anbexact.table import DiscreteTable


class NaiveBayesClassifier(MeasuredClassifier):
    """Naive Bayes over categorical features, with expected a posteriori tables.

    ``P(c | x) ∝ P(c) Π_i P(x_i | c)``.

    Parameters and fitted attributes are those of :class:`~anbexact.NetworkClassifier` and, for ``continuous``,
    :class:`~anbexact.classifiers.MeasuredClassifier`.

    Examples
    --------
    >>> from anbexact import NaiveBayesClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> NaiveBayesClassifier().fit(X, y).score(X, y)
    0.75
    """

    def __init__(
        self,
        *,
        structure_score: str | Score = "bdeu",
        ess: float | str = 1.0,
        parameters: str = "eap",
        smoothing: float | str | None = None,
        continuous: str | UniversalMeasure = "discretize",
        discretizer: Any = "auto",
        categories: Mapping[Hashable, Sequence[Any]] | None = None,
        handle_unknown: str = "marginalize",
        handle_missing: str = "marginalize",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            structure_score=structure_score,
            ess=ess,
            parameters=parameters,
            smoothing=smoothing,
            discretizer=discretizer,
            categories=categories,
            handle_unknown=handle_unknown,
            handle_missing=handle_missing,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.continuous = continuous

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        return learn_naive_bayes(table, score)
