"""What a solver of the exact search returns."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from anbexact.table import DiscreteTable

ROUNDING = 1e-12
"""Scores closer than this share of the largest score of data count as equal."""


def rounding_error(table: DiscreteTable, total: float = 0.0) -> float:
    """Return by how much two ways to compute a structure's score may differ, in nats; N ln(1+N) sets the scale."""
    largest = float(table.weight_sum * np.log1p(table.weight_sum))
    return 10 * ROUNDING * len(table.vocabulary.names) * max(1.0, abs(total), largest)


@dataclass(frozen=True)
class Optimum:
    """The best structure over the features.

    Attributes
    ----------
    total : float
        Sum of the features' local scores, in nats; -inf if the constraints admit no structure.
    sets : int
        Sets, or families, that were scored.
    parents : callable
        ``parents(rounding)`` reads the feature parents of every feature back, ties within ``rounding`` (as a share of
        the largest score) broken by the rule of :func:`~anbexact.learn_anb`.
    """

    total: float
    sets: int
    parents: Callable[[float], dict[Hashable, tuple[Hashable, ...]]]


@dataclass(frozen=True)
class Stopped:
    """What is known when the time ran out.

    Attributes
    ----------
    bound : float
        Proved upper bound on the sum of the features' local scores, in nats; may be infinite.
    sets : int
        Sets, or families, that were scored.
    """

    bound: float
    sets: int
