"""Averaged two-dependence estimators: against the mean over all pairs of parents, whole rows and rows with holes."""

import itertools
import json

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, ess_values, problems, random_problem
from tiers import examples, repeats

import anbexact
import anbexact._kernels.a2de as kernels
import anbexact.models.a2de as a2de
import anbexact.models.estimator_average as estimator_average
from anbexact import SearchTooLargeError
from anbexact.classifiers import A2DEClassifier, AODEClassifier
from anbexact.datasets import load_anes96, load_iris, load_tic_tac_toe
from anbexact.files.document import digest
from anbexact.models.a2de import count_triples

UNSEEN = 99
"""A value that is no state."""


def fit(problem, **parameters):
    X, y = problem.frame()
    model = A2DEClassifier(categories=problem.categories, discretizer=None, **parameters)
    return model.fit(X, y, sample_weight=problem.weights)


def check_rows(problem, rows, ess=1.0):
    """Compare rows (None and UNSEEN allowed) with the sum over all completions of their cells."""
    classifier = fit(problem, ess=ess)
    joint = oracles.averaged_two_dependence(problem.rows, problem.weights, problem.arities, ess)
    assert sum(joint.values()) == pytest.approx(1.0)
    X = pd.DataFrame(rows, columns=problem.names[:-1], dtype=object)
    proba, log_proba, evidence = (
        getattr(classifier, name)(X) for name in ("predict_proba", "predict_log_proba", "log_evidence")
    )
    for t, row in enumerate(rows):
        expected = np.zeros(problem.arities[-1])
        for state, probability in joint.items():
            if all(cell in (None, UNSEEN, k) for cell, k in zip(row, state, strict=False)):
                expected[state[-1]] += probability
        np.testing.assert_allclose(evidence[t], np.log(expected.sum()), rtol=0, atol=1e-10)
        np.testing.assert_allclose(proba[t], expected / expected.sum(), rtol=0, atol=1e-12)
        np.testing.assert_allclose(log_proba[t], np.log(expected / expected.sum()), rtol=0, atol=1e-10)
    predicted = np.searchsorted(classifier.classes_, classifier.predict(X))
    assert (
        proba[np.arange(len(rows)), predicted] >= proba.max(axis=1) - 1e-12
    ).all()  # classes may be equally probable


@examples(60)
@given(problem=problems(max_features=5), ess=ess_values, data=st.data())
def test_random_tables_and_random_holes(problem, ess, data):
    cell = [st.sampled_from([*range(arity), None, UNSEEN]) for arity in problem.arities[:-1]]
    check_rows(problem, data.draw(st.lists(st.tuples(*cell), min_size=1, max_size=6)), ess)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_row_with_every_pattern_of_missing_cells(n):
    problem = random_problem(n, n, n_rows=40, max_arity=3, unseen=n == 3, weights="mixed")
    cells = [[*range(arity), None] for arity in problem.arities[:-1]]
    check_rows(problem, list(itertools.product(*cells)), 2.5)


def test_more_terms_than_are_held_at_once():
    """Of one observed feature, every pair of parents has the same sum: its joint table with the class."""
    n_states, rng = 50, np.random.default_rng(0)
    problem = Problem(rng.integers(0, 2, (60, 4)).tolist(), [1.0] * 60, [n_states] * 3 + [2])
    assert 3 * n_states**2 > kernels.MOST_TERMS
    rows = pd.DataFrame([[None] * 3, [1, None, None], [None, 7, None]], columns=problem.names[:-1], dtype=object)
    classes = np.array([sum(row[3] == c for row in problem.rows) for c in (0, 1)])
    ones = np.array([sum(row[0] == 1 and row[3] == c for row in problem.rows) for c in (0, 1)])
    weights = [classes + 0.5, ones + 0.5 / n_states, np.full(2, 0.5 / n_states)]
    model = fit(problem)
    for row, weight in enumerate(weights):
        np.testing.assert_allclose(model.predict_proba(rows)[row], weight / weight.sum(), rtol=1e-9)
        assert model.log_evidence(rows)[row] == pytest.approx(np.log(weight.sum() / 61))


def test_counts_are_contingency_tables():
    table = random_problem(8, 5, weights="real").table
    counts = count_triples(table)
    for i, j, k in itertools.combinations(reversed(range(5)), 3):
        np.testing.assert_allclose(counts.dense(i, j, k), table.counts([f"f{i}", f"f{j}", f"f{k}", "c"]), rtol=1e-12)


def test_parameters_are_those_of_the_triple_distributions():
    """The rank of the map from joint distributions to those of all triples with the class, less the sum."""
    problem = random_problem(3, 4, n_classes=2, max_arity=2)
    states = list(itertools.product(*map(range, problem.arities)))
    triples = list(itertools.combinations(range(4), 3))
    cells = sorted({(*t, *(s[v] for v in t), s[4]) for s in states for t in triples})
    marginals = [[float([*(s[v] for v in cell[:3]), s[4]] == [*cell[3:]]) for s in states] for cell in cells]
    assert count_triples(problem.table).n_parameters == np.linalg.matrix_rank(np.array(marginals)) - 1


def test_weights_are_copies():
    for seed in repeats(2):
        problem = random_problem(seed, 4, n_rows=60)
        X, y = problem.frame()
        copies = np.repeat(np.arange(60), np.arange(60) % 3)
        weighted = A2DEClassifier().fit(X, y, sample_weight=np.arange(60) % 3)
        copied = A2DEClassifier().fit(X.iloc[copies], y.iloc[copies])
        np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-12)


def test_neither_threads_nor_batches_matter(monkeypatch):
    monkeypatch.setattr(estimator_average, "WORK_PER_THREAD", 500)
    problem = random_problem(6, 6, n_rows=300)
    X, _ = problem.frame()
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    one, three = fit(problem, n_jobs=1), fit(problem, n_jobs=3)
    proba = one.predict_proba(X)
    np.testing.assert_array_equal(proba, three.predict_proba(X))
    np.testing.assert_array_equal(proba[:20], np.vstack([one.predict_proba(X.iloc[[t]]) for t in range(20)]))


def test_partial_fit_equals_fit_of_all_rows():
    problem = random_problem(4, 4, n_rows=80, weights="real")
    X, y = problem.frame()
    w = np.array(problem.weights)
    stepwise = A2DEClassifier(categories=problem.categories).fit(X[:30], y[:30], sample_weight=w[:30])
    stepwise.partial_fit(X[30:], y[30:], sample_weight=w[30:])
    together = fit(problem)
    np.testing.assert_allclose(stepwise.counts_.weights, together.counts_.weights, rtol=1e-12)
    np.testing.assert_allclose(stepwise.predict_proba(X), together.predict_proba(X), rtol=1e-10)


def test_finds_what_two_features_tell_together_and_aode_does_not():
    """In tic-tac-toe three cells in a row win."""
    X, y = load_tic_tac_toe()
    rows = np.arange(len(X)) % 2 == 0
    two, one = (
        model(n_jobs=1).fit(X[rows], y[rows]).score(X[~rows], y[~rows]) for model in (A2DEClassifier, AODEClassifier)
    )
    assert two > one + 0.05


def test_comes_back_from_its_file(tmp_path):
    X, y = load_anes96()
    X = X.copy()
    X.loc[::7, "PID"] = np.nan
    weights = np.linspace(0.1, 2, len(X))
    classifier = A2DEClassifier(ess=2, handle_missing="own_state").fit(X, y, sample_weight=weights)
    classifier.save(tmp_path / "m.json")
    loaded = anbexact.load(tmp_path / "m.json")
    assert repr(loaded) == repr(classifier)
    X.loc[::5, ["educ", "popul"]] = np.nan
    for method in ("predict_proba", "predict_log_proba", "log_evidence"):
        assert getattr(loaded, method)(X).tobytes() == getattr(classifier, method)(X).tobytes()


@pytest.mark.parametrize("kind", ["pairs", "triples"])
def test_nonsense_in_a_file_is_refused(tmp_path, kind):
    path = tmp_path / "m.json"
    A2DEClassifier().fit(*load_iris()).save(path)
    document = json.loads(path.read_bytes())
    document[kind]["weights"][0] = -1
    document["sha256"] = digest(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="pairs and triples: every cell must have a positive weight"):
        anbexact.load(path)


def test_memory_is_estimated_beforehand(monkeypatch):
    monkeypatch.setattr(a2de, "available_memory", lambda: 1000)
    with pytest.raises(SearchTooLargeError, match=r"triples of 4 features with 12 states and 3 classes.* 1 kB is a"):
        A2DEClassifier().fit(*load_iris())


def test_senseless_parameters():
    with pytest.raises(ValueError, match="ess must be a number above 0, not 'auto'"):
        A2DEClassifier(ess="auto").fit(*load_iris())


def test_there_is_no_structure():
    classifier = A2DEClassifier().fit(*load_iris())
    for name in ("structure_", "network_", "conditional_tables_", "to_logit", "to_pgmpy", "explain"):
        assert not hasattr(classifier, name)
