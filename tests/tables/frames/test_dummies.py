"""One-hot coded columns: what is folded, and that a classifier of the coded table is that of the table."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import anbexact
from anbexact import ANBClassifier, NaiveBayesClassifier, PooledClassifier, RefittedClassifier, compare
from anbexact.report import report
from anbexact.tables.frames.dummies import find_dummies, fold, folded_frame
from anbexact.tables.frames.reading import read_columns

pytestmark = pytest.mark.filterwarnings("ignore:one-hot coded columns are read")
COLOURS = ["blue", "green", "dark_red"]


def table(n=120, seed=0):
    """A table with a number first, as `get_dummies` orders columns, and a class that depends on all of it."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "color": rng.choice(COLOURS, n),
            "home_owner": rng.choice(["no", "yes"], n),
        }
    )
    odd = (X["color"] == "blue") ^ (X["home_owner"] == "yes") ^ (rng.random(n) < 0.1)
    return X, pd.Series(np.where(odd, "p", "q"), name="class")


def dummies_of(frame, declared=()):
    return find_dummies(read_columns(frame), np.ones(len(frame), dtype=bool), "class", declared)


CODED = {
    "pandas": pd.get_dummies,
    "whole numbers": lambda X: pd.get_dummies(X, dtype=int),
    "scikit-learn": lambda X: pd.get_dummies(X, dtype=float, prefix_sep="="),
    "sparse": lambda X: pd.get_dummies(X, sparse=True),
    "sparse of floats": lambda X: pd.DataFrame.sparse.from_spmatrix(
        scipy.sparse.csr_matrix(pd.get_dummies(X, dtype=float).to_numpy()), columns=pd.get_dummies(X).columns
    ),
    "polars": lambda X: pl.from_pandas(X).to_dummies(["color", "home_owner"]),
    "mixed up": lambda X: pd.get_dummies(X).iloc[:, [1, 5, 0, 3, 4, 2]],
}  # fmt: skip


class TestTheClassifierIsThatOfTheTable:
    @pytest.mark.parametrize("form", CODED)
    def test_probabilities(self, form):
        X, y = table()
        coded = CODED[form](X)
        model = NaiveBayesClassifier(ess=1.0).fit(coded, y)
        X = X[[*model.vocabulary_.features]]
        own = NaiveBayesClassifier(ess=1.0).fit(X, y)
        assert model.vocabulary_ == own.vocabulary_
        np.testing.assert_array_equal(model.predict_proba(coded), own.predict_proba(X))
        np.testing.assert_array_equal(model.predict_proba(X), own.predict_proba(X))
        assert model.n_features_in_ == 6
        assert model.feature_names_in_.tolist() == list(coded.columns)
        assert sorted(map(len, model.folded_.values())) == [2, 3]

    @pytest.mark.parametrize(
        "make",
        [
            lambda: ANBClassifier(ess=1.0),
            lambda: RefittedClassifier(NaiveBayesClassifier(ess=1.0)),
            lambda: PooledClassifier([NaiveBayesClassifier(ess=1.0), ANBClassifier(ess=1.0)], folds=2),
        ],
        ids=["network", "refit", "pool"],
    )
    def test_everything_works_on_coded_rows(self, make, tmp_path):
        X, y = table()
        coded = pd.get_dummies(X)
        model, own = make().fit(coded, y), make().fit(X, y)
        proba = model.predict_proba(coded)
        np.testing.assert_allclose(proba, own.predict_proba(X), 1e-9)
        model.save(tmp_path / "model.json")
        again = anbexact.load(tmp_path / "model.json")
        np.testing.assert_array_equal(again.predict_proba(coded), proba)
        assert (again.folded_, again.n_features_in_) == (model.folded_, 6)
        assert again.feature_names_in_.tolist() == list(coded.columns)
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            np.testing.assert_array_equal(model.predict_proba(coded.to_numpy()), proba)
        parts = pd.concat(model.predict_frame(coded, batch_rows=50, proba=True), ignore_index=True)
        np.testing.assert_array_equal(parts.drop(columns="predicted"), proba)
        assert {"color", "home_owner"} <= {*model.explain(coded[:1])[0].terms["feature"]}
        np.testing.assert_allclose(model.query(coded.iloc[0]), proba[0], 1e-9)
        blue = {"color_blue": 1, "color_dark_red": 0, "color_green": 0}
        np.testing.assert_array_equal(model.query(blue), model.query(color="blue"))
        assert "home_owner" in report(model, coded, y, folds=None).to_html()

    def test_rows_that_were_not_seen(self):
        X, y = table()
        coded = pd.get_dummies(X, dtype=float)
        model = NaiveBayesClassifier(ess=1.0).fit(coded, y)
        rows = coded.iloc[[0] * 4].reset_index(drop=True)
        colours = [f"color_{colour}" for colour in COLOURS]
        rows.loc[0, colours], rows.loc[1, colours] = [1, 1, 0], [0, 0, 0]  # contradictory, and of another colour
        rows.loc[2, colours], rows.loc[3, colours] = [np.nan, 0, 0], [np.nan, 1, 0]
        summed_out = X.iloc[[0] * 4].assign(color=[None, None, None, "green"])
        np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(summed_out))
        strict = NaiveBayesClassifier(ess=1.0, handle_unknown="error").fit(coded, y)
        with pytest.raises(ValueError, match="column 'color', row 0: the value 'blue and green' is not a state"):
            strict.predict(rows)
        with pytest.raises(ValueError, match=r"column 'color_blue', row 3: 2\.0 is neither 0 nor 1, but in training"):
            model.predict(coded.assign(color_blue=[0, 1, 0, 2.0] * 30))

    def test_a_comparison(self):
        X, y = table()
        with pytest.warns(UserWarning, match="one-hot coded columns are read as the columns that they code: 'color'"):
            found = compare(pd.get_dummies(X), y, models={"NB": NaiveBayesClassifier(ess=1.0)}, folds=2, refit=False)
        own = compare(X, y, models={"NB": NaiveBayesClassifier(ess=1.0)}, folds=2, refit=False)
        assert found.loc["NB", "log_loss"] == pytest.approx(own.loc["NB", "log_loss"], abs=1e-12)

    def test_kept_apart_on_request(self):
        X, y = table()
        coded = pd.get_dummies(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            apart = NaiveBayesClassifier(fold_dummies=False).fit(coded, y)
        assert apart.vocabulary_.features == tuple(coded.columns)
        declared = NaiveBayesClassifier(categories={"color_blue": [False, True]}).fit(coded, y)
        assert declared.folded_ == {"home_owner": ["home_owner_no", "home_owner_yes"]}
        arcs = ANBClassifier(ess=1.0, required_edges=[("home_owner_no", "age")]).fit(coded, y)
        assert "home_owner" not in arcs.folded_
        with pytest.raises(ValueError, match="fold_dummies must be 'auto' or False, not True"):
            NaiveBayesClassifier(fold_dummies=True).fit(coded, y)


class TestFindDummies:
    @given(st.integers(2, 6), st.integers(0, 2**32 - 1), st.booleans())
    @examples(40)
    def test_finds_what_was_coded(self, n_values, seed, drop_first):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"a_b": rng.integers(n_values, size=200).astype(str), "c.d": rng.choice(["x", "y"], 200)})
        X.loc[: n_values - 1, "a_b"] = [str(k) for k in range(n_values)]
        coded = pd.get_dummies(X, drop_first=drop_first)
        found = dummies_of(coded)
        few = drop_first and n_values == 2  # a single column is left, which codes nothing
        assert [name for name in found if name.startswith("a")] == ([] if few else ["a_b"])
        if not few:
            kept = [str(k) for k in range(int(drop_first), n_values)]
            assert found["a_b"] == tuple((f"a_b_{value}", value) for value in kept)
            texts = folded_frame(coded, found)["a_b"]
            expected = X["a_b"].where(X["a_b"] != "0", "(none)") if drop_first else X["a_b"]
            assert texts.tolist() == expected.tolist()

    def test_rare_flags_may_be_apart_by_chance(self):
        flags = pd.DataFrame({"has_boat": [1, 0] + [0] * 98, "has_car": [0, 1] + [0] * 98})
        assert dummies_of(flags) == {}
        assert dummies_of(flags, ["has"]) == {"has": (("has_boat", "boat"), ("has_car", "car"))}
        often = pd.DataFrame({"has_boat": [1, 0, 0] * 40, "has_car": [0, 1, 0] * 40})
        assert list(dummies_of(often)) == ["has"]  # independent flags: (1 - 1/9) ** 120 = 7e-7

    @pytest.mark.parametrize(
        "columns",
        [
            {"a_x": [0, 1], "a_y": [0, 1]},  # both at the same time
            {"a_x": [0, 1], "a_y": [2, 0]},
            {"a_x": [0, 1], "b_y": [1, 0]},
            {"_x": [0, 1], "_y": [1, 0]},
            {"a_": [0, 1], "a_y": [1, 0]},
            {"a_x": [0, 1], "a_y": [1, 0], "a": [5, 7]},  # the name is taken
            {"class_x": [0, 1], "class_y": [1, 0]},
            {"a_x": [0, None], "a_y": [1, 0]},
            {"a_x": ["0", "1"], "a_y": ["1", "0"]},
        ],
    )
    def test_not_coded(self, columns):
        frame = pd.DataFrame({name: values * 20 for name, values in columns.items()})
        assert dummies_of(frame) == {}
        X, y = frame, [0, 1] * 20
        assert NaiveBayesClassifier().fit(X, y).folded_ == {}

    def test_few_rows(self):
        frame = pd.get_dummies(pd.DataFrame({"a": ["x", "y"] * 7}))
        assert list(dummies_of(frame)) == ["a"]
        assert dummies_of(frame[:13]) == {}

    def test_fold_leaves_incomplete_groups(self):
        group = {"a": (("a_x", "x"), ("a_y", "y"))}
        columns = read_columns(pd.DataFrame({"a_x": [0, 1]}))
        assert fold(columns, group) == columns


def test_columns_without_names():
    coded = pd.get_dummies(table()[0]).to_numpy(dtype=float)
    y = table()[1].to_numpy()
    for X in (coded, scipy.sparse.csr_array(coded)):
        with pytest.warns(UserWarning, match="5 columns contain only 0 and 1, and 2 of them are 1 in every row"):
            NaiveBayesClassifier().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NaiveBayesClassifier().fit(np.random.default_rng(0).integers(2, size=(120, 5)), y)


def test_sparse_tables_are_those_they_stand_for():
    coded, y = pd.get_dummies(table()[0], dtype=float).to_numpy(), table()[1].to_numpy()
    make = {"csr": scipy.sparse.csr_matrix, "coo": scipy.sparse.coo_array}
    for model in (NaiveBayesClassifier(), PooledClassifier([NaiveBayesClassifier(), ANBClassifier(ess=1)], folds=2)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dense = model.fit(coded, y).predict_proba(coded)
            for of in make.values():
                np.testing.assert_array_equal(model.fit(of(coded), y).predict_proba(of(coded)), dense)
                assert sum(map(len, model.predict_frame(of(coded), batch_rows=70))) == len(y)
