"""Penalised likelihoods: LL, AIC, BIC (MDL) and HQ."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import e
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from anbexact._runtime.arrays import Floats
from anbexact.scores.base import FamilyScore
from anbexact.scores.registry import register_score
from anbexact.tables.table import DiscreteTable


def log_likelihoods(counts: Floats) -> Floats:
    """Return ``Σ_jk N_jk ln(N_jk / N_j)`` of families, the states k on the last axis; shape (families,), nats."""
    given = counts.sum(axis=-1, keepdims=True)
    totals: Floats = np.sum(xlogy(counts, counts / np.where(given > 0, given, 1.0)), axis=(1, 2, 3))
    return totals


class _MaximumLikelihoodScore(FamilyScore):
    """Maximum likelihood minus a difference of penalties of sets. Subclasses define the penalty P.

    ``F(T) = Σ_t N_t ln N_t - P(q_T, N)`` and so ``local = Σ_jk N_jk ln(N_jk / N_j) - [P(q r, N) - P(q, N)]``.
    """

    @abstractmethod
    def _set_penalty(self, n_configurations: Floats, weight_sum: Floats) -> Floats:
        """Return P for numbers of joint states and total weights, broadcast; it must not decrease in the former."""

    def cell_parameter(self, n_configurations: npt.NDArray[Any]) -> Floats:
        """Return infinity: a cell contributes N ln N."""
        return np.full(len(n_configurations), np.inf)

    def set_constant(self, n_configurations: npt.NDArray[Any], weight_sum: float) -> Floats:
        """Return -P; see the class."""
        return -self._set_penalty(np.asarray(n_configurations, dtype=np.float64), np.array(weight_sum))

    def family_scores(self, counts: Floats, arities: Sequence[int]) -> Floats:
        """Return the local scores of families; see :class:`~anbexact.scores.FamilyScore`."""
        weight_sum = counts.sum(axis=(1, 2, 3))
        of_parents = np.array(_product(arities))
        return log_likelihoods(counts) - self._penalty(of_parents, counts.shape[-1], weight_sum)

    def bounded_at(self, weight_sum: float) -> bool:
        """Return True; see :class:`~anbexact.scores.BoundedScore`."""
        return True

    def family_parameters(self, n_configurations: Floats, n_states: int) -> tuple[Floats, Floats]:
        """Return infinities: a cell contributes N ln N."""
        infinite = np.full(len(n_configurations), np.inf)
        return infinite, infinite

    def family_penalty(self, n_configurations: Floats, n_states: int, weight_sum: float) -> Floats:
        """Return P(q r, N) - P(q, N); see :class:`~anbexact.scores.BoundedScore`."""
        return self._penalty(n_configurations, n_states, np.array(weight_sum))

    def set_score(self, table: DiscreteTable, names: Sequence[Hashable]) -> float:
        """Return F(names), total in nats; see the class."""
        weights = table.cell_weights(names)
        constant = self.set_constant(np.array([_product(table.shape(names))]), table.weight_sum)
        return float(xlogy(weights, weights).sum() + constant[0])

    def local_upper_bound(self, table: DiscreteTable, child: Hashable) -> float:
        """Return a bound on the local score of a feature over all parent sets (with the class, if there is one).

        The likelihood with all other variables as parents, minus the penalty with no parent except the class:
        removing parents cannot raise the likelihood, and adding parents cannot lower the penalty. Total in nats.
        """
        atoms = table.groups([name for name in table.vocabulary.names if name != child])
        given = np.bincount(atoms, table.weights)[atoms]
        likelihood = float(xlogy(table.weights, table.weights / given).sum())
        if not self.bounded_at(table.weight_sum):
            return likelihood
        fewest = np.array([_product(table.shape(table.vocabulary.common_parents))])
        return likelihood - float(self.family_penalty(fewest, table.vocabulary.arity(child), table.weight_sum)[0])

    def _penalty(self, n_configurations: Floats, n_states: int, weight_sum: Floats) -> Floats:
        """Return P(q r, N) - P(q, N), broadcast."""
        more = self._set_penalty(n_configurations * n_states, weight_sum)
        return more - self._set_penalty(n_configurations, weight_sum)


@register_score("ll")
@dataclass(frozen=True)
class LL(_MaximumLikelihoodScore):
    r"""Log-likelihood at the maximum likelihood parameters.

    With N_jk the weight of the rows with state k of the child and joint state j of its parents,

        local = Σ_jk N_jk ln(N_jk / N_j),

    which is F(parents ∪ child) - F(parents) with F(T) = Σ_t N_t ln N_t. Total over the data, in nats. An additional
    parent never lowers it, so it is useful only with a limit on parents.

    References
    ----------
    Friedman, Geiger and Goldszmidt, Machine Learning 29 (1997), section 2; for trees Chow and Liu, IEEE
    Transactions on Information Theory 14 (1968).

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.scores import LL
    >>> table = DiscreteTable.from_frame([["a", 0], ["a", 1], ["b", 1]])
    >>> round(LL().local_score(table, "x1", ["x0"]), 6)
    -1.386294
    """

    name: ClassVar[str] = "LL"
    score_equivalent: ClassVar[bool] = True
    has_set_score: ClassVar[bool] = True
    ignores_single_states: ClassVar[bool] = True
    proportional_penalty: ClassVar[bool] = False

    def _set_penalty(self, n_configurations: Floats, weight_sum: Floats) -> Floats:
        return np.zeros(np.broadcast(n_configurations, weight_sum).shape)


@register_score("aic")
@dataclass(frozen=True)
class AIC(_MaximumLikelihoodScore):
    r"""Akaike's information criterion: log-likelihood minus the number of free parameters.

    With r states of the child and q joint states of its parents, unobserved ones included,

        local = Σ_jk N_jk ln(N_jk / N_j) - (r - 1) q,

    which is F(parents ∪ child) - F(parents) with F(T) = Σ_t N_t ln N_t - q_T. Total over the data, in nats;
    Akaike's own convention is -2 times this.

    References
    ----------
    Akaike, IEEE Transactions on Automatic Control 19 (1974).

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.scores import AIC
    >>> table = DiscreteTable.from_frame([["a", 0], ["a", 1], ["b", 1]])
    >>> round(AIC().local_score(table, "x1", ["x0"]), 6)
    -3.386294
    """

    name: ClassVar[str] = "AIC"
    score_equivalent: ClassVar[bool] = True
    has_set_score: ClassVar[bool] = True
    ignores_single_states: ClassVar[bool] = True
    proportional_penalty: ClassVar[bool] = True

    def _set_penalty(self, n_configurations: Floats, weight_sum: Floats) -> Floats:
        return np.ones_like(weight_sum) * n_configurations


@register_score("bic")
@dataclass(frozen=True)
class BIC(_MaximumLikelihoodScore):
    r"""Bayesian information criterion; the negative of the description length (MDL).

    With r states of the child, q joint states of its parents (unobserved ones included) and total weight N,

        local = Σ_jk N_jk ln(N_jk / N_j) - ½ ln N · (r - 1) q,

    which is F(parents ∪ child) - F(parents) with F(T) = Σ_t N_t ln N_t - ½ ln N · q_T. Below N = 1 the penalty
    is 0, not negative. Total over the data, in nats.

    References
    ----------
    Schwarz, Annals of Statistics 6 (1978); as MDL: Lam and Bacchus, Computational Intelligence 10 (1994); Friedman,
    Geiger and Goldszmidt, Machine Learning 29 (1997), section 2.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.scores import BIC
    >>> table = DiscreteTable.from_frame([["a", 0], ["a", 1], ["b", 1]])
    >>> round(BIC().local_score(table, "x1", ["x0"]), 6)
    -2.484907
    """

    name: ClassVar[str] = "BIC"
    score_equivalent: ClassVar[bool] = True
    has_set_score: ClassVar[bool] = True
    ignores_single_states: ClassVar[bool] = True
    proportional_penalty: ClassVar[bool] = True

    def _set_penalty(self, n_configurations: Floats, weight_sum: Floats) -> Floats:
        penalty: Floats = 0.5 * np.log(np.maximum(weight_sum, 1.0)) * n_configurations
        return penalty


@register_score("hq")
@dataclass(frozen=True)
class HQ(_MaximumLikelihoodScore):
    r"""Hannan and Quinn's criterion: the smallest penalty that is strongly consistent.

    With r states of the child, q joint states of its parents (unobserved ones included) and total weight N,

        local = Σ_jk N_jk ln(N_jk / N_j) - (1 + ε) ln ln N · (r - 1) q,

    which is F(parents ∪ child) - F(parents) with F(T) = Σ_t N_t ln N_t - (1 + ε) ln ln N · q_T. Up to N = e, where
    ln ln N is negative or undefined, the penalty is 0. Total over the data, in nats.

    Parameters
    ----------
    epsilon : float, default 0.05
        ε, finite and positive.

    Raises
    ------
    ValueError
        For an ``epsilon`` that is not a finite positive number.

    References
    ----------
    Hannan and Quinn, Journal of the Royal Statistical Society B 41 (1979); for Bayesian networks Suzuki, Entropy 17
    (2015), Theorem 2.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.scores import HQ
    >>> table = DiscreteTable.from_frame([["a", 0], ["a", 1], ["b", 1]])
    >>> round(HQ(epsilon=0.05).local_score(table, "x1", ["x0"]), 6)
    -1.583795
    """

    epsilon: float = 0.05

    name: ClassVar[str] = "HQ"
    score_equivalent: ClassVar[bool] = True
    has_set_score: ClassVar[bool] = True
    ignores_single_states: ClassVar[bool] = True
    proportional_penalty: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, bool) or not isinstance(self.epsilon, int | float | np.number):
            raise ValueError(f"epsilon must be a number above 0, not {self.epsilon!r}")
        if not (np.isfinite(self.epsilon) and self.epsilon > 0):
            raise ValueError(f"epsilon must be a finite number above 0, not {self.epsilon!r}")
        object.__setattr__(self, "epsilon", float(self.epsilon))

    def _set_penalty(self, n_configurations: Floats, weight_sum: Floats) -> Floats:
        penalty: Floats = (1 + self.epsilon) * np.log(np.log(np.maximum(weight_sum, e))) * n_configurations
        return penalty


def _product(arities: Sequence[int]) -> float:
    return float(np.prod(np.array(arities, dtype=np.float64)))
