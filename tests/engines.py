"""The same rows in every engine that is installed."""

import pandas as pd
import pytest
from real_parts import marked


def in_polars(frame):
    return frame.lazy()


def in_duckdb(frame):
    connection = pytest.importorskip("duckdb", reason="DuckDB is not installed").connect()
    connection.execute("set timezone='UTC'")
    return connection.from_arrow(frame.to_arrow())


def in_dask(frame):
    import dask.dataframe as dask

    rows = frame.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)
    for name in frame.columns:  # Dask itself cannot group by floats of Arrow
        if frame[name].dtype.is_float():
            rows[name] = rows[name].to_numpy(float, na_value=float("nan"))
    return dask.from_pandas(rows, npartitions=3)


def in_ibis(frame):
    import ibis

    return ibis.memtable(frame.to_arrow())


def in_spark(frame):
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
    session = session.config("spark.sql.shuffle.partitions", 2).config("spark.sql.session.timeZone", "UTC")
    return session.getOrCreate().createDataFrame(frame.to_arrow())


ENGINES = {"polars": in_polars, "duckdb": in_duckdb, "dask": in_dask, "ibis": in_ibis, "spark": in_spark}
EACH = marked(ENGINES)
"""The engines as values of a parameter, marked if they are not among the tools of developers."""
