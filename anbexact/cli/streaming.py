"""Tables that are read and classified part by part, with the same results as if they were read as a whole.

The first part with cells of a column determines its type (text, whole numbers, other numbers). If a later part shows
that the whole table would be read differently, the work is abandoned, and the caller reads the whole table.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anbexact.cli.cells import EXACT, Expected, is_text, meant
from anbexact.cli.formats import UnlikeError
from anbexact.cli.messages import ChangedError, InputError, noted_once
from anbexact.cli.writing import takes_parts, written_in_parts

if TYPE_CHECKING:
    from anbexact.cli.formats import TableFile
    from anbexact.cli.predict import Rows

PART_ROWS = 100_000
"""Rows of a part, except perhaps the last one."""
LEAST_BYTES = 1 << 24
"""Minimum size of a file that is read in parts."""

_KINDS = {"i": "whole", "u": "whole", "f": "real", "b": "boolean"}
"""Types of columns, by the kind of their NumPy types."""


def streams(args: argparse.Namespace, file: TableFile) -> bool:
    """Whether a table is read, and its predictions written, part by part."""
    told = file.format in ("csv", "parquet") and not args.explain and takes_parts(args.output)
    return told and file.source.size >= LEAST_BYTES


def predicted_in_parts(file: TableFile, expected: Expected, rows: Rows) -> Rows | None:
    """Write the predictions for all rows; return None, with no file written, if the table must be read as a whole."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), noted_once():  # the notes appear again when the whole table is read
            _predict(file, expected, rows)
    except ChangedError:
        raise
    except (UnlikeError, InputError, ValueError, TypeError, pd.errors.ParserWarning):
        return None  # reading the whole table raises the error, if there is one
    sys.stderr.write(said.getvalue())
    return rows


def _predict(file: TableFile, expected: Expected, rows: Rows) -> None:
    used: list[str] = []
    passed: list[str] = []
    kinds: dict[str, str] = {}
    seen = 0

    def chosen(names: list[str]) -> tuple[list[str], list[str]]:
        used[:], passed[:] = rows.columns(names)
        return list(dict.fromkeys([*used, *passed])), passed

    with written_in_parts(rows.args.output) as write:
        for part in file.parts(expected, chosen, PART_ROWS):
            known = pd.DataFrame({name: _settled(part[name], file, expected, kinds) for name in used})
            if not all(_is_written_alike(part[name]) for name in passed):
                raise UnlikeError
            write(rows.answers(known, part[passed])[1])
            seen += len(part)
        if not seen:
            raise UnlikeError
        file.check_unchanged()


def _is_written_alike(column: pd.Series[Any]) -> bool:
    """Whether cells are written as if the whole table were read: text, or numbers without missing cells."""
    if column.dtype.kind in "iuf":
        return not column.isna().any()
    return is_text(column) and pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty")


def _settled(column: pd.Series[Any], file: TableFile, expected: Expected, kinds: dict[str, str]) -> pd.Series[Any]:
    """Return a column of a part in the type that it has in the whole table; ``kinds`` collects the types.

    Raises
    ------
    UnlikeError
        If the column may have another type in the whole table.
    """
    name = str(column.name)
    dotted: list[str] = []
    found = meant(column, expected, file.decimal, dotted, typed=file.typed)
    if not found.notna().any():
        return found
    kind = pd.api.types.infer_dtype(found, skipna=True) if is_text(found) else str(found.dtype)
    kind = _KINDS.get(found.dtype.kind, kind)
    if kind == "whole" and kinds.get(name) == "real":
        return found.astype("Float64" if found.isna().any() else np.float64)
    large = kind == "whole" and float(found.abs().max()) >= EXACT
    if dotted or large or isinstance(found.dtype, pd.CategoricalDtype) or kinds.setdefault(name, kind) != kind:
        raise UnlikeError
    quantity = expected.written.get(name)
    if kind == "string" and quantity is not None:
        for text in found.dropna().unique():
            quantity.number(text)  # raises if the whole column may have another decimal mark
    elif kind == "string" and not expected.stays_text(name):
        raise UnlikeError
    return found
