"""Reports: what decides single cases, what decisions cost, and the members of a pool."""

import json

import numpy as np
import pandas as pd
import pytest

from anbexact import NaiveBayesClassifier, PooledClassifier, TANClassifier
from anbexact.datasets import load_anes96, load_iris, load_monks
from anbexact.report import report

LEAVE = "(reject)"


@pytest.fixture(scope="module", name="iris")
def _iris():
    X, y = load_iris()
    return NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X, y), X, y


def test_the_costs_of_rules_are_sums_over_rows(iris):
    classifier, X, y = iris
    costs = pd.DataFrame(
        {"setosa": [0, 5, 5], "versicolor": [1, 0, 4], "virginica": [1, 0.2, 0], "look": [0.1] * 3},
        index=classifier.classes_,
    )
    weights = np.linspace(0.5, 2, len(y))
    made = report(classifier, X, y, folds=None, costs=costs, reject=0.05, sample_weight=weights).to_dict()[
        "decisions"
    ]
    proba, truth = classifier.predict_proba(X), y.to_numpy()
    names = [*costs.columns, LEAVE]
    full = costs.assign(**{LEAVE: 0.05})
    spent = {"least expected cost": 0.0, "most probable class": 0.0}
    promised = dict(spent)
    counts = {}
    for t in range(len(y)):
        expected = {d: sum(proba[t, c] * full.loc[k, d] for c, k in enumerate(classifier.classes_)) for d in names}
        chosen = {
            "least expected cost": min(names, key=expected.get),
            "most probable class": classifier.classes_[proba[t].argmax()],
        }
        for rule, decision in chosen.items():
            spent[rule] += weights[t] * full.loc[truth[t], decision] / weights.sum()
            promised[rule] += weights[t] * expected[decision] / weights.sum()
        cell = truth[t], chosen["least expected cost"]
        counts[cell] = counts.get(cell, 0.0) + weights[t]
    rules = {of["rule"]: of for of in made["rules"]}
    for rule, cost in spent.items():
        assert rules[rule]["cost"] == pytest.approx(cost)
        assert rules[rule]["expected"] == pytest.approx(promised[rule])
    assert spent["most probable class"] != spent["least expected cost"]
    assert rules["most probable class"]["more"] == pytest.approx(
        spent["most probable class"] - spent["least expected cost"]
    )
    assert rules[f"always {LEAVE}"]["cost"] == pytest.approx(0.05)
    for record in made["decided"]:
        for d, name in enumerate(names):
            assert record[f"d{d}"] == pytest.approx(counts.get((record["true_class"], name), 0.0))


def test_utilities_are_costs_with_the_opposite_sign(iris):
    classifier, X, y = iris
    gains = 2.0 * np.eye(3) - 1.0
    made = [
        report(classifier, X, y, folds=2, **of).to_dict()["decisions"]["rules"]
        for of in ({"utilities": gains}, {"costs": -gains})
    ]
    assert made[0] == made[1]
    assert "decisions" not in report(classifier, X, y, folds=None).to_dict()
    with pytest.raises(ValueError, match="both given"):
        report(classifier, X, y, folds=None, costs=gains, utilities=gains)
    with pytest.raises(ValueError, match="must have 3 rows"):
        report(classifier, X, y, folds=None, costs=np.eye(2))


def test_a_class_without_rows_can_be_decided(iris):
    classifier, X, y = iris
    kept = (y != "setosa").to_numpy()
    made = report(classifier, X[kept], y[kept], folds=2, costs={"setosa": 1, "versicolor": 2, "virginica": 3})
    decided = {of["true_class"]: of for of in made.to_dict()["decisions"]["decided"]}
    assert sum(decided["setosa"][f"d{d}"] for d in range(3)) == 0
    assert sum(decided["virginica"][f"d{d}"] for d in range(3)) == 50


def test_cases_have_the_exact_explanations_of_the_classifier():
    X, y = load_anes96()
    classifier = TANClassifier(ess=1.0, n_jobs=1).fit(X, y)
    made = report(classifier, X, y, folds=None)
    cases = json.loads(json.dumps(made.to_dict()["cases"]))
    for case in cases.values():
        row = X.iloc[[case["row"]]]
        assert sum(of["nats"] for of in case["shapley"]) == pytest.approx(case["log_odds"])
        reason = classifier.sufficient_reasons(row, size="smallest")
        assert case["sufficient_reason"]["features"] == reason.features(0)
        change = classifier.nearest_change(row).iloc[0]
        assert set(case["nearest_change"]["changes"]) == set(change["changes"])
        changed = classifier.reader_.codes(row).copy()
        names = classifier.vocabulary_.features
        for name, state in change["changes"].items():
            changed[names.index(name)] = classifier.vocabulary_.states[name].index(state)
        assert classifier.model_.posterior(np.asfortranarray(changed)).max() == pytest.approx(
            case["nearest_change"]["probability"]
        )
    text = made.to_markdown()
    assert text.count("Sufficient reason: ") == text.count("Nearest change: ") == len(cases)


def test_what_cannot_be_explained_says_why():
    X, y = load_monks(1)
    zeros = NaiveBayesClassifier(parameters="ml", n_jobs=1).fit(X, X["head_shape"].rename("c"))
    case = report(zeros, X, X["head_shape"].rename("c"), folds=None).to_dict()["cases"]["typical"]
    assert case["shapley"] is None
    holes = X.astype(object).assign(head_shape=None)
    classifier = NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X, y)
    with pytest.warns(UserWarning, match="head_shape"):
        made = report(classifier, holes, y, folds=None)
    case = made.to_dict()["cases"]["typical"]
    assert case["shapley"] is not None
    assert case["nearest_change"] is None
    assert "Nearest change: not available. The cell of 'head\\_shape' in row" in made.to_markdown()


def test_a_pool_has_its_members_and_families():
    X, y = load_monks(1)
    pool = PooledClassifier([NaiveBayesClassifier(n_jobs=1), TANClassifier(n_jobs=1)], n_jobs=1).fit(X, y)
    made = report(pool, X, y, folds=None, costs=dict.fromkeys(pool.classes_.tolist(), 1))
    document = made.to_dict()
    weights = {of["member"]: of["weight"] for of in document["pool"]["members"]}
    assert weights == pytest.approx(pool.members_["weight"].to_dict())
    assert [of["bias"] for of in document["pool"]["biases"]] == pytest.approx(pool.biases_)
    for case in document["cases"].values():
        assert sum(term["nats"] for term in case["terms"]) == pytest.approx(case["log_odds"])
    assert {of["feature"] for of in document["influence"]["features"]} == set(X)
    assert "The panel computes with one network" in made.to_html()
    assert "A pool of" in pool._repr_html_()
