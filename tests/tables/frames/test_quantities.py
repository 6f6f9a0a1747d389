"""Dates, times, durations, periods and decimals: ordered like the integers that they were made of, in any library."""

import datetime
import json
import pickle
import re
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from tiers import examples

import anbexact
import anbexact.tables.identifiers as questions
from anbexact import (
    ANBClassifier,
    DiscreteTable,
    NaiveBayesClassifier,
    TANClassifier,
    UniversalMeasure,
)
from anbexact.adapters import from_file, from_pgmpy, to_file
from anbexact.classifiers import AODEClassifier
from anbexact.compare import compare
from anbexact.discretize import EqualWidthPartition, MDLPDiscretizer, interval_names
from anbexact.tables.cuts import rules
from anbexact.tables.frames.moments import is_iso
from anbexact.tables.frames.quantities import Quantity, of_values
from anbexact.tables.frames.reading import read_columns
from anbexact.tables.vocabulary import MISSING, UNKNOWN, Vocabulary

START = datetime.datetime(2019, 12, 30, 22)
ZURICH = ZoneInfo("Europe/Zurich")
EPOCH = datetime.datetime(1970, 1, 1)


@pytest.fixture(autouse=True, scope="module")
def _plain_rules():
    """Cut by MDLP, and take whole numbers that number the rows as columns like others: they are compared with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(rules.RULES, "auto", MDLPDiscretizer)
        patch.setattr(questions, "FEWEST_ROWS", 10**9)
        yield


def frame(values, dtype=None):
    return pd.DataFrame({"a": pd.Series(values, dtype=dtype)})


def hours(k):
    return None if k is None else START + datetime.timedelta(hours=k)


def zoned(k):
    return None if k is None else hours(k).replace(tzinfo=datetime.UTC).astimezone(ZURICH)


def day(k):
    return None if k is None else START.date() + datetime.timedelta(days=k)


def duration(k):
    return None if k is None else datetime.timedelta(minutes=7 * k)


def time_of_day(k):
    return None if k is None else (EPOCH + datetime.timedelta(seconds=43_200 + k)).time()


def cents(k):
    return None if k is None else Decimal(k).scaleb(-2)


def month(k):
    return None if k is None else pd.Period(ordinal=k, freq="M")


def made(make, build):
    """Return a function from integers (None where missing) to a table of what they stand for."""
    return lambda numbers: build([make(k) for k in numbers])


def arrow_backed(dtype):
    return lambda values: pd.DataFrame({"a": pd.array(values, dtype=pd.ArrowDtype(dtype))})


def polars(dtype):
    return lambda values: pl.DataFrame({"a": pl.Series(values, dtype=dtype)})


def arrow(dtype):
    return lambda values: pa.table({"a": pa.array(values, type=dtype)})


def cells(values):
    return [[value] for value in values]


def objects(values):
    return frame(values, object)


CONTAINERS = {
    "datetime": {
        "pandas ns": made(hours, lambda v: frame(v, "datetime64[ns]")),
        "pandas s": made(hours, lambda v: frame(v, "datetime64[s]")),
        "pandas objects": made(hours, objects),
        "pandas objects, NaT": made(lambda k: pd.NaT if k is None else hours(k), objects),
        "pandas objects, time stamps": made(lambda k: None if k is None else pd.Timestamp(hours(k)), objects),
        "pandas objects, numpy": made(lambda k: None if k is None else np.datetime64(hours(k)), objects),
        "pandas arrow": made(hours, arrow_backed(pa.timestamp("ms"))),
        "polars us": made(hours, polars(pl.Datetime("us"))),
        "polars ns": made(hours, polars(pl.Datetime("ns"))),
        "polars objects": made(hours, lambda v: pl.DataFrame({"a": pl.Series(v, dtype=pl.Object)})),
        "pyarrow": made(hours, arrow(pa.timestamp("s"))),
        "numpy": made(hours, lambda v: np.array(v, dtype="M8[m]")[:, None]),
        "lists": made(hours, cells),
    },
    "datetime with a time zone": {
        "pandas": made(zoned, lambda v: frame(v, "datetime64[us, Europe/Zurich]")),
        "pandas, another zone": made(zoned, lambda v: frame(v, "datetime64[ns, Asia/Tokyo]")),
        "pandas objects": made(zoned, objects),
        "pandas arrow": made(zoned, arrow_backed(pa.timestamp("us", tz="UTC"))),
        "polars": made(zoned, polars(pl.Datetime("ms", "Europe/Zurich"))),
        "pyarrow": made(zoned, arrow(pa.timestamp("us", tz="America/New_York"))),
        "lists": made(zoned, cells),
    },
    "date": {
        "pandas objects": made(day, objects),
        "pandas datetimes": made(day, lambda v: frame(v, "datetime64[s]")),
        "pandas arrow": made(day, arrow_backed(pa.date32())),
        "polars": made(day, polars(pl.Date)),
        "pyarrow": made(day, arrow(pa.date64())),
        "lists": made(day, cells),
        "days": made(
            lambda k: day(k) if k is None or k % 2 else datetime.datetime.combine(day(k), datetime.time()), objects
        ),
    },
    "duration": {
        "pandas": made(duration, lambda v: frame(v, "timedelta64[ns]")),
        "pandas objects": made(duration, objects),
        "pandas arrow": made(duration, arrow_backed(pa.duration("s"))),
        "polars": made(duration, polars(pl.Duration("ms"))),
        "pyarrow": made(duration, arrow(pa.duration("us"))),
        "numpy": made(duration, lambda v: np.array(v, dtype="m8[s]")[:, None]),
        "lists": made(duration, cells),
    },
    "time": {
        "pandas objects": made(time_of_day, objects),
        "pandas arrow": made(time_of_day, arrow_backed(pa.time32("s"))),
        "polars": made(time_of_day, polars(pl.Time)),
        "pyarrow": made(time_of_day, arrow(pa.time64("ns"))),
        "lists": made(time_of_day, cells),
    },
    "decimal": {
        "pandas objects": made(cents, objects),
        "pandas objects, NaN": made(lambda k: Decimal("NaN") if k is None else cents(k), objects),
        "pandas objects, other numbers too": made(lambda k: cents(k) if k is None or k % 2 else k / 100, objects),
        "pandas arrow": made(cents, arrow_backed(pa.decimal128(9, 3))),
        "polars": made(cents, polars(pl.Decimal(12, 2))),
        "pyarrow": made(cents, arrow(pa.decimal128(20, 4))),
        "lists": made(cents, cells),
    },
    "period": {
        "pandas": made(month, lambda v: frame(v, "period[M]")),
        "pandas objects": made(month, objects),
        "lists": made(month, cells),
    },
}
TEXT = {
    "datetime": [lambda k: hours(k).isoformat(), lambda k: str(hours(k)), lambda k: f" {hours(k):%Y-%m-%d %H:%M}"],
    "datetime with a time zone": [lambda k: zoned(k).isoformat(), lambda k: f"{hours(k).isoformat()}Z"],
    "date": [lambda k: day(k).isoformat(), lambda k: f"{day(k)} 00:00"],
    "duration": [lambda k: str(pd.Timedelta(duration(k)))],
    "time": [lambda k: time_of_day(k).isoformat()],
    "decimal": [lambda k: str(cents(k)), lambda k: f"{k / 100:.2f}"],
    "period": [lambda k: str(month(k)), lambda k: f"{month(k)}-17"],
}
IN_NUMBERS = {"decimal": [made(lambda k: None if k is None else k / 100, lambda v: frame(v, float))]}
"""What a column may also be at prediction."""
ALL = [(kind, name) for kind, of_kind in CONTAINERS.items() for name in of_kind]


def integers(numbers):
    """The same column as integers; missing cells as those of a nullable dtype."""
    return pd.DataFrame({"a": pd.array(numbers, dtype="Int64")})


def labels(numbers):
    """Two classes that depend on the order of the numbers, not on single ones."""
    known = sorted(k for k in numbers if k is not None)
    low, high = known[len(known) // 3], known[2 * len(known) // 3]
    return np.array([int(k is not None and low <= k < high) for k in numbers])


many = st.lists(st.integers(-2000, 2000), min_size=12, max_size=40, unique=True).flatmap(
    lambda values: st.lists(st.sampled_from(values), max_size=20).map(lambda more: values + more)
)
few = st.lists(st.integers(-2000, 2000), min_size=2, max_size=10, unique=True).flatmap(
    lambda values: st.lists(st.sampled_from(values), max_size=20).map(lambda more: values + more)
)
RULES = st.sampled_from(["auto", "median", "equal_frequency"])


@pytest.mark.filterwarnings("ignore:no cut point was found", "ignore:X (has|does not have)")
@pytest.mark.parametrize(("kind", "name"), ALL)
class TestLikeNumbers:
    """A column of any kind, in any container, is cut where the same column of integers is."""

    @examples(5)
    @given(numbers=many, unseen=st.lists(st.integers(-3000, 3000), min_size=1, max_size=10), rule=RULES)
    def test_many_values_have_the_codes_of_integers(self, kind, name, numbers, unseen, rule):
        make, y = CONTAINERS[kind][name], labels(numbers)
        expected = NaiveBayesClassifier(ess=1.0, discretizer=rule).fit(integers(numbers), y)
        got = NaiveBayesClassifier(ess=1.0, discretizer=rule).fit(make(numbers), y)
        assert expected.cut_points_
        for rows in (numbers, unseen):
            assert got.reader_.codes(make(rows)).tolist() == expected.reader_.codes(integers(rows)).tolist()
            assert got.predict_proba(make(rows)).tolist() == expected.predict_proba(integers(rows)).tolist()

    @examples(3)
    @given(numbers=many)
    def test_intervals_of_equal_width_keep_the_order(self, kind, name, numbers):
        make = CONTAINERS[kind][name]
        got = NaiveBayesClassifier(ess=1.0, discretizer="equal_width").fit(make(numbers), labels(numbers))
        codes = got.reader_.codes(make(sorted(numbers)))[0].tolist()
        assert codes == sorted(codes)
        assert codes[0] == 0
        assert codes[-1] == 4

    @examples(3)
    @given(numbers=few)
    def test_few_values_are_states_in_their_order(self, kind, name, numbers):
        make = CONTAINERS[kind][name]
        got = NaiveBayesClassifier(ess=1.0).fit(make(numbers), labels(numbers))
        assert got.cut_points_ == {}
        codes = got.reader_.codes(make(sorted(set(numbers))))[0].tolist()
        assert codes == list(range(len(set(numbers))))

    @examples(3)
    @given(numbers=st.one_of(many, few), places=st.sets(st.integers(0, 11), min_size=1, max_size=4))
    def test_missing_cells(self, kind, name, numbers, places):
        make = CONTAINERS[kind][name]
        numbers = [None, *numbers, *(None for _ in places)]
        (column,) = read_columns(make(numbers))
        assert column.missing.tolist() == [k is None for k in numbers]
        expected = NaiveBayesClassifier(ess=1.0, handle_missing="own_state").fit(integers(numbers), labels(numbers))
        got = NaiveBayesClassifier(ess=1.0, handle_missing="own_state").fit(make(numbers), labels(numbers))
        assert got.reader_.codes(make(numbers)).tolist() == expected.reader_.codes(integers(numbers)).tolist()
        seen = [number for number in numbers if number is not None]
        got = NaiveBayesClassifier(ess=1.0, handle_missing="marginalize").fit(make(seen), labels(seen))
        assert got.reader_.codes(make([None, None])).tolist() == [[MISSING, MISSING]]

    @pytest.mark.parametrize(
        "numbers", [[None, *range(0, 120, 3)], [None, 5, 5, 5]], ids=["no cut point", "one value"]
    )
    def test_a_missing_cell_beside_a_single_state(self, kind, name, numbers):
        make, y = CONTAINERS[kind][name], [k % 2 for k in range(len(numbers))]
        model = NaiveBayesClassifier(
            ess=1.0, discretizer="mdlp", handle_missing="marginalize", handle_unknown="error"
        )
        expected, got = model.fit(integers(numbers), y).reader_, clone(model).fit(make(numbers), y)
        assert len(got.vocabulary_.states[got.vocabulary_.features[0]]) == 1
        others = [make, *CONTAINERS[kind].values()]
        for other in others:
            codes = got.reader_.codes(renamed(other(numbers), got))
            assert codes.tolist() == expected.codes(integers(numbers)).tolist()
        for write in TEXT[kind]:
            texts = pd.DataFrame({"a": [None if k is None else write(k) for k in numbers]})
            assert got.reader_.codes(renamed(texts, got)).tolist() == codes.tolist()
        assert got.partial_fit(make(numbers), y).predict(make(numbers)).shape == (len(numbers),)

    @examples(2)
    @given(numbers=st.one_of(many, few))
    def test_any_library_and_text_at_prediction(self, kind, name, numbers):
        make = CONTAINERS[kind][name]
        got = NaiveBayesClassifier(handle_unknown="error").fit(make(numbers), labels(numbers))
        expected = got.reader_.codes(make(numbers)).tolist()
        others = [*CONTAINERS[kind].values(), *IN_NUMBERS.get(kind, [])]
        for other in others:
            assert got.reader_.codes(renamed(other(numbers), got)).tolist() == expected
        for write in TEXT[kind]:
            texts = pd.DataFrame({"a": [write(k) for k in numbers]})
            assert got.reader_.codes(renamed(texts, got)).tolist() == expected

    def test_files_and_copies(self, kind, name, tmp_path):
        make, numbers = CONTAINERS[kind][name], [37 * k % 211 for k in range(120)]
        for rows in (numbers, [k % 4 for k in numbers]):
            X, y = make(rows), labels(rows)
            fitted = [
                NaiveBayesClassifier(ess=1.0).fit(X, y),
                ANBClassifier(continuous="universal").fit(X, y),
                AODEClassifier().fit(X, y),
            ]
            for classifier in fitted:
                classifier.save(tmp_path / "model.json")
                for copied in (anbexact.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(classifier))):
                    assert copied.vocabulary_ == classifier.vocabulary_
                    assert copied.vocabulary_.quantities == classifier.vocabulary_.quantities
                    assert copied.predict_proba(X).tolist() == classifier.predict_proba(X).tolist()


def renamed(X, classifier):
    """The table with the one column's name that the classifier knows."""
    (name,) = classifier.vocabulary_.features
    if isinstance(X, pd.DataFrame):
        return X.set_axis([name], axis=1)
    if isinstance(X, pl.DataFrame):
        return X.rename({"a": name})
    return X.rename_columns([name]) if isinstance(X, pa.Table) else X


def spread(make, n=200):
    """A column of many values, and classes that depend on where a value lies."""
    numbers = [(7919 * k) % 10_007 for k in range(n)]
    return make(numbers), np.array([int(2500 < k < 6000 or k > 9000) for k in numbers])


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("datetime", "pandas ns"),
        ("date", "polars"),
        ("decimal", "polars"),
        ("decimal", "pandas objects"),
        ("duration", "pyarrow"),
        ("period", "pandas"),
    ],
)
@pytest.mark.slow
def test_five_fold_accuracy_is_that_of_integers(kind, name):
    """Datetimes and decimals were states, each value one of its own: .477 where integers gave 1.000."""
    numbers = [*range(173), *range(250, 477)]
    y = np.array([int(k >= 173) for k in numbers])
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    X = CONTAINERS[kind][name](numbers)
    expected = cross_val_score(ANBClassifier(), integers(numbers).astype(int), y, cv=folds)
    got = cross_val_score(ANBClassifier(), X if isinstance(X, pd.DataFrame) else X.to_pandas(), y, cv=folds)
    assert got.tolist() == expected.tolist()
    assert got.tolist() == [1.0] * 5


class TestUnits:
    """Intervals and cut points are shown in the units of the column."""

    def states(self, values, y=None, **parameters):
        X = values if isinstance(values, pd.DataFrame) else pd.DataFrame({"a": values})
        y = [0] * 10 + [1] * (len(X) - 10) if y is None else y
        return NaiveBayesClassifier(**parameters).fit(X, y).vocabulary_.states["a"]

    def test_dates(self):
        days = pd.date_range("2020-03-22", periods=20, freq="D")
        assert self.states(days) == ("(-inf, 2020-03-31 12:00]", "(2020-03-31 12:00, inf)")
        assert self.states(days[::2].union(days[::2] + pd.Timedelta(days=100)))[0] == "(-inf, 2020-05-20]"

    def test_datetimes(self):
        moments = [START + datetime.timedelta(hours=2 * k) for k in range(20)]
        assert self.states(moments)[0] == "(-inf, 2019-12-31 17:00]"
        fine = pd.Timestamp("2021-06-15 12:00:01") + pd.to_timedelta(np.arange(20) * 2, unit="ns")
        assert self.states(fine)[0] == "(-inf, 2021-06-15 12:00:01.000000019]"

    def test_a_time_zone_is_shown_with_its_offset(self):
        hour = pd.date_range("2021-03-27 20:00", periods=20, freq="h", tz="Europe/Zurich")
        assert self.states(hour)[0] == "(-inf, 2021-03-28 06:30+02:00]"
        assert self.states(hour - pd.Timedelta(hours=12))[0] == "(-inf, 2021-03-27 17:30+01:00]"
        assert self.states(hour.tz_convert("America/New_York"))[0] == "(-inf, 2021-03-28 00:30-04:00]"

    def test_durations_times_periods_and_decimals(self):
        k = np.arange(20)
        assert self.states(pd.to_timedelta(k, unit="h") * 2.5)[0] == "(-inf, 23:45:00]"
        assert self.states(pd.to_timedelta(k + 10, unit="h") * 1.5)[0] == "(-inf, 1 day 05:15:00]"
        assert self.states(pd.to_timedelta(k * 2 - 19, unit="D"))[0] == "(-inf, 0 days]"
        assert self.states(pd.to_timedelta(-k[::-1], unit="D"))[0] == "(-inf, -9 days 12:00:00]"
        assert self.states([datetime.time(10, 2 * i) for i in range(20)])[0] == "(-inf, 10:19]"
        assert self.states(pd.period_range("2020-01", periods=20, freq="M"))[0] == "(-inf, 2020-10]"
        assert self.states(pd.period_range("2020Q1", periods=20, freq="Q"))[0] == "(-inf, 2022Q2]"
        assert self.states([Decimal(i) / 4 + Decimal("0.00") for i in range(20)])[0] == "(-inf, 2.375]"
        assert self.states([Decimal(i) * 2 + Decimal("0.50") for i in range(20)])[0] == "(-inf, 19.50]"
        assert self.states([Decimal(i) for i in range(20)])[0] == "(-inf, 9.5]"

    def test_names_differ_even_for_cuts_within_a_unit(self):
        for quantity in (
            Quantity("date", "D"),
            Quantity("datetime", "ns"),
            Quantity("time", "s"),
            Quantity("duration", "h"),
            Quantity("period", "M"),
            Quantity("decimal", places=1),
        ):
            cuts = np.array([10.1, 10.1 + 2**-40, 10.2, 11.0])
            names = interval_names(cuts, quantity)
            assert len(set(names)) == 5, names

    @pytest.mark.slow
    def test_explanations_terms_networks_and_reports(self, tmp_path):
        X, y = spread(CONTAINERS["date"]["pandas objects"])
        anb = ANBClassifier().fit(X, y)
        low, *_, high = anb.vocabulary_.states["a"]
        cut = ANBClassifier().fit(spread(integers)[0], y).cut_points_["a"][0]
        noon = datetime.datetime.combine(day(int(cut)), datetime.time(12))
        assert cut % 1 == 0.5
        assert low == f"(-inf, {noon:%Y-%m-%d %H:%M}]"
        shown = anb.explain(X)
        assert {row.terms.set_index("feature")["state"]["a"] for row in shown} == set(anb.vocabulary_.states["a"])
        assert f"a={high}" in anb.to_logit().terms.index
        assert anb.network_.states["a"] == list(anb.vocabulary_.states["a"])
        assert from_pgmpy(anb.network_, "class").predict(X).tolist() == anb.predict(X).tolist()
        to_file(anb, tmp_path / "a.bif")
        assert f"up_to_{noon:%Y_%m_%d_%H_%M}" in (tmp_path / "a.bif").read_text()
        again = from_file(tmp_path / "a.bif")
        assert again.vocabulary_.quantities == anb.vocabulary_.quantities
        assert again.predict_proba(X) == pytest.approx(anb.predict_proba(X), abs=1e-12)
        text = pd.DataFrame({"a": X["a"].astype(str)})
        assert again.predict_proba(text) == pytest.approx(anb.predict_proba(X), abs=1e-12)

    @pytest.mark.filterwarnings("ignore:every variable is handed over")
    @pytest.mark.parametrize("kind", CONTAINERS)
    def test_universal_measure(self, kind):
        X, y = spread(next(iter(CONTAINERS[kind].values())), 300)
        numbers, _ = spread(integers, 300)
        got, expected = (TANClassifier(continuous="universal").fit(table, y) for table in (X, numbers))
        assert got.predict_proba(X).tolist() == expected.predict_proba(numbers).tolist()
        assert got.to_discrete().predict(X).tolist() == expected.to_discrete().predict(numbers).tolist()
        assert got.to_logit().predict_proba(X).tolist() == got.to_discrete().to_logit().predict_proba(X).tolist()
        (explained,) = got.explain(X[:1])
        assert explained.terms["state"].astype(str).str.startswith("(").sum() == 1

    def test_units_do_not_depend_on_rows_that_do_not_count(self):
        days = list(pd.date_range("2020-01-01", periods=20, freq="D"))
        X = pd.DataFrame({"a": [*days, pd.Timestamp("2020-01-05 03:04:05.000000006")]})
        y, weights = [0] * 10 + [1] * 11, [1.0] * 20 + [0.0]
        expected = NaiveBayesClassifier().fit(X[:20], y[:20])
        got = NaiveBayesClassifier().fit(X, y, weights)
        assert got.vocabulary_ == expected.vocabulary_
        assert got.cut_points_["a"].tolist() == expected.cut_points_["a"].tolist()
        decimals = pd.DataFrame({"a": [*map(Decimal, range(20)), Decimal("3.14159")]})
        got = NaiveBayesClassifier().fit(decimals, y, weights)
        assert got.vocabulary_.states["a"][0] == "(-inf, 9.5]"


class TestExact:
    """Floats hold 53 bits: nanoseconds since 1970 take 61."""

    @examples(60)
    @given(st.lists(st.integers(0, 10**6), min_size=2, max_size=30, unique=True), st.sampled_from(["ns", "us", "s"]))
    def test_neighbouring_ticks_are_told_apart(self, ticks, unit):
        moments = np.datetime64("2021-06-15T12:34:56", unit) + np.array(ticks).astype(f"m8[{unit}]")
        (column,) = read_columns(pd.DataFrame({"a": moments}))
        order = np.argsort(column.numbers)
        assert order.tolist() == np.argsort(ticks).tolist()
        assert len(set(column.numbers.tolist())) == len(ticks)

    def test_cuts_part_neighbouring_nanoseconds(self):
        moments = pd.Timestamp("2021-06-15 12:34:56") + pd.to_timedelta(np.arange(40), unit="ns")
        y = [int(k >= 17) for k in range(40)]
        fitted = NaiveBayesClassifier().fit(pd.DataFrame({"a": moments}), y)
        assert fitted.reader_.codes(pd.DataFrame({"a": moments}))[0].tolist() == y

    def test_all_years(self):
        days = [
            datetime.date(1, 1, 1),
            datetime.date(9999, 12, 31),
            *(datetime.date(2000, 1, k) for k in range(1, 21)),
        ]
        y = [0, 1, *([0] * 10), *([1] * 10)]
        moments = [datetime.datetime.combine(d, datetime.time(1, 2, 3, 4)) for d in days]
        for values in (days, moments):
            for X in (frame(values, object), pl.DataFrame({"a": values}), pa.table({"a": values})):
                fitted = NaiveBayesClassifier().fit(X, y)
                assert fitted.reader_.codes(X)[0].tolist() == y

    def test_nanoseconds_that_span_centuries_keep_their_order(self):
        ends = [pd.Timestamp.min.ceil("us"), pd.Timestamp.max]
        moments = pd.Series([*ends, *pd.date_range("2000-01-01", periods=20, freq="h")]).astype("datetime64[ns]")
        moments = moments + pd.to_timedelta([0] * 2 + list(range(20)), unit="ns")
        (column,) = read_columns(pd.DataFrame({"a": moments}))
        assert np.argsort(column.numbers, kind="stable").tolist() == np.argsort(moments.to_numpy()).tolist()

    def test_another_resolution_is_compared_exactly(self):
        days = pd.DataFrame({"a": pd.date_range("2020-03-22", periods=20, freq="D")})
        fitted = NaiveBayesClassifier().fit(days, [0] * 10 + [1] * 10)  # cut at noon of March 31
        later = pd.to_datetime(
            ["2020-03-31 11:59:59", "2020-03-31 12:00:00", "2020-03-31 12:00:01", "2200-12-31 00:00:00"]
        )
        assert fitted.reader_.codes(pd.DataFrame({"a": later.astype("datetime64[us]")}))[0].tolist() == [0, 0, 1, 1]
        few = NaiveBayesClassifier().fit(days[:4], [0, 1, 0, 1])
        assert few.reader_.codes(pd.DataFrame({"a": later[:1]}))[0].tolist() == [UNKNOWN]


class TestMessages:
    """What does not fit names the column, the value and what is expected."""

    def fitted(self, kind, rows=20):
        make = next(iter(CONTAINERS[kind].values()))
        return NaiveBayesClassifier().fit(make(list(range(rows))), [0] * (rows // 2) + [1] * (rows // 2))

    @pytest.mark.parametrize("rows", [20, 4], ids=["cut", "states"])
    @pytest.mark.parametrize(
        ("kind", "value", "message"),
        [
            (
                "datetime",
                "soon",
                "column 'a' contained datetimes in fit, but now contains 'soon': pass datetimes, or ISO text "
                "such as '2021-06-15 12:00'",
            ),
            ("datetime", "2021-02-30", "now contains '2021-02-30': pass datetimes"),
            (
                "datetime",
                "2021-06-15 12:00Z",
                "now contains '2021-06-15 12:00Z', with a time zone, although there was no ",
            ),
            ("datetime", True, "now contains True: pass datetimes"),
            (
                "datetime with a time zone",
                "2021-06-15",
                "column 'a' contained datetimes with a time zone (Europe/Zurich) in fit, "
                "but now contains '2021-06-15', without a time zone, although the time zone was Europe/Zurich in "
                "fit: "
                "say which zone they are in, in pandas by .dt.tz_localize('Europe/Zurich')",
            ),
            (
                "date",
                "15.06.2021",
                "contained dates in fit, but now contains '15.06.2021': pass dates, or ISO text such as",
            ),
            (
                "duration",
                "long",
                "contained durations in fit, but now contains 'long': pass durations, or text such as",
            ),
            ("duration", "5", "now contains '5': pass durations"),
            ("time", "25:00", "contained times of day in fit, but now contains '25:00': pass times"),
            (
                "period",
                "when",
                "contained periods of frequency 'M' in fit, but now contains 'when': pass periods of frequency",
            ),
            ("decimal", "dear", "contained decimals in fit, but now contains 'dear': pass numbers"),
        ],
    )
    def test_text_that_cannot_be_read(self, rows, kind, value, message):
        with pytest.raises(ValueError, match=re.escape(message)):
            self.fitted(kind, rows).predict(pd.DataFrame({"a": [value]}))

    @pytest.mark.parametrize("other", ["duration", "time", "period", "decimal", "datetime with a time zone"])
    def test_another_kind(self, other):
        X = next(iter(CONTAINERS[other].values()))(list(range(20)))
        with pytest.raises(ValueError, match="column 'a' contained datetimes in fit, but now contains"):
            self.fitted("datetime").predict(X)
        with pytest.raises(ValueError, match=r"column 'a' contained .* in fit, but now contains"):
            self.fitted(other).predict(CONTAINERS["datetime"]["polars us"](list(range(20))))

    def test_numbers_and_datetimes(self):
        with pytest.raises(
            ValueError, match="column 'a' contained datetimes in fit, but now contains 0: pass datetimes"
        ):
            self.fitted("datetime").predict(pd.DataFrame({"a": range(20)}))
        numeric = NaiveBayesClassifier().fit(pd.DataFrame({"a": range(20)}), [0] * 10 + [1] * 10)
        with pytest.raises(
            ValueError, match=r"column 'a' was numeric in fit .* now contains Timestamp.*: pass numbers"
        ):
            numeric.predict(CONTAINERS["datetime"]["pandas s"](list(range(20))))
        assert numeric.predict(CONTAINERS["decimal"]["polars"](list(range(20)))).tolist() == [0] * 20

    def test_periods_of_another_frequency(self):
        with pytest.raises(ValueError, match="now contains periods of frequency 'D': pass periods of frequency 'M'"):
            self.fitted("period").predict(pd.DataFrame({"a": pd.period_range("2020-01-01", periods=3, freq="D")}))

    def test_some_with_a_time_zone(self):
        X = frame([hours(1), zoned(1)], object)
        with pytest.raises(
            ValueError, match="column 'a' contains datetimes with a time zone and others without: give all"
        ):
            NaiveBayesClassifier().fit(X, [0, 1])

    def test_partitions_in_units_that_depend_on_the_rows(self):
        X, y = spread(CONTAINERS["datetime"]["pandas s"])
        measure = UniversalMeasure({"a": EqualWidthPartition(0, 1)})
        with pytest.raises(
            ValueError, match=r"column 'a' contains datetimes.* must be QuantilePartition\(\), not Equal"
        ):
            ANBClassifier(continuous=measure).fit(X, y)
        X, y = spread(CONTAINERS["decimal"]["polars"])
        assert (
            ANBClassifier(continuous=UniversalMeasure({"a": EqualWidthPartition(-1, 101)})).fit(X, y).score(X, y)
            > 0.9
        )

    def test_empty_columns_are_missing_cells(self):
        empty = [np.full(3, np.nan), [None] * 3, pd.array([pd.NaT] * 3), pd.array([None] * 3, dtype="Int64")]
        for kind in CONTAINERS:
            for values in empty:
                codes = self.fitted(kind).reader_.codes(pd.DataFrame({"a": values}))[0].tolist()
                assert codes == [MISSING] * 3, kind


class TestWhatStaysStates:
    def test_declared_categories_keep_their_order(self):
        days = [day(k) for k in (5, 1, 3)]
        for values in (days, [pd.Timestamp(d) for d in days], [Decimal(3), Decimal(1)]):
            for ordered in (False, True):
                X = pd.DataFrame({"a": pd.Categorical(values * 4, categories=values, ordered=ordered)})
                fitted = NaiveBayesClassifier().fit(X, [0, 1] * (len(X) // 2))
                assert fitted.vocabulary_.states["a"] == tuple(values)
                assert fitted.vocabulary_.quantities == {}

    def test_declared_states(self):
        X = CONTAINERS["date"]["polars"](list(range(20)))
        states = [day(k) for k in range(19, -1, -1)]
        fitted = NaiveBayesClassifier(categories={"a": states}).fit(X, [0, 1] * 10)
        assert fitted.vocabulary_.states["a"] == tuple(states)
        assert fitted.reader_.codes(X)[0].tolist() == list(range(19, -1, -1))

    def test_booleans_and_mixtures(self):
        mixed = [
            [True, False] * 10,
            ["a", day(1)] * 10,
            [Decimal(1), "b"] * 10,
            [Decimal(3), True] * 10,
            [datetime.time(1, tzinfo=datetime.UTC), datetime.time(2)] * 10,
            [day(1), duration(1)] * 10,
        ]
        for values in mixed:
            (column,) = read_columns(frame(values, object))
            assert column.quantity is None
            assert column.numbers is None

    def test_objects_of_plain_numbers_are_numbers(self):
        for values in ([1, 2.5, None], [np.float64(1), 2], [np.int8(3), 4.5]):
            (column,) = read_columns(frame(values, object))
            assert column.numbers is not None
            assert column.quantity is None

    def test_classes_may_be_dates(self):
        X = pd.DataFrame({"a": list("xyxyxy")})
        for classes in ([day(0), day(1)] * 3, list(pd.to_datetime([day(0), day(1)] * 3)), [cents(1), cents(2)] * 3):
            y = pd.Series(classes, dtype=None if isinstance(classes[0], pd.Timestamp) else object)
            fitted = NaiveBayesClassifier().fit(X, y)
            assert fitted.classes_.tolist() == classes[:2]
            assert fitted.score(X, y) == 1.0


def test_old_files_have_no_quantities(tmp_path):
    """States of a column of dates are matched as they were written."""
    X, y = CONTAINERS["date"]["pandas objects"]([0, 1, 2, 3] * 5), [0, 0, 1, 1] * 5
    path = tmp_path / "old.json"
    fitted = NaiveBayesClassifier().fit(X, y)
    fitted.save(path)
    document = json.loads(path.read_text())
    del document["quantities"], document["sha256"]
    document["sha256"] = anbexact.files.classifiers.digest(document)
    path.write_text(json.dumps(document))
    old = anbexact.load(path)
    assert old.vocabulary_.quantities == {}
    assert old.predict_proba(X).tolist() == fitted.predict_proba(X).tolist()


def test_files_of_plain_tables_do_not_speak_of_quantities(tmp_path):
    X, y = spread(integers)
    NaiveBayesClassifier().fit(X, y).save(tmp_path / "plain.json")
    assert "quantit" not in (tmp_path / "plain.json").read_text()


@pytest.mark.parametrize("edit", [["when", "D"], ["date", "year"], ["period", "never"], ["date", "D", 0.5]])
def test_quantities_that_are_none_are_refused(edit):
    with pytest.raises(ValueError, match=r"there is no quantity of the kind|frequency|must be whole numbers"):
        Quantity(*edit)


def test_vocabulary_keeps_quantities_of_its_own_variables():
    quantity = Quantity("date", "D")
    vocabulary = Vocabulary({"a": (1, 2), "b": (1,)}, "b", {"a": quantity, "z": quantity})
    assert dict(vocabulary.quantities) == {"a": quantity}
    assert pickle.loads(pickle.dumps(vocabulary)).quantities == {"a": quantity}


def test_tables_of_frames_carry_quantities():
    table = DiscreteTable.from_frame(
        CONTAINERS["date"]["polars"]([0, 1, 1]).with_columns(c=pl.Series(["x", "y", "x"])), class_name="c"
    )
    assert table.vocabulary.quantities == {"a": Quantity("date", "D")}
    assert table.without_class().vocabulary.quantities == table.restricted(["a"]).vocabulary.quantities
    assert of_values([]) is None


def test_partial_fit_takes_another_container():
    numbers = list(range(40))
    y = [int(k > 20) for k in numbers]
    first = NaiveBayesClassifier().fit(CONTAINERS["datetime"]["pandas s"](numbers), y)
    first.partial_fit(CONTAINERS["datetime"]["polars ns"](numbers), y)
    assert sum(first.counts_["a"].weights) == 80


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["datetime", "datetime with a time zone", "decimal", "duration", "period", "time"])
def test_comparisons_take_them_as_numbers(kind):
    X, y = spread(next(iter(CONTAINERS[kind].values())), 120)
    numbers, _ = spread(integers, 120)
    models = ["NB", "CategoricalNB", "logistic regression", "GaussianNB"]
    got = compare(X, y, models=models, folds=3, refit=False)
    expected = compare(numbers.astype(int), y, models=models, folds=3, refit=False)
    assert got["accuracy"].tolist() == expected["accuracy"].tolist()
    assert got["log_loss"].tolist() == pytest.approx(expected["log_loss"].tolist(), rel=1e-3)


@examples(100)
@given(st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2250, 1, 1)))
def test_iso_text_is_read_back(moment):
    for text in (moment.isoformat(), str(moment), str(moment.date())):
        assert is_iso(text)
        value = datetime.datetime.fromisoformat(text)
        quantity = Quantity("datetime", "us")
        microseconds = (value - EPOCH) // datetime.timedelta(microseconds=1)
        assert quantity.number(text) == quantity.number(value) == quantity.number(pd.Timestamp(value)) == microseconds


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_explanations_show_the_values_of_the_row_and_queries_take_text(kind, name):
    make, numbers = CONTAINERS[kind][name], list(range(40))
    fitted = ANBClassifier().fit(make(numbers), [int(k > 20) for k in numbers])
    (feature,) = fitted.vocabulary_.features
    (shown,) = fitted.explain(make([7]))
    value = shown.terms.set_index("feature")["value"][feature]
    (column,) = read_columns(make([7]))
    assert value == column.coded[1][0]
    expected = fitted.predict_proba(make([7]))[0].tolist()
    for known in (value, TEXT[kind][0](7)):
        assert fitted.query({feature: known}).tolist() == pytest.approx(expected, abs=1e-12)
