"""What a column of text means: numbers in some notation, dates, times of day, durations, or just text.

A column is a quantity only if all its texts are of one kind and in one notation, except for words that stand for
missing cells. The result is a :class:`TextQuantity`, which also reads later cells of the column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from anbexact._runtime.arrays import Floats
from anbexact._runtime.json_values import register_object
from anbexact.tables.frames.moments import DURATION, clock_time, is_iso, with_hyphens
from anbexact.tables.frames.quantities import Quantity
from anbexact.tables.frames.series import object_array, read_pandas
from anbexact.tables.frames.written_numbers import DECIMAL_MARKS, PER_CENT, NumberParts, number_parts, plain_text

MISSING_WORDS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
"""Texts that stand for missing cells."""
AMONG_QUANTITIES = frozenset(
    [*MISSING_WORDS, ".", "-", "--", "---", "–", "—", "n/a", "#N/A", "N.A.", "n.a.", "None", "none", "NaT", "<NA>"]
)
"""Texts that stand for missing cells in a column whose other texts are numbers, dates, times or durations."""
LONGEST_EXACT = 15
"""Number of digits up to which floats hold every whole number exactly."""
SHORTEST_CODE, SHORTEST_TELEPHONE = 3, 7
"""Number of digits from which whole numbers of equal length, or of any length, look like codes."""

_OFFSET = re.compile(r"(?:Z|[+-]\d\d(?::?\d\d)?)$", re.ASCII)
_ONLY_DATE = len("2021-06-15")


@register_object
@dataclass(frozen=True)
class TextQuantity(Quantity):
    """The meaning of a column of text: a quantity, and how it is written.

    Attributes
    ----------
    before, after : str
        For numbers (the kind "decimal"): the currency or percent sign before or after each of them, with the blank
        between.
    decimal : {".", ","}
        The decimal mark of numbers. The other mark, a blank or an apostrophe may separate thousands.
    thousands : str
        The separator of thousands where numbers are shown; empty for none.
    """

    before: str = ""
    after: str = ""
    decimal: str = "."
    thousands: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        marks = (self.before, self.after, self.decimal, self.thousands)
        if not all(isinstance(mark, str) for mark in marks) or self.decimal not in DECIMAL_MARKS:
            raise ValueError(f"there is no notation of numbers with {marks!r}")

    @property
    def noun(self) -> str:
        """The name of the values in messages."""
        return "numbers as text" if self.kind == "decimal" else f"{super().noun} as text"

    @property
    def plain(self) -> bool:
        """Whether the values are whole numbers that are written without signs or separators."""
        return self.kind == "decimal" and not (self.places or self.before or self.after or self.thousands)

    @property
    def example(self) -> str:
        """A number in this notation."""
        return self._written("1234.50" if self.places or not self.plain else "1234")

    def expected_as_number(self, name: Hashable, what: str) -> str:
        """Return the warning that an export does not read the text of a column, only its numbers."""
        return (
            f"{what} expects column {name!r} as numbers: convert text such as {self.example!r} to numbers before "
            "scoring"
        )

    def places_of(self, values: Sequence[Any]) -> int:
        """Return the most decimal places of the texts, without trailing zeros."""
        found = [number_parts(value, self.decimal) for value in values if isinstance(value, str)]
        return max((len(parts.part.rstrip("0")) for parts in found if parts is not None), default=0)

    def number(self, value: Any) -> float:
        """Return a value as a number; NaN for a text that stands for a missing cell.

        Raises
        ------
        ValueError
            If it cannot be read; the message continues a sentence that begins with the column's name.
        """
        if not isinstance(value, str):
            return super().number(value)
        text = plain_text(value)
        if text in AMONG_QUANTITIES:
            return float("nan")
        if self.kind != "decimal":
            return super().number(text)
        parts = number_parts(text, self.decimal)
        if parts is None or not self.admits(parts):
            raise ValueError(f"contains {value!r}: pass numbers, or text such as {self.example!r}")
        return parts.number

    def admits(self, number: NumberParts | TextQuantity) -> bool:
        """Whether a number, or those of a column, have the currency or percent sign of this column, or none."""
        return number.affixes in (self.affixes, ("", ""))

    @property
    def affixes(self) -> tuple[str, str]:
        """The currency or percent sign before and after the digits, without blanks."""
        return self.before.strip(), self.after.strip()

    def texts(self, cuts: Sequence[float] | Floats) -> list[str]:
        """Return cut points as distinguishable texts, in the notation of the column.

        Examples
        --------
        >>> TextQuantity("decimal", before="$", thousands=",", places=2).texts([40000.0, 52500.125])
        ['$40,000', '$52,500.125']
        >>> TextQuantity("decimal", after=" %", decimal=",", places=1).texts([45.3])
        ['45,3 %']
        """
        texts = super().texts(cuts)
        return [self._written(text) for text in texts] if self.kind == "decimal" else texts

    def series(self, numbers: Floats) -> pd.Series[Any]:
        """Return numbers as a column of text, in the notation of the column; dates are written in ISO format.

        Examples
        --------
        >>> TextQuantity("decimal", before="$", thousands=",", places=2).series(np.array([1250.5])).tolist()
        ['$1,250.50']
        >>> TextQuantity("duration", "s").series(np.array([900.0])).tolist()
        ['0 days 00:15:00']
        """
        values = super().series(numbers)
        texts = [self._written(str(value)) for value in values] if self.kind == "decimal" else values.astype(str)
        return pd.Series(texts, dtype=object)

    def _written(self, text: str) -> str:
        """Return a number with a decimal point in the notation of the column."""
        sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
        whole, _, part = digits.partition(".")
        if not whole.isdigit() or not (part.isdigit() or not part):  # infinite, or with a power of 10
            return text
        if self.thousands and len(whole) > len("999"):
            whole = f"{int(whole):,}".replace(",", self.thousands)
        return f"{sign}{self.before}{whole}{self.decimal + part if part.strip('0') else ''}{self.after}"


@dataclass(frozen=True)
class Meaning:
    """What the texts of a column mean.

    Attributes
    ----------
    quantity : TextQuantity, optional
        What the texts measure; None if they are just text, or codes.
    numbers : (texts,) float64
        Each text as a number; NaN where it stands for a missing cell.
    question : str
        What is ambiguous, and the parameter that decides it; empty if nothing is.
    """

    quantity: TextQuantity | None
    numbers: Floats
    question: str = ""


_NOTHING = Meaning(None, np.empty(0))


def meaning_of(texts: Sequence[Any], decimal: str | None = None) -> Meaning:
    """Return what the texts of a column mean.

    Parameters
    ----------
    texts : sequence
        The distinct cells of a column. If one of them is not text, no meaning is sought.
    decimal : {".", ","}, optional
        The decimal mark of texts that leave it open, as "1,234" does.

    Examples
    --------
    >>> meaning_of(["$40,000.00", "$1,250.50", "?"]).quantity.texts([20000.0])
    ['$20,000']
    >>> meaning_of(["1,234", "5,678"]).quantity is None
    True
    """
    if not all(isinstance(text, str) for text in texts):
        return _NOTHING
    first = next((text for text in map(plain_text, texts) if text not in AMONG_QUANTITIES), "")
    if not _may_be_time(first) and not any(number_parts(first, mark) for mark in DECIMAL_MARKS):
        return _NOTHING  # the usual case, found quickly because there may be much text
    plain = [plain_text(text) for text in texts]
    places = [k for k, text in enumerate(plain) if text not in AMONG_QUANTITIES]
    observed = [plain[k] for k in places]
    found = _numbers(observed, decimal) or _of_time(observed)
    if found is None:
        return _NOTHING
    numbers = np.full(len(texts), np.nan)
    if found.quantity is not None:
        numbers[places] = found.numbers
    return Meaning(found.quantity, numbers, found.question)


# ---- numbers


def _numbers(texts: Sequence[str], decimal: str | None) -> Meaning | None:
    """Return the meaning of texts that are numbers; None for others."""
    read = {mark: parts for mark in DECIMAL_MARKS if (parts := _all_parts(texts, mark)) is not None}
    if not read:
        return None
    mark = decimal if decimal in read else next(iter(read))
    if len(read) > 1 and decimal is None:
        one, other = read.values()
        different = [k for k in range(len(texts)) if one[k].number != other[k].number]
        if different:
            likely = [m for m, parts in read.items() if _is_likely(parts)]
            if len(likely) != 1:
                shown = texts[different[0]]
                return Meaning(
                    None,
                    np.empty(0),
                    f"it contains numbers as text, such as {shown!r}, whose {'comma' if ',' in shown else 'point'} "
                    "may separate thousands or decimals; pass decimal='.' or decimal=','",
                )
            mark = likely[0]
    parts = read[mark]
    if all(one.bare for one in parts) and _are_codes([one.whole for one in parts]):
        return None
    first = parts[0]
    thousands = Counter(one.thousands for one in parts if one.thousands).most_common(1)
    quantity = TextQuantity(
        "decimal",
        places=max(len(one.part.rstrip("0")) for one in parts),
        before=first.before,
        after=first.after,
        decimal=mark,
        thousands=thousands[0][0] if thousands else "",
    )
    return Meaning(quantity, np.array([one.number for one in parts]))


def _all_parts(texts: Sequence[str], mark: str) -> list[NumberParts] | None:
    """Return texts as numbers with this decimal mark; None if one is not a number, or its signs differ."""
    found: list[NumberParts] = []
    for text in texts:
        parts = number_parts(text, mark)
        if parts is None or (found and parts.affixes != found[0].affixes):
            return None
        found.append(parts)
    if len(texts) > 1 and (
        all(text.startswith("+") for text in texts) or all(text.startswith("(") for text in texts)
    ):  # telephone numbers, and numbers of items
        return None
    return found


def _is_likely(parts: Sequence[NumberParts]) -> bool:
    """Whether the decimal mark by which numbers were read is likely to be right.

    It is not if amounts of money have three decimals; if only some numbers are padded with zeros; or if thousands are
    separated in some numbers, but not in others of five digits or more.
    """
    decimals = [one.part for one in parts if one.part]
    if decimals:
        if any(one.affixes[0] or (one.affixes[1] and one.affixes[1] not in PER_CENT) for one in parts):
            return any(len(part) != 3 for part in decimals)
        padded = len(decimals) == len(parts) and len(set(map(len, decimals))) == 1
        if not padded and any(part.endswith("0") for part in decimals):
            return False
    if any(one.thousands for one in parts):
        return not any(len(one.whole) > len("9999") and not one.thousands for one in parts)
    return True


def _are_codes(wholes: Sequence[str]) -> bool:
    """Whether whole numbers look like codes: of equal length, like years, or long, like telephone numbers."""
    lengths = set(map(len, wholes))
    if max(lengths) > LONGEST_EXACT or min(lengths) >= SHORTEST_TELEPHONE:
        return True
    return len(wholes) > 1 and len(lengths) == 1 and min(lengths) >= SHORTEST_CODE


# ---- dates and times


def _may_be_time(text: str) -> bool:
    """Whether a text begins as dates, datetimes, times of day and durations do."""
    return text[:1].isdigit() or text.startswith("-")


def _of_time(texts: Sequence[str]) -> Meaning | None:
    """Return the meaning of texts that are dates, datetimes, times of day or durations; None for others."""
    if not _may_be_time(texts[0]):  # most text ends here, at no cost
        return None
    values: Any = None
    if all(map(is_iso, dates := [with_hyphens(text) for text in texts])):
        try:
            values = dates_of_text(dates)
        except ValueError:  # such as February 30
            return None
    elif all(DURATION.fullmatch(text) for text in texts):
        values = pd.to_timedelta(pd.Series(texts))
    elif None not in (times := [clock_time(text) for text in texts]):
        values = pd.Series(object_array(times))
    if values is None:
        return None
    column = read_pandas(values, None)
    assert column.quantity is not None
    assert column.numbers is not None
    own = {field.name: getattr(column.quantity, field.name) for field in fields(Quantity)}
    return Meaning(TextQuantity(**own), np.asarray(column.numbers, dtype=np.float64))


def dates_of_text(cells: Sequence[str]) -> pd.Series[Any]:
    """Return ISO text as Python's dates if no cell has a time of day, else as datetimes.

    Raises
    ------
    ValueError
        If a day does not exist, or if only some datetimes have an offset.
    """
    if all(len(cell) == _ONLY_DATE for cell in cells):
        return pd.Series(pd.to_datetime(pd.Series(cells), format="ISO8601").dt.date, dtype=object)
    offsets = {match.group() if (match := _OFFSET.search(cell[_ONLY_DATE:])) else "" for cell in cells}
    if "" in offsets and len(offsets) > 1:
        raise ValueError
    return pd.to_datetime(pd.Series(cells), format="ISO8601", utc=len(offsets) > 1)
