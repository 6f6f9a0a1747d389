"""Columns of text that mean numbers, dates or times, as columns of these."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from anbexact._runtime.units import agreeing
from anbexact._runtime.warn import warn
from anbexact.inputs.continuous import MANY_VALUES
from anbexact.tables.columns import Column
from anbexact.tables.text_quantities import meaning_of
from anbexact.tables.written_numbers import DECIMAL_MARKS

Words = dict[Hashable, list[str]]
"""By column, the texts that stand for missing cells."""
MOST_NAMED = 5
"""Columns that a warning names."""


def check_decimal(decimal: object) -> None:
    """Refuse what is neither a decimal mark nor None."""
    if decimal is not None and decimal not in DECIMAL_MARKS:
        raise ValueError(f"decimal must be '.', ',' or None, not {decimal!r}")


def read_texts(
    columns: Sequence[Column],
    kept: npt.NDArray[np.bool_],
    declared: Collection[Hashable],
    decimal: str | None,
) -> list[Column]:
    """Return the columns, those of text as what they mean (see :func:`read_text`); warn of words for missing cells.

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
    """Return the columns, those of text as what they mean; parameters are those of the functions beside it."""
    return [column if column.name in declared else read_text(column, kept, decimal, words) for column in columns]


def warn_of_words(words: Words) -> None:
    """Warn of words for missing cells among numbers, dates or times, given by column."""
    shown = [f"{', '.join(map(repr, of_name))} in column {name!r}" for name, of_name in words.items()]
    if shown:
        more = f"; and in {len(shown) - MOST_NAMED} more columns" if len(shown) > MOST_NAMED else ""
        these = agreeing(len(shown), "whose", "where the")
        warn(
            f"read as missing cells: {'; '.join(shown[:MOST_NAMED])}{more}, {these} other cells are numbers, "
            "dates or times as text"
        )


def read_text(
    column: Column, kept: npt.NDArray[np.bool_], decimal: str | None = None, words: Words | None = None
) -> Column:
    """Return a column of text as what it means: a quantity, ordered states, or text.

    A column whose texts in the rows ``kept`` are all numbers in one notation, dates, times of day or durations has
    their numbers and the quantity if more than ten of them are different; words that stand for missing cells are
    missing then. If there are fewer, and no such words, the texts remain its states, in the order of what they mean.
    Categoricals are left as they are. ``words`` receives, by column, the words that became missing cells.
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
