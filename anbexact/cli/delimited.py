"""Text with separators: which separator, decimal mark and encoding a file has, and its table."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pandas as pd

from anbexact.cli.cells import Expected, numbered_names, without_unnamed
from anbexact.cli.messages import InputError, note
from anbexact.cli.sources import Source, encoding_of, other_encoding
from anbexact.tables.frames.text_quantities import MISSING_WORDS
from anbexact.tables.frames.written_numbers import DECIMAL_MARKS, number_parts

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
"""By the word for it; where several fit, in this order. A space stands for any number of blanks."""
TABBED = (".tsv", ".tab")
SAMPLE = 200
"""Lines by which a separator is told."""


@dataclass(frozen=True)
class Dialect:
    """How a file of separated text is to be read.

    Attributes
    ----------
    names : list of str
        The column names; a column without one has the name ``""``.
    unnamed_first : bool
        Whether every row begins with a cell more than there are names in the file (R writes such row names).
    """

    encoding: str
    separator: str
    decimal: str
    names: list[str]
    unnamed_first: bool = False

    def rows(self, lines: Iterator[str]) -> Iterator[list[str]]:
        """Return the cells of lines."""
        return _rows(lines, self.separator)


def read_delimited(
    source: Source, separator: str | None, decimal: str | None, encoding: str | None, expected: Expected
) -> tuple[pd.DataFrame, Dialect]:
    """Read separated text; options that are None are detected from the file."""
    tried = encoding_of(source, encoding)
    try:
        dialect = _dialect(source, tried, separator, decimal)
        return read_as(source, dialect, expected), dialect
    except UnicodeDecodeError:
        dialect = _dialect(source, other_encoding(source, tried, encoding is not None), separator, decimal)
        return read_as(source, dialect, expected), dialect


def read_as(
    source: Source, dialect: Dialect, expected: Expected, only: Collection[str] | None = None
) -> pd.DataFrame:
    """Read separated text whose dialect is known; with ``only``, just those columns, each cell as it stands there."""
    whole = only is None
    with source.text(dialect.encoding) as file, warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        dtypes = dict.fromkeys(expected.texts | expected.written.keys(), str)
        try:
            frame = pd.read_csv(file, **_arguments(dialect, dtypes, expected, only))
        except (pd.errors.ParserWarning, pd.errors.ParserError) as error:
            raise ragged(source, dialect) or InputError(f"cannot read {source.label}: {error}") from None
    too_short = whole and len(frame) and frame.iloc[:, -1].isna().any()  # it is, where a row is too short
    if too_short and (wrong := ragged(source, dialect)):
        raise wrong
    return without_unnamed(frame, source.label) if whole else frame


def parts_as(
    source: Source,
    dialect: Dialect,
    dtypes: Mapping[str, Any],
    expected: Expected,
    only: Collection[str] | None,
    rows: int,
) -> Iterator[pd.DataFrame]:
    """Read separated text as :func:`read_as` does, so many rows at a time; columns have the types of ``dtypes``.

    Rows that are too short are not noticed.
    """
    with source.text(dialect.encoding) as file, warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        with pd.read_csv(file, chunksize=rows, **_arguments(dialect, dtypes, expected, only)) as parts:
            yield from parts


def _arguments(
    dialect: Dialect, dtypes: Mapping[str, Any], expected: Expected, only: Collection[str] | None
) -> dict[str, Any]:
    """Return how pandas is to read separated text; with ``only``, these columns, each cell as it stands there."""
    numbered = numbered_names(dialect.names)
    whole = only is None
    return {
        "sep": r"\s+" if dialect.separator == " " else dialect.separator,
        "decimal": dialect.decimal,
        "header": 0,
        "names": numbered,
        "usecols": None if only is None else list(only),
        "dtype": {name: dtypes.get(name) for name in numbered if name in dtypes} if whole else str,
        "keep_default_na": False,
        "na_values": {name: list(expected.missing_words(name)) for name in numbered} if whole else None,
        "na_filter": whole,
        "skipinitialspace": True,
        "float_precision": "round_trip" if pd.__version__.startswith("2.") else None,
        "low_memory": False,
        "index_col": False,
    }


def told_dialect(source: Source, separator: str | None, decimal: str | None, encoding: str | None) -> Dialect:
    """Return how the first lines say that separated text is to be read."""
    return _dialect(source, encoding_of(source, encoding), separator, decimal)


def _dialect(source: Source, encoding: str, separator: str | None, decimal: str | None) -> Dialect:
    """Tell separator, names and decimal mark from the first lines."""
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
    if not names:
        raise InputError(f"cannot read {source.label}: its first line, which should give the column names, is empty")
    names = [name.strip() for name in names]
    if separator != "," and _row_names(names, rows[: -1 if len(lines) == SAMPLE else None]):
        names = ["", *names]
        dialect = Dialect(encoding, separator, decimal or ".", names, unnamed_first=True)
    else:
        dialect = Dialect(encoding, separator, decimal or ".", names)
    _check_names(names, source)
    if decimal is None and separator != "," and (cell := _decimal_comma(rows, separator)):
        note(
            f"{source.label}: numbers such as {cell} are read with a decimal comma; name their columns in --text if "
            "they are not numbers"
        )
        dialect = replace(dialect, decimal=",")
    return dialect


def _rows(lines: Iterator[str], separator: str) -> Iterator[list[str]]:
    if separator == " ":
        lines = (line.strip(" \r\n") + "\n" for line in lines)
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _separator(lines: list[str], name: str) -> str:
    """Return the separator by which most rows have as many cells as the first line, and that more than one."""
    best, separator = (0.0, 0), ","
    for candidate in SEPARATORS.values():
        try:
            header, *rows = _rows(iter(lines), candidate)
        except csv.Error:
            continue
        rows = rows[: -1 if len(lines) == SAMPLE else None]  # the last may go on
        widths = [len(row) for row in rows if row]
        named = len(header) + _row_names(header, rows)
        share = sum(width == named for width in widths) / len(widths) if widths else 1.0
        if candidate == " " and (share < 1 or not widths or name.lower().endswith(".csv")):
            continue
        if len(header) > 1 and (share, len(header)) > best:
            best, separator = (share, len(header)), candidate
    return separator


def _row_names(names: list[str], rows: list[list[str]]) -> bool:
    """Whether all rows have a cell more than there are names, and begin with one of their own."""
    rows = [row for row in rows if row]
    longer = bool(rows) and all(len(row) == len(names) + 1 for row in rows)
    return longer and len({row[0] for row in rows}) == len(rows) and any(row[-1].strip() for row in rows)


def _check_names(names: list[str], source: Source) -> None:
    for place, name in enumerate(names):
        if name and name in names[:place]:
            raise InputError(
                f"cannot read {source.label}: two columns are called {name!r}; give every column a unique name"
            )


def _decimal_comma(rows: list[list[str]], separator: str) -> str | None:
    """Return a number with a decimal comma if columns hold such numbers, and none holds numbers with a point."""
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
    """Return what is wrong with the first row that has more or fewer cells than there are names."""
    width = len(dialect.names)
    own = width - dialect.unnamed_first
    end = 0
    with source.text(dialect.encoding) as file:
        reader = csv.reader(file, delimiter=dialect.separator, skipinitialspace=True)
        if dialect.separator == " ":
            reader = csv.reader((line.strip(" \r\n") for line in file), delimiter=" ", skipinitialspace=True)
        try:
            for number, row in enumerate(reader):
                start, end = end + 1, reader.line_num
                blank = not row or (len(row) == 1 and width > 1 and not row[0].strip())
                if number and not blank and len(row) != width:
                    return InputError(
                        f"cannot read {source.label}: line {start} has {len(row)} cells, but there are {own} column "
                        "names; enclose cells that contain the separator in quotation marks"
                    )
        except csv.Error as error:
            return InputError(f"cannot read {source.label}: line {end + 1}: {error}")
    return None
