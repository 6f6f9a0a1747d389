"""Integer points of least loss against enumeration, and the bounds that the search rests on."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from tiers import repeats

from anbexact.scorecards.convex import Candidates, relaxed
from anbexact.scorecards.rounding import best_points


def drawn(rng, n_rows, n_scores, sizes, *, joint=False):
    """Return candidates of tables with these numbers of variables, real weights, and cells without rows."""
    sizes, n_tables = np.array(sizes), len(sizes)
    firsts = np.cumsum([0, *sizes])
    columns = np.stack([rng.integers(-1, size, n_rows) for size in sizes], axis=1)
    columns = np.where(columns < 0, -1, columns + firsts[:-1])
    weights = rng.dirichlet(np.full(n_scores + 1, 0.4), n_rows) * rng.random((n_rows, 1))
    features = [frozenset({j}) for j in range(n_tables)]
    if joint:
        features[-1] = frozenset({0, 1})
    centre = rng.normal(0, 0.5, (firsts[-1], n_scores))
    return Candidates(
        columns, weights / weights.sum(), np.repeat(np.arange(n_tables), sizes), tuple(features), centre, 1e-3
    )


def loss_of(candidates, points, scale, offset):
    """The loss from its formula."""
    listed = np.vstack([points, np.zeros((1, points.shape[1]))])  # -1 is the last one
    logs = scale * listed[candidates.columns].sum(axis=1) + offset
    logs = np.hstack([np.zeros((len(logs), 1)), logs])
    total = -(candidates.weights * (logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))).sum()
    return total + candidates.pull / 2 * ((scale * points - candidates.centre) ** 2).sum()


def least_loss(candidates, points, scales):
    """The loss of points at the best scale and offsets, by a general optimiser."""
    n_scores = candidates.n_scores

    def objective(given):
        return loss_of(candidates, points, given[0], given[1:])

    found = [
        minimize(objective, [start, *np.zeros(n_scores)], bounds=[scales, *[(-20, 20)] * n_scores], tol=1e-12)
        for start in {scales[0], min(scales[1], 0.5)}
    ]
    return min(one.fun for one in found)


def used(candidates, points):
    return frozenset().union(*(candidates.of_variables[i] for i in np.flatnonzero(points.any(axis=1))))


@pytest.mark.parametrize(("n_scores", "joint"), [(1, False), (2, False), (1, True)])
def test_points_are_those_of_an_enumeration(n_scores, joint):
    """All points of few variables; at a given scale, and at the best one."""
    for seed in repeats(6):
        rng = np.random.default_rng(seed)
        candidates = drawn(rng, 12, n_scores, (1, 1) if n_scores == 2 else (2, 1, 1), joint=joint)
        shape = (len(candidates.tables), n_scores)
        n_features = [None, 1, 2][seed % 3]
        scales = (1e-3, 20.0) if seed % 2 else (0.4, 0.4)
        found = best_points(candidates, most=1, n_features=n_features, scales=scales)
        every = (np.array(flat).reshape(shape) for flat in product((-1, 0, 1), repeat=shape[0] * shape[1]))
        allowed = [points for points in every if n_features is None or len(used(candidates, points)) <= n_features]
        best = min(least_loss(candidates, points, scales) for points in allowed)
        assert found.loss == pytest.approx(best, abs=1e-7)
        assert loss_of(candidates, found.points, found.scale, found.offset) == pytest.approx(found.loss, abs=1e-9)
        assert found.bound == pytest.approx(found.loss, abs=2e-9)
        assert found.in_time
        assert n_features is None or len(used(candidates, found.points)) <= n_features


@pytest.mark.parametrize("n_scores", [1, 2])
def test_quadratic_bounds_lie_below_the_loss(n_scores):
    for seed in repeats(6):
        rng = np.random.default_rng(seed)
        candidates = drawn(rng, 30, n_scores, (1, 2, 1))
        active = np.arange(len(candidates.tables))
        fit = relaxed(candidates, active)
        room = 0.05
        bound = fit.bound(room)
        inside = 0
        for _ in range(200):
            step = rng.normal(0, rng.choice([0.1, 0.3, 1.0]), fit.log_odds.shape)
            loss = loss_of(candidates, (fit.log_odds + step)[:-1], 1.0, (fit.log_odds + step)[-1])
            if loss > fit.loss + room:
                continue
            inside += 1
            flat = step.T.ravel()
            assert fit.loss + flat @ bound.curvature @ flat / 2 <= loss + 1e-9
        assert inside > 10


def test_the_relaxed_loss_is_stationary():
    candidates = drawn(np.random.default_rng(0), 30, 2, (1, 2, 1))
    fit = relaxed(candidates, np.array([0, 1]))
    points = np.zeros_like(candidates.centre)
    points[[0, 1]] = fit.log_odds[:-1]
    assert loss_of(candidates, points, 1.0, fit.log_odds[-1]) == pytest.approx(fit.loss, abs=1e-12)
    for place in np.ndindex(fit.log_odds.shape):
        for step in (-1e-3, 1e-3):
            moved, offset = points.copy(), fit.log_odds[-1].copy()
            if place[0] == 2:
                offset[place[1]] += step
            else:
                moved[place] += step
            assert loss_of(candidates, moved, 1.0, offset) > fit.loss


@pytest.mark.parametrize("seconds", [1e-6, None])
def test_what_is_left_out_without_time(seconds):
    """Even if there is no time, few enough features have points, and the bound holds."""
    candidates = drawn(np.random.default_rng(1), 60, 1, (1, 2) * 4)
    found = best_points(candidates, most=3, n_features=3, time_limit=seconds)
    assert found.in_time == (seconds is None)
    assert len(used(candidates, found.points)) <= 3
    assert found.bound <= best_points(candidates, most=3, n_features=3).loss + 1e-9


def test_a_gap_is_kept():
    candidates = drawn(np.random.default_rng(2), 80, 1, (1, 2) * 3)
    exact = best_points(candidates, most=2)
    near = best_points(candidates, most=2, gap=0.01)
    assert exact.loss <= near.loss + 1e-9 <= exact.loss + 0.01 + 2e-9
    assert near.bound <= exact.loss + 1e-9
    assert near.nodes <= exact.nodes


def test_progress_ends_at_one():
    heard = []
    best_points(
        drawn(np.random.default_rng(3), 40, 1, (1, 2) * 3),
        most=2,
        n_features=2,
        progress=lambda *of: heard.append(of),
    )
    shares = [share for _, share in heard]
    assert {name for name, _ in heard} == {"scorecard"}
    assert all(0 <= share <= 1 for share in shares)
    assert shares[-1] == 1.0
