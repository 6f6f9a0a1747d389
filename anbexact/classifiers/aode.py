"""Averaged one-dependence estimators."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Real
from typing import Any

from anbexact._runtime.progress import Progress
from anbexact.classifiers.parameters import TableParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.classifiers.structureless import StructurelessClassifier
from anbexact.models.aode import AODE, PairCounts, count_pairs
from anbexact.scores import BDeu
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable


@parameter_group
class AODEParameters(TableParameters):
    """How averaged one-dependence estimators are smoothed, and which features are parents."""

    ess: float = 1.0
    min_weight: float = 1.0


@register_classifier(
    "aode",
    "averaged one-dependence estimators (AODE)",
    compared=[Compared("AODE", 60, refitted=False)],
)
class AODEClassifier(AODEParameters, StructurelessClassifier):
    """Averaged one-dependence estimators (AODE): a mixture of networks, one for each feature.

    In the i-th network, the class and feature i are the parents of all other features:
    ``P_i(c, x) = P(c, x_i) Π_{j≠i} P(x_j | c, x_i)``. For a row, the i-th network is included if the row's state of
    feature i has a training weight of at least ``min_weight``. If this holds for no feature, naive Bayes is used:

        P(c, x) ∝ Σ_i 1[N(x_i) ≥ m] P_i(c, x) + 1[N(x_i) < m for all i] P(c) Π_i P(x_i | c).

    The normalising constant, the sum of the right side over all c and x, is the sum of P(x_i) over all features i and
    all their states with N(x_i) ≥ m, plus the probability under naive Bayes that no feature is in such a state.
    Missing and unknown cells are summed out of this distribution exactly. With s classes, r_i states of feature i and
    rows of total weight N,

        P(c, x_i) = (N(c, x_i) + α/(s r_i)) / (N + α),
        P(x_j | c, x_i) = (N(c, x_i, x_j) + α/(s r_i r_j)) / (N(c, x_i) + α/(s r_i)),

    and likewise for P(c) and P(x_i | c). These are expected a posteriori estimates with equivalent sample size α.
    AODE needs 24 bytes of memory for every combination of two states and a class, and a row takes O(n² s) steps for n
    features.

    It has no single structure and cannot be explained or converted; all other methods of networks are available.

    Parameters
    ----------
    ess : float, default 1.0
        Equivalent sample size α.
    min_weight : float, default 1.0
        Minimum training weight m of a state for its feature to be a parent, 0 or more.

    ``discretizer``, ``categories``, ``handle_unknown``, ``handle_missing``, ``drop_identifiers``, ``decimal``,
    ``class_weight``, ``n_jobs`` and ``verbose`` are those of :class:`~anbexact.NetworkClassifier`.

    Attributes
    ----------
    counts_ : PairCounts
        Weighted counts of all pairs of features with the class (:class:`~anbexact.models.aode.PairCounts`).
    ess_, min_weight_ : float
        The values of ``ess`` and ``min_weight`` in ``fit``.

    ``classes_``, ``vocabulary_``, ``cut_points_``, ``n_features_in_`` and ``feature_names_in_`` are those of
    :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Webb, Boughton and Wang, *Not so naive Bayes: aggregating one-dependence estimators*, Machine Learning 58 (2005).

    Examples
    --------
    >>> from anbexact.classifiers import AODEClassifier
    >>> from anbexact.datasets import load_tic_tac_toe
    >>> X, y = load_tic_tac_toe()
    >>> aode = AODEClassifier().fit(X, y)
    >>> round(aode.score(X, y), 3)
    0.753
    >>> aode.counts_.dense(0, 1).shape
    (3, 3, 2)
    """

    model_: AODE
    model_type = AODE

    @property
    def counts_(self) -> PairCounts:
        """Weighted counts of all pairs of features with the class."""
        return self.model_.counts

    @property
    def ess_(self) -> float:
        """The value of ``ess`` in ``fit``."""
        return self.model_.ess

    @property
    def min_weight_(self) -> float:
        """The value of ``min_weight`` in ``fit``."""
        return self.model_.min_weight

    def check_parameters(self) -> None:
        super().check_parameters()
        BDeu(self.ess)
        weight: Any = self.min_weight
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= float(weight) < float("inf"):
            raise ValueError(f"min_weight must be a finite number, 0 or more, not {weight!r}")

    def _model_of(self, table: DiscreteTable, cut_points: dict[Hashable, Cuts], progress: Progress | None) -> AODE:
        """Count the pairs."""
        return AODE(
            vocabulary=table.vocabulary,
            cut_points=cut_points,
            counts=count_pairs(table, self.n_jobs, progress),
            ess=float(self.ess),
            min_weight=float(self.min_weight),
            n_jobs=self.n_jobs,
        )
