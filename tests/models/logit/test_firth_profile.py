"""Profiles of Firth's penalised likelihood where classes are nearly separated, and rows are few."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from tiers import examples

from anbexact.models.logit import firth, firth_profile
from anbexact.models.logit.firth import FirthProblem
from anbexact.models.logit.firth_profile import FirthProfile
from anbexact.models.logit.firth_result import FirthResult
from anbexact.models.logit.identification import independent_columns


def hard_problem(seed, n_classes):
    """Few rows, nearly separated by steep log odds, with rare states, interactions and weights."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = rng.integers(8, 25), rng.integers(3, 9)
    shown = (rng.random((n_rows, n_features)) < rng.uniform(0.15, 0.5, n_features)).astype(float)
    pairs = shown[:, :-1] * shown[:, 1:]
    design = np.column_stack([np.ones(n_rows), shown, pairs[:, : rng.integers(0, 4)]])
    design = design[:, independent_columns(design)]
    classes = (design @ rng.normal(0, 4, (design.shape[1], n_classes))).argmax(axis=1)
    noisy = rng.random(n_rows) < 0.1
    classes[noisy] = rng.integers(0, n_classes, noisy.sum())
    classes[:n_classes] = np.arange(n_classes)
    weights = np.zeros((n_rows, n_classes))
    weights[np.arange(n_rows), classes] = rng.uniform(0.3, 2.0, n_rows) if seed % 2 else rng.integers(1, 4, n_rows)
    return FirthProblem(design, weights)


class TestHardTables:
    @given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 4))
    @examples(15)
    def test_interval_and_test_agree(self, seed, n_classes):
        problem = hard_problem(seed, n_classes)
        found = problem.fit()
        assert found.converged
        rng = np.random.default_rng(seed)
        for place in rng.permutation(problem.size)[:4]:
            profile = FirthProfile(problem, found, place)
            estimate, p_value = found.coefficients.T.ravel()[place], profile.p_value
            within = (-np.inf, np.inf)
            for alpha in sorted({0.01, 0.05, 0.3, 0.9 * p_value, min(1.1 * p_value, 0.99)}):
                lower, upper = profile.interval(1 - alpha)
                assert lower < estimate < upper
                assert (lower <= 0 <= upper) == (p_value >= alpha)
                assert within[0] <= lower + 1e-6, "intervals of a higher level contain those of a lower level"
                assert within[1] >= upper - 1e-6
                within = lower, upper
            assert not profile.uncertain

    @given(seed=st.integers(0, 10_000))
    @examples(20, quick=5)
    def test_is_that_of_a_grid(self, seed):
        """Two coefficients: the maximum over the other one is found without a search."""
        rng = np.random.default_rng(seed)
        design = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, rng.choice([-1.0, 0.5, 2.0])]])
        weights = rng.uniform(0.1, 3.0, (3, 2)) * (rng.random((3, 2)) < 0.6)
        weights[np.arange(3), rng.integers(0, 2, 3)] += 0.1  # so that every row counts
        problem = FirthProblem(design, weights)
        found, (places, grid) = problem.fit(), (np.arange(2), np.linspace(-150, 150, 60_001))
        for place in places:
            profile = FirthProfile(problem, found, place)
            ends = profile.interval(0.9)
            expected = (chi2.ppf(0.9, 1), chi2.ppf(0.9, 1), chi2.isf(profile.p_value, 1))
            for held, deviance in zip((*ends, 0.0), expected, strict=True):
                if np.isfinite(held):
                    beta = np.full((2, len(grid)), held)
                    beta[1 - place] = grid
                    highest = penalised_of_two_classes(design, weights, beta).max()
                    assert 2 * (found.penalised - highest) == pytest.approx(deviance, abs=2e-4)

    def test_of_a_single_coefficient(self):
        """For k of n rows in the second class, ``ℓ*`` is ``(k + ½) β - (n + 1) ln (1 + exp β)`` plus a constant."""

        def value(beta):
            return 2.5 * beta - 6.5 * np.logaddexp(0, beta)

        problem = FirthProblem(np.ones((1, 1)), np.array([[3.5, 2.0]]))
        found = problem.fit()
        estimate = found.coefficients[0, 0]
        assert estimate == pytest.approx(np.log(2.5 / 4.0), abs=1e-6)
        profile = FirthProfile(problem, found, 0)
        for end in profile.interval(0.95):
            assert 2 * (value(estimate) - value(end)) == pytest.approx(chi2.ppf(0.95, 1), abs=1e-6)
        assert profile.p_value == pytest.approx(chi2.sf(2 * (value(estimate) - value(0.0)), 1), abs=1e-6)

    def test_a_higher_maximum_is_reported(self, monkeypatch):
        monkeypatch.setattr(firth, "MORE_STARTS", 0)
        problem = hard_problem(40, 3)
        low = problem.fit()
        terms = pd.Index([f"x{k}" for k in range(problem.n_columns)])
        result = FirthResult(terms, np.array(["a", "b", "c"]), low, problem)
        with pytest.warns(UserWarning, match=r"not the maximum .* profile of x\d \([bc]\) it is higher by 0\.\d+"):
            intervals, tests = result.conf_int(), result.pvalues
        outside = (intervals > 0).all(axis=1) | (intervals < 0).all(axis=1)
        np.testing.assert_array_equal(outside, (tests < 0.05).T.to_numpy().ravel())
        monkeypatch.undo()
        assert problem.fit().penalised > low.penalised + 0.1

    def test_searches_that_do_not_converge_are_named(self, monkeypatch):
        problem = hard_problem(1, 2)
        found = problem.fit()
        terms = pd.Index([f"x{k}" for k in range(problem.n_columns)])
        result = FirthResult(terms, np.array(["a", "b"]), found, problem)
        monkeypatch.setattr(firth, "MOST_STEPS", 1)
        monkeypatch.setattr(firth_profile, "MOST_POINTS", 3)
        with pytest.warns(UserWarning, match=r"the interval and the p-value of x\d \(b\); .* was not found is NaN"):
            assert result.conf_int().isna().any(axis=None)


def penalised_of_two_classes(design, weights, beta):
    """The penalised log likelihood of two classes and two columns, for many columns of β at once."""
    odds = design @ beta
    chosen, other = -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
    spread = weights.sum(axis=1)[:, None] * np.exp(chosen + other)
    pairs = [(0, 1), (0, 2), (1, 2)]  # the determinant as a sum of positive terms (Cauchy and Binet)
    determinant = sum(spread[t] * spread[u] * np.linalg.det(design[[t, u]]) ** 2 for t, u in pairs)
    value = weights[:, 1] @ chosen + weights[:, 0] @ other
    return value + 0.5 * np.log(determinant)
