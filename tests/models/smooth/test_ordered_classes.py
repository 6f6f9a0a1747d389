"""Classes in an order: the restricted likelihood by scipy and statsmodels, its curvature, and the order's test."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import block_diag
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from scipy.stats import binom

from anbexact import AdditiveClassifier, NaiveBayesClassifier, TANClassifier, load
from anbexact.compare import compare

STRENGTHS = {"slope": 0.5, "curvature": 0.01, "level": 0.7, "interaction": 0.8}


def rows(seed, n_classes=4, n_rows=150, deviation=0.0):
    """A table of adjacent categories; with a deviation, the second class depends on b in a way of its own.

    The names of the classes have another order than the classes.
    """
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.integers(0, 5, n_rows), "b": rng.integers(0, 3, n_rows)})
    X["k"] = pd.Series(rng.integers(0, 3, n_rows)).map(lambda k: "pqr"[k])
    shape = 0.8 * np.sin(X["a"]) + 0.4 * X["b"] + 0.3 * (X["k"] == "q")
    log_odds = np.outer(shape, np.arange(n_classes)) + rng.normal(0, 0.3, n_classes)
    log_odds[:, 1] += deviation * (X["b"] - 1)
    p = softmax(log_odds, axis=1)
    y = (rng.random((n_rows, 1)) > p.cumsum(axis=1)).sum(axis=1)
    names = ["low", "mid", "high", "top"][:n_classes]
    return X, pd.Series(y).map(lambda c: names[c]).rename("grade"), rng.uniform(0.5, 2.0, n_rows), names


def fitted(seed, estimator=None, *, n_classes=4, weighted=True, **options):
    X, y, weights, names = rows(seed, n_classes)
    states = {"a": range(6), "b": range(3), "k": ["p", "q", "r", "s"]}  # 5 and "s" occur in no row
    estimator = (estimator or NaiveBayesClassifier()).set_params(categories=states)
    how = {"smooth": STRENGTHS, "ordered_classes": names, **options}
    return AdditiveClassifier(estimator, **how).fit(X, y, weights if weighted else None)


class Restricted:
    """The penalised likelihood as a function of the intercept of every class, and of the cells of all other terms."""

    def __init__(self, refitted, names):
        self.problem = refitted.problem
        self.s, self.k = self.problem.n_classes, self.problem.n_cells
        self.precision = block_diag(*self.problem.precisions(refitted.smoothness.strengths))
        ranks = np.arange(self.s) - (self.s - 1) / 2
        self.of_class = np.array([ranks[["low", "mid", "high", "top"].index(name)] for name in names])
        to_shifts = np.zeros((self.k, self.s, self.s + self.k - 1))
        to_shifts[0, :, : self.s] = np.eye(self.s) - 1 / self.s
        for cell in range(1, self.k):
            to_shifts[cell, :, self.s + cell - 1] = self.of_class
        self.to_shifts = to_shifts
        self.indicators = np.zeros((len(self.problem.cells), self.k))
        self.indicators[np.arange(len(self.problem.cells))[:, None], self.problem.cells] = 1.0
        self.to_odds = np.einsum("tk,kcp->tcp", self.indicators, to_shifts)

    def value(self, theta):
        shift, odds = self.to_shifts @ theta, self.problem.base + self.to_odds @ theta
        penalty = np.einsum("ic,ij,jc", shift, self.precision, shift) / 2
        likelihood = (self.problem.weights * log_softmax(odds, axis=1)).sum()
        rest = self.problem.weights - self.problem.weights.sum(axis=1, keepdims=True) * softmax(odds, axis=1)
        gradient = np.einsum("tc,tcp->p", rest, self.to_odds)
        gradient -= np.einsum("kcp,kc->p", self.to_shifts, self.precision @ shift)
        return penalty - likelihood, -gradient

    def covariance(self, theta):
        """The posterior covariance of all shifts, (cells, classes, cells, classes)."""
        p = softmax(self.problem.base + self.to_odds @ theta, axis=1)
        totals = self.problem.weights.sum(axis=1)
        mean = np.einsum("tc,tcp->tp", p, self.to_odds)
        centred = self.to_odds - mean[:, None]
        hessian = np.einsum("t,tc,tcp,tcq->pq", totals, p, centred, centred, optimize=True)
        hessian += np.einsum("kcp,kl,lcq->pq", self.to_shifts, self.precision, self.to_shifts, optimize=True)
        hessian[: self.s, : self.s] += np.full((self.s, self.s), 1e6)  # the mean of the intercepts does not count
        return np.einsum("kcp,pq,ldq->kcld", self.to_shifts, np.linalg.inv(hessian), self.to_shifts, optimize=True)


@pytest.mark.parametrize(("n_classes", "interactions"), [(4, "families"), (3, "families"), (4, "none")])
def test_fit_is_the_maximum_of_the_restricted_likelihood(n_classes, interactions):
    model = fitted(n_classes, TANClassifier(), n_classes=n_classes, interactions=interactions)
    refitted = model.logit_.refitted
    oracle = Restricted(refitted, model.classes_)
    start = np.zeros(oracle.s + oracle.k - 1)
    found = minimize(oracle.value, start, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 2_000})
    assert refitted.fit.converged
    assert refitted.fit.penalised == pytest.approx(-found.fun, abs=1e-6)
    np.testing.assert_allclose(refitted.fit.shift, oracle.to_shifts @ found.x, atol=1e-3)


def test_curvature_is_that_of_the_restricted_likelihood():
    model = fitted(5, TANClassifier())
    refitted = model.logit_.refitted
    oracle = Restricted(refitted, model.classes_)
    shift = refitted.fit.shift
    multiples = shift[1:] @ oracle.of_class / (oracle.of_class @ oracle.of_class)
    expected = oracle.covariance(np.concatenate([shift[0], multiples]))
    close = {"rtol": 1e-6, "atol": 1e-6 * expected.max()}
    for contrast in (np.array([1.0, -1.0, 0.0, 0.0]), np.array([0.75, -0.25, -0.25, -0.25])):
        own = np.einsum("kcld,c,d->kl", expected, contrast, contrast)
        np.testing.assert_allclose(refitted.curvature.covariance(contrast), own, **close)
    contrasts = np.linalg.svd(np.eye(4) - 0.25)[0][:, :3]
    whole = np.einsum("kcld,ca,db->kalb", expected, contrasts, contrasts)
    for cells in (slice(0, oracle.k), refitted.problem.terms[2].cells):
        n = 3 * (cells.stop - cells.start)
        own = whole[cells][:, :, cells].reshape(n, n)
        np.testing.assert_allclose(refitted.curvature.block(cells, contrasts), own, **close)
    np.testing.assert_allclose(refitted.curvature.total, np.einsum("kala->kl", whole), **close)


@pytest.mark.slow
def test_without_a_penalty_it_is_the_log_linear_model_of_statsmodels():
    """Agresti (2010), section 6.3: adjacent categories are a Poisson model with a main effect for every covariate."""
    import statsmodels.api as sm

    X, y, _, names = rows(1, n_rows=400)
    X = X[["a", "b"]]
    model = AdditiveClassifier(NaiveBayesClassifier(), smooth=0.0, ordered_classes=names, max_iter=500)
    logit = model.fit(X, y).logit_.refit(X, y, smooth=0.0, l2=1e-6, ordered_classes=names)
    counts = pd.crosstab([X["a"], X["b"]], y)[names]
    a, b = (counts.index.get_level_values(name) for name in "ab")
    cell, rank = (part.ravel() for part in np.indices(counts.shape))
    design = np.column_stack(
        [np.eye(len(counts))[cell], np.eye(4)[rank][:, 1:], rank[:, None] * np.eye(5)[a[cell]][:, 1:],
         rank[:, None] * np.eye(3)[b[cell]][:, 1:]]
    )  # fmt: skip
    expected = sm.GLM(counts.to_numpy().ravel(), design, family=sm.families.Poisson()).fit(tol=1e-12).fittedvalues
    expected = expected.reshape(counts.shape) / counts.to_numpy().sum(axis=1, keepdims=True)
    found = logit.predict_proba(counts.index.to_frame(index=False))
    np.testing.assert_allclose(found[:, [logit.classes_.tolist().index(name) for name in names]], expected, atol=1e-5)


@pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), TANClassifier()])
def test_adjacent_log_odds_share_their_shapes(estimator, tmp_path):
    """In predictions, explanations, the network, and after they are saved; the strengths are chosen."""
    X, y, _, names = rows(3)
    y = y.astype(pd.CategoricalDtype(names, ordered=True))
    model = AdditiveClassifier(estimator, ordered_classes=True).fit(X, y)
    order = [model.classes_.tolist().index(name) for name in names]
    logs = np.log(model.predict_proba(X))[:, order]
    steps = np.diff(logs, axis=1)
    assert np.ptp(steps, axis=0).min() > 0.1
    np.testing.assert_allclose(steps - steps[0], (steps - steps[0])[:, :1].repeat(3, axis=1), atol=1e-10)
    for low, high in pairwise(names):
        explained = model.explain(X.head(3), label=high, against=low)
        step = logs[:3, names.index(high)] - logs[:3, names.index(low)]
        np.testing.assert_allclose([own.log_odds for own in explained], step, atol=1e-10)
    np.testing.assert_allclose(model.discrete_form().predict_proba(X), model.predict_proba(X), atol=1e-10)
    frame = model.logit_.shapes().to_frame().pivot_table(index=["term", "states"], columns="class", values="log_odds")
    np.testing.assert_allclose(frame["top"] - frame["high"], frame["mid"] - frame["low"], atol=1e-10)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.logit_.refitted.constraints.class_order == tuple(order)
    assert again.logit_.order_test().p_value == pytest.approx(model.logit_.order_test().p_value)


def test_conditions_on_shapes_hold_for_all_classes():
    model = fitted(7, monotone={"a": -1})
    refitted = model.logit_.refitted
    oracle = Restricted(refitted, model.classes_)
    cells = np.arange(*refitted.problem.terms[1].cells.indices(oracle.k))
    first = oracle.s + cells[0] - 1
    forms = np.diff(np.eye(5, oracle.s + oracle.k - 1, first), axis=0)
    found = minimize(
        oracle.value, np.zeros(oracle.s + oracle.k - 1), jac=True, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda theta: -forms @ theta, "jac": lambda _: -forms},
        options={"maxiter": 1_000, "ftol": 1e-12},
    )  # fmt: skip
    assert refitted.proof.active
    assert refitted.fit.penalised == pytest.approx(-found.fun, abs=1e-5)
    for label, sign in (("top", -1), ("low", 1)):
        same = fitted(7, monotone={"a": {label: sign}}).logit_.refitted.fit.penalised
        assert same == pytest.approx(refitted.fit.penalised, abs=2e-6)


def test_two_classes_are_not_restricted():
    X, y, _, _ = rows(2, n_classes=2)
    free, ordered = (
        AdditiveClassifier(NaiveBayesClassifier(), smooth=1.0, ordered_classes=order).fit(X, y)
        for order in (None, ["low", "mid"])
    )
    np.testing.assert_array_equal(free.predict_proba(X), ordered.predict_proba(X))


class TestOrderTest:
    def of(self, seed, deviation=0.0):
        X, y, _, names = rows(seed, n_rows=250, deviation=deviation)
        smooth = {"slope": 0.1, "curvature": 0.01, "level": 0.1}
        model = AdditiveClassifier(NaiveBayesClassifier(), smooth=smooth, ordered_classes=names).fit(X, y)
        return model.logit_.order_test()

    def test_statistic_is_twice_the_gain_of_the_free_fit(self):
        X, y, weights, names = rows(4)
        free, ordered = (
            AdditiveClassifier(NaiveBayesClassifier(), smooth=STRENGTHS, ordered_classes=order).fit(X, y, weights)
            for order in (None, names)
        )
        found = ordered.logit_.order_test()
        gain = free.logit_.refitted.fit.penalised - ordered.logit_.refitted.fit.penalised
        assert found.statistic == pytest.approx(2 * gain, abs=1e-8)
        gain = free.logit_.refitted.fit.log_likelihood - ordered.logit_.refitted.fit.log_likelihood
        assert found.gain == pytest.approx(gain, abs=1e-8)
        assert 0 < found.df < 2 * ordered.logit_.refitted.problem.n_cells
        assert f"p = {found.p_value:.2g}" in str(found)

    def test_without_a_penalty_it_has_a_degree_of_freedom_for_every_deviation(self):
        X, y, _, names = rows(4, n_rows=400)
        X = X[["a", "b"]]
        model = AdditiveClassifier(NaiveBayesClassifier(), smooth=0.0, ordered_classes=names).fit(X, y)
        found = model.logit_.refit(X, y, smooth=0.0, l2=1e-6, ordered_classes=names).order_test()
        assert found.df == pytest.approx(2 * (4 + 2), abs=1e-3)  # two contrasts more, of five states and of three

    @pytest.mark.slow
    def test_level_and_power(self):
        """Shares of p-values below 0.05 and 0.3: as many as there should be under the order, and more without it."""
        n = 70
        right = np.array([self.of(seed).p_value for seed in range(n)])
        wrong = np.array([self.of(seed, 1.2).p_value for seed in range(12)])
        for level in (0.05, 0.3):
            assert binom.ppf(0.005, n, level) <= (right < level).sum() <= binom.ppf(0.995, n, level)
        assert (wrong < 0.05).mean() > 0.5

    def test_is_refused_where_its_distribution_is_not_known(self):
        X, y, _, names = rows(4)
        how = {"smooth": 1.0, "ordered_classes": names}
        with pytest.raises(ValueError, match="not known under monotone"):
            AdditiveClassifier(NaiveBayesClassifier(), **how, monotone={"a": 1}).fit(X, y).logit_.order_test()
        with pytest.raises(ValueError, match="there is no order to test"):
            AdditiveClassifier(NaiveBayesClassifier(), smooth=1.0).fit(X, y).logit_.order_test()


def test_what_is_refused():
    X, y, _, names = rows(1)
    with pytest.raises(ValueError, match="this y has none: list the classes"):
        AdditiveClassifier(NaiveBayesClassifier(), ordered_classes=True).fit(X, y)
    with pytest.raises(ValueError, match="lacks 'mid'"):
        AdditiveClassifier(NaiveBayesClassifier(), ordered_classes=["low", "high", "top"]).fit(X, y)
    with pytest.raises(ValueError, match="names 'mid' for 'a', but with ordered_classes"):
        AdditiveClassifier(NaiveBayesClassifier(), ordered_classes=names, monotone={"a": {"mid": 1}}).fit(X, y)
    logit = NaiveBayesClassifier().fit(X, y).to_logit()
    with pytest.raises(ValueError, match="needs smooth shapes"):
        logit.refit(X, y, ordered_classes=names)


@pytest.mark.slow
def test_is_compared_with_the_free_model():
    X, y, _, names = rows(6)
    own = y.astype(pd.CategoricalDtype(names, ordered=True))
    models = {
        order: AdditiveClassifier(NaiveBayesClassifier(), smooth=1.0, ordered_classes=order) for order in (None, True)
    }
    found = compare(X, own, models={"free": models[None], "ordered": models[True]}, folds=2)
    assert set(found.index) == {"free", "ordered"}
