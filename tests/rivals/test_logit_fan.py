"""Forests by conditional likelihood: fits and search against slow twins, separation, the resulting network."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from math import prod

import numpy as np
import pandas as pd
import pytest
from deadlines import watch
from hypothesis import given
from strategies import problems, random_problem, table_of
from threadpoolctl import threadpool_info, threadpool_limits
from tiers import examples

import anbexact
import anbexact.rivals.logit_fan_search as logit_fan
from anbexact import FANClassifier, SearchTooLargeError
from anbexact._runtime.deadline import Deadline
from anbexact.classifiers import LogitFANClassifier, PrunedNaiveBayesClassifier
from anbexact.datasets import load_balance_scale, load_monks
from anbexact.rivals.indicators import Rows, make_columns
from anbexact.rivals.logit_fan_search import learn_logit_fan
from anbexact.rivals.newton import Point, maximise, with_term, without_term

BOTH = [LogitFANClassifier, PrunedNaiveBayesClassifier]
WEIGHTS = ["ones", "whole", "real", "mixed"]


def conditional_maximum(problem, terms):
    """Maximum conditional log likelihood: reference-coded columns, written out, and Newton's steps, halved."""
    codes, weights = np.array(problem.rows), np.array(problem.weights)
    columns = [np.ones(len(codes))]
    for term in terms:
        for states in np.ndindex(*(problem.arities[i] - 1 for i in term)):
            if term:
                columns.append(np.all(codes[:, list(term)] == np.array(states) + 1, axis=1).astype(float))
    x, c, s = np.stack(columns, axis=1), codes[:, -1], problem.arities[-1]
    scale = weights.sum()

    def log_posterior(beta):
        eta = np.concatenate([np.zeros((len(x), 1)), x @ beta.reshape(-1, s - 1)], axis=1)
        return eta - np.logaddexp.reduce(eta, axis=1, keepdims=True)

    def objective(beta):
        logs = log_posterior(beta)
        rest = weights[:, None] * ((c[:, None] == np.arange(1, s)) - np.exp(logs[:, 1:]))
        return -weights @ logs[np.arange(len(c)), c] / scale, -(x.T @ rest).ravel() / scale

    def curvature(beta):
        p = np.exp(log_posterior(beta)[:, 1:]).T
        blocks = [[(x.T * (weights * p[a] * ((a == b) - p[b]))) @ x for b in range(s - 1)] for a in range(s - 1)]
        return np.array(blocks).transpose(2, 0, 3, 1).reshape(beta.size, beta.size) / scale

    if s == 1:
        return 0.0
    beta = np.zeros(x.shape[1] * (s - 1))
    value, gradient = objective(beta)
    while True:
        # Columns of unseen states make the curvature singular.
        step = -np.linalg.lstsq(curvature(beta), gradient)[0]
        while (found := objective(beta + step))[0] > value and np.abs(step).max() > 1e-12:
            step /= 2
        if found[0] > value - 1e-12:
            return -scale * value
        beta, (value, gradient) = beta + step, found


def n_parameters(problem, terms):
    """Coefficients, whether or not their states occur."""
    return (problem.arities[-1] - 1) * sum(prod(problem.arities[i] - 1 for i in term) for term in {(), *terms})


def neighbours(terms, *, edges=True):
    """All models one move away: terms without the intercept."""
    edges_now = [term for term in terms if len(term) == 2]
    linked = sorted(term[0] for term in terms if len(term) == 1)
    for term in sorted(terms):
        if len(term) == 2 or all(term[0] not in edge for edge in edges_now):
            yield term, terms - {term}
    for edge in combinations(linked, 2) if edges else ():
        reached, waiting = set(), {edge[0]}
        while waiting:
            reached |= waiting
            waiting = {i for other in edges_now if reached & set(other) for i in other} - reached
        if edge[1] not in reached:
            yield edge, terms | {edge}


def climb(problem, *, edges=True, tie=1e-5):
    """The search as it is described, every model fitted from scratch."""
    terms = frozenset((i,) for i in range(problem.n))
    score = conditional_maximum(problem, terms) - n_parameters(problem, terms)
    while True:
        found = [
            (
                conditional_maximum(problem, model) - n_parameters(problem, model),
                n_parameters(problem, model),
                term,
                model,
            )
            for term, model in neighbours(terms, edges=edges)
        ]
        best = max((candidate[0] for candidate in found), default=-np.inf)
        if best <= score + tie:
            return score, terms
        score, _, _, terms = min(
            (candidate for candidate in found if candidate[0] >= best - tie), key=lambda candidate: candidate[1:3]
        )


def terms_of(structure):
    """The terms of a forest, without the intercept."""
    place = {name: i for i, name in enumerate(structure.features)}
    linked = {(place[name],) for name in structure.children(structure.class_name)}
    return frozenset(linked | {tuple(sorted((place[a], place[b]))) for a, b in structure.feature_edges})


def fitted(rows, terms, *, start=None):
    """The maximum for some terms."""
    design = make_columns(rows, terms)
    start = np.zeros((design.n_columns, rows.n_contrasts)) if start is None else start
    return maximise(rows, design, start, wanted=lambda: -np.inf, deadline=Deadline())


def xor_problem(seed=0, n_rows=400, n_noise=2):
    """The class is whether two features differ, in nine rows of ten; others are noise."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n_rows, 3 + n_noise))
    codes[:, -1] = (codes[:, 0] ^ codes[:, 1]) ^ (rng.random(n_rows) < 0.1)
    problem = random_problem(0, 2 + n_noise)
    problem.rows, problem.weights = [tuple(map(int, row)) for row in codes], [1.0] * n_rows
    problem.arities = [2] * (3 + n_noise)
    return problem


@pytest.mark.parametrize("seed", range(12))
def test_fit_against_scipy(seed):
    problem = random_problem(seed, 4, n_rows=40 + 20 * seed, weights=WEIGHTS[seed % 4], n_classes=2 + seed % 2)
    rows = Rows(problem.table)
    for terms in (
        [(), (0,), (1,), (2,), (3,)],
        [(), (0,), (1,), (2,), (0, 1)],
        [()],
        [(), (1,), (2,), (3,), (1, 3), (2, 3)],
    ):
        tolerance = 1e-4 * max(1.0, sum(problem.weights) / 1000)
        assert fitted(rows, terms).value == pytest.approx(conditional_maximum(problem, terms), abs=tolerance)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_one_step(seed):
    """A look at a move starts below the maximum and bounds it from above."""
    problem = random_problem(seed, 4, n_rows=150, weights=WEIGHTS[seed % 4])
    rows = Rows(problem.table)
    terms = [(), (0,), (1,), (2,), (3,), (0, 2)]
    point = fitted(rows, terms)
    point.factorise()
    slack = 1e-9 * rows.totals.sum() + rows.precision
    for term in [(0, 1), (1, 2), (1, 3), (2, 3)]:
        start, lower, upper = with_term(point, term)
        value = fitted(rows, [*terms, term]).value
        assert point.value <= lower
        assert lower - slack <= value <= upper + slack
        assert Point(rows, make_columns(rows, [*terms, term]), start).value == pytest.approx(lower, rel=1e-9)
        assert fitted(rows, [*terms, term], start=start).value == pytest.approx(value, abs=3 * slack)
    for place in (2, 4, 5):
        design, start, lower = without_term(point, place)
        value = fitted(rows, design.terms).value
        assert lower - slack <= value <= point.value + slack
        assert fitted(rows, design.terms, start=start).value == pytest.approx(value, abs=3 * slack)


@pytest.mark.parametrize("edges", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_search_against_slow_twin(seed, edges):
    weights = ["ones", "ones", "mixed", "real"][seed % 4]
    problem = random_problem(seed, 5 if seed in (0, 2) else 4, n_rows=50 + 25 * seed, max_arity=3, weights=weights)
    score, terms = climb(problem, edges=edges)
    structure = learn_logit_fan(problem.table, edges=edges)
    assert structure.score == pytest.approx(score, abs=1e-3)
    assert terms_of(structure) == terms


@given(problem=problems(max_features=3, max_rows=10))
@examples(60)
def test_no_neighbour_is_better(problem):
    """On degenerate tables, too: constants, separated classes, one class, unseen states."""
    structure = learn_logit_fan(problem.table)
    terms = terms_of(structure)
    tolerance = 1e-3 + 1e-6 * sum(problem.weights)
    own = conditional_maximum(problem, terms) - n_parameters(problem, terms)
    assert structure.score == pytest.approx(own, abs=tolerance)
    for _, model in neighbours(terms):
        assert conditional_maximum(problem, model) - n_parameters(problem, model) <= own + tolerance
    assert structure.is_subperfect()


@pytest.mark.parametrize("seed", range(4))
def test_every_step_raises_the_score(seed, monkeypatch):
    scores = []
    reach = logit_fan._Climb._reach

    def watched(self, point):
        reach(self, point)
        scores.append(self.score)

    monkeypatch.setattr(logit_fan._Climb, "_reach", watched)
    learn_logit_fan(random_problem(seed, 6, n_rows=200).table)
    assert len(scores) > 2
    assert np.all(np.diff(scores) > 0)


def test_interaction_is_found_and_noise_is_cut_off():
    problem = xor_problem()
    fan = LogitFANClassifier().fit(*problem.frame())
    assert fan.structure_.feature_edges == (("f0", "f1"),)
    assert fan.structure_.children("c") == ("f0", "f1")
    assert fan.score(*problem.frame()) > 0.85
    pruned = PrunedNaiveBayesClassifier().fit(*problem.frame())
    assert not {"f2", "f3"} & set(pruned.structure_.children("c"))
    assert pruned.structure_.feature_edges == ()


@pytest.mark.parametrize("seed", range(4))
def test_edges_point_away_from_the_first_feature_of_a_tree(seed):
    structure = learn_logit_fan(random_problem(seed, 7, n_rows=400).table)
    place = {name: i for i, name in enumerate(structure.features)}
    assert structure.feature_edges
    assert structure.is_subperfect()
    for name in structure.features:
        of_features = [parent for parent in structure.parents[name] if parent != "c"]
        assert len(of_features) <= 1
        if of_features:
            assert "c" in structure.parents[name]
            root = of_features[0]
            while len(structure.parents[root]) == 2:
                root = structure.parents[root][1]
            assert place[root] < place[name]
    assert not structure.certificate.optimal
    assert str(structure.certificate).startswith("nothing proved")


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("l2", ["auto", 0, 2.5])
def test_network_has_the_posterior_of_the_logistic_regression(estimator, l2):
    problem = random_problem(3, 5, n_rows=3000, max_arity=3, dependent=True, unseen=False)
    X, y = problem.frame()
    model = estimator(l2=l2).fit(X, y)
    reference = model.to_logit()
    np.testing.assert_allclose(reference.predict_proba(X), model.predict_proba(X), atol=1e-12)
    if l2 == 0:
        score = reference.log_likelihood(X, y) - reference.n_parameters
        assert score == pytest.approx(model.structure_.score, abs=1e-3)
    else:
        generative = (
            anbexact.classifiers.FixedStructureClassifier(model.structure_.parents, ess=1.0).fit(X, y).to_logit()
        )
        refitted = generative.refit(X, y, l2=model.l2_)
        np.testing.assert_allclose(refitted.predict_proba(X), model.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("edges", [True, False])
def test_weights_and_order_of_rows(edges):
    problem = random_problem(5, 5, n_rows=80)
    rng = np.random.default_rng(0)
    times = rng.integers(1, 4, 80)
    weighted = learn_logit_fan(table_of(problem.rows, times, problem.arities), edges=edges)
    copies = [row for row, k in zip(problem.rows, times, strict=True) for _ in range(k)]
    copies = [copies[k] for k in rng.permutation(len(copies))]
    copied = learn_logit_fan(table_of(copies, np.ones(len(copies)), problem.arities), edges=edges, n_jobs=1)
    assert weighted.parents == copied.parents
    assert weighted.score == copied.score


@pytest.mark.parametrize("estimator", BOTH)
def test_save_and_load(estimator, tmp_path):
    X, y = random_problem(1, 5, n_rows=120).frame()
    X = X.astype(float)
    model = estimator(ess=2.0).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = anbexact.load(tmp_path / "model.json")
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    np.testing.assert_array_equal(loaded.predict_proba(holes), model.predict_proba(holes))
    assert type(loaded) is estimator
    assert loaded.get_params() == model.get_params()
    assert loaded.structure_ == model.structure_
    assert loaded.score_name_ == "conditional AIC"
    assert not hasattr(loaded, "partial_fit")


def test_separated_classes():
    X = pd.DataFrame({"a": [0, 0, 1, 1, 2, 2] * 5, "b": [0, 1] * 15})
    y = pd.Series(["p", "p", "q", "q", "r", "r"] * 5)
    structure = learn_logit_fan(anbexact.DiscreteTable.from_frame(X, y))
    assert structure.score == pytest.approx(-6, abs=1e-4)
    assert structure.children("class") == ("a",)
    with pytest.warns(UserWarning, match="a=0: class=p -> 1|the classes are separated"):
        model = LogitFANClassifier(l2=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        automatic = LogitFANClassifier().fit(X, y)
    for fit in (model, automatic):
        assert fit.score(X, y) == 1
        assert np.isfinite(fit.predict_log_proba(X)).all()


def test_one_class_one_feature_constants_and_declared_states():
    X = pd.DataFrame({"k": [1] * 8, "a": [0, 1] * 4})
    one = LogitFANClassifier().fit(X, ["c"] * 8)
    assert one.structure_.score == 0
    assert one.predict_proba(X).tolist() == [[1.0]] * 8
    declared = {"k": [0, 1, 2], "a": [0, 1, 2], "class": ["b", "c", "d"]}
    two = LogitFANClassifier(categories=declared).fit(X, ["c"] * 8)
    assert two.structure_.score == -2
    assert two.structure_.children("class") == ()
    assert (two.predict_proba(X) > 0).all()
    single = LogitFANClassifier().fit(X[["a"]], ["u", "v"] * 4)
    assert single.structure_.parents["a"] == ("class",)


@pytest.mark.slow
def test_time_limit_gives_the_best_so_far(monkeypatch):
    problem = random_problem(0, 6, n_rows=200)
    stopped = LogitFANClassifier(time_limit=1e-9).fit(*problem.frame())
    assert stopped.structure_.certificate.method.endswith("stopped by time_limit")
    assert stopped.structure_.children("c") == stopped.structure_.features
    wide = random_problem(0, 60, n_rows=2000, max_arity=3, unseen=False).table
    deadlines = watch(monkeypatch, logit_fan)
    structure = learn_logit_fan(wide, time_limit=1.0)
    assert deadlines[0].late < 10
    assert "stopped" in structure.certificate.method


def test_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(logit_fan, "available_memory", lambda: 1000)
    with pytest.raises(SearchTooLargeError, match="coefficients"):
        learn_logit_fan(random_problem(0, 4).table)


def test_senseless_parameters_are_refused():
    X, y = random_problem(0, 2).frame()
    for parameters in ({"ess": "auto"}, {"ess": 0}, {"l2": -1}, {"l2": "much"}, {"time_limit": 0}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            LogitFANClassifier(**parameters).fit(X, y)


def test_progress_and_pgmpy(capsys):
    problem = xor_problem(n_rows=100)
    model = LogitFANClassifier(verbose=1).fit(*problem.frame())
    assert "step 1" in capsys.readouterr().err
    assert FANClassifier().fit(*problem.frame()).classes_.tolist() == model.classes_.tolist()
    assert set(model.network_.edges()) == set(model.structure_.edges)
    assert len(model.explain(problem.frame()[0])) == 100


@pytest.mark.parametrize("estimator", [LogitFANClassifier, PrunedNaiveBayesClassifier])
def test_separated_too_far_for_a_network_is_fitted_with_a_weak_prior(estimator):
    X, y = load_balance_scale()
    with pytest.warns(UserWarning, match=r"no finite maximum: .* fitted with l2=0.001 instead"):
        classifier = estimator(l2=0).fit(X, y)
    assert classifier.l2_ == 0.001
    assert classifier.score(X, y) > 0.97


@pytest.mark.slow
def test_linear_algebra_has_its_threads_back():
    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    X, y = load_monks(1)
    with threadpool_limits(2, "blas"):
        before = threads()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: PrunedNaiveBayesClassifier(n_jobs=1, l2=1.0).fit(X, y), range(12)))
        assert threads() == before
