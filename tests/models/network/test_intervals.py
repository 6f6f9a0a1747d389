"""Credible intervals of log ratios: against draws of the Dirichlet distributions."""

import numpy as np
import oracles
import pytest
import scipy.stats
from scipy.special import digamma, polygamma

from anbexact.models.network.intervals import CREDIBLE_MASS, log_odds_intervals, log_ratio_intervals

DRAWS = 200_000
SLACK = 2e-4
"""Nats by which the ends may be off."""


def interval(function, *parameters):
    low, high = function(*(np.array([value], dtype=float) for value in parameters))
    return low[0], high[0]


def check_against(draws, low, high):
    """The interval holds 95 % of the draws, within five standard errors and the slack of its ends."""
    error = 5 * np.sqrt(CREDIBLE_MASS * (1 - CREDIBLE_MASS) / len(draws)) + 0.001
    assert np.mean((draws >= low - SLACK) & (draws <= high + SLACK)) >= CREDIBLE_MASS - error
    assert np.mean((draws >= low + SLACK) & (draws <= high - SLACK)) <= CREDIBLE_MASS + error


@pytest.mark.parametrize(
    ("counts", "other_counts", "ess"),
    [
        ([40, 20], [10, 40], 1.0),
        ([3, 4, 0], [6, 0, 11], 1.0),
        ([0, 0, 0, 0], [5, 1, 2, 9], 2.0),
        ([2.5, 0.3, 7.1], [0.7, 12.2, 1.6], 10.0),
        ([20_000, 30_000], [100, 90_000], 1.0),
        ([120, 0], [7, 0], 0.5),
    ],
)
def test_against_scipys_dirichlet(counts, other_counts, ess):
    """Every state of two distributions: the interval has its probability, and the moments are as documented."""
    r = len(counts)
    alpha, other_alpha = (np.array(of) + ess / r for of in (counts, other_counts))
    draws = np.log(scipy.stats.dirichlet.rvs(alpha, DRAWS, random_state=1))
    others = np.log(scipy.stats.dirichlet.rvs(other_alpha, DRAWS, random_state=2))
    for k in range(r):
        a, b, other_a, other_b = alpha[k], alpha.sum() - alpha[k], other_alpha[k], other_alpha.sum() - other_alpha[k]
        term = draws[:, k] - others[:, k]
        low, high = interval(log_ratio_intervals, a, b, other_a, other_b)
        check_against(term, low, high)
        mean = digamma(a) - digamma(a + b) - digamma(other_a) + digamma(other_a + other_b)
        variance = polygamma(1, a) - polygamma(1, a + b) + polygamma(1, other_a) - polygamma(1, other_a + other_b)
        assert term.mean() == pytest.approx(mean, abs=6 * np.sqrt(variance / DRAWS))
        assert term.std() == pytest.approx(np.sqrt(variance), rel=0.05)
        if k:
            both = draws[:, k] - draws[:, 0]
            check_against(both, *interval(log_odds_intervals, a, alpha[0]))
            assert both.mean() == pytest.approx(
                digamma(a) - digamma(alpha[0]), abs=6 * np.sqrt((polygamma(1, a) + polygamma(1, alpha[0])) / DRAWS)
            )


@pytest.mark.parametrize(
    "parameters",
    [
        (40.004, 20.012, 0.004, 20.012),  # no row of the second class has the state
        (0.004, 20, 0.004, 20),  # nor of the first
        (30.004, 0.012, 5.1, 5.2),  # all rows of the first class have it
        (0.004, 0.012, 20.004, 20.1),  # no row of the first class has these parents
        (379, 0.001, 1.001, 3),
        (0.25, 0.75, 0.25, 0.75),
    ],
)
def test_small_priors(parameters):
    rng = np.random.default_rng(0)
    a, b, other_a, other_b = parameters
    draws = oracles.log_dirichlet_draws((a, b), DRAWS, rng)[:, 0]
    draws -= oracles.log_dirichlet_draws((other_a, other_b), DRAWS, rng)[:, 0]
    low, high = interval(log_ratio_intervals, *parameters)
    check_against(draws, low, high)
    estimate = np.log(a / (a + b)) - np.log(other_a / (other_a + other_b))
    assert low <= estimate <= high
    pair = oracles.log_dirichlet_draws((a, other_a), DRAWS, rng)
    check_against(pair[:, 0] - pair[:, 1], *interval(log_odds_intervals, a, other_a))


def test_the_term_is_in_its_interval_where_equal_tails_would_miss_it():
    parameters = 40.004, 20.012, 0.004, 20.012
    rng = np.random.default_rng(0)
    draws = oracles.log_dirichlet_draws(parameters[:2], DRAWS, rng)[:, 0]
    draws -= oracles.log_dirichlet_draws(parameters[2:], DRAWS, rng)[:, 0]
    estimate = np.log(40.004 / 60.016) - np.log(0.004 / 20.016)
    assert estimate < np.quantile(draws, 0.025)
    low, high = interval(log_ratio_intervals, *parameters)
    assert low < estimate < high
    assert high - low < np.subtract(*np.quantile(draws, [0.975, 0.025]))


def test_many_at_once_and_with_the_two_exchanged():
    """Intervals do not depend on what is computed beside them; exchanging the two θ changes the sign."""
    rng = np.random.default_rng(3)
    parameters = 10 ** rng.uniform(-2, 3, (4, 200))
    low, high = log_ratio_intervals(*parameters)
    assert (low < high).all()
    for k in range(0, 200, 40):
        assert interval(log_ratio_intervals, *parameters[:, k]) == (low[k], high[k])
    swapped_low, swapped_high = log_ratio_intervals(*parameters[[2, 3, 0, 1]])
    np.testing.assert_allclose(swapped_low, -high, rtol=0.02, atol=0.02)
    np.testing.assert_allclose(swapped_high, -low, rtol=0.02, atol=0.02)
    estimates = np.log(parameters[0] / (parameters[0] + parameters[1]))
    estimates -= np.log(parameters[2] / (parameters[2] + parameters[3]))
    assert (low - 0.05 <= estimates).all()
    assert (estimates <= high + 0.05).all()


def test_more_rows_narrow_the_interval():
    widths = []
    for n in (1, 10, 100, 1000):
        low, high = interval(log_ratio_intervals, 3 * n + 0.5, n + 0.5, n + 0.5, 3 * n + 0.5)
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(2 * 1.96 * np.sqrt(1 / 3000 + 1 / 1000 - 2 / 4000), rel=0.01)


def test_no_terms():
    empty = np.empty(0)
    assert [len(ends) for ends in log_ratio_intervals(empty, empty, empty, empty)] == [0, 0]
    assert [len(ends) for ends in log_odds_intervals(empty, empty)] == [0, 0]
