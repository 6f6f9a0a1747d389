"""Fits of conditional likelihood: optimum, separation, strength of the prior."""

import warnings
from itertools import product

import numpy as np
import oracles
import pandas as pd
import pytest
from deadlines import watch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from statsmodels.discrete.discrete_model import MNLogit
from strategies import Problem, problems, random_problem
from tiers import examples

import anbexact.models.logit.fit as fitting
import anbexact.models.logit.prior_precision as strengths
import anbexact.models.logit.refit as refitting
import anbexact.tables.folds as folding
from anbexact import ANBClassifier, NaiveBayesClassifier, RefittedClassifier, TANClassifier
from anbexact._runtime.deadline import Deadline
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_monks
from anbexact.models.logit.design import make_design
from anbexact.models.logit.potentials import class_families, network_potentials

COMMON_CHILD = {"f0": ["c"], "f1": ["c"], "f2": ["c", "f0", "f1"], "c": []}
CLASS_BELOW = {"f0": [], "f1": ["f0", "c"], "f2": ["c"], "c": ["f0"]}
GRAPHS = [COMMON_CHILD, CLASS_BELOW]
separated_or_not = pytest.mark.filterwarnings("ignore:the refit:UserWarning")


def fit(problem, estimator):
    X, y = problem.frame()
    return estimator.set_params(categories=problem.categories, discretizer=None).fit(X, y, problem.weights)


def families_of(model):
    """The features of each potential, by number."""
    number = {name: v for v, name in enumerate(model.vocabulary.names)}
    return [tuple(number[name] for name in potential.features) for potential in model.potentials]


def dense(problem, model, l2, seen_only=False):
    """The objective of ``refit`` on a problem's rows, for the network that a model was made of."""
    design, _ = oracles.cell_indicators(problem.rows, families_of(model), problem.arities)
    if seen_only:
        design = design[:, design.any(axis=0)]
    base = model.origin.classifier_of(model.network).predict_log_proba(problem.frame()[0])
    return oracles.Conditional(design, base, [row[-1] for row in problem.rows], problem.weights, l2)


def shift_of(model):
    """What the potentials were shifted by, all cells of all families, (cells, classes)."""
    before = network_potentials(model.network.tables, model.structure)
    pairs = zip(model.potentials, before, strict=True)
    return np.concatenate([(p.logs - q.logs).reshape(-1, q.logs.shape[-1]) for p, q in pairs])


def bfgs(objective):
    """The maximum by BFGS, from nought."""
    shape = objective.design.shape[1], objective.base.shape[1]
    total = objective.weights.sum()
    found = minimize(
        lambda x: -objective.value(x.reshape(shape)) / total,
        np.zeros(shape).ravel(),
        jac=lambda x: -objective.gradient(x.reshape(shape)).ravel() / total,
        method="BFGS",
        options={"gtol": 1e-9, "maxiter": 3000},
    )
    return found.x.reshape(shape)


def repeated(problem):
    """The same rows as often as their whole weights say, each of weight 1."""
    rows = [row for row, weight in zip(problem.rows, problem.weights, strict=True) for _ in range(int(weight))]
    return Problem(rows, [1.0] * len(rows), problem.arities)


class TestObjective:
    @pytest.mark.parametrize("l2", [0.0, 0.7])
    @pytest.mark.parametrize("n_classes", range(1, 7))
    @pytest.mark.parametrize("parents", GRAPHS)
    def test_value_and_derivatives(self, n_classes, l2, parents):
        problem = random_problem(n_classes, 3, n_rows=25, n_classes=n_classes, weights="real", unseen=False)
        classifier = fit(problem, FixedStructureClassifier(parents))
        model = classifier.to_logit()
        slow = dense(problem, model, l2, seen_only=True)
        design = make_design(problem.table, class_families(model.structure))
        objective = fitting._Objective(design, design.weights, model.potentials, l2)
        assert objective.shape == (slow.design.shape[1], n_classes)
        rng = np.random.default_rng(0)
        total = slow.weights.sum()
        shifts = rng.normal(size=(3, *objective.shape))
        objective.scaled_at(shifts[0])  # whose value is known then, with another scale
        for shift in shifts:
            direction = rng.normal(size=objective.shape)
            z = (shift * objective.scale).ravel()
            np.testing.assert_allclose(objective.shift(z), shift, rtol=1e-12)
            value, gradient = objective.value(z)
            assert value == pytest.approx(-slow.value(shift) / total, rel=1e-12, abs=1e-14)
            expected = -slow.gradient(shift) / total / objective.scale
            np.testing.assert_allclose(gradient.reshape(objective.shape), expected, rtol=0, atol=1e-11)
            product = objective.curvature(z, (direction * objective.scale).ravel())
            expected = -(slow.hessian(shift) @ direction.ravel()) / total / objective.scale.ravel()
            np.testing.assert_allclose(product, expected, rtol=0, atol=1e-11)
            unpenalised = oracles.Conditional(
                slow.design, slow.base, [row[-1] for row in problem.rows], slow.weights, 0
            )
            assert objective.log_likelihood(z) == pytest.approx(unpenalised.value(shift), rel=1e-12, abs=1e-11)

    @pytest.mark.parametrize("n_classes", range(2, 7))
    def test_derivatives_are_finite_differences(self, n_classes):
        problem = random_problem(n_classes, 3, n_rows=25, n_classes=n_classes, weights="real", unseen=False)
        classifier = fit(problem, FixedStructureClassifier(COMMON_CHILD))
        design = make_design(problem.table, class_families(classifier.structure_))
        centre = network_potentials(classifier.conditional_tables_, classifier.structure_)
        objective = fitting._Objective(design, design.weights, centre, 0.3)
        rng = np.random.default_rng(1)
        z = objective.scaled_at(rng.normal(size=objective.shape))
        for _ in range(5):
            d = rng.normal(size=len(z)) * 1e-5
            (above, of_above), (below, of_below) = objective.value(z + d), objective.value(z - d)
            assert above - below == pytest.approx(2 * objective.value(z)[1] @ d, rel=1e-5, abs=1e-13)
            np.testing.assert_allclose(of_above - of_below, 2 * objective.curvature(z, d), rtol=1e-4, atol=1e-10)

    def test_scale_makes_the_curvature_one(self):
        problem = random_problem(1, 3, n_rows=25, weights="real", unseen=False)
        model = fit(problem, FixedStructureClassifier(COMMON_CHILD)).to_logit()
        slow = dense(problem, model, 1.0, seen_only=True)
        design = make_design(problem.table, class_families(model.structure))
        objective = fitting._Objective(design, design.weights, model.potentials, 1.0)
        shift = np.random.default_rng(0).normal(size=objective.shape) / 10
        objective.scaled_at(shift)
        expected = np.sqrt(-np.diag(slow.hessian(shift)) / slow.weights.sum())
        np.testing.assert_allclose(objective.scale.ravel(), expected, rtol=1e-10)


class TestOptimum:
    @separated_or_not
    @examples(25)
    @given(problem=problems(max_features=3), l2=st.sampled_from([0, 0.01, 1, 100]))
    @pytest.mark.parametrize("model", [TANClassifier, ANBClassifier])
    def test_is_never_below_the_start(self, model, problem, l2):
        X, y = problem.frame()
        before = fit(problem, model()).to_logit()
        after = before.refit(X, y, problem.weights, l2=l2)
        found = after.refitted.fit
        start = before.log_likelihood(X, y, problem.weights)
        assert found.penalised >= start - 1e-9 * abs(start)
        assert found.penalised <= found.log_likelihood + 1e-12
        assert found.log_likelihood == pytest.approx(after.log_likelihood(X, y, problem.weights), rel=1e-9, abs=1e-9)
        expected = dense(problem, after, l2).value(shift_of(after))
        assert found.penalised == pytest.approx(expected, rel=1e-9, abs=1e-9)

    @separated_or_not
    @pytest.mark.parametrize("l2", [0, 0.01, 1, 100])
    @pytest.mark.parametrize("seed", range(4))
    def test_has_no_gradient(self, seed, l2):
        problem = random_problem(seed, 3, n_rows=300, max_arity=3, weights="real")
        X, y = problem.frame()
        model = (
            fit(problem, FixedStructureClassifier(GRAPHS[seed % 2])).to_logit().refit(X, y, problem.weights, l2=l2)
        )
        found = model.refitted.fit
        slow = dense(problem, model, l2)
        steepest = abs(slow.gradient(shift_of(model))).max() / slow.weights.sum()
        assert found.gradient == pytest.approx(steepest, abs=1e-9)
        assert found.converged or l2 == 0
        if found.converged:
            assert steepest <= 1e-6
            assert found.message == ""

    @pytest.mark.parametrize("l2", [0.01, 1, 30])
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("parents", GRAPHS)
    def test_is_that_of_bfgs(self, seed, l2, parents):
        problem = random_problem(seed, 3, n_rows=40, max_arity=2, weights="mixed")
        X, y = problem.frame()
        model = fit(problem, FixedStructureClassifier(parents)).to_logit().refit(X, y, problem.weights, l2=l2)
        slow = dense(problem, model, l2)
        best = bfgs(slow)
        assert model.refitted.fit.penalised == pytest.approx(slow.value(best), abs=1e-6, rel=1e-8)
        np.testing.assert_allclose(shift_of(model), best, rtol=0, atol=1e-3)
        np.testing.assert_allclose(model.predict_log_proba(X), slow.logs(best), rtol=0, atol=1e-3)

    @pytest.mark.parametrize("l2", [0.1, "auto"])
    @pytest.mark.parametrize("seed", range(3))
    def test_counts_a_weight_as_that_many_rows(self, seed, l2):
        problem = random_problem(seed, 3, n_rows=60, max_arity=3, unseen=False)
        rng = np.random.default_rng(seed)
        problem.weights = [float(w) for w in rng.integers(0, 4, 60)]
        (X, y), model = problem.frame(), fit(problem, TANClassifier()).to_logit()
        weighted = model.refit(X, y, problem.weights, l2=l2)
        copies = repeated(problem)
        order = rng.permutation(len(copies.rows))
        copies.rows = [copies.rows[t] for t in order]
        plain = model.refit(*copies.frame(), l2=l2)
        kept = np.array(problem.weights) > 0
        without = model.refit(X[kept], y[kept], np.array(problem.weights)[kept], l2=l2)
        for other in (plain, without):
            assert other.refitted.l2 == pytest.approx(weighted.refitted.l2, rel=1e-6)
            assert other.refitted.fit.penalised == pytest.approx(weighted.refitted.fit.penalised, rel=1e-9)
            np.testing.assert_allclose(other.predict_proba(X), weighted.predict_proba(X), rtol=0, atol=1e-5)

    def test_is_the_network_under_a_strong_prior(self):
        problem = random_problem(0, 4, weights="real")
        X, y = problem.frame()
        model = fit(problem, TANClassifier()).to_logit()
        after = model.refit(X, y, problem.weights, l2=1e12)
        np.testing.assert_allclose(after.coefficients, model.coefficients, rtol=0, atol=1e-6)
        assert abs(model.refit(X, y, problem.weights, l2=1).coefficients - model.coefficients).max() > 0.1

    @separated_or_not
    @pytest.mark.parametrize("l2", [0, 0.1])
    @pytest.mark.parametrize("seed", range(4))
    def test_leaves_entries_that_no_row_meets(self, seed, l2):
        problem = random_problem(seed, 3, n_rows=8, weights="real")
        X, y = problem.frame()
        model = fit(problem, FixedStructureClassifier(GRAPHS[seed % 2])).to_logit()
        after = model.refit(X, y, problem.weights, l2=l2)
        names = list(model.vocabulary.features)
        unmet = 0
        for before, potential in zip(model.potentials, after.potentials, strict=True):
            columns = [names.index(name) for name in potential.features]
            met = {tuple(row[v] for v in columns) for row in problem.rows}
            for cell in np.ndindex(potential.logs.shape[:-1]):
                if cell not in met:
                    unmet += 1
                    np.testing.assert_array_equal(potential.logs[cell], before.logs[cell])
        assert unmet > 3

    def test_starts_at_the_network_even_from_a_refit(self):
        problem = random_problem(2, 4, weights="real")
        X, y = problem.frame()
        first = fit(problem, TANClassifier()).to_logit().refit(X, y, problem.weights, l2=1)
        again = first.refit(X, y, problem.weights, l2=30).refit(X, y, problem.weights, l2=1)
        np.testing.assert_array_equal(again.coefficients, first.coefficients)

    def test_changes_nothing_of_the_model(self):
        problem = random_problem(2, 4)
        X, y = problem.frame()
        model = fit(problem, TANClassifier()).to_logit()
        before = [potential.logs.copy() for potential in model.potentials]
        model.refit(X, y, l2=1)
        assert model.refitted is None
        for logs, potential in zip(before, model.potentials, strict=True):
            np.testing.assert_array_equal(potential.logs, logs)

    @pytest.mark.parametrize("l2", [0, 1, "auto"])
    def test_of_one_class_is_certain(self, l2):
        problem = random_problem(2, 3, n_classes=1, unseen=False)
        X, y = problem.frame()
        model = fit(problem, TANClassifier()).to_logit().refit(X, y, l2=l2)
        assert model.refitted.fit.converged
        assert not model.refitted.fit.separated
        assert model.refitted.fit.log_likelihood == 0
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((60, 1)))

    def test_of_one_row_moves_towards_its_class(self):
        problem = random_problem(2, 3, unseen=False)
        X, y = problem.frame()
        model = fit(problem, TANClassifier()).to_logit()
        for l2 in (1, "auto"):
            after = model.refit(X[:1], y[:1], l2=l2)
            assert after.predict_proba(X[:1])[0, y[0]] >= model.predict_proba(X[:1])[0, y[0]]


def sharp_table(seed):
    """Small tables whose classes are linear in the states, without ties or with; or so but for errors; or random.

    In the former two every state of every feature occurs with every class, or nearly so.
    """
    rng = np.random.default_rng(seed)
    kind = seed % 4
    n, n_classes = int(rng.integers(4, 7) if kind < 2 else rng.integers(1, 5)), int(rng.integers(2, 4))
    arities = [*rng.integers(2, 3 if kind < 2 else 4, n).tolist(), n_classes]
    n_rows = int(rng.integers(30, 80) if kind < 2 else rng.integers(4, 60))
    for _ in range(30):
        codes = np.stack([rng.integers(0, arity, n_rows) for arity in arities[:-1]], axis=1)
        odds = sum(rng.integers(-1, 2, (arity, n_classes))[codes[:, v]] for v, arity in enumerate(arities[:-1]))
        best = odds == odds.max(axis=1, keepdims=True)
        labels = (best * (1 if kind == 0 else rng.random(best.shape))).argmax(axis=1)
        wrong = rng.random(n_rows) < [0, 0, 0.1, 1][kind]
        labels[wrong] = rng.integers(0, n_classes, wrong.sum())
        cells = {
            (v, row[v], label) for row, label in zip(codes.tolist(), labels.tolist(), strict=True) for v in range(n)
        }
        if kind > 1 or len(cells) == sum(arities[:-1]) * n_classes:
            break
    rows = [(*row, label) for row, label in zip(codes.tolist(), labels.tolist(), strict=True)]
    return Problem(rows, rng.choice([1.0, 2.0, 0.3], n_rows).tolist(), arities)


def some_graph(problem, seed):
    """Naive Bayes, a tree, or a general network over the variables of a problem."""
    rng = np.random.default_rng(seed)
    if seed % 4 == 0 or seed % 5 == 0:
        return NaiveBayesClassifier()
    if seed % 3 == 0:
        return TANClassifier()
    order = rng.permutation(problem.names).tolist()
    parents = {name: [a for a in order[:k] if rng.random() < 0.5][:2] for k, name in enumerate(order)}
    return FixedStructureClassifier(parents)


def has_empty_cell(slow):
    """Whether some cell that occurs does not occur with some class."""
    counts = slow.design.T @ slow.observed
    return bool((counts == 0).any())


@separated_or_not
class TestSeparation:
    @pytest.mark.parametrize("part", range(10))
    def test_is_found_where_a_linear_programme_finds_it(self, part):
        seen = set()
        for seed in range(30 * part, 30 * part + 30):
            problem = sharp_table(seed)
            X, y = problem.frame()
            classifier = fit(problem, some_graph(problem, seed))
            model = classifier.to_logit().refit(X, y, problem.weights, l2=0)
            slow = dense(problem, model, 0, seen_only=True)
            classes = [row[-1] for row in problem.rows]
            separated = oracles.is_separated(slow.design, classes, problem.arities[-1])
            found = model.refitted.fit
            assert found.separated == separated, seed
            assert found.converged == (not separated), (seed, found.message)
            assert bool(model.separated_terms) == separated
            if separated:
                self.check_direction(slow, found.direction)
            seen.add((separated, has_empty_cell(slow)))
        assert seen == {(True, True), (True, False), (False, False)}

    def check_direction(self, slow, direction):
        """Along the direction no row's likelihood falls, up to rounding of a step, and some row's rises."""
        assert abs(direction).max() == pytest.approx(1)
        change = slow.design @ direction
        lead = (slow.observed * change).sum(axis=1, keepdims=True) - change
        assert lead.max() > 0.01
        assert lead.min() >= -0.051 * lead.max()

    @pytest.mark.slow
    def test_is_never_taken_for_convergence(self):
        for seed in range(5, 165, 4):
            problem = sharp_table(seed)
            problem.weights = np.exp(np.random.default_rng(seed).normal(size=len(problem.rows))).tolist()
            X, y = problem.frame()
            classifier = fit(problem, some_graph(problem, seed))
            model = classifier.to_logit().refit(X, y, problem.weights, l2=0)
            slow = dense(problem, model, 0, seen_only=True)
            separated = oracles.is_separated(slow.design, [row[-1] for row in problem.rows], problem.arities[-1])
            assert model.refitted.fit.converged == (not separated), seed
            assert model.refitted.fit.separated == separated, seed

    def test_without_an_empty_cell(self):
        rows = [(a, b, c, int(a + b + c >= 2)) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
        problem = Problem(rows, [1.0] * 8, [2, 2, 2, 2])
        X, y = problem.frame()
        before = fit(problem, NaiveBayesClassifier()).to_logit()
        with pytest.warns(
            UserWarning, match=r"no finite maximum: the classes are separated \(f\d=\d: c=\d -> \d"
        ) as w:
            model = before.refit(X, y, l2=0)
        assert "on their way to infinity: use l2='auto' or a number above 0" in str(w[0].message)
        assert model.refitted.fit.separated
        assert not model.refitted.fit.converged
        assert model.log_likelihood(X, y) > -1e-2
        assert {"f0=0: c=1 -> 0", "f1=0: c=0 -> 1", "f2=1: c=1 -> 1"} <= set(model.separated_terms)
        assert "separated in" in repr(model)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not before.refit(X, y, l2=0.01).refitted.fit.separated

    def test_by_an_empty_cell_is_named(self):
        rows = [(0, 0), (0, 0), (0, 1), (1, 0), (1, 0), (2, 1), (2, 0), (2, 1)]
        problem = Problem(rows, [1.0] * 8, [3, 2])
        X, y = problem.frame()
        before = fit(problem, NaiveBayesClassifier()).to_logit()
        with pytest.warns(UserWarning, match=r"separated \(f0=1: c=1 -> 0\)\."):
            model = before.refit(X, y, l2=0)
        assert model.separated_terms == ["f0=1: c=1 -> 0"]
        assert before.separated_terms == []
        assert before.refit(X, y, l2=1).separated_terms == []
        assert before.convergence_message == ""

    def test_of_an_absent_class(self):
        problem = Problem([(0, 0), (0, 1), (1, 0), (1, 1)], [1.0] * 4, [2, 3])
        X, y = problem.frame()
        model = fit(problem, NaiveBayesClassifier()).to_logit().refit(X, y, l2=0)
        assert set(model.separated_terms) == {"(intercept): c=2 -> 0", "f0=0: c=2 -> 0", "f0=1: c=2 -> 0"}


def full_rank(design):
    """The columns that are no combination of those before."""
    kept = []
    for j in range(design.shape[1]):
        if np.linalg.matrix_rank(design[:, [*kept, j]]) > len(kept):
            kept.append(j)
    return design[:, kept]


class TestMaximumLikelihood:
    @pytest.mark.parametrize("seed", range(12))
    def test_is_that_of_statsmodels(self, seed):
        problem = random_problem(seed, 3, n_rows=300, max_arity=3, n_classes=2 + seed % 3, unseen=False)
        X, y = problem.frame()
        problem.weights = np.random.default_rng(seed).integers(1, 4, 300).astype(float).tolist()
        model = fit(problem, some_graph(problem, seed)).to_logit().refit(X, y, problem.weights, l2=0)
        assert model.refitted.fit.converged
        copies = repeated(problem)
        slow = dense(copies, model, 0, seen_only=True)
        theirs = MNLogit([row[-1] for row in copies.rows], full_rank(slow.design))
        theirs = theirs.fit(method="newton", maxiter=100, disp=False)
        assert theirs.mle_retvals["converged"]
        assert model.refitted.fit.log_likelihood == pytest.approx(theirs.llf, rel=1e-6)
        np.testing.assert_allclose(model.predict_proba(copies.frame()[0]), theirs.predict(), rtol=0, atol=1e-5)


class TestSplit:
    @given(weights=st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=12))
    def test_of_whole_weights_deals_row_by_row(self, weights):
        weights = np.array(weights, dtype=float)
        parts = folding.split_weights(weights, 5)
        order = np.random.default_rng(folding.SEED).permutation(len(weights))
        np.testing.assert_array_equal([part[order] for part in parts], oracles.dealt(weights[order], 5))
        np.testing.assert_array_equal(sum(parts), weights)
        for c in range(3):
            totals = [part[:, c].sum() for part in parts]
            assert max(totals) - min(totals) <= 1

    def test_of_whole_weights_is_that_of_repeated_rows(self):
        problem = random_problem(3, 3, n_rows=40, weights="whole", max_arity=2)
        problem.weights = [min(weight, 6.0) for weight in problem.weights]
        copies = repeated(problem)
        once = fit(problem, TANClassifier()).to_logit().refit(*problem.frame(), problem.weights)
        again = fit(copies, TANClassifier()).to_logit().refit(*copies.frame())
        assert once.refitted.strength == again.refitted.strength

    @pytest.mark.parametrize("folds", [3, 5])
    def test_of_all_combinations_leaves_no_state_to_one_fold(self, folds):
        rows = np.array(list(product(range(folds), repeat=4)))
        weights = np.eye(2)[(rows.sum(axis=1) > 2 * folds).astype(int)]
        for part in folding.split_weights(weights, folds):
            shares = [part[rows[:, j] == state].sum() / part.sum() for j in range(4) for state in range(folds)]
            assert 0.2 / folds < min(shares) <= max(shares) < 2 / folds

    @given(seed=st.integers(0, 999), spread=st.sampled_from([0.01, 1, 3]))
    def test_of_real_weights_is_a_partition(self, seed, spread):
        rng = np.random.default_rng(seed)
        weights = np.exp(rng.normal(0, spread, (40, 3))) * (rng.random((40, 3)) < 0.7)
        parts = folding.split_weights(weights, 5)
        assert len(parts) == 5
        assert all((part >= 0).all() for part in parts)
        np.testing.assert_allclose(sum(parts), weights, rtol=1e-15)
        unit = weights[weights > 0].mean()
        assert all(((part == 0) | (part == weights) | (weights >= 5 * unit)).all() for part in parts)

    @pytest.mark.parametrize("seed", range(5))
    def test_of_real_weights_is_balanced(self, seed):
        weights = np.exp(np.random.default_rng(seed).normal(0, 0.5, (400, 3)))
        totals = np.array([part.sum(axis=0) for part in folding.split_weights(weights, 5)])
        np.testing.assert_allclose(totals, [weights.sum(axis=0) / 5] * 5, rtol=0.25)


def by_class(distinct, weights):
    """The rows of a design, given their features and the weight of each class."""
    rows, weight = [], []
    for features, of_row in zip(distinct, weights, strict=True):
        for c, w in enumerate(of_row):
            if w > 0:
                rows.append((*features, c))
                weight.append(float(w))
    return rows, weight


class TestStrength:
    def slow_value(self, model, arities, parts, l2, centre):
        """Held-out log likelihood; every fit is by BFGS, around the network that ``centre`` gives for its rows."""
        design = model.refitted.design
        features = np.stack([design.states(name) for name in model.vocabulary.features], axis=1).tolist()
        total = 0.0
        for part in parts:
            left_in = Problem(*by_class(features, design.weights - part), arities)
            left_out = Problem(*by_class(features, part), arities)
            network = centre(left_in).to_logit()
            slow = dense(left_in, network, l2 or 1)
            shift = bfgs(slow) if l2 else np.zeros((slow.design.shape[1], arities[-1]))
            total += dense(left_out, network, 0).value(shift)
        return total

    @pytest.mark.parametrize(
        ("parents", "enough", "left_out"), [*((graph, 1_000, 3) for graph in GRAPHS), (GRAPHS[0], 30, 2)]
    )
    def test_tried_is_the_log_likelihood_of_left_out_rows(self, parents, enough, left_out, monkeypatch):
        monkeypatch.setattr(strengths, "PRECISION", 1e-8)
        monkeypatch.setattr(strengths, "ENOUGH", enough)
        monkeypatch.setattr(strengths, "FOLDS", 3)
        problem = random_problem(4, 3, n_rows=40, max_arity=2, n_classes=3)
        problem.weights = np.random.default_rng(0).integers(1, 4, 40).astype(float).tolist()
        X, y = problem.frame()
        network = FixedStructureClassifier(parents, ess=1.0)
        model = fit(problem, network).to_logit().refit(X, y, problem.weights)
        parts = folding.split_weights(model.refitted.design.weights, 3)[:left_out]
        scale = sum(problem.weights) / sum(part.sum() for part in parts)
        chosen = model.refitted.strength

        def relearned(left_in):
            return fit(left_in, FixedStructureClassifier(parents, ess=1.0))

        for l2, value in [(0, chosen.generative), *chosen.tried]:
            expected = scale * self.slow_value(model, problem.arities, parts, l2, relearned)
            assert value == pytest.approx(expected, rel=1e-5), l2
        self.check_choice(chosen)
        assert model.refitted.l2 == chosen.l2

    def test_all_folds_are_left_out_where_rows_are_in_groups(self, monkeypatch):
        problem = random_problem(4, 3, n_rows=60, max_arity=2, n_classes=3)
        X, y = problem.frame()
        groups, tried = np.arange(60) % 7, []
        for enough in (1_000, 10):
            monkeypatch.setattr(strengths, "ENOUGH", enough)
            for of in (groups, None):
                model = RefittedClassifier(NaiveBayesClassifier(ess=1.0), l2="auto").fit(X, y, groups=of)
                tried.append(model.logit_.refitted.strength.tried)
        assert tried[0] == tried[2]
        assert tried[1] != tried[3]

    def check_choice(self, chosen):
        """Strongest first, four at least, until one is worse than the one before; then the top of the parabola."""
        tried = [l2 for l2, _ in chosen.tried]
        values = [value for _, value in chosen.tried]
        assert tuple(tried) == strengths.STRENGTHS[: len(tried)]
        assert chosen.complete
        assert len(tried) > strengths.ALWAYS
        assert values[strengths.ALWAYS - 1 : -1] == sorted(values[strengths.ALWAYS - 1 : -1])
        assert len(tried) == len(strengths.STRENGTHS) or values[-1] < values[-2]
        best = int(np.argmax(values))
        if 0 < best < len(tried) - 1:
            bend, slope, _ = np.polyfit(np.log10(tried[best - 1 : best + 2]), values[best - 1 : best + 2], 2)
            assert chosen.l2 == pytest.approx(10 ** (-slope / (2 * bend)), rel=1e-6)
        else:
            assert chosen.l2 == tried[best]

    @pytest.mark.parametrize("seed", range(6))
    def test_choice_is_the_top_of_what_was_tried(self, seed):
        problem = random_problem(
            seed, 4, n_rows=30 * 4**seed % 2000 + 20, max_arity=3, weights=["real", "ones"][seed % 2]
        )
        X, y = problem.frame()
        model = fit(problem, TANClassifier()).to_logit().refit(X, y, problem.weights)
        self.check_choice(model.refitted.strength)

    def test_of_other_rows_does_not_relearn(self, monkeypatch):
        monkeypatch.setattr(strengths, "PRECISION", 1e-8)
        problem = random_problem(4, 3, n_rows=40, max_arity=2, unseen=False)
        other = random_problem(14, 3, n_rows=30, max_arity=2, unseen=False)
        classifier = fit(problem, FixedStructureClassifier(COMMON_CHILD))
        X, y = other.frame()
        model = classifier.to_logit().refit(X, y)
        chosen = model.refitted.strength
        assert chosen.generative == pytest.approx(classifier.to_logit().log_likelihood(X, y), rel=1e-12)
        parts = folding.split_weights(model.refitted.design.weights, 5)
        l2, value = chosen.tried[1]
        expected = self.slow_value(model, problem.arities, parts, l2, lambda _: classifier)
        assert value == pytest.approx(expected, rel=1e-5)

    @pytest.mark.parametrize("change", ["closed", "saved tables", "more weight"])
    def test_relearns_only_what_was_learned_from_these_rows(self, change):
        problem = random_problem(4, 3, n_rows=40, max_arity=2, unseen=False)
        X, y = problem.frame()
        classifier = fit(problem, FixedStructureClassifier(COMMON_CHILD))
        model = classifier.to_logit()
        relearned = model.refit(X, y).refitted.strength.generative
        in_sample = model.log_likelihood(X, y)
        assert relearned < in_sample - 1
        if change == "closed":
            assert model.close().refit(X, y).refitted.strength.generative == pytest.approx(relearned, rel=1e-12)
        elif change == "more weight":
            weights = np.ones(40)
            weights[0] = 2
            found = model.refit(X, y, weights).refitted.strength.generative
            assert found == pytest.approx(model.log_likelihood(X, y, weights), rel=1e-12)
        else:
            closed = model.close().to_classifier()
            found = closed.to_logit().refit(X, y).refitted.strength.generative
            assert found == pytest.approx(in_sample, rel=1e-9)

    def test_does_not_depend_on_threads(self, monkeypatch):
        monkeypatch.setattr(strengths, "LITTLE_WORK", 0)  # or the folds would take turns
        problem = random_problem(6, 4, weights="real")
        X, y = problem.frame()
        one, two = (
            fit(problem, TANClassifier(n_jobs=n_jobs)).to_logit().refit(X, y, problem.weights) for n_jobs in (1, 2)
        )
        assert one.refitted.strength == two.refitted.strength
        np.testing.assert_array_equal(one.coefficients, two.coefficients)


class TestWay:
    """Under a weak prior, fits with stronger ones come first."""

    @pytest.mark.parametrize(("l2", "expected"), [(7.0, []), (0.4, [10, 1]), (0.001, [10, 1, 0.1, 0.01]), (0.0, [])])
    def test_leads_from_stronger_priors_to_the_maximum(self, l2, expected, monkeypatch):
        problem = random_problem(5, 3)
        X, y = problem.frame()
        passed = []
        usual = strengths.fit
        monkeypatch.setattr(strengths, "fit", lambda *of, **how: passed.append(of[2]) or usual(*of, **how))
        before = fit(problem, TANClassifier()).to_logit()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without a prior, the classes may be separated
            found = before.refit(X, y, problem.weights, l2=l2).refitted
        assert passed == expected
        straight = usual(found.design, before.potentials, l2)
        assert found.fit.penalised == pytest.approx(straight.penalised, abs=1e-6)

    def test_ends_with_the_time(self):
        problem = random_problem(5, 3)
        X, y = problem.frame()
        model = fit(problem, TANClassifier()).to_logit()
        of_rows = model.refit(X, y, problem.weights, l2=1).refitted.design, model.potentials
        assert strengths.start_of(*of_rows, 0.01, 500, Deadline(1e-9)) is None
        assert strengths.start_of(*of_rows, 0.01, 500, Deadline()) is not None


@pytest.mark.parametrize("rule", ["ml", "friedman", "acll", "eap"])
def test_strength_relearns_by_the_rule_of_the_tables(rule):
    problem = random_problem(4, 3, n_rows=60, max_arity=2, unseen=False)
    X, y = problem.frame()
    model = fit(problem, TANClassifier(parameters=rule)).to_logit()
    held_out = model.refit(X, y).refitted.strength.generative
    assert held_out < model.log_likelihood(X, y) - 1


@pytest.mark.parametrize("l2", [1e4, 1e6])
def test_prior_far_stronger_than_the_rows_converges(l2):
    X, y = load_monks(1)
    model = TANClassifier().fit(X, y).to_logit()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        after = model.refit(X[:2], y[:2], l2=l2)
    assert after.refitted.fit.converged
    np.testing.assert_allclose(after.coefficients, model.coefficients, rtol=0, atol=1e-3)


class TestLimits:
    def model(self, n_rows=500, **arguments):
        problem = random_problem(5, 5, n_rows=n_rows, max_arity=3, unseen=False)
        return problem.frame(), fit(problem, TANClassifier(**arguments)).to_logit()

    @pytest.mark.parametrize("l2", [0, 1, "auto"])
    def test_time_limit_is_kept(self, l2, monkeypatch):
        (X, y), model = self.model(5000)
        deadlines = watch(monkeypatch, refitting)
        with pytest.warns(UserWarning, match="did not converge: the time limit passed"):
            after = model.refit(X, y, l2=l2, time_limit=1e-6)
        assert sum(deadline.late for deadline in deadlines) < 10
        found = after.refitted.fit
        assert not found.converged
        assert not found.separated
        assert found.penalised >= model.log_likelihood(X, y) * (1 + 1e-12)
        assert "not converged in" in repr(after)
        assert 0 < after.refitted.seconds < deadlines[0].elapsed

    def test_iterations_are_limited(self):
        (X, y), model = self.model()
        with pytest.warns(UserWarning, match="did not converge") as caught:
            after = model.refit(X, y, l2=1e-3, max_iter=1)
        assert f"{after.refitted.fit.gradient:.2g} per row" in str(caught[0].message)
        assert after.refitted.fit.iterations <= 20
        assert not after.refitted.fit.converged

    @pytest.mark.parametrize("l2", [0, 1, "auto"])
    def test_progress_is_told(self, l2):
        (X, y), model = self.model()
        told = []
        model.refit(X, y, l2=l2, progress=lambda *what: told.append(what))
        assert {phase for phase, _ in told} == {"refit", *(["strength of the prior"] if l2 == "auto" else [])}
        assert all(0 <= fraction <= 1 for _, fraction in told)
        assert told[-1] == ("refit", 1.0)
        assert len(told) > 2

    def test_progress_is_shown_if_the_classifier_is_verbose(self, capsys):
        (X, y), model = self.model(verbose=1)
        capsys.readouterr()
        model.refit(X, y)
        assert "strength of the prior: done\nrefit: done\n" in capsys.readouterr().err

    @pytest.mark.parametrize("l2", [-1, True, float("nan"), float("inf"), "strong", None, 1j])
    def test_senseless_precisions_are_refused(self, l2):
        (X, y), model = self.model()
        with pytest.raises(ValueError, match=r"l2 must be 'auto' or a finite number, 0 or more, not ") as error:
            model.refit(X, y, l2=l2)
        assert str(error.value).endswith(repr(l2))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"time_limit": 0}, "time_limit must be None or a number above 0, not 0"),
            ({"time_limit": "1 h"}, "time_limit must be None or a number above 0, not '1 h'"),
            ({"max_iter": 0}, "max_iter must be a whole number above 0, not 0"),
            ({"max_iter": True}, "max_iter must be a whole number above 0, not True"),
            ({"max_iter": 2.5}, "max_iter must be a whole number above 0, not 2.5"),
            ({"max_iter": None}, "max_iter must be a whole number above 0, not None"),
        ],
    )
    def test_senseless_limits_are_refused(self, arguments, message):
        (X, y), model = self.model()
        with pytest.raises(ValueError, match=message):
            model.refit(X, y, l2=1, **arguments)


class TestRows:
    @pytest.fixture
    def problem(self):
        return random_problem(5, 3, max_arity=3, unseen=False)

    def test_of_an_unknown_class_are_refused(self, problem):
        X, y = problem.frame()
        y[4] = 77
        with pytest.raises(ValueError, match=r"'c', row 4: the value 77 is not a state"):
            fit(random_problem(5, 3, max_arity=3, unseen=False), TANClassifier()).to_logit().refit(X, y)

    def test_with_an_unknown_state_are_refused(self, problem):
        X, y = problem.frame()
        model = fit(problem, TANClassifier()).to_logit()
        X.loc[4, "f1"] = 77
        with pytest.raises(ValueError, match=r"'f1', row 4: the value 77 is not a state"):
            model.refit(X, y)

    def test_without_a_column_are_refused(self, problem):
        X, y = problem.frame()
        model = fit(problem, TANClassifier()).to_logit()
        with pytest.raises(ValueError, match="f1"):
            model.refit(X.drop(columns="f1"), y)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.refit(X, y[:-1])

    def test_with_a_missing_feature_are_left_out(self, problem):
        X, y = problem.frame()
        model = fit(problem, TANClassifier()).to_logit()
        holes = X.astype(float)
        holes.iloc[:7, 1] = np.nan
        with pytest.warns(UserWarning, match="7 of 60 rows"):
            one = model.refit(holes, y, l2=1)
        np.testing.assert_allclose(one.coefficients, model.refit(X[7:], y[7:], l2=1).coefficients, atol=1e-8)
        holes[:] = np.nan
        with (
            pytest.warns(UserWarning, match="60 of 60 rows"),
            pytest.raises(ValueError, match="no row without a missing feature"),
        ):
            model.refit(holes, y)

    def test_of_polars_are_as_those_of_pandas(self, problem):
        polars = pytest.importorskip("polars")
        X, y = problem.frame()
        model = fit(problem, TANClassifier()).to_logit()
        one, other = model.refit(X, y, l2=1), model.refit(polars.from_pandas(X), polars.from_pandas(y), l2=1)
        np.testing.assert_array_equal(one.coefficients, other.coefficients)
        pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
