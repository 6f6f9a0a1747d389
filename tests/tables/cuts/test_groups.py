"""Groups of categories, alone and in classifiers."""

import math

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from anbexact import ANBClassifier, NaiveBayesClassifier, TANClassifier, load
from anbexact._kernels.groups import best_division, joined_values, log_divisions
from anbexact.adapters import from_file, from_pgmpy, to_file, to_logit
from anbexact.discretize import MODLGrouper, group_values
from anbexact.tables.frames.reading import read_column
from anbexact.tables.vocabulary import Vocabulary, group_names


def groups_of(values, labels, weights=None):
    """The groups of one column."""
    return MODLGrouper().fit([[value] for value in values], labels, weights).groups_[0]


@st.composite
def labelled_categories(draw, most=6):
    """Values of a column, labels and weights; labels often follow the values."""
    n = draw(st.integers(1, 30))
    values = draw(st.lists(st.sampled_from("abcdefg"[:most]), min_size=n, max_size=n))
    n_classes = draw(st.integers(1, 4))
    noise = draw(st.lists(st.integers(0, 7), min_size=n, max_size=n))
    labels = [ord(v) % n_classes if k > 3 else k % n_classes for v, k in zip(values, noise, strict=True)]
    of_weight = draw(st.sampled_from([st.just(1.0), st.integers(1, 30).map(float), st.floats(0.01, 20)]))
    return values, labels, draw(st.lists(of_weight, min_size=n, max_size=n))


def least_cost(values, labels, weights):
    """The least cost over all divisions of the values."""
    divisions = oracles.set_partitions(sorted(set(values)))
    return min(oracles.groups_cost(values, labels, weights, division) for division in divisions)


def group_cost(weights):
    """Cost ln C(n + J - 1, J - 1) + ln(n! / Π n_j!) of one group with these class weights."""
    total = sum(weights) + len(weights)
    return math.lgamma(total) - math.lgamma(len(weights)) - sum(math.lgamma(n + 1) for n in weights)


class TestCriterion:
    @given(labelled_categories())
    @examples(60, quick=20)
    def test_no_division_costs_less(self, column):
        values, labels, weights = column
        found = groups_of(*column)
        weights = oracles.row_weights(weights)
        cost = oracles.groups_cost(values, labels, weights, found)
        assert cost == pytest.approx(least_cost(values, labels, weights), rel=1e-9, abs=1e-7)
        assert sorted(value for group in found for value in group) == sorted(set(values))

    @pytest.mark.parametrize("seed", range(5))
    def test_seven_values(self, seed):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 2 + seed % 2, 90)
        values = ["abcdefg"[k] for k in np.where(rng.random(90) < 0.6, 2 * labels, rng.integers(0, 7, 90))]
        cost = oracles.groups_cost(values, labels, [1] * 90, groups_of(values, labels))
        assert cost == pytest.approx(least_cost(values, labels, [1] * 90))

    @given(labelled_categories())
    def test_joining_and_moving_comes_close_to_the_optimum(self, column):
        values, labels, weights = column
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("anbexact.tables.cuts.groups.EXACT_VALUES", 0)
            found = groups_of(*column)
        weights = oracles.row_weights(weights)
        best = least_cost(values, labels, weights)
        assert best - 1e-7 <= oracles.groups_cost(values, labels, weights, found) <= best + 2.0

    @pytest.mark.parametrize("kernel", [best_division, joined_values])
    def test_of_equal_costs_the_one_with_fewer_groups(self, kernel):
        sums = np.array([[5.0, 1.0, 0.0], [1.0, 4.0, 2.0], [0.0, 1.0, 6.0]])
        apart, together = sum(map(group_cost, sums)), group_cost(sums.sum(axis=0))
        prices = np.array([-np.inf, apart - together, 1000.0, 0.0])
        logs = np.empty(0)
        assert kernel(sums, prices, 3, 1e-9, logs).tolist() == [0, 0, 0]
        prices[1] += 1e-6
        assert sorted(kernel(sums, prices, 3, 1e-9, logs)) == [0, 1, 2]

    def test_many_values_are_joined_along_a_line_first(self, monkeypatch):
        rng = np.random.default_rng(0)
        of_value = rng.integers(0, 3, 60)
        codes = rng.integers(0, 60, 3000)
        labels = np.where(rng.random(3000) < 0.8, of_value[codes], rng.integers(0, 3, 3000))
        values = [f"v{k:02d}" for k in codes]
        expected = {frozenset(f"v{k:02d}" for k in np.flatnonzero(of_value == c)) for c in range(3)}
        assert {frozenset(group) for group in groups_of(values, labels)} == expected
        monkeypatch.setattr("anbexact.tables.cuts.groups.MOST_VALUES", 12)
        assert {frozenset(group) for group in groups_of(values, labels)} == expected

    def test_by_hand(self):
        # a, b: 4 rows each, a all yes, b all no. Together: ln 2 + ln B(2, 1) + ln C(9, 1) + ln 8!/(4! 4!)
        # = ln(2 * 9 * 70); apart: ln 2 + ln B(2, 2) + 2 ln C(5, 1) = ln(2 * 2 * 25).
        values, labels = list("aaaabbbb"), list("yyyynnnn")
        assert oracles.groups_cost(values, labels, [1] * 8, [["a", "b"]]) == pytest.approx(np.log(1260))
        assert oracles.groups_cost(values, labels, [1] * 8, [["a"], ["b"]]) == pytest.approx(np.log(100))
        assert groups_of(values, labels) == (("a",), ("b",))

    @given(labelled_categories(), st.data())
    def test_weights_are_copies(self, column, data):
        values, labels, _ = column
        repeats = data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))
        if any(repeats):
            copied = [np.repeat(part, repeats).tolist() for part in (values, labels)]
            assert groups_of(values, labels, repeats) == groups_of(*copied)

    @given(labelled_categories(), st.randoms())
    def test_row_order_does_not_matter(self, column, random):
        rows = list(zip(*column, strict=True))
        random.shuffle(rows)
        assert groups_of(*column) == groups_of(*zip(*rows, strict=True))

    @pytest.mark.parametrize("n_values", [1, 2, 5, 8])
    def test_divisions_are_counted(self, n_values):
        sizes = [len(division) for division in oracles.set_partitions(list(range(n_values)))]
        expected = [sum(size <= k for size in sizes) for k in range(1, n_values + 1)]
        np.testing.assert_allclose(np.exp(log_divisions(n_values, n_values)[1:]), expected)
        np.testing.assert_allclose(np.exp(log_divisions(n_values, 2)[1:]), expected[:2])

    def test_divisions_of_very_many_values(self):
        # B(V, 2) = 2 ** (V - 1), whatever V.
        assert log_divisions(20_000, 3)[2] == pytest.approx(19_999 * np.log(2))

    def test_ordered_values_are_parted_into_runs(self):
        values = ["low"] * 20 + ["mid"] * 20 + ["high"] * 20
        labels = [0] * 20 + [1] * 20 + [0] * 20
        column = read_column(pd.Categorical(values, ["low", "mid", "high", "top"], ordered=True), "size")
        found = group_values(column, np.array(labels), np.ones(60))
        assert found == (("low",), ("mid",), ("high", "top"))
        assert set(groups_of(values, labels)) == {("high", "low"), ("mid",)}


def towns(n=600, seed=0):
    """A table with a column of 40 towns in two kinds, one of 8 trades and one of numbers; the town decides most."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 40, n)
    trade = rng.integers(0, 8, n)
    y = np.where(rng.random(n) < 0.85, np.where(town < 25, "no", "yes"), rng.choice(["no", "yes"], n))
    frame = pd.DataFrame({"town": [f"t{k:02d}" for k in town], "trade": [f"trade {k}" for k in trade]})
    return frame.assign(age=rng.normal(40 + 10 * (y == "yes"), 5)), pd.Series(y, name="moved")


KINDS = {frozenset(f"t{k:02d}" for k in range(25)), frozenset(f"t{k:02d}" for k in range(25, 40))}


class TestInClassifiers:
    def test_columns_with_many_values_are_grouped(self):
        X, y = towns()
        before = X.copy()
        classifier = NaiveBayesClassifier().fit(X, y)
        assert list(classifier.groups_) == ["town"]
        assert {frozenset(group) for group in classifier.groups_["town"]} == KINDS
        assert classifier.vocabulary_.states["town"] == group_names(classifier.groups_["town"])
        assert classifier.vocabulary_.arity("trade") == 8
        assert classifier.score(X, y) > 0.85
        pd.testing.assert_frame_equal(X, before)

    def test_equals_the_same_network_on_grouped_values(self):
        X, y = towns()
        grouped = TANClassifier().fit(X, y)
        of_value = {value: group[0] for group in grouped.groups_["town"] for value in group}
        by_hand = TANClassifier().fit(X.assign(town=X["town"].map(of_value)), y)
        expected = by_hand.predict_proba(X.assign(town=X["town"].map(of_value)))
        np.testing.assert_allclose(grouped.predict_proba(X), expected)
        assert grouped.structure_.score == pytest.approx(by_hand.structure_.score)

    @pytest.mark.parametrize(
        ("group_categories", "expected"), [(None, []), (7, ["town", "trade"]), (8, ["town"]), (40, [])]
    )
    def test_the_number_of_values_decides(self, group_categories, expected):
        classifier = NaiveBayesClassifier(group_categories=group_categories).fit(*towns())
        assert list(classifier.groups_) == expected
        assert classifier.get_params()["group_categories"] == group_categories

    @pytest.mark.parametrize("group_categories", [0, -3, 2.5, True, "all"])
    def test_other_settings_are_refused(self, group_categories):
        with pytest.raises(
            ValueError, match=f"group_categories must be 'auto', None or a .* not {group_categories!r}"
        ):
            NaiveBayesClassifier(group_categories=group_categories).fit(*towns())

    def test_unknown_and_missing_values(self):
        X, y = towns()
        classifier = NaiveBayesClassifier(ess=1.0).fit(X, y)
        row = X.iloc[[0, 0, 0]].assign(town=["t99", None, "{t00, t01}"])
        assert len(np.unique(classifier.predict_proba(row)[:, 0])) == 1
        without = NaiveBayesClassifier(ess=1.0).fit(X.drop(columns="town"), y)
        np.testing.assert_allclose(classifier.predict_proba(row), without.predict_proba(row.drop(columns="town")))
        with pytest.raises(ValueError, match=r"column 'town', row 0: the value 't99' is not a state"):
            classifier.set_params(handle_unknown="error").predict(row)

    def test_missing_values_as_a_state(self):
        X, y = towns()
        X.loc[::7, "town"] = None
        classifier = NaiveBayesClassifier(handle_missing="own_state").fit(X, y)
        states = classifier.vocabulary_.states["town"]
        assert states == (*group_names(classifier.groups_["town"]), "(missing)")
        codes = classifier.reader_.codes(X)[0]
        assert (codes[::7] == len(states) - 1).all()

    def test_declared_columns_are_not_grouped(self):
        X, y = towns()
        declared = {"town": sorted(set(X["town"]))}
        assert NaiveBayesClassifier(categories=declared).fit(X, y).groups_ == {}

    def test_categorical_dtypes_are_grouped_unseen_categories_too(self):
        X, y = towns()
        declared = [*sorted(set(X["town"])), "t99"]
        typed = X.assign(town=pd.Categorical(X["town"], declared))
        classifier = NaiveBayesClassifier(handle_unknown="error").fit(typed, y)
        (large,) = [group for group in classifier.groups_["town"] if len(group) == 26]
        assert "t99" in large
        classifier.predict(typed.iloc[:1].assign(town=pd.Categorical(["t99"], declared)))
        ordered = X.assign(town=pd.Categorical(X["town"], declared[::2] + declared[1::2], ordered=True))
        groups = NaiveBayesClassifier().fit(ordered, y).groups_["town"]
        assert [value for group in groups for value in group] == declared[::2] + declared[1::2]

    def test_weights_that_sum_to_1(self):
        X, y = towns()
        light = NaiveBayesClassifier().fit(X, y, sample_weight=np.full(600, 1 / 600))
        assert light.groups_ == NaiveBayesClassifier().fit(X, y).groups_

    def test_rows_can_be_added(self):
        X, y = towns()
        added = NaiveBayesClassifier().fit(X, y).partial_fit(*towns(200, 1))
        assert {frozenset(group) for group in added.groups_["town"]} == KINDS
        with pytest.raises(ValueError, match="the value 't99' is not a state"):
            added.partial_fit(X.assign(town="t99"), y)

    def test_files_and_other_forms_keep_the_groups(self, tmp_path):
        X, y = towns()
        classifier = ANBClassifier().fit(X, y)
        expected = classifier.predict_proba(X)
        classifier.save(tmp_path / "model.json")
        loaded = load(tmp_path / "model.json")
        assert loaded.groups_ == classifier.groups_
        np.testing.assert_array_equal(loaded.predict_proba(X), expected)
        np.testing.assert_allclose(from_pgmpy(classifier.to_pgmpy(), "moved").predict_proba(X), expected)
        to_file(classifier, tmp_path / "network.bif")
        restored = from_file(tmp_path / "network.bif")
        assert restored.groups_ == classifier.groups_
        np.testing.assert_allclose(restored.predict_proba(X), expected, rtol=1e-9)
        np.testing.assert_allclose(to_logit(classifier).predict_proba(X), expected)

    def test_measured_classifiers_group_too(self):
        X, y = towns()
        measured = TANClassifier(continuous="universal").fit(X, y)
        assert {frozenset(group) for group in measured.groups_["town"]} == KINDS
        assert measured.to_discrete().groups_ == measured.groups_


class TestNames:
    def test_long_groups_are_cut_off_and_distinct(self):
        many = tuple(f"value number {k}" for k in range(30))
        names = group_names((many, many[:-1], (1,), ("1",)))
        assert names[0] == "{value number 0, value number 1, value number 2, … 27 more}"
        assert names[1:] == ("{value number 0, value number 1, value number 2, … 26 more}", "{1}", "{1} (2)")
        same = group_names((many, (*many[:-1], "x")))
        assert same[1] == f"{same[0]} (2)"

    def test_codes(self):
        groups = (("a", "b"), (3,))
        vocabulary = Vocabulary({"x": group_names(groups), "c": (0, 1)}, "c", groups={"x": groups})
        assert [vocabulary.code("x", value) for value in ("{a, b}", "b", 3, "{3}", "z")] == [0, 0, 1, 1, -2]
        assert vocabulary.values("x") == ("a", "b", 3)
        assert vocabulary.values("c") == (0, 1)

    @pytest.mark.parametrize("groups", [(("a",), ("b",)), (("a", "b"), ("a",)), (("a", "b"),)])
    def test_groups_that_do_not_belong_to_the_states_are_refused(self, groups):
        with pytest.raises(ValueError, match=r"the states of column 'x', .*, are not the names of its groups"):
            Vocabulary({"x": ("{a, b}", "{c}")}, groups={"x": groups})


class TestTransformer:
    def test_numbers_of_groups(self):
        X = pd.DataFrame({"a": list("xyzxyz") * 5, "b": [*"pq", None] * 10})
        y = list("uvvuvv") * 5
        grouper = MODLGrouper().fit(X, y)
        assert grouper.groups_[0] == (("x",), ("y", "z"))
        out = grouper.transform(pd.DataFrame({"a": ["x", "z", "new", None], "b": ["p", "p", None, "q"]}))
        np.testing.assert_array_equal(out[:, 0], [0, 1, np.nan, np.nan])
        assert np.isnan(out[2, 1])
        assert grouper.feature_names_in_.tolist() == ["a", "b"]

    def test_classes_are_needed(self):
        with pytest.raises(ValueError, match="Input y contains NaN"):
            MODLGrouper().fit([["a"], ["b"]], ["u", None])
