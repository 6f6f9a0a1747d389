"""The report on features: against the formulas."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from strategies import problems

from anbexact import ANBClassifier, GBNClassifier
from anbexact.report import feature_report
from anbexact.selection import log_bayes_factors


def conditional_information(problem, x, y, given_):
    """I(X; Y | Z) of the weighted rows, nats per row."""
    total = sum(problem.weights)
    shares = {}
    for row, weight in zip(problem.rows, problem.weights, strict=True):
        key = row[x], row[y], tuple(row[z] for z in given_)
        shares[key] = shares.get(key, 0.0) + weight / total

    def share(a=None, b=None, z=None):
        return sum(p for (i, j, k), p in shares.items() if a in (None, i) and b in (None, j) and z in (None, k))

    return sum(p * math.log(p * share(z=z) / (share(a=a, z=z) * share(b=b, z=z))) for (a, b, z), p in shares.items())


@pytest.mark.parametrize("model", [ANBClassifier, GBNClassifier])
@given(problem=problems(max_features=3, min_arity=2))
def test_equals_the_formulas(model, problem):
    X, y = problem.frame()
    classifier = model(ess=2.0, categories=problem.categories).fit(X, y, sample_weight=problem.weights)
    report = feature_report(classifier, X, y, problem.weights)
    assert report["log_bayes_factor"].to_numpy() == pytest.approx(log_bayes_factors(problem.table, ess=2.0))
    structure = classifier.structure_
    number = {name: v for v, name in enumerate(problem.names)}
    for name, row in report.iterrows():
        child, parent = (name, "c") if "c" in structure.parents[name] else ("c", name)
        if parent not in structure.parents[child]:
            assert np.isnan(row["information"])
            continue
        others = [number[other] for other in structure.parents[child] if other != parent]
        expected = conditional_information(problem, number[child], number[parent], others)
        assert row["information"] == pytest.approx(expected, abs=1e-9)
    order = report.sort_values("rank")["log_bayes_factor"].to_numpy()
    assert (np.diff(order) >= -1e-8).all()
    assert report["rank"].min() == 1


def test_of_other_rows():
    X = pd.DataFrame({"a": [0, 1] * 20, "b": [0, 0, 1, 1] * 10})
    y = pd.Series([0, 1] * 20, name="c")
    classifier = ANBClassifier().fit(X, y)
    other = pd.Series([0, 0, 1, 1] * 10, name="c")
    learned, turned = feature_report(classifier, X, y), feature_report(classifier, X, other)
    assert learned["rank"].tolist() == [1, 2]
    assert turned["rank"].tolist() == [2, 1]
    assert learned.loc["a", "log_bayes_factor"] == pytest.approx(turned.loc["b", "log_bayes_factor"])


def test_equal_columns_share_a_rank():
    rng = np.random.default_rng(0)
    y = pd.Series(rng.integers(0, 2, 300), name="c")
    X = pd.DataFrame({"a": np.where(rng.random(300) < 0.2, 1 - y, y), "noise": rng.integers(0, 3, 300)})
    X["b"] = X["a"].map({0: "x", 1: "y"})
    assert feature_report(ANBClassifier().fit(X, y), X, y)["rank"].tolist() == [1, 3, 1]


def test_no_complete_row():
    X = pd.DataFrame({"a": ["x", "y"] * 5, "b": ["u", "v"] * 5})
    y = pd.Series([0, 1] * 5, name="c")
    classifier = ANBClassifier().fit(X, y)
    with (
        pytest.warns(UserWarning, match="missing feature"),
        pytest.raises(ValueError, match="no row without a missing feature"),
    ):
        feature_report(classifier, X.assign(a=None), y)
