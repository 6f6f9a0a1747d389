"""MLflow and skops: what comes back predicts as what was stored."""

import deployed
import numpy as np
import pytest

from anbexact import NaiveBayesClassifier, UniversalMeasure
from anbexact.adapters import skops_types
from anbexact.datasets import load_iris

STORED = [(table, classifier) for table, classifier in deployed.MODELS if classifier != "logit"]


@pytest.mark.parametrize(("table", "classifier"), STORED)
def test_skops_needs_no_other_types(table, classifier):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    fitted = deployed.model(table, classifier)
    data = io.dumps(fitted)
    assert set(io.get_untrusted_types(data=data)) <= set(skops_types())
    read = io.loads(data, trusted=skops_types())
    X = deployed.rows(table, 0.1)
    np.testing.assert_array_equal(deployed.expected(read, X), deployed.expected(fitted, X))


def test_skops_reads_densities():
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    X, y = load_iris()
    fitted = NaiveBayesClassifier(continuous=UniversalMeasure()).fit(X, y)
    read = io.loads(io.dumps(fitted), trusted=skops_types())
    np.testing.assert_array_equal(read.predict_proba(X), fitted.predict_proba(X))


def test_the_types_can_be_imported():
    import importlib

    for name in skops_types():
        module, _, kind = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), kind), type)


@pytest.mark.parametrize(("table", "classifier"), [("numbers", "TAN"), ("mixed", "refitted TAN"), ("hostile", "ANB")])
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_mlflow_models(table, classifier, tmp_path):
    pyfunc = pytest.importorskip("mlflow.pyfunc", reason="mlflow-skinny is not installed")
    from anbexact.adapters import save_mlflow

    fitted = deployed.model(table, classifier)
    save_mlflow(fitted, tmp_path / "model", metadata={"made": "here"})
    read = pyfunc.load_model(str(tmp_path / "model"))
    assert read.metadata.metadata == {"made": "here"}
    X = deployed.TABLES[table][0].iloc[:20]
    found = read.predict(X)
    assert found.columns.tolist() == ["prediction", *(f"P({label})" for label in fitted.classes_)]
    np.testing.assert_allclose(found.iloc[:, 1:], fitted.predict_proba(X), atol=1e-12)
    assert found["prediction"].tolist() == fitted.predict(X).tolist()


def test_only_classifiers_are_stored(tmp_path):
    pytest.importorskip("mlflow.pyfunc", reason="mlflow-skinny is not installed")
    from anbexact.adapters import save_mlflow

    with pytest.raises(TypeError, match="not of a str"):
        save_mlflow("model", tmp_path / "model")
