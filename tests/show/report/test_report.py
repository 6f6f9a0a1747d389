"""The report on features: against the formulas."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.frozen import FrozenEstimator
from strategies import problems

from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    GBNClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
    UniversalMeasure,
)
from anbexact.datasets import load_iris, load_monks
from anbexact.report import feature_report
from anbexact.selection import log_bayes_factors
from anbexact.show.report.case_study import Query
from anbexact.show.report.facts import facts, sample_sizes
from anbexact.show.report.plain import print_json


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


@pytest.mark.parametrize("refit", [RefittedClassifier, AdditiveClassifier])
def test_of_a_refit_is_that_of_its_network(refit):
    X, y = load_iris()
    network = TANClassifier(ess=1.0, n_jobs=1).fit(X, y)
    report = feature_report(refit(FrozenEstimator(network)).fit(X, y), X, y)
    pd.testing.assert_frame_equal(report, feature_report(network, X, y))


def test_of_what_has_no_network_is_refused():
    X, y = load_iris()
    with pytest.raises(TypeError, match="PooledClassifier has no network"):
        feature_report(PooledClassifier([NaiveBayesClassifier()]).fit(X, y), X, y)


def test_no_complete_row():
    X = pd.DataFrame({"a": ["x", "y"] * 5, "b": ["u", "v"] * 5})
    y = pd.Series([0, 1] * 5, name="c")
    classifier = ANBClassifier().fit(X, y)
    with (
        pytest.warns(UserWarning, match="missing feature"),
        pytest.raises(ValueError, match="every row has a missing feature"),
    ):
        feature_report(classifier, X.assign(a=None), y)


def test_of_measured_columns_is_of_their_most_probable_cells(recwarn):
    X, y = load_iris()
    weights = np.random.default_rng(0).gamma(1.0, size=len(y))
    classifier = ANBClassifier(continuous="universal").fit(X, y)
    report = feature_report(classifier, X, y, weights)
    pd.testing.assert_frame_equal(report, feature_report(classifier.to_discrete(), X, y, weights))
    assert (report["log_bayes_factor"] < 0).all()
    assert not recwarn.list
    np.testing.assert_array_equal(
        classifier.cut_points_["petal_width"], classifier.universal_score_.partitions["petal_width"].cuts
    )


@pytest.mark.parametrize(
    ("measure", "rows", "text"),
    [
        (
            "universal",
            load_iris,
            r"universal measure of up to 5 levels, (\d+ to )?\d+ cells at the most probable one",
        ),
        (
            UniversalMeasure(levels=1),
            load_iris,
            "universal measure of up to 1 level, 2 cells at the most probable one",
        ),
        (UniversalMeasure(epsilon=0.25), load_iris, r"universal measure \(epsilon 0.25\) of up to 5 levels, .*"),
        ("universal", lambda: load_monks(1), "universal measure, all columns discrete"),
    ],
)
def test_measured_classifiers_are_described(measure, rows, text, capsys):
    X, y = rows()
    classifier = ANBClassifier(continuous=measure).fit(X, y)
    assert re.fullmatch(text, sample_sizes(classifier))
    document = facts(classifier)
    cut_points = classifier.to_discrete().cut_points_
    assert document["cut_points"] == {name: cuts.tolist() for name, cuts in cut_points.items()}
    assert document["score_name"] == "universal"
    assert document["level_cost"] == classifier.level_cost_
    assert not {"ess", "smoothing"} & document.keys()
    for name, density in classifier.densities_.items():
        assert document["levels"][name] == dict(zip(density.variables, density.most_probable, strict=True))
    print_json(document)
    assert json.loads(capsys.readouterr().out)["score"] == pytest.approx(classifier.structure_.score)


def test_discretised_classifiers_are_described():
    X, y = load_iris()
    document = facts(NaiveBayesClassifier(ess=2.0, smoothing=3.0).fit(X, y))
    assert (document["ess"], document["smoothing"]) == (2.0, 3.0)
    assert not {"levels", "level_cost"} & document.keys()


@pytest.mark.parametrize("continuous", ["discretize", "universal"])
def test_the_row_that_is_explained_took_no_part_in_learning(continuous, recwarn, capsys):
    X, y = load_iris()
    left_out = np.arange(0, 150, 5)
    kept = np.setdiff1d(np.arange(150), left_out)
    query = Query(ANBClassifier(continuous=continuous), X, y, left_out, 1)
    network = ANBClassifier(continuous=continuous).fit(X.iloc[kept], y.iloc[kept])
    naive = NaiveBayesClassifier().fit(X.iloc[kept], y.iloc[kept])
    asked = X.iloc[left_out]
    differences = np.abs(network.predict_proba(asked) - naive.predict_proba(asked)).max(axis=1)
    assert query.row == left_out[differences.argmax()]
    of_row = X.iloc[[query.row]]
    for names, posterior in query.posteriors:
        partial = of_row.astype(object)
        partial.loc[:, ~of_row.columns.isin(names)] = None
        np.testing.assert_allclose(posterior, network.predict_proba(partial)[0], rtol=1e-9)
    assert set(names) == set(X)
    pd.testing.assert_frame_equal(query.explanation.terms, network.explain(of_row)[0].terms)
    assert query.explanation.terms["of"].max() <= len(kept)
    assert not recwarn.list
    query.print(network)
    printed = capsys.readouterr().out
    sentences = " ".join(printed.split())
    held_out = (
        f"row {query.row}, one of 30 rows that are held out while the model is learned again from the other 120"
    )
    assert held_out in sentences
    assert "The arcs of this model are the same as above." in sentences
    assert f"The true class of the row is {y[query.row]}." in sentences
    assert str(query.explanation) in printed
    assert "rightly" not in printed
    query.print(NaiveBayesClassifier().fit(X, [0, 1] * 75))
    assert "The arcs of this model differ from those above." in " ".join(capsys.readouterr().out.split())


def test_evidence_of_one_row_alone_is_not_evidence():
    """A state that only one row has says nothing about that row: it is unknown to the network that is asked."""
    X = pd.DataFrame({"x": ["a", "b"] * 10, "y": ["p", "p", "q", "q"] * 5})
    X.loc[7, "x"] = "only here"
    y = pd.Series(["k", "l"] * 10, name="c")
    query = Query(ANBClassifier(), X, y, np.array([7]), 1)
    assert query.row == 7
    assert query.explanation.terms["feature"].str.contains("unobserved x").any()
    assert query.explanation.terms["of"].max() <= 19


def test_a_row_with_missing_cells_is_asked_about_the_others():
    X, y = load_iris()
    X.iloc[0, 1] = np.nan
    query = Query(NaiveBayesClassifier(), X, y, np.array([0]), 1)
    assert set(query.evidence) == set(X) - {"sepal_width"}
    assert json.loads(json.dumps(query.to_dict()["evidence"])) == query.evidence
