"""The weights of a logarithmic pool, against the formula, a general solver and a grid."""

from itertools import product

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm
from tiers import examples

from anbexact.models.pool.weights import (
    LEAST_LOG,
    RIDGES,
    HeldOutLogs,
    PoolWeights,
    Problem,
    finite_logs,
    fit_pool,
    fit_weights,
    log_evidence,
)


def random_logs(seed, n_rows=30, n_members=3, n_classes=3, sharpness=1.5):
    """Members that see the true class with more and more noise, and weights of the rows, some of them 0."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n_rows)
    scores = rng.normal(size=(n_rows, n_members, n_classes)) * np.linspace(0.3, 2, n_members)[:, None]
    scores[np.arange(n_rows), :, codes] += sharpness
    logs = scores - np.log(np.exp(scores).sum(axis=2, keepdims=True))
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], n_rows)
    weights[0] = 1.0
    return HeldOutLogs(logs, codes.astype(np.intp), weights)


def objective(held_out, weights, biases, ridge):
    rows = held_out.logs, held_out.codes, held_out.weights
    return oracles.pool_objective(*rows, weights, biases, ridge, oracles.pool_centre(*rows))


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.01, 1.0, 30.0, 1e4]))
@examples(30)
def test_no_general_solver_finds_better_weights(seed, n_members, n_classes, ridge):
    held_out = random_logs(seed, n_members=n_members, n_classes=n_classes)
    found = fit_weights(held_out, ridge)

    def value(point):
        return -objective(held_out, point[:n_members], point[n_members:], ridge)

    start = np.concatenate([np.full(n_members, 1 / n_members), np.zeros(n_classes)])
    bounds = [(0, None)] * n_members + [(None, None)] * n_classes
    other = minimize(value, start, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9})
    assert objective(held_out, found.weights, found.biases, ridge) >= -other.fun - 1e-8
    np.testing.assert_allclose(found.weights, other.x[:n_members], atol=2e-3)
    assert (found.weights >= 0).all()
    assert abs(found.biases.sum()) < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_no_point_of_a_grid_is_better(seed):
    held_out = random_logs(seed, n_rows=20, n_members=2, n_classes=2)
    found = fit_weights(held_out, 0.5)
    best = objective(held_out, found.weights, found.biases, 0.5)
    for a, b, bias in product(np.linspace(0, 3, 10), np.linspace(0, 3, 10), np.linspace(-1, 1, 7)):
        assert objective(held_out, (a, b), (bias, -bias), 0.5) <= best + 1e-9


def test_posterior_is_the_formula():
    held_out = random_logs(5)
    pool = PoolWeights(np.array([0.5, 0.0, 1.3]), np.array([0.2, -0.3, 0.1]), 1.0)
    expected = [oracles.pooled_posterior(of_row, pool.weights, pool.biases) for of_row in held_out.logs]
    np.testing.assert_allclose(np.exp(pool.log_posterior(held_out.logs)), expected, rtol=1e-12)


def test_a_member_that_is_always_wrong_gets_nothing():
    held_out = random_logs(1, n_rows=200, n_members=2)
    wrong = held_out.logs.copy()
    wrong[:, 1] = -wrong[:, 1]
    found = fit_weights(HeldOutLogs(wrong, held_out.codes, held_out.weights), 0.1)
    assert found.weights[1] == 0
    assert found.weights[0] > 0


def test_order_of_members_does_not_matter():
    held_out = random_logs(2, n_members=4)
    order = [2, 0, 3, 1]
    one = fit_weights(held_out, 1.0)
    other = fit_weights(HeldOutLogs(held_out.logs[:, order], held_out.codes, held_out.weights), 1.0)
    np.testing.assert_allclose(other.weights, one.weights[order], atol=1e-6)


def test_weight_two_is_two_rows():
    held_out = random_logs(3)
    whole = np.array([0, 1, 2] * 10)
    rows = np.repeat(np.arange(30), whole)
    one = fit_weights(HeldOutLogs(held_out.logs, held_out.codes, whole.astype(float)), 1.0)
    other = fit_weights(HeldOutLogs(held_out.logs[rows], held_out.codes[rows], np.ones(len(rows))), 1.0)
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_an_infinite_ridge_gives_the_centre(seed):
    held_out = random_logs(seed)
    expected = oracles.pool_centre(held_out.logs, held_out.codes, held_out.weights)
    for ridge in (np.inf, 1e12):
        found = fit_weights(held_out, ridge)
        np.testing.assert_allclose(found.weights, expected, atol=1e-9)
        np.testing.assert_allclose(found.biases, np.zeros(3), atol=1e-9)
    nothing = HeldOutLogs(held_out.logs, held_out.codes, np.zeros(30))
    np.testing.assert_array_equal(fit_weights(nothing, 1.0).weights, np.full(3, 1 / 3))


def test_impossible_classes_have_finite_logs():
    logs = np.array([[[-np.inf, 0.0], [np.nan, np.nan]]])
    np.testing.assert_array_equal(finite_logs(logs), [[[LEAST_LOG, 0.0], [LEAST_LOG, LEAST_LOG]]])
    found = fit_weights(HeldOutLogs(logs, np.array([1]), np.ones(1)), 1.0)
    assert np.isfinite(found.weights).all()


def evidence(held_out, ridge):
    """Laplace's formula at the fitted point, with second differences in place of derivatives."""
    n_members = held_out.logs.shape[1]
    found = fit_weights(held_out, ridge)
    point = np.concatenate([found.weights, found.biases])
    free = [k for k in range(len(point)) if k >= n_members or point[k] > 0]

    def value(moved):
        return -objective(held_out, moved[:n_members], moved[n_members:], ridge)

    step = 1e-4 * np.eye(len(point))
    hessian = [
        [
            sum(one * other * value(point + one * step[j] + other * step[k]) for one in (1, -1) for other in (1, -1))
            / 4e-8
            for k in free
        ]
        for j in free
    ]
    return -value(point) + (len(free) * np.log(ridge) - np.log(np.linalg.det(hessian))) / 2


@pytest.mark.parametrize("seed", range(4))
def test_the_evidence_is_the_formula(seed):
    held_out = random_logs(seed, n_members=1 + seed, n_classes=2 + seed % 2)
    ridges = (0.5, 20.0, 1e3)
    expected = [evidence(held_out, ridge) for ridge in ridges]
    found = [log_evidence(Problem(held_out), fit_weights(held_out, ridge)) for ridge in ridges]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    priors = [norm(np.log(100), 2.5).logpdf(np.log(ridge)) for ridge in ridges]
    assert fit_pool(held_out, ridges).ridge == ridges[np.argmax(np.add(expected, priors))]


@pytest.mark.parametrize("seed", range(8))
def test_the_weights_are_those_of_the_precision_alone(seed):
    """Although the search for them starts from the weights under the next higher precision."""
    held_out = random_logs(seed, n_members=1 + seed % 4, n_classes=2 + seed % 3)
    found = fit_pool(held_out)
    assert found.ridge < RIDGES[-1]
    alone = fit_weights(held_out, found.ridge)
    np.testing.assert_allclose(found.weights, alone.weights, atol=1e-4)
    np.testing.assert_allclose(found.biases, alone.biases, atol=1e-4)


def test_without_evidence_the_precision_is_that_of_the_prior():
    """Members that predict the same for all rows and classes leave the weights where they are."""
    nothing = HeldOutLogs(np.full((9, 2, 3), np.log(1 / 3)), np.arange(9) % 3, np.ones(9))
    found = fit_pool(nothing, (1.0, 10.0, 100.0, 1e3, 1e5))
    assert found.ridge == 100.0
    np.testing.assert_allclose(found.weights, [0.5, 0.5], rtol=1e-12)


def test_few_rows_leave_the_weights_near_the_centre():
    """Ten rows that both members predict well would be predicted even better with larger weights."""
    held_out = random_logs(6, n_rows=10, n_members=2, sharpness=4.0)
    centre = fit_weights(held_out, np.inf).weights
    assert abs(fit_pool(held_out).weights - centre).max() < 0.5
    assert fit_weights(held_out, 1e-3).weights.sum() > 2


def test_the_log_likelihood_of_frequencies_is_that_of_the_shares_of_classes():
    codes, weights = np.array([0, 0, 2, 2, 2, 1]), np.array([1.0, 2.0, 0.5, 0.0, 1.5, 0.0])
    held_out = HeldOutLogs(np.zeros((6, 1, 4)), codes, weights)  # the class 1 has no weight, the class 3 no row
    expected = 3 * np.log(3 / 5) + 2 * np.log(2 / 5)
    assert held_out.log_likelihood_of_frequencies == pytest.approx(expected, rel=1e-12)
