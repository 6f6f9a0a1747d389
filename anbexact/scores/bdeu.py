"""BDeu: Bayesian Dirichlet score with equivalent sample size and uniform prior."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from anbexact._runtime.arrays import Floats
from anbexact.scores.base import FamilyScore
from anbexact.scores.registry import register_score
from anbexact.scores.rising import log_rising
from anbexact.tables.table import DiscreteTable

LEAST_ESS, MOST_ESS = 1e-100, 1e100
"""Equivalent sample sizes for which the share of a cell does not vanish and powers do not overflow."""


@register_score("bdeu")
@dataclass(frozen=True)
class BDeu(FamilyScore):
    r"""Log marginal likelihood under a Dirichlet prior spread evenly over the cells.

    With equivalent sample size α, r states of the child and q joint states of its parents,

        local = Σ_j [lnΓ(α/q) - lnΓ(α/q + N_j)] + Σ_jk [lnΓ(α/(q r) + N_jk) - lnΓ(α/(q r))],

    which is F(parents ∪ child) - F(parents) with F(T) = Σ_t [lnΓ(α/q_T + N_t) - lnΓ(α/q_T)] over the
    observed joint states t of T. Total over the data, in nats.

    Parameters
    ----------
    ess : float, default 1.0
        Equivalent sample size α, from 1e-100 to 1e100.

    Raises
    ------
    ValueError
        For an ``ess`` that is not such a number.

    References
    ----------
    Buntine, UAI 1991; Heckerman, Geiger and Chickering, Machine Learning 20 (1995), section 7. The use of set scores:
    Silander and Myllymäki, UAI 2006; any score-equivalent decomposable score has them.

    Examples
    --------
    >>> from anbexact import BDeu, DiscreteTable
    >>> table = DiscreteTable.from_frame([["a", 0], ["a", 1], ["b", 1]])
    >>> round(BDeu(ess=1.0).local_score(table, "x1", ["x0"]), 6)
    -3.178054
    """

    ess: float = 1.0

    name: ClassVar[str] = "BDeu"
    score_equivalent: ClassVar[bool] = True
    has_set_score: ClassVar[bool] = True
    ignores_single_states: ClassVar[bool] = True
    proportional_penalty: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.ess, bool) or not isinstance(self.ess, int | float | np.number):
            raise ValueError(f"ess must be a number above 0, not {self.ess!r}")
        if not (np.isfinite(self.ess) and self.ess > 0):
            raise ValueError(f"ess must be a finite number above 0, not {self.ess!r}")
        if not LEAST_ESS <= self.ess <= MOST_ESS:
            raise ValueError(
                f"ess must lie between {LEAST_ESS:g} and {MOST_ESS:g}, where scores can be computed, but is "
                f"{float(self.ess)!r}"
            )
        object.__setattr__(self, "ess", float(self.ess))

    def cell_parameter(self, n_configurations: npt.NDArray[Any]) -> Floats:
        """Return α / q."""
        parameters: Floats = self.ess / np.asarray(n_configurations, dtype=np.float64)
        return parameters

    def set_constant(self, n_configurations: npt.NDArray[Any], weight_sum: float) -> Floats:
        """Return zeros."""
        return np.zeros(len(n_configurations))

    def bounded_at(self, weight_sum: float) -> bool:
        """Return True; see :class:`~anbexact.scores.BoundedScore`."""
        return True

    def family_parameters(self, n_configurations: Floats, n_states: int) -> tuple[Floats, Floats]:
        """Return α / (q r) and α / q."""
        of_parents = self.cell_parameter(n_configurations)
        return of_parents / n_states, of_parents

    def family_penalty(self, n_configurations: Floats, n_states: int, weight_sum: float) -> Floats:
        """Return zeros."""
        return np.zeros(len(n_configurations))

    def family_scores(self, counts: Floats, arities: Sequence[int]) -> Floats:
        """Return the local scores of families; see :class:`~anbexact.scores.FamilyScore`."""
        of_parents = self.ess / float(np.prod(np.array(arities, dtype=np.float64)))
        of_cells = of_parents / counts.shape[-1]
        given = counts.sum(axis=-1)
        scores: Floats = log_rising(of_cells, counts).sum(axis=(1, 2, 3))
        scores -= log_rising(of_parents, given).sum(axis=(1, 2))
        return scores

    def set_score(self, table: DiscreteTable, names: Sequence[Hashable]) -> float:
        """Return F(names); see the class."""
        a = self.ess / prod(table.shape(names), start=1.0)
        weights = table.cell_weights(names)
        return float(np.sum(log_rising(a, weights)))

    def local_score(self, table: DiscreteTable, child: Hashable, parents: Sequence[Hashable]) -> float:
        """Return the local score of ``child`` given ``parents``; see the class."""
        return self.set_score(table, [*parents, child]) - self.set_score(table, list(parents))

    def local_upper_bound(self, table: DiscreteTable, child: Hashable) -> float:
        """Return a bound on the local score of a feature over all parent sets (with the class, if there is one).

        ``Σ_c min(-Σ_k min(1, N_ck) ln r, Σ_a Σ_k N_ak ln(N_ak / N_a))`` Here k are the states of the child, and a are
        the joint states of all other variables within class c, or overall in a table without class. The first term
        holds because a first occurrence has a predictive probability of at most 1/r; the log predictive probability
        is convex in the weight, so weights below 1 count in proportion. The second term holds because a marginal
        likelihood is at most the maximum likelihood. Total in nats.

        References
        ----------
        de Campos and Ji, JMLR 12 (2011); Correia, Cussens and de Campos, AISTATS 2020.
        """
        arity = table.vocabulary.arity(child)
        class_codes = table.groups(table.vocabulary.common_parents)
        atoms = table.groups([name for name in table.vocabulary.names if name != child])
        joint = np.zeros((atoms.max() + 1, arity))
        np.add.at(joint, (atoms, table.column(child)), table.weights)
        likelihood = xlogy(joint, joint).sum(axis=1) - xlogy(joint.sum(axis=1), joint.sum(axis=1))
        class_of_atom = np.zeros(len(joint), dtype=np.intp)
        class_of_atom[atoms] = class_codes
        seen = np.zeros((class_codes.max() + 1, arity))
        np.add.at(seen, (class_codes, table.column(child)), table.weights)
        observed = np.minimum(seen, 1.0).sum(axis=1)
        bounds = np.bincount(class_of_atom, likelihood, len(seen))
        return float(np.minimum(bounds, -observed * np.log(arity)).sum())
