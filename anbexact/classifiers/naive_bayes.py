"""Naive Bayes: features independent given the class."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from anbexact.classifiers.base import NetworkClassifier
from anbexact.scores import Score
from anbexact.search import learn_naive_bayes
from anbexact.structure import Structure
from anbexact.table import DiscreteTable


class NaiveBayesClassifier(NetworkClassifier):
    """Naive Bayes over categorical features, with expected a posteriori tables.

    ``P(c | x) ∝ P(c) Π_i P(x_i | c)``.

    Parameters
    ----------
    structure_score : {"bdeu"} or Score, default "bdeu"
        What the structure is scored by. (``score`` is scikit-learn's method.)
    ess : float, default 1.0
        Equivalent sample size of the score ``"bdeu"`` and of the conditional tables.
    parameters : {"eap"}, default "eap"
        How the conditional tables are estimated.
    discretizer : "auto", None or transformer, default "auto"
        What cuts numeric columns with more than 10 distinct values: ``"auto"`` stands for
        :class:`~anbexact.MedianDiscretizer`; None refuses such columns. A transformer must offer
        ``fit(X, y, sample_weight)`` and ``cut_points_``.
    categories : mapping of column name to states, optional
        Declared states. Else those of a categorical dtype, else the observed values.
    handle_unknown : {"marginalize", "error"}, default "marginalize"
        A value at prediction that is no state is summed out, or refused.
    handle_missing : {"marginalize", "error", "own_state"}, default "marginalize"
        A missing cell is summed out at prediction and its row left out of training with a warning; or
        it is refused; or it is a state of its own, ``"(missing)"``.
    n_jobs : int, optional
        Threads; None and -1 stand for all processors. Results do not depend on it.
    verbose : int, default 0
        Above 0, progress is shown on standard error.

    Attributes
    ----------
    classes_ : (classes,) array
        The classes, sorted; the columns of ``predict_proba``.
    vocabulary_ : Vocabulary
        Names and states of all variables.
    structure_ : Structure
        The graph, with its score and certificate.
    conditional_tables_ : dict
        P(variable | parents) of every variable.
    network_ : pgmpy ``DiscreteBayesianNetwork``
        The same network for pgmpy, built and checked on first use.
    cut_points_ : dict
        Cut points of every column that was discretised.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, where all of them are strings.

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
        ess: float = 1.0,
        parameters: str = "eap",
        discretizer: Any = "auto",
        categories: Mapping[Hashable, Sequence[Any]] | None = None,
        handle_unknown: str = "marginalize",
        handle_missing: str = "marginalize",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.structure_score = structure_score
        self.ess = ess
        self.parameters = parameters
        self.discretizer = discretizer
        self.categories = categories
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(self, table: DiscreteTable, score: Score) -> Structure:
        return learn_naive_bayes(table, score)
