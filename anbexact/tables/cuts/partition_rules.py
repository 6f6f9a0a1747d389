"""Rules that make nested partitions of columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.json_values import register_object
from anbexact.tables.cuts.base import Values
from anbexact.tables.cuts.cuts import midpoint
from anbexact.tables.partitions import NestedPartition
from anbexact.tables.table import Weights

MOST_HALVINGS = 14
"""Maximum number of halvings: 2¹⁵ cells would be one more than a variable may have states."""
MOST_COUNTS = 254
"""Maximum number of levels, each with one more number; together, they have no more cells than 14 halvings."""
LARGEST_FIRST = 2**51
"""Largest absolute first number: up to it, halves between the numbers that follow are exact in float64."""
EQUAL_SHARES = 1e-9
"""Shares of the sample that differ by less count as equal."""


class PartitionRule(ABC):
    """A rule that makes the nested partition of a continuous column; subclasses define it."""

    @abstractmethod
    def fit(self, name: Hashable, values: Values, weights: Weights, levels: int) -> NestedPartition:
        """Return the nested partition of a column.

        Parameters
        ----------
        name : Hashable
            The name of the column in messages.
        values : (rows,) float64
            Finite values.
        weights : (rows,) float64
            Positive weights.
        levels : int
            Maximum number of levels.

        Raises
        ------
        ValueError
            For a value that the rule does not admit.
        """


@register_object
@dataclass(frozen=True)
class QuantilePartition(PartitionRule):
    """Level k cuts at the sample's quantiles i/2ᵏ; the measure of a cell is its share of the sample.

    Each cut lies halfway between two observed values, where the share below is nearest to i/2ᵏ. Ties can make cuts
    coincide, so a level can have fewer than 2ᵏ cells; a level that adds no cut is left out. Increasing
    transformations of the column change neither cells nor measures. There are at most 14 levels.
    """

    def fit(self, name: Hashable, values: Values, weights: Weights, levels: int) -> NestedPartition:
        """Return the nested partition; see :class:`PartitionRule`."""
        distinct, inverse = np.unique(values, return_inverse=True)
        of_values = np.bincount(inverse, weights)
        below = np.cumsum(of_values)[:-1] / of_values.sum()
        if len(distinct) < 2:
            return NestedPartition((), (), (1.0,))
        first_at: dict[int, int] = {}
        for level in range(1, min(levels, MOST_HALVINGS) + 1):
            wanted = np.arange(1, 1 << level, 2) / (1 << level)
            after = np.searchsorted(
                below[:-1], wanted - EQUAL_SHARES
            )  # the first cut with no less below it, or the last
            before = np.maximum(after - 1, 0)
            nearer = np.where(
                np.abs(below[before] - wanted) <= np.abs(below[after] - wanted) + EQUAL_SHARES, before, after
            )
            for place in nearer.tolist():
                first_at.setdefault(place, level)
        places = sorted(first_at)
        cuts = [midpoint(float(distinct[k]), float(distinct[k + 1])) for k in places]
        shares = np.add.reduceat(of_values, [0, *(k + 1 for k in places)]) / of_values.sum()
        return _nested(cuts, [first_at[k] for k in places], shares)


@register_object
@dataclass(frozen=True)
class EqualWidthPartition(PartitionRule):
    """Level k halves an interval k times: 2ᵏ cells, whose measure is their equal width. At most 14 levels.

    Parameters
    ----------
    low, high : float
        Ends of the interval. Training values must lie in it; values outside it that are to be classified count as the
        nearest end.

    Raises
    ------
    ValueError
        If these are not finite numbers in this order, or their difference is not finite.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = _interval(self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def fit(self, name: Hashable, values: Values, weights: Weights, levels: int) -> NestedPartition:
        """Return the nested partition; see :class:`PartitionRule`."""
        _refuse_outside(name, values, self.low, self.high)
        levels = min(levels, MOST_HALVINGS)
        places = np.arange(1, 1 << levels)
        cuts = self.low + (self.high - self.low) * (places / (1 << levels))
        if not (np.diff(cuts, prepend=self.low, append=self.high) > 0).all():
            raise ValueError(
                f"column {name!r}: there are too few floating-point numbers between {self.low!r} and {self.high!r} "
                f"to halve that interval {levels} times: subtract an offset from the column, widen the interval, or "
                "give the universal measure fewer levels="
            )
        halved = np.bitwise_count((places & -places) - 1).astype(np.int64)  # how often a position can be halved
        return _with_ends(self.low, cuts, levels - halved, self.high)


@register_object
@dataclass(frozen=True)
class CountPartition(PartitionRule):
    """Whole numbers without an upper limit: level k distinguishes the first k of them, and joins the rest.

    The measure of the j-th number is ``1/j - 1/(j + 1)``, so the measure of all numbers from the j-th on is ``1/j``.
    There are at most 254 levels.

    Parameters
    ----------
    first : int, default 0
        The smallest number, from -2⁵¹ to 2⁵¹.

    Raises
    ------
    ValueError
        If ``first`` is not a whole number in this range.

    References
    ----------
    Suzuki, Entropy 17 (2015), section 2.2, where the first number is 1.
    """

    first: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.first, bool) or not isinstance(self.first, int | np.integer):
            raise ValueError(f"first must be a whole number, not {self.first!r}")
        if abs(int(self.first)) > LARGEST_FIRST:
            raise ValueError(
                f"first must be a whole number from -2**51 to 2**51, not {self.first!r}: subtract an offset "
                "from the column, or use another rule, such as QuantilePartition()"
            )
        object.__setattr__(self, "first", int(self.first))

    def fit(self, name: Hashable, values: Values, weights: Weights, levels: int) -> NestedPartition:
        """Return the nested partition; see :class:`PartitionRule`."""
        _refuse_outside(name, values, self.first, np.inf)
        broken = values != np.rint(values)
        if broken.any():
            raise ValueError(
                f"column {name!r} is declared to contain counts, but contains {float(values[broken.argmax()])!r}: "
                "round it, or use another rule, such as QuantilePartition()"
            )
        levels = min(levels, MOST_COUNTS)
        j = np.arange(1, levels + 1)
        masses = np.append(1 / j - 1 / (j + 1), 1 / (levels + 1))
        return NestedPartition(tuple((self.first + j - 0.5).tolist()), tuple(j.tolist()), tuple(masses.tolist()))


@register_object
@dataclass(frozen=True)
class FixedCutsPartition(PartitionRule):
    """Your own cut points, level by level, within an interval; the measure of a cell is its width.

    Parameters
    ----------
    levels : sequence of sequences of float
        The cut points that each level adds, coarse to fine.
    low, high : float
        Ends of the interval. Training values must lie in it; values outside it that are to be classified count as the
        nearest end.

    Raises
    ------
    TypeError
        If ``levels`` is not a sequence of sequences.
    ValueError
        If there is no level, if a cut is not a number, is given twice, or does not lie between the ends, or if these
        are not finite numbers in this order, or their difference is not finite.
    """

    levels: tuple[tuple[float, ...], ...]
    low: float
    high: float

    def __init__(self, levels: Sequence[Sequence[float]], low: float, high: float) -> None:
        object.__setattr__(self, "levels", _cuts_by_level(levels))
        low, high = _interval(low, high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if not (self.levels and all(self.levels)):
            raise ValueError(
                "levels must contain at least one level, and every level must add a cut point, as in [[5], [2, "
                f"8]], not {levels!r}"
            )
        cuts = [cut for level in self.levels for cut in level]
        outside = [cut for cut in cuts if not low < cut < high]
        if outside:
            raise ValueError(f"the cut points must lie between {low:.15g} and {high:.15g}, not at {outside[0]!r}")
        twice = [cut for cut, following in pairwise(sorted(cuts)) if cut == following]
        if twice:
            raise ValueError(
                f"the cut points must be distinct, but {twice[0]!r} is given twice: list it only at the first level "
                "that has it, as later ones keep it"
            )

    def fit(self, name: Hashable, values: Values, weights: Weights, levels: int) -> NestedPartition:
        """Return the nested partition; see :class:`PartitionRule`."""
        _refuse_outside(name, values, self.low, self.high)
        pairs = sorted((cut, k) for k, level in enumerate(self.levels[:levels], 1) for cut in level)
        cuts, entered = np.array([cut for cut, _ in pairs]), np.array([k for _, k in pairs])
        return _with_ends(self.low, cuts, entered, self.high)


def _number(name: str, value: Any) -> float:
    """Return a number as a float, infinite if it is too large; refuse values that are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} must be a number, not {value!r}")
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _interval(low: Any, high: Any) -> tuple[float, float]:
    """Return the ends of an interval as floats; refuse ends that do not bound an interval of finite width."""
    ends = _number("low", low), _number("high", high)
    if not 0 < ends[1] - ends[0] < np.inf:
        raise ValueError(
            f"the interval must have finite ends low < high, and a finite width, but low={low!r} and high={high!r}"
        )
    return ends


def _cuts_by_level(levels: Any) -> tuple[tuple[float, ...], ...]:
    """Return the cut points that each level adds, as floats."""
    listed = None if isinstance(levels, str | Mapping) or not np.iterable(levels) else list(levels)
    if listed is None or any(isinstance(level, str) or not np.iterable(level) for level in listed):
        raise TypeError(
            f"levels must be a sequence of sequences of cut points, such as [[5], [2, 8]], not {levels!r}"
        )
    return tuple(tuple(_number("a cut point", cut) for cut in level) for level in listed)


def _refuse_outside(name: Hashable, values: Values, low: float, high: float) -> None:
    outside = (values < low) | (values > high)
    if outside.any():
        raise ValueError(
            f"column {name!r} contains {float(values[outside.argmax()])!r}, but its values are declared to lie "
            f"between {low:.15g} and {high:.15g} ({int(outside.sum())} do not): widen the range, or correct the value"
        )


def _with_ends(low: float, cuts: Values, entered: npt.NDArray[np.int64], high: float) -> NestedPartition:
    """Return the partition of an interval, measured by width."""
    return _nested(cuts.tolist(), entered.tolist(), np.diff(cuts, prepend=low, append=high))


def _nested(cuts: Sequence[float], entered: Sequence[int], masses: Values) -> NestedPartition:
    """Return a nested partition whose levels are numbered without gaps."""
    number = {level: k for k, level in enumerate(sorted(set(entered)), 1)}
    return NestedPartition(tuple(cuts), tuple(number[level] for level in entered), tuple(masses.tolist()))
