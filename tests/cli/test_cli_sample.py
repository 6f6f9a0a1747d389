"""``anbexact sample``: rows of a classifier, to standard output or to a file."""

import io
from datetime import date

import numpy as np
import pandas as pd
import pytest

import anbexact
from anbexact import NaiveBayesClassifier
from anbexact.classifiers import AODEClassifier
from anbexact.cli import main

N = 200


@pytest.fixture(autouse=True)
def model(tmp_path, monkeypatch):
    """Run every test in a folder of its own, with a model in it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    days = [date.fromordinal(738_000 + int(d)) for d in rng.integers(0, 300, N)]
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, N) + 5 * y,
            "smoker": rng.random(N) < 0.3 + 0.2 * y,
            "ward": rng.choice(["a=b", "c"], N),
            "day": days,
            "dose": np.where(rng.random(N) < 0.3, None, rng.choice(["low", "high"], N)),
        }
    )
    classifier = NaiveBayesClassifier(ess=1.0).fit(X, pd.Series(y + 1, name="grade"))
    assert classifier.handle_missing_["dose"] == "own_state"
    classifier.save("model.json")
    return classifier


def sampled(capsys, *options):
    """What the command writes, as a frame."""
    assert main(["sample", "model.json", *options]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return pd.read_csv(io.StringIO(out))


def test_rows_are_those_of_the_method(capsys, model):
    expected = model.sample(30, {"grade": 2, "age": 51}, random_state=4)
    found = sampled(capsys, "-n", "30", "--evidence", "grade=2", "--evidence", "age=51", "--random-state", "4")
    pd.testing.assert_frame_equal(found, pd.read_csv(io.StringIO(expected.to_csv(index=False))))
    assert set(found["age"]) == {51}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("smoker=True", True),
        ("ward=a=b", "a=b"),
        ("day=2021-08-05", "2021-08-05"),
        ("grade=1", 1),
        ("dose=low", "low"),
    ],
)
def test_evidence(capsys, text, value):
    name = text.partition("=")[0]
    assert (sampled(capsys, "-n", "5", "--evidence", text)[name] == value).all()


def test_missing_cells(capsys):
    assert sampled(capsys, "-n", "200", "--random-state", "0")["dose"].notna().all()
    assert 0.2 < sampled(capsys, "-n", "200", "--random-state", "0", "--missing")["dose"].isna().mean() < 0.4
    assert sampled(capsys, "-n", "5", "--evidence", "dose=")["dose"].isna().all()


def test_no_rows(capsys):
    assert sampled(capsys, "-n", "0").columns.tolist() == ["age", "smoker", "ward", "day", "dose", "grade"]


def test_to_a_file(capsys, model):
    assert main(["sample", "model.json", "-n", "40", "-o", "rows.parquet", "--random-state", "1"]) == 0
    assert capsys.readouterr().out == ""
    rows = pd.read_parquet("rows.parquet")
    assert rows["age"].tolist() == model.sample(40, random_state=1)["age"].tolist()
    assert main(["fit", "rows.parquet", "--class", "grade", "--model", "nb", "-o", "again.json"]) == 0
    assert set(anbexact.load("again.json").cut_points_) == set(model.cut_points_)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["-n", "x"], "'x' is not a number of rows (0 or more)"),
        (["-n", "-3"], "'-3' is not a number of rows (0 or more)"),
        ([], "the following arguments are required: -n/--rows"),
        (
            ["-n", "3", "--evidence", "age"],
            "--evidence 'age': write COLUMN=VALUE, with a column out of",
        ),
        (["-n", "3", "--evidence", "wage=3"], "--evidence 'wage=3': write COLUMN=VALUE"),
        (["-n", "3", "--evidence", "age=old"], "--evidence: column age contains numbers, which 'old' is not"),
        (["-n", "3", "--evidence", "age=41", "--evidence", "age=42"], "--evidence: age has two values"),
        (["-n", "3", "--evidence", "age="], "the value of 'age' is missing (None): leave the feature out"),
        (["-n", "3", "--evidence", "grade=7"], "'7' is not a state of 'grade'; its states: 1, 2"),
        (["-n", "3", "-o", "rows.txt"], "rows.txt: cannot infer the format"),
    ],
    ids=str,
)
def test_refused(capsys, options, what):
    assert main(["sample", "model.json", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert what in err


def test_models_that_are_not_one_network(capsys):
    AODEClassifier().fit([["a"], ["b"]] * 10, ["u", "v"] * 10).save("aode.json")
    assert main(["sample", "aode.json", "-n", "3"]) == 2
    assert "aode.json: rows cannot be drawn from an AODE, because it is not one network" in capsys.readouterr().err
