"""Feature selection by Bayes factors, for scikit-learn pipelines."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.whole import WholeParameters, all_or_nothing
from anbexact.search.bayes_factor import check_thresholds, log_bayes_factors, relevant
from anbexact.tables.cuts import Cuts
from anbexact.tables.missing import check_handle_missing
from anbexact.tables.prediction import check_columns
from anbexact.tables.training import training_columns


class BayesFactorSelector(
    SelectorMixin,  # type: ignore[misc]  # scikit-learn has no types
    WholeParameters,
):
    """Select features by Bayes factors: drop those for which the data support independence of the class.

    A feature X_i is dropped if BF(C, X_i) > δ, that is, if the data are more than δ times as probable when it is
    independent of the class C than when it is not, or if it has a single state. The test is not conditioned on other
    features, because missing a relevant feature costs more than keeping an irrelevant one. See
    :func:`~anbexact.selection.log_bayes_factor`.

    Parameters
    ----------
    threshold : float, default 3.0
        The Bayes factor δ for independence above which a feature is dropped; 3, 20 and 150 are the limits of
        "positive", "strong" and "very strong" evidence (Kass and Raftery).
    ess : float, default 1.0
        Equivalent sample size of the BDeu prior.
    discretizer, categories, group_categories, handle_missing, n_jobs
        How the table is read, as for :class:`~anbexact.NetworkClassifier`. ``transform`` leaves the values as they
        are, in an array; call ``set_output(transform="pandas")``, or ``"polars"``, to keep names and types of a
        frame's columns.

    Attributes
    ----------
    log_bayes_factors_ : (features,) float64
        ln BF(C, X_i), nats; positive where independence is more probable.
    cut_points_ : dict
        Cut points of every column that was discretised.
    handle_missing_ : dict
        The rule used for every feature.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*, section 5; Kass and Raftery, Journal of the
    American Statistical Association 90 (1995).

    Examples
    --------
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.selection import BayesFactorSelector
    >>> X, y = load_monks(1)
    >>> BayesFactorSelector().fit(X, y).get_feature_names_out()
    array(['jacket_color'], dtype=object)
    """

    log_bayes_factors_: npt.NDArray[np.float64]
    cut_points_: dict[Hashable, Cuts]
    handle_missing_: dict[Hashable, str]
    _support: npt.NDArray[np.bool_]
    _features: tuple[Hashable, ...]

    def __init__(
        self,
        *,
        threshold: float = 3.0,
        ess: float = 1.0,
        discretizer: Any = "auto",
        categories: Mapping[Hashable, Sequence[Any]] | None = None,
        group_categories: int | str | None = "auto",
        handle_missing: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.threshold = threshold
        self.ess = ess
        self.discretizer = discretizer
        self.categories = categories
        self.group_categories = group_categories
        self.handle_missing = handle_missing
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compute the Bayes factor of every feature.

        Parameters
        ----------
        X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
            The features, one column each.
        y : (rows,) series, array or list
            The class of every row.
        sample_weight : (rows,) array, optional
            Real weights, zero or more.

        Raises
        ------
        TypeError, ValueError
            For input that cannot be read, or invalid parameters.
        """
        (threshold,) = check_thresholds("threshold", [self.threshold])
        check_handle_missing(self.handle_missing)
        table, self.cut_points_ = training_columns(self, X, y, sample_weight).discretised(self.discretizer)
        self._features = table.vocabulary.features
        self.handle_missing_ = table.vocabulary.missing_rules(self.handle_missing)
        self.log_bayes_factors_ = log_bayes_factors(table, ess=self.ess, n_jobs=self.n_jobs)
        self._support = relevant(table, self.log_bayes_factors_, threshold)
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns that are kept, as an array, or in the form that ``set_output`` chose.

        Parameters
        ----------
        X : table
            The features, as in ``fit``.
        """
        check_is_fitted(self)
        if getattr(X, "ndim", 2) == 2:  # scikit-learn explains what is wrong with other arrays
            check_columns(type(self).__name__, getattr(self, "feature_names_in_", None), X, self._features)
        config = getattr(self, "_sklearn_output_config", {})
        wanted = config.get("transform", get_config()["transform_output"])
        if wanted == "polars" and nw.dependencies.is_polars_dataframe(X) and self.get_support().any():
            return X[self.feature_names_in_[self._support].tolist()]
        return super().transform(X)

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        return self._support

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
