"""Which model a comparison recommends: by hand on made losses, and what it says."""

import pickle
from math import inf, nan, sqrt

import numpy as np
import pandas as pd
import pytest

from anbexact.compare import Comparison, compare
from anbexact.compare.losses import Losses, mean_with_error
from anbexact.compare.recommendation import recommend
from anbexact.datasets import load_iris, load_monks


def made(losses, parameters, weights=None, rows=0.0):
    n = len(next(iter(losses.values())))
    weights = np.ones(n) if weights is None else np.array(weights, dtype=float)
    frame = pd.DataFrame({"parameters": parameters, "rows_to_read": rows, "fit_seconds": 0.5}, index=list(losses))
    of_rows = {name: Losses(np.array(of, dtype=float), weights) for name, of in losses.items()}
    return recommend(frame, of_rows)


def test_standard_error_by_hand():
    mean, error = mean_with_error(np.array([1.0, 2.0, 6.0]), np.array([1.0, 1.0, 2.0]))
    assert mean == pytest.approx((1 + 2 + 12) / 4)
    assert error == pytest.approx(sqrt((1 - 3.75) ** 2 + (2 - 3.75) ** 2 + 4 * (6 - 3.75) ** 2) / 4)
    assert mean_with_error(np.array([1.0, inf]), np.ones(2)) == (inf, inf)


def test_the_simplest_within_one_standard_error():
    best, close, far = [0.1, 0.2, 0.3, 0.4], [0.3, 0.1, 0.2, 0.5], [0.6, 0.7, 0.8, 0.9]
    found = made({"best": best, "far": far, "close": close}, [50, 2, 10])
    assert (found.model, found.best, found.others) == ("close", "best", ("best",))
    differences = np.array(close) - best
    assert found.difference == pytest.approx(differences.mean())
    assert found.difference_se == pytest.approx(differences.std() / 2)
    assert found.log_loss == pytest.approx(np.mean(close))
    assert found.parameters == 10
    assert "the simplest model within one standard error" in str(found)
    assert "best has the lowest, by" in str(found)


def test_the_best_where_nothing_simpler_is_close():
    found = made({"best": [0.1, 0.2], "far": [0.5, 0.6], "large": [0.05, 0.27]}, [5, 1, nan])
    assert (found.model, found.difference, found.others) == ("best", 0.0, ("large",))
    assert "which has the lowest log loss" in str(found)
    assert "not simpler: large" in str(found)
    assert "No other model" in str(made({"best": [0.1, 0.2], "far": [0.5, 0.6]}, [5, 1]))


@pytest.mark.parametrize(("rows", "simplest"), [([0, 0, 0], "few"), ([4, 40, 1], "tables"), ([nan, 40, 1], "few")])
def test_what_is_simple_are_few_parameters_in_few_rows_whatever_their_names(rows, simplest):
    close = {"tables": [0.3, 0.1, 0.2, 0.5], "few": [0.1, 0.2, 0.3, 0.4], "far": [0.9, 0.9, 0.9, 0.9]}
    found = made(close, [9, 5, 1], rows=rows)
    assert found.model == simplest
    assert str(found).count("5 parameters in 40 rows") == (simplest == "few" and rows[1] == 40)


def test_class_frequencies_warn():
    found = made({"NB": [0.7, 0.6, 0.8], "class frequencies": [0.69, 0.69, 0.69]}, [9, 1])
    assert found.model == "class frequencies"
    assert "None is better than the class frequencies" in str(found)


def test_impossible_rows_and_nothing_at_all():
    assert made({"zero": [inf, 0.1], "NB": [0.5, 0.6]}, [1, 2]).model == "NB"
    assert made({"zero": [inf, 0.1]}, [1]) is None


def test_comparisons_have_one():
    X, y = load_monks(1)
    frame = compare(X, y, folds=2, models=["NB", "ANB"], refit=False)
    assert isinstance(frame, Comparison)
    assert frame.recommendation.model == "ANB"
    assert frame.recommendation.log_loss == pytest.approx(frame.loc["ANB", "log_loss"])
    assert type(frame[["accuracy"]]) is pd.DataFrame
    assert pickle.loads(pickle.dumps(frame)).recommendation == frame.recommendation
    weighted = compare(X, y, sample_weight=np.arange(len(y)) % 3, folds=2, models=["NB"], refit=False)
    assert weighted.recommendation.log_loss == pytest.approx(weighted.loc["NB", "log_loss"])


@pytest.mark.slow
def test_pools_are_compared_by_name():
    X, y = load_iris()
    frame = compare(X, y, folds=2, models=["pool", "NB"])
    assert list(frame.index) == ["pool", "NB", "NB refitted"]
    assert frame.loc["pool", "parameters"] > 20
    assert frame.loc["pool", "log_loss"] < frame.loc["NB", "log_loss"]
