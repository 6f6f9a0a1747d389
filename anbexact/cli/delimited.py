"""Text with separators: which separator, decimal mark and encoding a file has, and its cells.

The cells are read as text, except in columns that are measures judging by the first lines: pandas reads these
directly as numbers, which is many times faster.

DuckDB is quick, but not suitable for these files. It refuses lines of blanks and files with two kinds of line ends;
with settings that accept these, it truncates long rows silently. Its messages count rows, not lines. It does not read
bzip2, xz or zip, most encodings, runs of blanks as a separator, or row names of R, and it detects separators only in
tables without errors.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from anbexact._runtime.units import counted
from anbexact.cli.cells import NUMBER, Expected, is_undecided, numbered_names
from anbexact.cli.messages import InputError, note
from anbexact.cli.sources import Source
from anbexact.tables.frames.text_quantities import MISSING_WORDS
from anbexact.tables.frames.written_numbers import DECIMAL_MARKS, number_parts

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
"""Separators by name; if several fit, the first one is taken. A space stands for any number of blanks."""
TABBED = (".tsv", ".tab")
"""Extensions of files whose separator is a tab."""
SAMPLE = 200
"""Number of lines that determine how a file is read."""


@dataclass(frozen=True)
class Dialect:
    """How a file of separated text is to be read.

    Attributes
    ----------
    encoding, separator, decimal : str
        The encoding, the separator of cells (a space stands for any number of blanks), and the decimal mark.
    names : list of str
        The column names; a column without one has the name ``""``.
    unnamed_first : bool
        Whether every row begins with one cell more than the file has names, as with row names written by R.
    measures : frozenset of str
        Columns of numbers that can be neither codes nor numbers with points between thousands.
    """

    encoding: str
    separator: str
    decimal: str
    names: list[str]
    unnamed_first: bool = False
    measures: frozenset[str] = frozenset()


def delimited_parts(
    source: Source, dialect: Dialect, expected: Expected, verbatim: Collection[str] | None, rows: int = sys.maxsize
) -> Iterator[pd.DataFrame]:
    """Yield the cells of separated text, ``rows`` rows at a time.

    Measures are numbers, unless they are in ``verbatim`` (None: all columns) or expected as text. All other columns
    are text. Columns without a name get names that begin with a NUL.

    Raises
    ------
    InputError
        For a row that has more or fewer cells than there are names.
    """
    names = numbered_names(dialect.names)
    last = names[-1]  # read as text, so that it is empty, not missing, in rows that are too short
    measures = set() if verbatim is None else dialect.measures - {last, *verbatim}
    measures = {name for name in measures if not expected.stays_text(name)}
    checked = False
    try:
        with (
            source.text(dialect.encoding) as file,
            warnings.catch_warnings(action="error", category=pd.errors.ParserWarning),
            pd.read_csv(
                file,
                chunksize=rows,
                sep=r"\s+" if dialect.separator == " " else dialect.separator,
                decimal=dialect.decimal,
                header=0,
                names=names,
                dtype={name: np.float64 if name in measures else str for name in names},
                keep_default_na=False,
                na_values={name: expected.missing_words(name) for name in measures},
                skipinitialspace=True,
                float_precision="round_trip" if pd.__version__.startswith("2.") else None,
                low_memory=False,
                index_col=False,
            ) as parts,
        ):
            for part in parts:
                if not checked and (part[last] == "").any():
                    checked = True
                    if (wrong := ragged(source, dialect)) is not None:
                        raise wrong
                yield part
    except (pd.errors.ParserWarning, pd.errors.ParserError) as error:
        raise ragged(source, dialect) or InputError(f"cannot read {source.label}: {error}") from None


def read_delimited(
    source: Source, dialect: Dialect, expected: Expected, verbatim: Collection[str] | None
) -> pd.DataFrame:
    """Return all rows of :func:`delimited_parts`."""
    try:
        (frame,) = delimited_parts(source, dialect, expected, verbatim)
    except UnicodeDecodeError:
        raise
    except ValueError:  # a later cell of a measure is not a number
        (frame,) = delimited_parts(source, dialect, expected, None)
    return frame


def told_dialect(source: Source, encoding: str, separator: str | None, decimal: str | None) -> Dialect:
    """Return how separated text is to be read; what the options leave open (None) follows from the first lines."""
    with source.text(encoding) as file:
        lines = list(islice(file, SAMPLE))
    if not lines or not any(line.strip() for line in lines):
        raise InputError(f"{source.label} is empty")
    if any("\0" in line for line in lines):
        raise InputError(
            f"cannot read {source.label}: it is neither a text file nor in a known format (--format); "
            "if it is UTF-16 without a byte-order mark, pass --encoding utf-16-le"
        )
    if separator is None:
        separator = "\t" if source.name.lower().endswith(TABBED) else _separator(lines, source.name)
    try:
        names, *rows = _rows(iter(lines), separator)
    except csv.Error as error:
        raise InputError(f"cannot read {source.label}: {error}") from None
    names = [name.strip() for name in names]
    if not any(names):
        raise InputError(f"cannot read {source.label}: its first line, which should give the column names, is empty")
    rows = rows[: -1 if len(lines) == SAMPLE else None]  # the last row may continue
    unnamed_first = separator != "," and _row_names(names, rows)
    names = ["", *names] if unnamed_first else names
    check_names(names, source.label)
    if decimal is None and separator != "," and (cell := _decimal_comma(rows, separator)):
        note(
            f"{source.label}: numbers such as {cell} are read with a decimal comma; name their columns in --text if "
            "they are not numbers"
        )
        decimal = ","
    columns = dict(zip(names, zip(*(row for row in rows if len(row) == len(names)), strict=True), strict=False))
    measures = frozenset(name for name, cells in columns.items() if _is_measure(cells, decimal or "."))
    return Dialect(encoding, separator, decimal or ".", names, unnamed_first, measures)


def _is_measure(cells: Collection[str], decimal: str) -> bool:
    """Whether cells are numbers that show that their column has neither codes nor points between thousands."""
    swap = str.maketrans(decimal + ".", "." + decimal)
    given = [text.translate(swap) for cell in cells if (text := cell.strip()) not in MISSING_WORDS]
    return all(map(NUMBER.fullmatch, given)) and not is_undecided(np.array(given, dtype=np.float64))


def check_names(names: list[str], label: str) -> None:
    """Refuse a table in which two columns have the same name."""
    twice = next((name for place, name in enumerate(names) if name and name in names[:place]), None)
    if twice is not None:
        raise InputError(f"cannot read {label}: two columns are called {twice!r}; give every column a unique name")


def _rows(lines: Iterable[str], separator: str) -> Any:
    """Return a reader that yields the cells of each line."""
    if separator == " ":
        lines = (line.strip(" \r\n") + "\n" for line in lines)
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _separator(lines: list[str], name: str) -> str:
    """Return the separator with which most rows have as many cells as the first line, which must be at least two."""
    best, separator = (0.0, 0), ","
    for candidate in SEPARATORS.values():
        try:
            header, *rows = _rows(iter(lines), candidate)
        except csv.Error:
            continue
        rows = rows[: -1 if len(lines) == SAMPLE else None]  # the last row may continue
        widths = [len(row) for row in rows if row]
        named = len(header) + _row_names(header, rows)
        share = sum(width == named for width in widths) / len(widths) if widths else 1.0
        if candidate == " " and (share < 1 or not widths or name.lower().endswith(".csv")):
            continue
        if len(header) > 1 and (share, len(header)) > best:
            best, separator = (share, len(header)), candidate
    return separator


def _row_names(names: list[str], rows: list[list[str]]) -> bool:
    """Whether all rows have one cell more than there are names, and their first cells all differ."""
    rows = [row for row in rows if row]
    longer = bool(rows) and all(len(row) == len(names) + 1 for row in rows)
    return longer and len({row[0] for row in rows}) == len(rows) and any(row[-1].strip() for row in rows)


def _decimal_comma(rows: list[list[str]], separator: str) -> str | None:
    """Return a number with a decimal comma if some columns contain such numbers and none has decimal points."""
    found = None
    for cells in zip(*(row for row in rows if len(row) == len(rows[0])), strict=True):
        given = [cell.strip() for cell in cells if cell.strip() not in MISSING_WORDS]
        marks = [mark for mark in DECIMAL_MARKS if all(number_parts(cell, mark) is not None for cell in given)]
        if marks == ["."]:
            return None
        commas = [cell for cell in given if "," in cell]
        if commas and (marks == [","] or (marks and separator == ";")):
            found = found or commas[0]
    return found


def ragged(source: Source, dialect: Dialect) -> InputError | None:
    """Return the error for the first row that has more or fewer cells than there are names."""
    width = len(dialect.names)
    own = width - dialect.unnamed_first
    end = 0
    with source.text(dialect.encoding) as file:
        last = ""
        reader = _rows((last := line for line in file), dialect.separator)
        try:
            for number, row in enumerate(reader):
                start, end = end + 1, reader.line_num
                blank = not row or (len(row) == 1 and not last.strip(" \t\r\n"))  # a line with "" alone is a row
                if number and not blank and len(row) != width:
                    return InputError(
                        f"cannot read {source.label}: line {start} has {counted(len(row), 'cell')}, but there "
                        f"are {own} column names; enclose cells that contain the separator in quotation marks"
                    )
        except csv.Error as error:
            return InputError(f"cannot read {source.label}: line {end + 1}: {error}")
    return None
