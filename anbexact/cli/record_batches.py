"""Parquet files read a part at a time, where the types of their columns say what the whole table would be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from anbexact.cli.cells import EXACT, Expected, same_column
from anbexact.cli.sources import Source


class UnlikeError(Exception):
    """The parts would not be read as the whole table is."""


class RecordBatches:
    """The parts of a Parquet file.

    Attributes
    ----------
    names : list of str
        The names of its columns.
    """

    def __init__(self, source: Source) -> None:
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(source.open())
        schema = self._file.schema_arrow
        self.names: list[str] = list(schema.names)
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        if any(isinstance(name, str) for name in index) or len(set(self.names)) < len(self.names):
            raise UnlikeError

    def parts(
        self, used: Sequence[str], expected: Expected, passed: list[str], rows: int
    ) -> Iterator[tuple[pd.DataFrame, pd.DataFrame | None]]:
        """Yield the columns that are used, and those that are passed through, so many rows at a time."""
        for name in used:
            kind = self._kind(name)
            if kind != "text" if name in expected.texts else kind != "number" and name not in expected.written:
                raise UnlikeError
        for name in passed:
            kind = self._kind(name)
            if kind == "other" or (kind == "number" and self._missing(name)):
                raise UnlikeError
        columns = list(dict.fromkeys([*used, *passed]))
        real: dict[str, bool] = {}
        for batch in self._file.iter_batches(batch_size=rows, columns=columns):
            part = batch.to_pandas()
            cells = {name: self._cells(part[name], expected, real) for name in used}
            yield pd.DataFrame(cells, index=part.index), part[passed] if passed else None

    def _kind(self, name: str) -> str:
        """Return whether a column holds text, numbers or others."""
        import pyarrow as pa

        kind = self._file.schema_arrow.field(name).type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return "text"
        return "number" if pa.types.is_integer(kind) or pa.types.is_float64(kind) else "other"

    def _missing(self, name: str) -> bool:
        """Whether a column has missing cells, for all that the file says."""
        metadata, place = self._file.metadata, self.names.index(name)
        chunks = [metadata.row_group(k).column(place) for k in range(metadata.num_row_groups)]
        return not all(chunk.statistics is not None and chunk.statistics.null_count == 0 for chunk in chunks)

    def _cells(self, column: pd.Series[Any], expected: Expected, real: dict[str, bool]) -> pd.Series[Any]:
        """Return the cells of a column in the form that they have in the whole table.

        ``real`` receives whether a column holds numbers that are not whole, as its first part says.
        """
        if self._kind(str(column.name)) == "text":
            return same_column(column, expected)
        if column.dtype.kind not in "iuf" or (column.dtype.kind == "f" and column.isna().all()):
            raise UnlikeError
        values = column.to_numpy(dtype=np.float64)
        observed = values[~np.isnan(values)]
        if bool((np.abs(observed) >= EXACT).any()):
            raise UnlikeError
        whole = bool((observed == np.rint(observed)).all())
        if not real.setdefault(str(column.name), not whole):
            if not whole:
                raise UnlikeError
            return same_column(column)
        return pd.Series(values, index=column.index)
