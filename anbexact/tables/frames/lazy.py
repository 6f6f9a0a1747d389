"""Lazy frames, and tables of any kind read a part at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse
from narwhals.stable.v2.dependencies import is_dask_dataframe

from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import with_article
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.reading import frame_names, is_frame, is_sparse, read_columns

Counts = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]
BATCH_ROWS = 131_072
"""Number of groups that are fetched and coded at a time."""
MOST_GROUPS = 10_000_000
"""Maximum number of distinct pairs of a value and a class that are fetched for one column."""
SAMPLE_ROWS, MOST_SAMPLED = 20_000, 200
"""Number of first rows that are inspected, and the most distinct values that a column may have in them for the
distinct rows to be gathered."""
GATHERED_SHARE, BYTES_PER_GROUP = 0.1, 24
"""Share of the available memory that distinct rows may fill, and the bytes of each in addition to its cells."""
ROWS, WEIGHTS = "rows", "weights"
"""Names of the columns with the number of rows of every group, and with their total weight."""
CHANGED = (
    "the rows of the lazy frame changed while they were counted, since a later query found {}: read a copy of them "
    "that does not change"
)


def is_lazy(X: object) -> bool:
    """Whether ``X`` is a lazy frame of a library that narwhals knows.

    Raises
    ------
    ImportError
        If ``X`` is a dataframe of Dask, and narwhals is a version that reads it only with a package of its own.
    """
    if isinstance(X, pd.DataFrame | np.ndarray | list | tuple):  # narwhals refuses frames with two equal names
        return False
    frame = _as_narwhals(X)
    if frame is X and is_dask_dataframe(X):
        raise ImportError("dataframes of Dask need the package narwhals-dask: pip install narwhals-dask")
    return isinstance(frame, nw.LazyFrame)


def _as_narwhals(X: Any) -> Any:
    """Return a frame of any library as a frame of narwhals; anything else unchanged."""
    return nw.from_native(nw.to_native(X, pass_through=True), pass_through=True)


@dataclass(frozen=True)
class Groups:
    """Groups of rows with equal cells.

    Attributes
    ----------
    columns : list of Column
        Each group's cells.
    weights : (groups,) float64
        Total weight of each group's rows.
    repeats : (groups,) int64
        Number of each group's rows.
    """

    columns: list[Column]
    weights: Weights
    repeats: Counts

    def check_same(self, weights: Weights, repeats: Counts) -> None:
        """Raise an error if numbers and weights of rows differ from these groups', since then the source has changed.

        Raises
        ------
        ValueError
            If they differ; weights are compared to 9 digits, because their sums are rounded.
        """
        before, now = int(self.repeats.sum()), int(repeats.sum())
        if now != before:
            raise ValueError(CHANGED.format(f"{now:,} rows instead of {before:,}"))
        if not np.isclose(weights.sum(), self.weights.sum(), rtol=1e-9):
            raise ValueError(CHANGED.format("another total weight"))


@dataclass(frozen=True, eq=False)
class LazySource:
    """The rows of a lazy frame, which its own engine counts.

    Attributes
    ----------
    frame : narwhals LazyFrame
        The rows of positive weight.
    dtypes : mapping
        The type of every column.
    own_names : mapping
        The name of every column in ``frame``.
    weight : str, optional
        The column of the weights; without it, every row has weight 1.
    origin : LazySource, optional
        The source whose distinct rows these are; the column ``"rows"`` says how many of its rows each stands for.
    """

    frame: Any
    dtypes: Mapping[str, Any]
    own_names: Mapping[str, str]
    weight: str | None = None
    origin: LazySource | None = None

    @classmethod
    def of(cls, X: Any, sample_weight: Any = None) -> LazySource:
        """Return the source of a lazy frame, whose weights, if any, are in a column of the name ``sample_weight``.

        Raises
        ------
        ImportError
            If pyarrow is not installed, in whose form most engines return their results.
        TypeError
            If the weights are not the name of a column.
        ValueError
            If there is no such column, there are no rows, or a weight is negative, missing or infinite.
        """
        frame = _as_narwhals(X)
        _check_arrow(frame.implementation)
        dtypes = dict(frame.collect_schema())
        frame, own_names = _readable(frame, list(dtypes))
        if sample_weight is None:
            return cls(frame, dtypes, own_names)
        _check_name(sample_weight, dtypes, "sample_weight")
        if not dtypes[sample_weight].is_numeric():
            raise ValueError(
                f"sample_weight={sample_weight!r} is a column of {dtypes[sample_weight]}, not of numbers"
            )
        weight = nw.col(own_names[sample_weight]).cast(nw.Float64)
        bad = (weight.is_null() | weight.is_nan() | (weight < 0) | (weight == float("inf"))).cast(nw.Int64).sum()
        n_bad = frame.select(bad.alias("bad")).collect()["bad"][0]
        if n_bad:
            raise ValueError(
                f"the weights in column {sample_weight!r} must be finite numbers, zero or more ({n_bad} are not)"
            )
        return cls(frame.filter(weight > 0), dtypes, own_names, sample_weight)

    def cell(self, name: str) -> Any:
        """Return the expression of a column's cell."""
        return nw.col(self.own_names[name])

    def _odd(self, name: str) -> bool:
        """Whether narwhals does not know the type of a column; the engine may be unable to count its values."""
        return self.dtypes[name] in (nw.Unknown, nw.Object)

    def names(self, class_name: Any = None) -> list[str]:
        """Return the names of the features: all columns but the class and the weights.

        Raises
        ------
        TypeError, ValueError
            If the class is not the name of a column, or is that of the weights.
        """
        if class_name is not None:
            _check_name(class_name, self.dtypes, "y")
            if class_name == self.weight:
                raise ValueError(f"column {class_name!r} cannot be both the class and sample_weight")
        names = [name for name in self.dtypes if name not in (class_name, self.weight)]
        if not names:
            raise ValueError("0 feature(s) while a minimum of 1 is required: the lazy frame has no other column")
        return names

    def marginal(self, names: Sequence[str]) -> Groups:
        """Return the distinct joint values of a few columns.

        Raises
        ------
        ValueError
            If there are more than ten million of them, or no rows.
        """
        try:
            frame = _collected(self._grouped(names, {}).head(MOST_GROUPS + 1))
        except Exception as error:  # each engine has its own
            odd = next((name for name in names if self._odd(name)), None)
            if odd is None:
                raise
            raise TypeError(
                f"column {odd!r} has a type whose values cannot be counted ({error}): convert it to text, numbers or "
                "dates in the query, or leave it out"
            ) from error
        if len(frame) > MOST_GROUPS:
            raise ValueError(
                f"column {names[0]!r} has more than {MOST_GROUPS:,} different values (within the classes), too many "
                "to count: round it, cut it in the query, or leave it out"
            )
        return self._read(frame, names)

    def counted_with(self, names: Sequence[str], earlier: Groups) -> Groups:
        """Return :meth:`marginal`; raise an error if the rows have changed since an earlier query."""
        groups = self.marginal(names)
        earlier.check_same(groups.weights, groups.repeats)
        return groups

    def gathered(self, names: Sequence[str]) -> LazySource:
        """Return the distinct rows of these columns as a source, so that one query counts everything.

        The source itself is returned if a column has many values in the first rows, or if the distinct rows would
        take more than a tenth of the available memory.
        """
        if any(self.dtypes[name].is_nested() or self._odd(name) for name in names):
            return self
        sample = _collected(
            self.frame.select(*(self.cell(name).alias(f"k{j}") for j, name in enumerate(names))).head(SAMPLE_ROWS)
        )
        if not len(sample) or any(column.n_unique() > MOST_SAMPLED for column in sample.iter_columns()):
            return self
        row_bytes = sample.estimated_size() / len(sample) + BYTES_PER_GROUP
        most = int(available_memory() * GATHERED_SHARE / row_bytes)
        groups = _collected(self._grouped(names, {}).head(most + 1))
        if len(groups) > most:
            return self
        own_names = {name: f"k{j}" for j, name in enumerate(names)}
        if self.weight is not None:
            own_names[self.weight] = WEIGHTS
        return replace(self, frame=groups.lazy(), own_names=own_names, origin=self)

    def largest_weights(self, name: str) -> tuple[Column, Weights]:
        """Return the distinct values of a column, and the largest weight of a row with each."""
        if self.origin is not None:
            return self.origin.largest_weights(name)
        weight = nw.lit(1.0) if self.weight is None else self.cell(self.weight).cast(nw.Float64)
        groups = self.frame.select(self.cell(name).alias("k0"), weight.alias(WEIGHTS)).group_by("k0")
        found = groups.agg(nw.col(WEIGHTS).max()).collect()
        return read_columns(found.select(nw.col("k0").alias(name)).to_native())[0], found[WEIGHTS].to_numpy()

    def joint(self, names: Sequence[str], keys: Mapping[str, Any]) -> Iterator[Groups]:
        """Yield the distinct rows, some at a time.

        Parameters
        ----------
        names : sequence
            The columns.
        keys : mapping of column to narwhals expression
            The expression that is counted in the place of a column.
        """
        gathered = (
            self.origin is not None and not keys and [*names] == [n for n in self.own_names if n != self.weight]
        )
        for frame in batches(self.frame if gathered else self._grouped(names, keys)):
            yield self._read(frame, names)

    def _grouped(self, names: Sequence[str], keys: Mapping[str, Any]) -> Any:
        """Return the groups with names made here, because some engines misread names such as ``"a.b"``."""
        own = [f"k{j}" for j in range(len(names))]
        cells = [
            (keys[name] if name in keys else self.cell(name)).alias(key) for name, key in zip(names, own, strict=True)
        ]
        sums = []
        if self.origin is not None:
            cells.append(nw.col(ROWS))
            sums.append(nw.col(ROWS).sum())
        else:
            sums.append(nw.len().alias(ROWS))
        if self.weight is not None:
            cells.append(self.cell(self.weight).cast(nw.Float64).alias(WEIGHTS))
            sums.append(nw.col(WEIGHTS).sum())
        return self.frame.select(*cells).group_by(*own).agg(*sums)

    def _read(self, frame: Any, names: Sequence[str]) -> Groups:
        if not len(frame):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required: the lazy frame is empty")
        repeats = frame[ROWS].to_numpy().astype(np.int64)
        weights = repeats if self.weight is None else frame[WEIGHTS].to_numpy()
        selected = frame.select(*(nw.col(f"k{j}").alias(name) for j, name in enumerate(names)))
        columns = [
            # DuckDB returns enumerations as dictionaries, which do not tell that they are ordered.
            replace(column, ordered=column.ordered or self.dtypes[name] == nw.Enum)
            for name, column in zip(names, read_columns(selected.to_native()), strict=True)
        ]
        return Groups(columns, weights.astype(np.float64), repeats)


def batches(frame: Any, rows: int = BATCH_ROWS) -> Iterator[Any]:
    """Return the rows of a narwhals lazy frame as eager frames, in their order, some at a time if the engine can.

    DuckDB and Polars return their results in parts, and Dask by partitions; results of other engines are collected as
    a whole.
    """
    native, engine = frame.to_native(), frame.implementation
    if engine.is_duckdb():
        with native.to_arrow_reader(rows) as reader:
            yield from (nw.from_native(as_table(part), eager_only=True) for part in reader)
    elif engine.is_polars():
        parts = native.collect_batches(chunk_size=rows, maintain_order=True)
        yield from (nw.from_native(part, eager_only=True) for part in parts)
    elif is_dask_dataframe(native):  # the engine may be unknown, where narwhals-dask has read the frame
        for part in native.to_delayed():  # the groups of native.partitions[0] would be those of the first rows alone
            yield from _in_parts(nw.from_native(part.compute(), eager_only=True), rows)
    else:
        yield from _in_parts(frame.collect(), rows)


def _in_parts(whole: Any, rows: int) -> Iterator[Any]:
    yield from (whole[start : start + rows] for start in range(0, len(whole), rows))


def _collected(frame: Any) -> Any:
    """Return the rows of a narwhals lazy frame, which Polars reads in parts."""
    return frame.collect(engine="streaming") if frame.implementation.is_polars() else frame.collect()


def as_table(part: Any) -> Any:
    """Return a record batch of pyarrow as a table."""
    import pyarrow as pa

    return pa.Table.from_batches([part])


def _check_arrow(engine: nw.Implementation) -> None:
    """Refuse an engine whose results need pyarrow if that package is not installed."""
    extra = {"duckdb": "duckdb", "ibis": "ibis", "pyspark": "spark"}.get(engine.value)
    if extra is not None and find_spec("pyarrow") is None:
        raise ImportError(f"lazy frames of {engine.value} need the package pyarrow: pip install 'anbexact[{extra}]'")


def _readable(frame: Any, names: Sequence[str]) -> tuple[Any, dict[str, str]]:
    """Return a frame whose columns expressions can name, and these names; Spark splits names at dots."""
    if not frame.implementation.is_pyspark():
        return frame, {name: name for name in names}
    own = {name: f"c{j}" for j, name in enumerate(names)}
    return nw.from_native(frame.to_native().toDF(*own.values())), own


def _check_name(name: Any, names: Mapping[str, Any], what: str) -> None:
    if not isinstance(name, str):
        raise TypeError(
            f"{what} must be the name of a column of the lazy frame, not {with_article(type(name).__name__)}: its "
            "rows have no order, so that nothing can be aligned with them"
        )
    if name not in names:
        raise ValueError(f"{what}={name!r} is not a column of the lazy frame, whose columns are {list(names)}")


def parts_of(frame: Any, rows: int) -> Iterator[Any]:
    """Yield the rows of a table in their order, ``rows`` at a time; parts that an iterable yields stay as they are.

    Raises
    ------
    TypeError
        If ``frame`` is not a table, a lazy frame or an iterable of tables.
    """
    if is_lazy(frame):
        yield from (part.to_native() for part in batches(nw.from_native(frame), rows))
    elif is_sparse(frame) or isinstance(frame, np.ndarray):
        by_row = frame if isinstance(frame, np.ndarray) else scipy.sparse.csr_array(frame)
        yield from (by_row[start : start + rows] for start in range(0, by_row.shape[0], rows))
    elif is_frame(frame):  # sliced by pandas itself, because narwhals refuses some of its column names
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
    """Return those of the named columns that a table has, in the order of the names; an array unchanged.

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
    """Return columns of a table as a pandas frame whose rows are numbered from 0.

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
