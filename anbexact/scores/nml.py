"""Normalised maximum likelihood: the quotient and the factorised criterion, and the regret that both use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc, gammaln, xlogy

from anbexact._runtime.arrays import Floats
from anbexact.scores.base import FamilyScore
from anbexact.scores.likelihood import _MaximumLikelihoodScore, log_likelihoods
from anbexact.scores.registry import register_score

MOST_RECURSIVE_STATES = 1024
"""Number of states up to which the recursion is used. With more, the expansion is within 2e-8 of the exact value."""
LEAST_STIRLING_SIZE = 16.0
"""Sample size from which on Stirling's series is exact to rounding."""


@register_score("qnml")
@dataclass(frozen=True)
class QNML(_MaximumLikelihoodScore):
    r"""Quotient normalised maximum likelihood.

    With r states of the child, q joint states of its parents (unobserved ones included) and total weight N,

        local = Σ_jk N_jk ln(N_jk / N_j) - [ln C(N, q r) - ln C(N, q)],

    which is F(parents ∪ child) - F(parents) with F(T) = Σ_t N_t ln N_t - ln C(N, q_T) and C as in
    :func:`log_regret`. Free of parameters. Total over the data, in nats.

    References
    ----------
    Silander, Leppä-aho, Jääsaari and Roos, AISTATS 2018 (PMLR 84), section 3.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.scores import QNML
    >>> table = DiscreteTable.from_frame([["a", 0], ["a", 1], ["b", 1]])
    >>> round(QNML().local_score(table, "x1", ["x0"]), 6)
    -2.649986
    """

    name: ClassVar[str] = "qNML"
    score_equivalent: ClassVar[bool] = True
    has_set_score: ClassVar[bool] = True
    ignores_single_states: ClassVar[bool] = True
    proportional_penalty: ClassVar[bool] = False

    def _set_penalty(self, n_configurations: Floats, weight_sum: Floats) -> Floats:
        return log_regret(weight_sum, n_configurations)

    def bounded_at(self, weight_sum: float) -> bool:
        """Return whether N ≥ 1: there ln C is convex in ln k, so that ln C(N, q r) - ln C(N, q) grows with q."""
        return weight_sum >= 1


@register_score("fnml")
@dataclass(frozen=True)
class FNML(FamilyScore):
    r"""Factorised normalised maximum likelihood.

    With r states of the child,

        local = Σ_j [Σ_k N_jk ln(N_jk / N_j) - ln C(N_j, r)]

    over the joint states j of its parents, and C as in :func:`log_regret`. Free of parameters. The score is neither
    score equivalent nor a difference of set scores: the regret depends on which variable is the child. Total over the
    data, in nats.

    References
    ----------
    Silander, Roos, Kontkanen and Myllymäki, PGM 2008.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.scores import FNML
    >>> table = DiscreteTable.from_frame([["a", 0], ["a", 1], ["b", 1]])
    >>> round(FNML().local_score(table, "x1", ["x0"]), 6)
    -2.995732
    """

    name: ClassVar[str] = "fNML"
    score_equivalent: ClassVar[bool] = False
    has_set_score: ClassVar[bool] = False
    ignores_single_states: ClassVar[bool] = True

    def family_scores(self, counts: Floats, arities: Sequence[int]) -> Floats:
        """Return the local scores of families; see :class:`~anbexact.scores.FamilyScore`."""
        given = counts.sum(axis=-1)
        distinct, inverse = np.unique(given, return_inverse=True)
        regrets = log_regret(distinct, counts.shape[-1])[inverse].reshape(given.shape)
        penalties: Floats = regrets.sum(axis=(1, 2))
        return log_likelihoods(counts) - penalties


def log_regret(n: npt.ArrayLike, k: npt.ArrayLike) -> Floats:
    r"""Return ln C(n, k), the log of the normaliser of the maximum likelihood of n draws from k states.

    For whole n, ``C(n, k) = Σ n!/(h_1! ··· h_k!) Π (h_i/n)^h_i`` over all h with h_1 + ··· + h_k = n, which equals

        C(n, k) = E[(1 + S/n)^n] with S ~ Gamma(k - 1).

    The expectation also defines C for real n, because a weight of rows need not be a whole number. C increases with n
    and with k, is 1 if n = 0 or k = 1, and satisfies ``C(n, k) = C(n, k-1) + n/(k-2) C(n, k-2)`` for every n. So from
    the closed form ``C(n, 2) = Γ(n+1, n) (e/n)^n`` up to k = 1024 it is exact to rounding; beyond, two terms of
    Laplace's expansion of the expectation leave an absolute error below 2e-8, which falls as 1/k².

    Parameters
    ----------
    n : array_like
        Total weights, zero or more.
    k : array_like
        Numbers of states, whole and at least 1, of any size, even ``1e30``. Broadcast with ``n``.

    Returns
    -------
    array of float64
        Nats.

    Raises
    ------
    ValueError
        For a negative or infinite n, or a k that is below 1.

    References
    ----------
    Recursion: Kontkanen and Myllymäki, Information Processing Letters 103 (2007). Leading term of the expansion:
    Szpankowski and Weinberger, IEEE Transactions on Information Theory 58 (2012). The expectation restates
    Mononen and Myllymäki, PGM 2008, whose finite sum it is for whole n.

    Examples
    --------
    >>> from math import log
    >>> from anbexact.scores import log_regret
    >>> float(log_regret(2, 2)), log(1 + 2 / 4 + 1)
    (0.91629, 0.91629)
    >>> log_regret([0, 1, 2.5], 3).round(4).tolist()
    [0.0, 1.0986, 1.6494]
    """
    n, k = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64))
    if not np.all(np.isfinite(n) & (n >= 0)):
        bad = n[~(np.isfinite(n) & (n >= 0))].flat[0]
        raise ValueError(f"n must be finite and 0 or more, but contains {float(bad)!r}")
    if not np.all(k >= 1):
        bad = k[~(k >= 1)].flat[0]
        raise ValueError(f"k must be 1 or more, but contains {float(bad)!r}")
    if n.size == 1:
        return np.full(n.shape, _log_regret_of_one(n.item(), k.item()))
    return _log_regrets(n.ravel(), k.ravel()).reshape(n.shape)


@lru_cache(maxsize=1 << 14)
def _log_regret_of_one(n: float, k: float) -> float:
    """Return ln C of one pair; searches ask for the same ones again and again."""
    return float(_log_regrets(np.array([n]), np.array([k]))[0])


def _log_regrets(n: Floats, k: Floats) -> Floats:
    """Return ln C for arrays of one dimension, by recursion for few states and by expansion for many."""
    values = np.zeros(len(n))
    few = (k < MOST_RECURSIVE_STATES + 0.5) & (n > 0)
    many = (k >= MOST_RECURSIVE_STATES + 0.5) & (n > 0)
    values[few] = _by_recursion(n[few], np.rint(k[few]))
    values[many] = _by_expansion(n[many], k[many])
    return values


def _by_recursion(n: Floats, k: Floats) -> Floats:
    """Return ln C for whole k, through the ratios C(n, k) / C(n, k-1), which cannot overflow."""
    values = np.zeros(len(n))
    wanted = set(k.tolist())
    log_c = _log_regret_two(n)
    ratio = np.exp(log_c)
    for states in range(2, int(k.max(initial=1)) + 1):
        if states > 2:
            ratio = 1 + n / (states - 2) / ratio
            log_c = log_c + np.log(ratio)
        if states in wanted:
            values = np.where(k == states, log_c, values)
    return values


def _log_regret_two(n: Floats) -> Floats:
    """Return ln C(n, 2) = ln Γ(n+1, n) + n - n ln n."""
    z = 1 / np.maximum(n, LEAST_STIRLING_SIZE)
    series = z / 12 - z**3 / 360 + z**5 / 1260 - z**7 / 1680 + 0.5 * np.log(2 * np.pi / z)
    small = np.minimum(n, LEAST_STIRLING_SIZE)
    complete = np.where(n < LEAST_STIRLING_SIZE, gammaln(small + 1) + small - xlogy(small, small), series)
    two: Floats = complete + np.log(gammaincc(n + 1, n))
    return two


def _by_expansion(n: Floats, k: Floats) -> Floats:
    """Return ln C for large k: Laplace's expansion of the expectation in ln S.

    With κ = k - 1 the mode is s = κ (1 + x), where κ x (1 + x) = n.
    """
    kappa = k - 1
    ratio = n / kappa
    x = np.maximum(2 * ratio / (1 + np.sqrt(1 + 4 * ratio)), 1e-300)
    far = np.maximum(x, 1e3)
    tail = 1 / 2 - 1 / (6 * far) + 1 / (12 * far**2) - 1 / (20 * far**3) + 1 / (30 * far**4)
    near = np.minimum(x, 1e3)
    exponent = kappa * np.where(x < 1e3, near * (1 + near) * np.log1p(1 / near) - near, tail)
    p = x / (1 + x)
    width = 0.5 * np.log((1 + x) / (1 + 2 * x))
    second = p * (8 * p - 1 + p**3) / (12 * (1 + p) ** 3 * kappa)
    value: Floats = kappa * np.log1p(x) + exponent + width + second
    return value
