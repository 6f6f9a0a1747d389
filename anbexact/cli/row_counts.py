"""Tables of counts, in which a row stands for as many equal rows as one of its cells says."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from anbexact._runtime.memory import available_memory
from anbexact.cli.messages import InputError, in_options, note

if TYPE_CHECKING:
    import pandas as pd

USUAL_NAMES = frozenset({"freq", "frequency", "freqs", "count", "counts", "n", "cases"})
"""Names, in lower case, that a column of counts usually has."""
BYTES_OF_CELL = 8
"""Bytes of a cell of the repeated rows, by which their memory is estimated."""
FEWEST_ROWS = 20
"""Fewest rows of a table of counts in which a column can look like an identifier, since few rows stand for many."""


def leave_out_identifiers(frame: pd.DataFrame, used: Collection[str], label: str, advice: str) -> pd.DataFrame:
    """Return a table of counts without the columns that look like identifiers, and say so.

    Once rows are repeated, the values of such a column repeat, too, so that it no longer looks like an identifier.

    Parameters
    ----------
    frame : DataFrame
        The table before rows are repeated.
    used : collection
        Columns that stay in any case.
    label : str
        The name of the table.
    advice : str
        How to keep such a column.

    Raises
    ------
    InputError
        If no other column is left.
    """
    from anbexact.tables.frames.reading import read_columns
    from anbexact.tables.identifiers import LOOKS_LIKE_AN_IDENTIFIER, identifier_reason
    from anbexact.tables.text_columns import read_text

    rows = np.ones(len(frame), dtype=bool)
    reasons = {
        str(column.name): identifier_reason(read_text(column, rows), rows, fewest=FEWEST_ROWS)
        for column in read_columns(frame.drop(columns=list(used)))
    }
    dropped = [name for name, reason in reasons.items() if reason]
    if dropped:
        shown = "; ".join(f"{name!r} ({in_options(reasons[name])})" for name in dropped)
        if len(dropped) == len(reasons):
            raise InputError(f"{label}: every column {LOOKS_LIKE_AN_IDENTIFIER}: {shown}{advice}")
        note(f"{label}: each column that {LOOKS_LIKE_AN_IDENTIFIER} is left out: {shown}{advice}")
    return frame.drop(columns=dropped)


def repeat_rows(frame: pd.DataFrame, name: str, label: str) -> pd.DataFrame:
    """Return a table without its column of counts, every row repeated as often as that column says.

    Raises
    ------
    InputError
        For a count that is not a whole number, zero or more, and for more rows than fit into memory.
    """
    if frame[name].dtype.kind not in "iuf":
        raise InputError(
            f"--counts: column {name!r} contains cells that are not numbers; a count is a whole number, zero or more"
        )
    counts = frame[name].to_numpy(np.float64, na_value=np.nan)
    whole = np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))
    if not whole.all():
        place = int(np.argmin(whole))
        found = "a missing cell" if np.isnan(counts[place]) else f"{counts[place]:g}"
        raise InputError(
            f"--counts: column {name!r} has {found} in row {place} (counted from 0) of {label}; a count "
            "is a whole number, zero or more. For other weights, use --weights"
        )
    total = int(counts.sum())
    if total == 0:
        raise InputError(f"--counts: every count in the column {name!r} of {label} is 0")
    if total * frame.shape[1] * BYTES_OF_CELL > available_memory() // 2:
        raise InputError(
            f"--counts: the rows of {label} stand for {total:,} rows, more than fit into memory. --weights {name} "
            "learns from the same counts, but keeps equal rows together in cross-validation"
        )
    return frame.drop(columns=name).loc[frame.index.repeat(counts.astype(np.int64))].reset_index(drop=True)


def note_counts(frame: pd.DataFrame, class_name: str, label: str) -> None:
    """Note a column that looks like counts of rows: by its name, and as no two rows agree in all other columns."""
    for name in map(str, frame):
        counts = frame[name]
        if name.lower() not in USUAL_NAMES or name == class_name or counts.dtype.kind not in "iu":
            continue
        if (counts >= 0).all() and (counts > 1).any() and not frame.drop(columns=name).duplicated().any():
            note(
                f"{label}: {name!r} is used as a feature. Without it no two rows are equal, as in a table of counts. "
                f"If it says how many rows a row stands for, pass --counts {name}"
            )
