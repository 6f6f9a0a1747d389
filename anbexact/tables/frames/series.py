"""One series of pandas, polars or pyarrow, or any other that narwhals knows, read into a column."""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Iterable
from dataclasses import replace
from datetime import datetime, time
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.units import with_article
from anbexact.tables.frames.columns import Cells, Column
from anbexact.tables.frames.moments import zone_name
from anbexact.tables.frames.native_values import NARROW, in_double, native, native_values
from anbexact.tables.frames.quantities import Quantity, of_ticks, of_values

WIDE_INTEGERS = (nw.Int128, nw.UInt128)
"""Types of integers that numpy lacks."""


def read_pandas(series: pd.Series[Any], name: Hashable) -> Column:
    """Read a pandas series."""
    array = series.array
    if isinstance(array, pd.Categorical):
        return Column(name, array.codes, native_values(array.categories), declared=True, ordered=bool(array.ordered))
    dtype = array.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        return Column(name, numbers=in_double(np.asarray(array)))
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow":
        return _read_arrow(array.__arrow_array__(), name)
    if isinstance(dtype, pd.ArrowDtype) and _read_as_arrow(dtype.pyarrow_dtype):
        return _read_arrow(array.__arrow_array__(), name, "pandas")
    if dtype.kind in "mM" or isinstance(dtype, pd.PeriodDtype):
        return _of_time(array, name)
    if pd.api.types.is_complex_dtype(dtype):
        raise ValueError(f"Complex data not supported: column {name!r} contains complex numbers")
    if pd.api.types.is_float_dtype(dtype):
        # Pandas' own nullable types have numpy_dtype, and sparse ones have subtype.
        own = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", np.float64))
        return Column(name, numbers=in_double(series.to_numpy(dtype=own, na_value=np.nan)))
    if pd.api.types.is_integer_dtype(dtype):
        if not series.hasnans:
            wide = np.uint64 if pd.api.types.is_unsigned_integer_dtype(dtype) else np.int64
            return Column(name, numbers=series.to_numpy(dtype=wide))
        return _with_numbers(_factorized(array, name))
    if pd.api.types.is_object_dtype(dtype):
        kind = pd.api.types.infer_dtype(series, skipna=True)
        if kind in ("floating", "mixed-integer-float"):
            if any(isinstance(cell, np.float32 | np.float16) for cell in series):
                series = pd.Series([native(cell) for cell in series], dtype=object)
            if any(isinstance(cell, int) and np.isinf(_in_float(cell)) for cell in series):
                series = pd.Series([_in_float(cell) if isinstance(cell, int) else cell for cell in series])
            return Column(name, numbers=pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan))
        if kind == "integer":
            return _with_numbers(_factorized(array, name))
        return _measured(_factorized(array, name))
    return _factorized(array, name)


def _of_time(array: Any, name: Hashable, objects: str = "pandas") -> Column:
    """Read a pandas array of datetimes, durations or periods; ``objects`` says what its cells are, see `Cells`."""
    dtype = array.dtype
    kind = {"M": "datetime", "m": "duration"}.get(dtype.kind, "period")
    if objects == "date":
        kind = "date"
    zone = zone_name(dtype.tz) if isinstance(dtype, pd.DatetimeTZDtype) else None
    unit = array.freqstr if isinstance(dtype, pd.PeriodDtype) else array.unit
    quantity, numbers = of_ticks(Quantity(kind, unit, zone=zone), array.asi8, np.asarray(array.isna()))
    return Column(name, numbers=numbers, quantity=quantity, cells=Cells(array, objects))


def _measured(column: Column) -> Column:
    """Add, to a column of objects that are ordered quantities, their numbers.

    Raises
    ------
    ValueError
        If only some of its datetimes have a time zone.
    """
    codes, categories = column.coded
    try:
        found = of_values(categories)
    except ValueError as error:
        raise ValueError(f"column {column.name!r} {error}") from None
    if found is None:
        return column
    quantity, numbers = found
    values = tuple(_of_one_type(value, quantity.kind) for value in categories)
    place = {value: k for k, value in reversed(list(enumerate(values)))}
    if len(place) < len(values):
        codes = np.append([place[value] for value in values], -1)[codes]
    numbers = np.append(numbers, np.nan)[codes]
    return replace(column, codes=codes, categories=values, numbers=numbers, quantity=quantity)


def _of_one_type(value: Any, kind: str) -> Any:
    """Return a value in the form in which its kind is compared: a date as a datetime, a number as a decimal."""
    if kind == "datetime" and not isinstance(value, datetime):
        return datetime.combine(value, time.min)
    return Decimal(repr(value)) if kind == "decimal" and isinstance(value, int | float) else value


def read_narwhals(series: Any) -> Column:
    """Read a series of any other eager library through narwhals."""
    name, dtype = series.name, series.dtype
    if dtype.is_numeric() and dtype != nw.Decimal:
        if dtype in WIDE_INTEGERS or (series.null_count() and dtype.is_integer()):
            return _with_numbers(_factorized(object_array(series.to_list()), name))
        if series.null_count():
            series = series.cast(nw.Float64)
        numbers = series.to_numpy()
        return Column(name, numbers=in_double(numbers.astype(NARROW.get(str(dtype), numbers.dtype))))
    native = series.to_native()
    if nw.dependencies.is_pyarrow_chunked_array(native):
        return _read_arrow(native, name)
    if dtype in (nw.Categorical, nw.Enum):
        if not nw.dependencies.is_polars_series(native):
            return read_pandas(series.to_pandas(), name)
        codes = nw.from_native(native.to_physical(), series_only=True).cast(nw.Int64).fill_null(-1).to_numpy()
        if dtype == nw.Enum:
            return Column(name, codes, tuple(series.cat.get_categories().to_list()), declared=True, ordered=True)
        # Physical codes of a Categorical are shared by the whole process: number those that occur here.
        codes, physical = pd.factorize(np.where(codes < 0, np.nan, codes), use_na_sentinel=True)
        first = np.zeros(len(physical), dtype=np.int64)
        seen = np.flatnonzero(codes >= 0)[::-1]
        first[codes[seen]] = seen
        return Column(name, codes, tuple(native.gather(first).to_list()), categorical=True)
    if dtype in (nw.Date, nw.Datetime, nw.Duration):
        array = pd.array(series.to_numpy().astype("M8[s]")) if dtype == nw.Date else pd.array(series.to_numpy())
        if getattr(dtype, "time_zone", None) is not None:
            array = pd.Series(array).dt.tz_localize("UTC").dt.tz_convert(dtype.time_zone).array
        return _of_time(array, name, "date" if dtype == nw.Date else "python")
    return _measured(_factorized(np.asarray(object_array(series.to_list())), name))


def _ordered_in_arrow(dtype: Any) -> bool:
    """Whether a pyarrow type is one of dates, times or decimals."""
    return str(dtype).startswith(("date", "decimal", "duration", "time"))  # times of day and timestamps


def _declares_in_arrow(dtype: Any) -> bool:
    """Whether a pyarrow type is a dictionary, the values of which are declared states."""
    return hasattr(dtype, "index_type") and hasattr(dtype, "value_type")


def _read_as_arrow(dtype: Any) -> bool:
    """Whether a column of a pyarrow type is read by pyarrow, because pandas would lose the order of its states."""
    return _ordered_in_arrow(dtype) or _declares_in_arrow(dtype)


def _read_arrow(values: Any, name: Hashable, objects: str = "python") -> Column:
    """Read a pyarrow chunked array that holds no numbers; a dictionary's categories count as declared.

    ``objects`` says what datetimes and durations become, see `Cells`.
    """
    if str(values.type) == "null":
        return Column(name, np.full(len(values), -1), ())
    if str(values.type).startswith(("date", "duration", "timestamp")):
        array = values.to_pandas(date_as_object=False).array
        return _of_time(array, name, "date" if str(values.type).startswith("date") else objects)
    declared = _declares_in_arrow(values.type)
    try:
        encoded = values.unify_dictionaries() if declared else values.dictionary_encode()
    except NotImplementedError:  # Arrow finds no equal values in lists, structures and other types
        return read_pandas(pd.Series(object_array(values.to_pylist()), dtype=object), name)
    encoded = encoded.combine_chunks()
    if hasattr(encoded, "chunks"):
        encoded = encoded.chunk(0)
    codes = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)  # indices may be unsigned
    categories = encoded.dictionary.to_pylist()
    if str(encoded.dictionary.type) in ("float", "halffloat"):
        categories = in_double(encoded.dictionary.to_numpy(zero_copy_only=False)).tolist()
    _refuse_unhashable(categories, name)
    kept = [value for value in dict.fromkeys(categories) if value is not None and value == value]
    if len(kept) < len(categories):  # the dictionary holds null, NaN, or a value twice
        place = {value: k for k, value in enumerate(kept)}
        codes = np.array([*(place.get(value, -1) for value in categories), -1])[codes]
        categories = kept
    column = Column(name, codes, tuple(categories), declared, ordered=declared and values.type.ordered)
    return _measured(column) if _ordered_in_arrow(values.type) else column


def _with_numbers(column: Column) -> Column:
    """Add the numbers of a column of integers with missing cells, so that the column can be cut."""
    codes, categories = column.coded
    values = np.array([*map(_in_float, categories), np.nan])
    return Column(column.name, codes, categories, numbers=values[codes])


def _in_float(value: int) -> float:
    """Return an integer as a float, infinite if it is beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _factorized(values: Any, name: Hashable) -> Column:
    """Code the observed values, in the order of their first appearance."""
    if isinstance(values, pd.arrays.NumpyExtensionArray):  # pandas 2 warns of it
        values = values.to_numpy()
    try:
        codes, uniques = pd.factorize(values, use_na_sentinel=True)
    except (TypeError, NotImplementedError):  # which pyarrow raises
        cells = object_array(values)
        _refuse_unhashable(cells, name)
        codes, uniques = pd.factorize(cells, use_na_sentinel=True)
    return Column(name, codes, native_values(uniques))


def _refuse_unhashable(values: Iterable[Any], name: Hashable) -> None:
    """Refuse values that cannot be states, such as lists."""
    for value in values:
        try:
            hash(value)
        except TypeError as error:
            raise TypeError(
                f"column {name!r} contains {reprlib.repr(value)}, {with_article(type(value).__name__)}: a cell must "
                "be hashable, such as text, a number or a date; make its parts columns, or convert it to text"
            ) from error


def object_array(values: Any) -> npt.NDArray[np.object_]:
    """Return a list of cells as a 1-d object array, each cell as it is."""
    cells = list(values)
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
