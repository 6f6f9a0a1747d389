"""What the cells of a column mean, whichever format they were read from.

Blanks at the ends of texts are removed. A word that stands for a missing cell is read as one, unless it is known as a
state. A column of text becomes numbers or dates if all of its cells are such, and booleans if the format does not
have booleans itself. Whole numbers are integers, even if the format or a missing cell made them floats. A number of
single precision becomes the shortest decimal that rounds to it. Columns of mixed types are read as the text that CSV
would contain.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact.cli.messages import InputError, note
from anbexact.tables.frames.moments import is_iso, with_hyphens
from anbexact.tables.frames.native_values import in_double, native
from anbexact.tables.frames.text_quantities import MISSING_WORDS, TextQuantity, dates_of_text, meaning_of

EXACT = 2.0**53
"""Up to this, a float64 represents every whole number exactly."""
NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE)
"""A number with a decimal point, perhaps in scientific notation, or infinity."""
CODE = re.compile(r"[+-]?0\d", re.ASCII)
"""The beginning of whole numbers with leading zeros, such as 00501, which are codes."""
MISSING_DOT = "."
"""A missing cell among numbers, as SAS and Stata write it."""
TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
"""The booleans by their texts."""
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_SWAPPED = str.maketrans(",.", ".,")
"""Exchanges points and commas, so that a decimal comma becomes a point."""
_GROUPED = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)", re.ASCII)
"""A whole number in which points may separate thousands."""

TextReader: TypeAlias = Callable[[str], str | None]
"""A function from the text of a cell to the state, or None for a missing cell."""


@dataclass(frozen=True)
class Expected:
    """What is known about the columns of a table before it is read.

    Attributes
    ----------
    texts : frozenset
        Columns that are read as text, even if their cells look like numbers.
    states : mapping of column to texts
        The texts that are states of the column, whatever they would otherwise mean.
    written : mapping of column to quantity
        Columns whose text is kept, because the classifier itself reads it as this quantity.
    """

    texts: frozenset[str] = frozenset()
    states: Mapping[str, Collection[str]] = field(default_factory=dict)
    written: Mapping[str, TextQuantity] = field(default_factory=dict)

    def stays_text(self, name: str) -> bool:
        """Whether the text of a column stays text."""
        return name in self.texts or name in self.written

    def missing_words(self, name: str) -> list[str]:
        """Return the texts that stand for missing cells in a column."""
        return [word for word in MISSING_WORDS if word not in self.states.get(name, ())]

    def text_reader(self, name: str) -> TextReader:
        """Return the function that reads the texts of a column.

        A text that is a state is that state. From other texts, blanks at the ends are removed. What remains is a
        missing cell if it is a word for one. Otherwise, it is a state that has blanks at its ends if exactly one such
        state equals it without them, because blanks get lost in text files and when people type.
        """
        states, missing = self.states.get(name, ()), self.missing_words(name)
        count = Counter(state.strip() for state in states)
        blank = {state.strip(): state for state in states if count[state.strip()] == 1}

        def read(text: str) -> str | None:
            bare = text.strip()
            if text in states or bare in states:
                return text if text in states else bare
            return None if bare in missing else blank.get(bare, bare)

        return read


ANYTHING = Expected()
"""For a table about which nothing is known."""


def meant(
    column: pd.Series[Any],
    expected: Expected = ANYTHING,
    decimal: str | None = None,
    dotted: list[str] | None = None,
    *,
    typed: bool = False,
) -> pd.Series[Any]:
    """Return a column of a file as numbers, booleans or dates if all of its cells are, and otherwise as text.

    - If one of several whole numbers has leading zeros, such as 00501, they are codes: the column is text, with a
      note.
    - A dot alone among numbers is a missing cell.
    - ISO dates become dates, and ISO datetimes, with or without an offset, become datetimes. Slashes may separate
      year, month and day, as in 2021/6/15.

    Numbers in other notations, such as $1,250 or 1.250 in a column with 980, and times of day remain text, which the
    classifier itself reads.

    Parameters
    ----------
    column : Series
        Text, other cells, or cells of the type that the format has.
    expected : Expected
        What is known of the column, by its name.
    decimal : {".", ","}, optional
        The decimal mark, if the user or the file determines it.
    dotted : list, optional
        The name of the column is appended if a dot in it is a missing cell.
    typed : bool, default False
        Whether the format has booleans of its own. The text ``True`` is then text, as in a frame in Python.

    Raises
    ------
    TypeError
        If a cell is a list or a mapping.
    """
    name = str(column.name)
    read = expected.text_reader(name)
    if pd.api.types.is_object_dtype(column.dtype) and pd.api.types.infer_dtype(column, skipna=True) != "string":
        column = _objects(column, read)
    if name in expected.texts and not is_text(column):
        cells = [cell_text(cell, read) for cell in in_one_form(column).astype(object)]
        column = pd.Series(cells, index=column.index, name=name)
    if is_text(column) or isinstance(column.dtype, pd.CategoricalDtype):
        stays = expected.stays_text(name)
        values = partial(_values, name=name, decimal=decimal, dotted=[] if dotted is None else dotted, typed=typed)
        return _of_text(column, read, _just_text if stays else values)
    return in_one_form(column)


def in_one_form(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return numbers as integers if all are whole (nullable if cells are missing), and otherwise as float64.

    Booleans are nullable if cells are missing. Datetimes become dates if the time of all of them is midnight. Columns
    of other types are returned as they are.
    """
    dtype, incomplete = column.dtype, bool(column.isna().any())
    if is_text(column) or isinstance(dtype, pd.CategoricalDtype):
        return column
    if pd.api.types.is_bool_dtype(dtype):
        return column.astype("boolean" if incomplete else bool)
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        return _numbers(column, incomplete)
    return _dates(column) if isinstance(dtype, np.dtype) and dtype.kind == "M" else column


def _numbers(column: pd.Series[Any], incomplete: bool) -> pd.Series[Any]:
    """Return numbers as :func:`in_one_form` does; ``incomplete`` says whether cells are missing."""
    if column.dtype.kind in "iu":
        nullable: Any = pd.UInt64Dtype() if column.dtype.kind == "u" and column.max() >= 1 << 63 else pd.Int64Dtype()
        return column.astype(nullable if incomplete else nullable.numpy_dtype)
    own: Any = getattr(column.dtype, "numpy_dtype", column.dtype)
    narrow = own in (np.float16, np.float32)
    values = in_double(column.to_numpy(dtype=own if narrow else np.float64, na_value=np.nan))
    observed = values[~np.isnan(values)]
    numbers = pd.Series(values, index=column.index, name=column.name)
    if len(observed) and bool((np.abs(observed) < EXACT).all()) and bool((observed == np.rint(observed)).all()):
        return numbers.astype("Int64" if incomplete else np.int64)
    return numbers


def _dates(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return Python dates, as for dates in text, if no cell has a time of day; otherwise the column as it is."""
    codes, uniques = pd.factorize(column)
    days = pd.DatetimeIndex(uniques)
    if not len(days) or not bool((days == days.normalize()).all()):
        return column
    return _at(pd.Series([day.date() for day in days], dtype=object), codes, column)


def _objects(column: pd.Series[Any], read: TextReader) -> pd.Series[Any]:
    """Return cells of Python objects as numbers, booleans or durations if all of them are, and otherwise as text."""
    cells: list[Any] = [_cell(cell, read) for cell in column]
    kind = pd.api.types.infer_dtype(cells, skipna=True)
    cleaned = pd.Series(cells, index=column.index, name=column.name, dtype=object)
    if kind == "boolean":
        return cleaned.astype("boolean")
    if kind in ("floating", "mixed-integer-float", "decimal"):
        return cleaned.astype(float)
    if kind in ("timedelta", "timedelta64", "period", "interval"):
        return cleaned.infer_objects()
    texts = [None if cell is None else cell_text(cell, read) for cell in cells]
    return pd.Series(texts, index=column.index, name=column.name)


def _of_text(
    column: pd.Series[Any], read: TextReader, values_of: Callable[[list[str]], pd.Series[Any] | None]
) -> pd.Series[Any]:
    """Return a column of text with its cells read; if ``values_of`` makes values of its distinct texts, as these."""
    codes, uniques = pd.factorize(column)
    given = uniques.tolist()
    if not all(isinstance(text, str) for text in given):  # declared categories
        return column
    cleaned = [*map(read, given)]
    texts = list(dict.fromkeys(text for text in cleaned if text is not None))
    if not texts:
        return pd.Series(np.nan, index=column.index, name=column.name)
    place = {text: k for k, text in enumerate(texts)}
    codes = np.array([-1 if text is None else place[text] for text in (*cleaned, None)])[codes]
    values = values_of(texts)
    if values is not None:
        return in_one_form(_at(values, codes, column))
    if isinstance(column.dtype, pd.CategoricalDtype) or (cleaned == given and column.dtype != object):
        return column
    return _at(pd.Series(texts), codes, column)


def _at(values: pd.Series[Any], codes: npt.NDArray[np.integer[Any]], column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column like ``column`` with the values at these positions; a negative position is a missing cell."""
    if values.dtype == object:
        found = np.array([*values, None], dtype=object)[codes]
        return pd.Series(found, index=column.index, name=column.name, dtype=object)
    return pd.Series(values.reindex(codes).array, index=column.index, name=column.name)


def _just_text(texts: list[str]) -> None:
    """Return None: the texts stay text."""


def _values(
    texts: list[str], name: str, decimal: str | None, dotted: list[str], *, typed: bool
) -> pd.Series[Any] | None:
    """Return distinct texts as numbers, booleans or dates, indexed by position; None if they are just text."""
    if not typed and all(text in TRUTH for text in texts):
        return pd.Series([TRUTH[text] for text in texts], dtype="boolean")
    places = [k for k, text in enumerate(texts) if text != MISSING_DOT]
    found = texts if len(places) == len(texts) else [texts[k] for k in places]
    for mark in (".", ",") if decimal == "," else (".",):
        numbers = found if mark == "." else [text.translate(_SWAPPED) for text in found]
        if not numbers or not all(map(NUMBER.fullmatch, numbers)):
            continue
        if _are_codes(numbers, name) or (mark == "." and _have_thousands(numbers, decimal)):
            return None
        if len(places) < len(texts):
            dotted.append(name)
        return _numbers_of(numbers).set_axis(places)
    if all(is_iso(with_hyphens(text)) for text in texts):
        with contextlib.suppress(ValueError):  # such as February 30
            return dates_of_text([*map(with_hyphens, texts)])
    return None


def _are_codes(numbers: list[str], name: str) -> bool:
    """Whether numbers are codes, because one has leading zeros; a note says so."""
    code = next(filter(CODE.match, numbers), None)
    if code is None or not is_undecided(np.array(numbers, dtype=np.float64)):
        return False
    note(f"column {name!r} contains numbers with leading zeros, such as {code}, and is read as text")
    return True


def _have_thousands(numbers: list[str], decimal: str | None) -> bool:
    """Whether points separate thousands in numbers."""
    if not any("." in number for number in numbers) or not all(map(_GROUPED.fullmatch, numbers)):
        return False
    quantity = meaning_of(numbers, decimal).quantity
    return quantity is not None and quantity.thousands == "."


def _numbers_of(texts: list[str]) -> pd.Series[Any]:
    """Return numbers: as Int64 or else UInt64 if all are whole and fit, and otherwise as float64."""
    if all(map(_WHOLE.fullmatch, texts)):
        whole = [*map(int, texts)]
        for dtype in ("Int64", "UInt64"):
            with contextlib.suppress(OverflowError):
                return pd.Series(np.array(whole, dtype=dtype.lower()), dtype=dtype)
    return pd.Series([*map(float, texts)], dtype=np.float64)


def is_undecided(numbers: npt.NDArray[np.float64]) -> bool:
    """Whether numbers may have been codes, or may have had points between thousands, in the text of the file.

    This is possible if all are whole, or if all are below 1,000 and have at most three decimals.
    """
    numbers = numbers[np.isfinite(numbers)]
    thousandths = numbers * 1000
    near = np.abs(thousandths - np.rint(thousandths)) < 1e-6
    return bool((numbers == np.rint(numbers)).all() or (near & (np.abs(numbers) < 1000)).all())


def _cell(cell: Any, read: TextReader) -> Any:
    """Return one cell, None if it is missing."""
    if isinstance(cell, str):
        return read(cell)
    if isinstance(cell, list | tuple | set | dict | np.ndarray):
        raise TypeError
    return None if pd.isna(cell) else native(cell) if isinstance(cell, np.floating) else cell


def cell_text(cell: Any, read: TextReader) -> str | None:
    """Return one cell as the text that a CSV file would contain; None if it is missing."""
    cell = _cell(cell, read)
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell))
    if isinstance(cell, float | Decimal) and math.isfinite(cell) and cell == int(cell):
        return str(int(cell))
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(sep=" ") if cell.time() != datetime.time() else cell.date().isoformat()
    return None if cell is None else str(cell)


def is_text(column: pd.Series[Any]) -> bool:
    """Whether a column has the type of text: strings, or Python objects."""
    return isinstance(column.dtype, pd.StringDtype) or pd.api.types.is_object_dtype(column.dtype)


def numbered_names(names: Sequence[str]) -> list[str]:
    """Return column names, with stand-ins for those that are empty."""
    return [name or f"\0{place}" for place, name in enumerate(names)]


def without_unnamed(frame: pd.DataFrame, label: str) -> pd.DataFrame:
    """Leave out columns without a name, with a note, if they are empty or name the rows; refuse any others."""
    out = []
    for place, name in enumerate(frame.columns):
        if not name.startswith("\0"):
            continue
        column = meant(frame[name], Expected(frozenset([name])))
        empty = bool(column.isna().all())
        if not empty and (place or column.duplicated().any() or column.isna().any()):
            raise InputError(f"cannot read {label}: column {place + 1} has no name; name it, or remove it")
        what = "and no cells" if empty else "and a different value in every row, like row names or numbers"
        note(f"{label}: column {place + 1} has no name {what}; it is left out")
        out.append(name)
    return frame.drop(columns=out) if out else frame
