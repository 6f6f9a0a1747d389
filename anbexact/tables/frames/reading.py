"""Frames, series, arrays and lists of any library, read into columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse
from sklearn.utils import check_array

from anbexact._runtime.memory import available_memory
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.native_values import in_double
from anbexact.tables.frames.series import object_array, read_narwhals, read_pandas

MOST_KEPT = 2_000_000
"""Maximum number of cells of a frame or series whose columns are kept."""
_Kept = dict[int, tuple[pd.DataFrame | pd.Series, list[Column]]]
_kept: ContextVar[_Kept | None] = ContextVar("columns read", default=None)
"""The columns of frames and series that were read before, by their identity; see :func:`frames_read_once`."""


@contextmanager
def frames_read_once() -> Iterator[None]:
    """Keep the columns of pandas frames and series that are read within the block; these must not change there."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def is_frame(X: object) -> bool:
    """Whether ``X`` is an eager dataframe that can be read."""
    return isinstance(X, pd.DataFrame) or nw.dependencies.is_into_dataframe(X)


def is_sparse(X: object) -> bool:
    """Whether ``X`` is a sparse matrix or array of scipy."""
    return bool(scipy.sparse.issparse(X))


def frame_names(X: Any) -> list[Hashable] | None:
    """Return the column names of a dataframe; None for anything else."""
    if isinstance(X, pd.DataFrame):
        return list(X.columns)
    if not is_frame(X):
        return None
    if nw.dependencies.is_pyarrow_table(X):
        return list(X.column_names)
    return list(nw.from_native(X, eager_only=True).columns)


def names_only(X: Any) -> Any:
    """Return an empty pandas frame with the column names of a dataframe; anything else is returned as it is.

    All versions of scikit-learn read names from it; 1.7 reads none from polars 2.
    """
    names = frame_names(X)
    return X if names is None else _empty_frame(tuple(names))


@lru_cache(maxsize=8)
def _empty_frame(names: tuple[Hashable, ...]) -> pd.DataFrame:
    """Return a frame without rows, which must not be changed: fits of the same columns share it."""
    return pd.DataFrame(np.empty((0, len(names))), columns=list(names))


def is_series(values: object) -> bool:
    """Whether ``values`` is a series of an eager dataframe library."""
    return isinstance(values, pd.Series | pd.Index) or nw.dependencies.is_into_series(values)


def read_columns(X: Any, *, min_rows: int = 1, estimator: object = None) -> list[Column]:
    """Read a table of features.

    Parameters
    ----------
    X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array, sparse matrix or list of rows
        Columns without names are called ``"x0"``, ``"x1"``, ... A sparse matrix is read as the dense one that it
        stands for.
    min_rows : int
        Fewest rows that are accepted.
    estimator : object, optional
        Named in scikit-learn's error messages.

    Raises
    ------
    TypeError
        For a lazy frame, or a cell that cannot be a state (unhashable).
    ValueError
        For duplicate column names, no rows, no columns, or an array that is not 2-d.
    MemoryError
        For a sparse matrix that does not fit into the memory available when dense.
    """
    if is_sparse(X):
        columns, n_rows = _read_sparse(X), X.shape[0]
    elif isinstance(X, pd.DataFrame):
        columns = _read_frame(X)
        n_rows = len(X)
    elif is_frame(X):
        _check_names(frame_names(X) or [])
        frame = nw.from_native(X, eager_only=True)
        columns = [read_narwhals(series) for series in frame.iter_columns()]
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


def _read_frame(X: pd.DataFrame) -> list[Column]:
    """Return the columns of a pandas frame, those of an earlier reading where they are kept."""
    kept = _kept.get()
    if kept is not None and id(X) in kept:
        return list(kept[id(X)][1])
    _check_names(list(X.columns))
    columns = [read_pandas(series, name) for name, series in X.items()]
    if kept is not None and X.size <= MOST_KEPT:
        kept[id(X)] = X, columns
    return list(columns)


def read_column(values: Any, name: Hashable) -> Column:
    """Read one column: a pandas, polars or pyarrow series, a 1-d array or a list."""
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(values, pyarrow.Array):
        values = pyarrow.chunked_array([values])
    if isinstance(values, pd.Series | pd.Index | pd.Categorical):
        return _read_series(values, name)
    if is_series(values):
        return read_narwhals(nw.from_native(values, series_only=True)).renamed(name)
    if hasattr(values, "__array__"):
        values = np.asarray(values)
    array = values if isinstance(values, np.ndarray) else object_array(values)
    return _read_array(array, name)


def _read_series(values: pd.Series | pd.Index | pd.Categorical, name: Hashable) -> Column:
    """Return a series or the like as a column, that of an earlier reading where it is kept."""
    kept = _kept.get()
    if kept is None or not isinstance(values, pd.Series) or len(values) > MOST_KEPT:
        return read_pandas(pd.Series(values), name)
    if id(values) not in kept:
        kept[id(values)] = values, [read_pandas(values, name)]
    return kept[id(values)][1][0].renamed(name)


def _read_array(array: npt.NDArray[Any], name: Hashable) -> Column:
    """Read one column of a numpy array."""
    if array.ndim == 1 and array.dtype.kind in "iuf":
        return Column(name, numbers=in_double(array.copy()))  # callers may change theirs later
    return read_pandas(pd.Series(array), name)


def _read_sparse(X: Any) -> list[Column]:
    """Read a sparse matrix column by column, each as the dense column that it stands for."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a sparse array of {X.ndim} dimension(s) instead")
    n_rows, n_columns = X.shape
    needed, available = n_rows * n_columns * max(X.dtype.itemsize, 8), available_memory()
    if needed > available:
        raise MemoryError(
            f"a sparse matrix of {n_rows:,} rows and {n_columns:,} columns takes {needed / 1e9:.1f} GB as a table, "
            f"and {available / 1e9:.1f} GB are available: select columns first, for instance with "
            "sklearn.feature_selection.SelectKBest(chi2, k=500)"
        )
    by_column = scipy.sparse.csc_array(X)
    if not by_column.has_canonical_format:
        by_column = by_column.copy()
        by_column.sum_duplicates()
    columns = []
    for j in range(n_columns):
        own = slice(*by_column.indptr[j : j + 2])
        cells = np.zeros(n_rows, dtype=X.dtype)
        cells[by_column.indices[own]] = by_column.data[own]
        columns.append(_read_array(cells, f"x{j}"))
    return columns


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
        raise ValueError(f"column name {twice[0]!r} occurs more than once: give every column a unique name")
