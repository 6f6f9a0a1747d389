"""Tables of predictions, in the format that the extension names; an unknown one is refused before the work starts."""

from __future__ import annotations

import datetime
import json
import math
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any, TextIO

import pandas as pd

from anbexact._runtime.units import counted
from anbexact.cli.formats import require
from anbexact.cli.messages import InputError
from anbexact.cli.sources import COMPRESSIONS
from anbexact.cli.streams import like_a_file
from anbexact.files import atomic
from anbexact.show.svg.markup import shortened

STANDARD_OUTPUT = "-"
WRITERS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".feather": "feather",
    ".xlsx": "xlsx",
}
"""Formats by extension."""
PACKED = (*COMPRESSIONS, ".zip")
"""Extensions of compressed files, which follow the extension of a text format."""
LARGEST_SHEET = (1_048_576, 16_384)
"""Most rows and columns of an Excel sheet."""
LONGEST_EXCEL_TEXT = 32_767
"""Most characters of an Excel cell."""
EXCEL_DIGITS = 15
"""Significant digits of a number in Excel."""
EXCEL_EPOCH = (1900, 3)
"""The year and month from which Excel's dates agree with the calendar: Excel counts a 29 February 1900."""
OUTPUT_HELP = ", ".join(WRITERS) + f"; the first four also with {', '.join(PACKED)}"


def check_table_output(path: str | None, *inputs: str) -> None:
    """Refuse, before all the work, an output that could not be written, or that is one of the inputs."""
    if path is None or path == STANDARD_OUTPUT:
        return
    form, packed = _format(path)
    if packed and form not in ("csv", "tsv", "json", "jsonl"):
        raise InputError(f"{path}: {form} files are already compressed; leave out {PurePath(path).suffix}")
    require(form, path)
    check_place(path, *inputs)


def check_place(path: str, *inputs: str | None) -> None:
    """Refuse a path that is a folder, whose folder does not exist, or that is one of the files that are read."""
    try:
        atomic.check_place(Path(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if any(_is_file(path, other) for other in inputs if other is not None):
        raise InputError(f"{path} is read by this command, and would be lost: write to another file")


def _is_file(path: str, other: str) -> bool:
    """Whether two paths are those of one file, which is no device, such as a terminal."""
    try:
        return Path(path).is_file() and Path(path).samefile(other)
    except (OSError, ValueError):
        return False


def write_table(frame: pd.DataFrame, path: str | None) -> None:
    """Write a table to a file, which appears under its name when it is complete, or as CSV to standard output."""
    if path is None or path == STANDARD_OUTPUT:
        with like_a_file():
            frame.to_csv(sys.stdout, index=False)
        return
    with atomic.atomic_path(Path(path)) as draft:
        _write(frame, str(draft))


@contextmanager
def written_in_parts(path: str | None) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Yield a function that writes a table part by part, to a file in a text format or to standard output.

    Nothing appears, not even on standard output, before all parts are written.
    """
    if path is None or path == STANDARD_OUTPUT:
        with tempfile.TemporaryFile("w+", newline="", encoding="utf-8") as draft:
            yield _parts_writer(draft, ",")
            draft.seek(0)
            with like_a_file():
                shutil.copyfileobj(draft, sys.stdout)
        return
    separator = "\t" if _format(path)[0] == "tsv" else ","
    with atomic.atomic_path(Path(path)) as place, place.open("w", newline="", encoding="utf-8") as file:
        yield _parts_writer(file, separator)


def _parts_writer(file: TextIO, separator: str) -> Callable[[pd.DataFrame], None]:
    headed: list[bool] = []

    def write(part: pd.DataFrame) -> None:
        part.to_csv(file, index=False, sep=separator, header=not headed)
        headed.append(True)

    return write


def takes_parts(path: str | None) -> bool:
    """Whether a table can be written to a path part by part."""
    return path is None or path == STANDARD_OUTPUT or _format(path) in (("csv", False), ("tsv", False))


def _write(frame: pd.DataFrame, path: str) -> None:
    """Write a table to a file."""
    form, _ = _format(path)
    if form in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
    elif form == "parquet":
        frame.to_parquet(path, index=False)
    elif form == "feather":
        frame.to_feather(path)
    elif form == "xlsx":
        _write_workbook(frame, path)
    else:
        _write_json(frame, path, lines=form == "jsonl")


def _format(path: str) -> tuple[str, bool]:
    """Return the format of a path, and whether it is to be compressed."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    packed = bool(suffixes) and suffixes[-1] in PACKED
    suffix = (suffixes[:-1] if packed else suffixes)[-1:]
    if not suffix or suffix[0] not in WRITERS:
        raise InputError(f"{path}: cannot infer the format; use one of the extensions {OUTPUT_HELP}")
    return WRITERS[suffix[0]], packed


def _write_json(frame: pd.DataFrame, path: str, *, lines: bool) -> None:
    """Write an array of objects, or one object per line."""
    names = list(map(str, frame))
    columns = [[_json_cell(cell) for cell in frame[name].astype(object)] for name in frame]
    rows = (dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True))
    texts = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows]
    text = "".join(f"{row}\n" for row in texts) if lines else "[" + ",\n ".join(texts) + "]\n"
    suffix = PurePath(path).suffix.lower()
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(PurePath(path).stem, text)
    else:
        opened: Callable[..., Any] = COMPRESSIONS[suffix][1] if suffix in COMPRESSIONS else open
        with opened(path, "wt", encoding="utf-8") as file:
            file.write(text)


def _json_cell(cell: Any) -> Any:
    """Return a cell as JSON has it: null where it is missing or not finite, dates as text."""
    if pd.isna(cell) or (isinstance(cell, float) and not math.isfinite(cell)):
        return None
    if hasattr(cell, "item"):
        return _json_cell(cell.item())
    if isinstance(cell, str | bool | int | float):
        return cell
    return cell.isoformat() if isinstance(cell, datetime.date) else str(cell)


def _write_workbook(frame: pd.DataFrame, path: str) -> None:
    """Write the one sheet of an Excel workbook.

    Text is written to cells of the type and format "text", so that Excel neither computes text that begins with
    ``=``, nor takes it for a formula or a number when the cell is edited.

    Raises
    ------
    InputError
        If the table has more rows or columns than a sheet, or a text that a cell cannot hold.
    """
    from openpyxl import Workbook
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE, Cell

    other = "write to another format, such as .csv or .parquet"
    if len(frame) >= LARGEST_SHEET[0] or len(frame.columns) > LARGEST_SHEET[1]:
        raise InputError(
            f"the result has {counted(len(frame), 'row')} below the heading and "
            f"{counted(len(frame.columns), 'column')}, but an Excel sheet has at most {LARGEST_SHEET[0]:,} rows and "
            f"{LARGEST_SHEET[1]:,} columns: {other}"
        )
    book = Workbook()
    sheet = book.active

    def excel(name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if len(value) > LONGEST_EXCEL_TEXT or ILLEGAL_CHARACTERS_RE.search(value):
            raise InputError(f"column {name!r}: Excel cannot hold the text {shortened(value, 60)!r}: {other}")
        cell = Cell(sheet, value=value)
        cell.data_type, cell.number_format = "s", "@"
        return cell

    names = list(map(str, frame))
    sheet.append([excel(name, name) for name in names])
    columns = [map(_excel_value, frame[name].astype(object)) for name in frame]
    for row in zip(*columns, strict=True):
        sheet.append(list(map(excel, names, row)))
    # On a full disk, openpyxl would leave an archive open, which fails again when it is collected.
    content = BytesIO()
    book.save(content)
    Path(path).write_bytes(content.getvalue())


def _excel_value(cell: Any) -> Any:
    """Return a value for an Excel cell, as text if Excel would change or cannot express it.

    Excel has 15 digits of a number, no time zones, and no days before 1900.
    """
    if pd.isna(cell):
        return None
    if hasattr(cell, "item"):
        return _excel_value(cell.item())
    if isinstance(cell, bool) or (isinstance(cell, float) and math.isfinite(cell)):
        return cell
    if isinstance(cell, int | Decimal):
        digits = Decimal(cell).normalize().as_tuple().digits
        return cell if len(digits) <= EXCEL_DIGITS and math.isfinite(cell) else str(cell)
    if isinstance(cell, datetime.date):
        known = getattr(cell, "tzinfo", None) is None and (cell.year, cell.month) >= EXCEL_EPOCH
        return cell if known else str(cell)
    return str(cell)
