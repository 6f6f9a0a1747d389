"""Fits of several estimators to the same rows."""

from __future__ import annotations

from math import inf
from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.classifiers.refitted import RefittedClassifier


class SharedFits:
    """Fits of members to the same rows; a network from which several members start is learned once."""

    def __init__(self, X: Any, y: Any, weights: Any) -> None:
        self._rows = X, y, weights
        self._networks: dict[str, DiscreteClassifier] = {}

    def fitted(self, estimator: DiscreteClassifier, seconds: float = inf) -> DiscreteClassifier:
        """Return a fitted copy of an estimator; a refit ends after ``seconds``, see :func:`ended_early`."""
        X, y, weights = self._rows
        if not isinstance(estimator, RefittedClassifier):
            return self._learned(estimator)
        network = self._learned(estimator.unfitted_network())
        copy: RefittedClassifier = clone(estimator).set_params(estimator=FrozenEstimator(network))
        limit = min(seconds, inf if estimator.time_limit is None else estimator.time_limit)
        copy.set_params(time_limit=None if limit == inf else limit)
        copy.fit(X, y, sample_weight=weights)
        copy.set_params(time_limit=estimator.time_limit)
        copy.estimator = clone(estimator.estimator) if estimator.estimator is not None else None
        return copy

    def _learned(self, estimator: DiscreteClassifier) -> DiscreteClassifier:
        key = _key(estimator)
        if key not in self._networks:
            X, y, weights = self._rows
            self._networks[key] = clone(estimator).fit(X, y, sample_weight=weights)
        return self._networks[key]


def ended_early(model: DiscreteClassifier, seconds: float) -> bool:
    """Whether a fitted classifier is a refit that ``seconds`` ended, and not its own limit."""
    if not isinstance(model, RefittedClassifier) or model.logit_.refitted is None:
        return False
    own = inf if model.time_limit is None else model.time_limit
    return seconds < own and not model.logit_.refitted.in_time


def network_key(estimator: DiscreteClassifier) -> str:
    """Return a key that is the same for two members if and only if they start from the same network."""
    return _key(estimator.unfitted_network() if isinstance(estimator, RefittedClassifier) else estimator)


def _key(estimator: DiscreteClassifier) -> str:
    """Return a key that is the same for two estimators if and only if they would learn the same."""
    parameters = sorted(estimator.get_params(deep=True).items())
    return f"{type(estimator).__module__}.{type(estimator).__name__}{parameters!r}"
