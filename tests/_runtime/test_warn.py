"""Warnings point at the caller's line, and are not repeated within one cross-validation."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from anbexact import NaiveBayesClassifier
from anbexact._runtime.warn import warn


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 3, 100).astype(float), "b": rng.integers(0, 2, 100)})
    X.loc[::10, "a"] = np.nan
    return X, rng.integers(0, 2, 100)


def heard(caught):
    return [warning for warning in caught if "left out of training" in str(warning.message)]


def test_they_point_at_the_callers_line(table):
    with pytest.warns(UserWarning, match="left out of training") as caught:
        NaiveBayesClassifier(handle_missing="marginalize").fit(*table)
    assert {warning.filename for warning in heard(caught)} == {__file__}


@pytest.mark.parametrize(("action", "least", "most"), [("default", 1, 1), ("always", 16, 16)])
def test_they_come_once_in_a_grid_search(table, action, least, most):
    search = GridSearchCV(NaiveBayesClassifier(handle_missing="marginalize"), {"ess": [1.0, 2.0, 3.0]}, cv=5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        search.fit(*table)
    assert least <= len(heard(caught)) <= most
    assert {warning.filename for warning in heard(caught)} == {__file__}


def test_other_columns_and_other_numbers_of_rows_are_no_other_warning():
    """The parts of a search lose other rows, most of them in other columns, and find other identifiers."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 240)
    X = pd.DataFrame({name: rng.normal(size=240) + y for name in ("age", "weight", "pulse", "Größe d'or")})
    for name, rows in zip(X, ([0], [60, 61], [120, 121, 122], [180, 181]), strict=True):
        X.loc[rows, name] = np.nan
    X["key"], X["ticket"] = [f"k{k}" for k in range(240)], [f"t{k % 236}" for k in range(240)]
    search = GridSearchCV(NaiveBayesClassifier(handle_missing="marginalize"), {"ess": [1.0, 2.0]}, cv=KFold(4))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        search.fit(X, y)
    assert len(heard(caught)) == 1
    assert len(caught) == 2


def test_other_warnings_are_heard_within_a_search():
    ours = {"__name__": "anbexact.somewhere", "warn": warn}
    texts = ["column 'a' has 1 gap", "column 'b' has 2 gaps (of 3)", "column 'c' has 1 gap (of 3)", "it failed"]
    exec(f"def tell(X):\n    for text in {texts}:\n        warn(text)\n    return X", ours)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        model = make_pipeline(FunctionTransformer(ours["tell"]), DummyClassifier())
        cross_val_score(model, np.zeros((20, 1)), [0, 1] * 10, cv=3)
    assert [str(warning.message) for warning in caught] == [texts[0], texts[1], texts[3]]


def test_calls_of_ones_own_are_all_heard():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            warn("of 1 row")
    assert len(caught) == 2
