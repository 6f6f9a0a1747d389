"""The selective k-dependence Bayesian classifier."""

from __future__ import annotations

from collections.abc import Hashable

from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.parameters import NetworkParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.structure import Structure
from anbexact.scores import Score
from anbexact.search import learn_skdb
from anbexact.tables.table import DiscreteTable


@parameter_group
class SelectiveKDBParameters(NetworkParameters):
    """The maximum number of parents in a selective k-dependence Bayesian classifier."""

    max_k: int = 5


@register_classifier(
    "skdb",
    "selective k-dependence Bayesian classifier (sKDB)",
    compared=[Compared("sKDB", 55)],
)
class SelectiveKDBClassifier(SelectiveKDBParameters, NetworkClassifier):
    """The selective k-dependence Bayesian classifier (sKDB): kDB, with k and the features chosen by leave-one-out.

    The features are sorted by ``I(X_i; C)``, the highest first. Among all k up to ``max_k`` and all initial segments
    of this order, the classifier uses the pair that predicts each training row best from the others, measured by the
    conditional log likelihood. See :func:`~anbexact.search.learn_skdb`. Features that are not chosen have no arcs:
    they stay in the vocabulary and are required at prediction, but have no influence on the class.

    Parameters
    ----------
    max_k : int, default 5
        Maximum number of feature parents of a feature, 0 or more.
    structure_score : str or Score, default "bdeu"
        The score that is reported for the structure. Its equivalent sample size, if it has one, is that of the tables
        that predict rows.

    The other parameters are those of :class:`~anbexact.NetworkClassifier`.

    Attributes
    ----------
    removed_ : tuple
        The features that were not chosen.

    The other attributes are those of :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Martínez, Webb, Chen and Zaidi, *Scalable learning of Bayesian network classifiers*, Journal of Machine Learning
    Research 17(44), 2016.

    Examples
    --------
    >>> from anbexact.classifiers import SelectiveKDBClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> skdb = SelectiveKDBClassifier(ess=1.0).fit(X, y)
    >>> skdb.removed_
    ('is_smiling', 'holding', 'has_tie')
    >>> skdb.score(X, y)
    1.0
    """

    @property
    def removed_(self) -> tuple[Hashable, ...]:
        """The features that were not chosen."""
        structure = self.structure_
        return tuple(name for name in structure.features if not structure.parents[name])

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        ess = float(getattr(score, "ess", 1.0))
        return learn_skdb(table, score, max_k=self.max_k, ess=ess, n_jobs=self.n_jobs, progress=self.progress())
