"""How closely a model follows the class probabilities of a teacher, another classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from anbexact._runtime.arrays import Floats
from anbexact._runtime.json_checks import mapped, number


@dataclass(frozen=True)
class Fidelity:
    """How closely the class probabilities p of a model follow those of a teacher, q.

    Attributes
    ----------
    divergence : float
        ``Σ_t w_t Σ_c q_c ln(q_c / p_c) / Σ_t w_t``: the mean Kullback–Leibler divergence of the model from the
        teacher, in nats per row; 0 if the two are equal.
    agreement : float
        Share of the rows, by weight, in which the model's most probable class is also the teacher's.
    """

    divergence: float
    agreement: float

    @classmethod
    def of(cls, log_posterior: Floats, soft: Floats, weights: Floats) -> Fidelity:
        """Return the fidelity of a model's ``ln p`` to a teacher's q, both (rows, classes), over weighted rows."""
        counted = weights > 0
        logs, q, w = log_posterior[counted], soft[counted], weights[counted]
        with np.errstate(invalid="ignore"):
            cross = np.where(q > 0, q * logs, 0.0)
        by_row = xlogy(q, q).sum(axis=1) - cross.sum(axis=1)
        same = q[np.arange(len(q)), logs.argmax(axis=1)] == q.max(axis=1)
        return cls(float(w @ by_row / w.sum()), float(w @ same / w.sum()))

    def __str__(self) -> str:
        return (
            f"mean divergence from the teacher {self.divergence:.4f} nats per row; the same most probable class in "
            f"{self.agreement:.1%} of the rows"
        )

    def to_dict(self) -> dict[str, float]:
        """Return the JSON form."""
        return asdict(self)

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Fidelity | None:
        """Return the fidelity in the description of a model; None if it has none.

        Raises
        ------
        ValueError
            For a divergence that is not a number, or an agreement that is not a share.
        """
        if "fidelity" not in described:
            return None
        found = mapped(described["fidelity"])
        agreement = number(found["agreement"], least=0)
        if agreement > 1 + 1e-9:  # rounding of a sum of weights
            raise ValueError("the agreement with the teacher must be from 0 to 1")
        return cls(number(found["divergence"]), agreement)
