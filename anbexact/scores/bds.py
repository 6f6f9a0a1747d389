"""BDs: Bayesian Dirichlet sparse score, with a prior on the observed parent configurations only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.scores.base import FamilyScore
from anbexact.scores.bdeu import BDeu
from anbexact.scores.registry import register_score
from anbexact.scores.rising import log_rising


@register_score("bds")
@dataclass(frozen=True)
class BDs(FamilyScore):
    r"""Log marginal likelihood with the equivalent sample size spread over the observed parent configurations only.

    With equivalent sample size α, r states of the child and q' joint states of its parents that occur in the data,

        local = Σ_j [lnΓ(α/q') - lnΓ(α/q' + N_j)] + Σ_jk [lnΓ(α/(q' r) + N_jk) - lnΓ(α/(q' r))]

    over these. The score equals :class:`BDeu` if all joint states occur. Otherwise, joint states that do not occur
    get no prior weight, and a parent that adds no joint state costs nothing. The score is neither score equivalent
    nor a difference of set scores, because no set of variables determines the number of cells q' r. Total over the
    data, in nats.

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
    Scutari, PGM 2016 (PMLR 52).

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.scores import BDs
    >>> table = DiscreteTable.from_frame([["a", 0], ["a", 1], ["b", 1]])
    >>> round(BDs(ess=1.0).local_score(table, "x1", ["x0"]), 6)
    -3.178054
    """

    ess: float = 1.0

    name: ClassVar[str] = "BDs"
    score_equivalent: ClassVar[bool] = False
    has_set_score: ClassVar[bool] = False
    ignores_single_states: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "ess", BDeu(self.ess).ess)

    def family_scores(self, counts: Floats, arities: Sequence[int]) -> Floats:
        """Return the local scores of families; see :class:`~anbexact.scores.FamilyScore`."""
        given = counts.sum(axis=-1)
        observed = np.maximum((given > 0).sum(axis=(1, 2)), 1)
        of_parents = (self.ess / observed)[:, None, None]
        of_cells = (of_parents / counts.shape[-1])[..., None]
        cells: Floats = log_rising(of_cells, counts).sum(axis=(1, 2, 3))
        configurations: Floats = log_rising(of_parents, given).sum(axis=(1, 2))
        return cells - configurations
