"""The objectives of ``docs/guides/smooth-shapes.md``, written down again from the page and maximised by scipy."""

import warnings
from dataclasses import replace
from functools import cache, partial
from math import prod

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from anbexact.adapters import to_logit
from anbexact.classifiers import FixedStructureClassifier
from anbexact.models.smooth.smoothness import (
    START,
    SameRows,
    Tuning,
    by_cross_validation,
    by_evidence,
    by_evidence_and_feature,
    by_feature,
    naive_bayes,
    of_similar_rows,
    tuned,
    tuned_alike,
)
from anbexact.models.smooth.terms import kinds_of
from anbexact.tables.folds import split_weights

GIVEN = {"slope": 0.7, "curvature": 0.05, "level": 0.4, "interaction": 0.6}


def slope(f):
    """A(f): (m - 1) Σ (f_{j+1} - f_j)²."""
    return (len(f) - 1) * sum((f[j + 1] - f[j]) ** 2 for j in range(len(f) - 1))


def bend(f):
    """B(f): (m - 1)³ Σ (f_{j+2} - 2 f_{j+1} + f_j)²."""
    return (len(f) - 1) ** 3 * sum((f[j + 2] - 2 * f[j + 1] + f[j]) ** 2 for j in range(len(f) - 2))


def level(f, which):
    """U(f): 2 Σ (f_j - mean)², of some states; the mean is that of all."""
    return 2 * sum((f[j] - sum(f) / len(f)) ** 2 for j in which)


def first_differences(f, ordered):
    """What one axis pays: A of the intervals in order, U of what has none."""
    return (slope(f[:ordered]) if ordered else 0.0) + level(f, range(ordered, len(f)))


def penalty(shape, ordered, kind, f):
    """What a function of the cells of a term pays for a strength of 1, without the ridge; for one class."""
    f = np.asarray(f).reshape(shape)
    if len(shape) == 1 and ordered[0]:
        return {"slope": first_differences(f, ordered[0]), "curvature": bend(f[: ordered[0]])}.get(kind, 0.0)
    if len(shape) == 1:
        return level(f, range(len(f))) if kind == "level" else 0.0
    if kind != "interaction":
        return 0.0
    total = 0.0
    for k, in_order in enumerate(ordered):
        lines = np.moveaxis(f, k, -1).reshape(-1, f.shape[k])
        total += sum(first_differences(line, in_order) for line in lines) / len(lines)
    return total


@cache
def matrix_of(shape, ordered, kind):
    """The matrix of a penalty, which is a quadratic form."""
    unit, form = np.eye(prod(shape)), partial(penalty, shape, ordered, kind)
    alone = [form(one) for one in unit]
    return np.array(
        [[(form(a + b) - alone[i] - alone[j]) / 2 for j, b in enumerate(unit)] for i, a in enumerate(unit)]
    )


def precision_of(problem, strengths):
    """The matrix of all penalties and the ridge."""
    found = problem.ridge * np.eye(problem.n_cells)
    for term in problem.terms[1:]:
        ordered = tuple(axis.ordered for axis in term.axes)
        for kind, strength in strengths.items():
            own = strength.get(term.features[0], 0.0) if isinstance(strength, dict) else strength
            found[term.cells, term.cells] += own * matrix_of(term.shape, ordered, kind)
    return found


def indicators(problem):
    found = np.zeros((len(problem.cells), problem.n_cells))
    for row, cells in zip(found, problem.cells, strict=True):
        row[cells] = 1.0
    return found


class Objective:
    """Σ_t w_t ln P(c_t | x_t) - ½ Σ_c δ_cᵀ P δ_c over all δ, (cells, classes), as a loss for scipy."""

    def __init__(self, problem, strengths):
        self.rows, self.weights, self.base = indicators(problem), problem.weights, problem.base
        self.precision = precision_of(problem, strengths)
        self.shape = problem.n_cells, problem.n_classes

    def loss(self, flat):
        delta = flat.reshape(self.shape)
        logs = log_softmax(self.base + self.rows @ delta, axis=1)
        return -(self.weights * logs).sum() + np.einsum("ic,ij,jc", delta, self.precision, delta) / 2

    def gradient(self, flat):
        delta = flat.reshape(self.shape)
        p = np.exp(log_softmax(self.base + self.rows @ delta, axis=1))
        total = self.weights.sum(axis=1, keepdims=True)
        return (-self.rows.T @ (self.weights - total * p) + self.precision @ delta).ravel()

    def hessian(self, flat):
        p = np.exp(log_softmax(self.base + self.rows @ flat.reshape(self.shape), axis=1))
        total = self.weights.sum(axis=1)
        n, s = self.shape
        found = np.zeros((n, s, n, s))
        for a in range(s):
            for b in range(s):
                own = total * p[:, a] * ((a == b) - p[:, b])
                found[:, a, :, b] = self.rows.T @ (own[:, None] * self.rows) + (a == b) * self.precision
        return found.reshape(n * s, n * s)

    def maximum(self):
        """δ at the maximum, and the value there."""
        start = np.zeros(self.shape[0] * self.shape[1])
        found = minimize(
            self.loss, start, jac=self.gradient, hess=self.hessian, method="trust-exact", options={"gtol": 1e-8}
        )
        return found.x.reshape(self.shape), -found.fun


def rows(n_rows=160, n_classes=3, seed=0):
    """Two columns of measurements, one of them with gaps, and one of three categories."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"a": rng.normal(size=n_rows), "b": rng.normal(size=n_rows), "k": rng.choice(list("uvw"), n_rows)}
    )
    score = np.sin(2 * X["a"]) + X["b"] * X["a"] / 2 + (X["k"] == "u") + rng.normal(size=n_rows)
    y = pd.Series(np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)), name="c").astype(str)
    X.loc[rng.random(n_rows) < 0.15, "b"] = np.nan
    return X, y, rng.integers(1, 4, n_rows).astype(float)


ONLY_MAINS = {"a": ["c"], "b": ["c"], "k": ["c"], "c": []}
GRAPHS = {
    "main effects": ONLY_MAINS,
    "a pair in order": {**ONLY_MAINS, "b": ["c", "a"]},
    "a pair with categories": {**ONLY_MAINS, "k": ["c", "b"]},
    "a triple": {**ONLY_MAINS, "a": ["c", "b", "k"]},
}


def refitted(graph, smooth, n_classes=3, n_rows=160, **how):
    X, y, weights = rows(n_rows, n_classes)
    network = FixedStructureClassifier(graph, handle_missing="own_state")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        network.fit(X, y, weights)
        return to_logit(network, X, weights, intervals=5).refit(X, y, weights, smooth=smooth, **how), X


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_refit_is_the_maximum_of_the_page(graph, n_classes):
    model, _ = refitted(GRAPHS[graph], GIVEN, n_classes, l2=0.02)
    found = model.refitted
    by_feature = {axis.feature: axis for term in found.problem.terms for axis in term.axes}
    assert {name: axis.size - axis.ordered for name, axis in by_feature.items()} == {"a": 0, "b": 1, "k": 3}
    delta, value = Objective(found.problem, GIVEN).maximum()
    assert found.fit.penalised == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(found.shift, delta, atol=1e-5)


def test_the_intercept_pays_the_ridge_too():
    model, _ = refitted(ONLY_MAINS, GIVEN, 2, l2=3.0)
    delta, _ = Objective(model.refitted.problem, GIVEN).maximum()
    np.testing.assert_allclose(model.refitted.shift, delta, atol=1e-5)
    np.testing.assert_allclose(model.refitted.shift[0].sum(), 0, atol=1e-9)


def test_two_categories_pay_as_two_states_in_order():
    assert level([0.3, -1.1], range(2)) == pytest.approx(slope([0.3, -1.1]))


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_a_share_of_naive_bayes_is_what_the_penalty_is_of(share):
    model, _ = refitted(GRAPHS["a pair in order"], {**GIVEN, "centre": share}, l2=0.02)
    problem = replace(model.refitted.problem, base=np.zeros_like(model.refitted.problem.base))
    centre = share * naive_bayes(problem)
    delta, _ = Objective(replace(problem, base=indicators(problem) @ centre), GIVEN).maximum()
    np.testing.assert_allclose(model.refitted.shift, delta + centre, atol=1e-5)


def problem_of(graph, n_classes=2, n_rows=160):
    model, _ = refitted(graph, GIVEN, n_classes, n_rows)
    return model.refitted.problem


def evidence(problem, strengths):
    """E(τ), on δ that sum to 0 over the classes."""
    objective = Objective(problem, strengths)
    delta, value = objective.maximum()
    s = problem.n_classes
    contrasts = np.linalg.svd(np.eye(s) - 1 / s)[0][:, : s - 1]
    within = np.kron(np.eye(problem.n_cells), contrasts)
    curved = within.T @ objective.hessian(delta.ravel()) @ within
    prior = within.T @ np.kron(objective.precision, np.eye(s)) @ within
    return value + (np.linalg.slogdet(prior)[1] - np.linalg.slogdet(curved)[1]) / 2


def residuals(problem, strengths, extra=0.0, common=None):
    """By kind, or by feature for curvatures, ln of the two sides of the page's equation."""
    objective = Objective(problem, strengths)
    delta, _ = objective.maximum()
    s = problem.n_classes
    contrasts = np.linalg.svd(np.eye(s) - 1 / s)[0][:, : s - 1]
    within = np.kron(np.eye(problem.n_cells), contrasts)
    covariance = within @ np.linalg.inv(within.T @ objective.hessian(delta.ravel()) @ within) @ within.T
    prior = within @ np.linalg.inv(within.T @ np.kron(objective.precision, np.eye(s)) @ within) @ within.T
    found = {}
    for kind, strength in strengths.items():
        for name in strength if isinstance(strength, dict) else [None]:
            own = strength if name is None else strength[name]
            unit = {kind: 1.0 if name is None else {name: 1.0}}
            form = np.kron(precision_of(replace(problem, ridge=0.0), unit), np.eye(s))
            gained = own * (np.vdot(prior, form) - np.vdot(covariance, form)) + extra
            paid = own * (delta.ravel() @ form @ delta.ravel()) + (extra * own / common if extra else 0.0)
            found[kind if name is None else name] = (np.log(gained / paid), gained)
    return found


def test_the_evidence_ends_where_its_derivatives_vanish_for_a_fixed_hessian():
    problem = problem_of(GRAPHS["a pair in order"])
    chosen, _ = by_evidence(problem)
    assert chosen.complete
    for kind, (change, degrees) in residuals(problem, chosen.strengths).items():
        assert abs(change) < 0.05 or degrees < 0.1 or chosen.strengths[kind] in (1e-5, 1e4, 1e3), kind


@pytest.mark.slow
def test_the_evidence_is_near_its_maximum():
    """Not at it: the steps do not ask how the Hessian at the maximum depends on the strengths."""
    problem = problem_of(ONLY_MAINS)
    chosen, _ = by_evidence(problem)
    kinds = list(chosen.strengths)

    def loss(logs):
        return -evidence(problem, dict(zip(kinds, np.exp(logs), strict=True)))

    start = np.log([chosen.strengths[kind] for kind in kinds])
    bounds = [(np.log(1e-5), np.log(1e3 if kind == "curvature" else 1e4)) for kind in kinds]
    found = minimize(loss, start, method="Nelder-Mead", bounds=bounds, options={"fatol": 1e-3, "maxfev": 60})
    assert loss(start) - found.fun < 0.5


def test_curvatures_by_feature_end_where_evidence_and_prior_do():
    problem = problem_of(ONLY_MAINS)
    common = by_evidence(problem)[0].strengths
    chosen, _ = by_evidence_and_feature(problem)
    own = chosen.strengths["curvature"]
    assert set(own) == {"a", "b"}
    assert {kind: chosen.strengths[kind] for kind in common if kind != "curvature"} == {
        kind: value for kind, value in common.items() if kind != "curvature"
    }
    found = residuals(problem, chosen.strengths, 1.0, common["curvature"])
    assert all(abs(found[name][0]) < 0.15 for name in own)


def test_another_refit_of_the_same_rows_tells_the_tuning(monkeypatch):
    """The climb starts from its strengths, and ends where it does without it."""
    problem = problem_of(ONLY_MAINS)
    usual, _ = by_evidence_and_feature(problem)
    tuning = Tuning(0.3, None, 0.5)
    far = {**usual.by_evidence, "slope": 100 * usual.by_evidence["slope"]}
    given = replace(usual, by_evidence=far, tuning=tuning)
    chosen, _ = tuned_alike(problem, SameRows(given))
    assert (chosen.tuning, chosen.centre, chosen.rule) == (tuning, 0.5, "auto")
    assert chosen.strengths == tuning.strengths(chosen.by_evidence)
    for kind, own in chosen.by_evidence.items():
        assert own == pytest.approx(usual.by_evidence[kind], rel=0.2), kind
    near, _ = tuned_alike(problem, SameRows(replace(usual, tuning=tuning)))
    assert near.rounds < usual.rounds
    flat = SameRows(replace(usual, tuning=Tuning(0.3, 0.1, 0.5)))
    assert tuned_alike(problem, flat)[0].strengths["curvature"] == 0
    monkeypatch.setattr("anbexact.models.smooth.smoothness.LITTLE_WORK", 0)  # slopes alone would not be tried then
    assert tuned_alike(problem, flat)[0].tuning == Tuning(0.3, None, 0.5)
    monkeypatch.setattr("anbexact.models.smooth.smoothness.is_slow", lambda _: True)
    slow, _ = tuned_alike(problem, SameRows(given))
    assert slow.tuning == Tuning()
    assert slow.strengths == slow.by_evidence


class HeldOut:
    """L(τ, share): every fold is predicted by scipy's fit to the others."""

    def __init__(self, problem):
        self.problem, self.known = problem, {}
        parts = split_weights(problem.weights, 5 if problem.weights.sum() < 2_000 else 3)
        self.folds = [(problem.weighted(problem.weights - part), problem.weighted(part)) for part in parts]

    def logs(self, strengths, share=0.0):
        """Ln P of the class of every left-out row, and the weights."""
        key = repr((sorted(strengths.items()), share))
        if key not in self.known:
            logs, weights = [], []
            for learned, left_out in self.folds:
                centre = share * naive_bayes(learned)
                drawn = replace(learned, base=learned.base + indicators(learned) @ centre)
                delta, _ = Objective(drawn, strengths).maximum()
                predicted = log_softmax(left_out.base + indicators(left_out) @ (delta + centre), axis=1)
                seen = left_out.weights > 0
                logs.append(predicted[seen])
                weights.append(left_out.weights[seen])
            self.known[key] = np.concatenate(logs), np.concatenate(weights)
        return self.known[key]

    def value(self, strengths, share=0.0):
        logs, weights = self.logs(strengths, share)
        return weights @ logs

    def surpasses(self, one, other):
        """Whether the gain is more than a standard error: Σ w g > (Σ w (g - ḡ)²)^½."""
        (logs, weights), (others, _) = self.logs(*one), self.logs(*other)
        gains = logs - others
        mean = weights @ gains / weights.sum()
        return weights @ gains > np.sqrt(weights @ (gains - mean) ** 2)


def best_common(held_out):
    """The best of the strengths that all kinds share, and then of those of interactions."""
    grid = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
    kinds = [kind for kind in kinds_of(held_out.problem.terms) if kind != "curvature"]
    together = max(grid, key=lambda tau: held_out.value(dict.fromkeys(kinds, tau)))
    found = dict.fromkeys(kinds, together)
    if "interaction" not in kinds:
        return found
    found["interaction"] = max(grid, key=lambda tau: held_out.value({**found, "interaction": tau}))
    return found


@pytest.mark.slow
def test_cross_validation_takes_the_best_of_its_strengths():
    problem = problem_of({"a": ["c"], "k": ["c", "a"], "b": [], "c": []}, n_rows=80)
    chosen, _ = by_cross_validation(problem)
    assert chosen.strengths == best_common(HeldOut(problem))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "arcs"), [(0, {}), (1, {}), (2, {}), (0, {"b": ["c"]})])
def test_cross_validation_takes_strengths_by_feature_if_they_predict_clearly_better(seed, arcs, monkeypatch):
    """The three classes depend on one of eight features."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 6, size=(200, 8)), columns=list("abcdefgh"))
    y = pd.Series(np.where(rng.random(200) < 0.9, X["a"] // 2, rng.integers(0, 3, 200)), name="class")
    parents = {name: ["class", *arcs.get(name, [])] for name in X} | {"class": []}
    network = FixedStructureClassifier(parents).fit(X, y)
    problem = to_logit(network, X).refit(X, y, smooth=1.0).refitted.problem
    chosen, _ = by_cross_validation(problem)
    held_out = HeldOut(problem)
    common = best_common(held_out)
    start = np.zeros((problem.n_cells, 3))
    own, _, _ = by_feature(problem, common, {"slope", "level"}, start, degrees=3.0)
    expected = common
    weaker = {
        kind: {name: 0.3 * tau for name, tau in of.items()} if isinstance(of, dict) else 0.3 * of
        for kind, of in own.items()
    }
    for candidate in (own, weaker):
        if held_out.surpasses((candidate,), (expected,)):
            expected = candidate
    assert expected is not common
    for name, tau in expected["slope"].items():
        assert chosen.strengths["slope"][name] == pytest.approx(tau, rel=0.05)
    assert chosen.strengths["slope"]["a"] == min(chosen.strengths["slope"].values())
    assert chosen.strengths.get("interaction") == expected.get("interaction")

    monkeypatch.setattr("anbexact.models.smooth.smoothness.MANY_ROWS_FOR_RELEVANCE", 199.0)
    many_rows, _ = by_cross_validation(problem)
    assert many_rows.strengths == common


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_default_rule_takes_what_predicts_left_out_rows(seed):
    model, _ = refitted({"a": ["c"], "k": ["c"], "b": [], "c": []}, GIVEN, 2, 60 + 40 * seed)
    problem = model.refitted.problem
    by_hand, shift = by_evidence_and_feature(problem)
    chosen, _ = tuned(problem, by_hand, shift)
    held_out = HeldOut(problem)

    def scaled(factor):
        return {
            kind: {name: factor * value for name, value in own.items()} if isinstance(own, dict) else factor * own
            for kind, own in by_hand.strengths.items()
        }

    factor = max((3.0, 1.0, 0.3, 0.1), key=lambda factor: held_out.value(scaled(factor), 0.25))
    best = (scaled(factor), 0.25)

    def with_centre(strengths):
        """½ or ¾ if better than ¼ by a standard error and than one another, else 0 if it is, else ¼."""
        quarter, half, more = ((strengths, share) for share in (0.25, 0.5, 0.75))
        if held_out.value(*half) > held_out.value(*quarter) and held_out.surpasses(half, quarter):
            better = held_out.value(*more) > held_out.value(*half) and held_out.surpasses(more, quarter)
            return more if better else half
        none = (strengths, 0.0)
        return none if held_out.surpasses(none, quarter) else quarter

    best = with_centre(best[0])
    slopes = [({**best[0], "slope": tau, "curvature": 0.0}, best[1]) for tau in (0.3, 0.1, 0.03, 0.01)]
    rough = slopes[0]
    for other in slopes[1:]:
        if held_out.value(*other) <= held_out.value(*rough):
            break
        rough = other
    if held_out.surpasses(rough, best):
        best = with_centre(rough[0]) if rough[1] == 0.25 else rough
    assert chosen.centre == best[1]
    assert chosen.strengths.keys() == best[0].keys()
    for kind, expected in best[0].items():
        assert chosen.strengths[kind] == pytest.approx(expected), kind


def test_similar_rows_tell_the_strengths_of_all_terms():
    """Kinds that they lack have the strengths at which climbs start; features that they lack, the mean of others."""
    problem = problem_of(GRAPHS["a pair in order"])
    usual, _ = by_evidence_and_feature(problem_of(ONLY_MAINS))
    assert "interaction" not in usual.strengths
    known = {**usual.by_evidence, "curvature": {"b": 0.04, "of another table": 0.01}}
    tuning = Tuning(0.3, None, 0.5)
    found = of_similar_rows(problem, replace(usual, by_evidence=known, tuning=tuning, complete=False))
    assert set(found.by_evidence) == set(kinds_of(problem.terms))
    assert found.by_evidence["interaction"] == START["interaction"]
    assert found.by_evidence["slope"] == usual.by_evidence["slope"]
    assert found.by_evidence["curvature"] == {"a": pytest.approx(0.02), "b": 0.04}
    assert found.strengths == tuning.strengths(found.by_evidence)
    assert (found.tuning, found.centre, found.rounds, found.complete) == (tuning, 0.5, 0, True)
    common = of_similar_rows(problem, replace(usual, by_evidence={"curvature": 0.03}, tuning=tuning))
    assert common.by_evidence["curvature"] == 0.03
