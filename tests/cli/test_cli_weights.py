"""Weights of surveys and tables of counts: ``--scale-weights``, ``--counts``, and the notes on both."""

import json

import numpy as np
import pandas as pd
import pytest

import anbexact
from anbexact import NaiveBayesClassifier
from anbexact.cli import main, row_counts

TABLE = pd.DataFrame(
    {
        "sex": ["f", "f", "f", "f", "m", "m", "m", "m"],
        "ward": ["a", "a", "b", "b", "a", "a", "b", "b"],
        "ill": ["no", "yes"] * 4,
        "Freq": [20, 5, 0, 14, 9, 8, 3, 30],
    }
)
ROWS = TABLE.loc[np.repeat(TABLE.index, TABLE["Freq"])].drop(columns="Freq").reset_index(drop=True)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("counts.csv", index=False)
    ROWS.to_csv("rows.csv", index=False)


def run(capsys, *args):
    code = main([str(arg) for arg in args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_fit_learns_from_the_rows_counted(capsys):
    code, out, err = run(
        capsys, "fit", "--model", "anb", "counts.csv", "--class", "ill", "--counts", "Freq", "-o", "m.json"
    )
    assert (code, err) == (0, "")
    assert "counts.csv: 89 rows, counted by Freq, 2 features" in out
    run(capsys, "fit", "--model", "anb", "rows.csv", "--class", "ill", "-o", "plain.json")
    X = ROWS.drop(columns="ill")
    assert np.array_equal(anbexact.load("m.json").predict_proba(X), anbexact.load("plain.json").predict_proba(X))


def test_compare_and_report_repeat_the_rows(capsys):
    how = ("--class", "ill", "--models", "NB", "--folds", "3", "--no-refit", "--json")
    counted = json.loads(run(capsys, "compare", "counts.csv", "--counts", "Freq", *how)[1])
    plain = json.loads(run(capsys, "compare", "rows.csv", *how)[1])
    assert (counted["rows"], counted["counts"], counted["weights"]) == (89, "Freq", None)
    assert counted["models"][0]["log_loss"] == plain["models"][0]["log_loss"]
    NaiveBayesClassifier().fit(ROWS.drop(columns="ill"), ROWS["ill"]).save("m.json")
    how = ("report", "m.json", "counts.csv", "--counts", "Freq", "--folds", "2", "--json")
    document = json.loads(run(capsys, *how)[1])
    assert [of["rows"] for of in document["data"]["classes"]] == [57, 32]
    assert document["reproduce"]["command"].endswith("--counts Freq")


def numbered(n_rows):
    """Return a table of counts whose rows are numbered."""
    rng = np.random.default_rng(0)
    cells = {name: rng.choice(["a", "b", "c"], n_rows) for name in ("f", "g", "ill")}
    return pd.DataFrame({"rownames": np.arange(1, n_rows + 1), **cells, "Freq": rng.integers(1, 9, n_rows)})


def test_row_numbers_are_left_out_before_rows_are_repeated(capsys):
    numbered(24).to_csv("t.csv", index=False)
    _, out, err = run(capsys, "fit", "--model", "anb", "t.csv", "--class", "ill", "--counts", "Freq", "-o", "m.json")
    assert (
        "t.csv: each column that looks like an identifier is left out: 'rownames' (whole numbers that number" in err
    )
    assert "pass --keep-identifiers to use such columns" in err
    assert "counted by Freq, 2 features" in out
    assert anbexact.load("m.json").vocabulary_.features == ("f", "g")
    err = run(capsys, "compare", "t.csv", "--class", "ill", "--counts", "Freq", "--models", "NB", "--no-refit")[2]
    assert "'rownames'" in err
    assert "--keep-identifiers" not in err
    out, err = run(
        capsys, "fit", "--model", "anb", "t.csv", "--class", "ill", "--counts", "Freq", "--keep-identifiers"
    )[1:]
    assert "3 features" in out
    assert "identifier" not in err


def test_a_table_of_counts_with_nothing_but_row_numbers_is_refused(capsys):
    numbered(24)[["rownames", "ill", "Freq"]].to_csv("t.csv", index=False)
    code, _, err = run(capsys, "fit", "--model", "anb", "t.csv", "--class", "ill", "--counts", "Freq")
    assert code != 0
    assert "t.csv: every column looks like an identifier: 'rownames'" in err


def test_few_counts_have_no_identifiers(capsys):
    numbered(19).to_csv("t.csv", index=False)
    _, out, err = run(capsys, "fit", "--model", "anb", "t.csv", "--class", "ill", "--counts", "Freq")
    assert "3 features" in out
    assert "identifier" not in err


def test_a_report_reads_a_left_out_column_as_fit_did(capsys):
    table = numbered(120).drop(columns="Freq")
    table.to_csv("t.csv", index=False)
    run(capsys, "fit", "--model", "anb", "t.csv", "--class", "ill", "-o", "m.json")
    document = run(capsys, "report", "m.json", "t.csv", "--folds", "2", "--json")[1]
    assert "number the rows" in document
    assert "numbers as text" not in document


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1, 2.5, 0, 1, 1, 1, 1, 1], "column 'Freq' has 2.5 in row 1 (counted from 0) of t.csv; a count is a whole"),
        ([1, 2, 0, -1, 1, 1, 1, 1], "column 'Freq' has -1 in row 3"),
        ([1, 2, 0, 3, None, 1, 1, 1], "column 'Freq' has a missing cell in row 4"),
        (["x"] * 8, "column 'Freq' contains cells that are not numbers"),
        ([0] * 8, "every count in the column 'Freq' of t.csv is 0"),
    ],
)
def test_what_is_not_a_count_is_refused(capsys, cells, message):
    TABLE.assign(Freq=cells).to_csv("t.csv", index=False)
    code, _, err = run(capsys, "fit", "--model", "anb", "t.csv", "--class", "ill", "--counts", "Freq")
    assert code != 0
    assert f"--counts: {message}" in err


def test_names_and_memory(capsys, monkeypatch):
    assert (
        "counts.csv has no column 'freq'; did you mean 'Freq'"
        in run(capsys, "fit", "--model", "anb", "counts.csv", "--class", "ill", "--counts", "freq")[2]
    )
    monkeypatch.setattr(row_counts, "available_memory", lambda: 1_000)
    err = run(capsys, "fit", "--model", "anb", "counts.csv", "--class", "ill", "--counts", "Freq")[2]
    assert "stand for 89 rows, more than fit into memory. --weights Freq learns from the same counts" in err


def test_a_column_that_looks_like_counts_is_noted(capsys):
    assert "pass --counts Freq" in run(capsys, "fit", "--model", "anb", "counts.csv", "--class", "ill")[2]
    assert (
        "--counts" not in run(capsys, "fit", "--model", "anb", "counts.csv", "--class", "ill", "--weights", "Freq")[2]
    )
    TABLE.rename(columns={"Freq": "age"}).to_csv("t.csv", index=False)
    assert "--counts" not in run(capsys, "fit", "--model", "anb", "t.csv", "--class", "ill")[2]
    pd.concat([TABLE, TABLE.assign(Freq=1)]).to_csv("t.csv", index=False)  # some rows agree in all other columns
    assert "--counts" not in run(capsys, "fit", "--model", "anb", "t.csv", "--class", "ill")[2]


def test_weights_of_a_survey_are_noted_and_scaled(capsys):
    weights = 1000.5 + 13.25 * np.arange(len(ROWS)) % 700
    ROWS.assign(w=weights).to_csv("survey.csv", index=False)
    how = ("fit", "survey.csv", "--class", "ill", "--model", "nb", "--weights", "w", "-o", "m.json")
    err = run(capsys, *how)[2]
    assert f"--weights adds up to {weights.sum():,.0f} for 89 rows" in err
    assert "Pass --scale-weights for those of a survey" in err
    X = ROWS.drop(columns="ill")
    expected = NaiveBayesClassifier().fit(X, ROWS["ill"], sample_weight=weights / weights.mean())
    assert run(capsys, *how, "--scale-weights")[2] == ""
    assert np.array_equal(anbexact.load("m.json").predict_proba(X), expected.predict_proba(X))
    document = json.loads(
        run(capsys, "report", "m.json", "survey.csv", *how[-4:-2], "--scale-weights", "--no-validation", "--json")[1]
    )
    assert document["reproduce"]["command"].endswith("--weights w --scale-weights")
    assert sum(of["rows"] for of in document["data"]["classes"]) == pytest.approx(89)
    assert (
        "--scale-weights requires --weights COLUMN"
        in run(capsys, "fit", "--model", "anb", "rows.csv", "--class", "ill", "--scale-weights")[2]
    )


def test_comparisons_note_it_once(capsys):
    ROWS.assign(w=500.5).to_csv("survey.csv", index=False)
    how = ("--class", "ill", "--models", "NB", "--folds", "3", "--weights", "w", "--no-refit")
    assert run(capsys, "compare", "survey.csv", *how)[2].count("adds up to") == 1


def test_the_same_note_is_printed_once(capsys):
    rows = pd.concat([ROWS] * 3)
    rows.assign(day=[f"{1 + k % 28}/{1 + k % 3}/2021" for k in range(len(rows))]).to_csv("t.csv", index=False)
    how = ("compare", "t.csv", "--class", "ill", "--models", "NB", "--folds", "3", "--no-refit")
    for _ in range(2):
        assert run(capsys, *how)[2].count("contains dates as text") == 1
