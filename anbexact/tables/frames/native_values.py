"""Cells as native Python objects, and the order of values of several types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

NARROW: dict[str, Any] = {"Float16": np.float16, "Float32": np.float32}
"""Floating-point types of half and single precision, by their names in narwhals."""
POWERS = 10.0 ** np.arange(19)
"""Powers of ten, which float64 holds exactly."""


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
    if getattr(values.dtype, "kind", "") == "f":
        values = in_double(np.asarray(values))
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
    if isinstance(value, np.float32 | np.float16):
        return float(str(value))
    return value.item() if isinstance(value, np.generic) else value


def in_double(numbers: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
    """Return numbers of single or half precision as float64: each as the shortest decimal that is rounded to it.

    The float32 0.1 therefore equals the float64 0.1, and what is read from a text file that was written from float32.

    Examples
    --------
    >>> np.array([0.1, 2.5e-8], dtype=np.float32).astype(np.float64).tolist()
    [0.10000000149011612, 2.5000000292152436e-08]
    >>> in_double(np.array([0.1, 2.5e-8], dtype=np.float32)).tolist()
    [0.1, 2.5e-08]
    """
    if numbers.dtype == np.float16:
        values, place = np.unique(numbers, return_inverse=True)
        return np.array([float(str(value)) for value in values])[place]
    if numbers.dtype != np.float32:
        return numbers
    found = numbers.astype(np.float64)
    size = np.abs(found)
    rest = np.flatnonzero(np.isfinite(found) & ((found != np.rint(found)) | (size > 2.0**23)))
    power = 5 - np.floor(np.log10(size[rest])).astype(np.int64)  # that leaves 6 digits before the point
    extreme = np.abs(power) > len(POWERS) - 4
    found[rest[extreme]] = [float(str(number)) for number in numbers[rest[extreme]]]
    rest, power = rest[~extreme], power[~extreme]
    while len(rest):
        up, down = POWERS[np.maximum(power, 0)], POWERS[np.maximum(-power, 0)]
        near = np.rint(found[rest] * up / down) / up * down
        fits = near.astype(np.float32) == numbers[rest]
        found[rest[fits]] = near[fits]
        rest, power = rest[~fits], power[~fits] + 1
    return found
