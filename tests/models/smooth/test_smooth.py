"""Smooth refits: the penalised maximum, its limits, and what does not matter to it."""

from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from math import prod
from types import SimpleNamespace

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy.linalg import block_diag
from scipy.special import log_softmax, softmax
from sklearn.frozen import FrozenEstimator
from strategies import random_problem
from threadpoolctl import threadpool_info, threadpool_limits

from anbexact import AdditiveClassifier, ANBClassifier, NaiveBayesClassifier, TANClassifier, load
from anbexact._runtime.deadline import Deadline
from anbexact.adapters import to_logit
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_iris
from anbexact.models.logit.curvature import BlockCurvature, DenseCurvature, RowCurvature
from anbexact.models.logit.design import make_design
from anbexact.models.logit.empty_cells import EliminatedCurvature, occupied
from anbexact.models.logit.fit import Stop, fit
from anbexact.models.logit.model import LogitModel
from anbexact.models.smooth.fit import (
    SmoothProblem,
    class_scores,
    curvature_at,
    smooth_curvature,
    smooth_fit,
    smooth_problem,
)
from anbexact.models.smooth.grids import coarser
from anbexact.models.smooth.modes import Modes
from anbexact.models.smooth.smoothness import (
    CENTRE,
    FOLDS,
    SETTLED,
    SmoothFolds,
    Smoothness,
    Tried,
    Tuning,
    _with_best_centre,
    _with_best_factor,
    _without_curvature,
    by_cross_validation,
    by_evidence,
    by_feature,
    effective_degrees,
    naive_bayes,
    scaled,
    tuned,
)
from anbexact.models.smooth.terms import Axis, SmoothTerm, full_axis, grouped_axis, smooth_terms
from anbexact.tables.folds import split_weights
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary

STRENGTHS = {"slope": 0.7, "curvature": 0.3, "level": 2.0, "interaction": 1.5}
FAMILIES = {"c": (), "f0": ("f0",), "f1": ("f1", "f0"), "f2": ("f2", "f0", "f1")}


def made(seed=0, *, n_classes=3, weights="real", ordered=("f0", "f2"), interactions="families"):
    """A small problem of three features: the terms of `FAMILIES`, and a random base."""
    problem = random_problem(seed, 3, n_rows=50, max_arity=5, n_classes=n_classes, weights=weights, unseen=False)
    design = make_design(problem.table, FAMILIES)
    terms = smooth_terms(design, problem.table.vocabulary, ordered, interactions=interactions)
    base = np.random.default_rng(seed).normal(size=design.weights.shape)
    return smooth_problem(design, terms, base, ridge=0.05)


def eliminated(problem, precisions, p):
    """The whole curvature, from that of the cells that have rows."""
    return EliminatedCurvature(problem, precisions, occupied(problem), partial(DenseCurvature, p=p))


@cache
def form(shape, in_order, kind):
    """The matrix of what a term pays for a strength of 1, as the formula has it."""
    return oracles.quadratic_form(lambda v: oracles.roughness(v.reshape(shape), in_order, kind), prod(shape))


def dense(problem, strengths=STRENGTHS):
    """The objective as the formula has it, by rows and classes."""
    row, class_codes = np.nonzero(problem.weights)
    indicators = np.zeros((len(row), problem.n_cells))
    indicators[np.arange(len(row))[:, None], problem.cells[row]] = 1.0
    precision = problem.ridge * np.eye(problem.n_cells)
    for term in problem.terms:
        in_order = tuple(axis.ordered for axis in term.axes)
        for kind in term.penalties:
            strength = strengths.get(kind, 0.0)
            strength = strength[term.features[0]] if isinstance(strength, dict) else strength
            precision[term.cells, term.cells] += strength * form(term.shape, in_order, kind)
    return oracles.Smooth(indicators, problem.base[row], class_codes, problem.weights[row, class_codes], precision)


class TestMaximum:
    @pytest.mark.parametrize("n_classes", [2, 3, 5, 10])
    @pytest.mark.parametrize("seed", range(3))
    def test_is_that_of_the_dense_twin(self, seed, n_classes):
        problem = made(seed, n_classes=n_classes)
        found, _ = smooth_fit(problem, STRENGTHS)
        expected = dense(problem)
        assert found.converged
        np.testing.assert_allclose(found.shift, expected.maximum(), atol=1e-8)
        assert found.penalised == pytest.approx(expected.value(found.shift), rel=1e-12)

    def test_is_the_same_with_the_factor_of_other_rows(self):
        problem = made(1)
        other = problem.weighted(problem.weights * (np.arange(len(problem.weights)) % 4 > 0)[:, None])
        _, near = smooth_fit(other, STRENGTHS)
        found, _ = smooth_fit(problem, STRENGTHS, near=near)
        assert found.converged
        np.testing.assert_allclose(found.shift, dense(problem).maximum(), atol=1e-7)

    @pytest.mark.parametrize(("few", "n_classes"), [(2, 2), (2, 3), (25, 3)])
    def test_is_the_same_with_fewer_modes_together(self, few, n_classes, monkeypatch):
        monkeypatch.setattr("anbexact.models.smooth.fit.FEW_KEPT", few)
        problem = made(1, n_classes=n_classes)
        part = problem.weighted(problem.weights * (np.arange(len(problem.weights)) < 30)[:, None])
        most = []
        for variances in (False, True):
            found, factor = smooth_fit(part, STRENGTHS, variances=variances)
            assert found.converged
            np.testing.assert_allclose(found.shift, dense(part).maximum(), atol=1e-7)
            most.append(np.diff(factor.arrays[2]).max())
        assert most[0] == max(len(part.weights) // 2, few) < most[1]

    def test_is_the_same_in_one_call_and_step_by_step(self, monkeypatch):
        problem = made(2)
        found, _ = smooth_fit(problem, STRENGTHS)
        monkeypatch.setattr("anbexact.models.smooth.fit.LIMITED_WORK", 0)
        other, _ = smooth_fit(problem, STRENGTHS, deadline=Deadline(1e6))
        assert found.iterations == other.iterations > 2
        np.testing.assert_allclose(found.shift, other.shift, atol=1e-9)

    def test_is_the_same_from_any_start(self):
        problem = made(2)
        found, _ = smooth_fit(problem, STRENGTHS)
        for seed in range(3):
            start = np.random.default_rng(seed).normal(0, 5, found.shift.shape)
            np.testing.assert_allclose(smooth_fit(problem, STRENGTHS, start=start)[0].shift, found.shift, atol=1e-8)

    def test_shifts_sum_to_zero_over_the_classes(self):
        assert np.abs(smooth_fit(made(3), STRENGTHS)[0].shift.sum(axis=1)).max() < 1e-12

    def test_does_not_depend_on_the_reference_class(self):
        problem = made(4)
        order = [2, 0, 1]
        turned = SmoothProblem(
            problem.terms,
            problem.cells,
            np.ascontiguousarray(problem.weights[:, order]),
            np.ascontiguousarray(problem.base[:, order]),
            problem.ridge,
        )
        found, other = (smooth_fit(one, STRENGTHS)[0].shift for one in (problem, turned))
        np.testing.assert_allclose(found[:, order], other, atol=1e-10)

    def test_does_not_depend_on_the_order_of_features(self):
        problem = random_problem(4, 3, n_rows=60, max_arity=5, n_classes=3, unseen=False)
        predicted = []
        for families in (FAMILIES, {"f2": ("f1", "f0", "f2"), "f0": ("f0",), "c": (), "f1": ("f0", "f1")}):
            design = make_design(problem.table, families)
            terms = smooth_terms(design, problem.table.vocabulary, ("f0", "f2"))
            one = smooth_problem(design, terms, np.zeros(design.weights.shape))
            odds = one.predictors(smooth_fit(one, STRENGTHS)[0].shift)
            rows = np.lexsort([design.states(name) for name in ("f0", "f1", "f2")])
            predicted.append((odds - odds.mean(axis=1, keepdims=True))[rows])
        np.testing.assert_allclose(*predicted, atol=1e-8)

    @pytest.mark.parametrize("large", [False, True])
    def test_uses_one_thread_for_linear_algebra(self, large, monkeypatch):
        """More would be slower, and wait for each other where processors are busy."""
        monkeypatch.setattr("anbexact.models.smooth.grids.FEW_UNKNOWNS", 0 if large else 10**9)
        threads = []

        def watched(*args, **kwargs):
            threads.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
            return smooth_fit(*args, **kwargs)

        monkeypatch.setattr("anbexact.models.smooth.refit.smooth_fit", watched)
        X, y = load_iris()
        with threadpool_limits(2, "blas"):
            AdditiveClassifier(TANClassifier(ess=1.0, n_jobs=2)).fit(X, y)
        assert set(threads) == {1}

    def test_ends_at_the_limits_that_are_set(self):
        found, _ = smooth_fit(made(5), STRENGTHS, max_iter=1)
        assert not found.converged
        assert found.message == "max_iter was reached"


def in_parts(monkeypatch):
    """Let all fits be divided into parts."""
    monkeypatch.setattr("anbexact.models.smooth.fit.IN_PARTS", 0)


class TestByParts:
    """Fits whose rows and classes are processed in parts."""

    @pytest.mark.parametrize("variances", [False, True])
    @pytest.mark.parametrize("n_classes", [2, 3, 10])
    @pytest.mark.parametrize("seed", range(3))
    def test_end_where_whole_ones_do(self, seed, n_classes, variances, monkeypatch):
        problem = made(seed, n_classes=n_classes)
        whole, _ = smooth_fit(problem, STRENGTHS, variances=variances)
        _, first = smooth_fit(problem, STRENGTHS, variances=variances, max_iter=1)
        in_parts(monkeypatch)
        found, _ = smooth_fit(problem, STRENGTHS, variances=variances)
        _, factor = smooth_fit(problem, STRENGTHS, variances=variances, max_iter=1)
        assert found.converged
        assert found.iterations == whole.iterations
        np.testing.assert_allclose(found.shift, dense(problem).maximum(), atol=1e-8)
        np.testing.assert_allclose(found.shift, whole.shift, atol=1e-9)
        assert found.penalised == pytest.approx(whole.penalised, rel=1e-12)
        for own, other in zip(factor.arrays, first.arrays, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)

    def test_may_have_classes_in_an_order(self, monkeypatch):
        problem = replace(made(1, n_classes=4), scores=class_scores([2, 0, 1, 3]))
        whole, _ = smooth_fit(problem, STRENGTHS)
        in_parts(monkeypatch)
        found, _ = smooth_fit(problem, STRENGTHS)
        assert found.iterations == whole.iterations
        np.testing.assert_allclose(found.shift, whole.shift, atol=1e-9)

    @pytest.mark.parametrize("n_rows", [1, 2, 5])
    def test_may_have_fewer_rows_than_parts(self, n_rows, monkeypatch):
        problem = made(3)
        problem = problem.weighted(problem.weights * (np.arange(len(problem.weights)) < n_rows)[:, None])
        whole, _ = smooth_fit(problem, STRENGTHS)
        in_parts(monkeypatch)
        found, _ = smooth_fit(problem, STRENGTHS)
        np.testing.assert_allclose(found.shift, whole.shift, atol=1e-9)

    def test_use_the_factor_of_other_rows_and_a_start(self, monkeypatch):
        in_parts(monkeypatch)
        problem = made(1)
        other = problem.weighted(problem.weights * (np.arange(len(problem.weights)) % 4 > 0)[:, None])
        first, near = smooth_fit(other, STRENGTHS)
        found, factor = smooth_fit(problem, STRENGTHS, near=near, start=first.shift)
        assert factor.arrays[3] is near.arrays[3]
        np.testing.assert_allclose(found.shift, dense(problem).maximum(), atol=1e-7)

    def test_do_not_depend_on_the_number_of_threads(self, monkeypatch):
        in_parts(monkeypatch)
        monkeypatch.setattr("anbexact.models.smooth.modes.ONE_THREAD", 0)
        shifts, gains = [], []
        for threads in (1, 2, 5):
            problem = replace(made(2, n_classes=6), threads=threads)
            found, factor = smooth_fit(problem, STRENGTHS, variances=True)
            shifts.append(found.shift)
            gains.append(np.concatenate([gain.ravel() for gain in factor.gained(*problem.reduced)]))
        for own, other in zip((*shifts, *gains), (*shifts[:1] * 3, *gains[:1] * 3), strict=True):
            np.testing.assert_array_equal(own, other)

    def test_models_do_not_depend_on_the_number_of_threads(self, monkeypatch):
        in_parts(monkeypatch)
        monkeypatch.setattr("anbexact.models.smooth.modes.ONE_THREAD", 0)
        X, y = load_iris()
        found = [
            AdditiveClassifier(TANClassifier(ess=1.0, n_jobs=n_jobs), smooth="evidence").fit(X, y).predict_proba(X)
            for n_jobs in (1, 3)
        ]
        np.testing.assert_array_equal(*found)

    def test_end_with_the_time(self, monkeypatch):
        in_parts(monkeypatch)
        problem = made(0)
        found, _ = smooth_fit(problem, STRENGTHS, deadline=Deadline(1e-9))
        assert not found.converged
        assert found.iterations == 0
        np.testing.assert_array_equal(found.shift, 0)


class TestStrengthsByFeature:
    def test_that_are_all_the_same_are_one(self):
        problem = made(6)
        by_feature = {kind: dict.fromkeys(("f0", "f1", "f2"), strength) for kind, strength in STRENGTHS.items()}
        found, expected = (smooth_fit(problem, strengths)[0].shift for strengths in (by_feature, STRENGTHS))
        np.testing.assert_allclose(found, expected, atol=1e-9)

    def test_flatten_one_feature_alone(self):
        problem = made(6, ordered=("f0", "f1", "f2"))
        found, _ = smooth_fit(problem, {"slope": {"f0": 1e7}, "interaction": {"f0": 1e7}})
        for term in problem.terms[1:]:
            grid = found.shift[term.cells].reshape(*term.shape, 3)
            for axis, name in enumerate(term.features):
                assert (np.ptp(grid, axis=axis).max() < 1e-3) == (name == "f0")

    def test_are_kept(self, tmp_path):
        X, y = load_iris()
        strengths = {"slope": {"petal_width": 2.0, "sepal_width": 500.0}, "interaction": {"petal_width": 3.0}}
        model = AdditiveClassifier(smooth=strengths, intervals=6).fit(X, y)
        kept = model.logit_.refitted.smoothness.strengths
        assert kept == {**strengths, "curvature": 0.0}
        assert "slope of petal_width 2, slope of sepal_width 500" in str(model.logit_.result())
        model.save(tmp_path / "m.json")
        loaded = load(tmp_path / "m.json")
        assert loaded.logit_.refitted.smoothness.strengths == kept
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        with pytest.raises(ValueError, match="smooth names 'z', which is not a feature"):
            model.logit_.refit(X, y, smooth={"slope": {"z": 1.0}})

    def test_of_many_features_are_printed_as_a_range(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.normal(size=(60, 11)), columns=[f"x{j}" for j in range(11)])
        y = pd.Series(np.where(X["x0"] > 0, "yes", "no"), name="k")
        strengths = {"slope": {name: 1.0 + j for j, name in enumerate(X)}}
        model = AdditiveClassifier(NaiveBayesClassifier(), smooth=strengths, intervals=4).fit(X, y)
        assert "strengths of smoothing: slope 1 to 11 (11 features)" in str(model.logit_.result())

    def test_without_end_count_as_very_strong(self):
        X, y = load_iris()
        model = to_logit(NaiveBayesClassifier().fit(X, y), X, intervals=32)
        for kind in ("slope", "curvature"):
            found = model.refit(X, y, smooth={kind: 1e300})
            assert found.refitted.smoothness.strengths[kind] == 1e6
            assert found.refitted.fit.converged


def spread(modes):
    """The shifts of all modes, one of them 1, (cells, modes)."""
    return modes.shifts(np.eye(len(modes.scale)))


class TestModes:
    @pytest.mark.parametrize(
        "strengths",
        [STRENGTHS, {}, {**STRENGTHS, "curvature": {"f0": 0.2, "f2": 3.0}, "interaction": {"f0": 2.0, "f1": 0.5}}],
    )
    def test_have_a_standard_normal_prior(self, strengths):
        problem = made(6)
        columns = spread(Modes.of(problem.terms, strengths, problem.ridge))
        prior = block_diag(*problem.precisions(strengths))
        np.testing.assert_allclose(columns.T @ prior @ columns, np.eye(len(prior)), atol=1e-10)

    def test_give_values_back(self):
        problem = made(6)
        modes = Modes.of(problem.terms, STRENGTHS, problem.ridge)
        values = np.random.default_rng(0).normal(size=(problem.n_cells, 3))
        np.testing.assert_allclose(modes.of_shifts(modes.shifts(values)), values, atol=1e-12)
        np.testing.assert_allclose(spread(modes).T @ modes.by_shifts(values), values, atol=1e-12)

    def test_have_the_roughness_of_their_shifts(self):
        problem = made(6)
        modes = Modes.of(problem.terms, STRENGTHS, problem.ridge)
        columns = spread(modes)
        for place, term in enumerate(problem.terms):
            found = modes.roughness(term, place)
            assert found.keys() == term.penalties.keys()
            assert term.kinds == tuple(term.penalties)
            own = columns[term.cells, term.cells]
            for kind, form in found.items():
                expected = own.T @ term.penalties[kind] @ own
                np.testing.assert_allclose(form if form.ndim == 2 else np.diag(form), expected, atol=1e-10)


class TestFactor:
    """Of a fit that has not moved: the classes have the probabilities of the base."""

    def of(self, n_classes, times, strengths=STRENGTHS):
        problem = made(7, n_classes=n_classes)
        problem = replace(
            problem,
            cells=np.tile(problem.cells, (times, 1)),
            weights=np.tile(problem.weights, (times, 1)),
            base=np.tile(problem.base, (times, 1)),
        )
        _, factor = smooth_fit(problem, strengths, variances=True, precision=1e9)
        return problem, factor, spread(factor.modes)

    @pytest.mark.parametrize("times", [1, 200])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_is_of_the_precision_of_the_kept_modes(self, n_classes, times):
        """Many rows are added up by pairs of terms, few of them one by one."""
        problem, factor, columns = self.of(n_classes, times)
        information, kept, ends, lower, *_ = factor.arrays
        p = softmax(problem.base, axis=1)
        start = 0
        for c in range(1 if n_classes == 2 else n_classes):
            own = kept[ends[c] : ends[c + 1]]
            curvature = problem.weights.sum(axis=1) * p[:, c] * (1 - p[:, c]) * n_classes / (n_classes - 1)
            rows = columns[problem.cells].sum(axis=1)
            added = rows.T @ (curvature[:, None] * rows)
            diagonal = sum((columns[of_term] ** 2).T @ curvature for of_term in problem.cells.T)
            np.testing.assert_allclose(information[:, c], diagonal, atol=1e-10)
            np.testing.assert_array_equal(own, np.flatnonzero(diagonal > 0.1))
            upper = lower[start : start + len(own) ** 2].reshape(len(own), len(own))
            start += len(own) ** 2
            np.testing.assert_allclose(upper.T @ upper, np.eye(len(own)) + added[np.ix_(own, own)], rtol=1e-9)

    @pytest.mark.parametrize(("n_classes", "times", "close"), [(2, 200, 1e-6), (2, 1, 0.05), (3, 1, 0.2)])
    def test_has_the_variances_that_the_rows_take_away(self, n_classes, times, close):
        """With many rows, all modes are kept, but for those of cells without rows."""
        problem, factor, columns = self.of(n_classes, times)
        covariance = smooth_curvature(problem, STRENGTHS, np.zeros((problem.n_cells, n_classes)))
        prior = [(n_classes - 1) * np.linalg.inv(own) for own in problem.precisions(STRENGTHS)]
        for place, (term, found) in enumerate(zip(problem.terms, factor.gained(*problem.reduced), strict=True)):
            back = np.linalg.inv(columns[term.cells, term.cells])
            expected = back @ (prior[place] - covariance.total[term.cells, term.cells]) @ back.T
            for form in factor.modes.roughness(term, place).values():
                own = form if found.ndim == 2 else np.diag(form)
                assert np.vdot(found, form) == pytest.approx(np.vdot(expected, own), rel=close)

    def test_has_what_rows_say_of_a_state_in_which_the_classes_are_nearly_certain(self):
        """20,000 rows of two classes; 5,000 of them have this state."""
        vocabulary = Vocabulary({"f": tuple("abcd"), "c": (0, 1)}, "c")
        counts = np.array([[2500.0, 2500.0], [2000.0, 3000.0], [3500.0, 1500.0], [5000.0, 0.5]])
        codes = np.array([[f, c] for f in range(4) for c in range(2)], dtype=np.int16)
        design = make_design(DiscreteTable(vocabulary, codes, counts.ravel(), 8), {"c": (), "f": ("f",)})
        problem = smooth_problem(design, smooth_terms(design, vocabulary, ()), np.zeros(design.weights.shape))
        strengths = {"level": 0.02}
        start = smooth_fit(problem, strengths)[0].shift
        _, factor = smooth_fit(problem, strengths, start=start, variances=True)
        covariance, columns = smooth_curvature(problem, strengths, start).total, spread(factor.modes)
        for place, (term, found) in enumerate(zip(problem.terms, factor.gained(*problem.reduced), strict=True)):
            back = np.linalg.inv(columns[term.cells, term.cells])
            prior = np.linalg.inv(problem.precisions(strengths)[place])
            expected = back @ (prior - covariance[term.cells, term.cells]) @ back.T
            assert (np.trace(found) if found.ndim == 2 else found.sum()) == pytest.approx(
                np.trace(expected), rel=0.01
            )

    @pytest.mark.parametrize("by_parts", [False, True])
    def test_is_kept_while_the_rows_say_nearly_the_same(self, by_parts, monkeypatch):
        """After every step, the factor is the one before it, or that of information that differs by a tenth."""
        if by_parts:
            in_parts(monkeypatch)
        weak, factors = {kind: strength / 100 for kind, strength in STRENGTHS.items()}, []
        for steps in range(1, 30):
            found, factor = smooth_fit(made(2), weak, max_iter=steps)
            factors.append(factor.arrays[0])
        assert found.converged
        changes = [
            (np.abs(after - before) / (1 + before)).sum() / (before / (1 + before)).sum()
            for before, after in pairwise(factors)
        ]
        assert all(change == 0 or change >= 0.1 for change in changes)
        assert any(changes)

    def test_of_a_fit_that_never_began_has_gained_nothing(self):
        problem = made(0)
        _, factor = smooth_fit(problem, STRENGTHS, variances=True, deadline=Deadline(1e-9))
        gained = factor.gained(*problem.reduced)
        assert [gain.shape[0] for gain in gained] == [term.size for term in problem.terms]
        assert not any(gain.any() for gain in gained)


class TestCurvature:
    @pytest.mark.parametrize(
        ("kind", "n_classes"),
        [(BlockCurvature, 2), (RowCurvature, 2), (RowCurvature, 4), (eliminated, 2), (eliminated, 4)],
    )
    def test_are_the_same_whole_and_in_parts(self, kind, n_classes):
        problem = made(8, n_classes=n_classes)
        kept = occupied(problem)
        assert not kept.all()
        precisions = problem.precisions(STRENGTHS)
        rng = np.random.default_rng(0)
        p = softmax(problem.predictors(rng.normal(size=(problem.n_cells, n_classes))), axis=1)
        whole, parts = (one(problem, precisions, p) for one in (DenseCurvature, kind))
        contrasts = np.linalg.svd(np.eye(n_classes) - 1 / n_classes)[0][:, : n_classes - 1]
        for expected, found in (
            (whole.total, parts.total),
            (whole.covariance(contrasts[:, 0]), parts.covariance(contrasts[:, 0])),
        ):
            np.testing.assert_allclose(expected, found, rtol=1e-9, atol=1e-10)
        empty = int(np.flatnonzero(~kept)[-1])
        last = problem.terms[-1].cells
        for cells in (last, slice(last.start - 3, last.start + 2), slice(empty, empty + 1)):
            np.testing.assert_allclose(
                whole.block(cells, contrasts), parts.block(cells, contrasts), rtol=1e-9, atol=1e-10
            )

    def test_are_whole_where_that_is_cheap(self):
        problem = made(8)
        precisions = problem.precisions(STRENGTHS)
        p = softmax(problem.base, axis=1)
        assert isinstance(curvature_at(problem, precisions, p, 10), BlockCurvature)
        assert isinstance(curvature_at(problem, precisions, p, 1e12), RowCurvature)
        repeated = replace(
            problem,
            cells=np.tile(problem.cells, (9, 1)),
            weights=np.tile(problem.weights, (9, 1)),
            base=np.tile(problem.base, (9, 1)),
        )
        assert isinstance(curvature_at(repeated, precisions, np.tile(p, (9, 1)), 1e12), DenseCurvature)

    def test_eliminate_cells_if_many_have_no_rows(self):
        problem = made(8)
        few = problem.weighted(problem.weights * (np.arange(len(problem.weights)) < 10)[:, None])
        assert occupied(few).mean() < 0.9
        precisions, p = few.precisions(STRENGTHS), np.full(few.base.shape, 1 / 3)
        assert isinstance(curvature_at(few, precisions, p, 10), EliminatedCurvature)
        assert isinstance(curvature_at(few, precisions, p, 1e12), RowCurvature)


class TestLimits:
    def test_no_strength_is_the_refit_without_order(self):
        """Naive Bayes has the same cells in both; the centre here is the network's, as the refit's is."""
        problem = random_problem(9, 3, n_rows=80, max_arity=4, n_classes=3, unseen=False)
        X, y = problem.frame()
        model = to_logit(NaiveBayesClassifier(categories=problem.categories, discretizer=None, ess=1).fit(X, y))
        families = {"c": (), "f0": ("f0",), "f1": ("f1",), "f2": ("f2",)}
        design = make_design(problem.table, families)
        terms = smooth_terms(design, problem.table.vocabulary, ("f0", "f1", "f2"))
        own = smooth_problem(design, terms, design.sums(model.potentials), ridge=0.3)
        smooth, _ = smooth_fit(own, {})
        plain = fit(design, model.potentials, 0.3, stop=Stop(precision=1e-12))
        np.testing.assert_allclose(smooth.shift, plain.shift, atol=1e-6)

    def test_without_end_gives_a_single_coefficient_per_column(self):
        """All states are pooled then: what is left are the frequencies of the classes."""
        problem = made(10, ordered=("f0", "f1", "f2"))
        problem = replace(problem, base=np.zeros_like(problem.base), ridge=1e-6)
        found, _ = smooth_fit(problem, {"slope": 1e8, "interaction": 1e8})
        for term in problem.terms:
            assert np.ptp(found.shift[term.cells], axis=0).max() < 1e-4
        odds = problem.predictors(found.shift)
        share = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
        frequencies = problem.weights.sum(axis=0) / problem.weights.sum()
        np.testing.assert_allclose(share, np.tile(frequencies, (len(share), 1)), atol=1e-3)

    def test_curvature_without_end_gives_straight_lines(self):
        problem = made(11, ordered=("f0", "f1", "f2"), interactions="none")
        found, _ = smooth_fit(problem, {"curvature": 1e7})
        for term in problem.terms[1:]:
            assert np.abs(np.diff(found.shift[term.cells], n=2, axis=0)).max(initial=0.0) < 1e-3


class TestDegrees:
    def test_are_the_trace_of_the_hat_matrix(self):
        problem = made(12)
        found, _ = smooth_fit(problem, STRENGTHS)
        curvature = smooth_curvature(problem, STRENGTHS, found.shift)
        twin = dense(problem)
        whole = -twin.hessian(found.shift)
        penalty = np.kron(twin.precision, np.eye(3))
        # on shifts that sum to 0 over the classes
        contrasts = np.kron(np.eye(problem.n_cells), np.linalg.svd(np.eye(3) - 1 / 3)[0][:, :2])
        h, s = (contrasts.T @ m @ contrasts for m in (whole - penalty, penalty))
        hat = np.linalg.solve(h + s, h)
        assert sum(effective_degrees(problem, STRENGTHS, curvature)) == pytest.approx(np.trace(hat), rel=1e-8)
        for term, degrees in zip(problem.terms, effective_degrees(problem, STRENGTHS, curvature), strict=True):
            own = slice(2 * term.first, 2 * term.cells.stop)
            assert degrees == pytest.approx(np.trace(hat[own, own]), rel=1e-6, abs=1e-8)


def evidence(problem, strengths):
    """The Laplace evidence of two classes, up to a constant."""
    found, _ = smooth_fit(problem, strengths)
    twin = dense(problem, strengths)
    contrasts = np.kron(np.eye(problem.n_cells), np.array([[-1.0], [1.0]]) / np.sqrt(2))
    h = contrasts.T @ -twin.hessian(found.shift) @ contrasts
    return found.penalised + np.linalg.slogdet(twin.precision)[1] / 2 - np.linalg.slogdet(h)[1] / 2


class TestEvidence:
    def test_is_highest_at_the_chosen_strengths(self):
        problem = made(13, n_classes=2, interactions="none", ordered=("f0", "f1", "f2"))
        chosen, _ = by_evidence(problem)
        assert chosen.complete

        best = evidence(problem, chosen.strengths)
        for kind, strength in chosen.strengths.items():
            for factor in (0.05, 20.0):
                assert evidence(problem, {**chosen.strengths, kind: strength * factor}) <= best + 0.1

    @pytest.mark.parametrize("degrees", [1.0, 3.0])
    @pytest.mark.parametrize("kind", ["slope", "curvature"])
    @pytest.mark.parametrize("seed", [13, 15])
    def test_by_feature_is_highest_with_its_prior(self, seed, kind, degrees):
        problem = made(seed, n_classes=2, interactions="none", ordered=("f0", "f1", "f2"))
        common = {"slope": 0.1, "curvature": 0.02}
        start = np.zeros((problem.n_cells, 2))
        chosen, _, rounds = by_feature(problem, common, {kind}, start, degrees=degrees)
        assert {**chosen, kind: common[kind]} == common
        assert rounds > 1
        own = chosen[kind]
        assert max(own.values()) > 1.1 * min(own.values())

        def objective(strengths):
            prior = sum(np.log(tau) - tau / common[kind] for tau in strengths[kind].values()) * degrees / 2
            return evidence(problem, strengths) + prior

        best = objective(chosen)
        for name in own:
            for factor in (0.3, 3.0):
                assert objective({**chosen, kind: {**own, name: own[name] * factor}}) < best

    def test_by_feature_covers_several_kinds_and_leaves_the_given_strengths_alone(self):
        problem = made(14)
        common = {"slope": 0.5, "level": 0.5, "interaction": 2.0}
        start = np.zeros((problem.n_cells, 3))
        chosen, _, _ = by_feature(problem, common, {"slope", "level"}, start, degrees=3.0)
        assert common == {"slope": 0.5, "level": 0.5, "interaction": 2.0}
        assert set(chosen["slope"]) == {"f0", "f2"}
        assert set(chosen["level"]) == {"f1"}
        assert chosen["interaction"] == 2.0

    def test_and_cross_validation_smooth_noise_away(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"a": rng.normal(size=600), "b": rng.normal(size=600)})
        y = pd.Series((rng.random(600) < 0.4).astype(int), name="c")
        model = to_logit(NaiveBayesClassifier().fit(X, y), X, intervals=16)
        for rule in ("evidence", "cv"):
            found = model.refit(X, y, smooth=rule)
            share = found.predict_proba(X)[:, 1]
            assert np.ptp(share) < 0.3, rule

    def test_cross_validation_names_first_differences_alone(self):
        chosen, start = by_cross_validation(made(14))
        assert chosen.rule == "cv"
        assert set(chosen.strengths) == {"slope", "level", "interaction"}
        assert np.isfinite(start).all()


class TestFolds:
    @pytest.mark.parametrize("share", [0.0, 0.5])
    def test_predict_rows_by_fits_to_the_others(self, share, monkeypatch):
        """Each fold is fitted on its own, from 0, by the dense twin."""
        monkeypatch.setattr("anbexact.models.smooth.smoothness.PRECISION", 1e-14)
        problem = made(15, weights="ones")
        folds = SmoothFolds(problem)
        for strengths in (scaled(STRENGTHS, 4.0), STRENGTHS):
            found = folds.logs(strengths, None, share)
        expected, weights = [], []
        for part in split_weights(problem.weights, FOLDS):
            left_in, left_out = (problem.weighted(own) for own in (problem.weights - part, part))
            centre = share * naive_bayes(left_in)
            own = replace(left_in, base=left_in.predictors(centre))
            logs = log_softmax(left_out.predictors(dense(own).maximum() + centre), axis=1)
            expected.append(logs[left_out.weights > 0])
            weights.append(left_out.weights[left_out.weights > 0])
        np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-6)
        np.testing.assert_array_equal(folds.weights, np.concatenate(weights))
        assert np.ptp(found) > 1

    @pytest.mark.parametrize(("share", "used"), [(0.99, FOLDS), (0.8, 4), (0.79, 4), (0.2, 1), (0.01, 1)])
    def test_with_enough_left_out_rows_the_first_folds_suffice(self, share, used, monkeypatch):
        problem = made(15, weights="ones")
        monkeypatch.setattr("anbexact.models.smooth.smoothness.ENOUGH", share * problem.weights.sum() * (1 - 1e-12))
        every, some = SmoothFolds(problem), SmoothFolds(problem, few=True)
        assert (len(every), len(some)) == (FOLDS, used)
        np.testing.assert_array_equal(some.weights, every.weights[: len(some.weights)])
        found = some.logs(STRENGTHS, None)
        np.testing.assert_allclose(found, every.logs(STRENGTHS, None)[: len(found)], atol=1e-9)


class TestShapesWithoutCurvature:
    @pytest.mark.parametrize(
        ("values", "chosen"),
        [((3, 2, 1, 0), 0.3), ((1, 2, 0, 9), 0.1), ((0, 1, 2, 3), 0.01), ((1, 1, 2, 3), 0.3)],
    )
    def test_have_the_slope_at_the_first_maximum(self, values, chosen):
        class Folds:
            weights = np.ones(1)

            def logs(self, strengths, deadline, share):
                assert (share, strengths["curvature"], strengths["level"]) == (0.5, 0.0, 7.0)
                return np.array([float(values[(0.3, 0.1, 0.03, 0.01).index(strengths["slope"])])])

        own = SimpleNamespace(
            chosen={"slope": 2.5, "curvature": {"x": 0.5}, "level": 3.5}, tuning=Tuning(factor=2.0, centre=0.5)
        )
        assert _without_curvature(Folds(), own, None).tuning == Tuning(2.0, chosen, 0.5)

    @pytest.mark.parametrize(
        ("gain", "times", "chosen"), [(0.1, 1.0, True), (0.02, 1.0, False), (-0.1, 1.0, False), (0.1, 100.0, False)]
    )
    def test_are_chosen_with_few_rows_if_they_predict_better_by_a_standard_error(
        self, gain, times, chosen, monkeypatch
    ):
        """The differences vary by 0.2, and the weights sum to 80: a standard error is 1.8 nats, 0.022 a row."""

        class Folds:
            weights, mean_shift = np.tile([1.0, 3.0], 20), np.ones(3)

            def __init__(self, *given, few):
                assert few

            def __len__(self):
                return 5

            def logs(self, strengths, deadline, share):
                rough = strengths["curvature"] == 0.0
                return -1.0 + rough * (gain + np.tile([0.2, 0.2, -0.2, -0.2], 10)) - abs(share - 0.25)

        monkeypatch.setattr("anbexact.models.smooth.smoothness.SmoothFolds", Folds)
        problem = made(1)
        problem = problem.weighted(problem.weights * times)
        given = Smoothness({"slope": 1.0, "curvature": {"f0": 1.0}, "interaction": 2.0}, "auto", 3, complete=True)
        found, of_folds = tuned(problem, given, np.zeros((problem.n_cells, 3)))
        assert of_folds is Folds.mean_shift
        assert found.centre == 0.25
        assert (found.strengths["curvature"] == 0.0) == chosen
        assert found.strengths["interaction"] == 6.0
        assert found.strengths["slope"] == 0.3 if chosen else found.strengths["curvature"] != 0.0


@pytest.mark.parametrize(
    ("values", "tried", "chosen"),
    [
        ({3.0: -1, 1.0: -2, 0.3: -3}, [3.0, 1.0, 0.3], 3.0),
        ({3.0: -3, 1.0: -1, 0.3: -2, 0.1: -4}, [3.0, 1.0, 0.3, 0.1], 1.0),
        ({3.0: -3, 1.0: -1, 0.3: -2, 0.1: -2.5}, [3.0, 1.0, 0.3, 0.1], 1.0),
        ({3.0: -3, 1.0: -2, 0.3: -1, 0.1: -0.95}, [3.0, 1.0, 0.3, 0.1], 0.1),
        ({3.0: -3, 1.0: -2, 0.3: -1, 0.1: -0.9, 0.03: -0.85}, [3.0, 1.0, 0.3, 0.1, 0.03], 0.1),
        ({3.0: -3, 1.0: -2, 0.3: -1, 0.1: -0.9, 0.03: -0.8, 0.01: -0.75}, [3.0, 1.0, 0.3, 0.1, 0.03, 0.01], 0.03),
        ({3.0: -3, 1.0: -2, 0.3: -1, 0.1: -0.9, 0.03: -0.8, 0.01: -0.7}, [3.0, 1.0, 0.3, 0.1, 0.03, 0.01], 0.01),
        ({3.0: -3, 1.0: -0.5, 0.3: -1, 0.1: -0.9, 0.03: -0.8}, [3.0, 1.0, 0.3, 0.1, 0.03, 0.01], 1.0),
        ({3.0: -3, 1.0: -0.85, 0.3: -1, 0.1: -0.9, 0.03: -0.7}, [3.0, 1.0, 0.3, 0.1, 0.03, 0.01], 0.03),
    ],
)
def test_the_weakest_factors_are_tried_and_used_only_if_clearly_better(values, tried, chosen):
    """Differences vary by 0.2: with weights that add up to 80, three standard errors are 0.067 a row."""
    told = []

    class Folds:
        weights = np.tile([1.0, 3.0], 20)

        def logs(self, strengths, deadline, share):
            assert share == CENTRE
            told.append(strengths["slope"] / 2)
            noise = np.tile([0.1, 0.1, -0.1, -0.1], 10) * (-1) ** len(told)
            return values.get(told[-1], -5.0) + noise

    found = _with_best_factor(Folds(), {"slope": 2.0}, None, None)
    assert told == tried
    assert found.tuning == Tuning(chosen, centre=CENTRE)


@pytest.mark.parametrize(("n_tried", "chosen"), [(1, 3.0), (2, 1.0), (4, 0.1), (5, 0.03)])
def test_no_further_factor_is_tried_after_the_deadline(n_tried, chosen):
    told = []

    class Clock:
        @property
        def passed(self):
            return len(told) == n_tried

    class Folds:
        weights = np.ones(40)

        def logs(self, strengths, deadline, share):
            told.append(strengths["slope"])
            return np.full(40, -1.0 / len(told))

    assert _with_best_factor(Folds(), {"slope": 1.0}, Clock(), None).tuning.factor == chosen
    assert len(told) == n_tried


class TestCentre:
    @pytest.mark.parametrize("weights", ["real", "whole"])
    @pytest.mark.parametrize("seed", range(3))
    def test_is_naive_bayes_on_few_states(self, seed, weights):
        problem = made(seed, weights=weights)
        found = problem.predictors(naive_bayes(problem)) - problem.base
        mains = [(j, term) for j, term in enumerate(problem.terms) if len(term.axes) == 1]
        columns = [problem.cells[:, j] - term.first for j, term in mains]
        expected = oracles.naive_bayes_odds(columns, [term.size for _, term in mains], problem.weights)
        np.testing.assert_allclose(found, expected, atol=1e-12)

    def test_is_linear_between_the_middles_of_groups(self):
        rng = np.random.default_rng(0)
        weights = np.ones((10, 1)) * [1.0, 3.0] + rng.uniform(-0.9, 0.9, size=(10, 1)) * [1.0, -1.0]
        axis = Axis("a", np.arange(10), 10, 10)
        terms = SmoothTerm((), 0), SmoothTerm((axis,), 1)
        cells = np.stack([np.zeros(10), 1 + np.arange(10)], axis=1).astype(np.int32)
        problem = SmoothProblem(terms, cells, weights, np.zeros((10, 2)))
        found = np.diff(naive_bayes(problem)[1:], axis=1)[:, 0]
        pairs = np.repeat(np.arange(5), 2)
        odds = np.diff(oracles.naive_bayes_odds([pairs], [5], weights), axis=1)[::2, 0]
        odds -= np.log((weights.sum(axis=0)[1] + 0.5) / (weights.sum(axis=0)[0] + 0.5))
        np.testing.assert_allclose(found, np.interp(np.arange(10), 2 * np.arange(5) + 0.5, odds), atol=1e-12)

    def test_is_where_the_penalty_is_least(self):
        """The gradient of the likelihood at all shifts is the penalty's at what is added to the centre."""
        X, y = load_iris()
        given = {"slope": 0.3, "interaction": 0.2, "centre": 0.5}
        found = to_logit(TANClassifier().fit(X, y), X, intervals=6).refit(X, y, smooth=given, l2=0.01).refitted
        plain = replace(found.problem, base=np.zeros_like(found.problem.base))
        centre = 0.5 * naive_bayes(plain)
        twin = dense(plain, given)
        gradient = twin.gradient(found.shift) + twin.precision @ centre
        assert np.abs(gradient - gradient.mean(axis=1, keepdims=True)).max() < 1e-5
        assert np.abs(found.shift - found.fit.shift - centre).max() < 1e-12

    def test_is_what_is_left_of_stiff_shapes(self):
        X, y = load_iris()
        model = to_logit(NaiveBayesClassifier().fit(X, y), X, intervals=6)
        stiff = model.refit(X, y, smooth={"slope": 1e6, "centre": 1.0}).refitted
        problem = replace(stiff.problem, base=np.zeros_like(stiff.problem.base))
        rest = problem.predictors(stiff.shift - naive_bayes(problem))
        assert np.ptp(rest, axis=0).max() < 1e-3

    @pytest.mark.parametrize(
        ("gains", "chosen"),
        [
            ({}, 0.25),
            ({0.0: 0.1}, 0.0),
            ({0.5: 0.1}, 0.5),
            ({0.5: 0.1, 0.75: 0.05}, 0.5),
            ({0.5: 0.1, 0.75: 0.2}, 0.75),
            ({0.0: 0.2, 0.5: 0.1}, 0.5),
            ({0.75: 0.2}, 0.25),
            ({0.0: 0.02}, 0.25),
        ],
    )
    def test_is_another_if_better_by_a_standard_error(self, gains, chosen):
        """The differences vary by 0.2, and the weights sum to 80: a standard error is 1.8 nats, 0.022 a row."""

        class Folds:
            weights = np.tile([1.0, 3.0], 20)

            def logs(self, strengths, deadline, share):
                noise = np.tile([0.2, 0.2, -0.2, -0.2], 10) * (share != 0.25)
                return -1.0 + gains.get(share, 0.0) + noise

        assert _with_best_centre(Folds(), Tried(Folds(), {}, Tuning(centre=0.25), None), None).tuning.centre == chosen

    def test_is_for_few_rows_and_quick_fits_of_the_default_rule(self, monkeypatch):
        rng = np.random.default_rng(1)
        y = pd.Series(np.arange(60) % 2, name="c")
        own = np.where(rng.random((60, 4)) < 0.3, 1 - y.to_numpy()[:, None], y.to_numpy()[:, None])
        X = pd.DataFrame(own).astype(str).add_prefix("x")
        model = to_logit(NaiveBayesClassifier().fit(X, y))
        assert model.refit(X, y, smooth="auto").refitted.smoothness.centre > 0
        many = np.full(60, 100.0)
        assert model.refit(X, y, many, smooth="auto").refitted.smoothness.centre > 0
        monkeypatch.setattr("anbexact.models.smooth.smoothness.MOST_WORK", 0)
        assert model.refit(X, y, smooth="auto").refitted.smoothness.centre > 0
        assert model.refit(X, y, many, smooth="auto").refitted.smoothness.centre == 0
        for rule in ("evidence", "cv"):
            assert model.refit(X, y, smooth=rule).refitted.smoothness.centre == 0

    def test_all_strengths_of_the_evidence_on_coarser_grids_are_multiplied(self, monkeypatch):
        X, y = load_iris()
        monkeypatch.setattr("anbexact.models.smooth.grids.FEW_UNKNOWNS", 10)
        monkeypatch.setattr("anbexact.models.smooth.smoothness.FACTORS", (0.3,))
        monkeypatch.setattr("anbexact.models.smooth.smoothness.FURTHER", ())
        monkeypatch.setattr("anbexact.models.smooth.smoothness.NEARLY_SETTLED", SETTLED)
        network = FrozenEstimator(TANClassifier(ess=1.0).fit(X, y))

        def strengths(rule):
            return AdditiveClassifier(network, smooth=rule).fit(X, y).logit_.refitted.smoothness.strengths

        evidence, found = strengths("evidence"), strengths("auto")
        for kind in ("interaction", "slope"):
            assert found[kind] == pytest.approx(0.3 * evidence[kind])

    def test_is_kept(self, tmp_path):
        X, y = load_iris()
        model = AdditiveClassifier(NaiveBayesClassifier(), intervals=6, smooth={"slope": 1.0, "centre": 0.5}).fit(
            X, y
        )
        refitted = model.logit_.refitted
        assert refitted.smoothness.settings == {"slope": 1.0, "curvature": 0.0, "centre": 0.5}
        assert "slope 1, curvature 0, centre 0.5" in str(model.logit_.result())
        model.save(tmp_path / "m.json")
        loaded = load(tmp_path / "m.json").logit_
        assert loaded.refitted.smoothness == refitted.smoothness
        np.testing.assert_array_equal(loaded.refitted.shift, refitted.shift)
        np.testing.assert_array_equal(loaded.refitted.problem.base, refitted.problem.base)
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        described = model.logit_.to_dict()
        assert described["smooth"].pop("centre") == 0.5
        older = LogitModel.of_refit(described, model.logit_.network, model.logit_.origin)
        assert older.refitted.smoothness.centre == 0
        np.testing.assert_array_equal(older.predict_proba(X), model.predict_proba(X))

    @pytest.mark.parametrize("centre", [1.5, {"f0": 0.5}])
    def test_is_a_share(self, centre):
        X, y = load_iris()
        with pytest.raises(ValueError, match="the centre of smooth must be a number from 0 to 1"):
            to_logit(NaiveBayesClassifier().fit(X, y)).refit(X, y, smooth={"centre": centre})


class TestCoarser:
    def test_merges_neighbours_of_interactions_alone(self):
        problem = random_problem(4, 2, n_rows=400, max_arity=9, n_classes=3, unseen=False)
        design = make_design(problem.table, {"c": (), "f0": ("f0",), "f1": ("f1", "f0")})
        terms = smooth_terms(design, problem.table.vocabulary, ("f0", "f1"))
        fine = smooth_problem(design, terms, np.zeros(design.weights.shape))
        coarse, new_cells = coarser(fine)
        assert [term.features for term in coarse.terms] == [term.features for term in fine.terms]
        assert [term.shape for term in coarse.terms[:3]] == [term.shape for term in fine.terms[:3]]
        assert (fine.terms[3].shape, coarse.terms[3].shape) == ((8, 7), (5, 5))
        np.testing.assert_array_equal(new_cells[fine.cells], coarse.cells)
        shift = np.random.default_rng(0).normal(size=(coarse.n_cells, 3))
        np.testing.assert_allclose(fine.predictors(shift[new_cells]), coarse.predictors(shift))
        grid = new_cells[fine.terms[3].cells].reshape(fine.terms[3].shape)
        for axis in (0, 1):
            assert (np.diff(grid, axis=axis) >= 0).all()

    def test_is_where_many_unknowns_get_their_strengths(self, monkeypatch):
        X, y = load_iris()
        X = X[["petal_length", "petal_width"]]
        model = to_logit(TANClassifier().fit(X, y), X, intervals=8)
        fine = model.refit(X, y, smooth="evidence")
        monkeypatch.setattr("anbexact.models.smooth.grids.FEW_UNKNOWNS", 0)
        coarse = model.refit(X, y, smooth="evidence")
        assert coarse.refitted.problem.n_cells == fine.refitted.problem.n_cells
        assert coarse.refitted.smoothness.strengths != fine.refitted.smoothness.strengths
        np.testing.assert_allclose(coarse.predict_proba(X), fine.predict_proba(X), atol=0.05)


class TestTerms:
    def test_of_a_family_are_its_features_and_their_interaction(self):
        main = [(), ("f0",), ("f1",), ("f2",), ("f1", "f0")]
        family = ("f2", "f0", "f1")
        assert [term.features for term in made(ordered=()).terms] == [*main, family]
        features = [term.features for term in made(interactions="pairs").terms]
        assert features == [*main, family[:2], family[::2]]
        features = [term.features for term in made(interactions="none").terms]
        assert features == main[:-1]

    def test_of_a_family_are_its_pairs_if_their_grids_are_finer(self):
        terms = {term.features: term for term in self.of(rows=2_000).terms}
        assert list(terms) == [
            *((), ("f0",), ("f1",), ("f2",), ("f3",)),
            *(("f1", "f0"), ("f2", "f0"), ("f2", "f1"), ("f2", "f0", "f1"), ("f3", "f0"), ("f3", "f0", "f1")),
        ]
        assert terms["f2", "f1"].shape == (10, 5)
        assert terms["f2", "f0", "f1"].shape == (6, 6, 5)
        assert terms["f3", "f0", "f1"].shape == (3, 6, 5)

    def test_with_few_rows_have_coarser_grids(self):
        terms = {term.features: term for term in self.of(rows=100).terms}
        assert terms["f2", "f1"].shape == (8, 5)
        assert terms["f2", "f0", "f1"].shape == (4, 4, 4)
        assert terms["f3", "f0", "f1"].shape == (3, 4, 4)
        assert ("f3", "f1") in terms

    def test_of_a_family_are_on_groups_of_those_of_its_pairs(self):
        terms = {term.features: term for term in self.of(rows=2_000).terms}
        pair, family = terms["f2", "f0"], terms["f2", "f0", "f1"]
        for fine, coarse in zip(pair.axes, family.axes, strict=False):
            for group in range(fine.size):
                assert len(set(coarse.groups[fine.groups == group])) == 1

    def test_of_many_unknowns_are_those_of_families_alone(self, monkeypatch):
        few = self.of(rows=2_000)
        monkeypatch.setattr("anbexact.models.smooth.terms.MOST_UNKNOWNS", few.n_cells - 1)
        terms = {term.features: term for term in self.of(rows=2_000).terms}
        families = [("f1", "f0"), ("f2", "f0", "f1"), ("f3", "f0", "f1")]
        assert [features for features in terms if len(features) > 1] == families
        assert np.bincount(terms[families[1]].axes[0].groups).tolist() == [2] * 6
        monkeypatch.setattr("anbexact.models.smooth.terms.MOST_UNKNOWNS", few.n_cells)
        assert [term.shape for term in self.of(rows=2_000).terms] == [term.shape for term in few.terms]

    def test_of_the_parents_of_the_class_are_all_their_pairs(self):
        terms = self.of(rows=2_000, families={"c": ("f0", "f1", "f2")}).terms
        pairs = [("f0", "f1"), ("f0", "f2"), ("f1", "f2")]
        assert [term.features for term in terms if len(term.axes) > 1] == [*pairs, ("f0", "f1", "f2")]

    def of(self, *, rows, families=None):
        """Terms of features with 12, 5, 12 and 3 states."""
        rng = np.random.default_rng(0)
        arities = {"f0": 12, "f1": 5, "f2": 12, "f3": 3, "c": 2}
        vocabulary = Vocabulary({name: tuple(range(k)) for name, k in arities.items()}, "c")
        codes = np.stack([rng.permutation(np.arange(rows) % k) for k in arities.values()], axis=1).astype(np.int16)
        table = DiscreteTable(vocabulary, codes, np.ones(rows), rows)
        usual = {"c": (), "f0": ("f0",), "f1": ("f1", "f0"), "f2": ("f2", "f0", "f1"), "f3": ("f3", "f0", "f1")}
        design = make_design(table, families or usual)
        terms = smooth_terms(design, vocabulary, ("f0", "f1", "f2"))
        return smooth_problem(design, terms, np.zeros(design.weights.shape))

    def test_a_missing_state_stands_beside_the_order(self):
        X, y = load_iris()
        X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
        model = NaiveBayesClassifier(handle_missing="own_state").fit(X, y)
        axis = full_axis(model.vocabulary_, "petal_width", ordered=True)
        assert axis.ordered == axis.size - 1

    def test_groups_have_about_equal_weight(self):
        axis = Axis("x", np.arange(25), 25, 24)
        grouped = grouped_axis(axis, np.ones(25), 6)
        assert grouped.size == 7
        assert np.bincount(grouped.groups).tolist() == [4, 4, 4, 4, 4, 4, 1]
        assert grouped_axis(axis, np.ones(25), 24) is axis

    def test_spread_puts_values_on_the_features_of_a_family(self):
        rng = np.random.default_rng(0)
        term = SmoothTerm((Axis("b", np.array([0, 0, 1]), 2, 2), Axis("a", np.arange(2), 2, 2)), 0)
        values = rng.normal(size=(4, 3))
        spread = term.spread(values, ("a", "x", "b"))
        assert spread.shape == (2, 1, 3, 3)
        grid = values.reshape(2, 2, 3)
        for a in range(2):
            for b in range(3):
                np.testing.assert_array_equal(spread[a, 0, b], grid[[0, 0, 1][b], a])


class TestModels:
    @pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), TANClassifier(), ANBClassifier()])
    def test_refining_changes_no_prediction(self, estimator):
        X, y = load_iris()
        model = estimator.fit(X, y)
        refined = to_logit(model, X, intervals=12)
        np.testing.assert_allclose(refined.predict_proba(X), model.predict_proba(X), atol=1e-12)
        for name, cuts in model.cut_points_.items():
            assert set(cuts) <= set(refined.cut_points[name])
            assert len(refined.cut_points[name]) >= 8

    def test_columns_that_were_left_whole_get_intervals(self):
        X, y = load_iris()
        X = X.assign(noise=np.random.default_rng(0).normal(size=len(X)))
        model = NaiveBayesClassifier(discretizer="mdlp").fit(X, y)
        assert len(model.cut_points_["noise"]) == 0
        assert len(to_logit(model, X, intervals=12).cut_points["noise"]) == 11

    @pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), TANClassifier(), ANBClassifier()])
    def test_a_smooth_refit_has_the_posterior_of_its_terms(self, estimator):
        X, y = load_iris()
        model = to_logit(estimator.fit(X, y), X, intervals=12).refit(X, y, smooth=3.0)
        found = model.refitted
        assert found.fit.converged
        own = found.problem.predictors(found.shift)
        own -= np.log(np.exp(own).sum(axis=1, keepdims=True))
        assert model.log_likelihood(X, y) == pytest.approx(np.vdot(found.problem.weights, own))
        assert model.log_likelihood(X, y) == pytest.approx(found.fit.log_likelihood)

    def test_networks_of_smooth_refits_have_their_posterior(self):
        X, y = load_iris()
        model = to_logit(TANClassifier().fit(X, y), X, intervals=10).refit(X, y, smooth="auto")
        np.testing.assert_allclose(model.to_classifier().predict_proba(X), model.predict_proba(X), atol=1e-9)
        hidden = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
        assert np.isfinite(model.predict_proba(hidden)).all()

    def test_the_class_may_have_parents(self):
        problem = random_problem(15, 3, n_rows=200, max_arity=4, n_classes=2, unseen=False)
        X, y = problem.frame()
        below = {"f0": [], "f1": ["f0", "c"], "f2": ["c"], "c": ["f0"]}
        network = FixedStructureClassifier(below, categories=problem.categories, discretizer=None).fit(X, y)
        model = to_logit(network).refit(X, y, smooth=1.0)
        assert [term.features for term in model.refitted.problem.terms][:2] == [(), ("f0",)]
        assert model.log_likelihood(X, y) == pytest.approx(model.refitted.fit.log_likelihood)

    @pytest.mark.parametrize(
        "smooth", [-1, "strong", np.inf, True, {"slop": 1}, {"slope": None}, {"slope": {"a": -1}}]
    )
    def test_senseless_strengths_are_refused(self, smooth):
        X, y = load_iris()
        with pytest.raises(ValueError, match=r"smooth must be .* some of 'slope', .* and of 'centre' to a number"):
            to_logit(NaiveBayesClassifier().fit(X, y)).refit(X, y, smooth=smooth)

    def test_other_senseless_parameters_are_refused(self):
        X, y = load_iris()
        model = to_logit(NaiveBayesClassifier().fit(X, y))
        with pytest.raises(ValueError, match="l2 must be above 0"):
            model.refit(X, y, smooth=1, l2=0)
        with pytest.raises(ValueError, match="interactions must be"):
            model.refit(X, y, smooth=1, interactions="all")
        with pytest.raises(ValueError, match="ordered names 'z'"):
            model.refit(X, y, smooth=1, ordered=["z"])
        with pytest.raises(ValueError, match="the cut points of intervals come from the rows"):
            to_logit(NaiveBayesClassifier().fit(X, y), intervals=3)
        with pytest.raises(ValueError, match="intervals must be"):
            to_logit(NaiveBayesClassifier().fit(X, y), X, intervals=1)
