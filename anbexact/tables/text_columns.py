"""Reading columns of text as the numbers, dates or times that they mean."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from anbexact._runtime.units import counted
from anbexact._runtime.warn import warn
from anbexact.tables.cuts.continuous import MANY_VALUES
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.text_quantities import meaning_of
from anbexact.tables.frames.written_numbers import DECIMAL_MARKS

Words = dict[Hashable, list[str]]
"""By column, the texts that stand for missing cells."""
MOST_NAMED = 5
"""Number of columns that a warning names."""


def check_decimal(decimal: object) -> None:
    """Refuse anything but a decimal mark or None."""
    if decimal is not None and decimal not in DECIMAL_MARKS:
        raise ValueError(f"decimal must be '.', ',' or None, not {decimal!r}")


def read_texts(
    columns: Sequence[Column],
    kept: npt.NDArray[np.bool_],
    declared: Collection[Hashable],
    decimal: str | None,
) -> list[Column]:
    """Return the columns, text read as what it means (see :func:`read_text`), and warn of words for missing cells.

    Parameters
    ----------
    columns : sequence of Column
        The features.
    kept : (rows,) bool
        The rows that are learned from.
    declared : collection
        Columns that stay as they are.
    decimal : {".", ","}, optional
        The decimal mark where the texts leave it open.
    """
    words: Words = {}
    read = as_meant(columns, kept, declared, decimal, words)
    warn_of_words(words)
    return read


def as_meant(
    columns: Sequence[Column],
    kept: npt.NDArray[np.bool_],
    declared: Collection[Hashable],
    decimal: str | None = None,
    words: Words | None = None,
) -> list[Column]:
    """Return the columns as :func:`read_texts` does, without a warning."""
    return [column if column.name in declared else read_text(column, kept, decimal, words) for column in columns]


def warn_of_words(words: Words) -> None:
    """Warn of words that are read as missing cells, given by column."""
    shown = [f"{', '.join(map(repr, of_name))} in column {name!r}" for name, of_name in words.items()]
    if shown:
        unnamed = len(shown) - MOST_NAMED
        more = f"; and others in {counted(unnamed, 'more column')}" if unnamed > 0 else ""
        warn(
            f"words among numbers, dates or times are read as missing cells: {'; '.join(shown[:MOST_NAMED])}{more}. "
            "To keep a column as text, declare its states in categories="
        )


def read_text(
    column: Column, kept: npt.NDArray[np.bool_], decimal: str | None = None, words: Words | None = None
) -> Column:
    """Return a column of text as what it means: a quantity, ordered states, or text.

    The texts in the rows ``kept`` must all be dates, times of day, durations, or numbers in one notation. If more
    than ten of them differ, the column gets their numbers and the quantity, and words that stand for missing cells
    become missing cells; ``words`` receives these by column. If fewer differ, and there are no such words, the texts
    remain the states of the column, in the order of what they mean. Any other column is returned as it is.
    """
    if column.numbers is not None or column.declared or column.categorical:
        return column
    codes, values = column.coded
    used = np.flatnonzero(np.bincount(codes[kept & (codes >= 0)]))
    meaning = meaning_of([values[code] for code in used], decimal)
    if meaning.quantity is None:
        return column
    observed = ~np.isnan(meaning.numbers)
    if len(np.unique(meaning.numbers[observed])) <= MANY_VALUES:
        if not observed.all():
            return column
        first = used[np.argsort(meaning.numbers, kind="stable")]
        order = np.concatenate([first, np.setdiff1d(np.arange(len(values)), first)])
        place = np.full(len(values) + 1, -1)
        place[order] = np.arange(len(values))
        return replace(column, codes=place[codes], categories=tuple(values[code] for code in order), ordered=True)
    if words is not None and not observed.all():
        words[column.name] = [values[code] for code in used[~observed]]
    numbers = np.full(len(values) + 1, np.nan)
    numbers[used] = meaning.numbers
    codes = np.where(np.isnan(numbers[codes]), -1, codes)
    return replace(column, codes=codes, numbers=numbers[codes], quantity=meaning.quantity)
