"""Naive Bayes: features independent given the class."""

from __future__ import annotations

from anbexact.classifiers.measured import MeasuredClassifier
from anbexact.classifiers.parameters import ContinuousParameters
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.structure import Structure
from anbexact.scores import Score
from anbexact.search import learn_naive_bayes
from anbexact.tables.table import DiscreteTable


@register_classifier(
    "nb",
    "naive Bayes (NB)",
    compared=[
        Compared("NB", 10),
        Compared("NaiveBayes", 11, refitted=False, parameters={"ess": 1.0}),
    ],
)
class NaiveBayesClassifier(ContinuousParameters, MeasuredClassifier):
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

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        return learn_naive_bayes(table, score)
