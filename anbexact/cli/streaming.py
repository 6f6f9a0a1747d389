"""Tables classified a part at a time, with the result that the whole table would have.

What a column is (text, whole numbers, other numbers) is told from the first part. Where a later part shows that the
whole table would be read otherwise, the work is given up: the caller then reads the whole.
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
"""Rows of a part."""
LEAST_BYTES = 1 << 24
"""Size of a table from which it is read in parts."""

_KINDS = {"i": "whole", "u": "whole", "f": "real", "b": "boolean"}


def streams(args: argparse.Namespace, file: TableFile) -> bool:
    """Whether a table is read, and its answers written, a part at a time."""
    told = file.format in ("csv", "parquet") and not args.explain and takes_parts(args.output)
    return told and file.source.size >= LEAST_BYTES


def predicted_in_parts(file: TableFile, expected: Expected, rows: Rows) -> Rows | None:
    """Write the answers to all rows; return None, and leave nothing behind, where the whole table must be read."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), noted_once():  # what is given up is noted again
            _predict(file, expected, rows)
    except ChangedError:
        raise
    except (UnlikeError, InputError, ValueError, TypeError, pd.errors.ParserWarning):
        return None  # reading the whole says what is wrong
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
            known = pd.DataFrame({name: _settled(part[name], file.decimal, expected, kinds) for name in used})
            if not all(_is_written_alike(part[name]) for name in passed):
                raise UnlikeError
            write(rows.answers(known, part[passed])[1])
            seen += len(part)
        if not seen:
            raise UnlikeError
        file.check_unchanged()


def _is_written_alike(column: pd.Series[Any]) -> bool:
    """Whether the cells of a part are written as those of the whole: text, or numbers none of which is missing."""
    if column.dtype.kind in "iuf":
        return not column.isna().any()
    return is_text(column) and pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty")


def _settled(
    column: pd.Series[Any], decimal: str | None, expected: Expected, kinds: dict[str, str]
) -> pd.Series[Any]:
    """Return a column of a part as that of the whole is; ``kinds`` receives what the columns are.

    Raises
    ------
    UnlikeError
        If the column may be something else in the whole table.
    """
    name = str(column.name)
    dotted: list[str] = []
    found = meant(column, expected, decimal, dotted)
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
            quantity.number(text)  # it fails if perhaps the whole column has another decimal mark
    elif kind == "string" and not expected.stays_text(name):
        raise UnlikeError
    return found
