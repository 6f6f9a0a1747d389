"""The scorer of the standard library: it says what the classifier says, and names are never code."""

import ast
import csv
import datetime
import io
import json
import math
import runpy
import subprocess
import sys

import deployed
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from anbexact import (
    NaiveBayesClassifier,
    PooledClassifier,
    TANClassifier,
    UniversalMeasure,
)
from anbexact.adapters import to_python
from anbexact.adapters.deploy import scorer_source
from anbexact.adapters.deploy.python_scorer import python_source
from anbexact.adapters.deploy.scoring_form import scoring_form
from anbexact.classifiers.aode import AODEClassifier
from anbexact.datasets import load_monks


@pytest.fixture
def scorer(tmp_path):
    def make(fitted):
        to_python(fitted, tmp_path / "scorer.py")
        return runpy.run_path(str(tmp_path / "scorer.py"))

    return make


def scored(scorer, X):
    return np.array([list(scorer["predict_proba"](row).values()) for row in X.to_dict("records")])


@pytest.mark.parametrize(("table", "classifier"), deployed.MODELS)
def test_the_probabilities_are_those_of_the_classifier(table, classifier, scorer):
    fitted = deployed.model(table, classifier)
    made = scorer(fitted)
    refuses = "handle_unknown" in deployed.TABLES[table][2]
    for gaps, unknown in ((0, 0), (0.3, 0), (0.2, 0 if refuses else 0.2)):
        X = deployed.rows(table, gaps, unknown)
        expected = deployed.expected(fitted, X)
        np.testing.assert_allclose(scored(made, X), expected, atol=1e-12)
        assert list(made["predict_proba"](X.iloc[0].to_dict())) == fitted.classes_.tolist()
        labels = [made["predict"](row) for row in X.to_dict("records")]
        assert labels == fitted.classes_[expected.argmax(axis=1)].tolist()


@pytest.mark.parametrize("table", ["numbers", "mixed", "gaps"])
def test_cut_points_part_numbers_exactly(table, scorer):
    fitted = deployed.model(table, "TAN")
    made = scorer(fitted)
    X = deployed.rows(table)
    for name, cuts in fitted.cut_points_.items():
        for cut in cuts.tolist():
            near = X.iloc[[0, 0, 0]].copy()
            near[name] = [np.nextafter(cut, -np.inf), cut, np.nextafter(cut, np.inf)]
            np.testing.assert_allclose(scored(made, near), fitted.predict_proba(near), atol=1e-12)


@pytest.mark.parametrize(("table", "classifier"), deployed.MODELS[:: len(deployed.CLASSIFIERS)])
def test_the_file_differs_from_the_source_in_one_constant(table, classifier):
    text = python_source(scoring_form(deployed.model(table, classifier), "to_python"))
    assert text.isascii()
    tree = ast.parse(text, feature_version=(3, 8))
    with open(scorer_source.__file__, encoding="utf-8") as file:
        source = ast.parse(file.read())
    models = [node for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "MODEL"]
    assert len(models) == 1
    assert isinstance(models[0].value, ast.Constant)
    assert [column["name"] for column in json.loads(models[0].value.value)["columns"]] == list(
        deployed.TABLES[table][0].columns
    )
    models[0].value = ast.Constant("")
    assert ast.dump(tree) == ast.dump(source)


def test_the_source_imports_the_standard_library_alone():
    with open(scorer_source.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    found = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    found += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert found
    assert set(found) <= sys.stdlib_module_names


@pytest.mark.parametrize(("table", "classifier"), [("numbers", "TAN"), ("mixed", "refitted ANB"), ("hostile", "ANB")])
def test_the_command_line_scores_a_table(table, classifier, scorer, tmp_path, capsys):
    fitted = deployed.model(table, classifier)
    X = deployed.rows(table, 0.2)
    X.insert(0, "number", range(len(X)))
    X.to_csv(tmp_path / "rows.csv", index=False)
    made = scorer(fitted)
    assert made["main"]([str(tmp_path / "rows.csv")]) == 0
    read = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    first = X.shape[1]
    assert read[0] == [*X.columns, "prediction", *(f"P({label})" for label in fitted.classes_)]
    read_back = X.drop(columns="number")
    for name in read_back.columns:
        if "" in fitted.vocabulary_.states[name]:  # then an empty cell is this state
            read_back[name] = read_back[name].fillna("")
    expected = deployed.expected(fitted, read_back)
    np.testing.assert_allclose(np.array([row[first + 1 :] for row in read[1:]], dtype=float), expected, atol=1e-12)
    assert [row[first] for row in read[1:]] == [str(label) for label in fitted.classes_[expected.argmax(axis=1)]]
    assert [row[0] for row in read[1:]] == [str(number) for number in range(len(X))]


def test_the_command_line_says_what_is_wrong(scorer, tmp_path, capsys):
    made = scorer(deployed.model("marginalised", "TAN"))
    for text, what in (
        ("cut,whole\n1,2\n", "no column 'cut \"2\"'"),
        ('whole,cut,"cut ""2""",tenths\n77,1,1,0.1\n', "77"),
    ):
        (tmp_path / "rows.csv").write_text(text)
        with pytest.raises(SystemExit, match="2"):
            made["main"]([str(tmp_path / "rows.csv")])
        assert what in capsys.readouterr().err


def test_pipes_of_a_narrow_encoding_carry_every_character(scorer, monkeypatch):
    X = pd.DataFrame({"Größe ł": ["Łódź", "мир", "Łódź", "мир"]})
    made = scorer(TANClassifier().fit(X, ["да", "нет", "да", "нет"]))
    piped = io.BytesIO("Größe ł\nŁódź\nмир\n".encode("utf-8-sig"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(piped, encoding="cp1252"))
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="cp1252"))
    assert made["main"](["-"]) == 0
    sys.stdout.flush()
    rows = list(csv.reader(sys.stdout.buffer.getvalue().decode("utf-8").splitlines()))
    assert [row[:2] for row in rows] == [["Größe ł", "prediction"], ["Łódź", "да"], ["мир", "нет"]]


@pytest.mark.slow
def test_the_file_runs_without_any_other_package(tmp_path):
    X, y = load_monks(1)
    to_python(TANClassifier().fit(X, y), tmp_path / "scorer.py")
    X.iloc[:5].to_csv(tmp_path / "rows.csv", index=False)
    command = [sys.executable, "-I", "-S", "scorer.py", "rows.csv"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len(run.stdout.splitlines()) == 6


def test_what_the_classifier_refuses_is_refused(scorer):
    made = scorer(deployed.model("marginalised", "TAN"))
    row = deployed.rows("marginalised").iloc[0].to_dict()
    for change, message in (
        ({"whole": 77}, "column 'whole': 77 is not a state"),
        ({"whole": [1]}, "is not a state"),
        ({"cut": "tall"}, "column 'cut': 'tall' is not a number"),
        ({"hole": 1}, "'hole' is not a feature"),
    ):
        with pytest.raises(ValueError, match=message):
            made["predict_proba"]({**row, **change})
    X, y = load_monks(1)
    strict = scorer(TANClassifier(handle_missing="error").fit(X, y))
    with pytest.raises(ValueError, match="the cell is missing"):
        strict["predict_proba"]({**X.iloc[0].to_dict(), "holding": float("nan")})


def test_a_pool_is_its_logistic_regression(scorer):
    X, y = load_monks(1)
    pool = PooledClassifier([NaiveBayesClassifier(ess=1.0), TANClassifier(ess=1.0)], ridge=np.inf).fit(X, y)
    np.testing.assert_allclose(scored(scorer(pool), X.iloc[:50]), pool.predict_proba(X.iloc[:50]), atol=1e-12)


def test_an_impossible_row_has_no_probabilities(scorer):
    X = pd.DataFrame({"a": ["u", "u", "v", "v"], "b": ["p", "p", "q", "q"]})
    with pytest.warns(UserWarning, match="no maximum likelihood estimate"):
        fitted = TANClassifier(parameters="ml").fit(X, ["x", "x", "y", "y"])
    made = scorer(fitted)
    assert made["predict_proba"]({"a": "u"}) == {"x": 1.0, "y": 0.0}
    assert all(map(math.isnan, made["predict_proba"]({"a": "u", "b": "q"}).values()))
    assert made["predict"]({"a": "u", "b": "q"}) == "x"


def refused():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"a": rng.normal(size=60), "b": rng.integers(2, size=60)}), rng.integers(2, size=60)
    dates = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=60), "b": X["b"]})
    days = pd.DataFrame({"day": [datetime.date(2024, 1, 1 + k % 2) for k in range(60)], "b": X["b"]})
    labels = np.array([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], dtype=object)[y]
    return [
        (NaiveBayesClassifier(), X, y, NotFittedError, "not fitted"),
        (AODEClassifier(), X, y, TypeError, "AODEClassifier"),
        (PooledClassifier([NaiveBayesClassifier(), AODEClassifier()], ridge=np.inf), X, y, TypeError, "AODE"),
        (
            NaiveBayesClassifier(continuous=UniversalMeasure()),
            X,
            y,
            ValueError,
            r"universal measures.*to_discrete\(\)",
        ),
        (NaiveBayesClassifier(), dates, y, ValueError, "'when', which holds datetimes"),
        (NaiveBayesClassifier(), days, y, (TypeError, ValueError), "'day'"),
        (NaiveBayesClassifier(), X[["b"]].set_axis([("b", 1)], axis=1), y, TypeError, r"\('b', 1\)"),
        (NaiveBayesClassifier(), X, labels, TypeError, "the class"),
        ("a", X, y, TypeError, "not a str"),
    ]


@pytest.mark.parametrize("case", range(len(refused())))
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_carried_is_named(case, tmp_path):
    classifier, X, y, error, message = refused()[case]
    fitted = classifier if error is NotFittedError or isinstance(classifier, str) else classifier.fit(X, y)
    with pytest.raises(error, match=message):
        to_python(fitted, tmp_path / "scorer.py")
    assert not (tmp_path / "scorer.py").exists()


def test_names_that_are_the_same_text_are_refused(tmp_path):
    X = pd.DataFrame({1: ["a", "b"] * 9, "1": ["a", "a", "b"] * 6})
    with pytest.raises(
        ValueError, match="to_python writes column names as text, and columns 1 and '1' would have the same"
    ):
        to_python(NaiveBayesClassifier(ess=1.0).fit(X, ["x", "y"] * 9), tmp_path / "scorer.py")
