"""Sets of classes as a value."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from anbexact._runtime.displayed import Displayed
from anbexact.conformal.ranks import EQUAL_WITHIN
from anbexact.tables.frames.native_values import native


@dataclass(frozen=True, eq=False)
class ConformalSets(Displayed):
    """Sets of classes, one for each row.

    Attributes
    ----------
    sets : DataFrame of bool
        Rows by classes: whether the set of the row contains the class.
    p_values : DataFrame of float
        Rows by classes: the share of rows that conform no better than the row would if it had that class. A class is
        in the set if its p-value is above ``1 - confidence``.
    confidence : float
        Minimum probability, before the rows are seen, that a set contains the true class.
    """

    sets: pd.DataFrame
    p_values: pd.DataFrame
    confidence: float

    @property
    def sizes(self) -> pd.Series[int]:
        """The number of classes in every set."""
        return self.sets.sum(axis=1).astype(int).rename("size")

    @property
    def labels(self) -> list[tuple[Hashable, ...]]:
        """The classes in every set, the highest p-value first."""
        columns = [native(label) for label in self.sets.columns]
        order = np.argsort(-self.p_values.to_numpy(), axis=1, kind="stable")
        inside = self.sets.to_numpy()
        return [
            tuple(columns[c] for c in places if row[c])
            for places, row in zip(order.tolist(), inside.tolist(), strict=True)
        ]

    def at(self, confidence: float, *, allow_empty: bool = True) -> ConformalSets:
        """Return the sets for another confidence; nothing is learned again."""
        return sets_at(self.p_values, confidence, allow_empty=allow_empty)

    def coverage(self, y: Any) -> float:
        """Return the share of rows whose set contains their true class."""
        place = {native(label): k for k, label in enumerate(self.sets.columns)}
        truth = [place.get(native(label)) for label in np.asarray(y, dtype=object).tolist()]
        if len(truth) != len(self.sets):
            raise ValueError(
                f"y has {len(truth)} classes, but there are {len(self.sets)} sets: pass the classes of the same rows"
            )
        inside = self.sets.to_numpy()
        return float(np.mean([c is not None and inside[r, c] for r, c in enumerate(truth)]))

    def __str__(self) -> str:
        sizes = self.sizes.value_counts().sort_index()
        words = ", ".join(
            f"{count} with {size} class{'es' * (size != 1)}" for size, count in zip(sizes.index, sizes, strict=True)
        )
        return f"{len(self.sets)} sets at a confidence of {self.confidence:.0%}: {words}"


def sets_at(p_values: pd.DataFrame, confidence: Any, *, allow_empty: bool) -> ConformalSets:
    """Return the sets of the classes whose p-value is above ``1 - confidence``.

    Unless ``allow_empty``, an empty set gets the class of the highest p-value.

    Raises
    ------
    ValueError
        If ``confidence`` is not between 0 and 1.
    """
    if isinstance(confidence, bool) or not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
        raise ValueError(f"confidence must be a number between 0 and 1, not {confidence!r}")
    sets = p_values > 1 - float(confidence) + EQUAL_WITHIN
    if not allow_empty:
        values = p_values.to_numpy()
        best = values == values.max(axis=1, keepdims=True)
        first = best & (best.cumsum(axis=1) == 1)
        sets |= ~sets.any(axis=1).to_numpy()[:, None] & first
    return ConformalSets(sets, p_values, float(confidence))
