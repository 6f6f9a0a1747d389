"""What an engine counts in the place of a value: the number of its interval, or of its group."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from anbexact._runtime.units import with_article
from anbexact.tables.cuts import Cuts, cut_codes
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.native_values import NARROW
from anbexact.tables.frames.text_quantities import TextQuantity


def interval_number(cell: Any, dtype: Any, column: Column, cuts: Cuts) -> Any:
    """Return the expression of the number of a cell's interval: how many intervals' least values it reaches."""
    assert column.numbers is not None
    if isinstance(column.quantity, TextQuantity):
        codes, texts = column.coded
        of_text = np.full(len(texts), np.nan)
        of_text[codes[codes >= 0]] = column.numbers[codes >= 0]
        interval = cut_codes(of_text, cuts)
        of_intervals: list[list[str]] = [[] for _ in range(len(cuts) + 1)]
        for text, k in zip(texts, interval.tolist(), strict=True):
            if k >= 0:
                of_intervals[k].append(text)
        return group_number(cell, column.name, of_intervals)
    observed = np.flatnonzero(~column.missing)
    order = observed[np.argsort(column.numbers[observed], kind="stable")]
    numbers = column.numbers[order]
    codes = cut_codes(numbers, cuts)
    number: Any = cell.is_null().cast(nw.Int16) * 0
    for k in range(1, len(cuts) + 1):
        first = int(np.searchsorted(codes, k))
        if first == len(codes):
            break
        alike = order[numbers == numbers[first]]
        least = min(column.take(alike).values())
        if str(dtype) in NARROW:  # engines compare the cells in double precision
            least = float(NARROW[str(dtype)](least))
        number = number + (cell >= nw.lit(least)).cast(nw.Int16)
    missing = cell.is_null()
    if dtype.is_float():
        missing = missing | cell.is_nan()
    return nw.when(~missing).then(number)


def group_number(cell: Any, name: Hashable, groups: Sequence[Sequence[Any]]) -> Any:
    """Return the expression of the number of a cell's group; missing if the cell is in none of them.

    Raises
    ------
    TypeError
        If the values are not text, because each engine writes other values in its own way; the message names the
        column.
    """
    for value in (value for values in groups for value in values):
        if not isinstance(value, str):
            raise TypeError(
                f"column {name!r} contains {value!r}, {with_article(type(value).__name__)}, and many other such "
                "values, which a lazy frame cannot group: convert it to text, numbers or dates in the query"
            )
    cell = cell.cast(nw.String)
    number: Any = cell.is_null().cast(nw.Int32) * 0 - 1
    for k, values in enumerate(groups):
        number = number + cell.is_in(list(values)).cast(nw.Int32) * (k + 1)
    return nw.when(number >= 0).then(number)
