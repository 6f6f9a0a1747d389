"""Fits of several estimators to the same rows."""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import Any

from sklearn.base import clone

from anbexact.classifiers.discrete import DiscreteClassifier, FitRows


class SharedFits:
    """Fits of members to the same rows; a network from which several members start is learned once.

    Members are learned from the rows alone by :meth:`fitted`, or by :meth:`fitted_again` with the values that they
    chose from other rows. Networks are kept until :meth:`keep` says that no further member starts from them.
    """

    def __init__(self, X: Any, y: Any, weights: Any, soft: Any = None, groups: Any = None) -> None:
        self._rows = FitRows(X, y, weights, soft, groups)
        self._networks: dict[str, DiscreteClassifier] = {}
        self._again: dict[str, DiscreteClassifier] = {}

    def fitted(
        self, estimator: DiscreteClassifier, seconds: float = inf, like: DiscreteClassifier | None = None
    ) -> DiscreteClassifier:
        """Return a fitted copy of an estimator; its search and its refit end after ``seconds``.

        Some choices of ``like``, which was fitted to the same rows, may be taken over.
        """
        return estimator._fitted_after(self._learned, self._rows, seconds, like)

    def _learned(self, estimator: DiscreteClassifier, seconds: float) -> DiscreteClassifier:
        key = network_key(estimator)
        if key not in self._networks:
            unfitted = clone(estimator)
            unfitted._to_be_fitted_again = True
            self._networks[key] = fitted = _fitted_within(seconds, unfitted, self._rows)
            del fitted._to_be_fitted_again
        return self._networks[key]

    def fitted_again(self, member: DiscreteClassifier, seconds: float = inf) -> DiscreteClassifier:
        """Return a copy of a fitted member, fitted to these rows with the values that it chose from its own."""
        return member._fitted_again(self._learned_again, self._rows, seconds)

    def _learned_again(self, network: DiscreteClassifier, seconds: float) -> DiscreteClassifier:
        key = network_key(network)
        if key not in self._again:
            self._again[key] = _fitted_within(seconds, network._unfitted_again(self._rows), self._rows)
        return self._again[key]

    def keep(self, keys: Collection[str]) -> None:
        """Forget all networks without these keys (:func:`network_key`): their tables can take much memory."""
        for networks in (self._networks, self._again):
            for key in networks.keys() - set(keys):
                del networks[key]


def _fitted_within(seconds: float, unfitted: DiscreteClassifier, rows: FitRows) -> DiscreteClassifier:
    """Return an estimator after its fit to the rows, whose search ends after ``seconds`` if it can be limited."""
    own = getattr(unfitted, "time_limit", None)
    limited = hasattr(unfitted, "time_limit") and seconds < inf
    if limited:
        unfitted.time_limit = seconds if own is None else min(seconds, own)
    fitted: DiscreteClassifier = rows.fitted(unfitted)
    if limited:
        fitted.time_limit = own
    return fitted


def network_key(estimator: DiscreteClassifier) -> str:
    """Return a key that is the same for two members if and only if they start from the same network."""
    first = estimator._begun_with()
    parameters = sorted(first.get_params(deep=True).items())
    return f"{type(first).__module__}.{type(first).__name__}{parameters!r}"
