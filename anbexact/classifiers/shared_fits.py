"""Fits of several estimators to the same rows."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.classifiers.refitted import RefittedClassifier


class SharedFits:
    """Fits of members to the same rows: a network that several of them start from is learned once."""

    def __init__(self, X: Any, y: Any, weights: Any) -> None:
        self._rows = X, y, weights
        self._networks: dict[str, DiscreteClassifier] = {}

    def fitted(self, estimator: DiscreteClassifier) -> DiscreteClassifier:
        """Return a fitted copy of an estimator."""
        X, y, weights = self._rows
        if not isinstance(estimator, RefittedClassifier):
            return self._learned(estimator)
        network = self._learned(estimator.unfitted_network())
        copy: RefittedClassifier = clone(estimator).set_params(estimator=FrozenEstimator(network))
        copy.fit(X, y, sample_weight=weights)
        copy.estimator = clone(estimator.estimator) if estimator.estimator is not None else None
        return copy

    def _learned(self, estimator: DiscreteClassifier) -> DiscreteClassifier:
        key = _key(estimator)
        if key not in self._networks:
            X, y, weights = self._rows
            self._networks[key] = clone(estimator).fit(X, y, sample_weight=weights)
        return self._networks[key]


def _key(estimator: DiscreteClassifier) -> str:
    """Return what two estimators have in common if and only if they would learn the same."""
    parameters = sorted(estimator.get_params(deep=True).items())
    return f"{type(estimator).__module__}.{type(estimator).__name__}{parameters!r}"
