"""Credible intervals of log ratios of probabilities that have a Dirichlet posterior.

Given counts, the probability θ of one state of a Dirichlet distribution is Beta(a, b), with a = n + α and b the same
sum over the other states. Explanations contain two quantities:

- T = ln θ - ln θ', where θ and θ' come from two independent Dirichlet distributions, Beta(a, b) and Beta(a', b'). E T
  = ψ(a) - ψ(a + b) - ψ(a') + ψ(a' + b'); var T = ψ₁(a) - ψ₁(a + b) + ψ₁(a') - ψ₁(a' + b') (digamma, trigamma).
- Z = ln θ - ln θ', where both come from the same distribution: the logit of Beta(a, a'). E Z = ψ(a) - ψ(a'); var Z =
  ψ₁(a) + ψ₁(a').

The interval of Z is the shortest one with its probability. As b and b' grow, T tends to Z plus a constant, and both
have exponential tails with the same rates, a below and a' above. The interval of T therefore has the same tail
probabilities as that of Z. Where a state has no rows, an interval with equal tails would often not contain the log
ratio of the posterior means, which is the term that an explanation shows; these intervals do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betainccinv, betaincinv, betaln

from anbexact._runtime.arrays import Floats

CREDIBLE_MASS = 0.95
"""Posterior probability of an interval."""
LOG_TINY = -600.0
"""ln of the limit below which x^a / (a B(a, b)) approximates the incomplete beta function."""
INTERVALS_PER_BATCH = 4096
"""Terms whose intervals are computed at once."""
TOLERANCE = 1e-4
"""Precision of the ends of an interval, in nats."""
Distributions = Callable[[Floats, npt.NDArray[np.intp]], Floats]
"""Takes one point for each of some terms, and their positions; returns the distribution functions there."""
_NODES, _WEIGHTS = (0.5 * values for values in np.polynomial.legendre.leggauss(40))
_NODES = _NODES + 0.5
"""The nodes and weights of the Gauss-Legendre rule with 40 nodes, on (0, 1)."""
_GOLDEN = (5**0.5 - 1) / 2
"""The golden section: by this factor, the interval of a search shrinks in each step."""


def log_ratio_intervals(a: Floats, b: Floats, other_a: Floats, other_b: Floats) -> tuple[Floats, Floats]:
    """Return lower and upper ends of intervals of T = ln θ - ln θ', in nats.

    Parameters
    ----------
    a, b, other_a, other_b : (terms,) float64, above 0
        θ ~ Beta(a, b) and θ' ~ Beta(other_a, other_b), independent.

    Returns
    -------
    low, high : (terms,) float64
        T lies between them with probability 0.95. The ends are computed to 1e-4 nats, and the distribution function
        of T by a Gauss-Legendre rule over the quantiles of θ or θ'.

    References
    ----------
    Pham-Gia, Communications in Statistics 29 (2000), on ratios of Beta variables; Box and Tiao, Bayesian Inference in
    Statistical Analysis (1973), section 2.8, on shortest intervals.
    """
    low, high = np.empty(len(a)), np.empty(len(a))
    for start in range(0, len(a), INTERVALS_PER_BATCH):
        part = slice(start, start + INTERVALS_PER_BATCH)
        own = a[part], b[part], other_a[part], other_b[part]
        below, cdf = _shortest(own[0], own[2]), _distribution(*own)
        low[part] = _root(cdf, below, *_bounds(below, *own))
        high[part] = _root(cdf, below + CREDIBLE_MASS, *_bounds(below + CREDIBLE_MASS, *own))
    return low, high


def log_odds_intervals(a: Floats, other_a: Floats) -> tuple[Floats, Floats]:
    """Return lower and upper ends of the shortest intervals of Z, the logit of Beta(a, other_a), in nats.

    Parameters
    ----------
    a, other_a : (terms,) float64, above 0
        Parameters of two states in one Dirichlet distribution.
    """
    below = _shortest(a, other_a)
    return _logit_quantile(below, a, other_a), _logit_quantile(below + CREDIBLE_MASS, a, other_a)


def _shortest(a: Floats, other_a: Floats) -> Floats:
    """Return the probability below the shortest interval of Z, by golden section: Z has a log-concave density."""
    left, right = np.zeros(len(a)), np.full(len(a), 1 - CREDIBLE_MASS)

    def width(below: Floats) -> Floats:
        return _logit_quantile(below + CREDIBLE_MASS, a, other_a) - _logit_quantile(below, a, other_a)

    inner = [right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)]
    widths = [width(inner[0]), width(inner[1])]
    for _ in range(16):
        to_left = widths[0] < widths[1]
        left, right = np.where(to_left, left, inner[0]), np.where(to_left, inner[1], right)
        kept, kept_width = np.where(to_left, inner[0], inner[1]), np.where(to_left, *widths)
        new = np.where(to_left, right - _GOLDEN * (right - left), left + _GOLDEN * (right - left))
        new_width = width(new)
        inner = [np.where(to_left, new, kept), np.where(to_left, kept, new)]
        widths = [np.where(to_left, new_width, kept_width), np.where(to_left, kept_width, new_width)]
    below: Floats = (left + right) / 2
    return below


def _logit_quantile(p: Floats, a: Floats, b: Floats) -> Floats:
    """Return the quantile of the logit of Beta(a, b)."""
    return _log_quantile(p, a, b) - _log_quantile(1 - p, b, a)


def _log_quantile(p: Floats, a: Floats, b: Floats) -> Floats:
    """Return the quantile of ln θ, θ ~ Beta(a, b), however small θ is."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        small = (np.log(p) + np.log(a) + betaln(a, b)) / a
        x = betaincinv(a, b, p)
        log_x = np.log(x)
    upper = x > 0.5  # 1 - x is known to full precision
    a, b, p = (np.broadcast_to(values, upper.shape)[upper] for values in (a, b, p))
    log_x[upper] = np.log1p(-betainccinv(b, a, p))
    return np.where((small < LOG_TINY) | (x == 0), np.minimum(small, 0.0), log_x)


def _log_cdf(log_x: Floats, a: Floats, b: Floats) -> Floats:
    """Return P(ln θ ≤ log_x), θ ~ Beta(a, b), however small θ is."""
    with np.errstate(under="ignore"):
        log_x = np.minimum(log_x, 0.0)
        x, rest = np.exp(log_x), -np.expm1(log_x)
        lower = x < 0.5  # the smaller of x and 1 - x is known to full precision
        part = betainc(np.where(lower, a, b), np.where(lower, b, a), np.where(lower, x, rest))
        tiny = np.exp(np.minimum(a * log_x - np.log(a) - betaln(a, b), 0.0))
    return np.where(log_x < LOG_TINY, tiny, np.where(lower, part, 1 - part))


def _bounds(p: Floats, a: Floats, b: Floats, other_a: Floats, other_b: Floats) -> tuple[Floats, Floats]:
    """Return bounds on the quantile of T that hold for any dependence of its two parts."""
    low = _log_quantile(p / 2, a, b) - _log_quantile(1 - p / 2, other_a, other_b)
    high = _log_quantile((1 + p) / 2, a, b) - _log_quantile((1 - p) / 2, other_a, other_b)
    return low, high


def _distribution(a: Floats, b: Floats, other_a: Floats, other_b: Floats) -> Distributions:
    """Return the distribution function of T: that of its wider part, averaged over quantiles of the narrower one."""
    most, least = np.full(len(a), 0.9), np.full(len(a), 0.1)
    spread = _log_quantile(most, a, b) - _log_quantile(least, a, b)
    other_spread = _log_quantile(most, other_a, other_b) - _log_quantile(least, other_a, other_b)
    swapped = spread < other_spread
    wide = [np.where(swapped, s, t)[:, None] for s, t in ((other_a, a), (other_b, b))]
    narrow = [np.where(swapped, t, s)[:, None] for s, t in ((other_a, a), (other_b, b))]
    nodes = _log_quantile(np.broadcast_to(_NODES, (len(a), len(_NODES))), *narrow)

    def cdf(t: Floats, rows: npt.NDArray[np.intp]) -> Floats:
        signed = np.where(swapped[rows], -t, t)[:, None]  # P(ln θ ≤ t + ln θ'), or 1 - P(ln θ' ≤ ln θ - t)
        values = _log_cdf(signed + nodes[rows], *(parameter[rows] for parameter in wide))
        mean = (values * _WEIGHTS).sum(axis=1)
        of_terms: Floats = np.where(swapped[rows], 1 - mean, mean)
        return of_terms

    return cdf


def _root(cdf: Distributions, p: Floats, low: Floats, high: Floats) -> Floats:
    """Return where distribution functions equal p: false position (Illinois), every third step a bisection."""
    below, above = -p, 1 - p
    for step in range(60):
        rows = np.flatnonzero(high - low > TOLERANCE)
        if not len(rows):
            break
        a, b, of_a, of_b = low[rows], high[rows], below[rows], above[rows]
        middle = (a + b) / 2
        if step % 3 < 2:
            middle = np.clip(a - of_a * (b - a) / (of_b - of_a), a + TOLERANCE / 3, b - TOLERANCE / 3)
        value = cdf(middle, rows) - p[rows]
        left = value < 0
        low[rows], high[rows] = np.where(left, middle, a), np.where(left, b, middle)
        below[rows], above[rows] = np.where(left, value, of_a / 2), np.where(left, of_b / 2, value)
    return (low + high) / 2
