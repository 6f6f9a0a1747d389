"""Moments, durations and times of day as nanoseconds, and as text; and back."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
import pandas as pd

UNITS = {
    "D": 86_400_000_000_000,
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}
"""Units of time in nanoseconds, the coarsest first."""
CALENDAR = ("date", "datetime")
"""Kinds of values that have a place in the calendar."""

_ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?\s?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
DURATION = re.compile(r"-?\d+ days?(?: [+-]?\d{1,2}:\d\d:\d\d(?:\.\d{1,9})?)?", re.ASCII)
"""Text of a duration as pandas writes it."""
_YEAR_FIRST = re.compile(r"(\d{4})/(\d\d?)/(\d\d?)(?!\d)", re.ASCII)
_CLOCK = re.compile(r"(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,6}))?)?(?:\s?([AaPp])\.?[Mm]\.?)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = _EPOCH.toordinal()


def zone_name(zone: Any) -> str:
    """Return the name under which pandas knows a time zone; ``"UTC"`` for a zone without a name."""
    name = str(getattr(zone, "key", None) or getattr(zone, "zone", None) or zone)
    try:
        pd.Timestamp(0, tz="UTC").tz_convert(name)
    except (KeyError, ValueError, TypeError):
        return "UTC"
    return name


def is_iso(text: str) -> bool:
    """Whether a text is a date, or a date with a time of day, in ISO format.

    Examples
    --------
    >>> [is_iso(text) for text in ("2021-06-15", "2021-06-15T12:00:30.5+02:00", "2021-06", "15.06.2021")]
    [True, True, False, False]
    """
    return _ISO.fullmatch(text) is not None


def with_hyphens(text: str) -> str:
    """Return text with the date at its beginning (year first) in ISO 8601 form; other text as it is.

    Examples
    --------
    >>> with_hyphens("2021/6/15 12:00")
    '2021-06-15 12:00'
    """
    found = _YEAR_FIRST.match(text)
    return text if found is None else f"{found[1]}-{found[2]:0>2}-{found[3]:0>2}{text[found.end() :]}"


def clock_time(text: str) -> time | None:
    """Return a text such as 9:05, 13:30:59.5 or 1:30 pm as a time of day; None if it is not a time of day.

    Examples
    --------
    >>> clock_time("1:30 pm"), clock_time("25:00")
    (datetime.time(13, 30), None)
    """
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    hour = int(found[1])
    if found[5]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (found[5] in "Pp")
    try:
        return time(hour, int(found[2]), int(found[3] or 0), int(f"{found[4] or 0:0<6}"))
    except ValueError:
        return None


def nanoseconds_of(value: Any, kind: str) -> tuple[int, bool | None]:
    """Return nanoseconds since 1970 in UTC, or since 0, and whether there is a time zone (None if inapplicable)."""
    if isinstance(value, str):
        value = _parsed(value.strip(), kind)
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = pd.Timestamp(value) if isinstance(value, np.datetime64) else pd.Timedelta(value)
    if kind == "time" and type(value) is time and value.tzinfo is None:
        return _in_nanoseconds(datetime.combine(_EPOCH, value) - _EPOCH), None
    if kind == "duration" and isinstance(value, timedelta):
        return _in_nanoseconds(value), None
    if kind in CALENDAR and isinstance(value, date):
        if isinstance(value, pd.Timestamp):
            return int(value.asm8.astype(np.int64)) * UNITS[value.unit], value.tzinfo is not None
        if not isinstance(value, datetime):
            return (value.toordinal() - _EPOCH_DAY) * UNITS["D"], False
        if value.tzinfo is None:
            return _in_nanoseconds(value - _EPOCH), False
        return _in_nanoseconds(value - _EPOCH_UTC), True
    raise TypeError


def _parsed(text: str, kind: str) -> Any:
    """Return a text as a value."""
    if kind == "time":
        return clock_time(text) or time.fromisoformat(text)
    if kind == "duration" and not text.replace(".", "").isdigit():  # which pandas takes for nanoseconds
        return pd.Timedelta(text)
    text = with_hyphens(text)
    if not is_iso(text):
        raise ValueError
    return pd.Timestamp(text.replace(",", "."))


def period_of(value: Any, frequency: str) -> Any:
    """Return a period of a frequency: the value itself if it is one, else the period that contains a moment."""
    if isinstance(value, pd.Period):
        if value.freqstr != frequency:
            raise ValueError
        return value
    if not isinstance(value, str | date | np.datetime64):
        raise TypeError
    return pd.Period(pd.Timestamp(value) if isinstance(value, date | np.datetime64) else value, freq=frequency)


def _in_nanoseconds(value: timedelta) -> int:
    if isinstance(value, pd.Timedelta):
        return int(value.asm8.astype(np.int64)) * UNITS[value.unit]
    return (value.days * 86_400 + value.seconds) * UNITS["s"] + value.microseconds * UNITS["us"]


def clock_text(nanoseconds: int, seconds: bool = False) -> str:
    """Return a time of day as text, with seconds and fractions where they are not 0, or are asked for."""
    minutes, rest = divmod(nanoseconds, UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    text = f"{hours:02d}:{minutes:02d}"
    if not (rest or seconds):
        return text
    whole, rest = divmod(rest, UNITS["s"])
    digits = f"{rest:09d}".rstrip("0")
    return f"{text}:{whole:02d}" + (f".{digits:0<{-(-len(digits) // 3) * 3}}" if digits else "")


def duration_text(nanoseconds: int, unit: str) -> str:
    """Return a duration as text: the days, and the time if it is not 0; zero is written in the column's unit."""
    sign = "-" if nanoseconds < 0 else ""
    days, rest = divmod(abs(nanoseconds), UNITS["D"])
    shown = [f"{days} day{'s' * (days != 1)}"] if days or (unit == "D" and not rest) else []
    if rest or not shown:
        shown.append(clock_text(rest, seconds=True))
    return sign + " ".join(shown)


def moment_text(nanoseconds: int, zone: str | None) -> str:
    """Return a moment as ISO text in a time zone; midnight without a time zone as a date."""
    offset = 0
    if zone is not None:
        at = pd.Timestamp(np.datetime64(nanoseconds // UNITS["s"], "s")).tz_localize("UTC").tz_convert(zone)
        offset = round(at.utcoffset().total_seconds())  # type: ignore[union-attr]  # it has a zone
    days, rest = divmod(nanoseconds + offset * UNITS["s"], UNITS["D"])
    text = str(np.datetime64(days, "D"))
    if rest or zone is not None:
        text += f" {clock_text(rest)}"
    return text if zone is None else f"{text}{'-' if offset < 0 else '+'}{clock_text(abs(offset) * UNITS['s'])}"
