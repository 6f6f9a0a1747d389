"""A random forest without probabilities of zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from anbexact._runtime.arrays import Floats

LEAST = 1e-3
"""Probability that every class has at least, before they are made to add up to 1."""


class ClippedForest(RandomForestClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's random forest with probabilities of at least `LEAST`.

    A class that no tree predicts has a probability of 0 otherwise, and a single such row makes log loss infinite.
    """

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | row), shape (rows, classes)."""
        clipped = np.maximum(super().predict_proba(X), LEAST)
        return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))
