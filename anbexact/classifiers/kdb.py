"""The k-dependence Bayesian classifier."""

from __future__ import annotations

from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.parameters import NetworkParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.structure import Structure
from anbexact.scores import Score
from anbexact.search import learn_kdb
from anbexact.tables.table import DiscreteTable


@parameter_group
class KDBParameters(NetworkParameters):
    """The number of parents in a k-dependence Bayesian classifier."""

    k: int = 2


@register_classifier(
    "kdb",
    "k-dependence Bayesian classifier (kDB)",
    compared=[Compared("kDB", 50, parameters={"k": 2})],
)
class KDBClassifier(KDBParameters, NetworkClassifier):
    """The k-dependence Bayesian classifier (kDB): parents by mutual information.

    ``P(c | x) ∝ P(c) Π_i P(x_i | π_i, c)``. The features are sorted by ``I(X_i; C)``, the highest first. The feature
    parents π_i of a feature are the k features before it with the highest ``I(X_i; X_j | C)``. See
    :func:`~anbexact.search.learn_kdb`; the threshold of the paper is not supported. With two or more parents,
    ``parameters="hierarchical"`` and ``"tree"`` usually predict much better than the default; the page "Scores, and
    the searches that use them" has measurements.

    Parameters
    ----------
    k : int, default 2
        Maximum number of feature parents of a feature, 0 or more; 0 is naive Bayes.
    structure_score : str or Score, default "bdeu"
        The score that is reported for the structure; it has no influence on the structure.

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

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        return learn_kdb(table, score, k=self.k, n_jobs=self.n_jobs, progress=self.progress())
