"""A random forest without probabilities of zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from anbexact._runtime.arrays import Floats

LEAST = 1e-3
"""Minimum probability of every class, before the probabilities are normalised."""


class ClippedForest(RandomForestClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's random forest with probabilities of at least `LEAST`.

    Otherwise a class that no tree predicts has probability 0, and a single such row makes the log loss infinite.
    """

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | row), shape (rows, classes)."""
        clipped = np.maximum(super().predict_proba(X), LEAST)
        return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))
