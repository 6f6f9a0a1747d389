"""The example of a REST service: it predicts as the classifier, and refuses what is not in the vocabulary."""

import importlib.util
from pathlib import Path

import deployed
import pandas as pd
import pytest

from anbexact import NaiveBayesClassifier

pytest.importorskip("fastapi", reason="fastapi is not installed")
pytest.importorskip("httpx", reason="httpx is not installed")

from fastapi.testclient import TestClient


@pytest.fixture(scope="module")
def example():
    path = Path(__file__).parents[3] / "examples" / "rest_scorer.py"
    spec = importlib.util.spec_from_file_location("rest_scorer", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("table", "classifier"),
    [
        ("numbers", "TAN"),
        pytest.param("mixed", "ANB", marks=pytest.mark.slow),
        ("hostile", "refitted TAN"),
        ("words", "TAN"),
    ],
)
def test_the_service_predicts_as_the_classifier(table, classifier, example):
    fitted = deployed.model(table, classifier)
    client = TestClient(example.make_app(fitted))
    X = deployed.rows(table, 0.2)
    expected = deployed.expected(fitted, X)
    for row, probabilities in zip(X.to_dict("records"), expected, strict=True):
        own = fitted.vocabulary_.own_missing
        row = {name: cell if cell == cell else None for name, cell in row.items()}
        sent = {name: cell for name, cell in row.items() if cell is not None or name in own}
        answer = client.post("/predict", json=sent)
        assert answer.status_code == 200
        assert list(answer.json()["probabilities"].values()) == pytest.approx(probabilities.tolist(), abs=1e-12)
        assert answer.json()["prediction"] == fitted.classes_[probabilities.argmax()]


@pytest.mark.parametrize(
    "request_", [{"cut": "tall"}, {"whole": 99}, {"hole": 1}, {"cut": [1]}, {"tenths": "0.1"}, [1, 2]]
)
def test_other_values_and_names_are_refused(request_, example):
    client = TestClient(example.make_app(deployed.model("numbers", "TAN")))
    assert client.post("/predict", json=request_).status_code == 422
    assert client.post("/predict", json={}).status_code == 200
    assert client.get("/openapi.json").status_code == 200


def test_columns_of_missing_cells_alone(example):
    X = pd.DataFrame({"a": [None] * 8, "b": ["x", "y", None, "y"] * 2})
    fitted = NaiveBayesClassifier(ess=1.0, handle_missing="own_state").fit(X, [0, 1, 0, 1] * 2)
    client = TestClient(example.make_app(fitted))
    answer = client.post("/predict", json={"a": None, "b": None})
    expected = fitted.predict_proba(X.iloc[2:3])[0]
    assert list(answer.json()["probabilities"].values()) == pytest.approx(expected.tolist(), abs=1e-12)
    assert client.post("/predict", json={"b": "(missing)"}).status_code == 422
