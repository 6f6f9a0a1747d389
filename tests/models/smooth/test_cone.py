"""Constrained fits: scipy's maximum under the same conditions, and what then holds for the posterior."""

from functools import cache
from itertools import product

import numpy as np
import oracles
import pandas as pd
import pytest
import tiers
from scipy.optimize import minimize

from anbexact import AdditiveClassifier, ANBClassifier, NaiveBayesClassifier, TANClassifier, load
from anbexact.models.smooth.cone import GAP, Cone
from anbexact.models.smooth.terms import Axis, SmoothTerm

STRENGTHS = {"slope": 0.5, "curvature": 0.01, "level": 0.7, "interaction": 0.8}


def rows(seed, n_classes=2, n_rows=150, sizes=(4, 3, 3), unseen=False):
    """A table of whole numbers and a class that depends on them, and not monotonically."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.integers(0, size, n_rows) for name, size in zip("abk", sizes, strict=True)})
    X["b"] = (X["a"] + X["b"]) % sizes[1]
    score = np.sin(2.0 * X["a"]) + X["b"] * (X["a"] > 1) - 0.5 * X["k"] + rng.normal(size=n_rows)
    y = pd.Series(np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)), name="c")
    states = {name: range(size + unseen) for name, size in zip("abk", sizes, strict=True)}
    return X, y.map(lambda c: "uvw"[c]), rng.uniform(0.5, 2.0, n_rows), states


def fitted(seed, estimator=None, *, n_classes=2, smooth=STRENGTHS, **options):
    X, y, weights, states = rows(seed, n_classes, unseen=options.pop("unseen", False))
    estimator = (estimator or TANClassifier()).set_params(categories=states)
    return AdditiveClassifier(estimator, smooth=smooth, **options).fit(X, y, weights)


@cache
def grid(refitted):
    """All joint states of the features, and the indicators of their cells, (joint states, cells)."""
    problem = refitted.problem
    names = list(dict.fromkeys(name for term in problem.terms for name in term.features))
    sizes = [len(axis.groups) for name in names for term in problem.terms if term.features == (name,)
             for axis in term.axes]  # fmt: skip
    states = list(product(*map(range, sizes)))
    found = np.zeros((len(states), problem.n_cells))
    for row, state in zip(found, states, strict=True):
        for term in problem.terms:
            own = tuple(int(axis.groups[state[names.index(axis.feature)]]) for axis in term.axes)
            row[term.first + int(np.ravel_multi_index(own, term.shape) if own else 0)] = 1.0
    return names, states, found


def lines(refitted, feature):
    """For every joint state of the other features, the indicators of all states of a feature, in their order."""
    names, states, found = grid(refitted)
    j = names.index(feature)
    for others in dict.fromkeys(state[:j] + state[j + 1 :] for state in states):
        yield np.array(
            [row for state, row in zip(states, found, strict=True) if state[:j] + state[j + 1 :] == others]
        )


def best(refitted, conditions):
    """The highest penalised likelihood by SLSQP; conditions are (feature, order of difference, up, down)."""
    problem, s = refitted.problem, refitted.problem.n_classes
    row, classes = np.nonzero(problem.weights)
    indicators = np.zeros((len(row), problem.n_cells))
    indicators[np.arange(len(row))[:, None], problem.cells[row]] = 1.0
    precision = problem.ridge * np.eye(problem.n_cells)
    for term in problem.terms[1:]:
        for kind, form in term.penalties.items():
            precision[term.cells, term.cells] += STRENGTHS[kind] * form
    objective = oracles.Smooth(indicators, problem.base[row], classes, problem.weights[row, classes], precision)
    forms = forms_of(refitted, conditions)
    found = minimize(
        lambda flat: -objective.value(flat.reshape(-1, s)),
        np.zeros(problem.n_cells * s),
        jac=lambda flat: -objective.gradient(flat.reshape(-1, s)).ravel(),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda flat: forms @ flat, "jac": lambda _: forms},
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    # With so small a tolerance, it often ends because it finds no step that improves. The values decide.
    assert found.success or found.status == 8
    return -found.fun, found.x.reshape(-1, s)


def forms_of(refitted, conditions):
    """What must not be negative, as linear forms of the flattened shifts, (forms, cells · classes)."""
    found = []
    for feature, order, up, down in conditions:
        contrast = np.zeros(refitted.problem.n_classes)
        contrast[up], contrast[down] = 1.0, -1.0
        for line in lines(refitted, feature):
            found += [np.outer(form, contrast).ravel() for form in np.diff(line, n=order, axis=0)]
    return np.unique(np.round(found, 12), axis=0)


def best_as_a_cone_program(refitted, conditions):
    """The highest penalised likelihood by cvxpy, whose solver works on exponential and quadratic cones."""
    import cvxpy as cp

    problem, s = refitted.problem, refitted.problem.n_classes
    indicators = np.zeros((len(problem.cells), problem.n_cells))
    indicators[np.arange(len(problem.cells))[:, None], problem.cells] = 1.0
    shift = cp.Variable((problem.n_cells, s))
    odds = problem.base + indicators @ shift
    likelihood = cp.sum(cp.multiply(problem.weights, odds)) - problem.weights.sum(axis=1) @ cp.log_sum_exp(
        odds, axis=1
    )
    penalties = [
        cp.sum_squares(np.linalg.cholesky(own).T @ shift[term.cells])
        for term, own in zip(problem.terms, problem.precisions(refitted.smoothness.strengths), strict=True)
    ]
    program = cp.Problem(
        cp.Maximize(likelihood - cp.sum(penalties) / 2),
        [forms_of(refitted, conditions) @ cp.vec(shift, order="C") >= 0],
    )
    return program.solve(solver=cp.CLARABEL)


CONDITIONS = {
    "one feature": ({"monotone": {"a": 1}}, [("a", 1, 1, 0)]),
    "down": ({"monotone": {"b": -1}}, [("b", 1, 0, 1)]),
    "both features of a pair": ({"monotone": {"a": 1, "b": 1}}, [("a", 1, 1, 0), ("b", 1, 1, 0)]),
    "convex": ({"convex": ["a"]}, [("a", 2, 1, 0)]),
    "concave and rising": ({"concave": ["a"], "monotone": {"a": 1}}, [("a", 2, 0, 1), ("a", 1, 1, 0)]),
}


class TestTheOptimum:
    @pytest.mark.parametrize("name", CONDITIONS)
    @pytest.mark.parametrize("seed", range(2))
    def test_is_that_of_scipy(self, name, seed):
        """The conditions of the oracle are those on the log odds, for all joint states of the other features."""
        options, conditions = CONDITIONS[name]
        refitted = fitted(seed, **options).logit_.refitted
        value, shift = best(refitted, conditions)
        assert refitted.fit.converged
        assert refitted.fit.penalised == pytest.approx(value, abs=2e-5)
        assert refitted.fit.penalised >= value - GAP - 1e-9
        _, _, all_cells = grid(refitted)
        np.testing.assert_allclose(all_cells @ refitted.shift, all_cells @ shift, atol=5e-3)

    @pytest.mark.real("cvxpy")
    @pytest.mark.parametrize("name", CONDITIONS)
    def test_is_that_of_cvxpy(self, name):
        options, conditions = CONDITIONS[name]
        refitted = fitted(3, **options).logit_.refitted
        assert refitted.fit.penalised == pytest.approx(best_as_a_cone_program(refitted, conditions), abs=1e-4)

    @pytest.mark.real("cvxpy")
    def test_of_three_classes_is_that_of_cvxpy(self):
        refitted = fitted(1, n_classes=3, monotone={"a": {"v": 1}, "b": {"u": -1}}).logit_.refitted
        conditions = [("a", 1, 1, 0), ("a", 1, 1, 2), ("b", 1, 1, 0), ("b", 1, 2, 0)]
        assert refitted.proof.active > 0
        assert refitted.fit.penalised == pytest.approx(best_as_a_cone_program(refitted, conditions), abs=1e-4)

    @pytest.mark.parametrize("sign", [1, -1])
    def test_of_a_class_against_all_others_is_that_of_scipy(self, sign):
        refitted = fitted(1, NaiveBayesClassifier(), n_classes=3, monotone={"a": {"v": sign}}).logit_.refitted
        pairs = [("a", 1, *((1, d) if sign > 0 else (d, 1))) for d in (0, 2)]
        value, _ = best(refitted, pairs)
        assert refitted.proof.active > 0
        assert refitted.fit.penalised == pytest.approx(value, abs=2e-5)

    def test_is_the_same_if_differences_of_classes_are_not_kept_apart(self, monkeypatch):
        options = {"n_classes": 3, "monotone": {"a": {"v": 1}, "b": {"v": -1}}}
        blocks = fitted(1, **options).logit_.refitted
        monkeypatch.setattr(Cone, "hub", None)
        whole = fitted(1, **options).logit_.refitted
        assert blocks.proof.active > 0
        assert blocks.fit.penalised == pytest.approx(whole.fit.penalised, abs=2 * GAP)
        np.testing.assert_allclose(blocks.shift, whole.shift, atol=1e-4)

    @pytest.mark.parametrize("seed", tiers.repeats(6))
    def test_has_a_gap_that_bounds_what_other_shapes_gain(self, seed):
        """Weak duality: no random shapes that meet the conditions exceed the fit by more than the gap."""
        refitted = fitted(seed, monotone={"a": 1}, convex=["b"]).logit_.refitted
        assert 0 < refitted.proof.gap <= GAP
        assert 0 <= refitted.proof.active <= refitted.proof.conditions
        free = fitted(seed).logit_.refitted
        assert refitted.proof.cost == pytest.approx(free.fit.penalised - refitted.fit.penalised, abs=1e-5)

    def test_is_the_free_one_if_that_meets_the_conditions(self):
        free = fitted(2, NaiveBayesClassifier()).logit_.refitted
        (line, *_) = lines(free, "k")
        steps = np.diff(line @ (free.shift[:, 1] - free.shift[:, 0]))
        assert (steps < 0).all()
        bound = fitted(2, NaiveBayesClassifier(), monotone={"k": -1}).logit_.refitted
        np.testing.assert_allclose(bound.shift, free.shift, atol=1e-4)
        assert bound.proof.cost < GAP

    def test_holds_for_all_conditions_if_few_are_considered_at_first(self, monkeypatch):
        whole = fitted(0, monotone={"a": 1, "b": 1}).logit_.refitted
        monkeypatch.setattr("anbexact.models.smooth.cone.ALL_CONDITIONS", 0)
        parts = fitted(0, monotone={"a": 1, "b": 1}).logit_.refitted
        assert parts.proof.conditions == whole.proof.conditions
        assert parts.fit.penalised == pytest.approx(whole.fit.penalised, abs=2 * GAP)
        np.testing.assert_allclose(parts.shift, whole.shift, atol=1e-4)

    def test_of_too_many_conditions_is_refused(self, monkeypatch):
        monkeypatch.setattr("anbexact.models.smooth.cone.MOST_CONDITIONS", 3)
        with pytest.raises(ValueError, match="constrain fewer features"):
            fitted(0, monotone={"a": 1})


def along(model, X, feature, states):
    """Ln P(class | row) for rows in which a feature takes all its states one after the other, (rows, states, s)."""
    changed = [X.assign(**{feature: state}) for state in states]
    return np.stack([model.predict_log_proba(frame) for frame in changed], axis=1)


def against_rest(logs, c):
    """Ln P(c) / (1 - P(c))."""
    rest = np.delete(logs, c, axis=-1)
    return logs[..., c] - np.log(np.exp(rest - rest.max(axis=-1, keepdims=True)).sum(axis=-1)) - rest.max(axis=-1)


class TestThePosterior:
    @pytest.mark.parametrize("estimator", [TANClassifier(), ANBClassifier()])
    @pytest.mark.parametrize("seed", tiers.repeats(4))
    def test_of_two_classes_does_not_fall(self, seed, estimator):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
        score = np.sin(2 * X["a"]) * X["b"] + X["c"] * X["a"] + rng.normal(size=200)
        how = {"intervals": 8, "smooth": STRENGTHS}
        model = AdditiveClassifier(estimator, monotone={"a": 1, "c": -1}, **how).fit(X, score > 0)
        assert model.logit_.refitted.proof.active > 0
        new = pd.DataFrame(rng.normal(size=(100, 4)) * 2, columns=list("abcd"))
        values = np.sort(rng.normal(size=20) * 2)
        for feature, sign in (("a", 1), ("c", -1)):
            logs = along(model, new, feature, values)
            assert (sign * np.diff(logs[..., 1] - logs[..., 0], axis=1) >= 0).all()
            assert (sign * np.diff(np.exp(logs[..., 1]), axis=1) >= 0).all()

    @pytest.mark.parametrize("seed", tiers.repeats(3))
    def test_of_a_class_does_not_fall_against_the_rest(self, seed):
        """Even if the shares of the classes change."""
        model = fitted(seed, n_classes=3, monotone={"a": {"v": 1}})
        X = rows(seed + 100, 3)[0]
        logs = along(model, X, "a", range(4))
        rng = np.random.default_rng(seed)
        for shares in (np.ones(3), rng.dirichlet(np.ones(3)), np.array([1e-6, 1.0, 1e3])):
            assert (np.diff(against_rest(logs + np.log(shares), 1), axis=1) >= 0).all()

    def test_of_a_concave_class_is_concave_against_the_rest(self):
        model = fitted(0, n_classes=3, concave={"a": "v"})
        assert model.logit_.refitted.proof.active > 0
        logs = along(model, rows(5, 3)[0], "a", range(4))
        assert (np.diff(against_rest(logs, 1), n=2, axis=1) <= 1e-12).all()

    def test_does_not_fall_where_cells_of_features_in_other_families_are_missing(self):
        model = fitted(1, NaiveBayesClassifier(), monotone={"a": 1})
        X = rows(1)[0].astype(float).assign(b=np.nan)
        logs = along(model, X, "a", range(4))
        assert (np.diff(logs[..., 1] - logs[..., 0], axis=1) >= 0).all()

    def test_is_convex_in_the_middles_of_intervals(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"a": rng.exponential(size=300), "b": rng.normal(size=300)})
        y = np.sin(3 * X["a"]) + X["b"] * X["a"] + rng.normal(size=300) > 0
        model = AdditiveClassifier(TANClassifier(), convex=["a"], intervals=9, smooth=STRENGTHS).fit(X, y)
        assert ("a", "b") in [tuple(sorted(term.features)) for term in model.logit_.refitted.problem.terms]
        cuts = model.cut_points_["a"]
        ends = np.array([2 * cuts[0] - cuts[1], *cuts, 2 * cuts[-1] - cuts[-2]])
        middles = (ends[1:] + ends[:-1]) / 2
        logs = along(model, X[:50], "a", middles)
        slopes = np.diff(logs[..., 1] - logs[..., 0], axis=1) / np.diff(middles)
        assert (np.diff(slopes, axis=1) >= -1e-9).all()
        assert model.logit_.refitted.proof.active > 0

    def test_is_constant_beyond_bounds(self):
        rng = np.random.default_rng(3)
        X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
        y = np.sin(3 * X["a"]) + X["b"] * X["a"] + rng.normal(size=300) > 0
        bounds = {"a": (-1.0, None), "b": (-0.5, 0.7)}
        model = AdditiveClassifier(TANClassifier(), flat_beyond=bounds, smooth=STRENGTHS).fit(X, y)
        low = along(model, X[:20], "a", [-9.0, -2.0, -1.3, -1.0])
        np.testing.assert_allclose(low[:, :-1], low[:, 1:], atol=1e-12)
        high = along(model, X[:20], "b", [0.70001, 1.0, 2.0, 9.0])
        np.testing.assert_allclose(high[:, :-1], high[:, 1:], atol=1e-12)
        assert np.ptp(along(model, X[:20], "a", [-0.9, 0.0, 1.0, 2.5]), axis=1).min() > 0

    def test_of_numbers_is_constant_at_and_beyond_bounds(self):
        model = fitted(0, flat_beyond={"a": (1, None), "b": (None, 1)})
        logs = along(model, rows(0)[0], "a", range(4))
        np.testing.assert_allclose(logs[:, 0], logs[:, 1], atol=1e-12)
        assert (logs[:, 1] != logs[:, 2]).any()
        logs = along(model, rows(0)[0], "b", range(3))
        np.testing.assert_allclose(logs[:, 1], logs[:, 2], atol=1e-12)


class TestCyclicFeatures:
    @pytest.mark.parametrize("m", [3, 5])
    def test_have_penalties_that_join_the_ends(self, m):
        axis = Axis("a", np.arange(m + 1), m + 1, m, cyclic=True)  # the last state is outside the order
        values = np.random.default_rng(m).normal(size=m + 1)
        ring = values[:m]
        slope = m * sum((ring[(j + 1) % m] - ring[j]) ** 2 for j in range(m)) + 2 * (values[m] - values.mean()) ** 2
        bend = m**3 * sum((ring[(j + 2) % m] - 2 * ring[(j + 1) % m] + ring[j]) ** 2 for j in range(m))
        term = SmoothTerm((axis,), 0)
        assert values @ term.penalties["slope"] @ values == pytest.approx(slope)
        assert values @ term.penalties["curvature"] @ values == pytest.approx(bend)

    def test_do_not_depend_on_where_the_circle_is_cut(self):
        rng = np.random.default_rng(2)
        month = rng.integers(1, 13, 400)
        y = np.sin(2 * np.pi * month / 12) + rng.normal(size=400) > 0
        cut_elsewhere = (month + 4) % 12 + 1
        how = {"cyclic": ["month"], "smooth": {"slope": 1.0, "curvature": 0.05}}
        states = {"month": range(1, 13)}
        one, other = (
            AdditiveClassifier(NaiveBayesClassifier(categories=states, discretizer=None), **how)
            .fit(pd.DataFrame({"month": of_rows}), y)
            .predict_log_proba(pd.DataFrame({"month": of_rows}))
            for of_rows in (month, cut_elsewhere)
        )
        np.testing.assert_allclose(one, other, atol=1e-6)


REFUSED = {
    "an unknown feature": ({"monotone": {"z": 1}}, "'z', which is not a feature"),
    "a feature without an order": ({"monotone": {"word": 1}}, "have no order: name it in ordered"),
    "another number": ({"monotone": {"a": 2}}, r"monotone\['a'\] must be 1"),
    "no mapping": ({"monotone": ["a"]}, "must be a mapping"),
    "a text": ({"convex": "a"}, "must be a list"),
    "an unknown class": ({"monotone": {"a": {"z": 1}}}, "not one of the classes"),
    "both ways": ({"monotone": {"a": {"u": 1, "v": 1}}}, "contradict each other"),
    "convex and concave": ({"convex": ["a"], "concave": ["a"]}, "straight line"),
    "a circle that rises": ({"cyclic": ["a"], "monotone": {"a": 1}}, "only a constant shape"),
    "bounds the wrong way": ({"flat_beyond": {"a": (2, 1)}}, "two increasing numbers"),
    "bounds that leave nothing": ({"flat_beyond": {"x": (0.1, 0.1000001)}}, "farther apart"),
}


class TestConditions:
    @pytest.mark.parametrize("name", REFUSED)
    def test_that_make_no_sense_are_refused(self, name):
        options, message = REFUSED[name]
        X, y, _, _ = rows(0)
        X["word"] = np.where(X["a"] > 1, "x", "y")
        X["x"] = np.arange(len(X)) / len(X)
        with pytest.raises(ValueError, match=message):
            AdditiveClassifier(NaiveBayesClassifier(), smooth=STRENGTHS, **options).fit(X, y)

    def test_of_several_classes_name_one(self):
        with pytest.raises(ValueError, match="name the one whose odds are meant"):
            fitted(0, n_classes=3, monotone={"a": 1})

    def test_need_smooth_shapes(self):
        X, y, _, _ = rows(0)
        with pytest.raises(ValueError, match="smooth='auto', too"):
            TANClassifier().fit(X, y).to_logit().refit(X, y, monotone={"a": 1})

    def test_are_kept_in_files_and_told(self, tmp_path):
        model = fitted(0, monotone={"a": 1}, concave=["b"], cyclic=["k"])
        model.save(tmp_path / "model.json")
        loaded = load(tmp_path / "model.json")
        refitted, again = model.logit_.refitted, loaded.logit_.refitted
        assert (again.constraints, again.proof) == (refitted.constraints, refitted.proof)
        assert again.problem.terms[3].axes[0].cyclic == refitted.problem.terms[3].axes[0].cyclic
        X = rows(0)[0]
        np.testing.assert_array_equal(loaded.predict_log_proba(X), model.predict_log_proba(X))
        facts = model.logit_.facts()["refit"]
        assert facts["constraints"] == {
            "a": "log odds of v do not fall", "b": "log odds of v are concave", "k": "cyclic"
        }  # fmt: skip
        assert 0 < facts["optimality_gap"] <= GAP

    def test_hold_in_the_network_and_in_explanations(self):
        model = fitted(0, monotone={"a": 1})
        X = rows(3)[0]
        logs = along(model.logit_.to_classifier(), X, "a", range(4))
        np.testing.assert_allclose(logs, along(model, X, "a", range(4)), atol=1e-9)
        row = model.explain(X.head(1), label="v")[0]
        log_odds = model.predict_log_proba(X.head(1))[0]
        assert row.log_odds == pytest.approx(log_odds[1] - log_odds[0])

    def test_have_no_gaussian_prior(self):
        model = fitted(0, monotone={"a": 1}).logit_
        with pytest.raises(ValueError, match="cannot express"):
            model.refitted.as_shifts(model.structure)
