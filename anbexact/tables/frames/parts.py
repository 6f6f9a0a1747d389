"""Tables that are read a part at a time: lazy frames, record batches, frames of any library."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from anbexact.tables.frames.lazy import as_table, batches, is_lazy
from anbexact.tables.frames.reading import frame_names, is_frame


def parts_of(frame: Any, rows: int) -> Iterator[Any]:
    """Yield the rows of a table in their order, ``rows`` at a time; what is in parts already is left so.

    Raises
    ------
    TypeError
        If it is neither a table, a lazy frame nor an iterable of tables.
    """
    if is_lazy(frame):
        yield from (part.to_native() for part in batches(nw.from_native(frame), rows))
    elif isinstance(frame, np.ndarray):
        yield from (frame[start : start + rows] for start in range(0, len(frame), rows))
    elif is_frame(frame):  # pandas' own slices, as narwhals refuses some names of its columns
        table = frame.iloc if isinstance(frame, pd.DataFrame) else nw.from_native(frame, eager_only=True)
        for start in range(0, len(frame), rows):
            part = table[start : start + rows]
            yield part if isinstance(part, pd.DataFrame) else part.to_native()
    elif isinstance(frame, Iterable) and not isinstance(frame, str | bytes):
        yield from (as_table(part) if type(part).__name__ == "RecordBatch" else part for part in frame)
    else:
        raise TypeError(
            "frame must be a table, a lazy frame, or an iterable of tables such as the batches of a Parquet file, "
            f"not a {type(frame).__name__}"
        )


def chosen_columns(part: Any, names: Iterable[Hashable]) -> Any:
    """Return the columns of a table that exist, in this order; an array as it is.

    A name that is not text is also found as text, because names are text in files and lazy frames.
    """
    known = frame_names(part)
    if known is None:
        return part
    texts = {str(name): name for name in known}
    found = (name if name in known else texts.get(str(name)) for name in names)
    chosen = [name for name in found if name is not None]
    if isinstance(part, pd.DataFrame):
        return part[chosen]
    return nw.from_native(part, eager_only=True).select(chosen).to_native()


def as_pandas(part: Any, names: Sequence[str]) -> pd.DataFrame:
    """Return columns of a table in pandas, rows numbered from 0.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    if not names:
        return pd.DataFrame()
    known = frame_names(part) or []
    if missing := [name for name in names if name not in known]:
        raise ValueError(f"keep names {missing[0]!r}, which is not a column of the table, whose columns are {known}")
    chosen = chosen_columns(part, names)
    in_pandas = chosen if isinstance(chosen, pd.DataFrame) else nw.from_native(chosen, eager_only=True).to_pandas()
    return in_pandas.reset_index(drop=True)
