"""The comparison: numbers as a slow computation by hand has them, folds, and tables that are hard to split."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedKFold

from anbexact import ANBClassifier, NaiveBayesClassifier, SearchTooLargeError
from anbexact.compare import COLUMNS, MODELS, compare
from anbexact.datasets import load_anes96, load_iris, load_lenses, load_monks, load_wine


def slow(X, y, classifier, folds, seed):
    """Accuracy, its standard error, log loss and Brier score, row by row."""
    classes = sorted(set(y))
    right, losses, briers, by_fold = [], [], [], []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y):
        model = classifier.fit(X.iloc[train], y.iloc[train])
        in_fold = []
        for row in test:
            of_row = dict(zip(model.classes_, model.predict_proba(X.iloc[[row]])[0], strict=True))
            predicted = max(classes, key=lambda c: (of_row[c], -classes.index(c)))
            in_fold.append(predicted == y.iloc[row])
            losses.append(-math.log(of_row[y.iloc[row]]))
            briers.append(sum((of_row[c] - (c == y.iloc[row])) ** 2 for c in classes))
        right += in_fold
        by_fold.append(sum(in_fold) / len(in_fold))
    mean = sum(by_fold) / folds
    error = math.sqrt(sum((a - mean) ** 2 for a in by_fold) / (folds - 1) / folds)
    return [sum(right) / len(right), error, sum(losses) / len(losses), sum(briers) / len(briers)]


@pytest.mark.parametrize("load", [load_iris, load_lenses], ids=["iris", "lenses"])
def test_numbers_by_hand(load):
    X, y = load()
    frame = compare(X, y, folds=4, seed=3, models=["NB", "ANB"])
    for name, classifier in (("NB", NaiveBayesClassifier()), ("ANB", ANBClassifier())):
        expected = slow(X, y, classifier, 4, 3)
        got = frame.loc[name, ["accuracy", "accuracy_se", "log_loss", "brier"]]
        np.testing.assert_allclose(got.to_numpy(dtype=float), expected, rtol=1e-12)


def test_one_row_per_model_and_plain_columns():
    X, y = load_monks(1)
    seen = []
    frame = compare(X, y, folds=3, progress=lambda phase, fraction: seen.append((phase, fraction)))
    assert tuple(frame.index) == MODELS
    assert tuple(frame.columns) == COLUMNS
    assert frame.index.name == "model"
    assert frame.attrs == {"folds": 3, "rows": 432, "notes": []}
    assert frame.loc["ANB", "accuracy"] == 1.0
    assert (frame[["fit_seconds", "predict_seconds"]] > 0).all(axis=None)
    assert [fraction for _, fraction in seen] == sorted(fraction for _, fraction in seen)
    assert seen[0] == ("NB, fold 1 of 3", 0.0)
    assert seen[-1][1] == 1.0
    again = compare(X, y, folds=3)
    pd.testing.assert_frame_equal(frame.iloc[:, :4], again.iloc[:, :4])


def test_everyone_sees_the_same_states():
    """Median-cut iris: two naive Bayes that differ only in their smoothing predict nearly the same."""
    frame = compare(*load_wine(), folds=5, models=["NB", "CategoricalNB"])
    assert abs(frame["accuracy"].diff().iloc[1]) < 0.02
    assert abs(frame["log_loss"].diff().iloc[1]) < 0.05


def test_compilation_is_not_charged():
    X, y = load_wine()
    calls = []

    class Counting(DummyClassifier):
        def fit(self, X, y, sample_weight=None):
            calls.append(len(X))
            return super().fit(X, y, sample_weight)

    compare(X, y, folds=3, models={"counting": Counting()})
    assert len(calls) == 4  # one more than there are folds


def test_own_models():
    X, y = load_iris()
    frame = compare(X, y, folds=5, models={"prior": DummyClassifier(), "K": NaiveBayesClassifier(ess=10)})
    assert list(frame.index) == ["prior", "K"]
    assert frame.loc["prior", "accuracy"] == pytest.approx(1 / 3)
    assert frame.loc["prior", "log_loss"] == pytest.approx(math.log(3))
    assert frame.loc["prior", "brier"] == pytest.approx(2 / 3)


def test_certain_and_wrong_is_infinitely_wrong():
    X, y = load_iris()
    frame = compare(X, y, folds=3, models={"always": DummyClassifier(strategy="constant", constant="setosa")})
    assert frame.loc["always", "log_loss"] == math.inf


def test_any_container():
    X, y = load_iris()
    expected = compare(X, y, folds=3)["log_loss"]
    polars = pytest.importorskip("polars")
    inputs = [
        (X.to_numpy(), y.to_numpy()),
        (X.to_numpy().tolist(), y.tolist()),
        (polars.from_pandas(X), polars.from_pandas(y)),
        (X.set_axis(range(7, 157)), y.set_axis(range(150, 0, -1))),
        (X.set_axis([0, ("a", 1), "b", 2.5], axis=1), y.astype("category").cat.add_categories("unused")),
    ]
    for features, classes in inputs:
        assert compare(features, classes, folds=3)["log_loss"].tolist() == pytest.approx(expected.tolist())


def test_mixed_table_with_missing_and_rare_cells():
    """Missing cells, states that only one fold has, booleans, dates: no model may fail."""
    X, y = load_anes96()
    X = X.copy()
    X.loc[::50, "PID"] = np.nan
    X.loc[::60, "age"] = np.nan
    X["rare"] = "common"
    X.loc[:2, "rare"] = ["once", "twice", None]
    X["flag"] = X["popul"] > 10
    X["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(X)) % 3, unit="D")
    X = X[["PID", "age", "rare", "flag", "day", "selfLR"]]
    X["few"] = np.arange(len(X)) % 4
    frame = compare(X, y, folds=4)
    assert (frame["accuracy"] > 0.8).all()
    assert np.isfinite(frame["log_loss"]).all()
    (note,) = frame.attrs["notes"]
    assert note.startswith("32 rows have a missing feature")


def test_rare_class_makes_fewer_folds():
    X, y = load_lenses()
    with pytest.warns(UserWarning, match="4 folds instead of 10: the class 'hard' has no more rows"):
        frame = compare(X, y, models=["NB"])
    assert frame.attrs["folds"] == 4
    assert "4 folds instead of 10" in frame.attrs["notes"][0]


def test_rows_without_class_are_left_out():
    X, y = load_iris()
    with pytest.warns(UserWarning, match="3 of 153 rows have no class and are left out"):
        frame = compare(pd.concat([X, X.iloc[:3]]), pd.concat([y, pd.Series([None] * 3, name=y.name)]), models=["NB"])
    assert frame.attrs["rows"] == 150
    assert frame.loc["NB", "accuracy"] == compare(X, y, models=["NB"]).loc["NB", "accuracy"]


def test_class_that_vanishes_from_a_training_fold():
    """The rows of a class may all have a missing feature: it then has probability 0."""
    X = pd.DataFrame({"a": ["x", "y"] * 10, "b": ["u", "u", "v", "v"] * 5})
    y = pd.Series(["p", "q"] * 8 + ["r"] * 4)
    X.loc[16:, "b"] = None
    frame = compare(X, y, folds=2, models=["NB"])
    assert frame.loc["NB", "accuracy"] == 0.8
    assert frame.loc["NB", "log_loss"] == math.inf


def test_too_large_search_is_a_line_of_its_own(monkeypatch):
    X, y = load_iris()

    def refuse(*_, **__):
        raise SearchTooLargeError("the exact search over 40 features needs 16 TB")

    monkeypatch.setattr(ANBClassifier, "fit", refuse)
    frame = compare(X, y, folds=3, models=["ANB", "NB"])
    assert frame.loc["ANB"].isna().all()
    assert frame.loc["NB"].notna().all()
    assert frame.attrs["notes"] == ["ANB was refused: the exact search over 40 features needs 16 TB"]


def test_really_too_large():
    rng = np.random.default_rng(0)
    frame = compare(rng.integers(0, 2, (40, 60)), rng.integers(0, 2, 40), folds=2)
    assert frame.loc["ANB"].isna().all()
    assert frame.drop(index="ANB").notna().all(axis=None)
    assert "ANB was refused: the exact search over 60 features" in frame.attrs["notes"][0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"folds": 1}, "folds must be a whole number, 2 or more, not 1"),
        ({"folds": 2.5}, "folds must be a whole number"),
        ({"models": ["NB", "SVM"]}, r"models must be among 'NB', 'TAN', .* not \['SVM'\]"),
        ({"models": []}, "models must be among"),
        ({"y": ["a"] * 150}, r"two classes or more, but y holds \['a'\]"),
        ({"y": ["a"] * 149 + ["b"]}, "the class 'b' has a single row"),
        ({"y": ["a"] * 75 + ["b"] * 74}, "X has 150 rows, but y has 149"),
    ],
)
def test_refused(change, message):
    X, y = load_iris()
    arguments = {"y": y, "folds": 3} | change
    with pytest.raises(ValueError, match=message):
        compare(X, **arguments)
