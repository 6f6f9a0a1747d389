"""The logarithm of a rising factorial; all Dirichlet scores are sums of such terms."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from anbexact._runtime.arrays import Floats


def log_rising(a: Any, weights: Any) -> Floats:
    """Return lnΓ(a + w) - lnΓ(a), elementwise, arguments broadcast; in nats.

    Uses Stirling's series where a is at least 64 and at least w, because the difference would lose digits by
    cancellation.
    """
    values: Floats = np.asarray(gammaln(a + weights) - gammaln(a))
    large = np.asarray(a) >= 64
    if large.any():
        w = np.minimum(weights, a)
        series = (a + w - 0.5) * np.log1p(w / a) + w * (np.log(a) - 1) + _tail(a + w) - _tail(a)
        values = np.where(~large | (weights > a), values, series)
    return values


def _tail(x: Any) -> Any:
    """Return the terms of Stirling's series for lnΓ(x) that vanish as x grows."""
    y = 1 / x
    return y / 12 - y**3 / 360 + y**5 / 1260
