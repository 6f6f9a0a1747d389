"""Tables classified a part at a time: the answers are those of the whole table, in its order."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from engines import EACH, ENGINES

from anbexact import NaiveBayesClassifier, PooledClassifier, RefittedClassifier, TANClassifier

pytestmark = pytest.mark.filterwarnings("ignore:Resolving the schema")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 400)
    return pl.DataFrame(
        {
            "id": [f"p{k}" for k in range(400)],
            "a.b": [["x", "y", None, "q'"][k] for k in (rng.integers(0, 4, 400) + y) % 4],
            "n": (rng.normal(size=400) + y).round(2).tolist(),
            "class": [["no", "maybe", "yes"][k] for k in y],
        }
    )


@pytest.fixture(scope="module")
def classifier(rows):
    X = rows.select("a.b", "n").to_pandas()
    return TANClassifier(ess=1.0).fit(X, rows["class"].to_pandas())


def as_told(classifier, rows):
    """What the methods for whole tables say."""
    X = rows.select("a.b", "n").to_pandas()
    answers = pd.DataFrame({"id": rows["id"].to_list(), "predicted": classifier.predict(X)})
    answers[[f"P({label})" for label in classifier.classes_]] = classifier.predict_proba(X)
    return answers


def assert_same(parts, expected, sizes=None):
    parts = list(parts)
    if sizes is not None:
        assert [len(part) for part in parts] == sizes
    found = pd.concat(parts, ignore_index=True)
    assert list(found) == list(expected)
    assert found["id"].astype(object).tolist() == expected["id"].tolist()
    assert found["predicted"].tolist() == expected["predicted"].tolist()
    np.testing.assert_array_equal(found.iloc[:, 2:].to_numpy(), expected.iloc[:, 2:].to_numpy())


@pytest.mark.parametrize("engine", EACH)
def test_engines(engine, rows, classifier):
    lazy = ENGINES[engine](rows)
    parts = classifier.predict_frame(lazy, proba=True, keep=["id"], batch_rows=150)
    assert_same(parts, as_told(classifier, rows))


def test_tables_in_memory(rows, classifier):
    expected = as_told(classifier, rows)
    for table in (rows, rows.to_pandas(), rows.to_pandas().set_index(np.arange(400)[::-1]), rows.to_arrow()):
        parts = classifier.predict_frame(table, proba=True, keep=["id"], batch_rows=150)
        assert_same(parts, expected, [150, 150, 100])


def test_what_is_in_parts_already(rows, classifier):
    expected = as_told(classifier, rows)
    batches = rows.to_arrow().to_batches(max_chunksize=130)
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    for parts in (batches, reader, (rows[k : k + 130].to_pandas() for k in range(0, 400, 130))):
        found = classifier.predict_frame(parts, proba=True, keep=["id"])
        assert_same(found, expected, [130, 130, 130, 10])


@pytest.mark.parametrize("wrap", [RefittedClassifier, lambda model: PooledClassifier([model], folds=2)])
def test_other_classifiers(wrap, rows):
    X = rows.select("a.b", "n").to_pandas()
    classifier = wrap(NaiveBayesClassifier(ess=1.0)).fit(X, rows["class"].to_pandas())
    parts = classifier.predict_frame(rows, proba=True, keep=["id"], batch_rows=399)
    assert_same(parts, as_told(classifier, rows), [399, 1])


def test_arrays_and_nothing_but_classes():
    array = np.array([["x", 0.5], ["y", 2.0], [None, 1.0]], dtype=object)
    frame = NaiveBayesClassifier(ess=1.0).fit(array, [0, 1, 1])
    (part,) = frame.predict_frame(array)
    assert list(part) == ["predicted"]
    assert part["predicted"].tolist() == frame.predict(array).tolist()


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        ("path.parquet", {}, TypeError, "not a str"),
        (3, {}, TypeError, "not a int"),
        (None, {"keep": ["weight"]}, ValueError, "keep names 'weight', which is not a column of the table"),
        (None, {"keep": ["predicted"]}, ValueError, "'predicted', which is a column of the result"),
        (None, {"keep": ["P(no)"], "proba": True}, ValueError, r"'P\(no\)', which is a column of the result"),
        (None, {"batch_rows": 0}, ValueError, "batch_rows must be a whole number, 1 or more, not 0"),
    ],
)
def test_refused(table, options, error, message, rows, classifier):
    with pytest.raises(error, match=message):
        list(classifier.predict_frame(rows if table is None else table, **options))


def test_missing_features_are_named(rows, classifier):
    with pytest.raises(ValueError, match=r"'?n\b"):
        list(classifier.predict_frame(rows.drop("n")))
