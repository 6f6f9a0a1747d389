"""The embedded tables: counts known from the literature, and each rule stated a second time, slowly."""

import subprocess
import sys
from itertools import combinations

import pandas as pd
import pytest

from anbexact import datasets

GENERATED = [
    name
    for name in datasets.dataset_names()
    if name.startswith(("monks", "multiplexer", "tic_tac_toe", "balance_scale", "lenses"))
]
NUMERIC = {"anes96": ["popul", "age"]}


def records(X, y):
    return [(*row, label) for row, label in zip(X.itertuples(index=False, name=None), y, strict=True)]


@pytest.mark.parametrize(
    ("name", "n_features", "counts"),
    [
        ("anes96", 9, {"Clinton": 551, "Dole": 393}),
        ("balance_scale", 4, {"L": 288, "B": 49, "R": 288}),
        ("breast_cancer", 30, {"malignant": 212, "benign": 357}),
        ("iris", 4, {"setosa": 50, "versicolor": 50, "virginica": 50}),
        ("lenses", 4, {"hard": 4, "soft": 5, "none": 15}),
        ("monks1", 6, {"yes": 216, "no": 216}),
        ("monks2", 6, {"yes": 142, "no": 290}),
        ("monks3", 6, {"yes": 228, "no": 204}),
        ("multiplexer3", 3, {"on": 4, "off": 4}),
        ("multiplexer6", 6, {"on": 32, "off": 32}),
        ("multiplexer11", 11, {"on": 1024, "off": 1024}),
        ("tic_tac_toe", 9, {"positive": 626, "negative": 332}),
        ("wine", 13, {"class_0": 59, "class_1": 71, "class_2": 48}),
    ],
)
def test_sizes_and_class_counts(name, n_features, counts):
    X, y = datasets.load_dataset(name)
    assert y.value_counts().to_dict() == counts
    assert X.shape == (sum(counts.values()), n_features)


def test_every_registered_table_has_its_size_tested():
    (mark,) = test_sizes_and_class_counts.pytestmark
    assert tuple(case[0] for case in mark.args[1]) == datasets.dataset_names()


@pytest.mark.parametrize("name", datasets.dataset_names())
class TestEveryTable:
    def test_is_the_same_each_time_and_not_shared(self, name):
        X, y = datasets.load_dataset(name)
        expected = X.copy(deep=True), y.copy(deep=True)
        X.iloc[:, 0] = X.iloc[::-1, 0].to_numpy()
        y[:] = y.iloc[0]
        again = datasets.load_dataset(name)
        pd.testing.assert_frame_equal(again[0], expected[0])
        pd.testing.assert_series_equal(again[1], expected[1])

    def test_index_names_and_classes(self, name):
        X, y = datasets.load_dataset(name)
        assert X.index.equals(pd.RangeIndex(len(X)))
        assert y.index.equals(X.index)
        assert isinstance(y.name, str)
        assert y.name not in X.columns
        assert all(isinstance(label, str) for label in y)
        assert all(column.isidentifier() for column in X.columns)

    def test_nothing_is_missing(self, name):
        X, y = datasets.load_dataset(name)
        assert not X.isna().any(axis=None)
        assert not y.isna().any()

    def test_columns_are_numbers_or_declare_the_states_they_show(self, name):
        X, _ = datasets.load_dataset(name)
        categorical = X.select_dtypes("category").columns
        if name in GENERATED or name == "anes96":
            assert [column for column in X if column not in categorical] == NUMERIC.get(name, [])
        assert all(dtype == "float64" for dtype in X.drop(columns=categorical).dtypes)
        for column in categorical:
            assert set(X[column].cat.categories) == set(X[column])


@pytest.mark.parametrize("name", GENERATED)
def test_generated_tables_list_each_case_once_in_the_order_of_the_states(name):
    X, _ = datasets.load_dataset(name)
    codes = list(X.apply(lambda column: column.cat.codes).itertuples(index=False, name=None))
    assert codes == sorted(set(codes))


def test_monks_rules():
    for head, body, smiling, holding, jacket, tie, label in records(*datasets.load_monks()):
        assert label == ("yes" if jacket == "red" or (head, body) in same_shapes() else "no")
        assert {smiling, tie} <= {"yes", "no"}
        assert holding in {"sword", "balloon", "flag"}
    firsts = {("round", 0), ("round", 1), ("yes", 2), ("sword", 3), ("red", 4), ("yes", 5)}
    for *robot, label in records(*datasets.load_monks(2)):
        n_firsts = len(firsts & {(value, i) for i, value in enumerate(robot)})
        assert (label == "yes") == (n_firsts == 2)
    for _, body, _, holding, jacket, _, label in records(*datasets.load_monks(3)):
        if jacket == "blue":
            expected = "no"
        elif body in ("round", "square"):
            expected = "yes"
        else:
            expected = "yes" if (jacket, holding) == ("green", "sword") else "no"
        assert label == expected


def same_shapes():
    return {("round", "round"), ("square", "square"), ("octagon", "octagon")}


def test_monks_states():
    X, y = datasets.load_monks()
    assert {column: list(X[column].cat.categories) for column in X} == {
        "head_shape": ["round", "square", "octagon"],
        "body_shape": ["round", "square", "octagon"],
        "is_smiling": ["yes", "no"],
        "holding": ["sword", "balloon", "flag"],
        "jacket_color": ["red", "yellow", "green", "blue"],
        "has_tie": ["yes", "no"],
    }
    assert not any(X[column].cat.ordered for column in X)
    assert y.name == "is_monk"


def test_tic_tac_toe_boards_are_those_that_some_game_ends_on():
    # Stated without play: by the number of moves made, and by who can have made the last one.
    X, y = datasets.load_tic_tac_toe()
    for *board, label in records(X, y):
        n_x, n_o = board.count("x"), board.count("o")
        x_wins, o_wins = wins(board, "x"), wins(board, "o")
        assert not (x_wins and o_wins)
        if x_wins:
            assert n_x == n_o + 1
        elif o_wins:
            assert n_x == n_o
        else:
            assert (n_x, n_o) == (5, 4)
        assert (label == "positive") == x_wins
    draws = [board for *board, _ in records(X, y) if not wins(board, "x") and not wins(board, "o")]
    assert len(draws) == 16
    assert list(X.columns[[0, 4, 8]]) == ["top_left", "middle_middle", "bottom_right"]
    assert list(X["top_left"].cat.categories) == ["x", "o", "b"]


def wins(board, mark):
    rows = [board[0:3], board[3:6], board[6:9]]
    columns = [list(column) for column in zip(*rows, strict=True)]
    diagonals = [[rows[i][i] for i in range(3)], [rows[i][2 - i] for i in range(3)]]
    return [mark] * 3 in rows + columns + diagonals


def test_tic_tac_toe_after_five_moves_has_all_quick_wins():
    # x wins on the fifth move: one of 8 lines, and o on any 2 of the other 6 squares.
    X, y = datasets.load_tic_tac_toe()
    quick = (X == "b").sum(axis=1) == 4
    assert quick.sum() == 8 * len(list(combinations(range(6), 2)))
    assert set(y[quick]) == {"positive"}


def test_balance_scale_rule():
    X, y = datasets.load_balance_scale()
    for left_weight, left_distance, right_weight, right_distance, label in records(X, y):
        torque = sum([left_distance] * left_weight) - sum([right_distance] * right_weight)
        assert label == ("B" if torque == 0 else "L" if torque > 0 else "R")
    assert all(X[column].cat.ordered for column in X)
    assert list(X["left_weight"].cat.categories) == [1, 2, 3, 4, 5]
    assert y.name == "tips_to"


@pytest.mark.parametrize("address_bits", [1, 2, 3])
def test_multiplexer_rule(address_bits):
    X, y = datasets.load_multiplexer(address_bits)
    assert X.shape == (2 ** (address_bits + 2**address_bits), address_bits + 2**address_bits)
    for row, label in zip(X.to_dict("records"), y, strict=True):
        address = sum(row[f"address_{i}"] * 2 ** (address_bits - 1 - i) for i in range(address_bits))
        assert label == ["off", "on"][row[f"data_{address}"]]
    assert all(list(X[column].cat.categories) == [0, 1] for column in X)


def test_lenses_rule():
    fitted = {tuple(case): label for *case, label in records(*datasets.load_lenses()) if label != "none"}
    assert fitted == {
        ("young", "myope", "no", "normal"): "soft",
        ("young", "myope", "yes", "normal"): "hard",
        ("young", "hypermetrope", "no", "normal"): "soft",
        ("young", "hypermetrope", "yes", "normal"): "hard",
        ("pre-presbyopic", "myope", "no", "normal"): "soft",
        ("pre-presbyopic", "myope", "yes", "normal"): "hard",
        ("pre-presbyopic", "hypermetrope", "no", "normal"): "soft",
        ("presbyopic", "myope", "yes", "normal"): "hard",
        ("presbyopic", "hypermetrope", "no", "normal"): "soft",
    }


def test_lenses_orders_only_age():
    X, _ = datasets.load_lenses()
    assert [column for column in X if X[column].cat.ordered] == ["age"]


def test_names_of_the_measurements():
    iris, species = datasets.load_iris()
    assert list(iris.columns) == ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    assert iris.iloc[0].tolist() == [5.1, 3.5, 1.4, 0.2]
    assert species.name == "species"
    wine, cultivar = datasets.load_wine()
    assert "od280_od315" in wine.columns
    assert cultivar.name == "cultivar"
    cancer, diagnosis = datasets.load_breast_cancer()
    assert {"mean_radius", "radius_error", "worst_fractal_dimension"} <= set(cancer.columns)
    assert diagnosis.name == "diagnosis"
    # Malignant masses have the larger nuclei: the labels are not swapped.
    mean_radius = cancer["mean_radius"].groupby(diagnosis).mean()
    assert mean_radius["malignant"] > mean_radius["benign"]


def test_anes96_states():
    X, y = datasets.load_anes96()
    n_states = {column: len(X[column].cat.categories) for column in X.select_dtypes("category")}
    assert n_states == {
        "TVnews": 8,
        "selfLR": 7,
        "ClinLR": 7,
        "DoleLR": 7,
        "PID": 7,
        "educ": 7,
        "income": 24,
    }
    assert all(X[column].cat.ordered for column in n_states)
    assert "logpopul" not in X.columns
    assert y.name == "vote"
    assert list(X["income"].cat.categories[[0, 1, 10, 22, 23]]) == [
        "under 3K",
        "3K-5K",
        "15K-17K",
        "90K-105K",
        "105K and over",
    ]


def test_anes96_rows_as_printed_elsewhere():
    # Rows 1, 2, 3 and 944 of the same table in R, faraway::nes96, with its labels spelled out.
    X, y = datasets.load_anes96()
    rows = records(X.assign(popul=X["popul"].astype(int), age=X["age"].astype(int)), y)
    xcon, xlib = "extremely conservative", "extremely liberal"
    slib, scon = "slightly liberal", "slightly conservative"
    con, lib = "conservative", "liberal"
    assert [rows[i] for i in (0, 1, 2, 943)] == [
        (0, 7, xcon, xlib, con, "strong Republican", 36, "high school", "under 3K", "Dole"),
        (190, 1, slib, slib, scon, "weak Democrat", 20, "some college", "under 3K", "Clinton"),
        (31, 7, lib, lib, con, "weak Democrat", 24, "bachelor's degree", "under 3K", "Clinton"),
        (18, 7, "moderate", lib, con, "independent", 61, "advanced degree", "105K and over", "Dole"),
    ]


def test_anes96_votes_follow_the_parties():
    X, y = datasets.load_anes96()
    share = (y == "Clinton").groupby(X["PID"], observed=True).mean()
    assert share["strong Democrat"] > 0.9
    assert share["strong Republican"] < 0.1


@pytest.mark.parametrize("problem", [0, 4, "1", None])
def test_monks_refuses_other_problems(problem):
    with pytest.raises(ValueError, match="problem must be 1, 2 or 3, got"):
        datasets.load_monks(problem)


@pytest.mark.parametrize("address_bits", [0, 4, -1, 1.5, "2"])
def test_multiplexer_refuses_other_widths(address_bits):
    with pytest.raises(ValueError, match="address_bits must be 1, 2 or 3, got"):
        datasets.load_multiplexer(address_bits)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown dataset 'monks'; known are anes96, .*, wine"):
        datasets.load_dataset("monks")


@pytest.mark.slow
def test_import_is_light():
    code = (
        "import sys; import anbexact.datasets; "
        "print([m for m in ('statsmodels', 'sklearn.datasets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
