"""The common base of the conformal classifiers: their parameters, and sets from p-values."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.warn import warn
from anbexact._runtime.whole import WholeParameters
from anbexact.conformal.ranks import EQUAL_WITHIN, METHODS, Rank
from anbexact.conformal.sets import ConformalSets, sets_at
from anbexact.tables.prediction import check_choice


class ConformalClassifier(ClassifierMixin, WholeParameters):  # type: ignore[misc]  # scikit-learn is not typed
    """A classifier that also returns sets of classes. Subclasses define the rows among which a new row is ranked."""

    estimator_: Any
    method: str
    by_class: bool
    smoothed: bool
    random_state: int | None

    @abstractmethod
    def _ranks(self, X: Any) -> list[list[Rank]]:
        """Return the rank of every row for each class that it may have."""

    @abstractmethod
    def _n_others(self) -> int:
        """Return the maximum number of rows among which a new row is ranked."""

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, sorted; the columns of all results."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.classes_)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row, as predicted by the classifier behind the sets."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict(X))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return P(class | row), shape (rows, classes), as predicted by the classifier behind the sets."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X))

    def p_values(self, X: Any) -> pd.DataFrame:
        """Return the p-value of every class for every row: the share of rows that conform no better than this one.

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
        ranks = self._ranks(X)
        uniforms = np.random.default_rng(self.random_state).random(len(ranks)).tolist()
        values = [
            [rank.p_value(uniform if self.smoothed else None) for rank in row]
            for row, uniform in zip(ranks, uniforms, strict=True)
        ]
        index = X.index if isinstance(X, pd.DataFrame) else None
        found = np.array(values, dtype=np.float64).reshape(len(ranks), len(self.classes_))
        return pd.DataFrame(found, columns=pd.Index(self.classes_), index=index)

    def predict_set(self, X: Any, *, confidence: float = 0.9, allow_empty: bool = True) -> ConformalSets:
        """Return a set of classes for every row.

        Parameters
        ----------
        X : table
            The features, as for ``predict``.
        confidence : float, default 0.9
            Minimum probability that the set of a new row contains its class.
        allow_empty : bool, default True
            Whether a set can be empty, which means that the row is unlike the others whatever its class. If not, such
            a row gets the class with the highest p-value.

        Returns
        -------
        ConformalSets

        Raises
        ------
        ValueError
            If ``confidence`` is not between 0 and 1.
        """
        found = sets_at(self.p_values(X), confidence, allow_empty=allow_empty)
        n = self._n_others()
        if (n + 1) * (1 - found.confidence) < 1 - EQUAL_WITHIN and len(found.sets) and found.sets.all(axis=None):
            warn(
                f"every set contains every class: rows are ranked among {n:,} others, which can exclude a class only "
                f"up to a confidence of {n / (n + 1):.4f}, not {found.confidence:g}: lower the confidence, or use "
                "more rows"
            )
        return found

    def _check(self) -> None:
        check_choice("method", self.method, tuple(METHODS))
        for name in ("by_class", "smoothed"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, not {getattr(self, name)!r}")
