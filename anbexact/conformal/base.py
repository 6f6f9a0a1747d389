"""What the conformal classifiers share: their parameters, and sets from p-values."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.arrays import Floats
from anbexact.conformal.ranks import METHODS, Others, p_value
from anbexact.conformal.sets import ConformalSets
from anbexact.inputs.prediction import check_choice


class ConformalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """A classifier that also returns sets of classes. Subclasses define what a row is ranked among."""

    estimator_: Any
    method: str
    by_class: bool
    smoothed: bool
    random_state: int | None

    @abstractmethod
    def _p_values(self, X: Any, uniforms: npt.NDArray[np.float64] | None) -> Floats:
        """Return the p-values of all classes, shape (rows, classes); ``uniforms`` share out ties, one a row."""

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, sorted; the columns of all results."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.classes_)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row, as the classifier behind the sets predicts it."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict(X))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return P(class | row), shape (rows, classes), as the classifier behind the sets predicts it."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X))

    def p_values(self, X: Any) -> pd.DataFrame:
        """Return, for every row and class, the share of rows that conform no better than the row with that class.

        Parameters
        ----------
        X : table
            The features, as for ``predict``.

        Returns
        -------
        DataFrame
            Rows (with the index of X if it is a pandas frame) by classes.
        """
        check_is_fitted(self, "estimator_")
        uniforms = np.random.default_rng(self.random_state).random(_length(X)) if self.smoothed else None
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(self._p_values(X, uniforms), columns=pd.Index(self.classes_), index=index)

    def predict_set(self, X: Any, *, confidence: float = 0.9) -> ConformalSets:
        """Return a set of classes for every row.

        Parameters
        ----------
        X : table
            The features, as for ``predict``.
        confidence : float, default 0.9
            Probability, at least, that the set of a new row contains its class.

        Returns
        -------
        ConformalSets

        Raises
        ------
        ValueError
            If ``confidence`` is not between 0 and 1.
        """
        given: Any = confidence
        if isinstance(given, bool) or not isinstance(given, Real) or not 0 < float(given) < 1:
            raise ValueError(f"confidence must be a number between 0 and 1, not {given!r}")
        p_values = self.p_values(X)
        return ConformalSets(p_values > 1 - float(given) + 1e-12, p_values, float(given))

    def _check(self) -> None:
        check_choice("method", self.method, tuple(METHODS))
        for name in ("by_class", "smoothed"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, not {getattr(self, name)!r}")

    def _rank(self, score: float, class_: int, others: Others, uniform: float | None) -> float:
        return p_value(score, class_, others, by_class=self.by_class, uniform=uniform)


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
