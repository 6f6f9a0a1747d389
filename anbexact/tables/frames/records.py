"""Records of the training values of a column, from which values can be drawn in the column's own units."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats, Integers
from anbexact._runtime.json_checks import plain_numbers
from anbexact._runtime.json_values import register_object

MOST_VALUES = 128
"""Number of distinct numbers up to which a record has all of them; of more numbers, it has quantiles."""
MOST_PLACES = 6
"""Decimal places up to which numbers are drawn with as many places as they had in training."""
DTYPES = ("", "category", "ordered", "int64", "float64")
FEW_NUMBERS = 1000
"""Numbers that are looked at first, because most columns of measurements already show their decimal places there."""


@register_object
@dataclass(frozen=True)
class ColumnRecord:
    """What is known of the training values of a column beyond its states.

    Attributes
    ----------
    values : tuple
        Of a column that is cut, its numbers, ascending: all of them if there are at most ``MOST_VALUES``, and
        otherwise the quantiles 0, 1/k, ..., 1 with k = ``MOST_VALUES``. Of a column with groups of values, the
        values, in the order of the groups. Empty for other columns.
    weights : tuple of float
        The training weight of each of these values; empty if they are quantiles.
    places : int, optional
        Of quantiles: no training value has more decimal places than these. None if some have more than
        ``MOST_PLACES``.
    dtype : str
        ``"category"`` or ``"ordered"`` for a categorical column, ``"int64"`` or ``"float64"`` for numbers that are
        cut; empty for all others.

    Raises
    ------
    ValueError
        If weights do not belong to the values or are negative or not finite, if quantiles are not finite numbers that
        ascend, or if there are no such places or types.
    """

    values: tuple[Any, ...] = ()
    weights: tuple[float, ...] = ()
    places: int | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        if self.weights:
            numbers = all(type(weight) in (int, float) and weight >= 0 for weight in self.weights)
            if len(self.weights) != len(self.values) or not numbers or not 0 < sum(self.weights) < inf:
                raise ValueError("every value must have a weight of 0 or more, and their sum must be finite")
        elif self.values and (len(self.values) < 2 or not self.ascending):
            raise ValueError("quantiles must be two or more finite numbers that ascend")
        if self.dtype not in DTYPES or (self.places is not None and self.places not in range(MOST_PLACES + 1)):
            raise ValueError(f"there is no record of the type {self.dtype!r} with {self.places!r} decimal places")

    @property
    def ascending(self) -> bool:
        """Whether the values are finite numbers that ascend."""
        numbers = all(type(value) in (int, float) and isfinite(value) for value in self.values)
        return numbers and all(a <= b for a, b in pairwise(self.values))

    def numbers_within(self, cuts: Floats, intervals: Integers, uniforms: Floats) -> Floats:
        """Return numbers drawn within intervals, distributed as the training values there.

        Where all values are known, these are drawn in proportion to their weights. Otherwise the distribution
        function is linear between the quantiles, and draws have the decimal places of the training values. In an
        interval without training values, all numbers are equally probable; if it has only one end, the number at
        this end is drawn.

        Parameters
        ----------
        cuts : (cuts,) float64
            Increasing cut points; interval k is ``(cuts[k - 1], cuts[k]]``.
        intervals : (draws,) integers
            The number of the interval of each draw.
        uniforms : (draws,) float64
            Numbers above 0, and at most 1.

        Returns
        -------
        (draws,) float64
        """
        ends = np.concatenate([[-np.inf], cuts, [np.inf]])
        values = np.array(self.values, dtype=np.float64)
        low, high = ends[intervals], ends[intervals + 1]
        if self.weights:
            below = np.concatenate([[0.0], np.cumsum(self.weights)])
            place = np.searchsorted(values, ends, side="right")
            at = below[place]
            wanted = at[intervals] + uniforms * (at[intervals + 1] - at[intervals])
            first, last = place[intervals], place[intervals + 1] - 1
            chosen = np.clip(np.searchsorted(below, wanted) - 1, first, np.maximum(first, last))
            drawn = values[np.minimum(chosen, len(values) - 1)]
        else:
            at = _distribution(ends, values)
            wanted = at[intervals] + uniforms * (at[intervals + 1] - at[intervals])
            drawn = np.interp(wanted, np.linspace(0, 1, len(values)), values)
        empty = at[intervals + 1] <= at[intervals]
        drawn[empty] = _between(low[empty], high[empty], uniforms[empty])
        anew = empty if self.weights else np.ones(len(drawn), dtype=bool)
        drawn[anew] = self._in_places(drawn[anew], low[anew], high[anew])
        found: Floats = np.clip(drawn, np.nextafter(low, np.inf), high)
        return found

    def _in_places(self, numbers: Floats, low: Floats, high: Floats) -> Floats:
        """Return numbers with the decimal places of the column, within ``(low, high]`` if there are such numbers."""
        if self.places is None:
            return numbers
        scale = 10.0**self.places
        with np.errstate(over="ignore", invalid="ignore"):
            least, most = np.rint(low * scale), np.rint(high * scale)
            least = np.where(least / scale > low, least, least + 1) / scale
            most = np.where(most / scale <= high, most, most - 1) / scale
            rounded: Floats = np.clip(np.round(numbers, self.places), least, most)
            return np.where((least <= most) & np.isfinite(rounded), rounded, numbers)


def _distribution(ends: Floats, quantiles: Floats) -> Floats:
    """Return the distribution function, which is linear between quantiles with equal weights, at some ends."""
    n = len(quantiles) - 1
    place = np.searchsorted(quantiles, ends, side="right")
    before = np.clip(place - 1, 0, n - 1)
    after = before + 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        part = (ends / 2 - quantiles[before] / 2) / (quantiles[after] / 2 - quantiles[before] / 2)
    return np.where(place == 0, 0.0, np.where(place > n, 1.0, (before + part) / n))


def _between(low: Floats, high: Floats, uniforms: Floats) -> Floats:
    """Return equally probable numbers in ``(low, high]``; the end, where there is only one."""
    bounded = np.isfinite(low) & np.isfinite(high)
    numbers = np.where(np.isfinite(high), high, low)
    numbers[bounded] = low[bounded] + uniforms[bounded] * (high - low)[bounded]
    return numbers


def record_of_numbers(numbers: npt.NDArray[np.number[Any]], weights: Floats, dtype: str) -> ColumnRecord:
    """Return the record of numbers, none of them missing, with positive weights.

    Quantile j/k is the smallest number up to which at least j/k of the weight lies.
    """
    if weights.min() == weights.max():  # to sort the numbers alone is several times as fast
        values = np.sort(np.asarray(numbers, dtype=np.float64))
        below = weights[0] * np.arange(1, len(values) + 1)
    else:
        order = np.lexsort((weights, numbers))  # so that sums do not depend on the order of the rows
        values = np.asarray(numbers, dtype=np.float64)[order]
        below = np.cumsum(weights[order])
    firsts = np.append(0, np.flatnonzero(values[1:] != values[:-1]) + 1)
    places = _places_of(values[firsts])
    if len(firsts) <= MOST_VALUES:
        of_values = np.diff(below[np.append(firsts[1:], len(values)) - 1], prepend=0.0)
        return ColumnRecord(tuple(plain_numbers(values[firsts])), tuple(plain_numbers(of_values)), places, dtype)
    wanted = below[-1] * np.linspace(0, 1, MOST_VALUES + 1)
    quantiles = values[np.minimum(np.searchsorted(below, wanted), len(values) - 1)]
    return ColumnRecord(tuple(plain_numbers(quantiles)), (), places, dtype)


def _places_of(values: Floats) -> int | None:
    """Return the decimal places that all numbers have at most; None if these are many."""
    for places in range(MOST_PLACES + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            if all(np.array_equal(np.round(some, places), some) for some in (values[:FEW_NUMBERS], values)):
                return places
    return None
