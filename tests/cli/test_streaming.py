"""Text that is classified part by part: the same bytes and notes as from the whole table, or the whole is read."""

import errno
import gc
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from tiers import repeats

from anbexact import NaiveBayesClassifier, TANClassifier
from anbexact.adapters import save
from anbexact.cli import main, predict, streaming, writing


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(streaming, "PART_ROWS", 40)


def rows(seed, n=130):
    """Columns of text, of whole and of other numbers, with gaps, whose cells are written in several ways."""
    rng = np.random.default_rng(seed)
    answer = rng.choice(["no", "yes"], n)
    place = (rng.integers(0, 3, n) + (answer == "yes")) % 3
    return pd.DataFrame(
        {
            "place": np.array(["Köln", "a, b", 'q"u'])[place],
            "blanks": np.where(rng.random(n) < 0.3, " x  ", np.where(rng.random(n) < 0.5, "x", "NA")),
            "digits": np.char.mod("%d", rng.integers(0, 3, n)),
            "truth": rng.choice(["True", "False"], n),
            "few": rng.integers(1, 4, n).astype(str),
            "gaps": np.where(rng.random(n) < 0.1, "?", rng.integers(0, 3, n).astype(str)),
            "width": (rng.normal(size=n) + (answer == "yes")).round(3).astype(str),
            "whole at first": [str(k) if k % 40 else "0.5" for k in range(n)],
            "other": rng.choice(["0012", "7", ""], n),
            "answer": np.where(rng.random(n) < 0.1, "", answer),
        }
    )


TYPES = {"few": int, "gaps": "Int64", "width": float, "whole at first": float}


def write_model(frame, classifier):
    cells = frame.replace({"?": None, "": None, "NA": None})
    cells["blanks"] = cells["blanks"].str.strip()
    cells = cells[cells["answer"].notna()].astype(TYPES).drop(columns="other")
    save(classifier.fit(cells.drop(columns="answer"), cells["answer"]), "m.json")


def answers(capsys, monkeypatch, least_bytes, *options):
    """The bytes that are written, what is said, and whether the table was read in parts."""
    monkeypatch.setattr(streaming, "LEAST_BYTES", least_bytes)
    found = []
    whole = streaming.predicted_in_parts
    monkeypatch.setattr(predict, "predicted_in_parts", lambda *given: found.append(whole(*given)) or found[-1])
    Path("out.csv").unlink(missing_ok=True)
    code = main(["predict", "m.json", "new.csv", *options])
    said = capsys.readouterr()
    written = Path("out.csv").read_bytes() if Path("out.csv").exists() else None
    return (code, said.out, said.err, written), bool(found and found[0] is not None)


def assert_same(capsys, monkeypatch, *options, streamed=True):
    own, in_parts = answers(capsys, monkeypatch, 0, *options)
    expected, never = answers(capsys, monkeypatch, 10**12, *options)
    assert own == expected
    assert not never
    assert in_parts == streamed
    assert [path.name for path in Path().iterdir() if path.name.startswith(".")] == []
    return own


SETTINGS = {
    "commas": {},
    "tabs": {"sep": "\t", "lineterminator": "\r\n"},
    "semicolons": {"sep": ";", "decimal": ",", "quoting": 2},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_parts_give_the_answers_of_the_whole(settings, capsys, monkeypatch):
    for seed in repeats(1):
        write_model(rows(seed), TANClassifier(discretizer="median", ess=1.0))
        new = rows(seed + 100)
        new.loc[[50, 120], "few"] = "9"
        new.loc[90, "place"] = "nowhere"
        if "decimal" in settings:
            new = new.astype({"width": float, "whole at first": float})
        new.to_csv("new.csv", index=False, **settings)
        code, _, said, written = assert_same(capsys, monkeypatch, "--proba", "--keep", "-o", "out.csv")
        assert code == 0
        assert len(written.splitlines()) == 131
        assert "column 'few': 2 cells contain an unknown state" in said
        assert "accuracy" in said
        assert_same(capsys, monkeypatch, "--id", "other,place", "--cost", "yes=3")


def test_another_encoding_is_read_in_parts_too(capsys, monkeypatch):
    write_model(rows(1), NaiveBayesClassifier(discretizer="median", ess=1.0))
    rows(2).to_csv("new.csv", index=False, encoding="cp1252")
    code, _, said, _ = assert_same(capsys, monkeypatch, "--keep", "-o", "out.csv")
    assert code == 0
    assert "is read as cp1252" in said


@pytest.mark.parametrize("late", [None, "soon", "2024-02-27 12:30"])
def test_booleans_and_dates_are_read_in_parts_too(late, capsys, monkeypatch):
    rng = np.random.default_rng(1)
    flag, hour = rng.random(130) < 0.4, rng.integers(0, 2000, 130)
    frame = pd.DataFrame(
        {
            "flag": flag,
            "day": (pd.Timestamp("2024-02-27") + pd.to_timedelta(hour // 24, unit="D")).date,
            "time": pd.Timestamp("2024-02-27 00:30") + pd.to_timedelta(hour, unit="h"),
        }
    )
    answer = np.where(flag ^ (hour < 700), "yes", "no")
    save(NaiveBayesClassifier(discretizer="median", handle_unknown="marginalize").fit(frame, answer), "m.json")
    new = frame.astype({"day": object, "flag": object}).assign(answer=answer)
    new.loc[[3, 60], ["flag", "day", "time"]] = None
    if late is not None:
        new.loc[120, "day"] = late
    new.to_csv("new.csv", index=False)
    code, _, said, _ = assert_same(capsys, monkeypatch, "--proba", "--keep", "-o", "out.csv", streamed=late is None)
    assert code == (2 if late == "soon" else 0), said
    if late is None:
        new.to_parquet("new.csv")
        assert_same(capsys, monkeypatch, "--proba", "-o", "out.csv")


def test_columns_may_be_absent_or_in_another_order(capsys, monkeypatch):
    write_model(rows(1), NaiveBayesClassifier(discretizer="median", ess=1.0))
    rows(2).drop(columns=["answer", "other"]).iloc[:, ::-1].to_csv("new.csv", index=False)
    assert assert_same(capsys, monkeypatch, "-o", "out.csv")[0] == 0
    rows(2).iloc[:0].to_csv("new.csv", index=False)
    assert_same(capsys, monkeypatch, streamed=False)
    rows(2).drop(columns="place").to_csv("new.csv", index=False)
    assert assert_same(capsys, monkeypatch, streamed=False)[0] == 2


def written_as_parquet(frame):
    cells = frame.replace({"?": None, "": None, "NA": None}).astype(TYPES)
    cells.astype({"width": "Float64", "gaps": "Int64"}).to_parquet("new.csv")


def test_parquet_is_read_in_parts_too(capsys, monkeypatch):
    for seed in repeats(1):
        write_model(rows(seed), TANClassifier(discretizer="median", ess=1.0))
        new = rows(seed + 100)
        new.loc[[50, 120], "few"] = "9"
        new.loc[90, "place"] = "nowhere"
        written_as_parquet(new)
        code, _, said, written = assert_same(capsys, monkeypatch, "--proba", "--id", "few,place", "-o", "out.csv")
        assert code == 0
        assert len(written.splitlines()) == 131
        assert "column 'few': 2 cells contain an unknown state" in said
        assert_same(capsys, monkeypatch, "--id", "gaps", streamed=False)
        new.loc[100, "gaps"] = str(2**53 + 1)
        written_as_parquet(new)
        assert_same(capsys, monkeypatch, streamed=False)
        written_as_parquet(new.iloc[:0])
        assert_same(capsys, monkeypatch, streamed=False)


@pytest.mark.parametrize("least_bytes", [0, 10**12])
def test_text_that_is_not_utf_8(least_bytes, capsys, monkeypatch):
    """It is refused whether the file is read in parts or as a whole."""
    write_model(rows(1), NaiveBayesClassifier(discretizer="median", ess=1.0))
    written_as_parquet(rows(2))
    table = pq.read_table("new.csv").drop_columns("place")
    wrong = pa.array([b"p\xff"] * len(table), pa.binary()).view(pa.string())
    pq.write_table(table.append_column("place", wrong), "new.csv")
    code, _, said, _ = answers(capsys, monkeypatch, least_bytes, "-o", "out.csv")[0]
    assert code == 2
    assert "cannot read new.csv: it is not a valid parquet file" in said
    assert not Path("out.csv").exists()


ODD = {
    "a code": ("few", "03"),
    "a text": ("few", "none"),
    "a fraction": ("few", "2.5"),
    "a large number": ("gaps", str(2**53 + 1)),
    "a text among measures": ("width", "wide"),
}


@pytest.mark.parametrize(("name", "cell"), ODD.values(), ids=ODD)
def test_an_odd_cell_in_a_later_part_is_read_as_in_the_whole(name, cell, capsys, monkeypatch):
    write_model(rows(3), TANClassifier(discretizer="median", ess=1.0))
    new = rows(4)
    new.loc[100, name] = cell
    new.to_csv("new.csv", index=False)
    assert_same(capsys, monkeypatch, "-o", "out.csv", streamed=False)


@pytest.mark.parametrize("change", [lambda line: line + ",1", lambda line: line.rpartition(",")[0]])
def test_rows_of_another_length_are_refused(change, capsys, monkeypatch):
    write_model(rows(5), NaiveBayesClassifier(discretizer="median", ess=1.0))
    lines = rows(6).to_csv(index=False).splitlines()
    lines[110] = change(lines[110])
    Path("new.csv").write_text("\n".join(lines), encoding="utf-8")
    code, _, said, written = assert_same(capsys, monkeypatch, "-o", "out.csv", streamed=False)
    assert (code, written) == (2, None)
    assert "line 111 has" in said


def test_a_file_that_changes_while_it_is_read_is_refused(capsys, monkeypatch):
    write_model(rows(7), NaiveBayesClassifier(discretizer="median", ess=1.0))
    rows(8).to_csv("new.csv", index=False)
    answer = predict.decided

    def changing(*given):
        with open("new.csv", "a", encoding="utf-8") as file:
            file.write("\n")
        return answer(*given)

    monkeypatch.setattr(predict, "decided", changing)
    for least_bytes in (0, 10**12):
        (code, _, said, written), _ = answers(capsys, monkeypatch, least_bytes, "-o", "out.csv")
        assert (code, written) == (2, None)
        assert "new.csv changed while it was read" in said


def test_a_full_disk_leaves_nothing_half_written(capsys, monkeypatch):
    write_model(rows(9), NaiveBayesClassifier(discretizer="median", ess=1.0))
    rows(10).to_csv("new.csv", index=False)
    Path("full.csv").symlink_to("/dev/full")
    monkeypatch.setattr(streaming, "LEAST_BYTES", 0)
    assert main(["predict", "m.json", "new.csv", "-o", "full.csv"]) == 1
    assert "No space left on device" in capsys.readouterr().err
    Path("old.csv").write_text("before", encoding="utf-8")
    wrote = []

    def full(part, *_, **__):
        if wrote:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        wrote.append(part)

    monkeypatch.setattr(writing.pd.DataFrame, "to_csv", full)
    for output in ("old.csv", "new place.csv"):
        wrote.clear()
        assert main(["predict", "m.json", "new.csv", "-o", output]) == 1
        assert "No space left on device" in capsys.readouterr().err
    assert Path("old.csv").read_text(encoding="utf-8") == "before"
    assert {path.name for path in Path().iterdir()} == {"m.json", "new.csv", "full.csv", "old.csv"}


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_ends_a_workbook_in_one_sentence(capsys):
    """Neither the error nor what is left of an archive that could not be written shows a traceback."""
    write_model(rows(9), NaiveBayesClassifier(discretizer="median", ess=1.0))
    rows(10).to_csv("new.csv", index=False)
    Path("full.xlsx").symlink_to("/dev/full")
    assert main(["predict", "m.json", "new.csv", "-o", "full.xlsx"]) == 1
    gc.collect()
    assert capsys.readouterr().err.splitlines()[1:] == ["anbexact: error: No space left on device"]
