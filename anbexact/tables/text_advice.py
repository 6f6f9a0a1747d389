"""Advice about columns that stay text although most of their cells are numbers, dates or times."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import islice

import pandas as pd

from anbexact.tables.frames.moments import DURATION, clock_time, is_iso, with_hyphens
from anbexact.tables.frames.text_quantities import AMONG_QUANTITIES, meaning_of
from anbexact.tables.frames.written_numbers import number_parts

FEWEST_TEXTS = 20
"""Minimum number of distinct texts for a column to be examined for numbers, dates and times."""
UNREAD_SHARE = 0.1
"""Maximum share of the texts that may have another meaning."""
DAYS = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d", "%Y%m%d", "%d.%m.%y", "%d/%m/%y",
    "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y",
)  # fmt: skip
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")
"""Formats of dates that are only advised, because days and months may be confused, and of times that follow them."""
_WHOLE = re.compile(r"[1-9]\d*", re.ASCII)


def unread_advice(values: Sequence[object]) -> str:
    """Return advice for text that is mostly numbers, dates or times; empty for other text.

    Examples
    --------
    >>> unread_advice([f"{day}.06.2021" for day in range(1, 31)])
    "it contains dates as text; convert it with pandas.to_datetime and format='%d.%m.%Y'"
    """
    texts = [text for value in values if isinstance(value, str) and (text := value.strip()) not in AMONG_QUANTITIES]
    if len(texts) < FEWEST_TEXTS or not all(isinstance(value, str) for value in values):
        return ""
    return meaning_of(texts).question or _advice_on_exceptions(texts) or _dates(texts) or _codes(texts)


def _advice_on_exceptions(texts: Sequence[str]) -> str:
    """Return advice that names the few texts that prevent a column from being read as numbers, dates or times."""
    kinds: dict[str, Callable[[str], bool]] = {
        "numbers": lambda text: number_parts(text, ".") is not None or number_parts(text, ",") is not None,
        "dates": lambda text: is_iso(with_hyphens(text)),
        "times of day": lambda text: clock_time(text) is not None,
        "durations": lambda text: DURATION.fullmatch(text) is not None,
    }
    for noun, fits in kinds.items():
        most = int(UNREAD_SHARE * len(texts))
        others = list(islice((text for text in texts if not fits(text)), most + 1))
        if 0 < len(others) <= most:
            rest = set(others)
            if meaning_of([text for text in texts if text not in rest]).quantity is None:
                return ""
            more = f" and {len(others) - 3:,} more" if len(others) > 3 else ""
            return (
                f"it contains {noun} as text, except for {', '.join(map(repr, others[:3]))}{more}; "
                f"make these cells missing to have the column read as {noun}"
            )
    return ""


def _dates(texts: Sequence[str]) -> str:
    """Return advice that names the formats in which all texts are dates."""
    column = pd.Series(texts)
    formats = [
        day + clock
        for day in DAYS
        for clock in CLOCKS
        if _is_date(texts[0], day + clock) and _are_dates(column, day + clock)
    ]
    if not formats:
        return ""
    return (
        "it contains dates as text; convert it with pandas.to_datetime and "
        f"format={' or '.join(map(repr, formats[:2]))}"
    )


def _is_date(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _are_dates(column: pd.Series[str], form: str) -> bool:
    if form.startswith("%Y%m") and column.str.len().min() < len("20210615"):  # pandas takes years alone for dates
        return False
    return bool(pd.to_datetime(column, format=form, errors="coerce").notna().all())


def _codes(texts: Sequence[str]) -> str:
    """Return advice for whole numbers that look like codes."""
    if not all(map(_WHOLE.fullmatch, texts)) or len(max(texts, key=len)) > len("9223372036854775807") - 1:
        return ""
    return (
        "it contains whole numbers as text, which may be codes; if it is a quantity, convert it with "
        "pandas.to_numeric"
    )
