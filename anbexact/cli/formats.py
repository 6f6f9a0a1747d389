"""The formats of tables: told by extension or content, read into frames, and written."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any

import pandas as pd

from anbexact.cli.cells import ANYTHING, Expected, numbered_names, same_cells, without_unnamed
from anbexact.cli.delimited import Dialect, read_as, read_delimited, told_dialect
from anbexact.cli.messages import ChangedError, InputError, listed, note
from anbexact.cli.sources import ZIP, Source, encoding_of, other_encoding

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMATS = {
    "csv": (".csv", ".txt", ".dat", ".data", ".tsv", ".tab"),
    "json": (".json", ".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow", ".ipc"),
    "xlsx": (".xlsx", ".xlsm"),
}
"""What ``--format`` may be, and the extensions by which files are told."""
NEEDS = {"parquet": "pyarrow", "feather": "pyarrow", "xlsx": "openpyxl"}
"""What must be installed in addition to the package."""
MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", ZIP: "xlsx"}
"""How files of formats that are not text begin, whatever they are called."""
OTHERS = {
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls): save it as .xlsx or CSV",
    b"RDX": "R's own format: write it by write.csv",
    b"$FL2": "of SPSS: save it as CSV",
    b"\x89HDF": "HDF5: save it as CSV or Parquet",
    b"ORC": "ORC: save it as Parquet",
    b"SQLite format 3": "a database: export the table as CSV",
}
"""How files begin that people have but that cannot be read."""


@dataclass(frozen=True)
class Reading:
    """How the options say that a table is to be read; None is told by the file itself."""

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
    """A table in a file or stream: its cells as a frame, and as they stand there."""

    def __init__(self, source: Source, reading: Reading) -> None:
        self.source = source
        self._reading = reading
        self.format = reading.format or _format_of(source)
        self._dialect: Dialect | None = None
        self._raw: pd.DataFrame | None = None
        self._stamp = source.stamp
        require(self.format, source.label)
        foreign = ["--sep"] if reading.separator is not None and self.format != "csv" else []
        foreign += ["--encoding"] if reading.encoding is not None and self.format not in ("csv", "json") else []
        foreign += ["--sheet"] if reading.sheet is not None and self.format != "xlsx" else []
        if foreign:
            raise InputError(f"{foreign[0]} does not apply to {source.label}, which is read as {self.format}")

    def frame(self, expected: Expected) -> pd.DataFrame:
        """Return the table with the types of its format; columns of separated text are read as expected."""
        reading = self._reading
        if self.format == "csv":
            frame, self._dialect = read_delimited(
                self.source, reading.separator, reading.decimal, reading.encoding, expected
            )
            return frame
        if self.format == "json":
            frame = _read_json(self.source, reading.encoding)
        elif self.format == "xlsx":
            frame = _read_workbook(self.source, reading.sheet)
            for name in (name for name, states in expected.states.items() if "" in states and name in frame):
                frame[name] = frame[name].astype(object).where(frame[name].notna(), "")
        else:
            with self.source.open() as file:
                frame = pd.read_parquet(file) if self.format == "parquet" else pd.read_feather(file)
            frame = frame.reset_index(drop=frame.index.names == [None])  # an index with a name was a column
        names = list(map(str, frame.columns))
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if twice is not None:
            raise InputError(
                f"cannot read {self.source.label}: two columns are called {twice!r}; give every column its own name"
            )
        self._raw = frame.set_axis(names, axis=1).reset_index(drop=True)
        return self._raw

    def check_unchanged(self) -> None:
        """Refuse a file that was written to since it was opened: it is read more than once."""
        if self.source.stamp != self._stamp:
            raise ChangedError(f"{self.source.label} changed while it was read: wait until it is complete")

    @property
    def decimal(self) -> str | None:
        """The decimal mark that was given, or was found in separated text by :meth:`frame`; None if it is open."""
        told = self._dialect is not None and self._dialect.decimal == ","
        return self._reading.decimal or ("," if told else None)

    def dialect(self) -> Dialect:
        """Return how separated text is to be read, as its first lines say."""
        return told_dialect(self.source, self._reading.separator, self._reading.decimal, self._reading.encoding)

    def as_text(self, columns: Collection[str]) -> pd.DataFrame:
        """Return those of the columns that separated text holds, as text; other formats tell text from numbers."""
        if self._dialect is None:
            return pd.DataFrame()
        return same_cells(self.as_written(columns), Expected(frozenset(columns)), self.source.label)

    def as_written(self, columns: Collection[str]) -> pd.DataFrame:
        """Return columns as they stand in the file (after :meth:`frame`); of separated text, as text."""
        if self._dialect is not None:
            return read_as(self.source, self._dialect, ANYTHING, columns)[list(columns)]
        assert self._raw is not None
        return self._raw[list(columns)]


def _format_of(source: Source) -> str:
    """Tell a format by how the content begins, by the extension, or else by whether it looks like JSON."""
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
    with source.open() as file, pd.ExcelFile(file, engine="openpyxl") as workbook:
        sheets = list(map(str, workbook.sheet_names))
        if sheet is not None and sheet not in sheets:
            raise InputError(f"{source.label} has no sheet {sheet!r}; its sheets: {listed(sheets, '')}")
        if sheet is None and len(sheets) > 1:
            note(
                f"{source.label}: reading sheet {sheets[0]!r}; use --sheet to choose another "
                f"({listed(sheets[1:], '')})"
            )
        cells = pd.read_excel(workbook, sheet_name=sheet or sheets[0], header=None, dtype=object, na_filter=False)
    full = cells.map(lambda cell: bool(cell.strip()) if isinstance(cell, str) else not pd.isna(cell))
    cells = cells.loc[full.any(axis=1), full.any()]
    if cells.empty:
        raise InputError(f"{source.label} is empty")
    names = ["" if pd.isna(name) else str(name).strip() for name in cells.iloc[0]]
    return without_unnamed(cells.iloc[1:].set_axis(numbered_names(names), axis=1), source.label)


def _read_json(source: Source, encoding: str | None) -> pd.DataFrame:
    """Read an array of objects, or one object per line."""
    tried = encoding_of(source, encoding)
    try:
        rows = _json_rows(source, tried)
    except UnicodeDecodeError:
        rows = _json_rows(source, other_encoding(source, tried, encoding is not None))
    names = dict.fromkeys(name for row in rows for name in row)
    if not names:
        raise InputError(f"{source.label} contains no rows")
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names})


def _json_rows(source: Source, encoding: str) -> list[dict[str, Any]]:
    with source.text(encoding) as file:
        start = file.read(1)
        while start and start.isspace():
            start = file.read(1)
    with source.text(encoding) as file:
        if not start:
            raise InputError(f"{source.label} is empty")
        rows = _json_document(file, source) if start == "[" else list(_json_lines(file, source))
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise InputError(f"cannot read {source.label}: row {number} is not an object with one value per column")
    return rows


def _json_document(file: IO[str], source: Source) -> list[Any]:
    try:
        rows: list[Any] = json.load(file, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise InputError(f"cannot read {source.label}: line {error.lineno}: {error.msg}") from None
    return rows


def _json_lines(file: IO[str], source: Source) -> Iterator[Any]:
    for number, line in enumerate(file, start=1):
        if line.strip():
            try:
                yield json.loads(line, object_pairs_hook=_object)
            except json.JSONDecodeError as error:
                raise InputError(
                    f"cannot read {source.label}: line {number}: {error.msg}; JSON must be an array of objects, or "
                    "one object per line"
                ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; refuse one in which a name occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"two columns are called {twice!r}; give every column a unique name")
    return found
