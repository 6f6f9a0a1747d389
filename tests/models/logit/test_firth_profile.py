"""Profiles of Firth's penalised likelihood where classes are nearly separated, and rows are few."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from test_open_bridge import penalised
from tiers import examples

from anbexact import TANClassifier
from anbexact.adapters import to_logit
from anbexact.models.logit import firth, firth_profile
from anbexact.models.logit.firth import FirthProblem
from anbexact.models.logit.firth_profile import FirthProfile
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
    @examples(40)
    def test_interval_and_test_agree(self, seed, n_classes):
        problem = hard_problem(seed, n_classes)
        found = problem.fit()
        assert found.converged
        rng = np.random.default_rng(seed)
        for place in rng.permutation(problem.size)[:4]:
            profile = FirthProfile(problem, found, place)
            estimate, p_value = found.coefficients.T.ravel()[place], profile.p_value
            within = (-np.inf, np.inf)
            for alpha in sorted({0.01, 0.05, 0.3, 0.9 * p_value, 1.0 - 0.9 * (1.0 - p_value)}):
                lower, upper = profile.interval(1 - alpha)
                assert lower < estimate < upper
                assert (lower <= 0 <= upper) == (p_value >= alpha)
                assert within[0] <= lower + 1e-6, "intervals of a higher level contain those of a lower level"
                assert within[1] >= upper - 1e-6
                within = lower, upper
            assert not profile.uncertain

    @given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 4))
    @examples(20)
    def test_values_are_attained(self, seed, n_classes):
        """No end is nearer than a maximum with that deviance, found here from the formula, allows."""
        problem = hard_problem(seed, n_classes)
        found, value = problem.fit(), penalised(problem.design, problem.weights)
        place = seed % problem.size
        profile = FirthProfile(problem, found, place)
        for level in (0.5, 0.95):
            quantile = chi2.ppf(level, 1)
            for sign, end in zip((-1, 1), profile.interval(level), strict=True):
                if not np.isfinite(end):
                    continue
                maximum = profile._highest(None, end)
                near = min(found.coefficients.T.ravel()[place] + sign * 1e-3, end, key=lambda at: sign * at)
                assert value(maximum.point.beta) <= found.penalised - quantile / 2 + 1e-4
                assert profile._deviance(profile._highest(None, near)) < quantile
