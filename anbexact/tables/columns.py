"""Columns of any eager frame, array or list, in one form.

A :class:`Column` is either *coded* (integer codes into a tuple of categories, as in a pandas
``Categorical``) or *numeric* (a numpy array of numbers), or both: dates, durations, decimals and the like
have numbers, a quantity that says what these stand for, and their own values as categories. Which columns
are continuous, and which states they have, is decided by the vocabulary and the discretizers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse
from sklearn.utils import check_array

from anbexact.tables.moments import zone_name
from anbexact.tables.quantities import Quantity, decimal_places, of_ticks, of_values

Codes = npt.NDArray[np.integer[Any]]
Numbers = npt.NDArray[np.number[Any]]


@dataclass(frozen=True)
class Cells:
    """Cells of a pandas array of datetimes, durations or periods, which become objects only on demand.

    Attributes
    ----------
    array : pandas array
        The cells.
    kind : {"pandas", "python", "date"}
        What the objects are: pandas' own, those of Python's ``datetime`` module, or its dates.
    """

    array: Any
    kind: str = "pandas"

    def take(self, rows: npt.NDArray[Any]) -> Cells:
        """Return the cells of some rows (a mask or positions)."""
        return Cells(self.array[rows], self.kind)

    def factorize(self) -> tuple[Codes, tuple[Any, ...]]:
        """Return codes and categories."""
        codes, uniques = pd.factorize(self.array, use_na_sentinel=True)
        if self.kind == "date":
            return codes, tuple(value.date() for value in uniques)
        return codes, tuple(map(_python, uniques)) if self.kind == "python" else tuple(uniques)


@dataclass(frozen=True)
class Column:
    """One column: its name and either ``codes`` with ``categories``, or ``numbers``, or both.

    Attributes
    ----------
    name : Hashable
        The column's name, of any kind.
    codes : (rows,) integers, optional
        Position of every cell in ``categories``; negative where the cell is missing.
    categories : tuple, optional
        The values that the codes stand for, as native Python objects.
    declared : bool
        Whether the categories come from the dtype (in its order, unseen ones included).
    numbers : (rows,) numeric array, optional
        The cells of a numeric column; NaN where missing.
    quantity : Quantity, optional
        What the numbers stand for; None if they are the cells themselves.
    cells : Cells, optional
        What codes and categories are made of on demand.
    ordered : bool
        Whether the dtype says that its categories have an order.
    """

    name: Hashable
    codes: Codes | None = None
    categories: tuple[Any, ...] | None = None
    declared: bool = False
    numbers: Numbers | None = None
    quantity: Quantity | None = None
    cells: Cells | None = None
    ordered: bool = False

    def __len__(self) -> int:
        values = self.codes if self.codes is not None else self.numbers
        assert values is not None
        return len(values)

    @cached_property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Mask of the missing cells, shape (rows,)."""
        if self.codes is not None:
            return np.asarray(self.codes < 0)
        assert self.numbers is not None
        if self.numbers.dtype.kind == "f":
            return np.isnan(self.numbers)
        return np.zeros(len(self.numbers), dtype=bool)

    @cached_property
    def coded(self) -> tuple[Codes, tuple[Any, ...]]:
        """Codes and categories; for a numeric column, those of its observed values."""
        if self.codes is not None and self.categories is not None:
            return self.codes, self.categories
        if self.cells is not None:
            return self.cells.factorize()
        assert self.numbers is not None
        codes, uniques = pd.factorize(self.numbers, use_na_sentinel=True)
        return codes, tuple(np.asarray(uniques).tolist())

    def values(self) -> list[Any]:
        """Return the cells as native Python objects, None where missing."""
        if self.codes is not None or self.cells is not None:
            codes, categories = self.coded
            return [categories[code] if code >= 0 else None for code in codes.tolist()]
        assert self.numbers is not None
        return [
            None if gone else cell for cell, gone in zip(self.numbers.tolist(), self.missing.tolist(), strict=True)
        ]

    def renamed(self, name: Hashable) -> Column:
        """Return the same column under another name."""
        return self if name == self.name else replace(self, name=name)

    def constant(self, name: Hashable, state: Any) -> Column:
        """Return a column of as many rows that holds nothing but a state."""
        return Column(name, np.zeros(len(self), dtype=np.int8), (state,), declared=True)

    def take(self, rows: npt.NDArray[Any]) -> Column:
        """Return the column restricted to ``rows`` (a mask or positions)."""
        return replace(
            self,
            codes=None if self.codes is None else self.codes[rows],
            numbers=None if self.numbers is None else self.numbers[rows],
            cells=None if self.cells is None else self.cells.take(rows),
        )

    def exactly(self, kept: npt.NDArray[np.bool_]) -> Column:
        """Return the column with the unit, origin or decimal places that suit the rows that are kept.

        Only a column with a quantity is changed.
        """
        if self.quantity is None or self.numbers is None or kept.all():
            return self
        kept = kept & ~self.missing
        if self.quantity.kind == "decimal":
            codes, categories = self.coded
            places = decimal_places(categories[code] for code in np.unique(codes[kept]))
            return replace(self, quantity=replace(self.quantity, places=places))
        numbers = np.asarray(self.numbers, dtype=np.float64)
        quantity = self.quantity.exactly(numbers[kept])
        return replace(self, numbers=quantity.convert(numbers, self.quantity), quantity=quantity)


def is_frame(X: object) -> bool:
    """Whether ``X`` is an eager dataframe that can be read."""
    return isinstance(X, pd.DataFrame) or nw.dependencies.is_into_dataframe(X)


def frame_names(X: Any) -> list[Hashable] | None:
    """Return the column names of a dataframe; None for anything else."""
    if isinstance(X, pd.DataFrame):
        return list(X.columns)
    if not is_frame(X):
        return None
    if nw.dependencies.is_pyarrow_table(X):
        return list(X.column_names)
    return list(nw.from_native(X, eager_only=True).columns)


def is_series(values: object) -> bool:
    """Whether ``values`` is a series of an eager dataframe library."""
    return isinstance(values, pd.Series | pd.Index) or nw.dependencies.is_into_series(values)


def read_columns(X: Any, *, min_rows: int = 1, estimator: object = None) -> list[Column]:
    """Read a table of features.

    Parameters
    ----------
    X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
        Columns without names are called ``"x0"``, ``"x1"``, ...
    min_rows : int
        Fewest rows that are accepted.
    estimator : object, optional
        Named in scikit-learn's error messages.

    Raises
    ------
    TypeError
        For a sparse matrix, a lazy frame, or a cell that cannot be a state (unhashable).
    ValueError
        For duplicate column names, no rows, no columns, or an array that is not 2-d.
    """
    if scipy.sparse.issparse(X):
        raise TypeError(
            f"Sparse data was passed: a {type(X).__name__}. A table of categories must be "
            "dense: pass X.toarray(), or a dataframe with one column per variable."
        )
    if isinstance(X, pd.DataFrame):
        _check_names(list(X.columns))
        columns = [read_pandas(series, name) for name, series in X.items()]
        n_rows = len(X)
    elif is_frame(X):
        _check_names(frame_names(X) or [])
        frame = nw.from_native(X, eager_only=True)
        columns = [_read_narwhals(series) for series in frame.iter_columns()]
        n_rows = len(frame)
    elif nw.dependencies.is_into_dataframe(X) or type(X).__name__ in {"LazyFrame", "DuckDBPyRelation"}:
        raise TypeError(f"a {type(X).__name__} is lazy: collect it into an eager dataframe first")
    else:
        array = _as_array(X, estimator)
        columns = [_read_array(array[:, j], f"x{j}") for j in range(array.shape[1])]
        n_rows = array.shape[0]
    if not columns:
        raise ValueError(f"0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required.")
    if n_rows < min_rows:
        raise ValueError(
            f"Found array with {n_rows} sample(s) (shape=({n_rows}, {len(columns)})) "
            f"while a minimum of {min_rows} is required."
        )
    return columns


def read_column(values: Any, name: Hashable) -> Column:
    """Read one column: a pandas, polars or pyarrow series, a 1-d array or a list."""
    if isinstance(values, pd.Series | pd.Index | pd.Categorical):
        return read_pandas(pd.Series(values), name)
    if is_series(values):
        return _read_narwhals(nw.from_native(values, series_only=True)).renamed(name)
    if hasattr(values, "__array__"):
        values = np.asarray(values)
    array = values if isinstance(values, np.ndarray) else _cells(values)
    return _read_array(array, name)


def read_pandas(series: pd.Series[Any], name: Hashable) -> Column:
    """Read a pandas series."""
    array = series.array
    if isinstance(array, pd.Categorical):
        return Column(name, array.codes, _native(array.categories), declared=True, ordered=bool(array.ordered))
    dtype = array.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        return Column(name, numbers=np.asarray(array))
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow":
        return _read_arrow(array.__arrow_array__(), name)
    if isinstance(dtype, pd.ArrowDtype) and _ordered_in_arrow(dtype.pyarrow_dtype):
        return _read_arrow(array.__arrow_array__(), name, "pandas")
    if dtype.kind in "mM" or isinstance(dtype, pd.PeriodDtype):
        return _of_time(array, name)
    if pd.api.types.is_complex_dtype(dtype):
        raise ValueError(f"Complex data not supported: column {name!r} holds complex numbers")
    if pd.api.types.is_float_dtype(dtype):
        return Column(name, numbers=series.to_numpy(dtype=np.float64, na_value=np.nan))
    if pd.api.types.is_integer_dtype(dtype):
        if not series.hasnans:
            wide = np.uint64 if pd.api.types.is_unsigned_integer_dtype(dtype) else np.int64
            return Column(name, numbers=series.to_numpy(dtype=wide))
        return _with_numbers(_factorized(array, name))
    if pd.api.types.is_object_dtype(dtype):
        kind = pd.api.types.infer_dtype(series, skipna=True)
        if kind in ("floating", "mixed-integer-float"):
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
    """Return a value as it stands beside others of its kind: a date as a datetime, a number as a decimal."""
    if kind == "datetime" and not isinstance(value, datetime):
        return datetime.combine(value, time.min)
    return Decimal(repr(value)) if kind == "decimal" and isinstance(value, int | float) else value


def _read_narwhals(series: Any) -> Column:
    """Read a series of any other eager library through narwhals."""
    name, dtype = series.name, series.dtype
    if dtype.is_numeric() and dtype != nw.Decimal:
        if series.null_count() and dtype.is_integer():
            return _with_numbers(_factorized(_cells(series.to_list()), name))
        if series.null_count():
            series = series.cast(nw.Float64)
        return Column(name, numbers=series.to_numpy())
    native = series.to_native()
    if nw.dependencies.is_pyarrow_chunked_array(native):
        return _read_arrow(native, name)
    if dtype in (nw.Categorical, nw.Enum):
        if not nw.dependencies.is_polars_series(native):
            return read_pandas(series.to_pandas(), name)
        codes = nw.from_native(native.to_physical(), series_only=True).cast(nw.Int64).fill_null(-1).to_numpy()
        if dtype == nw.Enum:
            return Column(name, codes, tuple(series.cat.get_categories().to_list()), declared=True)
        # Physical codes of a Categorical are shared by the whole process: number those that occur here.
        codes, physical = pd.factorize(np.where(codes < 0, np.nan, codes), use_na_sentinel=True)
        first = np.zeros(len(physical), dtype=np.int64)
        seen = np.flatnonzero(codes >= 0)[::-1]
        first[codes[seen]] = seen
        return Column(name, codes, tuple(native.gather(first).to_list()))
    if dtype in (nw.Date, nw.Datetime, nw.Duration):
        array = pd.array(series.to_numpy().astype("M8[s]")) if dtype == nw.Date else pd.array(series.to_numpy())
        if getattr(dtype, "time_zone", None) is not None:
            array = pd.Series(array).dt.tz_localize("UTC").dt.tz_convert(dtype.time_zone).array
        return _of_time(array, name, "date" if dtype == nw.Date else "python")
    return _measured(_factorized(np.asarray(_cells(series.to_list())), name))


def _ordered_in_arrow(dtype: Any) -> bool:
    """Whether a pyarrow type is one of dates, times or decimals."""
    return str(dtype).startswith(("date", "decimal", "duration", "time"))  # times of day and timestamps


def _read_arrow(values: Any, name: Hashable, objects: str = "python") -> Column:
    """Read a pyarrow chunked array that holds no numbers; a dictionary's categories count as declared.

    ``objects`` says what datetimes and durations become, see `Cells`.
    """
    if str(values.type) == "null":
        return Column(name, np.full(len(values), -1), ())
    if str(values.type).startswith(("date", "duration", "timestamp")):
        array = values.to_pandas(date_as_object=False).array
        return _of_time(array, name, "date" if str(values.type).startswith("date") else objects)
    declared = hasattr(values.type, "value_type") and hasattr(values.type, "index_type")
    encoded = values.unify_dictionaries() if declared else values.dictionary_encode()
    encoded = encoded.combine_chunks()
    if hasattr(encoded, "chunks"):
        encoded = encoded.chunk(0)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    categories = encoded.dictionary.to_pylist()
    if None in categories:
        kept = [k for k, value in enumerate(categories) if value is not None]
        place = np.full(len(categories) + 1, -1)
        place[kept] = np.arange(len(kept))
        codes, categories = place[codes], [categories[k] for k in kept]
    column = Column(name, codes, tuple(categories), declared)
    return _measured(column) if _ordered_in_arrow(values.type) else column


def _with_numbers(column: Column) -> Column:
    """Add, to integers beside missing cells, their values as numbers (so that they may be cut)."""
    codes, categories = column.coded
    values = np.array([*map(float, categories), np.nan])
    return Column(column.name, codes, categories, numbers=values[codes])


def _read_array(array: npt.NDArray[Any], name: Hashable) -> Column:
    """Read one column of a numpy array."""
    return read_pandas(pd.Series(array), name)


def _factorized(values: Any, name: Hashable) -> Column:
    """Code the observed values, in the order of their first appearance."""
    if isinstance(values, pd.arrays.NumpyExtensionArray):  # pandas 2 warns of it
        values = values.to_numpy()
    try:
        codes, uniques = pd.factorize(values, use_na_sentinel=True)
    except TypeError as error:
        cell = next((value for value in np.asarray(values, dtype=object) if not isinstance(value, Hashable)), None)
        raise TypeError(
            f"column {name!r} holds {cell!r}, a {type(cell).__name__}: a state must be hashable, "
            "such as a string, a number or a date"
        ) from error
    return Column(name, codes, _native(uniques))


def sorted_positions(values: Sequence[Any]) -> list[int]:
    """Positions that sort the values; values of several types are sorted by type, then value or text."""
    try:
        return sorted(range(len(values)), key=values.__getitem__)
    except TypeError:
        return sorted(range(len(values)), key=lambda i: (type(values[i]).__name__, str(values[i])))


def _native(values: Any) -> tuple[Any, ...]:
    """Return the values as native Python objects (dates as ``datetime`` or ``pandas.Timestamp``)."""
    if isinstance(values, pd.DatetimeIndex | pd.TimedeltaIndex | pd.PeriodIndex | pd.IntervalIndex):
        return tuple(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        return tuple(pd.Index(values))
    return tuple(native(value) for value in values.tolist())


def _python(value: Any) -> Any:
    """Return a pandas timestamp or duration as Python's own, unless it has nanoseconds."""
    if isinstance(value, pd.Timestamp):
        return value if value.nanosecond else value.to_pydatetime()
    return value if value.nanoseconds else value.to_pytimedelta()


def native(value: Any) -> Any:
    """Return a cell as a native Python object; a numpy date or duration as pandas' own."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return pd.Timestamp(value) if isinstance(value, np.datetime64) else pd.Timedelta(value)
    return value.item() if isinstance(value, np.generic) else value


def _cells(values: Any) -> npt.NDArray[np.object_]:
    """Return a list of cells as a 1-d object array, each cell as it is."""
    cells = list(values)
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _as_array(X: Any, estimator: object) -> npt.NDArray[Any]:
    """Return a 2-d array; a list keeps the types of its cells."""
    if isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple):
        lengths = {len(row) for row in X if isinstance(row, list | tuple)}
        if len(lengths) > 1:
            raise ValueError(f"the rows of X have different lengths: {sorted(lengths)}")
        X = np.array(X, dtype=object)
    if isinstance(X, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(X)
        X = np.array(X.data, dtype=object)
        X[masked] = None
    dtype = None if getattr(X, "dtype", None) is not None else np.asarray(X).dtype
    array: npt.NDArray[Any] = check_array(
        X,
        dtype=dtype,
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        estimator=estimator,
    )
    return array


def _check_names(names: Sequence[Hashable]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"column name {twice[0]!r} occurs more than once: give every column a name of its own")
