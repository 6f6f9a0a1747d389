"""What is made of a table by default: missing cells, identifiers, classes, and weights of classes."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import most_lost_columns
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight

import anbexact
from anbexact import ANBClassifier, DiscreteTable, NaiveBayesClassifier, TANClassifier, UniversalMeasure
from anbexact.classifiers import AODEClassifier
from anbexact.discretize import QuantilePartition
from anbexact.selection import BayesFactorSelector
from anbexact.tables.frames.reading import read_column, read_columns
from anbexact.tables.identifiers import identifier_reason
from anbexact.tables.missing import often_missing

ROWS = 120
rng = np.random.default_rng(0)
Y = pd.Series(np.array(["alive", "dead"])[rng.integers(0, 2, ROWS)], name="fate")
PLAIN = pd.DataFrame({"a": rng.integers(0, 3, ROWS), "b": np.where(Y == "dead", "x", rng.choice(["x", "y"], ROWS))})
SURVIVAL = PLAIN.assign(cause=np.where(Y == "dead", rng.choice(["heart", "other"], ROWS), None))
"""The cause of death is missing for the living."""


def holed(column, n):
    """Return a column without its first n cells."""
    return column.astype(object).mask(np.arange(len(column)) < n)


class TestMissingCells:
    def test_a_class_is_not_lost(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            classifier = ANBClassifier().fit(SURVIVAL, Y)
        assert classifier.classes_.tolist() == ["alive", "dead"]
        assert classifier.score(SURVIVAL, Y) == 1.0
        assert classifier.vocabulary_.states["cause"] == ("heart", "other", "(missing)")
        assert classifier.handle_missing_ == {"a": "marginalize", "b": "marginalize", "cause": "own_state"}

    @pytest.mark.parametrize(
        "model", [ANBClassifier(), AODEClassifier(), TANClassifier(continuous="universal"), BayesFactorSelector()]
    )
    def test_a_class_that_would_be_lost_is_an_error(self, model):
        lost = int((Y == "alive").sum())
        message = (
            rf"the class 'alive' of 'fate' would be lost: all of its {lost} rows have a missing feature, most often "
            rf"'cause', in {lost} rows.* use handle_missing='auto' or 'own_state'"
        )
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(handle_missing="marginalize").fit(SURVIVAL, Y)
        clone(model).fit(SURVIVAL, Y)
        with pytest.raises(ValueError, match=message):
            DiscreteTable.from_frame(SURVIVAL, Y, handle_missing="marginalize")

    def test_a_class_may_be_lost_between_several_columns(self):
        X = pd.DataFrame({"a": ["u", None, "v", "u"] * 5, "b": [None, "x", "y", "x"] * 5})
        with pytest.raises(ValueError, match=r"the class 'p' of 'class' would be lost: all of its 10 rows"):
            NaiveBayesClassifier(handle_missing="marginalize").fit(X, ["p", "p", "q", "q"] * 5)

    def test_announced_classes_may_have_no_complete_row_yet(self):
        with pytest.warns(UserWarning, match="are left out of training"):
            model = NaiveBayesClassifier(handle_missing="marginalize").partial_fit(SURVIVAL, Y, ["alive", "dead"])
        assert model.classes_.tolist() == ["alive", "dead"]

    @pytest.mark.parametrize("handle_missing", ["marginalize", "auto"])
    def test_a_column_that_ends_with_one_state_costs_no_row(self, handle_missing):
        noise = pd.Series(np.random.default_rng(1).normal(size=ROWS))
        X = PLAIN.assign(age=holed(noise, 1).astype(float), constant=holed(pd.Series(["k"] * ROWS), 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = NaiveBayesClassifier().fit(PLAIN, Y)
            model = NaiveBayesClassifier(handle_missing=handle_missing, discretizer="mdlp").fit(X, Y)
        assert model.vocabulary_.states["age"] == ("(-inf, inf)",)
        assert model.vocabulary_.states["constant"] == ("k",)
        assert model.counts_["fate"].weights.sum() == ROWS
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(PLAIN), rtol=1e-12)
        model.partial_fit(X, Y)
        assert model.counts_["fate"].weights.sum() == 2 * ROWS

    def test_cells_missing_only_at_prediction_are_summed_out(self):
        auto = ANBClassifier().fit(SURVIVAL, Y)
        row = SURVIVAL.iloc[[5]].assign(a=np.nan)
        total = np.logaddexp.reduce([auto.log_evidence(row.assign(a=a))[0] for a in range(3)])
        np.testing.assert_allclose(auto.log_evidence(row), total, rtol=1e-12)

    def test_rows_with_a_rare_gap_are_left_out_with_a_warning(self):
        X = PLAIN.assign(a=holed(PLAIN["a"], 1))
        with pytest.warns(UserWarning, match=r"1 of 120 rows has a missing feature \(most often 'a', in 1 row\)"):
            model = NaiveBayesClassifier().fit(X, Y)
        assert model.handle_missing_["a"] == "marginalize"
        assert model.vocabulary_.states["a"] == (0, 1, 2)

    def test_a_rare_gap_that_is_common_in_a_class(self):
        y = Y.mask(np.arange(ROWS) < 3, "rare")
        model = NaiveBayesClassifier().fit(PLAIN.assign(a=holed(PLAIN["a"], 1)), y)
        assert model.handle_missing_["a"] == "own_state"

    def test_partial_fit_keeps_what_was_decided(self):
        model = NaiveBayesClassifier().fit(SURVIVAL, Y)
        more = SURVIVAL.assign(b=holed(SURVIVAL["b"], 60))
        with pytest.warns(UserWarning, match="60 of 120 rows have a missing feature .* and are left out of training"):
            model.partial_fit(more, Y)
        assert model.counts_["fate"].weights.sum() == 1.5 * ROWS
        assert model.counts_["cause"].dense()[2].sum() == (Y == "alive").sum() + (Y[60:] == "alive").sum()

    def test_a_missing_cell_that_cannot_be_a_state(self):
        """A measured column costs its rows; with the class that it would cost, it is refused."""
        X = PLAIN.assign(age=holed(pd.Series(np.linspace(0, 1, ROWS)), 30).astype(float), c=SURVIVAL["cause"])
        with pytest.warns(UserWarning, match="30 of 120 rows have a missing feature"):
            model = TANClassifier(continuous="universal").fit(X, Y)
        assert model.handle_missing_ == {name: "own_state" if name == "c" else "marginalize" for name in X}
        lost = PLAIN.assign(age=pd.Series(np.linspace(0, 1, ROWS)).mask(Y == "dead"))
        with pytest.raises(
            ValueError, match=r"the class 'dead' .* would be lost.* or use handle_missing='own_state'"
        ):
            TANClassifier(continuous="universal").fit(lost, Y)
        table, _ = UniversalMeasure().read(X[30:], Y[30:])
        assert table.n_rows == ROWS - 30

    def test_evidence_follows_what_was_decided(self):
        model = ANBClassifier().fit(SURVIVAL, Y)
        for cause in ("heart", None, np.nan):
            known = model.query({"a": 1, "b": "x", "cause": cause}).to_numpy()
            row = pd.DataFrame({"a": [1], "b": ["x"], "cause": [cause]}, dtype=object)
            np.testing.assert_allclose(known, model.predict_proba(row)[0], rtol=1e-12)
        with pytest.raises(ValueError, match="the value of 'b' is missing"):
            model.query({"b": None})

    def test_tables_and_the_selector_agree(self):
        table = DiscreteTable.from_frame(SURVIVAL, Y)
        assert table.vocabulary.states["cause"] == ("heart", "other", "(missing)")
        assert table.n_rows == ROWS
        selector = BayesFactorSelector().fit(SURVIVAL, Y)
        assert selector.handle_missing_["cause"] == "own_state"
        assert "cause" in selector.get_feature_names_out()
        with pytest.raises(ValueError, match="handle_missing must be one of 'auto', "):
            DiscreteTable.from_frame(SURVIVAL, Y, handle_missing="drop")

    def test_is_saved(self, tmp_path):
        model = TANClassifier().fit(SURVIVAL.assign(name=[f"n{i}" for i in range(ROWS)]), Y)
        model.save(tmp_path / "m.json")
        back = anbexact.load(tmp_path / "m.json")
        assert back.handle_missing_ == model.handle_missing_
        assert back.dropped_ == model.dropped_ == {"name": "120 different values in 120 rows"}
        X = SURVIVAL.assign(name="new")
        np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))

    @given(
        st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=2, max_size=12),
        st.lists(st.sampled_from([0.0, 0.25, 1.0, 2.5]), min_size=12, max_size=12),
        st.sampled_from([0.0, 0.1, 0.34, 0.5, 1.0]),
        st.integers(0, 7),
        st.randoms(),
    )
    def test_which_columns_are_states(self, cells, weights, most_lost, free, random):
        """Against the definition, tried on all sets of columns; not depending on the order of rows."""
        of_rows = [
            (tuple(row), weight, "pqr"[k % 3]) for k, (row, weight) in enumerate(zip(cells, weights, strict=False))
        ]
        if not any(weight for _, weight, _ in of_rows):
            return
        single = {j for j in range(3) if free >> j & 1}

        def found(rows):
            gaps = {
                j: np.array([row[j] and weight > 0 for row, weight, _ in rows])
                for j in range(3)
                if any(row[j] and weight > 0 for row, weight, _ in rows)
            }
            target = read_column([label for _, _, label in rows], "c")
            return often_missing(gaps, single, target, np.array([weight for _, weight, _ in rows]), most_lost)

        assert found(of_rows) == most_lost_columns(of_rows, single, most_lost)
        shuffled = random.sample(of_rows, len(of_rows))
        assert found(shuffled) == found(of_rows)


class TestIdentifiers:
    IDENTIFIERS = pd.DataFrame(
        {
            "row": np.arange(ROWS) + 1,
            "shuffled": rng.permutation(ROWS) * 10,
            "gappy": np.sort(rng.choice(2 * ROWS, ROWS, replace=False)),
            "LoanID": rng.choice(10**9, ROWS, replace=False),
            "text": [f"it says {i}" for i in range(ROWS)],
            "mostly": [f"it says {max(i, 5)}" for i in range(ROWS)],
            "holed": [None] * 40 + [f"it says {i}" for i in range(ROWS - 40)],
            "category": pd.Categorical([f"k{i}" for i in range(ROWS)]),
        }
    )
    OTHERS = pd.DataFrame(
        {
            "float": rng.normal(size=ROWS),
            "whole float": np.arange(ROWS, dtype=float),
            "income": rng.choice(np.arange(20_000, 90_000), ROWS, replace=False),
            "age": rng.integers(18, 90, ROWS),
            "repeated": [f"it says {max(i, 12)}" for i in range(ROWS)],
            "few": [f"it says {i}" for i in range(49)] + [None] * (ROWS - 49),
            "flag": rng.random(ROWS) < 0.5,
        }
    )

    @pytest.mark.parametrize("name", IDENTIFIERS)
    def test_what_is_one(self, name):
        X = PLAIN.assign(**{name: self.IDENTIFIERS[name]})
        with pytest.warns(UserWarning, match=f"each column that looks like an identifier is left out: '{name}' "):
            model = ANBClassifier().fit(X, Y)
        assert list(model.dropped_) == [name]
        assert model.vocabulary_.states[name] == ("(left out)",)
        assert model.n_features_in_ == 3
        np.testing.assert_allclose(
            model.predict_proba(X), ANBClassifier().fit(PLAIN, Y).predict_proba(PLAIN), rtol=1e-12
        )

    @pytest.mark.parametrize("name", OTHERS)
    def test_what_is_none(self, name):
        model = NaiveBayesClassifier().fit(PLAIN.assign(**{name: self.OTHERS[name]}), Y)
        assert model.dropped_ == {}

    def test_incomes_and_other_draws_are_not(self):
        """Distinct draws from a wide range are no identifiers, however many tables are looked at."""
        draws = np.random.default_rng(5)
        reasons = [
            identifier_reason(column, np.ones(200, dtype=bool))
            for column in read_columns(draws.integers(0, 60_000, (200, 500)))
        ]
        assert not any(reasons)

    def test_any_value_is_taken_at_prediction(self):
        X = PLAIN.assign(text=self.IDENTIFIERS["text"], row=self.IDENTIFIERS["row"])
        model = ANBClassifier(handle_unknown="error", handle_missing="error").fit(X, Y)
        expected = model.predict_proba(X)
        for text, row in (("new", -5), (None, 10**6), (7, "nonsense")):
            np.testing.assert_array_equal(model.predict_proba(X.assign(text=text, row=row)), expected)
        model.partial_fit(X.assign(text=None, row="other"), Y)
        assert model.counts_["fate"].weights.sum() == 2 * ROWS
        with pytest.raises(ValueError, match="feature names"):
            model.predict(PLAIN)

    @pytest.mark.parametrize("make", [NaiveBayesClassifier, TANClassifier])
    def test_if_missing_cells_are_states_only_they_count(self, make):
        gone = np.random.default_rng(0).random(ROWS) < np.where(Y.iloc[0] == Y, 0.6, 0.2)
        texts = [None if missing else f"it says {i}" for i, missing in enumerate(gone)]
        X, known = PLAIN.assign(text=texts), PLAIN.assign(text=np.where(gone, None, "(any value)"))
        model = make(handle_missing="own_state")
        with pytest.warns(UserWarning, match="It still counts whether a cell of 'text' is missing"):
            model.fit(X, Y)
        assert model.dropped_ == {}
        assert model.vocabulary_.states["text"] == ("(any value)", "(missing)")
        expected = make(handle_missing="own_state").fit(known, Y).predict_proba(known)
        np.testing.assert_array_equal(model.predict_proba(X), expected)
        new = X.assign(text=np.where(gone, None, "was never seen"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(model.predict_proba(new), expected)
            np.testing.assert_array_equal(model.set_params(handle_unknown="error").predict_proba(new), expected)
        lazy = make(handle_missing="own_state").fit(pl.from_pandas(X.assign(fate=Y)).lazy(), "fate")
        assert lazy.vocabulary_ == model.vocabulary_
        np.testing.assert_array_equal(lazy.predict_proba(new), expected)
        complete = make(handle_missing="own_state").fit(X.assign(text=self.IDENTIFIERS["text"]), Y)
        assert complete.vocabulary_.states["text"] == ("(left out)",)
        assert list(make().fit(X, Y).dropped_) == ["text"]

    def test_they_are_kept_if_asked_to(self):
        X = PLAIN.assign(text=self.IDENTIFIERS["text"])
        assert (
            NaiveBayesClassifier(drop_identifiers=False, group_categories=None).fit(X, Y).vocabulary_.arity("text")
            == ROWS
        )
        states = {"text": X["text"].tolist()}
        assert NaiveBayesClassifier(categories=states).fit(X, Y).vocabulary_.arity("text") == ROWS
        with pytest.raises(ValueError, match="drop_identifiers must be 'auto' or False, not True"):
            NaiveBayesClassifier(drop_identifiers=True).fit(X, Y)

    def test_a_column_with_a_partition_stays(self):
        X = PLAIN.assign(row=np.arange(ROWS))
        assert TANClassifier(continuous=UniversalMeasure({"row": QuantilePartition()})).fit(X, Y).dropped_ == {}
        assert list(TANClassifier(continuous="universal").fit(X, Y).dropped_) == ["row"]

    def test_nothing_else(self):
        with pytest.raises(
            ValueError, match=r"every column looks like an identifier: 'row' \(.*'shuffled' .*and 3 more"
        ):
            ANBClassifier().fit(self.IDENTIFIERS, Y)

    def test_rows_of_weight_zero_are_not_looked_at(self):
        text = pd.Series(["same"] * 60 + [f"it says {i}" for i in range(60)])
        X, weights = PLAIN.assign(text=text), np.repeat([0.0, 2.0], 60)
        assert "text" in NaiveBayesClassifier().fit(X, Y, sample_weight=weights).dropped_
        assert NaiveBayesClassifier().fit(X, Y).dropped_ == {}

    def test_a_table_that_numbers_its_rows_predicts_no_better(self):
        """Rows sorted by class: their numbers would give the class away."""
        y = np.sort(Y)
        X = pd.DataFrame({"row": np.arange(ROWS), "noise": rng.integers(0, 2, ROWS)})
        assert NaiveBayesClassifier().fit(X, y).score(X, y) < 0.7


class TestClasses:
    def test_a_single_one(self):
        with pytest.warns(
            UserWarning, match="the class 'class' is 'k' in every row: with a single class there is noth"
        ):
            ANBClassifier().fit(PLAIN, ["k"] * ROWS)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ANBClassifier().partial_fit(PLAIN, ["k"] * ROWS, classes=["k", "l"])

    def test_measurements(self):
        with pytest.raises(
            ValueError, match=r"Unknown label type: continuous.*'price' contains 120 different.*pandas\.qcut"
        ):
            ANBClassifier().fit(PLAIN, pd.Series(np.linspace(0, 1, ROWS), name="price"))

    def test_labels_that_are_almost_all_different(self):
        with pytest.raises(
            ValueError, match=r"'who' has 120 different labels in 120 rows.* looks like an identifier"
        ):
            ANBClassifier().fit(PLAIN, pd.Series([f"n{i}" for i in range(ROWS)], name="who"))

    def test_hundreds(self):
        X = pd.DataFrame({"a": np.arange(500) % 2})
        with pytest.warns(UserWarning, match=r"'class' has 125 different labels in 500 rows: if it is a quantity"):
            NaiveBayesClassifier().fit(X, [f"k{i}" for i in np.arange(500) // 4])


class TestClassWeight:
    @given(st.data())
    def test_equals_weights_of_rows(self, data):
        n = data.draw(st.integers(3, 20))
        y = np.array(data.draw(st.lists(st.sampled_from(["p", "q", "r"]), min_size=n, max_size=n)))
        weights = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n)))
        X = pd.DataFrame({"a": data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))})
        if not weights.any():
            return
        there = np.unique(y[weights > 0])
        balanced = compute_class_weight(
            "balanced", classes=there, y=y[weights > 0], sample_weight=weights[weights > 0]
        )
        given = {label: float(k + 1) / 3 for k, label in enumerate(there.tolist()[:2])}
        for class_weight, factors in (("balanced", dict(zip(there, balanced, strict=True))), (given, given)):
            model = NaiveBayesClassifier(class_weight=class_weight).fit(X, y, sample_weight=weights)
            of_rows = weights * [factors.get(label, 1.0) for label in y]
            expected = NaiveBayesClassifier().fit(X, y, sample_weight=of_rows)
            np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-12)

    @pytest.mark.parametrize("model", [ANBClassifier(), AODEClassifier(), TANClassifier(continuous="universal")])
    def test_balanced_classes_weigh_the_same(self, model):
        X, y = PLAIN[:100], ["p"] * 80 + ["q"] * 20
        fitted = clone(model).set_params(class_weight="balanced").fit(X, y)
        of_rows = np.repeat([100 / 160, 100 / 40], [80, 20])
        expected = clone(model).fit(X, y, sample_weight=of_rows)
        np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X), rtol=1e-12)

    def test_in_partial_fit(self):
        weights = {"alive": 2.5}
        model = NaiveBayesClassifier(class_weight=weights, ess=1.0).fit(PLAIN, Y).partial_fit(PLAIN, Y)
        whole = NaiveBayesClassifier(class_weight=weights, ess=1.0).fit(pd.concat([PLAIN, PLAIN]), pd.concat([Y, Y]))
        np.testing.assert_allclose(model.predict_proba(PLAIN), whole.predict_proba(PLAIN), rtol=1e-12)
        with pytest.raises(
            ValueError, match="class_weight='balanced' depends on all rows, which partial_fit does not"
        ):
            NaiveBayesClassifier(class_weight="balanced").partial_fit(PLAIN, Y)

    @pytest.mark.parametrize(
        ("class_weight", "error", "message"),
        [
            (
                {"aliv": 2},
                ValueError,
                r"class_weight names 'aliv', which is not a class; .*'fate' are \['alive', 'dead'",
            ),
            ({"dead": 0}, ValueError, r"class_weight\['dead'\] must be a finite number above 0, not 0"),
            ({"dead": np.nan}, ValueError, r"class_weight\['dead'\] must be a finite number above 0, not nan"),
            ({"dead": "2"}, ValueError, r"class_weight\['dead'\] must be a finite number above 0, not '2'"),
            (
                "even",
                TypeError,
                "class_weight must be 'balanced', a mapping of classes to weights, or None, not 'even'",
            ),
            ([1, 2], TypeError, r"class_weight must be 'balanced', a mapping .* not \[1, 2\]"),
        ],
    )
    def test_that_makes_no_sense(self, class_weight, error, message):
        with pytest.raises(error, match=message):
            ANBClassifier(class_weight=class_weight).fit(PLAIN, Y)

    def test_is_saved(self, tmp_path):
        weights = {0: 2.0, 1: 0.5}
        model = NaiveBayesClassifier(class_weight=weights).fit(PLAIN, (Y == "dead").astype(int))
        model.save(tmp_path / "m.json")
        assert anbexact.load(tmp_path / "m.json").class_weight == weights


def test_dates_of_consecutive_days_are_not_identifiers():
    days = pd.DataFrame({"day": pd.date_range("2021-01-01", periods=300)})
    late = np.arange(300) >= 170
    classifier = NaiveBayesClassifier().fit(days, late)
    assert classifier.dropped_ == {}
    assert classifier.score(days, late) == 1.0
