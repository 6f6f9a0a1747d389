"""Tables: read from files, or embedded."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anbexact.cli.messages import InputError, listed, note

if TYPE_CHECKING:
    import pandas as pd

MISSING_CELLS = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "?"]


def read_table(path: str, texts: Iterable[str] = ()) -> pd.DataFrame:
    """Read a CSV or Parquet file; the columns ``texts`` are read as text, whatever they look like.

    Raises
    ------
    InputError
        If the file cannot be read, has no header, or a column without a name or with that of another.
    """
    import pandas as pd

    try:
        if path.endswith((".parquet", ".pq")):
            frame = pd.read_parquet(path)
            return frame.set_axis(frame.columns.map(str), axis=1)
        header = _header(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                path,
                dtype=dict.fromkeys(set(texts) & set(header), str),
                keep_default_na=False,
                na_values=MISSING_CELLS,
                encoding="utf-8-sig",
                float_precision="round_trip" if pd.__version__.startswith("2.") else None,
                low_memory=False,
                index_col=False,
            )
    except pd.errors.ParserWarning:
        raise InputError(f"cannot read {path}: it has rows with more cells than there are column names") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"cannot read {path}: it is not UTF-8 text; save it as CSV in UTF-8") from None
    except (ValueError, ImportError, csv.Error, EOFError) as error:
        raise InputError(f"cannot read {path}: {' '.join(str(error).split())}") from None


def _header(path: str) -> list[str]:
    """Return the column names of a CSV file (pandas would rename what is missing or double)."""
    with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as file:
        header = next(csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline="")), [])
    if not header:
        raise ValueError("the first line, which should hold the column names, is empty")
    for place, name in enumerate(header):
        if not name.strip():
            raise ValueError(
                f"column {place + 1} has no name; name it, or leave it out if it numbers the rows "
                "(pandas writes such a column unless told index=False)"
            )
        if name in header[:place]:
            raise ValueError(f"two columns are called {name!r}; give every column a name of its own")
    return header


def features_and_class(frame: pd.DataFrame, class_name: str, path: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Split a table, leaving out the rows without a class."""
    if class_name not in frame:
        hint = " (is it separated by commas?)" if frame.shape[1] == 1 else ""
        raise InputError(f"{path} has no column {class_name!r}; its columns: {listed(map(str, frame), '')}{hint}")
    if not len(frame):
        raise InputError(f"{path} has column names, but no rows")
    y = frame[class_name]
    absent = int(y.isna().sum())
    if absent == len(y):
        raise InputError(f"{path}: no row has a {class_name}")
    if absent:
        note(f"{absent:,} of {len(y):,} rows have no {class_name} and are left out")
        frame, y = frame[y.notna()], y[y.notna()]
        if y.dtype.kind == "f" and (y == y.round()).all():
            y = y.astype("int64")
    return frame.drop(columns=class_name).reset_index(drop=True), y.reset_index(drop=True)


def take_weights(X: pd.DataFrame, name: str, path: str) -> pd.Series[Any]:
    """Remove the column of weights from the features and return it."""
    if name not in X:
        raise InputError(f"{path} has no column {name!r} beside the class: it cannot be --weights")
    weights = X.pop(name)
    if weights.dtype.kind not in "iuf":
        raise InputError(f"the column {name!r} cannot be --weights: not all of its cells are numbers")
    return weights


def embedded_table(name: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return features and class of an embedded table; an unknown name becomes an `InputError`."""
    from anbexact.datasets import load_dataset

    try:
        return load_dataset(name)
    except ValueError as error:
        raise InputError(str(error)) from None
