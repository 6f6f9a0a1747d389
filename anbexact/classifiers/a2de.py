"""Averaged two-dependence estimators."""

from __future__ import annotations

from collections.abc import Hashable

from anbexact._runtime.progress import Progress
from anbexact.classifiers.parameters import TableParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.classifiers.structureless import StructurelessClassifier
from anbexact.models.a2de import A2DE, TripleCounts, count_triples
from anbexact.scores import BDeu
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable


@parameter_group
class A2DEParameters(TableParameters):
    """How averaged two-dependence estimators are smoothed."""

    ess: float = 1.0


@register_classifier(
    "a2de",
    "averaged two-dependence estimators (A2DE)",
    compared=[Compared("A2DE", 65, refitted=False)],
)
class A2DEClassifier(A2DEParameters, StructurelessClassifier):
    """Averaged two-dependence estimators (A2DE): a mixture of networks, one for each pair of features.

    In the network of features i and j, these two and the class are the parents of all other features. All pairs have
    equal weight:

        P(c, x) = 2 / (n (n - 1)) Σ_{i<j} P(c, x_i, x_j) Π_{k≠i,j} P(x_k | c, x_i, x_j).

    With s classes, r_i states of feature i and rows of total weight N,

        P(c, x_i, x_j) = (N(c, x_i, x_j) + α/(s r_i r_j)) / (N + α),
        P(x_k | c, x_i, x_j) = (N(c, x_i, x_j, x_k) + α/(s r_i r_j r_k)) / (N(c, x_i, x_j) + α/(s r_i r_j)),

    which are expected a posteriori estimates with equivalent sample size α. With two features, the model is their
    joint table given the class; with one feature, it is naive Bayes. The paper leaves out pairs of states that no
    training row shows. Here such pairs are included with their smoothed probability, so the mixture is a
    distribution, and missing and unknown cells are summed out exactly.

    A2DE makes fewer assumptions than AODE and needs more rows. It needs 16 bytes of memory for every combination of
    three states and a class. A row takes O(n³) steps in ``fit`` and O(n³ s) at prediction; a missing cell multiplies
    the latter, for its pairs, by its number of states.

    It has no single structure and cannot be explained or converted; all other methods of networks are available.

    Parameters
    ----------
    ess : float, default 1.0
        Equivalent sample size α.

    ``discretizer``, ``categories``, ``handle_unknown``, ``handle_missing``, ``drop_identifiers``, ``decimal``,
    ``class_weight``, ``n_jobs`` and ``verbose`` are those of :class:`~anbexact.NetworkClassifier`.

    Attributes
    ----------
    counts_ : TripleCounts
        Weighted counts of all pairs and triples of features with the class
        (:class:`~anbexact.models.a2de.TripleCounts`).
    ess_ : float
        The value of ``ess`` in ``fit``.

    ``classes_``, ``vocabulary_``, ``cut_points_``, ``n_features_in_`` and ``feature_names_in_`` are those of
    :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Webb, Boughton, Zheng, Ting and Salem, *Learning by extrapolation from marginal to full-multivariate probability
    distributions: decreasingly naive Bayesian classification*, Machine Learning 86 (2012).

    Examples
    --------
    >>> from anbexact.classifiers import A2DEClassifier
    >>> from anbexact.datasets import load_tic_tac_toe
    >>> X, y = load_tic_tac_toe()
    >>> a2de = A2DEClassifier().fit(X, y)
    >>> round(a2de.score(X, y), 3)
    0.942
    >>> a2de.counts_.dense(2, 1, 0).shape
    (3, 3, 3, 2)
    """

    model_: A2DE
    model_type = A2DE

    @property
    def counts_(self) -> TripleCounts:
        """Weighted counts of all pairs and triples of features with the class."""
        return self.model_.counts

    @property
    def ess_(self) -> float:
        """The value of ``ess`` in ``fit``."""
        return self.model_.ess

    def check_parameters(self) -> None:
        super().check_parameters()
        BDeu(self.ess)

    def _model_of(self, table: DiscreteTable, cut_points: dict[Hashable, Cuts], progress: Progress | None) -> A2DE:
        """Count the triples."""
        return A2DE(
            vocabulary=table.vocabulary,
            cut_points=cut_points,
            counts=count_triples(table, self.n_jobs, progress),
            ess=float(self.ess),
            n_jobs=self.n_jobs,
        )
