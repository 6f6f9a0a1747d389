"""Explanations: the terms add up to the log odds, and each is what it says."""

import itertools

import numpy as np
import pandas as pd
import pytest
from strategies import random_problem

from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_iris


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
    classifier = NaiveBayesClassifier(ess=1.0).fit(X, pd.Series(["apple", "plum"] * 20, name="fruit"))
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


@pytest.mark.parametrize("model", [NaiveBayesClassifier, ANBClassifier, GBNClassifier])
def test_of_a_universal_measure(model):
    """Terms are differences of log densities; they add up, with and without missing cells."""
    X, y = load_iris()
    X = X.assign(large=np.where(X.iloc[:, 2] > 4, "yes", "no"))
    classifier = model(continuous="universal").fit(X, y)
    rows = X.astype(object).mask(np.random.default_rng(0).random(X.shape) < 0.2)
    rows.iloc[:10] = X.iloc[:10]
    log_proba = classifier.predict_log_proba(rows)
    for t, explanation in enumerate(classifier.explain(rows)):
        first, second = (
            classifier.classes_.tolist().index(c) for c in (explanation.predicted, explanation.runner_up)
        )
        assert explanation.log_odds == pytest.approx(log_proba[t, first] - log_proba[t, second], abs=1e-9)
        terms = explanation.terms.set_index("feature")["nats"]
        assert terms.sum() == pytest.approx(explanation.log_odds, abs=1e-9)
        hidden = rows.iloc[t].isna()
        assert sum("unobserved" in str(feature) for feature in terms.index) == hidden.any()
        for name, density in classifier.densities_.items():
            label = name if name != y.name else f"(prior of {name})"
            told = y.name in density.variables and not hidden[[v for v in density.variables if v != y.name]].any()
            assert (label in terms.index) == told
            if told:
                values = [density_at(classifier, density, rows.iloc[t], c) for c in (first, second)]
                assert terms[label] == pytest.approx(np.log(values[0] / values[1]), abs=1e-9)


def density_at(classifier, density, row, label):
    """The value of a density in the cells of a row, found by counting the cut points below."""
    index = []
    for v, level in zip(density.variables, density.levels, strict=True):
        if v in classifier.measure_.partitions:
            index.append(sum(cut < row[v] for cut in classifier.measure_.partitions[v].cuts_at(level)))
        elif v in row:
            index.append(classifier.vocabulary_.states[v].index(row[v]))
        else:
            index.append(label)
    return density.values[tuple(index)]
