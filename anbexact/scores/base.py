"""What a search may ask of a score."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

from anbexact.table import DiscreteTable


@runtime_checkable
class Score(Protocol):
    """A decomposable score: the score of a structure is the sum of its local scores."""

    @property
    def name(self) -> str:
        """Short name, as in the literature."""

    @property
    def score_equivalent(self) -> bool:
        """Whether Markov equivalent structures always score the same."""

    @property
    def has_set_score(self) -> bool:
        """Whether ``local(i | S) = F(S ∪ {i}) - F(S)`` for a function F of sets (see :class:`SetScore`)."""

    def local_score(self, table: DiscreteTable, child: Hashable, parents: Sequence[Hashable]) -> float:
        """Return the local score of ``child`` given its parents; total in nats."""


@runtime_checkable
class SetScore(Score, Protocol):
    """A score with ``F(T) = Σ over observed cells t of T of [lnΓ(a_T + N_t) - lnΓ(a_T)]``."""

    def cell_parameter(self, n_configurations: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a_T for sets with these numbers of joint states q_T."""

    def set_score(self, table: DiscreteTable, names: Sequence[Hashable]) -> float:
        """Return F of the named variables; total in nats."""

    def local_upper_bound(self, table: DiscreteTable, child: Hashable) -> float:
        """Return a bound on the local score of a feature over all parent sets with the class; in nats."""
