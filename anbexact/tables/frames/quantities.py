"""Ordered quantities that are given as objects, and the meaning of their numbers.

A column of datetimes, dates, durations, times of day, periods or decimals is cut like a column of numbers. Its
numbers count units of time since an origin, in which the values are whole, or are the decimals as floats. A
:class:`Quantity` describes this, and converts values to numbers and cut points to text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.arrays import Floats
from anbexact._runtime.json_values import register_object
from anbexact.tables.frames.moments import (
    CALENDAR,
    UNITS,
    clock_text,
    duration_text,
    moment_text,
    nanoseconds_of,
    period_of,
    zone_name,
)

Ticks = npt.NDArray[np.int64]

LARGEST_EXACT_INTEGER = 2**53
"""Whole numbers up to which floats are exact."""
MOST_PLACES = 20
"""Decimal places that are always shown."""
_MIDNIGHT = datetime(1970, 1, 1)
KINDS = {
    "date": ("dates", "dates, or ISO text such as '2021-06-15'"),
    "datetime": ("datetimes", "datetimes, or ISO text such as '2021-06-15 12:00'"),
    "duration": ("durations", "durations, or text such as '1 days 02:30:00'"),
    "time": ("times of day", "times, or ISO text such as '12:30:00'"),
    "period": ("periods", "periods of the same frequency"),
    "decimal": ("decimals", "numbers"),
}
"""The names of the values of a kind in messages, and the types that may be passed instead."""


@register_object
@dataclass(frozen=True)
class Quantity:
    """The meaning of the numbers of a column.

    Attributes
    ----------
    kind : {"date", "datetime", "duration", "time", "period", "decimal"}
        The kind of the values.
    unit : str
        For time: the coarsest of ``"D"``, ``"h"``, ``"m"``, ``"s"``, ``"ms"``, ``"us"`` and ``"ns"`` in which all
        training values are whole. For periods: their frequency. For decimals: ``""``.
    origin : int
        The number 0 means this many units since 1970 in UTC, or since zero. It is 0 itself unless floats would not be
        exact.
    zone : str, optional
        The time zone in which datetimes are shown; None if they have none.
    places : int
        Number of decimal places of decimals.

    Raises
    ------
    ValueError
        If there is no such kind, unit or frequency.
    """

    kind: str
    unit: str = ""
    origin: int = 0
    zone: str | None = None
    places: int = 0

    def __post_init__(self) -> None:
        if self.kind == "period":
            pd.PeriodDtype(self.unit)
        elif self.kind not in KINDS or self.unit not in (UNITS if self.of_time else ("",)):
            raise ValueError(f"there is no quantity of the kind {self.kind!r} with the unit {self.unit!r}")
        if type(self.origin) is not int or type(self.places) is not int or self.places < 0:
            raise ValueError(f"origin and places must be whole numbers, not {self.origin!r} and {self.places!r}")

    @property
    def of_time(self) -> bool:
        """Whether the numbers count units of time."""
        return self.kind not in ("period", "decimal")

    @property
    def noun(self) -> str:
        """The name of the values in messages."""
        more = "" if self.zone is None else f" with a time zone ({self.zone})"
        return KINDS[self.kind][0] + more + (f" of frequency {self.unit!r}" if self.kind == "period" else "")

    # ---- numbers

    def exactly(self, numbers: Floats) -> Quantity:
        """Return the quantity with the unit and the origin that suit some of its numbers, none of them missing."""
        if self.kind == "decimal":
            return self
        return in_ticks(self, _whole(numbers) + self.origin)

    def places_of(self, values: Sequence[Any]) -> int:
        """Return the number of decimal places of decimals."""
        return decimal_places(values)

    def convert(self, numbers: Floats, source: Quantity) -> Floats:
        """Return numbers of another quantity as numbers of this one.

        Raises
        ------
        ValueError
            If the two cannot be compared; the message continues a sentence that begins with the column's name.
        """
        missing = np.isnan(numbers)
        if source == self or missing.all():
            return numbers
        alike = source.kind == self.kind or {source.kind, self.kind} <= set(CALENDAR)
        if not alike or (self.kind == "period" and source.unit != self.unit):
            raise ValueError(f"contains {source.noun}: pass {self._expected()}")
        if (source.zone is None) != (self.zone is None):
            raise ValueError(f"contains {source.noun}, {self._zone_advice(source.zone is not None)}")
        if self.kind == "decimal":
            return numbers
        known = numbers[~missing]
        fine, coarse = UNITS.get(source.unit, 1), UNITS.get(self.unit, 1)
        up, down = max(fine // coarse, 1), max(coarse // fine, 1)
        largest = int(np.abs(known).max(initial=0)) + abs(source.origin)
        if largest * up + abs(self.origin) < 2**63:
            units, rest = np.divmod((_whole(known) + source.origin) * up, down)
            values = (units - self.origin).astype(np.float64) + rest / down
        else:  # beyond the years that nanoseconds in 64 bits reach
            values = (known + source.origin) * (up / down) - self.origin
        converted = np.full(len(numbers), np.nan)
        converted[~missing] = values
        return converted

    def number(self, value: Any) -> float:
        """Return a value as a number.

        Raises
        ------
        ValueError
            If that is impossible; the message continues a sentence that begins with the column's name.
        """
        try:
            if self.kind == "decimal":
                return float(value)
            if self.kind == "period":
                return float(period_of(value, self.unit).ordinal - self.origin)
            nanoseconds, aware = nanoseconds_of(value, self.kind)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"contains {value!r}: pass {self._expected()}") from None
        if aware is not None and aware != (self.zone is not None):
            raise ValueError(
                f"contains {value!r}, {'with' if aware else 'without'} a time zone, {self._zone_advice(aware)}"
            )
        units, rest = divmod(nanoseconds, UNITS[self.unit])
        return float(units - self.origin) + rest / UNITS[self.unit]

    def series(self, numbers: Floats) -> pd.Series[Any]:
        """Return numbers as a column of values: those of whole units or, for decimals, of the decimal places.

        Dates, times of day and decimals are objects, everything else has pandas' own type.

        Examples
        --------
        >>> Quantity("date", "D").series(np.array([18352.0, 18793.0])).tolist()
        [datetime.date(2020, 3, 31), datetime.date(2021, 6, 15)]
        >>> Quantity("decimal", places=2).series(np.array([2.5])).tolist()
        [Decimal('2.50')]
        """
        if self.kind == "decimal":
            return _of_distinct(numbers, lambda number: Decimal(f"{number + 0.0:.{self.places}f}"))
        ticks = _whole(numbers) + self.origin
        if self.kind == "period":
            return pd.Series(pd.arrays.PeriodArray(ticks, dtype=pd.PeriodDtype(self.unit)))
        if self.kind == "time":
            microseconds = ticks * (UNITS[self.unit] // UNITS["us"])  # times of day are no finer
            return _of_distinct(microseconds, lambda after: (_MIDNIGHT + timedelta(microseconds=after)).time())
        if self.kind == "date":
            return pd.Series(ticks.astype("M8[D]").astype(object), dtype=object)
        own = "ns" if self.unit == "ns" else "us"
        array = ticks.astype(f"{'m' if self.kind == 'duration' else 'M'}8[{self.unit}]")
        moments = pd.Series(array.astype(f"{array.dtype.kind}8[{own}]"))
        return moments if self.zone is None else moments.dt.tz_localize("UTC").dt.tz_convert(self.zone)

    def _expected(self) -> str:
        expected = KINDS[self.kind][1]
        if self.kind == "period":
            return f"periods of frequency {self.unit!r}, or dates"
        return expected if self.zone is None else expected.replace("12:00'", "12:00+02:00'")

    def _zone_advice(self, aware: bool) -> str:
        """Return advice about values with a time zone if those of fit had none, and vice versa."""
        if aware:
            return (
                "although there was no time zone in fit: convert them to the zone that was meant and drop it, in "
                "pandas by .dt.tz_convert(...).dt.tz_localize(None)"
            )
        return (
            f"although the time zone was {self.zone} in fit: say which zone they are in, in pandas by "
            f".dt.tz_localize({self.zone!r})"
        )

    # ---- text

    def texts(self, cuts: Sequence[float] | Floats) -> list[str]:
        """Return cut points as distinguishable texts.

        A cut halfway between two values is shown exactly (rounded down between two nanoseconds or periods), any other
        cut in the next finer unit than that of the values, or in a still finer one if two cuts would look the same.

        Examples
        --------
        >>> Quantity("date", "D").texts([18352.5, 18793.0])
        ['2020-03-31 12:00', '2021-06-15']
        >>> Quantity("datetime", "h", zone="Europe/Zurich").texts([450682.5])
        ['2021-05-31 12:30+02:00']
        >>> Quantity("duration", "s").texts([900.0, 93600.0])
        ['00:15:00', '1 day 02:00:00']
        >>> Quantity("decimal", places=2).texts([2.5, 3.755])
        ['2.50', '3.755']
        """
        values = [float(cut) for cut in cuts]
        finest = [self.unit]
        if self.of_time:
            finest = list(UNITS)[list(UNITS).index(self.unit) + 1 :] or ["ns"]
        elif self.kind == "decimal":
            finest = [str(self.places + more) for more in range(17)]
        for unit in finest:
            texts = [self._text(value, unit) for value in values]
            if len(set(texts)) == len(texts):
                return texts
        return [f"{text} + {value - math.floor(value):.17g}" for text, value in zip(texts, values, strict=True)]

    def _text(self, cut: float, unit: str) -> str:
        """Return a cut point as text, rounded down to a unit of time, a period, or one more decimal place."""
        if not math.isfinite(cut):
            return str(cut)
        if self.kind == "decimal":
            text = f"{cut + 0.0:.{int(unit) + 1}f}"
            return text[:-1].removesuffix(".") if text.endswith("0") else text
        if self.kind == "period":
            return str(pd.Period(ordinal=math.floor(cut) + self.origin, freq=self.unit))
        ratio = UNITS[self.unit] // UNITS[unit]
        nanoseconds = (math.floor(cut * ratio) + self.origin * ratio) * UNITS[unit]
        if self.kind == "time":
            return clock_text(nanoseconds)
        return (
            duration_text(nanoseconds, self.unit) if self.kind == "duration" else moment_text(nanoseconds, self.zone)
        )


def in_ticks(quantity: Quantity, ticks: Ticks) -> Quantity:
    """Return a quantity in the coarsest unit in which its values are whole, with an origin that keeps floats exact.

    Parameters
    ----------
    quantity : Quantity
        A quantity of any kind except decimals.
    ticks : int64 array
        Values in its unit, from 0.
    """
    unit, ratio = quantity.unit, 1
    if quantity.of_time:
        own = UNITS[unit]
        unit = next(unit for unit, length in UNITS.items() if length <= own or not (ticks % (length // own)).any())
        ratio = UNITS[unit] // own
    low, high = (int(ticks.min()) // ratio, int(ticks.max()) // ratio) if len(ticks) else (0, 0)
    return replace(quantity, unit=unit, origin=0 if max(-low, high) <= LARGEST_EXACT_INTEGER else (low + high) // 2)


def of_ticks(quantity: Quantity, ticks: Ticks, missing: npt.NDArray[np.bool_]) -> tuple[Quantity, Floats]:
    """Return the quantity that suits values in the unit of another, and their numbers; NaN where missing."""
    observed = ticks[~missing]
    exact = in_ticks(quantity, observed)
    ratio = UNITS.get(exact.unit, 1) // UNITS.get(quantity.unit, 1)
    numbers = np.full(len(ticks), np.nan)
    whole = observed // ratio
    if max(int(whole.max(initial=0)) - exact.origin, exact.origin - int(whole.min(initial=0))) < 2**63:
        numbers[~missing] = whole - exact.origin
    else:
        numbers[~missing] = whole.astype(np.float64) - exact.origin
    return exact, numbers


def of_values(values: Sequence[Any]) -> tuple[Quantity, Floats] | None:
    """Return the quantity of values, and their numbers; None if they are not of a single kind.

    Raises
    ------
    ValueError
        If some datetimes have a time zone and others do not.
    """
    kind = _kind(values)
    if kind is None:
        return None
    if kind == "decimal":
        return Quantity(kind, places=decimal_places(values)), np.array([float(value) for value in values])
    nothing = np.zeros(len(values), dtype=bool)
    if kind == "period":
        ordinals = np.array([value.ordinal for value in values], dtype=np.int64)
        return of_ticks(Quantity(kind, values[0].freqstr), ordinals, nothing)
    found = [nanoseconds_of(value, kind) for value in values]
    zones = {
        None if aware is not True else zone_name(value.tzinfo)
        for value, (_, aware) in zip(values, found, strict=True)
    }
    if None in zones and len(zones) > 1:
        raise ValueError("contains datetimes with a time zone and others without: give all of them a zone, or none")
    zone = zones.pop() if len(zones) == 1 else "UTC"
    exact = [nanoseconds for nanoseconds, _ in found]
    fine = any(nanoseconds % 1000 for nanoseconds in exact) and max(map(abs, exact)) < 2**63
    ticks = np.array(exact if fine else [nanoseconds // 1000 for nanoseconds in exact], dtype=np.int64)
    return of_ticks(Quantity(kind, "ns" if fine else "us", zone=zone), ticks, nothing)


def decimal_places(values: Iterable[Any]) -> int:
    """Return the maximum number of decimal places of decimals."""
    exponents = (value.as_tuple().exponent for value in values if isinstance(value, Decimal))
    return max((min(-power, MOST_PLACES) for power in exponents if isinstance(power, int) and power < 0), default=0)


def _kind(values: Sequence[Any]) -> str | None:
    """Return the kind of all values; None if there is none, or none in common."""
    types = set(map(type, values))
    if not types or bool in types or str in types:
        return None
    if all(issubclass(of_value, Decimal | Real) for of_value in types):
        return "decimal" if any(issubclass(of_value, Decimal) for of_value in types) else None
    if all(issubclass(of_value, date) for of_value in types):  # of which datetime is a kind
        return "datetime" if any(issubclass(of_value, datetime) for of_value in types) else "date"
    if all(issubclass(of_value, timedelta) for of_value in types):
        return "duration"
    if all(issubclass(of_value, time) for of_value in types):
        return "time" if all(value.tzinfo is None for value in values) else None
    if types == {pd.Period}:
        return "period" if len({value.freqstr for value in values}) == 1 else None
    return None


def _of_distinct(numbers: npt.NDArray[Any], value: Callable[[Any], Any]) -> pd.Series[Any]:
    """Return the value of each number as a column of objects; each distinct number is converted once."""
    distinct, place = np.unique(numbers, return_inverse=True)
    values = np.empty(len(distinct), dtype=object)
    values[:] = [value(number) for number in distinct.tolist()]
    return pd.Series(values[place], dtype=object)


def _whole(numbers: Floats) -> Ticks:
    """Return whole numbers as integers."""
    return np.floor(numbers).astype(np.int64)
