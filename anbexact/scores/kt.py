"""Krichevsky and Trofimov's measure of discrete variables."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from anbexact._runtime.arrays import Floats
from anbexact.scores.registry import register_score
from anbexact.scores.rising import log_rising
from anbexact.tables.table import DiscreteTable

HALF = 0.5
"""The prior weight added to the count of every joint state."""


@register_score("kt")
@dataclass(frozen=True)
class KT:
    r"""Difference of log measures by Krichevsky and Trofimov: every joint state of a set of variables gets weight ½.

    A set T with q joint states has

        F(T) = lnΓ(q/2) - lnΓ(N + q/2) + Σ_t [lnΓ(N_t + ½) - lnΓ(½)],

    the log of the probability of its column under a Dirichlet prior of ½ for each joint state; the local score of a
    child is F(parents ∪ child) - F(parents). Since the prior of the parents is not the margin of the prior of the
    family, this is not the BDeu of any equivalent sample size. It is score equivalent. Total over the data, in nats.

    References
    ----------
    Krichevsky and Trofimov, IEEE Transactions on Information Theory 27 (1981); Suzuki, Entropy 17 (2015), section
    2.1.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.scores import KT
    >>> table = DiscreteTable.from_frame([["a", 0], ["a", 1], ["b", 1]])
    >>> round(KT().set_score(table, ["x1"]), 6)  # ln (1/2 * 1/4 * 3/6)
    -2.772589
    """

    name: ClassVar[str] = "KT"
    score_equivalent: ClassVar[bool] = True
    has_set_score: ClassVar[bool] = True
    ignores_single_states: ClassVar[bool] = True

    def cell_parameter(self, n_configurations: npt.NDArray[Any]) -> Floats:
        """Return ½; see :class:`~anbexact.scores.SetScore`."""
        return np.full(len(n_configurations), HALF)

    def set_constant(self, n_configurations: npt.NDArray[Any], weight_sum: float) -> Floats:
        """Return lnΓ(q/2) - lnΓ(N + q/2) for sets with q joint states; see :class:`~anbexact.scores.SetScore`."""
        return -log_rising(np.asarray(n_configurations, dtype=np.float64) / 2, weight_sum)

    def set_score(self, table: DiscreteTable, names: Sequence[Hashable]) -> float:
        """Return F(names), total in nats; see the class."""
        weights = table.cell_weights(names)
        joint = np.array([np.prod(np.array(table.shape(names), dtype=np.float64))])
        cells = gammaln(HALF + weights) - gammaln(HALF)
        return float(cells.sum() + self.set_constant(joint, table.weight_sum)[0])

    def local_score(self, table: DiscreteTable, child: Hashable, parents: Sequence[Hashable]) -> float:
        """Return the local score of ``child`` given its parents; total in nats."""
        return self.set_score(table, [*parents, child]) - self.set_score(table, list(parents))

    def local_upper_bound(self, table: DiscreteTable, child: Hashable) -> float:
        """Return 0, a bound on any local score: a further variable splits cells and adds new ones, which lowers F."""
        return 0.0
