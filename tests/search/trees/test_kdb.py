"""The k-dependence Bayesian classifier: order and parents against the formula, its ends, its classifier."""

import itertools

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems, random_problem, table_of

import anbexact
import anbexact.search.scoring.pair_scores as pairs
from anbexact import BDeu, DiscreteTable, SearchTooLargeError, learn_naive_bayes
from anbexact.classifiers import KDBClassifier
from anbexact.scores import BIC
from anbexact.search import learn_kdb


def check(problem, k):
    own = [v for v in range(problem.n) if problem.arities[v] > 1]  # features of one state are nobody's parents
    rows = [tuple(row[v] for v in (*own, -1)) for row in problem.rows]
    _, expected = oracles.k_dependence(rows, problem.weights, [problem.arities[v] for v in (*own, -1)], k)
    structure = learn_kdb(problem.table, k=k)
    for v in range(problem.n):
        parents = expected[own.index(v)] if v in own else ()
        assert structure.parents[f"f{v}"] == ("c", *(f"f{own[j]}" for j in parents))
    assert structure.parents["c"] == ()


@given(problem=problems(max_features=4), k=st.integers(0, 3))
def test_parents(problem, k):
    check(problem, k)


@pytest.mark.parametrize("weights", ["ones", "whole", "real", "mixed"])
@pytest.mark.parametrize("k", [1, 2])
def test_parents_of_more_features(weights, k):
    check(random_problem(4, 8, n_rows=150, weights=weights), k)


def test_ends():
    table = random_problem(7, 6, n_rows=100).table
    assert learn_kdb(table, k=0).parents == learn_naive_bayes(table).parents
    for k in (5, 9):
        assert sorted(map(len, learn_kdb(table, k=k).parents.values())) == [0, 1, 2, 3, 4, 5, 6]


def test_ties_go_by_the_table():
    """Copies of one feature, some with their states exchanged, are all the same to it; weights make rounding."""
    rng = np.random.default_rng(0)
    rows = [(a, 1 - a, a, c) for a, c in rng.integers(0, 2, (50, 2))]
    structure = learn_kdb(table_of(rows, rng.random(50), [2] * 4), k=1)
    assert [structure.parents[name] for name in ("f0", "f1", "f2")] == [("c",), ("c", "f0"), ("c", "f0")]
    rows = list(itertools.product((0, 1), repeat=4))  # independent given the class, f1 the one that says most of it
    weights = [(2 + (a == c)) * (1 + 8 * (b == c)) for a, b, _, c in rows]
    structure = learn_kdb(table_of(rows, weights, [2] * 4), k=1)
    assert [structure.parents[name] for name in ("f0", "f1", "f2")] == [("c", "f1"), ("c",), ("c", "f0")]


def test_the_score_scores_and_does_not_influence():
    table = random_problem(3, 5, n_rows=80).table
    for score in (BDeu(4.0), BIC()):
        structure = learn_kdb(table, score)
        assert structure.parents == learn_kdb(table).parents
        assert structure.score == pytest.approx(
            sum(score.local_score(table, child, of_child) for child, of_child in structure.parents.items())
        )
        assert not structure.certificate.optimal
        assert "2-dependence" in str(structure.certificate)


def test_threads_do_not_matter():
    table = random_problem(3, 12, n_rows=200).table
    assert learn_kdb(table, n_jobs=1) == learn_kdb(table, n_jobs=3)


@pytest.mark.parametrize("k", [-1, 1.5, True, "2"])
def test_senseless_k(k):
    with pytest.raises(ValueError, match="k must be a whole number, 0 or more"):
        learn_kdb(random_problem(0, 3).table, k=k)


def test_memory(monkeypatch):
    monkeypatch.setattr(pairs, "available_memory", lambda: 1000)
    with pytest.raises(SearchTooLargeError, match="all pairs of 5 features need"):
        learn_kdb(random_problem(0, 5).table)


def test_classifier(tmp_path):
    X, y = random_problem(9, 5, n_rows=120).frame()
    classifier = KDBClassifier(k=1, ess=2.0).fit(X, y)
    expected = learn_kdb(DiscreteTable.from_frame(X, y), BDeu(2.0), k=1)
    assert dict(classifier.structure_.parents) == dict(expected.parents)
    assert classifier.structure_.score == expected.score
    classifier.save(tmp_path / "model.json")
    loaded = anbexact.load(tmp_path / "model.json")
    assert loaded.get_params() == classifier.get_params()
    np.testing.assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))
    assert KDBClassifier(ess="auto").fit(X, y).structure_.parents == KDBClassifier().fit(X, y).structure_.parents
