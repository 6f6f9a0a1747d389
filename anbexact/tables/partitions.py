"""Nested partitions of the range of a continuous variable, coarse to fine."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact._runtime.json_values import register_object

EQUAL_WIDTHS = 1e-9
"""Relative difference up to which a measure counts as the width of a cell."""


@register_object
@dataclass(frozen=True)
class NestedPartition:
    """Intervals of a variable at levels 1, 2, ..., each level a refinement of the one before, with their measure.

    Attributes
    ----------
    cuts : tuple of float
        Cut points of the finest level, increasing; a cell ``(a, b]`` lies between two of them.
    entered : tuple of int
        The level at which each cut point comes in; all later ones keep it.
    masses : tuple of float
        Reference measure of the cells of the finest level, positive; one more than cut points.

    Raises
    ------
    ValueError
        If the lengths do not fit, the cuts do not increase, a level adds no cut, or a measure is not positive.
    """

    cuts: tuple[float, ...]
    entered: tuple[int, ...]
    masses: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.cuts) == len(self.entered) == len(self.masses) - 1:
            raise ValueError("there is one level for every cut point, and one cell more than cut points")
        if any(not a < b for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise ValueError(f"the cut points must increase, not {self.cuts!r}")
        if max(self.entered, default=0) > len(self.cuts) or set(self.entered) != set(
            range(1, max(self.entered, default=0) + 1)
        ):
            raise ValueError("every level from 1 to the finest must add a cut point")
        if any(not sys.float_info.min <= mass < np.inf for mass in self.masses):  # their reciprocals are finite, too
            raise ValueError("the measure of every cell must be a finite number above 0, and not a subnormal one")

    @property
    def n_levels(self) -> int:
        """Number of levels; 1 for a variable that is not cut at all."""
        return max(self.entered, default=1)

    @cached_property
    def finest(self) -> Floats:
        """Cut points of the finest level."""
        return np.array(self.cuts, dtype=np.float64)

    @property
    def range(self) -> tuple[float, float] | None:
        """The ends of the interval that is partitioned, if the measure of each inner cell is its width; else None."""
        widths = np.diff(self.finest)
        if not len(widths) or not np.allclose(widths, self.masses[1:-1], rtol=EQUAL_WIDTHS, atol=0):
            return None
        return self.cuts[0] - self.masses[0], self.cuts[-1] + self.masses[-1]

    def cuts_at(self, level: int) -> Floats:
        """Return the cut points of a level."""
        return self.finest[np.array(self.entered, dtype=np.int64) <= level]

    def cell_at(self, level: int) -> npt.NDArray[np.int16]:
        """Return, for every cell of the finest level, the cell of another level that it lies in."""
        return np.cumsum(np.array([0, *(entered <= level for entered in self.entered)])).astype(np.int16)

    def first_cell(self, level: int) -> npt.NDArray[np.intp]:
        """Return the first cell of the finest level in every cell of a level."""
        return np.unique(self.cell_at(level), return_index=True)[1]

    def masses_at(self, level: int) -> Floats:
        """Return the reference measure of the cells of a level."""
        return np.bincount(self.cell_at(level), self.masses).astype(np.float64, copy=False)
