"""aCLL: a decomposable approximation of the conditional log likelihood of the class."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import exp1, factorial, psi, zeta

from anbexact._runtime.arrays import Floats
from anbexact.scores.base import FamilyScore
from anbexact.scores.registry import register_score
from anbexact.tables.table import DiscreteTable

Sampler = Callable[[np.random.Generator, int], npt.ArrayLike]
"""``sampler(rng, size)`` returns positive numbers, shape (size, classes): draws of (P(x, c) for every class c)."""
Prior = str | tuple[str, float, float] | Sampler
"""The choices of ``prior``; see :func:`acll_constants`."""

N_SAMPLES = 1_000_000
"""Number of draws of a sampler from which the constants are estimated, always with the same seed."""
SAMPLES_PER_BATCH = 20_000
"""Number of draws requested at once."""
SEED = 0
"""Seed of these draws, so that equal priors have equal constants."""


def acll_constants(n_classes: int, prior: Prior = "uniform") -> tuple[float, float]:
    r"""Return the constants β and γ of the approximation of the conditional log likelihood (CLL).

    Let U_c = P(x, c) be random under the prior, A = ln Σ_c U_c and B = Σ_c ln U_c. Least squares of -A on B gives

        β = -Cov(A, B) / Var(B),    γ = -E[A] - β E[B],

    so that ln P(c | x) = ln U_c - A ≈ ln U_c + β B + γ, without bias under the prior. For one class, β = -1 and
    γ = 0: the approximation is 0, as is the CLL.

    Parameters
    ----------
    n_classes : int
        Number of classes s, including unseen ones; at least 1.
    prior : {"uniform"}, ("dirichlet", a, b) or sampler, default "uniform"
        ``"uniform"``: on [0, p]ˢ. β does not depend on p; γ is given for p = 1, and is γ - (1 + sβ) ln p for others.
        By quadrature, to at least 12 digits for up to 1,000 classes; for two classes β = (π² - 18) / 24.

        ``("dirichlet", a, b)``: (U_1, ..., U_s, 1 - ΣU) ~ Dir(a, ..., a, b), in closed form with the polygamma
        functions ψ, ψ₁: β = -[ψ₁(sa) - ψ₁(sa+b)] / [ψ₁(a) - s ψ₁(sa+b)], E[A] = ψ(sa) - ψ(sa+b),
        E[B] = s [ψ(a) - ψ(sa+b)].

        A sampler: a hashable callable ``sampler(rng, size)`` that returns (size, s) positive numbers, drawn with the
        ``numpy.random.Generator`` it is given. β and γ are estimated from 1,000,000 draws with a fixed seed, to about
        three digits. Every class gets the same weight β, which is best if the distribution is symmetric.

    Returns
    -------
    beta, gamma : float

    Raises
    ------
    ValueError
        For fewer than one class, a prior that is not one of these, an a or b that is not positive, or draws that are
        not positive numbers of the right shape.

    References
    ----------
    Carvalho, Adão and Mateus, Entropy 15 (2013): Theorem 3.2, sections 3.1.1 and 3.1.2, Algorithm 1. They estimate
    the Dirichlet constants by simulation.

    Examples
    --------
    >>> from anbexact.scores import acll_constants
    >>> beta, gamma = acll_constants(2)
    >>> round(beta, 5), round(gamma, 5)
    (-0.33877, -0.56383)
    >>> beta, gamma = acll_constants(2, ("dirichlet", 1, 1000))
    >>> round(beta, 5), round(gamma, 5)
    (-0.39194, 0.61795)
    """
    return _given_constants(n_classes, prior)[:2]


def acll_standard_error(n_classes: int, prior: Prior = "uniform") -> float:
    r"""Return the standard error of the approximation of ln P(c | x) by aCLL under its prior.

    With A, B, β and γ of :func:`acll_constants`, ``ln P(c | x) ≈ ln U_c + β B + γ`` has no bias under the prior, and

        standard error = √E[(A + β B + γ)²] = √(Var(A) - Cov(A, B)² / Var(B)).

    It does not depend on the class c or, under the uniform prior, on p. For two classes, it is 0.2441 under the
    uniform prior and 0.3730 under Dir(1, 1, 1000), which is 27.5 % and 37.3 % of the mean of -ln P(c | x), 0.8863 and
    1. (The paper's 13.92 % for this Dirichlet prior is the mean squared error, 0.1392, without the root.)

    The errors of different rows are not independent, so the error of a sum over N rows lies between √N and N times
    this value.

    Parameters
    ----------
    n_classes, prior
        As for :func:`acll_constants`. A sampler gives an estimate, to about three digits; the other priors at least
        nine.

    Returns
    -------
    float
        Nats per row; 0 for one class.

    Raises
    ------
    ValueError
        As :func:`acll_constants` does.

    References
    ----------
    Carvalho, Adão and Mateus, Entropy 15 (2013), Theorem 3.2, eq. (21), and section 5.

    Examples
    --------
    >>> from anbexact.scores import acll_standard_error
    >>> round(acll_standard_error(2), 4), round(acll_standard_error(2, ("dirichlet", 1, 1000)), 4)
    (0.2441, 0.373)
    """
    return _given_constants(n_classes, prior)[2]


def _given_constants(n_classes: int, prior: Prior) -> tuple[float, float, float]:
    """Return β, γ and the standard error, after checking the arguments of :func:`acll_constants`."""
    whole = isinstance(n_classes, int | np.integer) and not isinstance(n_classes, bool)
    if not (whole and n_classes >= 1):
        raise ValueError(f"n_classes must be a whole number above 0, not {n_classes!r}")
    prior = _check_prior(prior)
    if prior == "dirichlet":
        raise ValueError('the prior "dirichlet" requires a and b: pass ("dirichlet", a, b)')
    return _constants(int(n_classes), prior, np.zeros(1)).first()


class _Constants(NamedTuple):
    """β, γ and the standard error of the approximation, one of each for every total weight of rows."""

    beta: Floats
    gamma: Floats
    error: Floats

    def first(self) -> tuple[float, float, float]:
        """Return the first of each."""
        return float(self.beta[0]), float(self.gamma[0]), float(self.error[0])


@register_score("acll")
@dataclass(frozen=True)
class ACLL(FamilyScore):
    r"""Approximate conditional log likelihood (aCLL) with the parameters that maximise it.

    Σ_t ln P(c_t | x_t) ≈ Σ_t [ln P(x_t, c_t) + β Σ_c ln P(x_t, c) + γ], see :func:`acll_constants`. For a feature
    whose parents are the class and other features, the weighted counts of state k in configuration j of these other
    features are

        M_jck = N_jck + β Σ_c' N_jc'k

    (they may be negative). With a pseudo-count N' > 0, the parameters that maximise Σ M ln θ subject to
    θ_jck ≥ N' / N+_jc are θ_jck = N+_jck / N+_jc with N+_jck = max(M_jck, N') and N+_jc = Σ_k N+_jck, and

        local = Σ_jck M_jck ln(N+_jck / N+_jc).

    The class, without parents: M_c = N_c + β N, local = Σ_c M_c ln(N+_c / Σ N+). The constant γ N is left out; see
    :meth:`approximate_cll`. Total over the data, in nats.

    The score is for augmented naive Bayes classifiers, in which the class is a parent of every feature and has no
    parents. It is not score equivalent and has no set score.

    Parameters
    ----------
    prior : {"dirichlet", "uniform"}, ("dirichlet", a, b) or sampler, default "dirichlet"
        Distribution of the P(x, c) for which the approximation is best, see :func:`acll_constants`. ``"dirichlet"``
        is a = 1 and b = N, the weight of the rows.
    pseudo_count : float, default 5.0
        Minimum weighted count N', finite and positive. The paper's experiments use 5.

    Raises
    ------
    ValueError
        For a prior that is not one of these or a pseudo-count that is not a finite positive number; from the scores,
        for a feature without the class among its parents or a class with parents.

    References
    ----------
    Carvalho, Adão and Mateus, Entropy 15 (2013): eq. (25), Theorem 3.8, eq. (28), section 5.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.scores import ACLL
    >>> table = DiscreteTable.from_frame([[0, 0], [0, 1], [1, 1], [1, 1]], ["no", "no", "yes", "yes"])
    >>> score = ACLL("uniform", pseudo_count=0.1)
    >>> round(score.local_score(table, "x0", ["class"]), 6)
    3.404871
    """

    prior: Prior = "dirichlet"
    pseudo_count: float = 5.0

    name: ClassVar[str] = "aCLL"
    score_equivalent: ClassVar[bool] = False
    has_set_score: ClassVar[bool] = False
    ignores_single_states: ClassVar[bool] = True
    needs_class: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", _check_prior(self.prior))
        object.__setattr__(self, "pseudo_count", check_positive("pseudo_count", self.pseudo_count))

    @classmethod
    def of(cls, score: object) -> ACLL:
        """Return a score if it is an aCLL; otherwise, an aCLL with default parameters."""
        return score if isinstance(score, cls) else cls()

    def constants(self, n_classes: int, weight_sum: float) -> tuple[float, float]:
        """Return β and γ for this many classes over rows of this total weight; see :func:`acll_constants`."""
        return _constants(n_classes, self.prior, np.array([weight_sum], dtype=np.float64)).first()[:2]

    def standard_error(self, n_classes: int, weight_sum: float) -> float:
        """Return the standard error of the approximation, in nats per row; see :func:`acll_standard_error`."""
        return _constants(n_classes, self.prior, np.array([weight_sum], dtype=np.float64)).first()[2]

    def family_scores(self, counts: Floats, arities: Sequence[int]) -> Floats:
        """Return the local scores of families; see :class:`~anbexact.scores.FamilyScore`.

        A family without parents is assumed to be the family of the class, because this method does not know names.
        Joint states that are left out would contribute 0, because their weighted counts are all 0.

        Raises
        ------
        ValueError
            If the numbers of states show that the class is missing among the parents of a family with parents.
        """
        if len(arities) and counts.shape[1] == 1 and 1 not in arities:
            raise ValueError("aCLL needs the class among the parents of every feature")
        class_axis = 1 if len(arities) else 3  # without parents, the child is the class
        beta = _constants(counts.shape[class_axis], self.prior, counts.sum(axis=(1, 2, 3))).beta
        weighted = _weighted(counts, beta[:, None, None, None], class_axis)
        scores: Floats = np.sum(weighted * np.log(self._clipped_shares(weighted.copy(), 3)), axis=(1, 2, 3))
        return scores

    def local_score(self, table: DiscreteTable, child: Hashable, parents: Sequence[Hashable]) -> float:
        """Return the local score of ``child`` given ``parents``; see the class."""
        self.check_family(table.vocabulary.class_name, child, parents)
        return super().local_score(table, child, parents)

    def approximate_cll(self, table: DiscreteTable, parents: Mapping[Hashable, Sequence[Hashable]]) -> float:
        """Return the approximate conditional log likelihood of a structure: its score plus γ N; total in nats.

        It is not a bound. Under the uniform prior, γ is the constant for p = 1, so the value is off by a multiple of
        N that is the same for all structures.

        Parameters
        ----------
        table : DiscreteTable
            A table with a class.
        parents : mapping
            The parents of every variable, the class included.
        """
        class_name = table.vocabulary.class_name
        n_classes = 1 if class_name is None else table.vocabulary.arity(class_name)
        _, gamma = self.constants(n_classes, table.weight_sum)
        total = sum(self.local_score(table, child, child_parents) for child, child_parents in parents.items())
        return total + gamma * table.weight_sum

    def parameters(self, counts: Floats, class_axis: int) -> Floats:
        """Return the conditional probabilities θ of one family; see the class.

        Parameters
        ----------
        counts : float64 array
            Weighted contingency table of a feature (the first axis) and its parents; or of the class alone.
        class_axis : int
            Axis of the class, 0 for the class itself.

        Returns
        -------
        float64 array
            An array of the same shape that sums to 1 over the first axis. It is uniform where the parents' states do
            not occur.
        """
        beta, _ = self.constants(counts.shape[class_axis], float(counts.sum()))
        return self._clipped_shares(_weighted(counts, beta, class_axis), 0)

    def _clipped_shares(self, weighted: Floats, axis: int) -> Floats:
        """Turn weighted counts into shares of their sum over an axis, no count below N'; in place."""
        np.maximum(weighted, self.pseudo_count, out=weighted)
        weighted /= weighted.sum(axis=axis, keepdims=True)
        return weighted

    @staticmethod
    def check_family(class_name: Hashable, child: Hashable, parents: Sequence[Hashable]) -> None:
        """Refuse families that cannot occur in an augmented naive Bayes."""
        if class_name is None:
            raise ValueError(
                "aCLL needs a class, but the table has no class variable: pass y or class_name= when you make the "
                "table"
            )
        if child == class_name and parents:
            raise ValueError(f"aCLL needs a class without parents, but {class_name!r} has {list(parents)}")
        if child != class_name and class_name not in parents:
            raise ValueError(
                f"aCLL needs the class {class_name!r} among the parents of every feature, "
                f"but {child!r} has {list(parents)}"
            )


def check_positive(name: str, value: Any) -> float:
    """Return a parameter as a float; refuse values that are not finite numbers above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise ValueError(f"{name} must be a number above 0, not {value!r}")
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a finite number above 0, not {value!r}")
    return float(value)


def _weighted(counts: Floats, beta: float | Floats, class_axis: int) -> Floats:
    """Return the weighted counts M: the counts, and β times their sum over the classes."""
    weighted: Floats = counts + beta * counts.sum(axis=class_axis, keepdims=True)
    return weighted


def _check_prior(prior: Any) -> Prior:
    """Return a prior in its plain form; refuse values that are not priors."""
    if isinstance(prior, str) and prior in ("dirichlet", "uniform"):
        return prior
    if isinstance(prior, tuple | list) and len(prior) == 3 and prior[0] == "dirichlet":
        return "dirichlet", check_positive("a of the Dirichlet prior", prior[1]), check_positive("b", prior[2])
    if callable(prior) and not isinstance(prior, type):
        try:
            hash(prior)
        except TypeError:
            raise ValueError(f"a sampler must be hashable, as a function is, and {prior!r} is not") from None
        return prior  # type: ignore[no-any-return]  # whatever it returns is checked
    raise ValueError(
        f'prior must be "uniform", "dirichlet", ("dirichlet", a, b) or a callable (rng, size), not {prior!r}'
    )


def _constants(n_classes: int, prior: Prior, weight_sums: Floats) -> _Constants:
    """Return the constants for every total weight N (which only the prior "dirichlet" uses)."""
    if n_classes == 1:
        return _Constants(np.full(len(weight_sums), -1.0), np.zeros(len(weight_sums)), np.zeros(len(weight_sums)))
    if prior == "dirichlet":
        return _dirichlet_constants(n_classes, 1.0, weight_sums)
    if isinstance(prior, tuple):
        return _dirichlet_constants(n_classes, prior[1], np.full(len(weight_sums), prior[2]))
    one = _uniform_constants(n_classes) if isinstance(prior, str) else _sampled_constants(n_classes, prior)
    return _Constants(*(np.full(len(weight_sums), value) for value in one))


def _dirichlet_constants(s: int, a: float, b: Floats) -> _Constants:
    """Return the constants under Dir(a, ..., a, b).

    U_c = S V_c with S ~ Beta(sa, b) and, independent of it, V ~ Dir(a, ..., a). So A = ln S,
    Cov(A, B) = s Var(ln S), and Cov(ln U_c, ln U_c') = 1[c = c'] ψ₁(a) - ψ₁(sa + b). (ψ₁(x) = ζ(2, x), Hurwitz.)
    """
    variance = zeta(2.0, s * a) - zeta(2.0, s * a + b)
    beta = -variance / (zeta(2.0, a) - s * zeta(2.0, s * a + b))
    mean = psi(s * a) - psi(s * a + b)
    gamma = -mean - beta * s * (psi(a) - psi(s * a + b))
    return _Constants(np.asarray(beta), np.asarray(gamma), np.sqrt(variance * (1 + s * beta)))


@lru_cache(maxsize=64)
def _uniform_constants(s: int) -> tuple[float, float, float]:
    """Return β, γ and the standard error under the uniform distribution on [0, 1]ˢ.

    Var(B) = s and Cov(A, B) = s Cov(A, ln U_1), as each -ln U_c is exponential. With ln x = ∫ (e⁻ᵗ - e⁻ᵗˣ) / t dt
    over the positive t, E[exp(-tU)] = L(t) = (1 - e⁻ᵗ) / t and E[ln U exp(-tU)] = -Ein(t) / t,

        Cov(A, ln U_1) = ∫ L(t)ˢ⁻¹ [Ein(t) - 1 + e⁻ᵗ] / t² dt,    E[A] = ∫ (e⁻ᵗ - L(t)ˢ) / t dt.

    If E is exponential and independent of the U, P(E / ΣU > t) = L(t)ˢ and P(E > t) = e⁻ᵗ, so that

        E[(ln E - A)²] - E[(ln E)²] = 2 ∫ ln t (L(t)ˢ - e⁻ᵗ) / t dt = E[A²] - 2 E[A] E[ln E],    E[ln E] = -γ_Euler.

    In x = ln t the integrands are analytic and fall off exponentially, so that the trapezoidal rule converges like
    exp(-π² / step).
    """
    step = 1 / 8
    x = np.arange(-45, 25, step)
    t = np.exp(x)
    log_l = np.log(-np.expm1(-t) / t)
    k = np.arange(2, 30)
    small = np.minimum(t, 1.0)[:, None] ** k @ ((-1.0) ** k * (1 - 1 / k) / factorial(k))
    large = exp1(np.maximum(t, 1.0)) + x + np.euler_gamma - 1 + np.exp(-t)
    bracket = np.where(t < 1, small, large)
    beta = -step * float(np.sum(np.exp((s - 1) * log_l) * bracket / t))
    below = np.exp(-t) - np.exp(s * log_l)
    mean = step * float(np.sum(below))
    square = -2 * step * float(np.sum(x * below)) - 2 * np.euler_gamma * mean
    return beta, s * beta - mean, float(np.sqrt(square - mean**2 - s * beta**2))


@lru_cache(maxsize=64)
def _sampled_constants(s: int, sampler: Sampler) -> tuple[float, float, float]:
    """Return β, γ and the standard error estimated from draws: Algorithm 1 of the paper."""
    rng = np.random.default_rng(SEED)
    log_sums, sums_of_logs = np.empty(N_SAMPLES), np.empty(N_SAMPLES)
    for start in range(0, N_SAMPLES, SAMPLES_PER_BATCH):
        draws = np.asarray(sampler(rng, SAMPLES_PER_BATCH), dtype=np.float64)
        if draws.shape != (SAMPLES_PER_BATCH, s):
            raise ValueError(f"the sampler of the prior returned shape {draws.shape}, not {(SAMPLES_PER_BATCH, s)}")
        if not (np.isfinite(draws) & (draws > 0)).all():
            raise ValueError("the sampler of the prior returned numbers that are not positive and finite")
        log_sums[start : start + SAMPLES_PER_BATCH] = np.log(draws.sum(axis=1))
        sums_of_logs[start : start + SAMPLES_PER_BATCH] = np.log(draws).sum(axis=1)
    covariance = np.cov(log_sums, sums_of_logs)
    if not covariance[1, 1] > 0:
        raise ValueError("the sampler of the prior always returns the same numbers: there is nothing to fit")
    beta = -float(covariance[0, 1] / covariance[1, 1])
    error = float(np.sqrt(max(0.0, covariance[0, 0] + beta * covariance[0, 1])))
    return beta, -float(log_sums.mean()) - beta * float(sums_of_logs.mean()), error
