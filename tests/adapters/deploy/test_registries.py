"""MLflow and skops: what comes back predicts as what was stored."""

import contextlib
import datetime
from decimal import Decimal
from typing import get_args
from zoneinfo import ZoneInfo

import deployed
import numpy as np
import pandas as pd
import pytest

from anbexact import NaiveBayesClassifier, UniversalMeasure
from anbexact.adapters import skops_types
from anbexact.classifiers import (
    AdditiveClassifier,
    AveragedANBClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.conformal import FullConformalClassifier, SplitConformalClassifier
from anbexact.datasets import load_iris
from anbexact.models.proof import Case, Component, Duals, FewestClassParameters, Split

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


def few_rows():
    """Rows with missing cells, a column of numbers, one of dates and one of many texts."""
    rng = np.random.default_rng(3)
    y = np.array(["no", "yes"])[rng.integers(2, size=60)]
    X = pd.DataFrame(
        {
            "number": rng.normal(size=60) + (y == "yes"),
            "day": pd.date_range("2020-01-01", periods=60),
            "few": np.where(rng.random(60) < 0.8, y, "?"),
            "many": rng.choice(list("abcdefghijklmn"), 60),
        }
    )
    return X.mask(rng.random(X.shape) < 0.05), y


def of(name, **given):
    """Return a registered classifier, by its name."""
    if name == "FixedStructureClassifier":
        parents = {"class": (), **dict.fromkeys(few_rows()[0], ("class",))}
        return CLASSIFIERS[name].estimator(parents, **given)
    return CLASSIFIERS[name].estimator(**given)


MADE = {
    "missing cells by EM": lambda: TANClassifier(handle_missing="em"),
    "few parameters by EM": lambda: of("MinimalClassParametersClassifier", handle_missing="em"),
    "universal": lambda: TANClassifier(continuous="universal"),
    "levels": lambda: NaiveBayesClassifier(continuous=UniversalMeasure()),
    "hierarchical": lambda: TANClassifier(parameters="hierarchical"),
    "tree": lambda: TANClassifier(parameters="tree"),
    "one size": lambda: AveragedANBClassifier(ess=4.0, max_parents=2, draws=5),
    "graphs": lambda: AveragedANBClassifier(prior="graphs"),
    "additive": AdditiveClassifier,
    "refit": lambda: RefittedClassifier(TANClassifier()),
    "refit of few parameters": lambda: RefittedClassifier(of("MinimalClassParametersClassifier")),
    "pool of shapes and averages": lambda: PooledClassifier(
        [("additive", AdditiveClassifier()), ("average", of("AveragedTANClassifier")), ("AODE", of("AODEClassifier"))]
    ),
}
"""Further classifiers, and forms of those that are registered."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in ("PooledClassifier", "AutoClassifier")))
        for name in [*CLASSIFIERS, *MADE]
    ],
)
def test_skops_reads_every_classifier(name):
    """Also after it has answered questions, whose answers it may keep."""
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    X, y = few_rows()
    model = (MADE[name]() if name in MADE else of(name)).fit(X, y)
    for question in (lambda: model.explain(X.iloc[:3]), lambda: model.to_logit().terms, lambda: model.logit_.terms):
        with contextlib.suppress(AttributeError, TypeError, ValueError):
            question()
    expected = model.predict_proba(X)
    model._repr_html_()
    data = io.dumps(model)
    assert set(io.get_untrusted_types(data=data)) <= set(skops_types())
    read = io.loads(data, trusted=skops_types())
    np.testing.assert_array_equal(read.predict_proba(X), expected)
    assert type(read) is type(model)
    assert getattr(read, "vocabulary_", None) == getattr(model, "vocabulary_", None)
    if hasattr(model, "members_"):
        pd.testing.assert_frame_equal(read.members_, model.members_)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [FullConformalClassifier(), SplitConformalClassifier(TANClassifier())],
    ids=lambda model: type(model).__name__,
)
def test_skops_reads_classifiers_that_predict_sets(model):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    X, y = few_rows()
    X = X.drop(columns="day").fillna({"number": 0.0, "few": "?", "many": "a"})
    expected = model.fit(X, y).predict_set(X)
    read = io.loads(io.dumps(model), trusted=skops_types())
    pd.testing.assert_frame_equal(read.predict_set(X).p_values, expected.p_values)


@pytest.mark.parametrize("case", get_args(Case), ids=lambda case: case.__name__)
def test_skops_reads_proofs(case):
    """Those of many features, too, which no quick search writes."""
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    duals = Duals(((("a", "b"), 1, 0.5),))
    made = {Duals: duals, Split: Split("a", "b", duals, Duals(())), FewestClassParameters: FewestClassParameters(3)}
    proof = Component(("a", "b"), -1.5, made.get(case) or case())
    assert io.loads(io.dumps(proof), trusted=skops_types()) == proof


STATES = {
    "date": datetime.date(2020, 1, 2),
    "datetime": datetime.datetime(2020, 1, 2, 3),
    "offset": datetime.datetime(2020, 1, 2, 3, tzinfo=datetime.UTC),
    "zone": datetime.datetime(2020, 1, 2, 3, tzinfo=ZoneInfo("Europe/Zurich")),
    "time": datetime.time(3),
    "duration": datetime.timedelta(3),
    "decimal": Decimal("1.5"),
    "tuple": (1, "a"),
    "bytes": b"a",
    "flag": True,
}


@pytest.mark.parametrize("kind", STATES)
def test_skops_reads_states_of_all_kinds(kind):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    X = pd.DataFrame({"a": pd.Series([STATES[kind], None] * 20, dtype=object), "b": list("xyzz") * 10})
    fitted = NaiveBayesClassifier().fit(X, ["no", "yes"] * 20)
    read = io.loads(io.dumps(fitted), trusted=skops_types())
    assert read.vocabulary_ == fitted.vocabulary_
    np.testing.assert_array_equal(read.predict_proba(X), fitted.predict_proba(X))


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
@pytest.mark.real("mlflow")
@pytest.mark.filterwarnings("ignore")
def test_mlflow_models(table, classifier, tmp_path):
    from mlflow import pyfunc

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
@pytest.mark.real("mlflow")
@pytest.mark.filterwarnings("ignore")
def test_models_are_logged_in_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow
    from mlflow import pyfunc

    from anbexact.adapters import log_mlflow

    fitted = deployed.model("numbers", "ANB")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    try:
        with mlflow.start_run():
            logged = log_mlflow(fitted, "model")
        read = pyfunc.load_model(logged.model_uri)  # the server is asked where the model is
    finally:
        mlflow.set_tracking_uri(None)
    X = deployed.TABLES["numbers"][0]
    found = read.predict(X)
    np.testing.assert_array_equal(found.iloc[:, 1:], fitted.predict_proba(X))


@pytest.mark.real("mlflow")
def test_only_classifiers_are_stored(tmp_path):
    from anbexact.adapters import save_mlflow

    with pytest.raises(TypeError, match="not from a str"):
        save_mlflow("model", tmp_path / "model")
