"""What all classifiers share: names and states, the score, and saving."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from anbexact._runtime.warn import warn
from anbexact.classifiers.deciding import Deciding
from anbexact.classifiers.documentation import complete_docstring
from anbexact.classifiers.parameters import named_constructor
from anbexact.discretize import Cuts
from anbexact.inputs.labels import read_labels
from anbexact.inputs.reader import Reader
from anbexact.tables.table import check_weights
from anbexact.tables.vocabulary import Groups, Vocabulary


class DiscreteClassifier(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]  # likewise
    Deciding,
    metaclass=ABCMeta,
):
    """A classifier of rows of discrete states; continuous columns are cut. Subclasses define the model."""

    classes_: npt.NDArray[Any]
    n_features_in_: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give every estimator a constructor that goes by its own name, whatever group its parameters come from."""
        super().__init_subclass__(**kwargs)
        if "__init__" not in vars(cls):
            cls.__init__ = named_constructor(cls)  # type: ignore[method-assign]  # on purpose: its own name, same parameters
        complete_docstring(cls)

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of a table."""

    @abstractmethod
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row, shape (rows,); the first of equally probable ones."""

    @abstractmethod
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return P(class | row), shape (rows, classes), columns as in ``classes_``."""

    @abstractmethod
    def query(self, evidence: Mapping[Hashable, Any] | None = None, /, **values: Any) -> pd.Series[float]:
        """Return P(class | some cells), the others being summed out."""

    @property
    @abstractmethod
    def reader_(self) -> Reader:
        """How frames are read."""

    @property
    @abstractmethod
    def vocabulary_(self) -> Vocabulary:
        """Names and states of all variables."""

    @property
    @abstractmethod
    def cut_points_(self) -> dict[Hashable, Cuts]:
        """Cut points of every column that was discretised."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; rows of a class that did not occur in ``fit`` count as errors, with a warning."""
        predicted = self.predict(X).tolist()
        check_consistent_length(predicted, y)
        weights = check_weights(sample_weight, len(predicted))
        codes, categories = read_labels(y).coded
        labels = [categories[code] if code >= 0 else None for code in codes]
        known = set(self.classes_.tolist())
        unknown = [label for label in dict.fromkeys(labels) if label not in known]
        if unknown:
            warn(
                f"y contains the class {unknown[0]!r}, which did not occur in fit "
                f"(classes: {self.classes_.tolist()}); its rows count as errors"
            )
        right = [float(ours == label) for ours, label in zip(predicted, labels, strict=True)]
        return float(np.average(right, weights=weights))

    @property
    def groups_(self) -> dict[Hashable, Groups]:
        """The groups of values of every column of categories that was grouped."""
        check_is_fitted(self)
        return dict(self.vocabulary_.groups)

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to a JSON file that :func:`anbexact.load` reads."""
        from anbexact.persistence.classifiers import save

        save(self, path)

    def _html_repr(self) -> str:
        """Return scikit-learn's display of the parameters, and below it what was learned."""
        from anbexact.displays.estimators import fitted_html

        return str(super()._html_repr()) + fitted_html(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags
