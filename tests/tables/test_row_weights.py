"""Advice on weights that add up to far more rows than there are."""

import warnings

import numpy as np
import pytest

from anbexact import NaiveBayesClassifier, PooledClassifier, TANClassifier
from anbexact.datasets import load_lenses


def advice(weights, classifier=None):
    X, y = load_lenses()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (classifier or NaiveBayesClassifier()).fit(X, y, sample_weight=weights)
    return [text for text in (str(warning.message) for warning in caught) if "adds up to" in text]


@pytest.mark.parametrize(
    ("weights", "advised"),
    [
        (None, False),
        (np.full(24, 9.5), False),
        (np.full(24, 10.5), True),
        (np.r_[np.zeros(20), np.full(4, 10.5)], True),  # of the rows that count
        (np.full(24, 900.0), False),
        (np.full(24, 1001.0), True),
    ],
    ids=["none", "few", "many", "with zeros", "whole", "whole and many"],
)
def test_mean_weights(weights, advised):
    if weights is not None and (weights == 0).any():
        weights = weights[::-1] + np.where(np.arange(24) % 7 == 0, 10.5, 0.0)  # all classes keep rows
    assert bool(advice(weights)) == advised


def test_once_with_the_numbers():
    (text,) = advice(np.full(24, 10.5), PooledClassifier([NaiveBayesClassifier(), TANClassifier()], folds=2))
    assert text.startswith("sample_weight adds up to 252 for 24 rows, and a row of weight w counts as w rows")
