"""Intervals of class probabilities against draws by another way, and their coverage."""

import numpy as np
import oracles
import pandas as pd
import pytest
from strategies import random_problem
from tiers import repeats, scaled

from anbexact import ANBClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.datasets import load_iris, load_lenses


@pytest.mark.parametrize("seed", repeats(3))
def test_against_draws_cell_by_cell(seed):
    problem = random_problem(seed, 3, n_rows=12, weights="real")
    fitted = ANBClassifier(ess=2.0, categories=problem.categories, discretizer=None).fit(
        *problem.frame(), sample_weight=problem.weights
    )
    names = problem.names
    parents = {names.index(v): [names.index(p) for p in of] for v, of in fitted.structure_.parents.items()}
    X, _ = problem.frame()
    found = fitted.predict_proba_interval(X.iloc[:2], draws=2000)
    rng, data = np.random.default_rng(seed), (problem.rows, problem.weights, problem.arities)
    for t in range(2):
        cells = dict(enumerate(X.iloc[t].tolist()))
        drawn = oracles.drawn_posteriors(data, parents, 2.0, cells, 4000, rng)
        for c, (low, high) in enumerate(found[t]):  # a quantile of 1e-200 or so is 0 to any purpose
            if low > 1e-9:
                assert (drawn[:, c] < low).mean() == pytest.approx(0.025, abs=0.015)
            if high < 1 - 1e-9:
                assert (drawn[:, c] > high).mean() == pytest.approx(0.025, abs=0.015)
            assert np.quantile(drawn[:, c], 0.025) < low + 0.1
            assert np.quantile(drawn[:, c], 0.975) > high - 0.1


@pytest.mark.slow
def test_coverage():
    """Tables drawn from the prior, rows drawn from the tables: 95 % of the intervals hold the true probability."""
    rng = np.random.default_rng(0)
    runs, rows, ess = max(scaled(400), 20), 60, 4.0
    hits = 0
    for _ in range(runs):
        class_prior = rng.dirichlet([ess / 2] * 2)
        tables = [rng.dirichlet([ess / 6] * 3, size=2) for _ in range(3)]
        y = rng.choice(2, rows, p=class_prior)
        codes = np.stack([np.array([rng.choice(3, p=table[c]) for c in y]) for table in tables], axis=1)
        X = pd.DataFrame(codes, columns=["a", "b", "c"])
        states = {name: [0, 1, 2] for name in X} | {"y": [0, 1]}
        fitted = NaiveBayesClassifier(ess=ess, categories=states, discretizer=None, verbose=-1)
        fitted.fit(X, pd.Series(y, name="y"))
        new = rng.integers(0, 3, 3)
        joint = class_prior * np.prod([table[:, k] for table, k in zip(tables, new, strict=True)], axis=0)
        true = joint[0] / joint.sum()
        low, high = fitted.predict_proba_interval(pd.DataFrame([new], columns=X.columns), draws=200)[0, 0]
        hits += low <= true <= high
    assert abs(hits / runs - 0.95) <= 0.02 + 2 * np.sqrt(0.95 * 0.05 / runs)


@pytest.mark.slow
def test_hold_the_probability_and_shrink_with_rows():
    X, y = load_iris()
    fitted = TANClassifier(ess=1.0).fit(X, y)
    intervals = fitted.predict_proba_interval(X)
    middle = fitted.predict_proba(X)
    assert intervals.shape == (*middle.shape, 2)
    assert ((intervals[..., 0] <= middle + 0.05) & (middle - 0.05 <= intervals[..., 1])).mean() > 0.99
    many = TANClassifier(ess=1.0).fit(X, y, sample_weight=np.full(len(y), 50.0))
    width = np.diff(intervals).mean()
    assert np.diff(many.predict_proba_interval(X)).mean() < width / 3
    assert np.diff(fitted.predict_proba_interval(X, mass=0.5)).mean() < width


def test_batches_missing_cells_and_seeds(monkeypatch):
    X, y = load_lenses()
    fitted = ANBClassifier(ess=1.0).fit(X, y)
    X = X.astype(object)
    X.iloc[3, 1] = None
    whole = fitted.predict_proba_interval(X, draws=50)
    monkeypatch.setattr("anbexact.models.network.table_draws.VALUES_PER_BATCH", 1000)
    np.testing.assert_array_equal(fitted.predict_proba_interval(X, draws=50), whole)
    assert not np.array_equal(fitted.predict_proba_interval(X, draws=50, random_state=1), whole)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mass": 1.0}, "mass must be a number between 0 and 1, not 1.0"),
        ({"mass": "95%"}, "mass must be a number between 0 and 1, not '95%'"),
        ({"draws": 1}, "draws must be a whole number of at least 2, not 1"),
    ],
)
def test_refusals(options, words):
    X, y = load_lenses()
    with pytest.raises(ValueError, match=words):
        NaiveBayesClassifier().fit(X, y).predict_proba_interval(X, **options)


def test_tables_without_a_dirichlet_posterior():
    X, y = load_iris()
    with pytest.raises(ValueError, match="Intervals are not available: a universal measure"):
        NaiveBayesClassifier(continuous="universal").fit(X, y).predict_proba_interval(X)
    with pytest.raises(ValueError, match="Intervals are not available"):
        NaiveBayesClassifier(parameters="acll").fit(X, y).predict_proba_interval(X)
