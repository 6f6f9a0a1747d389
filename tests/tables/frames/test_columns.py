"""Columns: every library's cells read in one form, their types kept."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from anbexact import DiscreteTable
from anbexact.tables.frames import reading
from anbexact.tables.frames.reading import frames_read_once, names_only, read_column, read_columns

DAY, NIGHT = datetime.date(2020, 1, 2), datetime.date(2021, 3, 4)
NOON = datetime.datetime(2020, 1, 2, 12)


def cells(X):
    """Every column as a list of native cells, None where missing."""
    out = []
    for column in read_columns(X):
        codes, values = column.coded
        out.append([None if code < 0 else values[code] for code in codes])
    return out


def same(got, expected):
    """Whether the cells are equal and of the same types."""
    return got == expected and [type(cell) for cell in got] == [type(cell) for cell in expected]


PLAIN = {
    "ints": [3, 1, 3, 2],
    "floats": [0.5, 1.5, 0.5, -2.0],
    "bools": [True, False, True, True],
    "strings": ["b", "a", "b", "é ü"],
    "dates": [DAY, NIGHT, DAY, DAY],
}
MAKERS = {
    "pandas": lambda values: pd.DataFrame({"a": values}),
    "pandas, nullable": lambda values: pd.DataFrame({"a": values}).convert_dtypes(),
    "pandas, object": lambda values: pd.DataFrame({"a": values}, dtype=object),
    "pandas, arrow": lambda values: pd.DataFrame({"a": values}).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda values: pl.DataFrame({"a": values}),
    "pyarrow": lambda values: pa.table({"a": values}),
    "lists": lambda values: [[value] for value in values],
    "object array": lambda values: np.array([[value] for value in values], dtype=object),
}

NESTED = {
    "list": pa.array([[1], [2, 3]]),
    "fixed list": pa.array([[1.0], [2.0]], type=pa.list_(pa.float64(), 1)),
    "structure": pa.array([{"x": 1}, {"x": 2}]),
    "map": pa.array([[("x", 1)], [("y", 2)]], type=pa.map_(pa.string(), pa.int64())),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array([["x"], ["y"]])),
}
"""Columns of Arrow whose cells are no values."""


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
class TestEveryLibrary:
    @pytest.mark.parametrize("kind", PLAIN)
    def test_cells_keep_their_types(self, make, kind):
        assert same(cells(make(PLAIN[kind]))[0], PLAIN[kind])

    @pytest.mark.parametrize("kind", PLAIN)
    def test_missing_cells_change_no_type(self, make, kind):
        values = [*PLAIN[kind], None]
        if make is MAKERS["pandas"] and kind == "ints":
            return  # numpy has no missing integers: pandas reads floats
        assert same(cells(make(values))[0], values)

    def test_all_missing(self, make):
        (column,) = read_columns(make([None, None, None]))
        assert column.missing.tolist() == [True] * 3
        assert len(column) == 3


class TestTypes:
    @pytest.mark.parametrize("kind", ["ints", "floats", "bools", "strings"])
    def test_numpy(self, kind):
        assert same(cells(np.array(PLAIN[kind])[:, None])[0], PLAIN[kind])

    @pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "float32", "float16"])
    def test_numpy_widths(self, dtype):
        native = int if "int" in dtype else float
        assert same(cells(np.array([[1], [0], [2]], dtype=dtype))[0], [native(1), native(0), native(2)])

    def test_numpy_dates(self):
        got = cells(np.array([["2020-01-02"], ["NaT"]], dtype="M8[D]"))[0]
        assert got == [pd.Timestamp(2020, 1, 2), None]

    def test_time_stamps(self):
        stamps = pd.to_datetime(pd.Series([NOON, None, NOON]))
        assert cells(pd.DataFrame({"a": stamps}))[0] == [pd.Timestamp(NOON), None, pd.Timestamp(NOON)]
        zoned = stamps.dt.tz_localize("UTC")
        assert cells(pd.DataFrame({"a": zoned}))[0] == [zoned[0], None, zoned[2]]
        assert same(cells(pl.DataFrame({"a": [NOON, None]}))[0], [NOON, None])
        assert same(cells(pa.table({"a": [NOON, None]}))[0], [NOON, None])

    def test_mixed_objects(self):
        values = ["1", 1, 2.5, None, ("a", 1), DAY, b"x", np.nan]
        for X in (pd.DataFrame({"a": values}), [[value] for value in values]):
            assert same(cells(X)[0], [*values[:-1], None])

    @pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, float("nan")], ids=repr)
    def test_every_missing_value(self, missing):
        for X in (pd.DataFrame({"a": ["x", missing, "y"]}), [["x"], [missing], ["y"]]):
            assert cells(X)[0] == ["x", None, "y"]

    def test_null_and_nan_are_both_missing_in_polars_and_pyarrow(self):
        values = [1.5, None, float("nan"), 2.5]
        assert cells(pl.DataFrame({"a": values}))[0] == [1.5, None, None, 2.5]
        assert cells(pa.table({"a": pa.array(values)}))[0] == [1.5, None, None, 2.5]

    def test_text_that_looks_missing_is_text(self):
        assert cells(np.array([["nan"], ["None"], [""]]))[0] == ["nan", "None", ""]

    def test_decimals(self):
        values = [Decimal("1.5"), Decimal("1.7"), Decimal("1.5")]
        kept = [
            cells(pl.DataFrame({"a": values}))[0],
            cells(pa.table({"a": values}))[0],
            cells(pd.DataFrame({"a": values}))[0],
            cells(pd.DataFrame({"a": pd.array(values, dtype=pd.ArrowDtype(pa.decimal128(5, 2)))}))[0],
        ]
        assert [list(map(float, column)) for column in kept] == [[1.5, 1.7, 1.5]] * 4

    def test_integers_beyond_64_bits_signed(self):
        big = 2**63 + 5
        for X in (
            np.array([[1], [big]], dtype=np.uint64),
            pd.DataFrame({"a": pd.array([1, big], dtype="UInt64")}),
            pl.DataFrame({"a": pl.Series([1, big], dtype=pl.UInt64)}),
        ):
            assert cells(X)[0] == [1, big]

    def test_large_integers_are_exact_beside_missing_ones(self):
        big = [2**53, 2**53 + 1, None]
        for X in (pd.DataFrame({"a": pd.array(big, dtype="Int64")}), pl.DataFrame({"a": big}), pa.table({"a": big})):
            assert cells(X)[0] == big

    def test_complex_numbers_are_refused(self):
        for X in (np.array([[1 + 2j], [1 + 3j]]), pd.DataFrame({"a": [1 + 2j, 1 + 3j]})):
            with pytest.raises((TypeError, ValueError), match=r"(?i)complex"):
                read_columns(X)


class TestNumbers:
    """Whether a column counts as numeric (so that it may be discretised) must not depend on its container."""

    @pytest.mark.parametrize("missing", [False, True])
    def test_floats_are_numeric_in_every_container(self, missing):
        values = [0.25 * k for k in range(20)] + [None] * missing
        containers = {
            **{name: make(values) for name, make in MAKERS.items()},
            "array": np.array(values, dtype=float)[:, None],
        }
        numeric = {name: read_columns(X)[0].numbers is not None for name, X in containers.items()}
        assert numeric == dict.fromkeys(containers, True)

    def test_bools_and_texts_are_not(self):
        for values in ([True, False], ["1", "2"], [True, None]):
            for make in MAKERS.values():
                assert read_columns(make(values))[0].numbers is None


class TestDeclaredCategories:
    @pytest.mark.parametrize("ordered", [False, True])
    @pytest.mark.parametrize("categories", [["z", "a", "m"], [10, 2, 7], [2.5, 1.5, 0.5], [True, False]])
    def test_pandas(self, categories, ordered):
        values = [categories[1], None, categories[0]]
        X = pd.DataFrame({"a": pd.Categorical(values, categories=categories, ordered=ordered)})
        states = DiscreteTable.from_frame(X.dropna()).vocabulary.states["a"]
        assert same(list(states), categories)
        assert cells(X)[0] == values

    def test_pandas_intervals(self):
        X = pd.DataFrame({"a": pd.cut([1.0, 2.0, 9.0], [0, 1.5, 5, 7, 10])})
        states = DiscreteTable.from_frame(X).vocabulary.states["a"]
        assert states == tuple(pd.IntervalIndex.from_breaks([0, 1.5, 5, 7, 10]))

    def test_polars_enum(self):
        X = pl.DataFrame({"a": pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "z", "a"]))})
        (column,) = read_columns(X)
        assert column.declared
        assert column.categories == ("b", "z", "a")
        assert cells(X)[0] == ["b", None, "a"]

    def test_polars_categorical_declares_nothing(self):
        whole = pl.DataFrame({"a": pl.Series(["b", "q", None, "a"], dtype=pl.Categorical)})
        X = whole.filter(pl.col("a") != "q")  # the null goes too
        assert cells(X)[0] == ["b", "a"]
        assert cells(whole)[0] == ["b", "q", None, "a"]
        assert DiscreteTable.from_frame(X).vocabulary.states["a"] == ("a", "b")

    def test_polars_categorical_whose_codes_are_shared_with_other_columns(self):
        pl.Series(["north", "east", "south", "west"], dtype=pl.Categorical)  # takes the first global codes
        X = pl.DataFrame({"a": pl.Series(["west", None, "east", "west"], dtype=pl.Categorical)})
        assert cells(X)[0] == ["west", None, "east", "west"]
        assert cells(X[2:])[0] == ["east", "west"]

    @pytest.mark.parametrize("values", [["z", "y", "x"], [30, 10, 20]])
    def test_pyarrow_dictionary(self, values):
        array = pa.DictionaryArray.from_arrays(pa.array([2, None, 0]), pa.array(values))
        X = pa.table({"a": array})
        assert cells(X)[0] == [values[2], None, values[0]]
        assert read_columns(X)[0].categories == tuple(values)

    def test_pyarrow_dictionary_in_chunks_with_different_dictionaries(self):
        chunks = [
            pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", "b"])),
            pa.DictionaryArray.from_arrays(pa.array([0, None, 1]), pa.array(["c", "a"])),
        ]
        X = pa.table({"a": pa.chunked_array(chunks)})
        assert cells(X)[0] == ["a", "b", "c", None, "a"]

    def test_pyarrow_dictionary_that_holds_null(self):
        array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", None, "b"]))
        (column,) = read_columns(pa.table({"a": array}))
        assert column.missing.tolist() == [False, True, False]

    @pytest.mark.parametrize("ordered", [False, True])
    @pytest.mark.parametrize("values", [["c", "a", "z", "b"], [2.5, 0.5, 1.5, -1.0], [True, False]], ids=repr)
    @pytest.mark.parametrize("index", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
    def test_dictionaries_declare_their_states_in_every_door(self, index, values, ordered):
        chunk = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], type=index), pa.array(values), ordered=ordered)
        whole = pa.chunked_array([chunk, chunk.slice(1)])
        for door in (
            read_columns(pa.table({"a": whole}))[0],
            read_column(whole, "a"),
            read_column(pd.Series(pd.arrays.ArrowExtensionArray(whole)), "a"),
            read_column(pd.Index(pd.arrays.ArrowExtensionArray(whole)), "a"),
        ):
            assert same(door.values(), [values[1], None, values[0], None, values[0]])
            assert (door.categories, door.declared, door.ordered) == (tuple(values), True, ordered)
        assert read_column(chunk, "a").values() == [values[1], None, values[0]]
        (empty,) = read_columns(pa.table({"a": whole.slice(0, 0)}), min_rows=0)
        assert (len(empty), empty.categories) == (0, tuple(values))

    def test_dictionaries_may_hold_a_value_twice_or_none(self):
        array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 4]), pa.array([2.5, 1.5, 2.5, None, np.nan]))
        (column,) = read_columns(pa.table({"a": array}))
        assert column.categories == (2.5, 1.5)
        assert column.values() == [2.5, 1.5, 2.5, None, None]

    @pytest.mark.parametrize("dtype", [pl.Enum(["b", "z", "a"]), pl.Categorical], ids=str)
    def test_polars_in_the_form_of_arrow(self, dtype):
        X = pl.DataFrame({"a": pl.Series(["b", None, "a"], dtype=dtype)})
        for same_rows in (X.to_arrow(), X.to_pandas(), X.to_pandas(use_pyarrow_extension_array=True)):
            assert cells(same_rows)[0] == ["b", None, "a"]
            (column,) = read_columns(same_rows)
            assert column.ordered == read_columns(X)[0].ordered
            assert column.categories == (("b", "z", "a") if dtype != pl.Categorical else ("b", "a"))

    def test_sliced_pyarrow(self):
        X = pa.table({"a": ["x", "y", None, "z"]}).slice(1, 3)
        assert cells(X)[0] == ["y", None, "z"]


class TestContainers:
    def test_names(self):
        names = [1, ("a", 2), "", "é", "two words", 2.5, True if False else "T"]
        X = pd.DataFrame([range(len(names))])
        X.columns = pd.Index(names, tupleize_cols=False)
        assert [column.name for column in read_columns(X)] == names
        assert [column.name for column in read_columns(np.zeros((1, 3)))] == ["x0", "x1", "x2"]

    def test_multi_index(self):
        X = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
        assert [column.name for column in read_columns(X)] == [("a", "x"), ("a", "y")]

    def test_duplicate_names(self):
        with pytest.raises(ValueError, match="column name 'a' occurs more than once: give every column a unique"):
            read_columns(pd.DataFrame([[1, 2]], columns=["a", "a"]))

    def test_duplicate_names_in_pyarrow(self):
        with pytest.raises(ValueError, match="column name 'a' occurs more than once: give every column a unique"):
            read_columns(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))

    @pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, bool])
    def test_sparse(self, make, dtype):
        cells = np.array([[0, 1, 0], [3, 0, 0], [0, 0.5, 0], [0, -2, 0]]).astype(dtype)
        cells = np.where(cells == 3, np.nan, cells) if dtype == np.float64 else cells
        found, expected = read_columns(make(cells)), read_columns(cells)
        assert [column.name for column in found] == ["x0", "x1", "x2"]
        assert [column.values() for column in found] == [column.values() for column in expected]
        kinds = [None if column.numbers is None else column.numbers.dtype for column in expected]
        assert [None if column.numbers is None else column.numbers.dtype for column in found] == kinds

    def test_sparse_entries_that_occur_twice_are_added(self):
        entries = scipy.sparse.csc_array((np.array([1, 2, 4]), np.array([0, 0, 1]), np.array([0, 3])), shape=(3, 1))
        assert read_columns(entries)[0].values() == [3, 4, 0]
        assert entries.nnz == 3  # what was passed stays as it is

    def test_sparse_beyond_memory(self):
        with pytest.raises(MemoryError, match=r"of 1,000,000,000 rows and 1,000 columns takes 8000\.0 GB as a table"):
            read_columns(scipy.sparse.coo_array((10**9, 1000)))

    def test_lazy(self):
        with pytest.raises(TypeError, match="a LazyFrame is lazy: collect it into an eager dataframe first"):
            read_columns(pl.LazyFrame({"a": [1]}))

    @pytest.mark.parametrize("X", [[[1, 2], [3]], [[1], [2, 3]], [["a", "b"], []]])
    def test_ragged_lists(self, X):
        with pytest.raises(ValueError, match="the rows of X have different lengths"):
            read_columns(X)

    @pytest.mark.parametrize("X", [[1, 2], np.arange(3), "text", {"a": [1]}, pd.Series([1, 2]), None])
    def test_not_a_table(self, X):
        with pytest.raises((TypeError, ValueError), match=r"2D array|2-dimensional|Expected"):
            read_columns(X)

    def test_three_dimensions(self):
        with pytest.raises(ValueError, match="dim 3"):
            read_columns(np.zeros((2, 2, 2)))

    def test_no_columns_and_no_rows(self):
        with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(0, 0\)\) while a minimum of 1 is required"):
            read_columns(pd.DataFrame())
        for X in (pd.DataFrame({"a": []}), pl.DataFrame({"a": []}), pa.table({"a": []}), np.zeros((0, 1))):
            with pytest.raises(
                ValueError, match=r"0 sample\(s\) \(shape=\(0, 1\)\) while a minimum of 1 is required"
            ):
                read_columns(X)

    @pytest.mark.parametrize("cell", [[1], {"x": 1}, {1}, np.zeros(2)], ids=["list", "dict", "set", "array"])
    def test_cells_that_cannot_be_states(self, cell):
        with pytest.raises(
            TypeError, match=rf"column 'a' contains .*, a {type(cell).__name__}: a cell must be hashable"
        ):
            read_columns(pd.DataFrame({"a": ["x", cell]}))

    @pytest.mark.parametrize("kind", NESTED)
    def test_columns_of_types_that_cannot_be_states(self, kind):
        """The error names the column, not a function of the library."""
        table = pa.table({"a": ["x", "y"], "c": NESTED[kind]})
        frames = [table, table.to_pandas(types_mapper=pd.ArrowDtype)]
        if kind not in ("map", "dictionary"):  # which Polars does not have
            frames.append(pl.DataFrame(table))
        for X in frames:
            with pytest.raises(TypeError, match=r"column 'c' contains .*, an? \w+: a cell must be hashable, .* text"):
                read_columns(X)

    def test_long_cells_are_shortened_in_messages(self):
        with pytest.raises(TypeError, match=r"column 'c' contains \[0, 1, 2, 3, 4, 5, \.\.\.\], a list"):
            read_columns(pl.DataFrame({"c": [list(range(1000))]}))

    @pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt128], ids=str)
    def test_integers_that_numpy_does_not_have(self, dtype):
        (column,) = read_columns(pl.DataFrame({"a": pl.Series([3, 2**100, 3, None], dtype=dtype)}))
        assert column.values() == [3, 2**100, 3, None]
        assert column.numbers[:3].tolist() == [3.0, 2.0**100, 3.0]

    def test_types_that_arrow_does_not_encode(self):
        runs = pa.RunEndEncodedArray.from_arrays([1, 3], [7, 8])
        assert cells(pa.table({"a": runs})) == [[7, 8, 8]]
        if hasattr(pa, "decimal32"):
            few = pa.array([Decimal("1.5"), None, Decimal("2.0")], type=pa.decimal32(5, 1))
            (column,) = read_columns(pa.table({"a": few}))
            assert column.values() == [Decimal("1.5"), None, Decimal("2.0")]
            assert column.quantity.kind == "decimal"

    def test_masked_arrays_have_missing_cells(self):
        X = np.ma.array([[1], [2], [3]], mask=[[0], [1], [0]])
        assert cells(X)[0] in ([1, None, 3], [1.0, None, 3.0])

    def test_input_is_not_changed(self):
        X = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": pd.Categorical(["x", None, "y"]), "c": ["u", None, "v"]})
        before = X.copy(deep=True)
        for column in read_columns(X):
            column.coded  # noqa: B018  # computed on first use, which must not change the input
        pd.testing.assert_frame_equal(X, before)

    @pytest.mark.parametrize(
        "values",
        [
            [1, 2, None],
            np.array([1, 2, 3]),
            pd.Series(["a", None, "b"]),
            pd.Index([1, 2, 3]),
            pd.Categorical(["a", "b", "a"]),
            pl.Series(["a", None, "b"]),
            pa.chunked_array([["a", None], ["b"]]),
            ("a", "b", "c"),
        ],
        ids=lambda values: type(values).__name__,
    )
    def test_single_columns(self, values):
        column = read_column(values, "y")
        assert column.name == "y"
        assert len(column) == 3

    def test_parts_of_a_column(self):
        for X in (pd.DataFrame({"a": ["x", "y", None]}), pd.DataFrame({"a": [1.0, 2.0, np.nan]})):
            (column,) = read_columns(X)
            part = column.take(np.array([2, 0]))
            assert part.missing.tolist() == [True, False]
            assert part.renamed("b").name == "b"

    def test_frames_are_read_once_within_a_block(self, monkeypatch):
        X, other = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), pd.DataFrame({"a": ["z"], "b": [3]})
        with frames_read_once():
            first = read_columns(X)
            first.reverse()  # the caller's own list
            again = read_columns(X)
            assert again[0] is first[1]
            assert again[1] is first[0]
            assert read_columns(other)[0].values() == ["z"]
            assert read_columns(X.copy())[0] is not again[0]
        assert read_columns(X)[0] is not again[0]
        monkeypatch.setattr(reading, "MOST_KEPT", 3)
        with frames_read_once():
            assert read_columns(X)[0] is not read_columns(X)[0]
            assert read_columns(other)[0] is read_columns(other)[0]

    def test_series_are_read_once_within_a_block(self, monkeypatch):
        y, other = pd.Series(["x", "y"], name="k"), pd.Series(["z"])
        with frames_read_once():
            first = read_column(y, "k")
            assert read_column(y, "k") is first
            renamed = read_column(y, "m")
            assert (renamed.name, renamed.values()) == ("m", first.values())
            assert read_column(other, "k").values() == ["z"]
            assert read_column(y.copy(), "k") is not first
        assert read_column(y, "k") is not first
        monkeypatch.setattr(reading, "MOST_KEPT", 1)
        with frames_read_once():
            assert read_column(y, "k") is not read_column(y, "k")


@pytest.mark.parametrize("others", [[1, 2, None], [1.5, 2, None]])
def test_whole_numbers_beyond_all_floats_are_infinite(others):
    numbers = read_column(pd.Series([10**400, -(10**400), *others], dtype=object), "a").numbers
    np.testing.assert_array_equal(numbers, [np.inf, -np.inf, others[0], 2.0, np.nan])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_names_that_scikit_learn_reads(library):
    found = names_only(library({"b": [1, 2], "a": [3, 4]}))
    assert isinstance(found, pd.DataFrame)
    assert list(found) == ["b", "a"]
    assert len(found) == 0
    array = np.zeros((2, 2))
    assert names_only(array) is array
