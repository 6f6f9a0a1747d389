"""Explanations: the terms add up to the log odds, and each is what it says."""

import itertools

import numpy as np
import pandas as pd
import pytest
from strategies import random_problem

from anbexact import ANBClassifier, NaiveBayesClassifier
from anbexact.classifiers import FixedStructureClassifier


def fitted(model=ANBClassifier, seed=0, n=4, **kwargs):
    problem = random_problem(seed, n, n_rows=120, max_arity=3, **kwargs)
    X, y = problem.frame()
    return problem, model(categories=problem.categories).fit(X, y), X


@pytest.mark.parametrize("model", [ANBClassifier, NaiveBayesClassifier])
@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_terms_sum_to_the_log_odds(model, n_classes):
    _, classifier, X = fitted(model, n_classes=n_classes, unseen=False)
    proba = classifier.predict_proba(X)
    for t, explanation in enumerate(classifier.explain(X)):
        order = np.argsort(-proba[t], kind="stable")
        assert explanation.predicted == classifier.predict(X.iloc[[t]])[0]
        assert explanation.probability == pytest.approx(proba[t, order[0]])
        runner_up = order[min(1, n_classes - 1)]
        assert explanation.runner_up == classifier.classes_[runner_up]
        assert explanation.log_odds == pytest.approx(np.log(proba[t, order[0]] / proba[t, runner_up]), abs=1e-9)
        assert explanation.terms["nats"].sum() == pytest.approx(explanation.log_odds, abs=1e-9)
        assert explanation.terms["nats"].abs().is_monotonic_decreasing
        assert len(explanation.terms) == 5


def test_every_term_is_a_log_ratio_of_its_table():
    problem, classifier, X = fitted()
    row = X.iloc[[3]]
    (explanation,) = classifier.explain(row)
    first, second = (classifier.classes_.tolist().index(c) for c in (explanation.predicted, explanation.runner_up))
    terms = explanation.terms.set_index("feature")
    for name, table in classifier.conditional_tables_.items():
        if name == "c":
            expected = np.log(table.values[first] / table.values[second])
            assert terms.loc["(prior of c)", "nats"] == pytest.approx(expected)
            continue
        cell = {**row.iloc[0].to_dict()}
        values = [table.values[tuple(cell[v] if v != "c" else c for v in table.variables)] for c in (first, second)]
        assert terms.loc[name, "nats"] == pytest.approx(np.log(values[0] / values[1]))
        assert terms.loc[name, "state"] == cell[name]
        given = ", ".join(f"{parent} = {cell[parent]}" for parent in table.parents if parent != "c")
        assert terms.loc[name, "given"] == given
    assert problem.n == len(terms) - 1


@pytest.mark.parametrize("parents", [None, {"c": ("f0",), "f0": (), "f1": ("c",), "f2": ("f1",), "f3": ("c", "f2")}])
def test_missing_cells_are_gathered_in_one_term(parents):
    problem, classifier, _ = fitted()
    if parents:
        X, y = problem.frame()
        classifier = FixedStructureClassifier(parents, categories=problem.categories).fit(X, y)
    rows = list(itertools.product(*([None, 0] for _ in range(problem.n))))
    X = pd.DataFrame(rows, columns=problem.names[:-1], dtype=object)
    log_proba = classifier.predict_log_proba(X)
    for t, explanation in enumerate(classifier.explain(X)):
        ranked = np.sort(log_proba[t])[::-1]
        assert explanation.log_odds == pytest.approx(ranked[0] - ranked[1], abs=1e-9)
        assert explanation.terms["nats"].sum() == pytest.approx(explanation.log_odds, abs=1e-9)
        hidden = [name for name, cell in zip(X.columns, rows[t], strict=True) if cell is None]
        gathered = [term for term in explanation.terms["feature"] if "unobserved" in term]
        assert len(gathered) == bool(hidden)
        for name in hidden:
            assert name in gathered[0]


def test_text():
    X = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": [1, 2] * 20})
    classifier = NaiveBayesClassifier().fit(X, pd.Series(["apple", "plum"] * 20, name="fruit"))
    text = str(classifier.explain(X.iloc[:1])[0])
    assert text.startswith("apple with probability 0.99")
    assert "against plum" in text
    assert "colour = red" in text
    assert "size = 1" in text
    assert "(prior of fruit)" in text


def test_states_that_look_empty_are_shown():
    X = pd.DataFrame({"a": ["", "x"] * 5, "b": [0, 1] * 5, "c": [False, True] * 5})
    text = str(NaiveBayesClassifier().fit(X, ["p", "q"] * 5).explain(X.iloc[:1])[0])
    assert "b = 0" in text
    assert "c = False" in text
    assert "a = " in text


def test_does_not_change_the_classifier_or_the_rows():
    _, classifier, X = fitted()
    before, proba = X.copy(), classifier.predict_proba(X)
    classifier.explain(X)
    pd.testing.assert_frame_equal(X, before)
    np.testing.assert_array_equal(classifier.predict_proba(X), proba)
