"""Linear logistic regression: a classifier between maximum likelihood and linear discriminant analysis."""

from __future__ import annotations

from inspect import signature
from math import inf
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from anbexact.classifiers.choosing.frequencies import LEAST_ROWS_COMPARED, too_few, warn_if_worse
from anbexact.classifiers.discrete import DiscreteClassifier, FitRows
from anbexact.classifiers.parameters import TableParameters, parameter_group
from anbexact.classifiers.registry import register_classifier
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.models.linear.fit import CENTRES, PRECISIONS, learn_linear
from anbexact.models.linear.model import LinearModel
from anbexact.models.network.explanation import Explanations
from anbexact.tables.cuts.quantiles import QuantileDiscretizer
from anbexact.tables.training import TrainingColumns

if TYPE_CHECKING:
    from anbexact.models.logit.model import LogitModel

AUTO = "auto"
INTERVALS = 64
"""Number of intervals of a column that is cut according to ``discretizer="auto"``."""


@parameter_group
class LinearParameters(TableParameters):
    """The precision of the prior of the coefficients, and its centre."""

    l2: float | str = AUTO
    centre: float | str = AUTO


@register_classifier("linear", "linear logistic regression")
class LinearClassifier(LinearParameters, TableClassifier):
    """Linear logistic regression, drawn towards linear discriminant analysis.

    ``ln P(c | x) = b_c + w_c · z(x) + constant``, where z are values of the states: one for the place of an interval
    or a number in its order, and indicators of all other states. The place of an interval is the mean of its mid-rank
    and its middle, so that outliers count little
    (:func:`~anbexact.models.kernel.distances.distances_of`). The coefficients maximise

        Σ_t v_t ln P(c_t | x_t) - λ/2 Σ_c (w_c - s m_c)' S (w_c - s m_c)

    for rows of weight v_t, where S is the covariance of the values within the classes, shrunk by the rule of Ledoit
    and Wolf, and ``m_c = S⁻¹ (mean of class c)`` are the coefficients of linear discriminant analysis. With s = 0,
    this is a logistic regression with a Gaussian prior that does not depend on how the values are scaled or combined;
    with s = 1 and a large λ, it is linear discriminant analysis, which needs fewer rows where the classes are about
    normal with the same covariance. λ and s are chosen by cross-validation.

    Where a class depends on features along lines, and rows are few, this predicts better than shapes and networks,
    which have to learn the lines first. Missing cells are summed out as if the values of a class had a normal
    distribution with the covariance S (:class:`~anbexact.models.linear.model.LinearModel`); the observed cells say
    what can be expected in their place. :meth:`to_logit` returns the model as a logistic regression on the states,
    and ``to_logit().to_classifier()`` as a naive Bayes network.

    Parameters
    ----------
    discretizer : "auto", name, None or transformer
        As in :class:`~anbexact.NetworkClassifier`, but ``"auto"`` stands for 64 intervals of about equal weight, or
        for one interval per value if there are fewer values.
    l2 : float or "auto", default "auto"
        λ, above 0. ``"auto"`` chooses from 0.01, 0.1, 1, 10 and 100 by five-fold cross-validation, jointly with s.
    centre : float or "auto", default "auto"
        s, from 0 to 1. ``"auto"`` chooses from 0, 1/2 and 1.

    The other parameters are those of :class:`~anbexact.NetworkClassifier`.

    Attributes
    ----------
    l2_, centre_ : float
        λ and s.

    ``classes_``, ``vocabulary_``, ``cut_points_``, ``n_features_in_`` and ``feature_names_in_`` are those of
    :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Hastie, Tibshirani and Friedman, *The Elements of Statistical Learning* (2009), sections 4.3 and 4.4; Efron, *The
    efficiency of logistic regression compared to normal discriminant analysis*, Journal of the American Statistical
    Association 70 (1975); Ledoit and Wolf, *A well-conditioned estimator for large-dimensional covariance matrices*,
    Journal of Multivariate Analysis 88 (2004).

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from anbexact import AdditiveClassifier, NaiveBayesClassifier
    >>> from anbexact.classifiers import LinearClassifier
    >>> from anbexact.datasets import load_iris
    >>> X, y = load_iris()
    >>> for model in (AdditiveClassifier(NaiveBayesClassifier()), LinearClassifier()):
    ...     print(round(cross_val_score(model, X, y, scoring="neg_log_loss").mean(), 2))
    -0.07
    -0.05
    """

    model_: LinearModel
    model_type = LinearModel
    automatic_rule = "quantiles"

    def check_parameters(self) -> None:
        """Refuse invalid parameters."""
        super().check_parameters()
        if not _is_auto(self.l2) and not (_is_number(self.l2) and 0 < float(self.l2) < inf):
            raise ValueError(f"l2 must be 'auto' or a finite number above 0, not {self.l2!r}")
        if not _is_auto(self.centre) and not (_is_number(self.centre) and 0 <= float(self.centre) <= 1):
            raise ValueError(f"centre must be 'auto' or a number from 0 to 1, not {self.centre!r}")

    def _learn_model(self, read: TrainingColumns) -> LinearModel:
        table, cut_points = read.discretised(
            QuantileDiscretizer(INTERVALS) if _is_auto(self.discretizer) else self.discretizer
        )
        precisions = PRECISIONS if _is_auto(self.l2) else (float(self.l2),)
        centres = CENTRES if _is_auto(self.centre) else (float(self.centre),)
        model, chosen = learn_linear(table, cut_points, precisions, centres)
        if len(table.weights) >= LEAST_ROWS_COMPARED:
            n_features = max(sum(table.vocabulary.arity(name) > 1 for name in table.vocabulary.features), 1)
            warn_if_worse(chosen.log_loss, chosen.of_frequencies, too_few(table, n_features))
        return model

    @property
    def l2_(self) -> float:
        """λ."""
        return self.model_.l2

    @property
    def centre_(self) -> float:
        """S."""
        return self.model_.centre

    def _unfitted_again(self, rows: FitRows) -> DiscreteClassifier:
        return cast(DiscreteClassifier, clone(self).set_params(l2=self.l2_, centre=self.centre_))

    def to_logit(self) -> LogitModel:
        """Return the equivalent logistic regression on the states; see :func:`anbexact.adapters.to_logit`.

        It has the same posterior of complete rows. Missing cells are summed out under the naive Bayes network with
        this posterior, ``to_logit().to_network()``, in which features are independent given the class.

        Raises
        ------
        ValueError
            If a table of this network would hold a probability that is too small for a float.
        """
        from anbexact.classifiers.fixed import FixedStructureClassifier

        check_is_fitted(self)
        given = {name: getattr(self, name) for name in signature(TableParameters).parameters}
        names = getattr(self, "feature_names_in_", None)
        return FixedStructureClassifier.from_network(
            self.model_.to_network(), feature_names=names, **given
        ).to_logit()

    def explain(self, X: Any, *, label: Any = None, against: Any = None) -> Explanations:
        """Return, per row, what each feature adds to the log odds of one class against another.

        See :meth:`anbexact.NetworkClassifier.explain`.
        """
        check_is_fitted(self)
        return self.model_.explain(self.reader_.rows(X), label, against)


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == AUTO


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
