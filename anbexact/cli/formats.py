"""The formats of tables: recognised by extension or content, and read into frames."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import PurePath
from typing import Any

import pandas as pd

from anbexact._runtime.units import agreeing
from anbexact.cli.cells import Expected, numbered_names, without_unnamed
from anbexact.cli.delimited import Dialect, check_names, delimited_parts, read_delimited, told_dialect
from anbexact.cli.messages import ChangedError, InputError, listed, note
from anbexact.cli.sources import ZIP, Source, decoded

FORMATS = {
    "csv": (".csv", ".txt", ".dat", ".data", ".tsv", ".tab"),
    "json": (".json", ".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow", ".ipc"),
    "xlsx": (".xlsx", ".xlsm"),
}
"""The values of ``--format``, and the extensions by which they are recognised."""
NEEDS = {"parquet": "pyarrow", "feather": "pyarrow", "xlsx": "openpyxl"}
"""The libraries that formats require, in addition to those of the package."""
MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", ZIP: "xlsx"}
"""The first bytes of files that are not text, by which they are recognised whatever their names."""
UNCOMPUTED = re.compile(
    rb"<(?:\w+:)?c( [^>]*)>\s*<(?:\w+:)?f(?: [^>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>\s*|<(?:\w+:)?v>\s*</(?:\w+:)?v>\s*)?</(?:\w+:)?c>"
)
"""A cell of a workbook with a formula, and with no value or an empty one."""
PLACE = re.compile(rb'\br="([A-Z]+[0-9]+)"')
"""The place of a cell among its attributes."""
ROWS_AND_CELLS = re.compile(rb'<(/?)(?:\w+:)?(row|c)(?=[\s/>])(?:[^>]*?\br="([A-Z]*)([0-9]+)")?[^>]*?(/?)>')
"""Where a row or a cell of a sheet begins or ends: a slash if it ends, tag, column, row, a slash if it is empty."""
OTHERS = {
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls): save it as .xlsx or CSV",
    b"RDX": "a file of R: export the table by write.csv",
    b"$FL2": "a file of SPSS: save it as CSV",
    b"\x89HDF": "a file of HDF5: save it as CSV or Parquet",
    b"ORC": "a file of ORC: save it as Parquet",
    b"SQLite format 3": "a database: export the table as CSV",
}
"""The first bytes of common files that cannot be read, with what they are and what to do."""


class UnlikeError(Exception):
    """A table that is read part by part would differ from the table read as a whole."""


@dataclass(frozen=True)
class ReadOptions:
    """The options for reading a table; None leaves the choice to the content of the file."""

    format: str | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None


def require(form: str, label: str) -> None:
    """Refuse a format whose library is not installed."""
    needed = NEEDS.get(form)
    if needed is not None and find_spec(needed) is None:
        raise InputError(
            f"{label}: {form} files require {needed}: pip install {needed} (or 'anbexact[files]'), or use CSV"
        )


class TableFile:
    """A table in a file or stream."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.source = source
        self.decimal = options.decimal
        self.format = options.format or _format_of(source)
        self._options = options
        self._stamp = source.stamp
        require(self.format, source.label)
        foreign = ["--sep"] if options.separator is not None and self.format != "csv" else []
        foreign += ["--encoding"] if options.encoding is not None and self.format not in ("csv", "json") else []
        foreign += ["--sheet"] if options.sheet is not None and self.format != "xlsx" else []
        if foreign:
            raise InputError(f"{foreign[0]} does not apply to {source.label}, which is read as {self.format}")

    @property
    def typed(self) -> bool:
        """Whether the format stores the types of cells, so that text is distinct from numbers and booleans."""
        return self.format != "csv"

    def frame(self, expected: Expected, verbatim: Collection[str] | None = ()) -> pd.DataFrame:
        """Return the cells as they are in the file.

        In separated text, columns of measures are read as numbers, except those in ``verbatim``; if ``verbatim`` is
        None, all columns are text. If the decimal mark of separated text is a comma, :attr:`decimal` is set to it.
        """
        label = self.source.label
        if self.format == "csv":

            def read(encoding: str) -> pd.DataFrame:
                dialect = self.dialect(encoding)
                self.decimal = self._options.decimal or ("," if dialect.decimal == "," else None)
                return read_delimited(self.source, dialect, expected, verbatim)

            return without_unnamed(decoded(self.source, self._options.encoding, read), label)
        if self.format == "json":
            frame = _read_json(self.source, self._options.encoding)
        elif self.format == "xlsx":
            frame = _read_workbook(self.source, self._options.sheet)
            for name in (name for name, states in expected.states.items() if "" in states and name in frame):
                frame[name] = frame[name].where(frame[name].notna(), "")
        else:
            with _any_error(self.source, f"{self.format} file"), self.source.open() as file:
                frame = pd.read_parquet(file) if self.format == "parquet" else pd.read_feather(file)
                _check_text(frame)
            frame = frame.reset_index(drop=frame.index.names == [None])  # an index with a name was a column
        names = list(map(str, frame.columns))
        check_names(names, label)
        return frame.set_axis(names, axis=1).reset_index(drop=True)

    def dialect(self, encoding: str) -> Dialect:
        """Return how separated text of this encoding is to be read, judging by its first lines."""
        return told_dialect(self.source, encoding, self._options.separator, self._options.decimal)

    def parts(
        self, expected: Expected, used: Callable[[list[str]], tuple[list[str], list[str]]], rows: int
    ) -> Iterator[pd.DataFrame]:
        """Yield the cells of separated text or of a Parquet file, ``rows`` rows at a time, as in :meth:`frame`.

        ``used`` takes the names of all columns; it returns those to read, and those among them that are ``verbatim``.

        Raises
        ------
        UnlikeError
            If the file must be read as a whole.
        """
        if self.format == "csv":
            dialect = decoded(self.source, self._options.encoding, self.dialect)
            if not all(dialect.names):
                raise UnlikeError
            self.decimal = self._options.decimal or ("," if dialect.decimal == "," else None)
            names, verbatim = used(dialect.names)
            for part in delimited_parts(self.source, dialect, expected, verbatim, rows):
                yield part[names].reset_index(drop=True)
            return
        import pyarrow.parquet as pq

        with (
            _any_error(self.source, "parquet file"),
            self.source.open() as opened,
            pq.ParquetFile(opened) as file,
        ):
            schema = file.schema_arrow
            index = (schema.pandas_metadata or {}).get("index_columns", [])
            if any(isinstance(name, str) for name in index) or len(set(schema.names)) < len(schema.names):
                raise UnlikeError
            names, _ = used(schema.names)
            for batch in file.iter_batches(batch_size=rows, columns=names):
                batch.validate(full=True)
                yield batch.to_pandas()

    def check_unchanged(self) -> None:
        """Refuse a file that was written to since it was opened."""
        if self.source.stamp != self._stamp:
            raise ChangedError(f"{self.source.label} changed while it was read: wait until it is complete")


@contextmanager
def _any_error(source: Source, what: str) -> Iterator[None]:
    """Refuse a damaged file on an error of any type: the libraries that read these formats raise all of them."""
    try:
        yield
    except (InputError, UnlikeError, OSError, ImportError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"cannot read {source.label}: it is not a valid {what} ({reason})") from error


def _check_text(frame: pd.DataFrame) -> None:
    """Refuse text of pyarrow that is not UTF-8, which pandas would notice only when it is used."""
    for column in frame.columns[[isinstance(dtype, pd.StringDtype) for dtype in frame.dtypes]]:
        if hasattr(text := frame[column].array, "__arrow_array__"):
            text.__arrow_array__().validate(full=True)


def _format_of(source: Source) -> str:
    """Return the format of a table, by its first bytes, by its extension, or else by whether it looks like JSON."""
    head = source.head()
    for magic, what in OTHERS.items():
        if head.startswith(magic):
            raise InputError(f"cannot read {source.label}: it is {what}")
    for magic, form in MAGIC.items():
        if head.startswith(magic):
            return form
    extension = PurePath(source.name).suffix.lower()
    for form, extensions in FORMATS.items():
        if extension in extensions:
            return form
    return "json" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[{", b"[ {", b"[\n")) else "csv"


def _read_workbook(source: Source, sheet: str | None) -> pd.DataFrame:
    """Read a sheet of an Excel workbook, by default the first; the first row holds the names."""
    with _any_error(source, "workbook"), source.open() as file, pd.ExcelFile(file, engine="openpyxl") as workbook:
        sheets = list(map(str, workbook.sheet_names))
        if sheet is not None and sheet not in sheets:
            raise InputError(f"{source.label} has no sheet {sheet!r}; its sheets: {listed(sheets, '')}")
        if sheet is None and len(sheets) > 1:
            note(
                f"{source.label}: reading sheet {sheets[0]!r}; use --sheet to choose another "
                f"({listed(sheets[1:], '')})"
            )
        sheet = sheet or sheets[0]
        cells = pd.read_excel(workbook, sheet_name=sheet, header=None, dtype=object, na_filter=False)
        if found := _without_results(source, sheet):
            note(
                f"{source.label}: {listed(found, 'cell', most=3)} of sheet {sheet!r} "
                f"{agreeing(len(found), 'is a formula', 'are formulas')} without a stored result, and "
                f"{agreeing(len(found), 'counts', 'count')} as missing: open the workbook in a spreadsheet program "
                "and save it, so that it computes them"
            )
    full = cells.map(lambda cell: bool(cell.strip()) if isinstance(cell, str) else not pd.isna(cell))
    cells = cells.loc[full.any(axis=1), full.any()]
    if cells.empty:
        raise InputError(f"{source.label} is empty")
    names = ["" if pd.isna(name) else str(name).strip() for name in cells.iloc[0]]
    return without_unnamed(cells.iloc[1:].set_axis(numbered_names(names), axis=1), source.label)


def _without_results(source: Source, sheet: str) -> list[str]:
    """Return the cells of a sheet that hold a formula, but not what it results in, such as ``"B3"``.

    Programs that write workbooks often leave the computing to Excel. A result that is an empty text is one.

    Raises
    ------
    ValueError
        If a sheet has rows or cells within others, or out of order.
    """
    with source.open() as file, zipfile.ZipFile(file) as archive:
        cells = []
        for name in archive.namelist():
            if name.startswith("xl/worksheets/"):
                content = archive.read(name)
                _check_order(content)
                cells += UNCOMPUTED.findall(content)
    places = {place[1].decode() for cell in cells if b't="str"' not in cell and (place := PLACE.search(cell))}
    if not places:
        return []
    import openpyxl

    with source.open() as file:  # the parts do not say which sheet is theirs
        rows = openpyxl.load_workbook(file, read_only=True)[sheet].iter_rows()
        return [c.coordinate for row in rows for c in row if c.data_type == "f" and c.coordinate in places]


def _check_order(content: bytes) -> None:
    """Refuse a sheet with rows or cells within others or out of order: openpyxl would overlook some, or move them."""
    inside: list[bytes] = []
    number, last = 0, b""
    for found in ROWS_AND_CELLS.finditer(content):
        closes, tag, column, row, empty = found.groups()
        if closes:
            if inside[-1:] != [tag]:
                raise ValueError("a row or cell of a sheet is within another one")
            inside.pop()
            continue
        if inside != ([] if tag == b"row" else [b"row"]):
            raise ValueError("a row or cell of a sheet is within another one")
        if not empty:
            inside.append(tag)
        if tag == b"row":
            before, number, last = number, int(row) if row else number + 1, b""
            if number <= before:
                raise ValueError(f"row {number} of a sheet follows row {before}")
        elif column:
            if int(row) != number or (len(column), column) <= (len(last), last):
                raise ValueError(f"the cell {column.decode()}{row.decode()} of a sheet is not in its place")
            last = column


def _read_json(source: Source, encoding: str | None) -> pd.DataFrame:
    """Read an array of objects, or one object per line."""
    rows = decoded(source, encoding, partial(_json_rows, source))
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise InputError(f"cannot read {source.label}: row {number} is not an object with one value per column")
    names = dict.fromkeys(name for row in rows for name in row)
    if not names:
        raise InputError(f"{source.label} contains no rows")
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names})


def _json_rows(source: Source, encoding: str) -> list[Any]:
    with source.text(encoding) as file:
        text = file.read()
    if not text.strip():
        raise InputError(f"{source.label} is empty")
    array = text.lstrip().startswith("[")
    rows: list[Any] = []
    for number, document in enumerate([text] if array else text.split("\n")):
        if document.strip():
            try:
                found = json.loads(document, object_pairs_hook=_object)
            except json.JSONDecodeError as error:
                hint = "" if array else "; JSON must be an array of objects, or one object per line"
                line = number + error.lineno
                raise InputError(f"cannot read {source.label}: line {line}: {error.msg}{hint}") from None
            rows += found if array else [found]
    return rows


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; refuse one in which a name occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"two columns are called {twice!r}; give every column a unique name")
    return found
