"""Warnings point at the caller's line, and are not repeated within one cross-validation."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

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


def test_calls_of_ones_own_are_all_heard():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            warn("of 1 row")
    assert len(caught) == 2
