"""Fitted classifiers as MLflow models of the flavour ``python_function``, based on the JSON files of this package."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from sklearn.utils.validation import check_is_fitted

import anbexact
from anbexact._runtime.units import with_article
from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.files.classifiers import load

__all__ = ["log_mlflow", "save_mlflow"]

FILE = "classifier.json"
"""The name of the classifier's file in the model."""


class ClassifierModel:
    """The model that the result of ``mlflow.pyfunc.load_model`` wraps.

    Parameters
    ----------
    classifier : DiscreteClassifier
        Fitted.
    """

    def __init__(self, classifier: DiscreteClassifier) -> None:
        self.classifier = classifier

    def predict(self, model_input: Any, params: Any = None) -> pd.DataFrame:
        """Return the most probable class of every row, and the probability ``P(class)`` of each class."""
        probabilities = self.classifier.predict_proba(model_input)
        labels = [f"P({label})" for label in self.classifier.classes_]
        columns = dict(zip(labels, probabilities.T, strict=True))
        index = model_input.index if isinstance(model_input, pd.DataFrame) else None
        return pd.DataFrame({"prediction": self.classifier.predict(model_input), **columns}, index=index)


def _load_pyfunc(path: str) -> ClassifierModel:
    """Return the model of a file; MLflow calls this by name."""
    classifier: Any = load(path)
    return ClassifierModel(classifier)


def save_mlflow(classifier: DiscreteClassifier, path: str | Path, **options: Any) -> None:
    """Write a fitted classifier as an MLflow model, which ``mlflow.pyfunc.load_model`` reads.

    The model contains the JSON file of the classifier's ``save``, so loading it runs only code of this package. Its
    predictions are a frame: ``prediction``, then ``P(class)`` for every class. Its signature lists the names of the
    features, if these are text, and leaves the checking of types to the classifier: MLflow's own types refuse whole
    numbers in a column of measurements, and missing cells in one of whole numbers.

    Parameters
    ----------
    classifier : classifier
        Fitted.
    path : str or Path
        A folder that does not exist yet.
    **options
        Further arguments of ``mlflow.pyfunc.save_model``, such as ``metadata``.

    Raises
    ------
    ImportError
        If MLflow is not installed: ``pip install 'anbexact[mlflow]'``.
    NotFittedError
        If the classifier is not fitted.
    """
    pyfunc = _pyfunc()
    with TemporaryDirectory() as folder:
        pyfunc.save_model(path=str(path), **_described(classifier, folder, options))


def log_mlflow(classifier: DiscreteClassifier, name: str, **options: Any) -> Any:
    """Record a fitted classifier in the active MLflow run; return what ``mlflow.pyfunc.log_model`` returns.

    Parameters
    ----------
    classifier : classifier
        Fitted.
    name : str
        The name of the model within the run.
    **options
        Further arguments of ``mlflow.pyfunc.log_model``, such as ``registered_model_name``.
    """
    pyfunc = _pyfunc()
    with TemporaryDirectory() as folder:
        return pyfunc.log_model(name=name, **_described(classifier, folder, options))


def _pyfunc() -> Any:
    """Return MLflow's module of the flavour."""
    try:
        import mlflow.pyfunc
    except ImportError as error:
        raise ImportError("MLflow models need the package mlflow-skinny: pip install 'anbexact[mlflow]'") from error
    return mlflow.pyfunc


def _described(classifier: DiscreteClassifier, folder: str, options: dict[str, Any]) -> dict[str, Any]:
    """Write a classifier to a folder, and return the description that MLflow needs."""
    if not isinstance(classifier, DiscreteClassifier):
        raise TypeError(
            f"MLflow models are made from classifiers of anbexact, not from {with_article(type(classifier).__name__)}"
        )
    check_is_fitted(classifier)
    file = Path(folder) / FILE
    classifier.save(file)
    described = {
        "loader_module": __name__,
        "data_path": str(file),
        "pip_requirements": [f"anbexact=={anbexact.__version__}"],
        "signature": _signature(classifier),
    }
    return {**described, **options}


def _signature(classifier: DiscreteClassifier) -> Any:
    """Return the names of the columns as a signature; None if one of the names is not text."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema
    from mlflow.types.schema import AnyType

    names = classifier.vocabulary_.features
    if not all(isinstance(name, str) for name in names):
        return None
    return ModelSignature(inputs=Schema([ColSpec(AnyType(), name, required=False) for name in names]))
