"""One form for the same cells, whichever format they were read from.

Text is stripped of blanks at its ends, and what stands for a missing cell becomes one, unless it is known as a state.
Whole numbers are integers, also where a format or a gap made them floats. Numbers of single precision are the
shortest decimals that give them back. Columns of mixed cells are text, as they would be in CSV.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from anbexact.cli.messages import InputError, note
from anbexact.tables.frames.native_values import in_double, native
from anbexact.tables.frames.text_quantities import MISSING_WORDS, TextQuantity

EXACT = 2.0**53
"""Below this, every whole number is a float."""


TextReader: TypeAlias = Callable[[str], str | None]
"""Takes the text of a cell; returns what it is in its column, None for a missing cell."""


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
        Columns that are kept as they are written, because the classifier reads their text, and what it reads them as.
    """

    texts: frozenset[str] = frozenset()
    states: Mapping[str, Collection[str]] = field(default_factory=dict)
    written: Mapping[str, TextQuantity] = field(default_factory=dict)

    def missing_words(self, name: str) -> tuple[str, ...]:
        """Return the texts that stand for missing cells in a column."""
        states = self.states.get(name, ())
        return tuple(word for word in MISSING_WORDS if word not in states)

    def text_reader(self, name: str) -> TextReader:
        """Return the function that reads the texts of a column.

        A state is itself. Other text is stripped of blanks at its ends. It is then a missing cell if it is a word
        for one, or the only state that it is but for such blanks, which text files and people lose.
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


def same_cells(frame: pd.DataFrame, expected: Expected, label: str) -> pd.DataFrame:
    """Return a table in the form that does not depend on its format."""
    columns = {}
    for name, column in frame.items():
        try:
            columns[name] = same_column(column, expected)
        except TypeError:
            raise InputError(
                f"cannot read {label}: column {name!r} contains lists or records; split them into one column per part"
            ) from None
    return pd.DataFrame(columns, index=frame.index, columns=frame.columns)


def same_column(column: pd.Series[Any], expected: Expected = ANYTHING) -> pd.Series[Any]:
    """Return one column in that form; what is expected of it is found by its name.

    Raises
    ------
    TypeError
        If a cell is a list or a mapping.
    """
    dtype = column.dtype
    read = expected.text_reader(str(column.name))
    if str(column.name) in expected.texts and not isinstance(dtype, pd.StringDtype):
        cells = same_column(column, Expected(states=expected.states)).astype(object)
        return _text(pd.Series([cell_text(cell, read) for cell in cells], index=column.index), read)
    if isinstance(dtype, pd.CategoricalDtype):
        return column
    if isinstance(dtype, pd.StringDtype):
        return _text(column, read)
    if pd.api.types.is_bool_dtype(dtype) and not pd.api.types.is_object_dtype(dtype):
        return _booleans(column)
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        return _numbers(column)
    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        return _dates(column)
    return _objects(column, read) if pd.api.types.is_object_dtype(dtype) else column


def _text(column: pd.Series[Any], read: TextReader) -> pd.Series[Any]:
    """Strip blanks, and tell missing cells."""
    codes, uniques = pd.factorize(column)
    given = uniques.tolist()
    cleaned = [read(text) for text in given]
    if not any(text is not None for text in cleaned):
        return pd.Series(np.nan, index=column.index)
    if cleaned == given:
        return column
    cells = np.array([*cleaned, None], dtype=object)[codes]
    return pd.Series(cells.tolist(), index=column.index)


def _numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return integers if all numbers are whole (nullable ones if cells are missing), and otherwise floats."""
    gaps = bool(column.isna().any())
    if column.dtype.kind in "iu":
        if not gaps:
            return column.astype(np.uint64 if column.dtype.kind == "u" and column.max() >= 1 << 63 else np.int64)
        return column.astype("Int64")
    own: Any = getattr(column.dtype, "numpy_dtype", column.dtype)
    narrow = own in (np.float16, np.float32)
    values = in_double(column.to_numpy(dtype=own if narrow else np.float64, na_value=np.nan))
    observed = values[~np.isnan(values)]
    if len(observed) and bool((np.abs(observed) < EXACT).all()) and bool((observed == np.rint(observed)).all()):
        whole = pd.Series(values, index=column.index)
        return whole.astype("Int64") if gaps else whole.astype(np.int64)
    return pd.Series(values, index=column.index)


def _booleans(column: pd.Series[Any]) -> pd.Series[Any]:
    return column.astype("boolean" if column.isna().any() else bool)


def _dates(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return Python's dates where no cell has a time of day, as text holds them; else the column as it is."""
    codes, uniques = pd.factorize(column)
    days = pd.DatetimeIndex(uniques)
    if not len(days) or not bool((days == days.normalize()).all()):
        return column
    cells = np.array([*(day.date() for day in days), None], dtype=object)[codes]
    return pd.Series(cells, index=column.index, dtype=object)


def _objects(column: pd.Series[Any], read: TextReader) -> pd.Series[Any]:
    """Return cells of Python objects as the column that they make."""
    cells: list[Any] = [_cell(cell, read) for cell in column]
    kind = pd.api.types.infer_dtype(cells, skipna=True)
    cleaned = pd.Series(cells, index=column.index, dtype=object)
    if kind == "empty":
        return pd.Series(np.nan, index=column.index)
    if kind == "boolean":
        return cleaned.astype("boolean" if cleaned.isna().any() else bool)
    if kind == "integer":
        try:
            return _numbers(cleaned.astype("Int64"))
        except (OverflowError, TypeError):
            return _numbers(cleaned.astype(float))
    if kind in ("floating", "mixed-integer-float", "decimal"):
        return _numbers(cleaned.astype(float))
    if kind in ("datetime", "datetime64"):
        try:
            return same_column(pd.to_datetime(cleaned))
        except (ValueError, TypeError):
            pass  # with and without a time zone, or beyond the years of pandas: text
    if kind == "date":
        return cleaned
    if kind in ("timedelta", "timedelta64", "period", "interval"):
        return cleaned.infer_objects()
    return pd.Series([None if cell is None else cell_text(cell, read) for cell in cells], index=column.index)


def _cell(cell: Any, read: TextReader) -> Any:
    """Return one cell, None if it is missing."""
    if isinstance(cell, str):
        return read(cell)
    if isinstance(cell, list | tuple | set | dict | np.ndarray):
        raise TypeError
    return None if pd.isna(cell) else native(cell) if isinstance(cell, np.floating) else cell


def cell_text(cell: Any, read: TextReader) -> str | None:
    """Return one cell as CSV would hold it, text as it is read."""
    cell = _cell(cell, read)
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell))
    if isinstance(cell, float | Decimal) and math.isfinite(cell) and cell == int(cell):
        return str(int(cell))
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(sep=" ") if cell.time() != datetime.time() else cell.date().isoformat()
    return None if cell is None else str(cell)


def is_text(column: pd.Series[Any]) -> bool:
    """Whether a column of that form holds text."""
    return isinstance(column.dtype, pd.StringDtype) or pd.api.types.is_object_dtype(column.dtype)


def numbered_names(names: Sequence[str]) -> list[str]:
    """Return column names, with stand-ins for those that are empty."""
    return [name or f"\0{place}" for place, name in enumerate(names)]


def without_unnamed(frame: pd.DataFrame, label: str) -> pd.DataFrame:
    """Leave out, with a note, columns without a name that are empty or name the rows; refuse others."""
    out = []
    for place, name in enumerate(frame.columns):
        if not name.startswith("\0"):
            continue
        column = frame[name]
        empty = bool(column.isna().all())
        if not empty and (place or column.duplicated().any() or column.isna().any()):
            raise InputError(f"cannot read {label}: column {place + 1} has no name; name it, or remove it")
        what = "and no cells" if empty else "and a different value in every row, like row names or numbers"
        note(f"{label}: column {place + 1} has no name {what}; it is left out")
        out.append(name)
    return frame.drop(columns=out) if out else frame
