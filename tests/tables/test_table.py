"""Vocabulary and table: states, codes, weights; equal tables from equal data in any library."""

import copy
import datetime
import pickle
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems
from tiers import examples

import anbexact.tables.table as table_module
from anbexact import BDeu, DiscreteTable, Vocabulary
from anbexact.tables.frames.reading import read_column
from anbexact.tables.table import check_weights, class_name_of
from anbexact.tables.vocabulary import MAX_STATES, MISSING, UNKNOWN

POOLS = {
    "ints": st.integers(-5, 5),
    "big ints": st.integers(-(2**62), 2**62),
    "floats": st.floats(allow_nan=False, allow_infinity=False),
    "bools": st.booleans(),
    "strings": st.text(max_size=4),
    "dates": st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1)),
    "mixed": st.one_of(st.integers(2, 9), st.text(max_size=2), st.tuples(st.integers(), st.text(max_size=1))),
}


def as_series(kind, values):
    return pd.Series(values, dtype=object if kind in {"dates", "mixed"} else None)


def logical(table):
    """Rows with their weights, as states: what the table says, whatever the codes."""
    names = table.vocabulary.names
    rows = {}
    for codes, weight in zip(table.codes.tolist(), table.weights.tolist(), strict=True):
        row = tuple(table.vocabulary.states[name][code] for name, code in zip(names, codes, strict=True))
        assert row not in rows, "equal rows must be collapsed"
        rows[row] = weight
    return rows


class TestVocabulary:
    @pytest.mark.parametrize("kind", POOLS)
    @given(data=st.data())
    def test_states_keep_their_types_and_encoding_is_inverse(self, kind, data):
        values = data.draw(st.lists(POOLS[kind], min_size=1, max_size=12))
        table = DiscreteTable.from_frame(pd.DataFrame({"a": as_series(kind, values)}))
        states = table.vocabulary.states["a"]
        assert set(states) == set(values)
        types = {value: type(value) for value in values}
        assert all(type(state) is types[state] for state in states)
        if kind != "mixed":
            assert list(states) == sorted(states)
        for code, state in enumerate(states):
            assert table.vocabulary.code("a", state) == code
        codes = table.vocabulary.encode(read_column(as_series(kind, values), "a"))
        assert [states[code] for code in codes] == values

    @given(st.lists(st.text(max_size=3), min_size=1, unique=True), st.data())
    def test_declared_order_is_kept_and_unseen_states_stay(self, categories, data):
        values = data.draw(st.lists(st.sampled_from(categories), min_size=1))
        as_declared = DiscreteTable.from_frame(pd.DataFrame({"a": values}), categories={"a": categories})
        as_dtype = DiscreteTable.from_frame(pd.DataFrame({"a": pd.Categorical(values, categories)}))
        as_enum = DiscreteTable.from_frame(pl.DataFrame({"a": pl.Series(values, dtype=pl.Enum(categories))}))
        indices = pa.array([categories.index(value) for value in values])
        as_dictionary = DiscreteTable.from_frame(
            pa.table({"a": pa.DictionaryArray.from_arrays(indices, pa.array(categories))})
        )
        for table in (as_declared, as_dtype, as_enum, as_dictionary):
            assert table.vocabulary.states["a"] == tuple(categories)
            assert logical(table) == logical(as_declared)

    def test_categories_win_over_the_dtype(self):
        X = pd.DataFrame({"a": pd.Categorical(["x"], ["x", "y"])})
        table = DiscreteTable.from_frame(X, categories={"a": ["z", "x"]})
        assert table.vocabulary.states["a"] == ("z", "x")

    def test_numpy_scalars_become_native(self):
        table = DiscreteTable.from_frame([[1]], categories={"x0": np.array([1, 2])})
        assert [type(state) for state in table.vocabulary.states["x0"]] == [int, int]

    def test_classes_are_sorted(self):
        y = pd.Series(pd.Categorical(["low", "high"], ["low", "high", "extreme"]), name="y")
        table = DiscreteTable.from_frame([[0], [1]], y)
        assert table.vocabulary.states["y"] == ("extreme", "high", "low")
        assert table.vocabulary.names == ("x0", "y")
        assert table.vocabulary.features == ("x0",)

    @pytest.mark.parametrize(
        ("labels", "kind"),
        [
            ([2, 10, -3], "i"),
            ([2.5, 10.0, -3.0], "f"),
            ([False, True], "b"),
            (["10", "2", "a"], "U"),
            ([2, "10"], "O"),
            ([False, 2.5], "O"),
        ],
    )
    def test_classes_are_sorted_by_value_and_keep_their_types(self, labels, kind):
        series = pd.Series(labels[::-1], dtype=object)
        vocabulary = DiscreteTable.from_frame(pd.DataFrame({"a": [0] * len(labels)}), series).vocabulary
        expected = labels if len({*map(type, labels)}) > 1 else sorted(labels)
        assert list(map(repr, vocabulary.classes.tolist())) == list(map(repr, expected))
        assert vocabulary.classes.dtype.kind == kind

    def test_unknown_and_missing_cells(self):
        vocabulary = Vocabulary({"a": ("x", "y")})
        column = read_column(["y", "q", None, "x"], "a")
        assert vocabulary.encode(column).tolist() == [1, UNKNOWN, MISSING, 0]
        assert vocabulary.code("a", "q") == UNKNOWN
        with pytest.raises(ValueError, match=r"column 'a', row 1: the value 'q' is not a state .*states: 'x', 'y'"):
            vocabulary.encode(column, handle_unknown="error")
        with pytest.raises(ValueError, match=r"column 'a', row 2: the cell is missing \(1 such row;"):
            vocabulary.encode(column, handle_missing="error")
        own = Vocabulary({"a": ("x", "y", "(missing)")}, own_missing={"a"})
        assert own.encode(column, handle_missing="own_state").tolist() == [1, UNKNOWN, 2, 0]
        assert vocabulary.encode(column, handle_missing="own_state").tolist() == [1, UNKNOWN, MISSING, 0]

    def test_a_bool_is_not_a_string_and_numbers_compare_by_value(self):
        vocabulary = Vocabulary({"a": (0, 1)})
        assert vocabulary.encode(read_column([0.0, 1.0, 2.0], "a")).tolist() == [0, 1, UNKNOWN]
        assert vocabulary.encode(read_column(["0", "1"], "a")).tolist() == [UNKNOWN, UNKNOWN]

    def test_senseless_vocabularies(self):
        with pytest.raises(ValueError, match="the states of column 'a' are not distinct"):
            Vocabulary({"a": (1, 1.0)})
        with pytest.raises(ValueError, match="the class 'c' is not among the variables"):
            Vocabulary({"a": (1,)}, "c")
        with pytest.raises(ValueError, match=r"has 32,768 states, more than the 32,767 .* looks like an identifier"):
            Vocabulary({"a": range(MAX_STATES + 1)})
        assert Vocabulary({"a": range(MAX_STATES)}).arity("a") == MAX_STATES

    def test_the_largest_vocabulary_encodes(self):
        vocabulary = Vocabulary({"a": range(MAX_STATES)})
        codes = vocabulary.encode(read_column(np.array([0, MAX_STATES - 1, MAX_STATES]), "a"))
        assert codes.tolist() == [0, MAX_STATES - 1, UNKNOWN]

    def test_copies(self):
        vocabulary = DiscreteTable.from_frame([[1, "a"], [2, "b"]], ["u", "v"]).vocabulary
        for other in (pickle.loads(pickle.dumps(vocabulary)), copy.deepcopy(vocabulary), copy.copy(vocabulary)):
            assert other == vocabulary
            assert other.code("x1", "b") == 1

    def test_cannot_be_changed(self):
        vocabulary = Vocabulary({"a": (1, 2)})
        with pytest.raises(TypeError):
            vocabulary.states["a"] = (3,)


class TestTable:
    @given(problems())
    def test_equal_rows_are_collapsed_and_weights_summed(self, problem):
        table = problem.table
        expected = {}
        for row, weight in zip(problem.rows, problem.weights, strict=True):
            expected[row] = expected.get(row, 0.0) + weight
        got = logical(table)
        assert got.keys() == expected.keys()
        assert all(got[row] == pytest.approx(expected[row], rel=1e-12) for row in got)
        assert table.n_rows == len(problem.rows)
        assert table.weight_sum == pytest.approx(sum(problem.weights))
        assert table.codes.shape == (len(expected), problem.n + 1)

    @given(st.integers(0, 2**32))
    @examples(25)
    def test_order_of_rows_changes_no_digit(self, seed):
        """Real weights of rows that are equal are added up the same in whatever order they come."""
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 200))
        X, y = rng.integers(0, 2, (n, 2)), rng.integers(0, 2, n)
        weights = np.exp(rng.normal(0, 8, n)) if seed % 2 else rng.random(n)
        first = DiscreteTable.from_frame(X, y, sample_weight=weights)
        for _ in range(5):
            order = rng.permutation(n)
            again = DiscreteTable.from_frame(X[order], y[order], sample_weight=weights[order])
            assert again.vocabulary == first.vocabulary
            np.testing.assert_array_equal(again.weights, first.weights)
            assert BDeu().local_score(again, "x1", ["class"]) == BDeu().local_score(first, "x1", ["class"])

    @given(problems(max_features=3))
    def test_counts(self, problem):
        import oracles

        names = [problem.names[-1], *problem.names[:2]]
        variables = [problem.n, *range(min(2, problem.n))]
        counts = problem.table.counts(names[: len(variables)])
        for cell, weight in oracles.counts(problem.rows, problem.weights, problem.arities, variables).items():
            assert counts[cell] == pytest.approx(weight, rel=1e-12)
        cells = problem.table.cell_weights(problem.names)
        assert sorted(cells) == pytest.approx(sorted(logical(problem.table).values()))

    def test_many_wide_columns_do_not_overflow(self):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 1000, (300, 30))
        X[150:] = X[:150]
        table = DiscreteTable.from_frame(X)
        assert len(table.codes) == 150
        assert (table.weights == 2).all()
        assert len(table.cell_weights(table.vocabulary.names)) == 150

    @pytest.mark.parametrize(("cells", "sets"), [(1_000, 250), (3, 250), (1_000, 1)])
    def test_weights_of_cells_are_the_same_when_asked_for_again_and_cannot_be_changed(self, cells, sets, monkeypatch):
        monkeypatch.setattr(table_module, "MOST_CELLS_KEPT", cells)
        monkeypatch.setattr(table_module, "MOST_KEPT", sets)
        rng = np.random.default_rng(0)
        X, weights = rng.integers(0, 3, (40, 2)), rng.choice([0.5, 1.0], 40)
        table = DiscreteTable.from_frame(X, sample_weight=weights)
        other = replace(table, weights=2 * table.weights)
        asked = ["x0"], ["x1"], ["x0", "x1"], []
        for _ in range(2):
            for names in asked:
                columns = X[:, [int(name[1]) for name in names]]
                expected = {row: weights[(columns == row).all(axis=1)].sum() for row in set(map(tuple, columns))}
                found = table.cell_weights(names)
                assert sorted(found) == pytest.approx(sorted(expected.values()))
                assert sorted(other.cell_weights(names)) == pytest.approx(sorted(2 * of for of in expected.values()))
                with pytest.raises(ValueError, match="read-only"):
                    found[0] = 9.0
        for again in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
            assert vars(again).keys() == {field.name for field in fields(table)}
        kept = [table.cell_weights(names) is table.cell_weights(names) for names in asked]
        assert kept == ([True] * 4 if (cells, sets) == (1_000, 250) else [True, sets > 1, False, sets > 1])

    def test_weight_zero_is_no_row(self):
        X, y = [["a"], ["b"], ["c"]], ["u", "v", "w"]
        table = DiscreteTable.from_frame(X, y, sample_weight=[1, 0, 2])
        assert table.vocabulary.states == {"x0": ("a", "c"), "class": ("u", "w")}
        assert table.n_rows == 2
        declared = DiscreteTable.from_frame(X, y, sample_weight=[1, 0, 2], categories={"x0": ["b", "a", "c"]})
        assert declared.vocabulary.states["x0"] == ("b", "a", "c")

    def test_a_missing_cell_of_weight_zero_is_no_row_either(self):
        table = DiscreteTable.from_frame([["a"], [None]], ["u", None], sample_weight=[1, 0])
        assert logical(table) == {("a", "u"): 1.0}

    @pytest.mark.parametrize("missing", [False, True])
    def test_all_libraries_give_equal_tables(self, missing):
        data = {
            "i": [3, 1, 3, 3, 1, 2],
            "f": [0.5, 0.5, 2.5, 2.5, 0.5, 0.5],
            "b": [True, False, False, False, False, True],
            "s": ["u", "v", "é", "é", "v", "u"],
        }
        if missing:
            data = {name: [*values[:5], None] for name, values in data.items()}
        rows = [list(row) for row in zip(*data.values(), strict=True)]
        y = ["p", "q", "p", "p", "q", "q"]
        frames = {
            "pandas": pd.DataFrame(data),
            "nullable": pd.DataFrame(data).convert_dtypes(),
            "arrow": pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow"),
            "polars": pl.DataFrame(data),
            "pyarrow": pa.table(data),
            "lists": rows,
            "array": np.array(rows, dtype=object),
        }
        tables = {}
        for name, X in frames.items():
            if missing:
                with pytest.warns(UserWarning, match="1 of 6 rows has a missing feature"):
                    tables[name] = DiscreteTable.from_frame(X, y, handle_missing="marginalize")
            else:
                tables[name] = DiscreteTable.from_frame(X, y)
        expected = logical(tables["pandas"])
        assert len(expected) == (3 if missing else 4)
        for name, table in tables.items():
            assert logical(table) == expected, name
            assert list(table.vocabulary.states.values()) == list(tables["pandas"].vocabulary.states.values())
            np.testing.assert_array_equal(table.codes, tables["pandas"].codes)
            np.testing.assert_array_equal(table.weights, tables["pandas"].weights)

    @pytest.mark.parametrize("name", [0, ("a", 1), "", "é ü", "two words", 2.5])
    def test_names_of_any_kind(self, name):
        X = pd.DataFrame([[1, "x"], [2, "y"]])
        X.columns = pd.Index([name, "other"], tupleize_cols=False)
        table = DiscreteTable.from_frame(X, pd.Series([0, 1], name=("the", "class")))
        assert table.vocabulary.features == (name, "other")
        assert table.vocabulary.class_name == ("the", "class")
        assert table.column(name).tolist() == [0, 1]

    def test_the_name_of_the_class(self):
        assert class_name_of([0], ["a"]) == "class"
        assert class_name_of([0], ["class", "class_"]) == "class__"
        assert class_name_of(pd.Series([0], name="y"), ["a"]) == "y"
        assert class_name_of(pd.Series([0], name=0), ["a"]) == 0
        assert class_name_of(pl.Series("y", [0]), ["a"]) == "y"
        assert class_name_of(pl.Series([0]), ["a"]) == "class"
        assert class_name_of([0], ["a"], "given") == "given"

    def test_the_class_may_be_a_column_of_the_frame(self):
        X = pl.DataFrame({"y": ["u", "v"], "a": [1, 2]})
        table = DiscreteTable.from_frame(X, class_name="y")
        assert table.vocabulary.names == ("a", "y")
        with pytest.raises(ValueError, match=r"no column is called 'z'; the columns are \['y', 'a'\]"):
            DiscreteTable.from_frame(X, class_name="z")

    def test_a_table_of_the_class_alone(self):
        table = DiscreteTable.from_frame(pd.DataFrame({"y": [0, 1, 1]}), class_name="y")
        assert table.counts(["y"]).tolist() == [1, 2]

    def test_input_is_not_changed(self):
        X = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0], "b": ["x", None, "y", "z"]})
        y, weights = pd.Series([0, 1, 1, 0], name="y"), np.array([0.0, 1.0, 2.0, 1.5])
        before = X.copy(deep=True), y.copy(), weights.copy()
        with pytest.warns(UserWarning, match="1 of 3 rows has a missing feature"):
            DiscreteTable.from_frame(X, y, sample_weight=weights, handle_missing="marginalize")
        DiscreteTable.from_frame(X, y, sample_weight=weights)
        pd.testing.assert_frame_equal(X, before[0])
        pd.testing.assert_series_equal(y, before[1])
        np.testing.assert_array_equal(weights, before[2])

    def test_copies(self):
        table = DiscreteTable.from_frame([[1, 2], [1, 2], [3, 4]], [0, 0, 1])
        for other in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
            assert logical(other) == logical(table)


class TestWeights:
    def test_forms(self):
        np.testing.assert_array_equal(check_weights(None, 2), [1, 1])
        np.testing.assert_array_equal(check_weights(2, 3), [2, 2, 2])
        for weights in ([1, 0.5], np.array([1, 0.5]), pd.Series([1, 0.5], index=[7, 9]), pl.Series([1.0, 0.5])):
            np.testing.assert_array_equal(check_weights(weights, 2), [1, 0.5])

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([1, float("nan"), 1], r"sample_weight\[1\] is nan: every weight must be a finite number, zero or more"),
            ([1, 1, float("inf")], r"sample_weight\[2\] is inf: every weight must be a finite number"),
            ([-0.5, 1, -2], r"sample_weight\[0\] is -0.5: .* \(2 of 3 are not\)"),
            ([0, 0, 0], "every sample_weight is zero: there is no row to learn from"),
            ([1, 1], r"sample_weight has shape \(2,\), expected \(3,\): one weight per row"),
            ([[1, 1, 1]], r"sample_weight has shape \(1, 3\), expected \(3,\)"),
        ],
    )
    def test_senseless_weights(self, weights, message):
        with pytest.raises(ValueError, match=message):
            check_weights(weights, 3)
