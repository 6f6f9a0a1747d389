"""Text that stands for numbers or dates, and numbers that are codes: what a column of a text file is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from anbexact.cli.messages import listed, note
from anbexact.tables.moments import is_iso

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
CODE = re.compile(r"\s*[+-]?0\d", re.ASCII)
_OFFSET = re.compile(r"(?:Z|[+-]\d\d(?::?\d\d)?)$", re.ASCII)
_YEAR_FIRST = re.compile(r"(\d{4})/(\d\d?)/(\d\d?)(?!\d)", re.ASCII)
_ONLY_DATE = len("2021-06-15")
MISSING_DOT = "."


def recognise(
    frame: pd.DataFrame, texts: Collection[str], as_written: Callable[[list[str]], pd.DataFrame]
) -> pd.DataFrame:
    """Return a table that was read from text, its columns as numbers, dates or text as all of their cells are.

    - Whole numbers of which one has leading zeros, such as 00501, are codes: the column becomes text, with a note.
    - Text all of whose cells are numbers becomes numbers. A dot alone among them is a missing cell, as SAS and Stata
      write it, with a note.
    - Text all of whose cells are ISO dates becomes dates; datetimes, with an offset or without, become datetimes.
      Slashes may separate year, month and day, as in 2021/6/15.

    Parameters
    ----------
    frame : DataFrame
        The table as pandas read it.
    texts : names
        Columns that stay text, whatever they look like.
    as_written : function
        Called with names of columns: these columns, every cell as text.
    """
    frame = frame.copy(deep=False)
    coded = _coded(frame, texts, as_written)
    for name, column in coded.items():
        frame[name] = column
    dotted = []
    for name in map(str, frame):
        if name not in texts and name not in coded and not pd.api.types.is_numeric_dtype(frame[name].dtype):
            n_missing = frame[name].isna().sum()
            frame[name] = _recognised(frame[name])
            if frame[name].isna().sum() > n_missing:
                dotted.append(name)
    if dotted:
        note(f"{MISSING_DOT!r} alone is read as a missing cell in {listed(dotted, 'column')}")
    return frame


def _coded(
    frame: pd.DataFrame, texts: Collection[str], as_written: Callable[[list[str]], pd.DataFrame]
) -> dict[str, pd.Series[Any]]:
    """Return the columns of whole numbers of which one has leading zeros, as they are written."""
    whole = [str(name) for name in frame if name not in texts and _is_whole(frame[name])]
    if not whole:
        return {}
    found = {}
    for name, column in as_written(whole).items():
        first = next((cell for cell in column.dropna().unique() if isinstance(cell, str) and CODE.match(cell)), None)
        if first is not None:
            found[str(name)] = column.str.strip()
            note(f"column {name!r} contains numbers with leading zeros, such as {first.strip()}, and is read as text")
    return found


def _is_whole(column: pd.Series[Any]) -> bool:
    """Whether a column holds whole numbers, some of them not one digit long, maybe beside missing cells."""
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return False
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    values = values[~np.isnan(values)]
    return bool(len(values)) and bool((values == np.rint(values)).all())


def _recognised(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of text as numbers or dates, if all of its cells are such; else as it is."""
    codes, uniques = pd.factorize(column, use_na_sentinel=True)
    cells = list(uniques)
    if not cells or not all(isinstance(cell, str) for cell in cells):
        return column
    cells = [cell.strip() for cell in cells]
    present = [cell for cell in cells if cell != MISSING_DOT]
    if present and all(_NUMBER.fullmatch(cell) and not CODE.match(cell) for cell in present):
        values = pd.to_numeric(pd.Series([None if cell == MISSING_DOT else cell for cell in cells]))
    elif all(map(is_iso, dates := [_with_hyphens(cell) for cell in cells])):
        try:
            values = _dates(dates)
        except ValueError:  # such as February 30
            return column
    else:
        return column
    return pd.Series(values.reindex(codes).array, index=column.index, name=column.name)


def _with_hyphens(cell: str) -> str:
    """Return text that begins with a date, year first, with that date as ISO 8601 has it; other text as it is."""
    found = _YEAR_FIRST.match(cell)
    return cell if found is None else f"{found[1]}-{found[2]:0>2}-{found[3]:0>2}{cell[found.end() :]}"


def _dates(cells: Sequence[str]) -> pd.Series[Any]:
    """Return ISO text as Python's dates if no cell has a time of day, else as datetimes.

    Raises
    ------
    ValueError
        If there is no such day, or only some datetimes have an offset.
    """
    if all(len(cell) == _ONLY_DATE for cell in cells):
        return pd.Series(pd.to_datetime(pd.Series(cells), format="ISO8601").dt.date, dtype=object)
    offsets = {match.group() if (match := _OFFSET.search(cell[_ONLY_DATE:])) else "" for cell in cells}
    if "" in offsets and len(offsets) > 1:
        raise ValueError
    return pd.to_datetime(pd.Series(cells), format="ISO8601", utc=len(offsets) > 1)
