"""Defaults on tables of many columns and few rows: in seconds, proved, and no worse than the class frequencies."""

import warnings

import numpy as np
import pandas as pd
import pytest

import anbexact.search.exact.ties as ties
from anbexact import ANBClassifier, NaiveBayesClassifier, TANClassifier, verify
from anbexact.search.exact.parent_set_identification import ParentSetSearch

FRAMES = 45


def trajectories(n_rows, n_classes=15):
    """Two coordinates of a hand at 45 moments, for movements that differ in size, place, direction and pace."""
    kinds, rng = np.random.default_rng(1), np.random.default_rng(0)
    shapes = [
        (kinds.normal(size=(2, 4)) / np.arange(1, 5), kinds.uniform(0, 2 * np.pi, (2, 4))) for _ in range(n_classes)
    ]
    moments, waves = np.linspace(0, 1, FRAMES), np.arange(1, 5)[:, None]
    rows, labels = [], np.arange(n_rows) % n_classes
    for label in labels:
        height, phase = shapes[label]
        pace = moments ** np.exp(rng.normal(0, 0.25))
        curve = (height[:, :, None] * np.sin(1.4 * np.pi * waves * pace + phase[:, :, None])).sum(axis=1)
        turn = rng.normal(0, 0.3)
        turned = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ (
            curve * np.exp(rng.normal(0, 0.3, 2))[:, None]
        )
        rows.append((turned + rng.normal(0, 0.5, 2)[:, None]).T.ravel())
    names = [f"{axis}{moment}" for moment in range(FRAMES) for axis in "xy"]
    return pd.DataFrame(rows, columns=names).round(5), labels.astype(str)


@pytest.mark.parametrize(
    "model", [NaiveBayesClassifier, TANClassifier, pytest.param(ANBClassifier, marks=pytest.mark.slow)]
)
def test_many_columns_and_classes_are_predicted_better_than_by_frequencies(model):
    X, y = trajectories(360)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = model().fit(X[:250], y[:250])
    right = classifier.predict_proba(X[250:])[np.arange(110), np.searchsorted(classifier.classes_, y[250:])]
    assert -np.log(right).mean() < 0.6 * np.log(15)


@pytest.mark.parametrize("n_columns", [40, pytest.param(120, marks=pytest.mark.slow)])
def test_one_parent_is_proved_with_little_work(monkeypatch, n_columns):
    """No rows are laid out for bounds; ties are broken by searches among few features, fewer than two for each."""
    solved = []

    def counted(part, search=ties.best_branching):
        solved.append(part.n)
        return search(part)

    def never(*_):
        raise AssertionError("bounds take longer than all families")

    monkeypatch.setattr(ties, "best_branching", counted)
    monkeypatch.setattr(ParentSetSearch, "lay_out", never)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, n_columns))
    X[:, :5] += y[:, None]
    classifier = ANBClassifier().fit(X, y)
    certificate = classifier.structure_.certificate
    assert certificate.optimal
    assert "at most 1 feature parent" in certificate.method
    assert certificate.sets_scored == n_columns**2
    assert verify(classifier.structure_, classifier.reader_.table(X, y, None))
    searches = 17
    assert len(solved) < 2 * n_columns * searches
