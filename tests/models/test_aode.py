"""Averaged one-dependence estimators: against the sum over the whole joint distribution, and closed forms."""

import itertools
import json

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, ess_values, problems, random_problem
from tiers import examples

import anbexact
import anbexact.models.aode as aode
import anbexact.models.estimator_average as estimator_average
from anbexact import DiscreteTable, NaiveBayesClassifier, SearchTooLargeError
from anbexact.classifiers import AODEClassifier
from anbexact.datasets import load_anes96, load_iris
from anbexact.files import classifiers as files
from anbexact.models.aode import AODEPosterior, count_pairs

UNSEEN = 99
"""A value that is no state."""


def fit(problem, model=AODEClassifier, **parameters):
    X, y = problem.frame()
    return model(categories=problem.categories, discretizer=None, **parameters).fit(
        X, y, sample_weight=problem.weights
    )


def check_rows(problem, rows, ess=1.0, min_weight=1.0):
    """Compare rows (None and UNSEEN allowed) with the sum over all completions of their cells."""
    classifier = fit(problem, ess=ess, min_weight=min_weight)
    joint = oracles.averaged_one_dependence(problem.rows, problem.weights, problem.arities, ess, min_weight)
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
    np.testing.assert_array_equal(classifier.predict(X), classifier.classes_[log_proba.argmax(axis=1)])


@examples(80)
@given(
    problem=problems(max_features=4),
    ess=ess_values,
    min_weight=st.sampled_from([0.0, 0.5, 1.0, 2.0, 30.0, 1e6]),
    data=st.data(),
)
def test_random_tables_and_random_holes(problem, ess, min_weight, data):
    cell = [st.sampled_from([*range(arity), None, UNSEEN]) for arity in problem.arities[:-1]]
    check_rows(problem, data.draw(st.lists(st.tuples(*cell), min_size=1, max_size=6)), ess, min_weight)


@pytest.mark.parametrize("min_weight", [0, 1, 20])
@pytest.mark.parametrize("seed", range(3))
def test_every_row_with_every_pattern_of_missing_cells(seed, min_weight):
    problem = random_problem(seed, 3, n_rows=40, n_classes=2 + seed, weights="mixed")
    cells = [[*range(arity), None] for arity in problem.arities[:-1]]
    check_rows(problem, list(itertools.product(*cells)), 2.5, min_weight)


@pytest.mark.parametrize("min_weight", [0.0, 1.0, 15.0, 1e9])
def test_sums_to_one(min_weight):
    problem = random_problem(5, 4, n_rows=60, unseen=True)
    rows = pd.DataFrame(itertools.product(*map(range, problem.arities[:-1])), columns=problem.names[:-1])
    evidence = fit(problem, min_weight=min_weight).log_evidence(rows)
    assert np.exp(evidence).sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("features", "min_weight"), [(1, 1.0), (1, 20.0), (4, 1e9)])
def test_is_naive_bayes(features, min_weight):
    """With one feature, and where no state weighs enough."""
    problem = random_problem(2, features, n_rows=50)
    ours, naive = fit(problem, min_weight=min_weight), fit(problem, NaiveBayesClassifier, ess=1.0)
    rows = pd.DataFrame(itertools.product(*([*range(r), None] for r in problem.arities[:-1])), dtype=object)
    rows.columns = problem.names[:-1]
    np.testing.assert_allclose(ours.predict_proba(rows), naive.predict_proba(rows), rtol=1e-12)
    np.testing.assert_allclose(ours.log_evidence(rows), naive.log_evidence(rows), rtol=1e-12, atol=1e-12)


def test_without_features_there_is_the_class():
    frame = pd.DataFrame({"c": ["u", "v", "v"]})
    counts = count_pairs(DiscreteTable.from_frame(frame, class_name="c"))
    posterior = AODEPosterior(counts, 1.0, 1.0)
    codes = np.empty((0, 2), dtype=np.int16)
    np.testing.assert_allclose(np.exp(posterior.log_joint(codes)), [[1.5 / 4, 2.5 / 4]] * 2)
    np.testing.assert_allclose(posterior.posterior(codes), [[1.5 / 4, 2.5 / 4]] * 2)


@pytest.mark.slow
def test_a_thousand_features_do_not_underflow():
    """Copies of one feature: P_i is P(c, x_i) θ^k φ^l with the k cells that agree with x_i and the l that do not."""
    n, half = 1000, 500
    weights = {(0, 0): 30.0, (1, 0): 2.0, (0, 1): 7.0, (1, 1): 5.0}
    problem = Problem([(a,) * n + (c,) for a, c in weights], list(weights.values()), [2] * n + [2])
    rows = pd.DataFrame(np.zeros((2, n), dtype=int), columns=problem.names[:-1])
    rows.iloc[1, half:] = 1
    expected = np.zeros((2, 2))
    for c in (0, 1):
        terms = []
        for a in (0, 1):
            of_parent = np.log((weights[a, c] + 0.25) / 45)
            same = np.log((weights[a, c] + 0.125) / (weights[a, c] + 0.25))
            other = np.log(0.125 / (weights[a, c] + 0.25))
            if a == 0:
                expected[0, c] = of_parent + (n - 1) * same  # 1,000 equal ones, and so many halves of the total
            terms.append(of_parent + (half - 1) * same + half * other + np.log(half / n))
        expected[1, c] = np.logaddexp(*terms)
    classifier = fit(problem)
    evidence = np.logaddexp(*expected.T)
    assert evidence[1] < -1000
    np.testing.assert_allclose(classifier.log_evidence(rows), evidence, rtol=1e-12)
    np.testing.assert_allclose(classifier.predict_log_proba(rows), expected - evidence[:, None], rtol=1e-9)


def test_counts_are_contingency_tables():
    table = random_problem(8, 5, weights="real").table
    counts = count_pairs(table)
    for i, j in itertools.permutations(range(5), 2):
        np.testing.assert_allclose(counts.dense(i, j), table.counts([f"f{i}", f"f{j}", "c"]), rtol=1e-12)
    singles = np.concatenate([table.counts([f"f{i}", "c"]) for i in range(5)])
    np.testing.assert_allclose(counts.alone, singles, rtol=1e-12)
    np.testing.assert_allclose(counts.class_weights, table.counts(["c"]), rtol=1e-12)


def test_parameters_are_those_of_the_pair_distributions():
    """The rank of the map from joint distributions to those of all pairs with the class, less the sum."""
    problem = random_problem(3, 3, n_classes=3)
    states = list(itertools.product(*map(range, problem.arities)))
    cells = sorted({(i, j, s[i], s[j], s[3]) for s in states for i, j in itertools.combinations(range(3), 2)})
    marginals = [[float([s[i], s[j], s[3]] == cell) for s in states] for i, j, *cell in cells]
    assert count_pairs(problem.table).n_parameters == np.linalg.matrix_rank(np.array(marginals)) - 1


def test_weights_are_copies_and_tenths_add_up():
    problem = random_problem(1, 4, n_rows=60)
    X, y = problem.frame()
    X["f0"] = np.where(np.arange(60) == 7, 9, X["f0"])
    X["f1"] = np.where(np.arange(60) == 9, 9, X["f1"])
    repeats = np.arange(60) % 3
    copies = np.repeat(np.arange(60), repeats)
    weighted = AODEClassifier().fit(X, y, sample_weight=repeats)
    copied = AODEClassifier().fit(X.iloc[copies], y.iloc[copies])
    np.testing.assert_array_equal(weighted.predict_proba(X), copied.predict_proba(X))
    tenths = np.repeat(np.arange(60), 10)
    whole = AODEClassifier().fit(X, y)
    in_parts = AODEClassifier().fit(X.iloc[tenths], y.iloc[tenths], sample_weight=np.full(600, 0.1))
    np.testing.assert_allclose(whole.predict_proba(X), in_parts.predict_proba(X), rtol=1e-12)


def test_neither_threads_nor_batches_matter(monkeypatch):
    monkeypatch.setattr(estimator_average, "WORK_PER_THREAD", 500)
    problem = random_problem(6, 6, n_rows=300)
    X, _ = problem.frame()
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    one, three = fit(problem, n_jobs=1), fit(problem, n_jobs=3)
    proba = one.predict_proba(X)
    np.testing.assert_array_equal(proba, three.predict_proba(X))
    np.testing.assert_array_equal(proba[:40], np.vstack([one.predict_proba(X.iloc[[t]]) for t in range(40)]))


@pytest.mark.parametrize("weights", ["ones", "real"])
def test_partial_fit_equals_fit_of_all_rows(weights):
    problem = random_problem(4, 4, n_rows=80, weights=weights)
    X, y = problem.frame()
    w = np.array(problem.weights)
    model = AODEClassifier(categories=problem.categories, min_weight=5.0)
    stepwise = model.fit(X[:30], y[:30], sample_weight=w[:30]).set_params(min_weight=0.0, ess=50.0)
    stepwise.partial_fit(X[30:], y[30:], sample_weight=w[30:])
    together = fit(problem, min_weight=5.0)
    np.testing.assert_allclose(stepwise.counts_.weights, together.counts_.weights, rtol=1e-12)
    np.testing.assert_allclose(stepwise.predict_proba(X), together.predict_proba(X), rtol=1e-10)
    with pytest.raises(ValueError, match="column 'f0', row 0: the value 99 is not a state"):
        stepwise.partial_fit(X[:1].assign(f0=UNSEEN), y[:1])
    started = AODEClassifier().partial_fit(X, y, classes=[*range(9)])
    assert started.classes_.tolist() == [*range(9)]


def test_comes_back_from_its_file(tmp_path):
    X, y = load_anes96()
    X = X.copy()
    X.loc[::7, "PID"] = np.nan
    classifier = AODEClassifier(ess=2, min_weight=3.5, handle_missing="own_state").fit(
        X, y, sample_weight=np.linspace(0.1, 2, len(X))
    )
    classifier.save(tmp_path / "m.json")
    loaded = anbexact.load(tmp_path / "m.json")
    assert repr(loaded) == repr(classifier)
    X.loc[::5, ["educ", "popul"]] = np.nan
    for method in ("predict_proba", "predict_log_proba", "log_evidence"):
        assert getattr(loaded, method)(X).tobytes() == getattr(classifier, method)(X).tobytes()
    for either in (classifier, loaded):
        either.partial_fit(X[:50].dropna(), y[X[:50].dropna().index])
    np.testing.assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["pairs"]["weights"].__setitem__(0, -1), "pairs: every cell must have a positive weight"),
        (lambda d: d["pairs"]["cells"].__setitem__(-1, 10**9), "pairs: the cells must be whole numbers from 0 to"),
        (lambda d: d["pairs"]["cells"].pop(), "pairs: every cell must have a positive weight"),
        (lambda d: d.pop("pairs"), "pairs"),
    ],
)
def test_nonsense_in_a_file_is_refused(tmp_path, change, message):
    path = tmp_path / "m.json"
    AODEClassifier().fit(*load_iris()).save(path)
    document = json.loads(path.read_bytes())
    change(document)
    document["sha256"] = files.digest(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message):
        anbexact.load(path)


def test_memory_is_estimated_beforehand(monkeypatch):
    monkeypatch.setattr(aode, "available_memory", lambda: 1000)
    with pytest.raises(SearchTooLargeError, match=r"pairs of 4 features with 12 states and 3 classes.* 1 kB is a"):
        AODEClassifier().fit(*load_iris())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_weight": -1}, "min_weight must be a finite number, 0 or more, not -1"),
        ({"min_weight": "1"}, "min_weight must be a finite number, 0 or more, not '1'"),
        ({"ess": "auto"}, "ess must be a number above 0, not 'auto'"),
        ({"ess": 0}, "ess must be a finite number above 0, not 0"),
        ({"handle_missing": "drop"}, "handle_missing must be one of 'auto', 'marginalize', "),
    ],
)
def test_senseless_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        AODEClassifier(**parameters).fit(*load_iris())


def test_there_is_no_structure():
    classifier = AODEClassifier().fit(*load_iris())
    for name in ("structure_", "network_", "conditional_tables_", "to_logit", "to_pgmpy", "explain"):
        assert not hasattr(classifier, name)
