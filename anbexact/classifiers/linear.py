"""Linear logistic regression: a classifier between maximum likelihood and linear discriminant analysis."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, cast

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from anbexact.classifiers.choosing.frequencies import LEAST_ROWS_COMPARED, too_few, warn_if_worse
from anbexact.classifiers.discrete import DiscreteClassifier, FitRows
from anbexact.classifiers.parameters import TableParameters, is_auto, is_number, parameter_group
from anbexact.classifiers.registry import register_classifier
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.models.linear.fit import CENTRES, PRECISIONS, learn_linear
from anbexact.models.linear.model import LinearModel
from anbexact.models.network.explanation import Explanations
from anbexact.tables.cuts.quantiles import QuantileDiscretizer
from anbexact.tables.training import TrainingColumns

if TYPE_CHECKING:
    from anbexact.models.logit.model import LogitModel

MOST_L2 = 1e9
"""Largest precision of the prior; far above it, rounding errors would count as rows."""


@parameter_group
class LinearParameters(TableParameters):
    """The precision of the prior of the coefficients, and its centre."""

    l2: float | str = "auto"
    centre: float | str = "auto"


@register_classifier("linear", "linear logistic regression")
class LinearClassifier(LinearParameters, TableClassifier):
    """Linear logistic regression, drawn towards linear discriminant analysis.

    ``ln P(c | x) = b_c + w_c · z(x) + constant``, where the vector z(x) has the values of the states of all features.
    A feature whose states are intervals or numbers contributes one value: the place of the state in their order. That
    of an interval is the mean of its mid-rank and its middle, so that outliers count little
    (:func:`~anbexact.models.kernel.distances.distances_of`). It also contributes an indicator if missing cells are a
    state. Any other feature with k states contributes k - 1 contrasts of these, even if its dtype is an ordered
    category. The coefficients maximise

        Σ_t v_t ln P(c_t | x_t) - λ/2 Σ_c [(w_c - s m_c)' S (w_c - s m_c) + d_c² / 101],

    for rows of weight v_t, with coefficients that add up to 0 over the classes. S is the covariance of the values
    within the classes, shrunk by the rule of Ledoit and Wolf, as if there were one more row of spherical scatter.
    ``m_c = S⁻¹ (mean of class c)`` are the coefficients of linear discriminant analysis by the places alone, of
    features with three states or more in an order; those of all other values are 0. d_c is the difference of b_c and
    the constant of this centre, ``ln π_c - s m_c' S m_c / 2``, where π_c is the share of class c. With s = 0, this is
    a logistic regression with a Gaussian prior; with s = 1 and a large λ, it is linear discriminant analysis, which
    needs fewer rows where the classes are about normal with the same covariance. λ and s are chosen by
    cross-validation.

    Where log odds are close to linear in the features, and rows are few, this predicts better than networks and
    additive models with smooth effects, which need rows to find that out. Missing cells are summed out as if the
    values of a class had a normal distribution with the covariance S
    (:class:`~anbexact.models.linear.model.LinearModel`); the observed cells say what can be expected in their place.
    :meth:`to_logit` returns the same posterior of complete rows as a logistic regression on the states, and
    ``to_logit().to_classifier()`` as a naive Bayes network.

    With v values of all features, a fit takes time in proportion to v³, and memory and files for v² numbers. Rows to
    be predicted take as much time once for every combination of features that are missing together.

    Parameters
    ----------
    discretizer : "auto", name, None or transformer
        As in :class:`~anbexact.NetworkClassifier`, but ``"auto"`` stands for 64 intervals of about equal weight, or
        for one interval per value if there are fewer values.
    l2 : float or "auto", default "auto"
        λ, above 0 and at most 1e9, in units of row weight. ``"auto"`` chooses from 0.01, 0.1, 1, 10 and 100 by
        five-fold cross-validation, jointly with s. If no row can be held out, it is 100, and s is 0.
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
        if not is_auto(self.l2) and not (is_number(self.l2) and 0 < float(self.l2) <= MOST_L2):
            raise ValueError(f"l2 must be 'auto' or a number above 0 and at most {MOST_L2:g}, not {self.l2!r}")
        if not is_auto(self.centre) and not (is_number(self.centre) and 0 <= float(self.centre) <= 1):
            raise ValueError(f"centre must be 'auto' or a number from 0 to 1, not {self.centre!r}")

    def _learn_model(self, read: TrainingColumns) -> LinearModel:
        table, cut_points = read.discretised(QuantileDiscretizer() if is_auto(self.discretizer) else self.discretizer)
        precisions = PRECISIONS if is_auto(self.l2) else (float(self.l2),)
        centres = CENTRES if is_auto(self.centre) else (float(self.centre),)
        model, chosen = learn_linear(table, cut_points, precisions, centres, self.progress())
        if len(table.weights) >= LEAST_ROWS_COMPARED:
            n_features = max(sum(table.vocabulary.arity(name) > 1 for name in table.vocabulary.features), 1)
            warn_if_worse(chosen.log_loss, chosen.of_frequencies, too_few(table, n_features))
        return model

    @property
    def l2_(self) -> float:
        """The precision of the prior, λ."""
        return self.model_.l2

    @property
    def centre_(self) -> float:
        """S."""
        return self.model_.centre

    def _unfitted_again(self, rows: FitRows) -> DiscreteClassifier:
        return cast(DiscreteClassifier, clone(self).set_params(l2=self.l2_, centre=self.centre_))

    def to_logit(self) -> LogitModel:
        """Return the logistic regression on the states with this posterior; see :func:`anbexact.adapters.to_logit`.

        It is for complete rows. It sums missing cells out under the naive Bayes network with this posterior,
        ``to_logit().to_network()``, in which features are independent given the class. What this network says of
        incomplete rows, and of the class when nothing is known, can be far from what this classifier says.

        Raises
        ------
        ValueError
            If a table of this network would hold a probability that is too small for a float.
        """
        from anbexact.classifiers.fixed import FixedStructureClassifier
        from anbexact.models.logit.model import LogitModel

        check_is_fitted(self)
        given = {name: getattr(self, name) for name in signature(TableParameters).parameters}
        names = getattr(self, "feature_names_in_", None)
        found = FixedStructureClassifier.from_network(
            self.model_.to_network(), feature_names=names, **given
        ).to_logit()
        return LogitModel(found.network, found.origin, found.potentials, given=True)

    def explain(self, X: Any, *, label: Any = None, against: Any = None) -> Explanations:
        """Return, per row, what each feature adds to the log odds of one class against another.

        See :meth:`anbexact.NetworkClassifier.explain`.
        """
        check_is_fitted(self)
        return self.model_.explain(self.reader_.rows(X), label, against)
