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


@pytest.mark.parametrize(("table", "classifier"), STORED)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_mlflow_models(table, classifier, tmp_path):
    pyfunc = pytest.importorskip("mlflow.pyfunc", reason="mlflow-skinny is not installed")
    from anbexact.adapters import save_mlflow

    fitted = deployed.model(table, classifier)
    save_mlflow(fitted, tmp_path / "model", metadata={"made": "here"})
    read = pyfunc.load_model(str(tmp_path / "model"))
    assert read.metadata.metadata == {"made": "here"}
    unknown = 0.0 if "handle_unknown" in deployed.TABLES[table][2] else 0.1
    for X in (deployed.TABLES[table][0].iloc[:20], deployed.rows(table, 0.1, unknown)):
        found = read.predict(X)
        assert found.columns.tolist() == ["prediction", *(f"P({label})" for label in fitted.classes_)]
        np.testing.assert_array_equal(found.iloc[:, 1:], fitted.predict_proba(X))
        assert found["prediction"].tolist() == fitted.predict(X).tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_models_are_logged_in_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    from anbexact.adapters import log_mlflow

    fitted = deployed.model("numbers", "ANB")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    try:
        with mlflow.start_run():
            logged = log_mlflow(fitted, "model")
    finally:
        mlflow.set_tracking_uri(None)
    X = deployed.TABLES["numbers"][0]
    found = pyfunc.load_model(logged.model_uri).predict(X)
    np.testing.assert_array_equal(found.iloc[:, 1:], fitted.predict_proba(X))


def test_only_classifiers_are_stored(tmp_path):
    pytest.importorskip("mlflow.pyfunc", reason="mlflow-skinny is not installed")
    from anbexact.adapters import save_mlflow

    with pytest.raises(TypeError, match="not of a str"):
        save_mlflow("model", tmp_path / "model")
