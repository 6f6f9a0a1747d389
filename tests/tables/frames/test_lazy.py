"""Lazy frames: what is learned from counts in an engine is what is learned from the rows."""

import datetime
import os
import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from engines import EACH, ENGINES
from real_parts import marked
from sklearn.base import clone
from tiers import repeats

from anbexact import ANBClassifier, DiscreteTable, FANClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.classifiers import KDBClassifier
from anbexact.tables.frames.lazy import LazySource

pytestmark = pytest.mark.filterwarnings("ignore:Resolving the schema")
ZONE = datetime.UTC


def awkward(seed, n=300):
    """Rows of all kinds of columns, which depend on the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)

    def drawn(values):
        return [values[k] for k in (rng.integers(0, len(values), n) + y * (rng.random(n) < 0.6)) % len(values)]

    start = datetime.datetime(2021, 3, 1, 12)
    minutes = (rng.integers(0, 500, n) + 100 * y).tolist()
    return pl.DataFrame(
        {
            "a.b": drawn(["x", "y", None, "", "q\"'"]),
            "f`l": pl.Series((rng.normal(size=n) + y).round(2).tolist()),
            "big": pl.Series([2**53 + int(k) for k in rng.integers(0, 40, n) + 9 * y]),
            "few": pl.Series(drawn([3, None, 5]), dtype=pl.Int32),
            "yes": pl.Series(drawn([True, False, None])),
            "city; drop": [f"c{k}" for k in (rng.integers(0, 20, n) + 3 * y) % 25],
            "key": [f"k{k}" for k in range(n)],
            "day": [(start + datetime.timedelta(days=m % 60)).date() for m in minutes],
            "moment": pl.Series(
                [(start + datetime.timedelta(minutes=m)).replace(tzinfo=ZONE) for m in minutes],
                dtype=pl.Datetime("us", "UTC"),
            ),
            "few days": drawn([datetime.date(2020, 1, 1), datetime.date(2020, 2, 1)]),
            "price": pl.Series(
                [Decimal(int(k)) / 4 for k in rng.integers(0, 70, n) + 20 * y], dtype=pl.Decimal(12, 2)
            ),
            "nan": [[1.5, float("nan"), None, 2.5][k] for k in (rng.integers(0, 4, n) + y) % 4],
            "class": [["no", "maybe", "yes"][k] for k in y],
        }
    )


def in_pandas(frame):
    """Features and classes in pandas, whose own integers cannot be missing."""
    rows = frame.to_pandas(use_pyarrow_extension_array=True)
    return rows.drop(columns="class"), rows["class"]


def fitted(classifier, *rows):
    """The classifier and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier.fit(*rows)
    return classifier, {str(w.message) for w in caught if issubclass(w.category, UserWarning)}


def assert_same(lazy, eager):
    """Both learned the same, to the last bit."""
    assert lazy.vocabulary_ == eager.vocabulary_
    assert lazy.cut_points_.keys() == eager.cut_points_.keys()
    assert all(np.array_equal(cuts, eager.cut_points_[name]) for name, cuts in lazy.cut_points_.items())
    assert lazy.structure_.parents == eager.structure_.parents
    assert lazy.structure_.score == eager.structure_.score
    assert lazy.feature_names_in_.tolist() == eager.feature_names_in_.tolist()
    assert (lazy.dropped_, lazy.groups_, lazy.ess_) == (eager.dropped_, eager.groups_, eager.ess_)
    for name, table in eager.conditional_tables_.items():
        assert np.array_equal(table.values, lazy.conditional_tables_[name].values)


UNREADABLE = {"dask": ["price"]}
"""Columns that narwhals cannot compare in an engine: decimals with a decimal in Dask."""


@pytest.mark.parametrize("engine", EACH)
def test_classifiers_learn_the_same_as_from_rows(engine):
    for seed in repeats(2):
        frame = awkward(seed).drop(UNREADABLE.get(engine, []))
        eager, said = fitted(TANClassifier(), *in_pandas(frame))
        lazy, said_too = fitted(TANClassifier(), ENGINES[engine](frame), "class")
        assert_same(lazy, eager)
        assert said_too == said


@pytest.mark.parametrize("engine", EACH)
def test_tables_are_the_same_as_from_rows(engine):
    frame = awkward(5).select("a.b", "few", "yes", "few days", "class")
    eager = DiscreteTable.from_frame(*in_pandas(frame))
    for lazy in (
        DiscreteTable.from_frame(ENGINES[engine](frame), "class"),
        DiscreteTable.from_frame(ENGINES[engine](frame), class_name="class"),
    ):
        assert lazy.vocabulary == eager.vocabulary
        assert np.array_equal(lazy.codes, eager.codes)
        assert np.array_equal(lazy.weights, eager.weights)
        assert lazy.n_rows == eager.n_rows


PLUGIN = """
from narwhals._dask.namespace import DaskNamespace
from narwhals.dependencies import is_dask_dataframe as is_native

NATIVE_PACKAGE = "dask"

def __narwhals_namespace__(version):
    return DaskNamespace(version=version)
"""
BY_PLUGIN = """
import sys, warnings
import dask.dataframe as dd
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from anbexact import TANClassifier

warnings.simplefilter("error", FutureWarning)
nw.LazyFrame.implementation = nw.Implementation.UNKNOWN
frame = pd.read_csv("rows.csv")
lazy = dd.from_pandas(frame, npartitions=3)
eager, counted = TANClassifier().fit(frame[["a", "b"]], frame["y"]), TANClassifier().fit(lazy, "y")
assert counted.structure_.parents == eager.structure_.parents
parts = [*counted.predict_frame(lazy, proba=True, batch_rows=150)]
assert len(parts) == 3
probabilities = pd.concat(parts).iloc[:, 1:].to_numpy()
assert np.array_equal(probabilities, eager.predict_proba(frame[["a", "b"]]))
assert "narwhals_dask" in sys.modules
"""


@pytest.mark.slow
@pytest.mark.real("dask")
def test_dask_may_be_read_by_a_package_of_its_own(tmp_path):
    """A stand-in for narwhals-dask, which narwhals asks for the frames, and whose engine it need not know."""
    (tmp_path / "narwhals_dask.py").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "narwhals_dask-1.0.dist-info").mkdir()
    entry = "[narwhals.plugins]\nnarwhals-dask = narwhals_dask\n"
    (tmp_path / "narwhals_dask-1.0.dist-info" / "entry_points.txt").write_text(entry, encoding="utf-8")
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    rows = pl.DataFrame({"a": (rng.normal(size=400) + y).round(2), "b": (y + rng.integers(2, size=400)) % 3, "y": y})
    rows.write_csv(tmp_path / "rows.csv")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", BY_PLUGIN], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.real("dask")
def test_the_package_that_reads_dask_is_named(monkeypatch):
    monkeypatch.setattr("anbexact.tables.frames.lazy.nw.from_native", lambda frame, **_: frame)
    with pytest.raises(ImportError, match="Dask need the package narwhals-dask: pip install narwhals-dask"):
        NaiveBayesClassifier().fit(ENGINES["dask"](PLAIN), "y")


@pytest.mark.parametrize(
    "parameters",
    [
        {"discretizer": "mdlp"},
        {"discretizer": "equal_frequency"},
        {"discretizer": "median", "class_weight": "balanced"},
        {"handle_missing": "own_state", "group_categories": None, "drop_identifiers": False},
        {"handle_missing": "marginalize", "class_weight": {"no": 2}},
        {"categories": {"few": [5, 3, 1], "class": ["yes", "no", "maybe"]}},
    ],
    ids=lambda parameters: "+".join(parameters),
)
def test_parameters_of_reading_apply(parameters):
    frame = awkward(3)
    eager, said = fitted(NaiveBayesClassifier(**parameters), frame.drop("class"), frame["class"])
    lazy, said_too = fitted(NaiveBayesClassifier(**parameters), frame.lazy(), "class")
    assert_same(lazy, eager)
    assert said_too == said


def test_weights_are_a_column():
    frame = awkward(4)
    weights = np.random.default_rng(0).integers(0, 4, len(frame)).astype(float)
    eager = NaiveBayesClassifier().fit(frame.drop("class", "key"), frame["class"], weights)
    lazy = NaiveBayesClassifier().fit(frame.drop("key").with_columns(w=pl.Series(weights)).lazy(), "class", "w")
    assert_same(lazy, eager)


def repeating(seed, n=400):
    """Rows of few values, numbers that are cut and texts that are grouped among them, with weights."""
    frame = awkward(seed, n).select("a.b", "few", "yes", "few days", "nan", "class")
    rng = np.random.default_rng(seed)
    return frame.with_columns(
        cut=pl.Series((rng.integers(0, 30, n) / 4).tolist()) + (pl.col("class") == "yes") * 3,
        city=pl.Series([f"c{k}" for k in rng.integers(0, 20, n)]) + (pl.col("class") == "no").cast(pl.String),
        w=pl.Series(rng.integers(0, 4, n) / 2),
    )


@pytest.mark.parametrize("memory", [10**9, 1_000])
@pytest.mark.parametrize("weight", [None, "w"])
def test_rows_that_repeat_are_counted_by_one_query(weight, memory, monkeypatch):
    monkeypatch.setattr("anbexact.tables.frames.lazy.available_memory", lambda: memory)
    frame = repeating(2)
    features = frame.drop("class", "w")
    source = LazySource.of(frame.lazy(), weight)
    assert (source.gathered(features.columns).origin is not None) == (memory > 1_000)
    weights = None if weight is None else frame["w"].to_numpy()
    lazy_frame = (frame if weight else frame.drop("w")).lazy()
    parameters = {"class_weight": "balanced", "handle_missing": "own_state", "discretizer": "mdlp"}
    eager, said = fitted(NaiveBayesClassifier(**parameters), features, frame["class"], weights)
    lazy, said_too = fitted(NaiveBayesClassifier(**parameters), lazy_frame, "class", *([weight] if weight else []))
    assert_same(lazy, eager)
    assert said_too == said
    assert lazy.cut_points_["cut"].size
    assert "city" in lazy.groups_


LARGE = [
    NaiveBayesClassifier(ess=1.0, class_weight={"no": 2}),
    TANClassifier(handle_missing="own_state", smoothing=2.0),
    TANClassifier(structure_score="bic", ess=1.0, handle_missing="own_state"),
    FANClassifier(ess=3.0, handle_missing="own_state", group_categories=None),
    KDBClassifier(k=2, handle_missing="own_state", ess=1.0),
    ANBClassifier(ess=2.0, max_parents=2, handle_missing="own_state", n_jobs=2),
    ANBClassifier(structure_score="bic", ess=1.0, max_parents=1),
]


def few_cells_fit(monkeypatch, cells, rows):
    """Let so many distinct rows of 7 columns fit into memory, and so many joint states be counted at once."""
    monkeypatch.setattr("anbexact.tables.frames.lazy.available_memory", lambda: 0)
    monkeypatch.setattr("anbexact.tables.counted.lazy_table.available_memory", lambda: 2 * rows * (6 * 7 + 64))
    monkeypatch.setattr("anbexact.tables.counted.counted_table.MOST_CELLS", cells)
    monkeypatch.setattr("anbexact.tables.counted.learning.MOST_CELLS", cells)


@pytest.mark.parametrize("classifier", LARGE, ids=lambda c: f"{type(c).__name__}-{c.structure_score}")
def test_rows_that_do_not_fit_into_memory_are_counted_column_by_column(classifier, monkeypatch):
    frame = repeating(3).drop("w").with_columns(one=pl.lit("a"), key=pl.int_range(pl.len()).cast(pl.String))
    if classifier.handle_missing != "own_state":
        frame = frame.with_columns(pl.col("few").fill_null(3), pl.col("yes").fill_null(True), nan=pl.lit(1.5))
        frame = frame.with_columns(pl.col("a.b").fill_null(""))
    monkeypatch.setattr("anbexact.classifiers.choosing.sample_size.FEW_ROWS", 0)
    eager, said = fitted(clone(classifier), frame.drop("class"), frame["class"])
    asked: list[list[str]] = []
    counted = LazySource.joint
    monkeypatch.setattr(LazySource, "joint", lambda s, names, keys: asked.append(names) or counted(s, names, keys))
    few_cells_fit(monkeypatch, *((500, 250) if classifier.handle_missing == "own_state" else (50, 60)))
    lazy, said_too = fitted(clone(classifier), frame.lazy(), "class")
    assert_same(lazy, eager)
    assert said_too == said
    assert len(asked) > 3
    assert {len(names) for names in asked} == {9, *map(len, asked[1:])}


@pytest.mark.parametrize("classifier", [TANClassifier(ess=1.0), ANBClassifier(ess=1.0, max_parents=3)])
def test_rows_that_do_not_fit_into_memory_have_weights(classifier, monkeypatch):
    frame = repeating(4).with_columns(w=pl.int_range(pl.len()) % 4)
    classifier = clone(classifier).set_params(handle_missing="own_state")
    eager, _ = fitted(clone(classifier), frame.drop("class", "w"), frame["class"], frame["w"])
    few_cells_fit(monkeypatch, 500, 250)
    lazy, _ = fitted(clone(classifier), frame.lazy(), "class", "w")
    assert_same(lazy, eager)


def test_parts_are_forgotten_where_they_take_too_much_memory(monkeypatch):
    frame = repeating(3).select("a.b", "yes", "few", "city", "few days", "class")
    classifier = ANBClassifier(ess=1.0, max_parents=2, handle_missing="own_state")
    eager, _ = fitted(clone(classifier), frame.drop("class"), frame["class"])
    few_cells_fit(monkeypatch, 200, 150)
    monkeypatch.setattr("anbexact.tables.counted.counted_table.MEMORY_SHARE", 0.0)
    lazy, _ = fitted(clone(classifier), frame.lazy(), "class")
    assert_same(lazy, eager)


def test_a_search_by_counts_ends_in_time(monkeypatch):
    frame = repeating(3).select("a.b", "yes", "few", "city", "few days", "class")
    few_cells_fit(monkeypatch, 200, 150)
    classifier = ANBClassifier(ess=1.0, max_parents=2, handle_missing="own_state", time_limit=1e-9)
    structure = classifier.fit(frame.lazy(), "class").structure_
    assert not structure.certificate.optimal
    assert structure.certificate.gap == np.inf


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        (
            ANBClassifier(ess=1.0, handle_missing="own_state"),
            "of 400 rows, .* do not fit into memory .* a few columns at a time.* with a low max_parents",
        ),
        (TANClassifier(handle_missing="own_state"), "with a number for ess or smoothing"),
        (TANClassifier(ess=1.0, handle_missing="marginalize"), "of 400 rows would be left out for missing cells"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*rows have a missing feature")
def test_what_needs_the_rows_is_refused_with_their_number(classifier, message, monkeypatch):
    frame = repeating(1).select("a.b", "yes", "few days", "city", "cut", "class")
    few_cells_fit(monkeypatch, 50, 50)
    with pytest.raises(ValueError, match=message):
        classifier.fit(frame.lazy(), "class")


def test_enumerations_keep_their_order():
    frame = awkward(1).with_columns(pl.col("city; drop").cast(pl.Enum([f"c{k}" for k in range(30)])))
    eager, _ = fitted(NaiveBayesClassifier(), frame.drop("class"), frame["class"])
    lazy, _ = fitted(NaiveBayesClassifier(), frame.lazy(), "class")
    assert_same(lazy, eager)


def test_enumerations_of_duckdb_keep_their_order():
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.sql("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
        rows = connection.sql(
            "SELECT (CASE WHEN i % 2 = 0 THEN 'happy' WHEN i % 7 > 0 THEN 'ok' END)::mood AS a, i % 3 = 0 AS y "
            "FROM range(40) t(i)"
        )
        table, in_pandas = rows.to_arrow_table(), rows.df()
        lazy, _ = fitted(NaiveBayesClassifier(), rows, "y")
        eager, _ = fitted(NaiveBayesClassifier(), table.select(["a"]), table["y"].to_pandas().rename("y"))
        (column,) = LazySource.of(rows).marginal(["a"]).columns
    assert lazy.vocabulary_.states["a"] == ("sad", "ok", "happy", "(missing)")
    assert_same(lazy, eager)
    assert column.ordered
    np.testing.assert_array_equal(lazy.predict_proba(table.select(["a"])), lazy.predict_proba(in_pandas[["a"]]))


PLAIN = pl.DataFrame({"a": [1, 2, 1, 2], "y": ["u", "v", "u", "u"], "w": [1.0, -1.0, 1.0, 1.0]})
NO_CLASS = PLAIN.with_columns(y=pl.Series(["u", None, "v", "u"]))
INFINITE = pl.DataFrame({"a": [*range(20), float("inf")], "y": ["u", "v", "u"] * 7}, strict=False)


@pytest.mark.parametrize(
    ("frame", "given", "parameters", "error", "message"),
    [
        (PLAIN, (PLAIN["y"],), {}, TypeError, "y must be the name of a column of the lazy frame, not a Series"),
        (PLAIN, (None,), {}, TypeError, "y must be the name"),
        (PLAIN, ("z",), {}, ValueError, "y='z' is not a column"),
        (PLAIN, ("y", [1, 1, 1, 1]), {}, TypeError, "sample_weight must be the name"),
        (PLAIN, ("y", "w"), {}, ValueError, r"the weights in column 'w' .* \(1 are not\)"),
        (PLAIN, ("y", "y"), {}, ValueError, "sample_weight='y' is a column of String, not of numbers"),
        (PLAIN, ("a", "a"), {}, ValueError, "cannot be both"),
        (PLAIN.select("y"), ("y",), {}, ValueError, "0 feature"),
        (PLAIN.head(0), ("y",), {}, ValueError, "the lazy frame is empty"),
        (NO_CLASS, ("y",), {}, ValueError, "the class 'y' is missing in 1 row"),
        (INFINITE, ("y",), {}, ValueError, "column 'a' contains infinite values"),
        (INFINITE, ("y",), {"discretizer": None}, ValueError, "column 'a' is numeric with more than 10"),
        (INFINITE, ("y",), {"discretizer": "none"}, TypeError, "discretizer must be one of"),
        (PLAIN, ("y",), {"categories": {"a": [1, 3]}}, ValueError, r"column 'a' contains 2, .* \(2 such rows\)"),
        (INFINITE.head(20), ("y",), {"class_weight": {"u": 0.5, "v": 0.5}}, ValueError, "a weight of 1 or more"),
    ],
)
def test_what_cannot_be_counted_is_refused(frame, given, parameters, error, message):
    with pytest.raises(error, match=message):
        NaiveBayesClassifier(**parameters).fit(frame.lazy(), *given)


@pytest.mark.parametrize("engine", marked(["polars", "duckdb", "ibis"]))
def test_columns_that_cannot_be_states_are_named(engine):
    """Not the name under which they are counted, nor a function of the engine."""
    frame = pl.DataFrame({"z": ["x", "y"] * 20, "c": [[1], [2, 3]] * 20, "y": ["u", "v"] * 20})
    with pytest.raises(TypeError, match=r"column 'c' (contains .*: a cell must be hashable|has a type whose)"):
        NaiveBayesClassifier().fit(ENGINES[engine](frame), y="y")


DUCKDB = {
    "interval": "INTERVAL (k) DAY",
    "blob": "('v' || k)::BLOB",
    "bit": "k::INTEGER::BIT",
    "map": "MAP {'a': k}",
    "struct": "{'a': k}",
    "array": "array_value(k, k)",
}


@pytest.mark.parametrize("kind", DUCKDB)
def test_types_of_duckdb_are_named_with_a_remedy(kind):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    rows = duckdb.sql(f"SELECT {DUCKDB[kind]} AS c, k % 2 AS y FROM (SELECT k % 20 AS k FROM range(200) AS t(k))")
    with pytest.raises(TypeError, match=r"column 'c' (contains|has a type) .*convert it to text"):
        NaiveBayesClassifier().fit(rows, y="y")
    text = duckdb.sql("SELECT c::VARCHAR AS c, y FROM rows")
    model = NaiveBayesClassifier(drop_identifiers=False).fit(text, y="y")
    assert "c" in model.groups_


def test_integers_that_numpy_does_not_have():
    numbers = [2**70 + 7 * k for k in range(40)] * 5
    frame = pl.DataFrame({"a": pl.Series(numbers, dtype=pl.Int128), "y": [k % 40 > 20 for k in range(200)]})
    lazy = NaiveBayesClassifier().fit(frame.lazy(), y="y")
    eager = NaiveBayesClassifier().fit(frame.select("a"), frame["y"])
    assert_same(lazy, eager)


def test_rows_that_change_while_they_are_counted_are_refused(tmp_path):
    path = tmp_path / "rows.csv"
    PLAIN.write_csv(path)

    source = LazySource.of(pl.scan_csv(path))
    first = source.marginal(["y"])
    pl.concat([PLAIN, PLAIN.head(1)]).write_csv(path)
    with pytest.raises(ValueError, match=r"found 5 rows instead of 4"):
        source.counted_with(["a", "y"], first)


@pytest.mark.parametrize("name", ["cut", "city", "few", "class"])
@pytest.mark.parametrize("fit", [DiscreteTable.from_frame, lambda *of: NaiveBayesClassifier(ess=1.0).fit(*of)])
def test_values_that_change_while_they_are_counted_are_refused(fit, name, monkeypatch):
    frame = repeating(5).select("few", "yes", "cut", "city", "class")
    changed = LazySource.of(frame.with_columns(pl.col(name).max()).lazy())
    counted = LazySource.joint
    monkeypatch.setattr(LazySource, "joint", lambda _, *given: counted(changed, *given))
    monkeypatch.setattr("anbexact.tables.frames.lazy.MOST_SAMPLED", 0)
    with pytest.raises(ValueError, match=f"changed while they were counted.*other numbers of the values of '{name}'"):
        fit(frame.lazy(), "class")


def test_too_many_values_are_refused(monkeypatch):
    monkeypatch.setattr("anbexact.tables.frames.lazy.MOST_GROUPS", 3)
    with pytest.raises(ValueError, match="column 'a' has more than 3 different values"):
        NaiveBayesClassifier().fit(pl.DataFrame({"a": range(9), "y": ["u", "v", "w"] * 3}).lazy(), "y")


def test_too_many_distinct_rows_are_refused(monkeypatch):
    monkeypatch.setattr("anbexact.tables.counted.lazy_table.available_memory", lambda: 300)
    with pytest.raises(ValueError, match="distinct rows of states, which do not fit into memory"):
        NaiveBayesClassifier().fit(PLAIN.drop("w").lazy(), "y")
