"""Numbers of single and half precision: a state is the shortest decimal that gives the number back."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tiers import scaled

from anbexact import NaiveBayesClassifier, TANClassifier
from anbexact.tables.frames.native_values import in_double
from anbexact.tables.frames.reading import read_column

arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

TENTHS = [0.1, 0.7, 1.5, 2.3]


def numbers_and_classes(n=200):
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=n)
    few = np.array(TENTHS)[2 * y + (rng.random(n) < 0.5)]
    fine = np.round(y + rng.normal(size=n), 2)
    return pd.DataFrame({"few": few, "fine": fine}), np.array(["no", "yes"], dtype=object)[y]


def written_and_read(X):
    return pd.read_csv(io.StringIO(X.to_csv(index=False)))


def with_gaps(X):
    return pd.concat([X, X.iloc[:1].map(lambda _: None)], ignore_index=True).astype(object)


NARROW = {
    "pandas": lambda X: X.astype(np.float32),
    "pandas of half precision": lambda X: X.astype(np.float16),
    "pandas Float32": lambda X: X.astype("Float32"),
    "pandas of Arrow": lambda X: X.astype(pd.ArrowDtype(arrow.float32())),
    "sparse": lambda X: X.astype(pd.SparseDtype(np.float32, np.nan)),
    "objects": lambda X: pd.DataFrame({name: list(X[name].to_numpy(np.float32)) for name in X}, dtype=object),
    "polars": lambda X: pl.from_pandas(X).cast(pl.Float32),
    "pyarrow": lambda X: arrow.table({name: arrow.array(X[name], arrow.float32()) for name in X}),
    "numpy": lambda X: X.to_numpy(np.float32),
    "lists": lambda X: [list(row) for row in X.to_numpy(np.float32)],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", NARROW)
def test_what_was_learned_is_what_is_learned_in_double_precision(kind):
    X, y = numbers_and_classes()
    expected = TANClassifier(ess=1.0).fit(X, y)
    found = TANClassifier(ess=1.0).fit(NARROW[kind](X), y)
    first, second = (list(model.vocabulary_.states.values()) for model in (expected, found))
    assert first[0] == second[0] == tuple(TENTHS)
    assert first == second
    rows = [X, NARROW[kind](X), X.astype(np.float32), X.astype(np.float16), written_and_read(X.astype(np.float32))]
    for new in rows:
        np.testing.assert_array_equal(found.predict_proba(new), expected.predict_proba(X))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", NARROW)
def test_the_right_value(kind):
    """P(yes | x) = (N(x, yes) + 1/8) / (N(x) + 2/8), as the classes have 100 rows each: worked out by hand."""
    numbers = np.repeat(TENTHS * 2, [50, 30, 12, 8, 8, 12, 30, 50])
    X, y = pd.DataFrame({"x": numbers}), np.repeat(["yes", "no"], 100)
    right = np.array([401, 241, 97, 65]) / [466, 338, 338, 466]  # .861, .713, .287, .139
    model = NaiveBayesClassifier(ess=1.0).fit(NARROW[kind](X), y)
    new = pd.DataFrame({"x": TENTHS})
    for rows in (new, NARROW[kind](new), new.astype(np.float32), written_and_read(new.astype(np.float32))):
        np.testing.assert_allclose(model.predict_proba(rows)[:, 1], right, rtol=1e-12)
    np.testing.assert_allclose(NaiveBayesClassifier(ess=1.0).fit(X, y).predict_proba(new)[:, 1], right, rtol=1e-12)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.Categorical(np.array(TENTHS, dtype=np.float32))),
        pd.Series([*np.array(TENTHS, dtype=np.float32), "none"], dtype=object),
        pl.Series([*TENTHS, None], dtype=pl.Float32),
        arrow.array([*TENTHS, None], arrow.float32()).dictionary_encode(),
        arrow.array([*np.array(TENTHS, dtype=np.float16), None], arrow.float16()),
        pd.array([*TENTHS, None], dtype="Float32"),
    ],
    ids=lambda column: f"{type(column).__name__} {getattr(column, 'dtype', '')}",
)
def test_values_of_columns(column):
    if isinstance(column, arrow.Array):
        column = arrow.chunked_array([column])
    if not isinstance(column, pd.Series | pl.Series | arrow.ChunkedArray):
        column = pd.Series(column)
    assert read_column(column, "x").values()[:4] == TENTHS


def test_declared_states_and_evidence():
    X, y = numbers_and_classes()
    narrow = X[["few"]].astype(np.float32)
    model = NaiveBayesClassifier(ess=1.0, categories={"few": np.unique(narrow["few"])}).fit(narrow, y)
    assert model.vocabulary_.states["few"] == tuple(TENTHS)
    np.testing.assert_array_equal(model.query(few=np.float32(0.7)), model.query(few=0.7))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_lazy_frames(engine):
    X, y = numbers_and_classes()
    narrow = X.astype(np.float32).assign(class_=y)
    if engine == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
        frame = duckdb.connect().from_df(narrow)
    else:
        frame = pl.from_pandas(narrow).lazy()
    lazy, eager = TANClassifier(ess=1.0).fit(frame, "class_"), TANClassifier(ess=1.0).fit(X, y)
    assert [*lazy.vocabulary_.states.values()][:2] == [*eager.vocabulary_.states.values()][:2]
    for name in X:
        np.testing.assert_array_equal(lazy.conditional_tables_[name].values, eager.conditional_tables_[name].values)


@pytest.mark.filterwarnings("ignore")
def test_sql_reads_columns_of_both_precisions():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    from anbexact.adapters import to_sql

    X, y = numbers_and_classes()
    model = NaiveBayesClassifier(ess=1.0).fit(X.astype(np.float32), y)
    for rows in (X, X.astype(np.float32)):
        connection = duckdb.connect()
        connection.register("rows", rows)
        found = connection.sql(to_sql(model)).df().drop(columns="prediction").to_numpy()
        np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-12)


def test_the_shortest_decimals():
    rng = np.random.default_rng(0)
    n = scaled(120_000)
    powers = np.arange(256, dtype=np.uint32) << 23
    bits = np.concatenate([rng.integers(2**32, size=n).astype(np.uint32), powers, powers - 1, powers + 1])
    numbers = np.concatenate(
        [
            bits.view(np.float32),
            np.round(rng.normal(size=n), 3).astype(np.float32),
            (10.0 ** rng.uniform(-6, 10, n)).astype(np.float32),
            np.arange(2**24 - 50, 2**24 + 50, dtype=np.float32),
        ]
    )
    numbers = numbers[~np.isnan(numbers)]  # some of which signal
    np.testing.assert_array_equal(in_double(numbers), [float(str(number)) for number in numbers])
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    np.testing.assert_array_equal(in_double(halves), [float(str(number)) for number in halves])
