"""Drawn rows in the units and types of the training table, whatever its columns contain."""

import copy
import json
import pickle
import warnings
from datetime import date, time
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import anbexact
from anbexact import ANBClassifier, DiscreteTable, NaiveBayesClassifier, TANClassifier
from anbexact.classifiers import FixedStructureClassifier
from anbexact.files import classifiers as files

N = 400


def mixed_table():
    """A table with a column of every kind, and its classes."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, N)
    days = rng.integers(0, 900, N) + 100 * y
    start = pd.Timestamp("2021-03-01")
    X = pd.DataFrame(
        {
            "float": rng.normal(y, 1),
            "places": np.round(rng.normal(10 * y, 9), 2),
            "count": rng.poisson(200 + 20 * y),
            "few": rng.integers(1, 5, N),
            "halves": rng.integers(1, 5, N) / 2,
            "bool": rng.random(N) < 0.3 + 0.2 * y,
            "text": rng.choice(["red", "green", "blue"], N),
            "many": np.array([f"v{k}" for k in range(30)])[rng.integers(0, 10, N) + 10 * y],
            "nominal": pd.Categorical(rng.choice(["x", "z"], N), categories=["z", "y", "x"]),
            "ordinal": pd.Categorical(rng.choice(list("lmh"), N), categories=list("lmh"), ordered=True),
            "day": [(start + pd.Timedelta(days=int(d))).date() for d in days],
            "moment": start + pd.to_timedelta(days, "D") + pd.to_timedelta(rng.integers(0, 86_400, N), "s"),
            "zoned": (start + pd.to_timedelta(days, "D") + pd.Timedelta(hours=5)).tz_localize("Europe/Zurich"),
            "duration": pd.to_timedelta(rng.integers(60, 9000, N) * (1 + y), "s"),
            "clock": [
                time(int(h), int(m)) for h, m in zip(rng.integers(0, 24, N), rng.integers(0, 60, N), strict=True)
            ],
            "month": pd.PeriodIndex.from_ordinals(rng.integers(500, 640, N), freq="M"),
            "decimal": [Decimal(int(c)) / 100 for c in rng.integers(100, 90_000, N)],
            "price": [f"$ {c:,}" for c in rng.integers(100, 90_000, N) * (1 + y)],
            "comma": [f"{v:.1f}".replace(".", ",") for v in rng.normal(50, 20, N)],
            "written": [f"{start + pd.Timedelta(days=int(d)):%Y-%m-%d}" for d in days],
        }
    )
    return X, pd.Series(np.array(["no", "perhaps", "yes"])[y], name="answer")


@pytest.fixture(scope="module")
def mixed():
    X, y = mixed_table()
    return X, y, NaiveBayesClassifier().fit(X, y)


@pytest.fixture(scope="module")
def rows(mixed):
    return mixed[2].sample(3000, random_state=1)


def test_columns_are_those_of_training(mixed, rows):
    X, y, _ = mixed
    assert rows.columns.tolist() == [*X.columns, "answer"]
    assert rows.index.equals(pd.RangeIndex(3000))
    assert set(rows["answer"]) == set(y)


SAME_TYPE = ["float", "places", "count", "few", "halves", "bool", "text", "nominal", "ordinal", "month"]
OBJECTS = {"day": date, "clock": time, "decimal": Decimal, "price": str, "comma": str, "written": str}


def test_types_are_those_of_training(mixed, rows):
    X = mixed[0]
    for name in SAME_TYPE:
        assert rows[name].dtype == X[name].dtype, name
    for name, kind in OBJECTS.items():
        assert set(map(type, rows[name])) == {kind}, name
    for name in ("moment", "duration"):
        assert rows[name].dtype.kind == X[name].dtype.kind
    assert str(rows["zoned"].dtype.tz) == "Europe/Zurich"
    assert set(map(type, rows["many"])) == {str}


def test_values_are_those_of_the_units(mixed, rows):
    """Whole numbers, hundredths, days and months; no value lies outside the range of the training values."""
    X = mixed[0]
    assert (rows["places"].round(2) == rows["places"]).all()
    assert {-value.as_tuple().exponent for value in rows["decimal"]} == {2}
    assert set(rows["few"]) == set(X["few"])
    assert set(rows["many"]) == set(X["many"])
    assert (rows["moment"].dt.floor("s") == rows["moment"]).all()
    assert (rows["zoned"].dt.minute == 0).all()
    assert all(value.second == 0 for value in rows["clock"])
    for name in (*SAME_TYPE[:5], "day", "moment", "zoned", "duration", "clock", "month", "decimal"):
        assert X[name].min() <= rows[name].min(), name
        assert rows[name].max() <= X[name].max(), name
    assert rows["price"].str.fullmatch(r"\$ \d{1,3}(,\d{3})*").all()
    assert rows["comma"].str.fullmatch(r"-?\d+(,\d)?").all()
    assert rows["written"].str.fullmatch(r"\d{4}-\d\d-\d\d").all()


def test_rows_are_read_as_what_was_drawn(mixed, rows):
    """The states of the values are distributed as the network says, so every value is in its own interval."""
    X, _, classifier = mixed
    codes = classifier.reader_.codes(rows[X.columns])
    assert (codes >= 0).all()
    answers = classifier.classes_.tolist()
    of_class = np.array([answers.index(answer) for answer in rows["answer"]])
    for own, name in zip(codes, X.columns, strict=True):
        table = classifier.conditional_tables_[name].values
        for c in range(3):
            counts = np.bincount(own[of_class == c], minlength=len(table))
            error = np.sqrt(table[:, c] * (1 - table[:, c]) / counts.sum())
            assert (np.abs(counts / counts.sum() - table[:, c]) < 4.5 * error + 1e-9).all(), name


def test_the_shape_within_states(mixed, rows):
    """A column's distribution function is that of training, up to the chance of both."""
    X = mixed[0]
    for name in ("float", "count", "places"):
        at = np.quantile(X[name], np.linspace(0.02, 0.98, 40))
        own, drawn = (np.searchsorted(np.sort(v), at, side="right") / len(v) for v in (X[name], rows[name]))
        assert np.abs(own - drawn).max() < 0.06, name
    shares = X["many"].value_counts(normalize=True)
    assert np.abs(rows["many"].value_counts(normalize=True) - shares).max() < 0.02


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("float", 0.123456), ("count", 212), ("few", 2), ("halves", 1.5), ("bool", True), ("text", "blue"),
        ("many", "v17"), ("nominal", "z"), ("ordinal", "m"), ("day", date(2022, 5, 17)),
        ("moment", pd.Timestamp("2022-05-17 10:11:12")), ("duration", pd.Timedelta(minutes=31)),
        ("clock", time(13, 37)), ("month", pd.Period("2020-02", "M")), ("decimal", Decimal("17.25")),
        ("price", "$ 12,345"), ("comma", "41,7"), ("written", "2022-05-17"),
    ],
    ids=str,
)  # fmt: skip
def test_evidence_stands_in_all_rows(mixed, name, value):
    column = mixed[2].sample(20, {name: value}, random_state=0)[name]
    assert (column == value).all()
    assert column.dtype == mixed[2].sample(20, random_state=0)[name].dtype


def test_sample_of_a_sample(mixed, rows):
    """A sample can be fitted in turn, and is read alike."""
    X, _, classifier = mixed
    again = NaiveBayesClassifier(categories={"text": ["red", "green", "blue"]}).fit(rows[X.columns], rows["answer"])
    assert set(again.cut_points_) == set(classifier.cut_points_)
    assert again.vocabulary_.quantities.keys() == classifier.vocabulary_.quantities.keys()


def test_missing_cells_and_columns_left_out():
    """Missing cells are those of the type; a column that was left out is missing."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    X = pd.DataFrame(
        {
            "number": np.where(rng.random(N) < 0.3, np.nan, rng.normal(y, 1)),
            "whole": pd.array(np.where(rng.random(N) < 0.3, None, rng.integers(1, 4, N)), dtype="Int64"),
            "flag": pd.array(np.where(rng.random(N) < 0.3, None, rng.random(N) < 0.5), dtype="boolean"),
            "text": np.where(rng.random(N) < 0.3, None, rng.choice(["a", "b"], N)),
            "moment": pd.Series(pd.date_range("2020-01-01", periods=N, freq="h")).where(rng.random(N) < 0.7),
            "many": np.where(
                rng.random(N) < 0.3, None, np.array([f"w{k}" for k in range(20)])[rng.integers(0, 20, N)]
            ),
            "key": [f"K-{k}" for k in range(N)],
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the column "key" is left out
        classifier = NaiveBayesClassifier(handle_missing="own_state").fit(X, y)
    rows = classifier.sample(2000, missing=True, random_state=0)
    assert rows["key"].isna().all()
    for name in ("number", "whole", "flag", "text", "moment", "many"):
        assert rows[name].isna().mean() == pytest.approx(X[name].isna().mean(), abs=0.05), name
    complete = classifier.sample(200, random_state=0)
    assert complete.drop(columns="key").notna().all(axis=None)
    assert [str(rows[name].dtype) for name in ("number", "whole", "flag")] == ["float64", "Int64", "boolean"]
    assert [str(complete[name].dtype) for name in ("number", "whole", "flag")] == ["float64", "int64", "bool"]
    assert (classifier.reader_.codes(rows[X.columns]) >= 0).all()


def test_names_of_any_kind():
    X = pd.DataFrame({1: ["u", "v"] * 20, ("a", 2): ["x", "x", "y", "y"] * 10})
    rows = NaiveBayesClassifier().fit(X, ["p", "q"] * 20).sample(5, {("a", 2): "y"}, random_state=0)
    assert rows.columns.tolist() == [1, ("a", 2), "class"]
    assert (rows[("a", 2)] == "y").all()


@pytest.mark.parametrize("library", ["polars", "lazy"])
def test_other_frames(mixed, library):
    """What is recorded of a column does not depend on the library, nor on who counts its values."""
    X, y, _ = mixed
    names = ["float", "count", "few", "bool", "many"]
    table = pl.DataFrame({**{name: X[name].tolist() for name in names}, "answer": y.tolist()})
    expected = NaiveBayesClassifier().fit(X[names], y)
    own = NaiveBayesClassifier()
    own = own.fit(table.lazy(), "answer") if library == "lazy" else own.fit(table[names], table["answer"])
    assert own.vocabulary_.records.keys() == expected.vocabulary_.records.keys() == {"float", "count", "many"}
    for name, record in expected.vocabulary_.records.items():
        assert own.vocabulary_.records[name].values == pytest.approx(record.values) or record.weights
        assert own.vocabulary_.records[name].dtype == record.dtype
        assert own.vocabulary_.records[name].weights == record.weights
    pd.testing.assert_frame_equal(own.sample(50, random_state=2), expected.sample(50, random_state=2))


def test_weights_and_rows_of_weight_0():
    X = pd.DataFrame({"v": np.arange(40.0), "g": [f"g{k % 20}" for k in range(40)]})
    weights = np.where(np.arange(40) < 30, np.arange(40) + 1.0, 0.0)
    records = NaiveBayesClassifier().fit(X, [0, 1] * 20, sample_weight=weights).vocabulary_.records
    assert records["v"].values == tuple(np.arange(30.0))
    assert records["v"].weights == tuple(weights[:30])
    of_groups = dict(zip(records["g"].values, records["g"].weights, strict=True))
    assert of_groups == {f"g{k}": weights[k] + weights[k + 20] for k in range(20)}


# ---- files, and networks that do not know the training values


def test_saved_and_pickled(mixed, tmp_path):
    classifier = mixed[2]
    classifier.save(tmp_path / "model.json")
    expected = classifier.sample(100, random_state=9)
    for read in (anbexact.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(classifier))):
        assert read.vocabulary_.records == classifier.vocabulary_.records
        pd.testing.assert_frame_equal(read.sample(100, random_state=9), expected)


def without_records(document):
    """A file as earlier versions wrote it."""
    document = copy.deepcopy(document)
    for variable in document["variables"]:
        variable.pop("record", None)
    return document | {"sha256": files.digest(document)}


def test_a_file_of_an_earlier_version_gives_intervals(mixed, tmp_path):
    """And groups; states are as always."""
    X, _, classifier = mixed
    classifier.save(tmp_path / "model.json")
    document = without_records(json.loads((tmp_path / "model.json").read_text()))
    (tmp_path / "earlier.json").write_text(json.dumps(document))
    earlier = anbexact.load(tmp_path / "earlier.json")
    np.testing.assert_array_equal(earlier.predict_proba(X), classifier.predict_proba(X))
    with pytest.warns(UserWarning, match=r"intervals or groups instead of values in 14 columns, among them 'float'"):
        rows = earlier.sample(500, random_state=0)
    for name in ("float", "many", "day"):
        assert rows[name].cat.categories.tolist() == list(classifier.vocabulary_.states[name])
        assert rows[name].cat.ordered
    assert rows["few"].dtype == np.int64
    assert set(rows["bool"]) == {False, True}


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("weights", [1.0], "every value must have a weight"),
        ("values", {"type": "tuple", "value": [2.0, 1.0]}, "every value must have a weight"),
        ("dtype", "int8", "no record of the type 'int8'"),
    ],
)
def test_damaged_records_are_refused(tmp_path, field, value, what):
    X = pd.DataFrame({"v": np.arange(40.0)})
    NaiveBayesClassifier().fit(X, [0, 1] * 20).save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    document["variables"][0]["record"]["value"][field] = value
    document["sha256"] = files.digest(document)
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=f"records: .*{what}"):
        anbexact.load(tmp_path / "model.json")


def test_a_copy_without_rows_keeps_no_values():
    """It goes to other people, so it must not tell what the rows were."""
    X = pd.DataFrame({"v": np.arange(40.0)})
    empty = NaiveBayesClassifier(ess=1.0).fit(X, [0, 1] * 20).without_rows()
    assert empty.vocabulary_.records == {}
    with pytest.warns(UserWarning, match=r"instead of values in column 'v', because this model does not know"):
        assert empty.sample(3)["v"].dtype == "category"


def test_discrete_forms_draw_values(mixed):
    """The network of the most probable levels of densities, and that of a structure, know the training values."""
    X, y, _ = mixed
    X = X[["float", "count"]]
    universal = TANClassifier(continuous="universal").fit(X, y)
    for classifier in (universal.to_discrete(), FixedStructureClassifier(universal.structure_.parents).fit(X, y)):
        rows = classifier.sample(200, random_state=0)
        assert rows["count"].dtype == np.int64
        assert rows["float"].between(X["float"].min(), X["float"].max()).all()


def test_tables_of_states_have_no_values(mixed):
    """A table without cuts and groups records categorical types, and nothing else."""
    X = mixed[0][["few", "text", "nominal", "ordinal"]]
    records = DiscreteTable.from_frame(X).vocabulary.records
    assert {name: (record.values, record.dtype) for name, record in records.items()} == {
        "nominal": ((), "category"),
        "ordinal": ((), "ordered"),
    }


def test_vocabularies_are_compared_without_records():
    """Classifiers of different rows with the same states can be merged."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"v": rng.normal(size=100), "w": rng.integers(0, 2, 100)})
    whole = ANBClassifier(ess=1.0).fit(X, rng.integers(0, 2, 100))
    other = whole.without_rows().partial_fit(X[:50], rng.integers(0, 2, 50))
    values = whole.vocabulary_.records["v"]
    whole.merge(other)
    assert whole.vocabulary_.records["v"] == values


def test_records_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"few": rng.integers(0, 30, 900), "many": np.round(rng.normal(size=900), 2)})
    X["groups"] = [f"g{k}" for k in X["few"]]
    y, weights = rng.integers(0, 2, 900), rng.exponential(size=900)
    order = rng.permutation(900)
    one = NaiveBayesClassifier().fit(X, y, sample_weight=weights)
    other = NaiveBayesClassifier().fit(X.iloc[order], y[order], sample_weight=weights[order])
    assert one.vocabulary_.records.keys() == {"few", "many", "groups"}
    assert one.vocabulary_.records == other.vocabulary_.records
