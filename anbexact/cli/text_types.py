"""Text that stands for numbers or dates, and numbers that are codes: what a column of a text file is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pandas as pd

from anbexact.cli.messages import listed, note
from anbexact.tables.frames.moments import is_iso, with_hyphens
from anbexact.tables.frames.text_quantities import dates_of_text, meaning_of

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
CODE = re.compile(r"\s*[+-]?0\d", re.ASCII)
MISSING_DOT = "."


def recognise(
    frame: pd.DataFrame,
    texts: Collection[str],
    as_written: Callable[[list[str]], pd.DataFrame],
    decimal: str | None = None,
) -> pd.DataFrame:
    """Return a table that was read from text, its columns as numbers, dates or text as all of their cells are.

    - Whole numbers of which one has leading zeros, such as 00501, are codes: the column becomes text, with a note.
    - Text all of whose cells are numbers becomes numbers. A dot alone among them is a missing cell, as SAS and Stata
      write it, with a note.
    - Text all of whose cells are ISO dates becomes dates; datetimes, with an offset or without, become datetimes.
      Slashes may separate year, month and day, as in 2021/6/15.

    Numbers in other notations, such as $1,250 or 1.250 in a column with 980, and times of day remain text, which the
    classifier reads.

    Parameters
    ----------
    frame : DataFrame
        The table as pandas read it.
    texts : names
        Columns that stay text, whatever they look like.
    as_written : function
        Called with names of columns: these columns, every cell as text.
    decimal : {".", ","}, optional
        The decimal mark, if the user or the file determines it.
    """
    frame = frame.copy(deep=False)
    coded = _coded(frame, texts, as_written, decimal)
    for name, column in coded.items():
        frame[name] = column
    dotted = []
    for name in map(str, frame):
        if name not in texts and name not in coded and not pd.api.types.is_numeric_dtype(frame[name].dtype):
            n_missing = frame[name].isna().sum()
            frame[name] = _recognised(frame[name], decimal)
            if frame[name].isna().sum() > n_missing:
                dotted.append(name)
    if dotted:
        note(f"{MISSING_DOT!r} alone is read as a missing cell in {listed(dotted, 'column')}")
    return frame


def _coded(
    frame: pd.DataFrame,
    texts: Collection[str],
    as_written: Callable[[list[str]], pd.DataFrame],
    decimal: str | None,
) -> dict[str, pd.Series[Any]]:
    """Return the columns of numbers with leading zeros, or with points between thousands, as they are written."""
    questioned = [str(name) for name in frame if name not in texts and _is_questioned(frame[name])]
    if not questioned:
        return {}
    found = {}
    for name, column in as_written(questioned).items():
        if _has_thousands([cell for cell in column.dropna().unique() if isinstance(cell, str)], decimal):
            found[str(name)] = column.str.strip()
            continue
        first = next((cell for cell in column.dropna().unique() if isinstance(cell, str) and CODE.match(cell)), None)
        if first is not None:
            found[str(name)] = column.str.strip()
            note(f"column {name!r} contains numbers with leading zeros, such as {first.strip()}, and is read as text")
    return found


def _has_thousands(cells: list[str], decimal: str | None) -> bool:
    """Whether texts are numbers with points that separate thousands."""
    quantity = meaning_of(cells, decimal).quantity
    return quantity is not None and quantity.thousands == "."


def _is_questioned(column: pd.Series[Any]) -> bool:
    """Whether the cells of a column that are not missing are all whole numbers, or all thousandths below 1,000."""
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return False
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    values = values[np.isfinite(values)]
    if not len(values):
        return False
    thousandths = values * 1000
    near = np.abs(thousandths - np.rint(thousandths)) < 1e-6
    return bool((values == np.rint(values)).all() or (near & (np.abs(values) < 1000)).all())


def _recognised(column: pd.Series[Any], decimal: str | None) -> pd.Series[Any]:
    """Return a column of text as numbers or dates, if all of its cells are such; else as it is."""
    codes, uniques = pd.factorize(column, use_na_sentinel=True)
    cells = list(uniques)
    if not cells or not all(isinstance(cell, str) for cell in cells):
        return column
    cells = [cell.strip() for cell in cells]
    present = [cell for cell in cells if cell != MISSING_DOT]
    if _has_thousands(present, decimal):
        return column
    if present and all(_NUMBER.fullmatch(cell) and not CODE.match(cell) for cell in present):
        values = pd.to_numeric(pd.Series([None if cell == MISSING_DOT else cell for cell in cells]))
    elif all(map(is_iso, dates := [with_hyphens(cell) for cell in cells])):
        try:
            values = dates_of_text(dates)
        except ValueError:  # such as February 30
            return column
    else:
        return column
    return pd.Series(values.reindex(codes).array, index=column.index, name=column.name)
