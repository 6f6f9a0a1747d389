"""Cells as native Python objects, and the order of values of several types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd


def sorted_positions(values: Sequence[Any]) -> list[int]:
    """Positions that sort the values; values of several types are sorted by type, then value or text."""
    try:
        return sorted(range(len(values)), key=values.__getitem__)
    except TypeError:
        return sorted(range(len(values)), key=lambda i: (type(values[i]).__name__, str(values[i])))


def native_values(values: Any) -> tuple[Any, ...]:
    """Return the values as native Python objects (dates as ``datetime`` or ``pandas.Timestamp``)."""
    if isinstance(values, pd.DatetimeIndex | pd.TimedeltaIndex | pd.PeriodIndex | pd.IntervalIndex):
        return tuple(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        return tuple(pd.Index(values))
    return tuple(native(value) for value in values.tolist())


def python_value(value: Any) -> Any:
    """Return a pandas timestamp or duration as Python's own, unless it has nanoseconds."""
    if isinstance(value, pd.Timestamp):
        return value if value.nanosecond else value.to_pydatetime()
    return value if value.nanoseconds else value.to_pytimedelta()


def native(value: Any) -> Any:
    """Return a cell as a native Python object; a numpy date or duration as pandas' own."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return pd.Timestamp(value) if isinstance(value, np.datetime64) else pd.Timedelta(value)
    return value.item() if isinstance(value, np.generic) else value
