"""The posterior as SQL: equal to predict_proba in the databases that are installed, whatever names and states are."""

import datetime
import os
import sqlite3
from decimal import Decimal
from functools import wraps
from numbers import Number

import deployed
import numpy as np
import pandas as pd
import polars as pl
import pytest
from real_parts import SERVER, marked
from tiers import repeats

from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    FANClassifier,
    GBNClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.adapters import to_sql
from anbexact.classifiers import AODEClassifier
from anbexact.datasets import load_iris

HOSTILE = ['x"y', "it's", "a.b", "; DROP TABLE rows; --", "üñ\\n€", "`tick`", "", "{}"]


def rows(seed, n=400):
    """Features of all kinds whose names and states are hostile, and a class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    first = (rng.integers(0, 8, n) + y) % 8
    frame = pd.DataFrame(
        {
            'na"me; --': [HOSTILE[k] for k in first],
            "a.b": [HOSTILE[k] for k in (first // 2 + rng.integers(0, 2, n)) % 4],
            "`n'": (rng.normal(size=n) + y + first / 4).round(3),
            "whole": rng.integers(0, 50, n) + 5 * y,
            "few": [[1, 2, 3][k] for k in (first + (rng.random(n) < 0.2)) % 3],
            "city": [f"c{k}" for k in (rng.integers(0, 20, n) + 3 * y) % 23],
            "half": rng.integers(0, 3, n) / 2,
        }
    )
    return frame, pd.Series([["n'o", 'ye"s', "ma;ybe"][k] for k in y], name="class")


def checked(ask):
    """Return the answers without the prediction, which must be a class of the largest probability, or NULL."""

    @wraps(ask)
    def answers(query, frame):
        found = ask(query, frame)
        predicted = found.pop("prediction")
        shares = found[[name for name in found if name.startswith("P(")]].astype(float)
        texts = [str(label) for label in predicted]
        if predicted.dropna().map(lambda label: isinstance(label, Number)).all():
            read = {"True": 1.0, "False": 0.0}
            shares.columns = [f"P({float(read.get(name[2:-1], name[2:-1]))})" for name in shares]
            texts = [str(float(label)) if pd.notna(label) else None for label in predicted]
        for text, (_, row) in zip(texts, shares.iterrows(), strict=True):
            assert row.isna().all() if text in (None, "None", "nan") else row[f"P({text})"] == row.max()
        return found

    return answers


@checked
def in_sqlite(query, frame):
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("SELECT exp(1.0)")
    except sqlite3.OperationalError:
        pytest.skip("this SQLite has no mathematical functions")
    frame.to_sql('ro"ws', connection, index=False)
    return pd.read_sql_query(query, connection)


@checked
def in_duckdb(query, frame):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    connection = duckdb.connect()
    connection.register('ro"ws', frame)
    return connection.sql(query).to_arrow_table().to_pandas()


@checked
def in_postgresql(query, frame):
    import psycopg

    with psycopg.connect(os.environ[SERVER]) as connection, connection.cursor() as cursor:
        kinds = {"i": "bigint", "f": "double precision", "b": "boolean"}
        names = [psycopg.sql.Identifier(str(name)) for name in frame]
        typed = [
            psycopg.sql.SQL("{} " + kinds.get(frame[column].dropna().infer_objects().dtype.kind, "text")).format(name)
            for name, column in zip(names, frame, strict=True)
        ]
        table = psycopg.sql.Identifier('ro"ws')
        cursor.execute(psycopg.sql.SQL("CREATE TEMP TABLE {} ({})").format(table, psycopg.sql.SQL(", ").join(typed)))
        with cursor.copy(psycopg.sql.SQL("COPY {} FROM STDIN").format(table)) as copy:
            for row in frame.astype(object).itertuples(index=False, name=None):
                copy.write_row([None if pd.isna(value) else value for value in row])
        cursor.execute(query)
        return pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description])


DATABASES = {"sqlite": in_sqlite, "duckdb": in_duckdb, "postgres": in_postgresql}
DIALECTS = marked(DATABASES, postgres="postgresql")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "classifier",
    [
        NaiveBayesClassifier(),
        TANClassifier(ess=1.0),
        FANClassifier(ess=1.0),
        ANBClassifier(max_parents=2, ess=1.0),
        GBNClassifier(max_parents=2, ess=1.0),
        RefittedClassifier(ANBClassifier(max_parents=2, ess=1.0), l2=1.0),
        AdditiveClassifier(NaiveBayesClassifier(ess=1.0), smooth=1.0),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
def test_the_posterior_is_that_of_predict_proba(classifier, dialect):
    for seed in repeats(2):
        frame, y = rows(seed)
        classifier.fit(frame, y)
        found = DATABASES[dialect](to_sql(classifier, dialect, table='ro"ws', keep=["whole", "a.b"]), frame)
        assert list(found) == ["whole", "a.b", *(f"P({label})" for label in classifier.classes_)]
        assert found["a.b"].tolist() == frame["a.b"].tolist()
        expected = classifier.predict_proba(frame)
        assert np.abs(found.iloc[:, 2:].to_numpy(float) - expected).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("table", "classifier"), deployed.MODELS)
def test_awkward_names_and_unseen_states(table, classifier, dialect):
    network = deployed.model(table, classifier)
    unknown = 0.0 if "handle_unknown" in deployed.TABLES[table][2] else 0.1
    trained, gaps = deployed.TABLES[table][0], deployed.rows(table, 0.1, unknown)
    for name in trained.select_dtypes(bool):
        gaps.loc[gaps[name] == -987, name] = None  # databases have no numbers among booleans
    for new in (trained, gaps):
        found = DATABASES[dialect](to_sql(network, dialect, table='ro"ws'), new).to_numpy(float)
        null = np.isnan(found).any(axis=1)
        odd = new.isna() | new.isin(["never seen", -987])
        assert not (null & ~odd.any(axis=1)).any()
        if classifier == "naive Bayes":
            assert not null.any()
        assert np.abs(found - deployed.expected(network, new))[~null].max() < 1e-12


@pytest.mark.parametrize("dialect", DIALECTS)
def test_pools_by_their_logistic_regression(dialect):
    frame, y = rows(2, 200)
    frame = frame.iloc[:, :3]
    pool = PooledClassifier([TANClassifier(ess=1.0), AdditiveClassifier(NaiveBayesClassifier(ess=1.0), smooth=1.0)])
    pool.fit(frame, y)
    query = to_sql(pool, dialect, table='ro"ws')
    assert query == to_sql(pool.to_logit(), dialect, table='ro"ws')
    found = DATABASES[dialect](query, frame).to_numpy(float)
    assert np.abs(found - pool.predict_proba(frame)).max() < 1e-12
    (null,) = DATABASES[dialect](query, frame.head(1)).isna().to_numpy()
    assert not null.any()


def too_large(_):
    raise MemoryError("too large")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_a_network_the_regression_itself(dialect, monkeypatch):
    """Complete rows have its posterior; in the others nothing can be summed out."""
    frame, y = rows(4, 200)
    refit = RefittedClassifier(TANClassifier(ess=1.0), l2=1.0).fit(frame, y)
    expected = refit.predict_proba(frame)

    monkeypatch.setattr(type(refit.logit_), "summing_network", property(too_large))
    query = to_sql(refit, dialect, table='ro"ws')
    assert np.abs(DATABASES[dialect](query, frame).to_numpy(float) - expected).max() < 1e-12
    gaps = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    null = DATABASES[dialect](query, gaps).isna().all(axis=1)
    assert null.tolist() == gaps.isna().any(axis=1).tolist()


LABELS = [["no", "it's"], [-1, 7], [1.0, 2.0], [False, True], [datetime.date(2020, 1, 2), datetime.date(2020, 1, 3)]]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: type(labels[0]).__name__)
def test_the_prediction_is_a_label(labels, dialect):
    frame = pd.DataFrame({"a": ["x", "y", "x", "y", "z", "z"]})
    y = np.array([*labels, *labels, *labels], dtype=object if isinstance(labels[0], datetime.date) else None)
    network = NaiveBayesClassifier(ess=1.0).fit(frame, y)
    asked = DATABASES[dialect].__wrapped__(to_sql(network, dialect, table='ro"ws'), frame)
    plain = [str(label) if isinstance(label, datetime.date) else label for label in network.predict(frame).tolist()]
    assert asked["prediction"].tolist() == plain
    assert plain[4] == sorted(plain)[0]  # the first of equally probable ones


@pytest.mark.parametrize("dialect", DIALECTS)
def test_gaps_are_states_or_summed_out_or_null(dialect):
    frame, y = rows(7)
    rng = np.random.default_rng(1)
    gaps = rng.random(frame.shape) < 0.1
    training = frame.copy()
    training["city"] = training["city"].mask(gaps[:, 5])
    network = TANClassifier(ess=1.0).fit(training, y)
    inner = {parent for name in frame for parent in network.structure_.parents[name]} - {"class"}
    new = frame.mask(gaps)
    new.loc[~gaps[:, 0] & (rng.random(len(frame)) < 0.1), 'na"me; --'] = "unknown"
    assert network.handle_missing_["city"] == "own_state"
    found = DATABASES[dialect](to_sql(network, dialect, table='ro"ws'), new).to_numpy(float)
    null = np.isnan(found).any(axis=1)
    summed_out = new.isna().assign(city=False) | (new == "unknown")
    assert not (null & ~summed_out[list(inner)].any(axis=1)).any()
    assert 0 < null.sum() < summed_out.any(axis=1).sum()
    assert np.abs(found - network.predict_proba(new))[~null].max() < 1e-12
    naive = NaiveBayesClassifier().fit(training, y)
    found = DATABASES[dialect](to_sql(naive, dialect, table='ro"ws'), new).to_numpy(float)
    assert np.abs(found - naive.predict_proba(new)).max() < 1e-12


def test_booleans_dates_and_decimals_are_literals():
    n = 60
    frame = pl.DataFrame(
        {
            "b": [k % 3 == 0 for k in range(n)],
            "d": [datetime.date(2020, 1, 1 + k % 2) for k in range(n)],
            "m": [Decimal(k % 4) / 4 for k in range(n)],
            "price": [Decimal(k % 30) / 4 for k in range(n)],
        }
    )
    network = TANClassifier(ess=1.0).fit(frame, ["u", "v", "u"] * (n // 3))
    found = in_duckdb(to_sql(network, table='ro"ws'), frame.to_arrow()).to_numpy(float)
    assert np.abs(found - network.predict_proba(frame)).max() < 1e-12


DATES = pd.DataFrame({"d": pd.date_range("2020", periods=40), "e": ["a", "b"] * 20})
IRIS = load_iris()[0].head(40)
YES = ["u", "v", "v", "v"] * 10


@pytest.mark.parametrize(
    ("X", "parameters", "dialect", "error", "message"),
    [
        (DATES, {"discretizer": "median"}, "duckdb", ValueError, "column 'd' contains datetimes, whose intervals"),
        (DATES[["e"]], {"parameters": "ml"}, "duckdb", ValueError, "the table of 'e' holds a zero"),
        (DATES[["e"]], {}, "oracle", ValueError, "dialect must be one of 'duckdb', 'postgres'"),
        (DATES[["e"]].rename(columns={"e": 1}), {}, "duckdb", TypeError, "must be text in SQL, not 1"),
        (DATES[["e"]].rename(columns={"e": "a\0"}), {}, "duckdb", ValueError, "contains the character NUL"),
        (DATES[["d"]].head(2), {}, "duckdb", ValueError, "column 'd' has the state .* a Timestamp"),
        (IRIS, {"continuous": "universal"}, "duckdb", ValueError, r"export the classifier that its to_discrete\(\)"),
    ],
)
def test_what_sql_cannot_say_is_refused(X, parameters, dialect, error, message):
    network = NaiveBayesClassifier(**parameters).fit(X, YES[: len(X)])
    with pytest.raises(error, match=message):
        to_sql(network, dialect)


def test_a_column_that_is_kept_is_not_the_prediction():
    network = NaiveBayesClassifier().fit(DATES[["e"]], YES)
    with pytest.raises(ValueError, match=r"keep= names a column 'prediction', but .* rename the column in a view"):
        to_sql(network, keep=["e", "Prediction"])


def test_other_classifiers_are_refused():
    with pytest.raises(TypeError, match=r"to_sql takes a fitted network, a refitted classifier .*, not an AODE"):
        to_sql(AODEClassifier().fit(DATES[["e"]], YES))


@pytest.mark.parametrize("table", ["codes", "LOGS", "totals"])
def test_tables_may_have_the_names_of_steps(table):
    frame, y = rows(3, 60)
    frame = frame.rename(columns=dict(zip(frame, ["c1", "k0", "l0", "top", "total", "e0", "c0"], strict=True)))
    network = TANClassifier(ess=1.0).fit(frame, y)
    connection = sqlite3.connect(":memory:")
    frame.to_sql(table, connection, index=False)
    found = pd.read_sql_query(to_sql(network, "sqlite", table=table, keep=["k0", "top"]), connection)
    assert found["prediction"].tolist() == network.predict(frame).tolist()
    assert np.abs(found.iloc[:, 2:-1].to_numpy(float) - network.predict_proba(frame)).max() < 1e-12


def test_booleans_are_numbers_in_sqlite():
    network = NaiveBayesClassifier().fit(pd.DataFrame({"e": [True, False]}), ["u", "v"])
    assert "IN (1) THEN 1" in to_sql(network, "sqlite")


@pytest.mark.parametrize(
    ("dialect", "parts"),
    [
        ("postgres", ['"na""me; --"', " E'üñ\\\\n€'", "'it''s'", "::double precision[])[1 + "]),
        ("spark", ['`na"me; --`', "```n'`", "'üñ\\u005cn€'", "'it\\u0027s'", "array("]),
    ],
)
def test_names_and_states_are_quoted_for_databases_that_are_not_here(dialect, parts):
    frame, y = rows(0)
    query = to_sql(NaiveBayesClassifier(group_categories=None).fit(frame, y), dialect)
    assert all(part in query for part in parts)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark", "sqlite"])
def test_names_that_differ_in_case_alone(dialect):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=80)
    X = pd.DataFrame({"age": np.where(rng.random(80) < 0.2, 1 - y, y), "Job": rng.integers(3, size=80), "AGE": 1 - y})
    classifier = NaiveBayesClassifier(ess=1.0).fit(X, y)
    if dialect == "postgres":  # where quoted names keep their case
        assert '"AGE"' in to_sql(classifier, dialect)
        return
    with pytest.raises(ValueError, match=r"columns 'age' and 'AGE' differ only in case, .* rename one of them"):
        to_sql(classifier, dialect)
    other = NaiveBayesClassifier(ess=1.0).fit(X[["age", "Job"]], y)
    to_sql(other, dialect, keep=["Job", "key"])
    with pytest.raises(ValueError, match="columns 'Job' and 'job' differ only in case"):
        to_sql(other, dialect, keep=["job"])


@pytest.mark.filterwarnings("ignore:to_sql expects column")
@pytest.mark.parametrize("model", [NaiveBayesClassifier(ess=1.0), TANClassifier(ess=1.0)])
def test_text_that_is_no_number_is_refused_where_it_would_be_cast(model):
    """SQLite reads 0 from "$1,250.00" and 12 from "12a", Spark reads NULL, which is in no interval but the last."""
    amount = np.arange(60) * 250.0
    X = pd.DataFrame({"amount": [f"${value:,.2f}" for value in amount], "other": np.arange(60) % 7 / 3})
    model = model.fit(X, np.where(amount < 7000, "low", "high"))
    asked = X.assign(amount=pd.Series(amount, dtype=object))
    asked.loc[:8, "amount"] = ["$1,250.00", "12a", "a", "", b"12", "1250.00", "1e3", " 7", "-3"]
    found = in_sqlite(to_sql(model, "sqlite", table='ro"ws'), asked)["P(low)"].astype(float)
    assert found.isna().tolist() == [True] * 5 + [False] * 55
    numbers = asked[5:].astype({"amount": float})
    np.testing.assert_allclose(found[5:], model.predict_proba(numbers)[:, 1], atol=1e-12)
    assert "WHEN CAST(`amount` AS DOUBLE) IS NULL THEN" in to_sql(model, "spark")
