"""The k-dependence Bayesian classifier."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from anbexact.classifiers.base import NetworkClassifier
from anbexact.scores import Score
from anbexact.search import learn_kdb
from anbexact.structure import Structure
from anbexact.table import DiscreteTable


class KDBClassifier(NetworkClassifier):
    """The k-dependence Bayesian classifier (kDB): parents by mutual information.

    ``P(c | x) ∝ P(c) Π_i P(x_i | π_i, c)``. The features are put in the order of ``I(X_i; C)``; the feature parents
    π_i are those k of the features before it with the highest ``I(X_i; X_j | C)``. See
    :func:`~anbexact.search.learn_kdb`; the threshold of the paper is left out.

    Parameters
    ----------
    k : int, default 2
        Most feature parents of a feature, 0 or more; 0 is naive Bayes.
    structure_score : str or Score, default "bdeu"
        Scores the structure; it does not influence it.

    The other parameters, and the fitted attributes, are those of :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Sahami, *Learning limited dependence Bayesian classifiers*, KDD 1996.

    Examples
    --------
    >>> from anbexact.classifiers import KDBClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> kdb = KDBClassifier(k=2).fit(X, y)
    >>> len(kdb.structure_.feature_edges)
    9
    >>> round(kdb.score(X, y), 3)
    1.0
    """

    def __init__(
        self,
        *,
        k: int = 2,
        structure_score: str | Score = "bdeu",
        ess: float | str = 1.0,
        parameters: str = "eap",
        smoothing: float | str | None = None,
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
        self.k = k

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        return learn_kdb(table, score, k=self.k, n_jobs=self.n_jobs, progress=self._progress())
