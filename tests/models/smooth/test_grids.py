"""Finer grids for pairs: how they are made, second differences on them, and when they are chosen."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from scipy.stats import multivariate_normal

from anbexact import AdditiveClassifier, ANBClassifier, NaiveBayesClassifier, load
from anbexact.models.smooth.fit import SmoothProblem, smooth_fit
from anbexact.models.smooth.grids import degrees_of_pairs, finer_axis, on_grids, with_finer_grids
from anbexact.models.smooth.modes import Modes
from anbexact.models.smooth.smoothness import Smoothness, Tuning, by_evidence
from anbexact.models.smooth.terms import Axis, Grid, SmoothTerm

FINE = [Grid("a", "b", 4, 2)]


def axis(name, groups, unordered=0, **how):
    groups = np.asarray(groups)
    size = int(groups.max()) + 1
    return Axis(name, groups, size, size - unordered, **how)


def problem(seed=0, *, n_classes=2, n_rows=300, sizes=(8, 6), coarse=(3, 3), ridge=0.01):
    """Rows of two features with main effects on all states, and a pair on a coarse grid."""
    rng = np.random.default_rng(seed)
    states = np.column_stack([rng.integers(0, size, n_rows) for size in sizes])
    full = [axis(name, range(size)) for name, size in zip("ab", sizes, strict=True)]
    merged = [axis(a.feature, np.arange(a.size) * size // a.size) for a, size in zip(full, coarse, strict=True)]
    terms, cells = [SmoothTerm((), 0)], [np.zeros(n_rows)]
    for axes in ((full[0],), (full[1],), tuple(merged)):
        term = SmoothTerm(axes, terms[-1].cells.stop)
        own = np.ravel_multi_index([a.groups[states[:, "ab".index(a.feature)]] for a in axes], term.shape)
        terms.append(term)
        cells.append(own + term.first)
    wave = np.sin(2 * np.pi * states[:, 0] / sizes[0]) * np.sin(2 * np.pi * states[:, 1] / sizes[1])
    odds = np.outer(3 * wave, np.arange(n_classes))
    p = np.exp(log_softmax(odds, axis=1))
    labels = np.array([rng.choice(n_classes, p=own) for own in p])
    weights = np.eye(n_classes)[labels]
    return SmoothProblem(
        tuple(terms), np.column_stack(cells).astype(np.int32), weights, np.zeros_like(weights), ridge
    )


def bending(f, ordered):
    """The squared Laplacian at every cell, with neighbours beyond an edge like the cell, times the area of a cell.

    The step along an axis of m groups is the root of ``1 / (m (m - 1))``, as first differences have the factor m - 1
    and a cell has the width 1 / m.
    """
    total = 0.0
    for i, j in product(*map(range, f.shape)):
        laplacian = 0.0
        for at, m, along in ((i, ordered[0], f[:, j]), (j, ordered[1], f[i, :])):
            for other in (at - 1, at + 1):
                if 0 <= other < m:
                    laplacian += m * (m - 1) * (along[other] - along[at])
        total += laplacian**2 / f.size
    return total


class TestSecondDifferences:
    @pytest.mark.parametrize("shape", [(3, 4), (2, 5)])
    def test_are_the_squared_laplacian(self, shape):
        term = SmoothTerm((axis("a", range(shape[0])), axis("b", range(shape[1]))), 0, 2)
        f = np.random.default_rng(0).normal(size=shape)
        assert term.kinds == tuple(term.penalties) == ("bending",)
        assert f.ravel() @ term.penalties["bending"] @ f.ravel() == pytest.approx(bending(f, shape), rel=1e-12)

    @pytest.mark.parametrize("how", [{}, {"unordered": 1}, {"cyclic": True}])
    @pytest.mark.parametrize("strength", [2.0, {"a": 3.0, "b": 0.2}])
    def test_modes_have_the_precision_of_the_cells(self, how, strength):
        term = SmoothTerm((axis("a", range(4), **how), axis("b", range(3))), 0, 2)
        modes = Modes.of([term], {"bending": strength}, 0.1)
        own = modes.shifts(np.eye(12))
        np.testing.assert_allclose(own @ own.T @ term.precision({"bending": strength}, 0.1), np.eye(12), atol=1e-9)

    def test_with_one_strength_are_those_with_the_same_strength_of_both_features(self):
        term = SmoothTerm((axis("a", range(4)), axis("b", range(3))), 0, 2)
        expected = 2.0 * term.penalties["bending"] + 0.1 * np.eye(12)
        for strength in (2.0, {"a": 2.0, "b": 2.0}):
            np.testing.assert_allclose(term.precision({"bending": strength}, 0.1), expected)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_maximum_is_that_of_scipy(self, n_classes):
        fine, _ = on_grids(problem(n_classes=n_classes), FINE)
        strengths = {"slope": 0.5, "curvature": 0.02, "bending": 0.003}
        precisions = fine.precisions(strengths)

        def loss(flat):
            shift = flat.reshape(fine.n_cells, n_classes)
            logs = log_softmax(fine.predictors(shift), axis=1)
            residual = np.zeros_like(shift)
            np.add.at(residual, fine.cells, (np.exp(logs) - fine.weights)[:, None, :])
            paid = np.vstack([p @ shift[t.cells] for p, t in zip(precisions, fine.terms, strict=True)])
            return -(fine.weights * logs).sum() + np.vdot(shift, paid) / 2, (residual + paid).ravel()

        found, _ = smooth_fit(fine, strengths)
        start = np.zeros(fine.n_cells * n_classes)
        expected = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 20_000, "ftol": 1e-15})
        assert -found.penalised == pytest.approx(expected.fun, rel=1e-7)
        assert -found.penalised <= expected.fun + 1e-9
        assert loss(found.shift.ravel())[0] == pytest.approx(-found.penalised, rel=1e-12)

    def test_evidence_is_that_of_numerical_integration(self):
        """The strength by the Laplace evidence is near the best one by importance sampling of the integral."""
        made = problem(3, n_rows=150, sizes=(4, 3), coarse=(4, 3))
        pair = replace(made.terms[3], first=1, order=2)
        cells = np.column_stack([np.zeros(150), made.cells[:, 3] - made.terms[3].first + 1]).astype(np.int32)
        made = SmoothProblem((made.terms[0], pair), cells, made.weights, made.base, 0.1)
        chosen, _ = by_evidence(made)
        indicators = np.zeros((150, made.n_cells))
        indicators[np.arange(150)[:, None], made.cells] = 1.0
        rng, n = np.random.default_rng(0), made.n_cells

        def integral(strength):
            """The log of the marginal likelihood; log odds have the prior precision S / 2, as two shifts have S."""
            prior = np.zeros((n, n))
            for own, term in zip(made.precisions({"bending": strength}), made.terms, strict=True):
                prior[term.cells, term.cells] = own / 2
            found, _ = smooth_fit(made, {"bending": strength})
            centre = found.shift[:, 1] - found.shift[:, 0]
            p = 1 / (1 + np.exp(-indicators @ centre))
            spread = np.linalg.inv(prior + indicators.T @ ((p * (1 - p))[:, None] * indicators))
            proposal = multivariate_normal(centre, 1.2 * spread)
            drawn = proposal.rvs(20_000, random_state=rng)
            odds = drawn @ indicators.T * (2 * made.weights[:, 1] - 1)
            logs = -np.logaddexp(0, -odds).sum(axis=1) - proposal.logpdf(drawn)
            logs += multivariate_normal(np.zeros(n), np.linalg.inv(prior)).logpdf(drawn)
            return np.logaddexp.reduce(logs) - np.log(len(logs))

        tried = np.geomspace(1e-4, 10, 11)
        best = tried[np.argmax([integral(strength) for strength in tried])]
        assert best / 4 < chosen.strengths["bending"] < best * 4
        assert integral(chosen.strengths["bending"]) > integral(best) - 0.5


class TestGrids:
    def test_cut_groups_into_parts_of_equal_weight(self):
        full, weights = axis("a", range(8)), np.array([1.0, 1, 1, 1, 3, 1, 1, 1])
        found = finer_axis(axis("a", [0, 0, 0, 0, 1, 1, 1, 1]), full, weights, 2)
        assert found.groups.tolist() == [0, 0, 1, 1, 2, 3, 3, 3]
        assert (found.size, found.ordered) == (4, 4)

    @pytest.mark.parametrize("parts", [1, 2, 3, 50])
    def test_are_nested_and_keep_what_has_no_order(self, parts):
        full = axis("a", [0, 1, 2, 3, 4, 5, 6, 7, 8], unordered=2)
        coarse = axis("a", [0, 0, 0, 1, 1, 2, 2, 3, 4], unordered=2)
        found = finer_axis(coarse, full, np.ones(9), parts)
        assert found.size - found.ordered == 2
        assert found.ordered == sum(min(parts, own) for own in (3, 2, 2))
        for group in range(found.size):
            assert len(set(coarse.groups[found.groups == group])) == 1

    def test_contain_the_shapes_on_coarser_ones(self):
        made = problem(1, n_classes=3)
        fine, old = on_grids(made, FINE)
        shift = np.random.default_rng(0).normal(size=(made.n_cells, 3))
        np.testing.assert_allclose(fine.predictors(shift[old]), made.predictors(shift), atol=1e-12)
        assert fine.terms[3].shape == (8, 6)
        assert fine.terms[3].order == 2

    def test_stay_without_finer_ones(self):
        made = problem(1)
        same, old = on_grids(made, [Grid("b", "a", 1, 1), Grid("a", "z", 4, 2)])
        np.testing.assert_array_equal(same.cells, made.cells)
        np.testing.assert_array_equal(old, np.arange(made.n_cells))


class TestChoice:
    @staticmethod
    def chosen(**strengths):
        own = {"slope": 1.0, "curvature": 0.1, "interaction": 1.0, **strengths}
        return Smoothness(own, "auto", 1, complete=True, by_evidence=own, tuning=Tuning())

    def test_degrees_are_those_of_the_whole_curvature(self):
        made = problem(5)
        chosen = self.chosen()
        shift = smooth_fit(made, chosen.strengths)[0].shift
        p = np.exp(log_softmax(made.predictors(shift), axis=1))
        indicators = np.zeros((len(p), made.n_cells))
        indicators[np.arange(len(p))[:, None], made.cells] = 1.0
        prior = np.zeros((made.n_cells, made.n_cells))
        for own, term in zip(made.precisions(chosen.strengths), made.terms, strict=True):
            prior[term.cells, term.cells] = own
        covariance = np.linalg.inv(prior + indicators.T @ (2 * p.prod(axis=1)[:, None] * indicators))
        pair = made.terms[3]
        difference = np.linalg.inv(prior)[pair.cells, pair.cells] - covariance[pair.cells, pair.cells]
        expected = float(np.vdot(difference, pair.penalties["interaction"]))
        assert degrees_of_pairs(made, chosen, shift)[3] == pytest.approx(expected, rel=0.05)

    def test_finer_grids_are_taken_where_they_predict_better(self):
        made = problem(2, n_rows=2_000, sizes=(16, 16))
        start = np.zeros((made.n_cells, 2))
        found, smoothness, shift = with_finer_grids(made, self.chosen(), start, start)
        assert smoothness.grids
        assert found.terms[3].size > made.terms[3].size
        np.testing.assert_array_equal(shift, np.zeros((found.n_cells, 2)))  # not where fits of folds ended

    @pytest.mark.parametrize(
        ("change", "kept"),
        [({}, ["b"]), ({"complete": False}, []), ({"by_evidence": None}, [])],
        ids=["a feature keeps its grid", "no time left", "strengths were given"],
    )
    def test_grids_stay(self, change, kept):
        made = problem(2, n_rows=2_000, sizes=(16, 16))
        chosen = replace(self.chosen(), **change)
        start = np.zeros((made.n_cells, 2))
        found, smoothness, _ = with_finer_grids(made, chosen, start, start, kept=kept)
        assert found is made
        assert smoothness is chosen

    def test_grids_stay_where_there_is_no_interaction(self):
        made = problem(4, n_rows=400)
        rng = np.random.default_rng(0)
        made = replace(made, weights=np.eye(2)[rng.integers(0, 2, len(made.weights))])
        start = np.zeros((made.n_cells, 2))
        found, smoothness, _ = with_finer_grids(made, self.chosen(interaction=1e4), start, start)
        assert found is made
        assert not smoothness.grids


@pytest.fixture(scope="module")
def rings():
    """Three rings, which no pair of coarse grids shows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, (600, 2)), columns=["a", "b"])
    radius = np.hypot(X["a"], X["b"])
    return X, pd.Series(np.where(np.sin(9 * radius) > 0, "in", "out"))


class TestModels:
    def test_on_finer_grids_are_saved_and_given_again(self, rings, tmp_path):
        X, y = rings
        model = AdditiveClassifier(ANBClassifier(ess=1.0)).fit(X, y)
        smoothness = model.logit_.refitted.smoothness
        assert smoothness.grids
        expected = model.predict_proba(X)
        model.save(tmp_path / "model.json")
        loaded = load(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.predict_proba(X), expected)
        assert loaded.logit_.refitted.smoothness.grids == smoothness.grids
        assert [term.order for term in loaded.logit_.refitted.problem.terms] == [1, 1, 1, smoothness.grids[0].order]
        given = AdditiveClassifier(ANBClassifier(ess=1.0), smooth=smoothness.settings).fit(X, y)
        np.testing.assert_allclose(given.predict_proba(X), expected, atol=1e-7)
        assert "grid of b & a 4 times finer" in str(model.logit_.result())

    @pytest.mark.parametrize(
        ("grids", "message"),
        [
            ([("a", "b", 4)], "the grids of smooth must be a list"),
            ([("a", "b", 0, 1)], "with 1 to 64 parts"),
            ([("a", "b", 2, 3)], "the order 1 or 2"),
            (5, "the grids of smooth must be a list"),
            ([("a", "b", 2, 2)], "no interaction of just these"),
        ],
    )
    def test_refuse_grids_that_are_none(self, rings, grids, message):
        X, y = rings
        with pytest.raises(ValueError, match=message):
            AdditiveClassifier(NaiveBayesClassifier(), smooth={"slope": 1.0, "grids": grids}).fit(X[:50], y[:50])
