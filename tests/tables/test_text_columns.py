"""Columns of text that mean numbers, dates or times: what they are read as, in every door."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import anbexact
from anbexact import (
    ANBClassifier,
    DiscreteTable,
    NaiveBayesClassifier,
    PooledClassifier,
    TANClassifier,
    UniversalMeasure,
)
from anbexact.adapters import from_pgmpy, to_pgmpy, to_python, to_sql
from anbexact.conformal import FullConformalClassifier
from anbexact.tables.frames.text_quantities import TextQuantity, meaning_of
from anbexact.tables.frames.written_numbers import number_parts
from anbexact.tables.text_advice import unread_advice

NUMBERS = {
    ("45.3%", "12%"): [45.3, 12.0],
    ("45,3 %", "12 %"): [45.3, 12.0],
    ("$40,000.00", "$1,250.50"): [40000.0, 1250.5],
    ("3.456,78", "12,5"): [3456.78, 12.5],
    ("1 234", "12 500", "7"): [1234.0, 12500.0, 7.0],
    ("1\u00a0234,50 €", "7,00 €"): [1234.5, 7.0],
    ("1\u202f234,5", "7,25"): [1234.5, 7.25],
    ("5,000", "12,345", "999"): [5000.0, 12345.0, 999.0],
    ("1,234", "1,234,567"): [1234.0, 1234567.0],
    ("5.870", "789", "12.345"): [5870.0, 789.0, 12345.0],
    ("$1,234", "$5,678"): [1234.0, 5678.0],
    ("€1.234", "€5.678"): [1234.0, 5678.0],
    ("1,234 CHF", "5,678 CHF"): [1234.0, 5678.0],
    ("CHF 1'234.50", "CHF 12.00"): [1234.5, 12.0],
    ("USD 5", "USD -17"): [5.0, -17.0],
    ("₹1,23,456", "₹12"): [123456.0, 12.0],
    ("(5.5)", "7", "-3"): [-5.5, 7.0, -3.0],
    ("($1,234.50)", "$2.00"): [-1234.5, 2.0],
    ("\u22125", "3", "+4"): [-5.0, 3.0, 4.0],
    ("-$5.00", "$-7.20"): [-5.0, -7.2],
    ("0.123", "5.678"): [0.123, 5.678],
    ("0,123", "5,678"): [0.123, 5.678],
    ("1e5", "2.5E-3"): [1e5, 2.5e-3],
    (".5", "1."): [0.5, 1.0],
    ("12", "7", "105"): [12.0, 7.0, 105.0],
    ("7.5", "-", "NA", " ? ", ""): [7.5, None, None, None, None],
}
TEXT = [
    ("007", "123"),
    ("90210", "10001"),
    ("1999", "2004"),
    ("1.2.3", "1.2.4"),
    ("555-1234", "555-9876"),
    ("+41 44 123 45 67", "+41 44 321 45 67"),
    ("+41441234567", "+4144123456"),
    ("5551234", "15551234567"),
    ("(555) 123", "(555) 124"),
    ("(1)", "(2)"),
    ("192.168.1.1", "10.0.0.1"),
    ("$5", "€7"),
    ("5%", "0.05"),
    ("5", "7", "x"),
    ("1,2,3", "4,5,6"),
    ("12-34", "56-78"),
    ("1234567890123456", "1"),
    ("2021-02-30", "2021-02-28"),
    ("15.06.2021", "16.06.2021"),
    ("2021-01-01 00:00", "2021-01-01 00:00Z"),
    ("NA", "?"),
]


class TestMeaning:
    @pytest.mark.parametrize(("texts", "expected"), NUMBERS.items(), ids=map("; ".join, NUMBERS))
    def test_numbers(self, texts, expected):
        found = meaning_of(texts)
        assert found.quantity.kind == "decimal"
        assert [None if np.isnan(number) else number for number in found.numbers] == expected
        assert [None if np.isnan(n := found.quantity.number(text)) else n for text in texts] == expected

    @pytest.mark.parametrize("texts", TEXT, ids=map("; ".join, TEXT))
    def test_what_stays_text(self, texts):
        found = meaning_of(texts)
        assert (found.quantity, found.question) == (None, "")

    @pytest.mark.parametrize(
        ("texts", "kind", "shown"),
        [
            (["13:30", "9:05"], "time", ["09:05", "13:30"]),
            (["9:05 PM", "11:00 am"], "time", ["11:00", "21:05"]),
            (["13:30:15.5", "09:00:00"], "time", ["09:00", "13:30:15.500"]),
            (["2021-06-15T12:00:00Z", "2021-06-14T12:00:00Z"], "datetime", ["2021-06-14 12:00+00:00", None]),
            (["2021-06-15T12:00+02:00", "2021-06-15T12:00+01:00"], "datetime", ["2021-06-15 10:00+00:00", None]),
            (["2021-06-15 12:00", "2021-06-14"], "datetime", ["2021-06-14", "2021-06-15 12:00"]),
            (["2021-06-15", "2021/6/4", "."], "date", ["2021-06-04", "2021-06-15"]),
            (["1 days 02:30:00", "0 days 00:00:01"], "duration", ["00:00:01", "1 day 02:30:00"]),
        ],
    )
    def test_times(self, texts, kind, shown):
        found = meaning_of(texts)
        assert found.quantity.kind == kind
        numbers = np.sort(found.numbers[~np.isnan(found.numbers)])
        for text, expected in zip(found.quantity.texts(numbers), shown, strict=True):
            assert expected in (text, None)

    @pytest.mark.parametrize(("mark", "expected"), [(".", [1234.0, 5678.0]), (",", [1.234, 5.678])])
    def test_what_may_be_thousands_or_decimals(self, mark, expected):
        texts = ["1,234", "5,678"]
        assert meaning_of(texts).quantity is None
        assert "pass decimal='.' or decimal=','" in meaning_of(texts).question
        assert meaning_of(texts, mark).numbers.tolist() == expected
        swapped = [text.replace(",", ".") for text in texts]
        assert meaning_of(swapped).question
        assert meaning_of(swapped, mark).numbers.tolist() == [1.234, 5.678] if mark == "." else [1234.0, 5678.0]

    def test_the_mark_that_is_given_only_settles_what_is_open(self):
        assert meaning_of(["45.3%", "12%"], ",").numbers.tolist() == [45.3, 12.0]

    def test_cut_points_are_shown_as_the_column_is_written(self):
        shown = {
            "$1,250.50": "$40,000",
            "45.3 %": "40000 %",
            "3.456,78 €": "40.000 €",
            "CHF 1'234.50": "CHF 40'000",
            "12.5": "40000",
        }
        for text, expected in shown.items():
            assert meaning_of([text]).quantity.texts([40000.0]) == [expected]
        assert meaning_of(["-$1,250.50"]).quantity.texts([-2000.25]) == ["-$2,000.25"]

    def test_notation_that_does_not_exist(self):
        with pytest.raises(ValueError, match="no notation"):
            TextQuantity("decimal", decimal=";")

    def test_parts(self):
        assert number_parts("$ -5", ".").number == -5
        assert number_parts("(-5)", ".") is None
        assert number_parts("$5 €", ".") is None
        assert number_parts("1,234,56", ".") is None
        assert number_parts("0,123", ".") is None


def frame(n=300, seed=0):
    """Return columns of text, the same as numbers and times, and a class that depends on them."""
    rng = np.random.default_rng(seed)
    income, share, clock = (
        rng.lognormal(10, 0.7, n).round(2),
        rng.uniform(0, 60, n).round(1),
        rng.integers(0, 1440, n),
    )
    hour = rng.integers(0, 5000, n)
    y = np.where(np.log(income) + share / 30 + clock / 1440 + rng.normal(0, 0.5, n) > 11.5, "yes", "no")
    text = pd.DataFrame(
        {
            "income": [f"${v:,.2f}" for v in income],
            "share": [f"{v} %".replace(".", ",") for v in share],
            "clock": [f"{k // 60}:{k % 60:02d}" for k in clock],
            "when": [f"{np.datetime64('2021-01-01T00') + k}:00:00Z" for k in hour],
        }
    )
    numbers = pd.DataFrame(
        {
            "income": income,
            "share": share,
            "clock": pd.to_datetime(pd.Series(clock * 60), unit="s").dt.time,
            "when": pd.to_datetime(pd.Series(hour * 3600), unit="s", utc=True) + pd.Timedelta(days=18628),
        }
    )
    return text, numbers, y


class TestClassifiers:
    def test_the_same_network_as_from_numbers(self):
        text, numbers, y = frame()
        one, other = TANClassifier().fit(text, y), TANClassifier().fit(numbers, y)
        assert {name: cuts.tolist() for name, cuts in one.cut_points_.items()} == {
            name: cuts.tolist() for name, cuts in other.cut_points_.items()
        }
        assert one.structure_.edges == other.structure_.edges
        expected = other.predict_proba(numbers)
        for rows in (text, numbers, pl.DataFrame(text), text.astype("category")):
            assert np.array_equal(one.predict_proba(rows), expected)
        assert one.vocabulary_.states["income"][0].startswith("(-inf, $")
        assert one.vocabulary_.states["share"][0].endswith(" %]")

    @pytest.mark.parametrize(
        "written",
        [
            lambda k: f"{k}.456,78",
            lambda k: f"${k},456.78",
            lambda k: f"{k}.45%",
            lambda k: f"{k},45 %",
            lambda k: f"{k} 456",
            lambda k: f"{k:02}:30",
        ],
        ids=["3.456,78", "$3,456.78", "3.45%", "3,45 %", "3 456", "03:30"],
    )
    def test_the_right_value(self, written, tmp_path):
        """20 values, 1 to 20, twice each, cut at their median: P(yes | low) = (17 + 1/4) / (20 + 2/4), by hand."""
        low = [written(k) for k in range(1, 11)] * 2
        high = [written(k) for k in range(11, 21)] * 2
        y = ["yes"] * 17 + ["no"] * 3 + ["yes"] * 4 + ["no"] * 16
        X = pd.DataFrame({"amount": pd.Series(low + high, dtype=object)})
        classifier = NaiveBayesClassifier(ess=1.0, discretizer="median").fit(X, y)
        classifier.save(tmp_path / "model.json")
        new = pd.DataFrame({"amount": [written(2), written(19)]})
        for found in (classifier, anbexact.load(tmp_path / "model.json")):
            np.testing.assert_allclose(found.predict_proba(new)[:, 1], [69 / 82, 17 / 82], rtol=1e-12)  # .841, .207

    def test_saved_and_exported(self, tmp_path):
        text, _, y = frame()
        model = TANClassifier().fit(text, y)
        model.save(tmp_path / "m.json")
        again = anbexact.load(tmp_path / "m.json")
        assert again.vocabulary_ == model.vocabulary_
        assert json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))["quantities"]
        for other in (again, from_pgmpy(to_pgmpy(model), "class")):
            assert np.array_equal(other.predict_proba(text), model.predict_proba(text))

    def test_exports_say_that_they_read_numbers(self, tmp_path):
        text, _, y = frame()
        model = NaiveBayesClassifier().fit(text[["income"]], y)
        for export in (to_sql, lambda m: to_python(m, tmp_path / "m.py")):
            with pytest.warns(UserWarning, match=r"column 'income' as numbers: convert text such as '\$1,234.50'"):
                export(model)
        times = NaiveBayesClassifier().fit(text[["clock"]], y)
        with pytest.raises(ValueError, match="times of day as text"):
            to_sql(times)

    def test_states_may_have_their_own_export(self):
        text, _, y = frame()
        model = NaiveBayesClassifier().fit(
            text[["clock"]].replace(r":\d\d$", ":00", regex=True).replace(r"^(\d|1\d|2\d):", "9:", regex=True), y
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            to_sql(model)

    def test_what_cannot_be_read_is_unknown(self):
        text, _, y = frame()
        model = NaiveBayesClassifier(handle_missing="marginalize").fit(text, y)
        row, gap = text.iloc[:1], text.iloc[:1].assign(income=None)
        expected = model.predict_proba(gap)
        for cell in ("soon", "€5", "NA", "-", "1.2.3"):
            assert np.array_equal(model.predict_proba(row.assign(income=cell)), expected)
        assert np.array_equal(
            model.predict_proba(row.assign(clock="25:00")), model.predict_proba(row.assign(clock=None))
        )
        strict = model.set_params(handle_unknown="error")
        with pytest.raises(ValueError, match="column 'income', row 0: the value 'soon' is not a state"):
            strict.predict(row.assign(income="soon"))
        assert np.array_equal(strict.predict_proba(row.assign(income="NA")), expected)

    def test_a_number_without_its_currency(self):
        text, numbers, y = frame()
        model = NaiveBayesClassifier().fit(text, y)
        bare = text.assign(income=numbers["income"].astype(str))
        assert np.array_equal(model.predict_proba(bare), model.predict_proba(text))

    def test_words_for_missing_cells_are_said(self):
        text, numbers, y = frame()
        text.loc[[3, 9], "income"] = ["-", "n/a"]
        with pytest.warns(UserWarning, match="are read as missing cells: ('n/a', '-'|'-', 'n/a') in column 'income'"):
            one = NaiveBayesClassifier(handle_missing="own_state").fit(text, y)
        numbers.loc[[3, 9], "income"] = np.nan
        other = NaiveBayesClassifier(handle_missing="own_state").fit(numbers, y)
        assert np.array_equal(one.predict_proba(text), other.predict_proba(numbers))

    def test_few_values_stay_states_in_their_order(self):
        y = ["a", "b"] * 30
        X = pd.DataFrame(
            {"rate": ["5%", "10%", "0.5%"] * 20, "at": ["9:30", "13:00"] * 30, "n": ["10", "9", "NA"] * 20}
        )
        states = NaiveBayesClassifier().fit(X, y).vocabulary_.states
        assert states["rate"] == ("0.5%", "5%", "10%")
        assert states["at"] == ("9:30", "13:00")
        assert states["n"] == ("10", "9", "NA")

    def test_what_the_user_declares_stays(self):
        text, _, y = frame()
        income = text[["income"]]
        for X in (income.astype("category"), pl.DataFrame(income).cast(pl.Categorical)):
            model = NaiveBayesClassifier(drop_identifiers=False).fit(X, y)
            assert model.vocabulary_.groups["income"]
            assert not model.vocabulary_.quantities
        declared = NaiveBayesClassifier(categories={"income": sorted(set(income["income"]))}).fit(income, y)
        assert not declared.cut_points_

    def test_classes_are_never_converted(self):
        text, _, _ = frame()
        y = [f"{k}%" for k in np.arange(len(text)) % 12]
        assert NaiveBayesClassifier().fit(text[["share"]], y).classes_.tolist() == sorted(set(y))
        assert DiscreteTable.from_frame(text[["share"]]).vocabulary.states["share"] == tuple(
            sorted(set(text["share"]))
        )

    def test_the_decimal_mark_that_is_given(self):
        rng = np.random.default_rng(0)
        numbers = rng.integers(1000, 99999, 200)
        y = np.where(numbers > 50000, "b", "a")
        X = pd.DataFrame({"amount": [f"{k:,}" for k in numbers], "other": rng.normal(size=200)})
        with pytest.warns(UserWarning, match=r"pass decimal='.' or decimal=','"):
            NaiveBayesClassifier().fit(X, y)
        model = NaiveBayesClassifier(decimal=".", discretizer="mdlp").fit(X, y)
        assert model.score(X, y) == 1
        assert model.cut_points_["amount"][0] == pytest.approx(50000, abs=1000)
        with pytest.raises(ValueError, match="decimal must be"):
            NaiveBayesClassifier(decimal=";").fit(X, y)

    def test_rows_of_weight_zero_are_not_looked_at(self):
        text, _, y = frame()
        weights = np.ones(len(text))
        weights[0] = 0
        odd = text.assign(income=["soon", *text["income"][1:]])
        model = NaiveBayesClassifier().fit(odd, y, sample_weight=weights)
        expected = NaiveBayesClassifier().fit(text[1:], y[1:])
        assert model.vocabulary_ == expected.vocabulary_

    def test_whole_numbers_that_number_the_rows(self):
        text, _, y = frame()
        X = text.assign(row=[str(k) for k in range(len(text))])
        with pytest.warns(UserWarning, match="'row'.*whole numbers that number the rows"):
            NaiveBayesClassifier().fit(X, y)

    def test_lazy_frames(self):
        text, _, y = frame()
        text.loc[5, "income"] = "-"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lazy = ANBClassifier(ess=1.0).fit(pl.DataFrame(text.assign(kind=y)).lazy(), "kind")
            eager = ANBClassifier(ess=1.0).fit(text, pd.Series(y, name="kind"))
        assert lazy.vocabulary_ == eager.vocabulary_
        assert np.array_equal(lazy.predict_proba(text), eager.predict_proba(text))

    def test_words_for_missing_cells_in_full_conformal_prediction(self):
        text, _, y = frame(60)
        model = ANBClassifier(ess=1.0, discretizer="equal_frequency", group_categories=None)
        sets = FullConformalClassifier(model).fit(text[["income", "share"]], y)
        with pytest.raises(ValueError, match="column 'income', row 0: the cell is missing"):
            sets.predict_set(text[["income", "share"]].iloc[:1].assign(income="-"))

    @pytest.mark.slow
    def test_pools_choose_the_same_members(self):
        text, numbers, y = frame(120)
        names = ["income", "share"]
        one = PooledClassifier(folds=3).fit(text[names], y)
        other = PooledClassifier(folds=3).fit(numbers[names], y)
        assert [name for name, _ in one.estimators_] == [name for name, _ in other.estimators_]
        assert one.predict_proba(text[names]) == pytest.approx(other.predict_proba(numbers[names]), abs=0.02)

    def test_universal_measures(self):
        text, numbers, y = frame()
        names = ["income", "share", "clock"]
        one, _ = UniversalMeasure().read(text[names], y)
        other, _ = UniversalMeasure().read(numbers[names], y)
        assert np.array_equal(one.codes, other.codes)
        fitted = TANClassifier(continuous="universal").fit(text[names], y)
        assert np.array_equal(fitted.predict_proba(text[names]), fitted.predict_proba(numbers[names]))


class TestAdvice:
    """What is advised is tried before."""

    @pytest.mark.parametrize(
        ("texts", "expected"),
        [
            ([f"{k % 28 + 1:02d}.{k % 12 + 1:02d}.2021" for k in range(60)], "format='%d.%m.%Y'"),
            ([f"{k % 12 + 1}/{k % 28 + 1}/2021 13:30" for k in range(60)], "format='%m/%d/%Y %H:%M'"),
            ([f"{k % 12 + 1}/{k % 12 + 1}/{1900 + k}" for k in range(60)], "format='%d/%m/%Y' or '%m/%d/%Y'"),
            ([f"{20210100 + k}" for k in range(1, 31)], "format='%Y%m%d'"),
            ([f"{k}" for k in range(2000, 2060)], "if it is a quantity, convert it with pandas.to_numeric"),
            ([*(f"${k}" for k in range(40)), "free"], "numbers as text, except for 'free'; make these cells missing"),
            ([*(f"{k // 60}:{k % 60:02d}" for k in range(40)), "noon"], "times of day as text, except for 'noon'"),
            ([f"{k:05d}" for k in range(60)], None),
            ([f"word {k}" for k in range(60)], None),
            ([*(f"${k}" for k in range(20)), *(f"€{k}" for k in range(20)), "x"], None),
        ],
    )
    def test_advice(self, texts, expected):
        advice = unread_advice(texts)
        assert (advice == "") if expected is None else expected in advice
        if "pandas.to_datetime" in advice:
            form = advice.split("format='")[1].split("'")[0]
            assert pd.to_datetime(pd.Series(texts), format=form).notna().all()
        if "pandas.to_numeric" in advice:
            assert pd.to_numeric(pd.Series(texts)).notna().all()
        if "missing cells" in advice:
            words = [text for text in texts if repr(text) in advice]
            assert meaning_of([text for text in texts if text not in words]).quantity is not None
