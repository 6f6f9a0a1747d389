"""Tables on the command line: formats, separators, encodings and streams in, formats out, and what is refused."""

import bz2
import datetime
import gzip
import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from decimal import Decimal
from numbers import Number
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import anbexact
from anbexact import NaiveBayesClassifier, TANClassifier
from anbexact.cli import formats, main, streaming, writing
from anbexact.cli.cells import Expected
from anbexact.cli.delimited import SEPARATORS
from anbexact.cli.formats import ReadOptions, TableFile
from anbexact.cli.messages import InputError
from anbexact.cli.sources import Source
from anbexact.cli.tables import read_frame, recognised
from anbexact.tables.frames.text_quantities import MISSING_WORDS

PLACES = ("Köln", "Málaga", "Aix, en Provence", "s;o")
"""Of one byte each in cp1252; two hold separators."""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(rows=60):
    """Return a table with gaps in columns of every kind."""
    rng = np.random.default_rng(1)
    answer = rng.choice(["no", "yes"], rows)
    frame = pd.DataFrame(
        {
            "width": rng.normal(0, 1, rows).round(3) + (answer == "yes"),
            "count": rng.integers(0, 4, rows),
            "gaps": pd.Series(rng.integers(0, 3, rows), dtype="Int64"),
            "flag": rng.random(rows) < 0.3 + 0.4 * (answer == "yes"),
            "maybe": pd.Series(rng.random(rows) < 0.5, dtype="boolean"),
            "code": [f"{k:02d}" for k in rng.integers(0, 12, rows)],
            "place": rng.choice(PLACES, rows),
            "day": [datetime.date(2024, 2, 27) + datetime.timedelta(int(k)) for k in rng.integers(0, 5, rows)],
            "time": pd.Timestamp("2024-02-27 10:30") + pd.to_timedelta(rng.integers(0, 90, rows), unit="h"),
            "answer": answer,
        }
    )
    for place, name in enumerate(["width", "gaps", "maybe", "place", "day", "time"]):
        frame.loc[place * 7 + 3, name] = None
    return frame


def write_csv(frame, path, **settings):
    frame.to_csv(path, index=False, **settings)


def write_zip(frame, path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__MACOSX/._t.csv", "x")
        archive.writestr("folder/t.tsv", frame.to_csv(index=False, sep="\t"))


def write_jsonl(frame, path, encoding="utf-8"):
    frame.to_json(path, orient="records", lines=True, force_ascii=False, date_format="iso")
    if encoding != "utf-8":
        Path(path).write_text(Path(path).read_text(encoding="utf-8"), encoding=encoding)


def write_r(frame, path):
    """As R's write.table does: names of rows, without a name for their column."""
    text = frame.set_axis([f"row {k}" for k in range(len(frame))]).to_csv(sep=" ", quoting=2, na_rep="NA")
    Path(path).write_text(text.removeprefix('"" '), encoding="utf-8")


def write_packed(frame, path, opened):
    with opened(path, "wb") as file:
        file.write(frame.to_csv(index=False).encode())


WRITERS = {
    "plain.csv": write_csv,
    "mark.csv": lambda t, p: write_csv(t, p, encoding="utf-8-sig"),
    "tabs.tsv": lambda t, p: write_csv(t, p, sep="\t"),
    "tabs.txt": lambda t, p: write_csv(t, p, sep="\t", lineterminator="\r\n"),
    "semicolons.csv": lambda t, p: write_csv(t, p, sep=";"),
    "decimals.csv": lambda t, p: write_csv(t, p, sep=";", decimal=","),
    "pipes.dat": lambda t, p: write_csv(t, p, sep="|", na_rep="?"),
    "quoted.csv": lambda t, p: write_csv(t, p, quoting=2, na_rep="NA"),
    "western.csv": lambda t, p: write_csv(t, p, encoding="cp1252"),
    "excel.txt": lambda t, p: write_csv(t, p, sep="\t", encoding="utf-16"),
    "big.csv": lambda t, p: write_csv(t, p, encoding="utf-16-be"),
    "rows.csv": lambda t, p: t.to_csv(p),
    "r.txt": write_r,
    "a.csv.gz": lambda t, p: write_packed(t, p, gzip.open),
    "a.csv.bz2": lambda t, p: write_packed(t, p, bz2.open),
    "a.csv.xz": lambda t, p: write_packed(t, p, lzma.open),
    "packed without saying so.csv": lambda t, p: write_packed(t, p, gzip.open),
    "a.zip": write_zip,
    "a.parquet": lambda t, p: t.to_parquet(p),
    "a.feather": lambda t, p: t.to_feather(p),
    "a.xlsx": lambda t, p: t.to_excel(p, index=False),
    "rows.xlsx": lambda t, p: t.to_excel(p),
    "a.json": lambda t, p: t.to_json(p, orient="records", date_format="iso"),
    "indented.json": lambda t, p: t.to_json(p, orient="records", indent=2, date_format="iso"),
    "a.jsonl": write_jsonl,
    "western.jsonl": lambda t, p: write_jsonl(t, p, "cp1252"),
    "parquet, whatever it is called.csv": lambda t, p: t.to_parquet(p),
}
"""How one table can be written; the name tells how it must be read."""


def read(path, texts=(), **reading):
    file, expected = TableFile(Source(str(path)), ReadOptions(**reading)), Expected(frozenset(texts))
    return recognised(read_frame(file, expected), file, expected)


def run(capsys, *args):
    """Return exit code, standard output and standard error."""
    code = main([str(arg) for arg in args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refusal(capsys, *args):
    """Return the one line of an error; what the table is may have been printed before."""
    code, out, err = run(capsys, *args)
    assert code == 2
    assert out == "" or (out.count("\n") == 2 and out.splitlines()[1].startswith("class "))
    assert "Traceback" not in err
    return err.splitlines()[-1].removeprefix("anbexact: error: ")


class TestSameTable:
    @pytest.mark.parametrize("name", WRITERS)
    def test_same_frame(self, name):
        frame = table()
        WRITERS[name](frame, name)
        got = read(name, ["code"], encoding="utf-16-be" if name == "big.csv" else None)
        assert got["code"].tolist() == frame["code"].tolist()
        assert got["gaps"].dtype == "Int64"
        assert got["maybe"].dtype == "boolean"
        WRITERS["plain.csv"](frame, "first.csv")
        pd.testing.assert_frame_equal(got, read("first.csv", ["code"]))
        pd.testing.assert_frame_equal(got, frame, check_dtype=False)

    @pytest.mark.parametrize("name", ["plain.csv", "excel.txt", "western.csv", "a.parquet", "a.feather", "a.xlsx"])
    def test_same_model_and_predictions(self, capsys, name):
        frame = table()
        X = frame.drop(columns="answer")
        expected = NaiveBayesClassifier(handle_missing="own_state").fit(X, frame["answer"])
        WRITERS[name](frame, name)
        options = ["--model", "nb", "--missing", "own_state", "--text", "code"]
        code, _, _ = run(capsys, "fit", "--model", "anb", name, "--class", "answer", *options, "-o", "m.json")
        assert code == 0
        model = anbexact.load("m.json")
        assert model.vocabulary_ == expected.vocabulary_
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
        code, _, _ = run(capsys, "predict", "m.json", name, "--proba", "-o", "out.parquet")
        assert code == 0
        out = pd.read_parquet("out.parquet")
        np.testing.assert_array_equal(out.iloc[:, 1:], expected.predict_proba(X))
        assert out["predicted"].tolist() == expected.predict(X).tolist()

    cells = st.one_of(
        st.none(),
        st.integers(-(2**40), 2**40),
        st.booleans(),
        st.floats(-1e6, 1e6, width=32),
        st.sampled_from(["a", "b c", " d", "?", "NA", "", "0012", "1e3", "True", "x,y", 'q"q', "ö\n"]),
    )
    kinds = st.sampled_from([int, float, bool, str, object])

    @examples(25)
    @given(st.lists(cells, min_size=2, max_size=6), kinds)
    def test_any_column_of_one_kind(self, cells, kind):
        """A column of one Python type, or of text alone, is the same from JSON, Parquet and Excel."""
        cells = [cell if kind is object or type(cell) is kind or cell is None else None for cell in cells]
        frame = pd.DataFrame({"a": pd.Series(cells, dtype=object), "z": 1})
        Path("t.json").write_text(json.dumps([{"a": cell, "z": 1} for cell in cells]), encoding="utf-8")
        expected = read("t.json")
        frame.to_excel("t.xlsx", index=False)
        from_excel = read("t.xlsx")
        pd.testing.assert_series_equal(expected["a"].isna(), from_excel["a"].isna())
        if kind is not object:
            pd.testing.assert_frame_equal(from_excel, expected, rtol=1e-14)
            frame.infer_objects().to_parquet("t.parquet")
            pd.testing.assert_frame_equal(read("t.parquet"), expected)

    def test_formulas_without_results(self, capsys):
        """Excel stores an empty text, too, as a result."""
        openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
        book = openpyxl.Workbook()
        for row in (["a", "b", "c"], [1, "=A2*2", 1], [2, 5, 1], ["=A3+1", '=""', 1], [7, None, 1]):
            book.active.append(row)
        book.create_sheet("notes").append(["=1", "=2", "=3"])
        book.save("t.xlsx")
        with zipfile.ZipFile("t.xlsx") as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        name = "xl/worksheets/sheet1.xml"
        kept = parts[name].replace(b'<c r="B4"><f>""</f><v />', b'<c r="B4" t="str"><f>""</f><v></v>')
        assert kept != parts[name]
        with zipfile.ZipFile("t.xlsx", "w") as archive:
            for part, content in {**parts, name: kept}.items():
                archive.writestr(part, content)
        assert read("t.xlsx")["b"].isna().tolist() == [True, False, True, True]
        assert "the cells 'B2', 'A4' of sheet 'Sheet' are formulas without a stored result" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("edits", "message"),
        [
            (
                {b'</row><row r="3">': b'<row r="3">', b"</row></sheetData>": b"</row></row></sheetData>"},
                "a row or cell of a sheet is within another one",
            ),
            (
                {b'</c><c r="B2"': b'<c r="B2"', b'</c></row><row r="3">': b'</c></c></row><row r="3">'},
                "a row or cell of a sheet is within another one",
            ),
            (
                {b'<row r="2">': b"", b'</row><row r="3">': b'<row r="3">'},
                "a row or cell of a sheet is within another one",
            ),
            ({b'<row r="3">': b'<row r="2">'}, "row 2 of a sheet follows row 2"),
            ({b'<c r="A3"': b'<c r="A2"'}, "the cell A2 of a sheet is not in its place"),
            ({b'<c r="B3"': b'<c r="A3"'}, "the cell A3 of a sheet is not in its place"),
        ],
    )
    def test_rows_and_cells_within_others_or_out_of_order(self, edits, message):
        """What openpyxl overlooks in such a sheet would be missing cells."""
        pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_excel("t.xlsx", index=False)
        with zipfile.ZipFile("t.xlsx") as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        name = "xl/worksheets/sheet1.xml"
        for old, new in edits.items():
            assert old in parts[name]
            parts[name] = parts[name].replace(old, new)
        with zipfile.ZipFile("t.xlsx", "w") as archive:
            for part, content in parts.items():
                archive.writestr(part, content)
        with pytest.raises(InputError, match=message):
            read("t.xlsx")

    def test_mixed_cells_are_text(self):
        Path("t.json").write_text('[{"a": 1, "b": true}, {"a": "x", "b": "y"}, {"a": 2.5, "b": null}]')
        got = read("t.json")
        assert got["a"].tolist() == ["1", "x", "2.5"]
        assert got["b"].fillna("-").tolist() == ["True", "y", "-"]

    def test_whole_numbers_are_integers(self):
        pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [1.0, 2.0, 3.0], "c": [1.0, 2.5, 3.0]}).to_parquet("t.parquet")
        assert [str(dtype) for dtype in read("t.parquet").dtypes] == ["Int64", "int64", "float64"]
        pd.DataFrame({"a": [2.0**60, 1.0], "b": [np.inf, 1.0]}).to_parquet("t.parquet")
        assert [str(dtype) for dtype in read("t.parquet").dtypes] == ["float64", "float64"]

    @pytest.mark.parametrize("dtype", [np.float32, np.float16, "Float32"])
    @pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
    def test_numbers_of_single_precision_are_their_shortest_decimals(self, name, dtype):
        if dtype is np.float16 and name == "a.feather":
            pytest.skip("feather has no half precision")
        cells = [0.1, 0.7, None] if dtype != np.float16 else [0.1, 0.7, np.nan]
        column = pd.Series(cells, dtype=dtype)
        WRITERS[name](pd.DataFrame({"a": column, "b": [1, 2, 3]}), name)
        assert read(name)["a"].tolist()[:2] == [0.1, 0.7]
        assert read(name, ["a"])["a"].tolist()[:2] == ["0.1", "0.7"]

    @pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 + 1])
    @pytest.mark.parametrize("name", ["plain.csv", "a.json", "a.parquet"])
    def test_large_whole_numbers_are_exact_beside_gaps(self, name, number):
        column = pd.Series([number, None, 3], dtype="UInt64" if number > 2**63 else "Int64")
        Path("a.json").write_text(f'[{{"a": {number}, "b": 1}}, {{"a": null, "b": 2}}, {{"a": 3, "b": 3}}]')
        if name != "a.json":
            WRITERS[name](pd.DataFrame({"a": column, "b": [1, 2, 3]}), name)
        assert read(name)["a"].dropna().tolist() == [number, 3]

    @pytest.mark.parametrize("name", ["plain.csv", "a.json", "a.parquet", "a.feather", "a.xlsx"])
    def test_text_means_the_same_in_every_format(self, name, capsys):
        """What CSV holds as text, another format may, too; only its text True is not the boolean."""
        frame = pd.DataFrame(
            {
                "flag": ["True", "False", None],
                "code": ["007", "12", "3"],
                "number": ["1.5", "2.25", "?"],
                "thousands": ["1.250", "2.500", "980"],
                "day": ["2024-02-27", "2024/2/28", " "],
            }
        )
        WRITERS[name](frame, name)
        got = read(name)
        assert got["flag"].tolist()[:2] == ([True, False] if name == "plain.csv" else ["True", "False"])
        assert str(got["number"].dtype) == "float64"
        assert got["code"].tolist() == ["007", "12", "3"]
        assert got["thousands"].tolist() == ["1.250", "2.500", "980"]
        assert got["day"].tolist()[:2] == [datetime.date(2024, 2, 27), datetime.date(2024, 2, 28)]
        assert got["day"].isna().tolist() == [False, False, True]
        assert "'code' contains numbers with leading zeros, such as 007" in capsys.readouterr().err

    @pytest.mark.parametrize("name", ["a.json", "a.xlsx", "a.parquet"])
    def test_numbers_that_are_no_text_have_no_decimal_mark(self, name):
        WRITERS[name](pd.DataFrame({"a": [1.125, 980.0, None], "b": [1, 2, 3]}), name)
        assert read(name, decimal=",")["a"].tolist()[:2] == [1.125, 980.0]

    def test_text_of_numbers(self):
        """--text: separated text as it stands, the rest as it would be written."""
        Path("t.csv").write_text("a,b\n007,1.50\n,2\n")
        assert read("t.csv", ["a", "b"]).fillna("-").to_numpy().tolist() == [["007", "1.50"], ["-", "2"]]
        pd.DataFrame({"a": [7, 8], "b": [1.5, None]}).to_parquet("t.parquet")
        assert read("t.parquet", ["a", "b"]).fillna("-").to_numpy().tolist() == [["7", "1.5"], ["8", "-"]]

    def test_declared_categories_stay(self):
        declared = pd.Categorical(["low", "high", "low"], categories=["low", "middle", "high"], ordered=True)
        pd.DataFrame({"a": declared}).to_feather("t.feather")
        assert read("t.feather")["a"].cat.categories.tolist() == ["low", "middle", "high"]


class TestDialects:
    @pytest.mark.parametrize("word", SEPARATORS)
    def test_separators(self, word):
        Path("t.txt").write_text(SEPARATORS[word].join(["a b", "c d", "e"]).replace("a b", "ab").replace("c d", "cd"))
        with Path("t.txt").open("a") as file:
            for k in range(3):
                file.write("\n" + SEPARATORS[word].join([str(k), "u", "v"]))
        got = read("t.txt")
        assert got.columns.tolist() == ["ab", "cd", "e"]
        assert got["ab"].tolist() == [0, 1, 2]
        pd.testing.assert_frame_equal(got, read("t.txt", separator=SEPARATORS[word]))

    def test_separators_within_cells(self):
        Path("t.csv").write_text('name;note\n"a, b";x,y\nc;"d;e"\n')
        assert read("t.csv").to_numpy().tolist() == [["a, b", "x,y"], ["c", "d;e"]]
        Path("t.csv").write_text("one column\nfirst second\nthird fourth\n")
        assert read("t.csv").columns.tolist() == ["one column"]

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
    def test_byte_order_marks(self, encoding):
        """There are two where a program has put its own in front of another one's."""
        for marks in ("", "\ufeff", "\ufeff\ufeff"):
            if encoding == "utf-16-le" and not marks:  # it could not be told from other text
                continue
            Path("t.csv").write_text(marks + '"a\n1",b\n1,x\n2,y\n', encoding=encoding)
            got = read("t.csv")
            assert got.columns.tolist() == ["a\n1", "b"]
            assert got["b"].tolist() == ["x", "y"]

    def test_blanks_beside_separators(self):
        Path("t.csv").write_text("a, b , c\n 1, x, ?\n2, x , u\n")
        got = read("t.csv")
        assert got.columns.tolist() == ["a", "b", "c"]
        assert got["b"].tolist() == ["x", "x"]
        assert got["c"].isna().tolist() == [True, False]

    def test_decimal_commas(self, capsys):
        Path("t.csv").write_text("a;b\n1,5;x\n-2,25;y\n3;x\n")
        assert read("t.csv")["a"].tolist() == [1.5, -2.25, 3.0]
        assert "numbers such as 1,5 are read with a decimal comma" in capsys.readouterr().err
        assert read("t.csv", decimal=".")["a"].tolist() == ["1,5", "-2,25", "3"]
        Path("t.tsv").write_text("a\tb\n1,234\tx\n12,500\ty\n")  # thousands, or decimals?
        assert read("t.tsv")["a"].tolist() == ["1,234", "12,500"]
        assert read("t.tsv", decimal=",")["a"].tolist() == [1.234, 12.5]
        Path("t.csv").write_text("a;b\n1,5;2.5\n")
        assert read("t.csv")["a"].tolist() == ["1,5"]

    @pytest.mark.parametrize(
        ("last", "expected"),
        [("wide", "wide"), (".", None), ("1.5", 1.5), ("01.5", 1.5), ("1e400", np.inf), ("", None), ("?", None)],
    )
    @pytest.mark.parametrize("decimal", [".", ","])
    def test_a_late_cell_decides_as_an_early_one_does(self, last, expected, decimal):
        """The first lines show measures, which are read as numbers, unless a later cell is none."""
        cells = [f"{k}.12345".replace(".", decimal) for k in range(400)] + [
            last if last == "." else last.replace(".", decimal)
        ]
        for order in (cells, cells[::-1]):
            Path("t.csv").write_text("a;b\n" + "".join(f"{cell};x\n" for cell in order))
            got = read("t.csv", decimal=decimal)["a"].tolist()
            got = got if order is cells else got[::-1]
            assert got[3] == ("3.12345".replace(".", decimal) if expected == "wide" else 3.12345)
            assert got[-1] == expected or (expected is None and pd.isna(got[-1]))

    def test_codes_and_thousands_after_the_first_lines(self):
        for cells in (["12"] * 300 + ["012"], ["980"] * 300 + ["1.250", "2.500"], ["1"] * 300 + ["x"]):
            Path("t.csv").write_text("a,b\n" + "".join(f"{cell},x\n" for cell in cells))
            assert read("t.csv")["a"].tolist() == cells

    def test_a_mark_beats_the_option(self):
        Path("t.csv").write_bytes("größe,y\n1,a\n".encode("utf-16"))
        assert read("t.csv", encoding="utf-16").columns.tolist() == ["größe", "y"]
        Path("t.csv").write_bytes("größe,y\n1,a\n".encode("utf-8-sig"))
        assert read("t.csv", encoding="utf-8").columns.tolist() == ["größe", "y"]
        Path("t.csv").write_bytes("имя,y\n1,a\n".encode("cp1251"))
        assert read("t.csv", encoding="cp1251").columns.tolist() == ["имя", "y"]

    def test_western_text_is_noted(self, capsys):
        Path("t.csv").write_bytes("a,y\nu,1\nné,2\n".encode("cp1252"))
        assert read("t.csv")["a"].tolist() == ["u", "né"]
        assert (
            "t.csv is not UTF-8 (line 3) and is read as cp1252; use --encoding to choose another encoding"
            in capsys.readouterr().err
        )
        Path("t.csv").write_bytes(b"a,y\nu,1\n\x81,2\n")
        assert read("t.csv")["a"].tolist() == ["u", "\x81"]
        assert "latin-1" in capsys.readouterr().err


class TestStreams:
    def test_standard_input(self, capsys, monkeypatch):
        frame = table()
        frame.to_parquet("t.parquet")
        frame.to_csv("t.csv", index=False)
        for name in ("t.parquet", "t.csv"):
            stream = io.TextIOWrapper(io.BytesIO(Path(name).read_bytes()))
            monkeypatch.setattr(sys, "stdin", stream)
            code, out, _ = run(capsys, "fit", "-", "--class", "answer", "--model", "nb")
            assert code == 0
            assert out.startswith("standard input: 60 rows, 9 features")

    def test_a_stream_is_read_once(self, capsys):
        """A named pipe, as process substitution makes one: whoever opens it again waits for ever."""
        frame = table()
        os.mkfifo("pipe")
        writer = threading.Thread(target=lambda: Path("pipe").write_bytes(frame.to_csv(index=False).encode("cp1252")))
        writer.start()
        code, out, _ = run(capsys, "fit", "pipe", "--class", "answer", "--model", "nb")
        writer.join()
        assert code == 0
        assert "pipe: 60 rows" in out

    @pytest.mark.slow
    def test_process(self):
        """The command of the issue: its header was consumed."""
        command = [sys.executable, "-m", "anbexact"]
        fit = [*command, "fit", "/dev/stdin", "--class", "answer", "--model", "nb", "-o", "m.json"]
        data = table().to_csv(index=False).encode()
        subprocess.run(fit, input=data, check=True, capture_output=True)
        predict = subprocess.run(
            [*command, "predict", "m.json", "-", "--id", "code", "-o", "-"],
            input=data,
            check=True,
            capture_output=True,
        )
        assert pd.read_csv(io.BytesIO(predict.stdout)).columns.tolist() == ["code", "predicted"]


class TestPredict:
    @pytest.fixture(scope="class")
    def learned(self, tmp_path_factory):
        folder, frame = tmp_path_factory.mktemp("learned"), table()
        NaiveBayesClassifier().fit(frame.drop(columns="answer"), frame["answer"]).save(folder / "m.json")
        frame.to_csv(folder / "t.csv", index=False)
        return folder

    @pytest.fixture(autouse=True)
    def _model(self, learned):
        for name in ("m.json", "t.csv"):
            shutil.copy(learned / name, name)

    def expected(self):
        frame = table()
        return frame, anbexact.load("m.json").predict(frame.drop(columns="answer")).tolist()

    @pytest.mark.parametrize("name", ["o.csv", "o.tsv", "o.json", "o.jsonl", "o.parquet", "o.feather", "o.xlsx"])
    def test_formats(self, capsys, name):
        """What is written is read again: the format is that of the extension."""
        frame, predicted = self.expected()
        code, out, _ = run(capsys, "predict", "m.json", "t.csv", "--keep", "-o", name)
        assert (code, out) == (0, "")
        head = Path(name).read_bytes()[:4]
        binary = {"o.parquet": b"PAR1", "o.feather": b"ARRO", "o.xlsx": b"PK\x03\x04"}
        assert head == binary.get(name, head)
        assert head.startswith(b"[{") == (name == "o.json")
        assert head.startswith(b"{") == (name == "o.jsonl")
        if name not in binary:  # the time of day in a workbook can be a tab
            assert (b"\t" in Path(name).read_bytes().splitlines()[0]) == (name == "o.tsv")
        got = read(name, ["code"])
        assert got["predicted"].tolist() == predicted
        assert got["code"].tolist() == frame["code"].tolist()
        assert got.columns.tolist() == [*frame.columns, "predicted"]

    def test_workbooks_hold_what_was_passed(self, capsys):
        """No text becomes a formula or an error, and no number, date or duration loses what Excel does not show."""
        openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
        labels = ["=high", "+low", "-1", "@x"]
        kept = {
            "=name": ["=1+1", "#N/A", '=HYPERLINK("http://x")', " plain"],
            "number": [2**53 + 1, 10**15 - 1, -(10**15) - 1, 1],
            "wide": np.array([2**63 + 1, 10**19, 7, 8], dtype=np.uint64),
            "decimal": [Decimal("0.12345678901234567"), Decimal("1.50"), Decimal(10**17 + 1), None],
            "zoned": pd.to_datetime(["2020-03-29T01:30Z"] * 4).tz_convert("Europe/Zurich"),
            "early": [datetime.date(1880, 1, 2), datetime.date(2020, 2, 29), None, datetime.date(1900, 3, 1)],
            "moment": pd.to_datetime(["2020-03-29 01:30:00", "1899-12-31 00:00:00", None, "2020-01-01 12:00:00"]),
            "duration": pd.to_timedelta(["02:30:00", "1 days", None, "-1 days"]),
            "share": [0.375, np.inf, np.nan, 1e-300],
            "flag": [True, False, True, False],
        }
        frame = pd.DataFrame({"a": list("xyzw"), **kept})
        NaiveBayesClassifier(ess=0.01).fit(frame[["a"]], labels).save("signs.json")
        frame.to_parquet("t.parquet")
        assert run(capsys, "predict", "signs.json", "t.parquet", "--keep", "--proba", "-o", "o.xlsx")[0] == 0
        sheet = openpyxl.load_workbook("o.xlsx").active
        cells = {column[0].value: column[1:] for column in sheet.iter_cols()}
        assert [*cells][1:-5] == list(kept)
        assert [cell.value for cell in cells["predicted"]] == labels
        for name, texts in {
            "=name": kept["=name"],
            "number": ["9007199254740993", 10**15 - 1, "-1000000000000001", 1],
            "wide": ["9223372036854775809", 10**19, 7, 8],
            "decimal": ["0.12345678901234567", 1.5, f"{10**17 + 1}.{0:017d}", None],
            "zoned": ["2020-03-29 03:30:00+02:00"] * 4,
            "early": ["1880-01-02", datetime.datetime(2020, 2, 29), None, datetime.datetime(1900, 3, 1)],
            "moment": [
                datetime.datetime(2020, 3, 29, 1, 30),
                "1899-12-31 00:00:00",
                None,
                datetime.datetime(2020, 1, 1, 12),
            ],
            "duration": ["0 days 02:30:00", "1 days 00:00:00", None, "-1 days +00:00:00"],
            "share": [0.375, "inf", None, 1e-300],
            "flag": kept["flag"],
        }.items():
            assert [cell.value for cell in cells[name]] == texts
        for cell in (cell for row in sheet.iter_rows() for cell in row):
            assert (cell.data_type, cell.number_format) == ("s", "@") or not isinstance(cell.value, str)
            assert cell.data_type not in "fe"
        assert read("o.xlsx", ["number"])["number"].tolist() == list(map(str, kept["number"]))

    @pytest.mark.parametrize("text", ["a\x01b", "long " * 7000])
    def test_workbooks_refuse_text_that_excel_cannot_hold(self, capsys, text):
        frame = table().assign(note=text)
        frame.to_parquet("t.parquet")
        message = refusal(capsys, "predict", "m.json", "t.parquet", "--id", "note", "-o", "o.xlsx")
        assert message.startswith(f"column 'note': Excel cannot hold the text {text[:2]!r}"[:-1])
        assert message.endswith("write to another format, such as .csv or .parquet")
        assert not Path("o.xlsx").exists()

    def test_workbooks_refuse_more_rows_than_a_sheet_has(self, capsys, monkeypatch):
        monkeypatch.setattr(writing, "LARGEST_SHEET", (60, 100))
        message = refusal(capsys, "predict", "m.json", "t.csv", "-o", "o.xlsx")
        assert message.startswith(
            "the result has 60 rows below the heading and 1 column, but an Excel sheet has at most"
        )

    def test_csv_holds_text_as_it_is(self, capsys):
        """CSV has no formulas; what reads it may, but a sign in front would be another value."""
        frame = pd.DataFrame({"a": ["x", "y"], "b": ["=1+1", "@z"]})
        NaiveBayesClassifier(ess=0.01).fit(frame[["a"]], ["=high", "-1"]).save("signs.json")
        frame.to_csv("t.csv", index=False)
        assert run(capsys, "predict", "signs.json", "t.csv", "--keep")[1].split() == [
            "a,b,predicted",
            "x,=1+1,=high",
            "y,@z,-1",
        ]

    @pytest.mark.parametrize("extension", [".gz", ".bz2", ".xz", ".zip"])
    @pytest.mark.parametrize("form", ["csv", "jsonl"])
    def test_compression(self, capsys, form, extension):
        _, predicted = self.expected()
        assert run(capsys, "predict", "m.json", "t.csv", "-o", f"o.{form}{extension}")[0] == 0
        assert Path(f"o.{form}{extension}").read_bytes()[:2] in (b"\x1f\x8b", b"BZ", b"\xfd7", b"PK")
        assert read(f"o.{form}{extension}")["predicted"].tolist() == predicted

    def test_columns_passed_through_stay_as_they_were(self, capsys):
        Path("new.csv").write_text(
            pd.read_csv("t.csv", dtype=str).assign(number="0042", when="1.50").to_csv(index=False)
        )
        code, out, err = run(capsys, "predict", "m.json", "new.csv", "--id", "number,code", "--id", "when")
        assert code == 0
        assert out.startswith("number,code,when,predicted\n0042,")
        assert ",1.50," in out.splitlines()[1]
        assert "ignoring" not in err
        _, out, _ = run(capsys, "predict", "m.json", "new.csv", "--keep")
        assert out.splitlines()[0] == ",".join([*table().columns, "number", "when", "predicted"])
        assert (
            pd.read_csv(io.StringIO(out), dtype=str, keep_default_na=False)
            .drop(columns="predicted")
            .equals(pd.read_csv("new.csv", dtype=str, keep_default_na=False))
        )

    @pytest.mark.parametrize("name", ["o.csv", "o.parquet", "o.jsonl"])
    def test_explain(self, capsys, name):
        frame, predicted = self.expected()
        model = anbexact.load("m.json")
        code, out, err = run(capsys, "predict", "m.json", "t.csv", "--explain", "--id", "code", "--proba", "-o", name)
        assert (code, out) == (0, ""), err
        got = read(name, ["code"])
        X = read("t.csv").drop(columns="answer")
        sums = got.groupby("row")["nats"].sum()
        proba = np.sort(model.predict_proba(X), axis=1)
        np.testing.assert_allclose(sums, np.log(proba[:, -1] / proba[:, -2]), atol=1e-9)
        first = got[got["row"] == 0]
        assert set(first["feature"]) == {*frame.columns.drop("answer"), "(prior of answer)"}
        assert set(first["predicted"]) == {predicted[0]}
        assert first["against"].iloc[0] != predicted[0]
        assert set(first["code"]) == {frame["code"][0]}
        assert first.set_index("feature")["value"]["place"] == frame["place"][0]
        assert got.columns.tolist()[:6] == ["row", "code", "predicted", "P(no)", "P(yes)", "against"]
        place = got.columns.get_loc("nats")
        assert got.columns.tolist()[place : place + 4] == ["nats", "nats_low", "nats_high", "odds"]
        assert ((got["nats_low"] <= got["nats"]) & (got["nats"] <= got["nats_high"])).all()
        np.testing.assert_allclose(got["odds"], np.exp(got["nats"]))

    @pytest.mark.parametrize("name", ["plain.csv", "a.parquet", "a.xlsx"])
    def test_no_rows(self, capsys, name):
        WRITERS[name](table()[:0], name)
        for arguments in ((), ("--explain",), ("--keep", "-o", "o.csv")):
            assert refusal(capsys, "predict", "m.json", name, *arguments) == f"{name} has column names, but no rows"
        assert not Path("o.csv").exists()

    def test_explain_what_is_no_network(self, capsys):
        run(capsys, "fit", "t.csv", "--class", "answer", "--model", "aode", "-o", "a.json")
        line = refusal(capsys, "predict", "a.json", "t.csv", "--explain")
        assert line == "--explain does not apply to a.json: AODEClassifier is not a network"

    def test_decisions(self, capsys):
        model = anbexact.load("m.json")
        X = read("t.csv").drop(columns="answer")
        options = ("--class-prior", "yes=0.2", "--class-prior", "no=0.8")
        _, out, err = run(capsys, "predict", "m.json", "t.csv", "--proba", *options)
        got = pd.read_csv(io.StringIO(out))
        proba = model.predict_proba(X, class_prior={"yes": 0.2, "no": 0.8})
        np.testing.assert_allclose(got[["P(no)", "P(yes)"]], proba, atol=1e-9)
        assert got["predicted"].tolist() == model.classes_[proba.argmax(axis=1)].tolist()
        assert "accuracy" in err
        _, out, err = run(capsys, "predict", "m.json", "t.csv", "--cost", "yes=4", "--reject", 0.3)
        expected = model.decide(X, costs={"yes": 4, "no": 1}, reject=0.3)["decision"]
        assert pd.read_csv(io.StringIO(out))["predicted"].tolist() == expected.tolist()
        assert "accuracy" not in err

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--class-prior", "yes=0.2"), "--class-prior: class_prior has shares of ['yes'], but"),
            (("--class-prior", "yes=0.2,no=0.2"), "--class-prior: class_prior must have 2 shares"),
            (("--cost", "maybe=2"), "--cost 'maybe=2': write CLASS=NUMBER, where CLASS is one of 'no', 'yes'"),
            (("--cost", "yes=dear"), "--cost 'yes=dear': 'dear' is not a number"),
            (("--cost", "yes=-5"), "--cost yes=-5: what an error costs must be a finite number, 0 or more"),
            (("--cost", "yes=inf"), "--cost yes=inf: what an error costs must be a finite number, 0 or more"),
            (("--reject", "-1"), "argument --reject: '-1' is not a cost: it must be a finite number, 0 or more"),
            (("--reject", "nan"), "argument --reject: 'nan' is not a cost: it must be a finite number, 0 or more"),
            (("--cost", "yes=2", "--explain"), "--explain and --cost exclude each other: the terms"),
            (("--reject", "0", "--explain"), "--explain and --reject exclude each other: the terms"),
        ],
    )
    def test_decisions_that_do_not_fit(self, capsys, options, message):
        assert refusal(capsys, "predict", "m.json", "t.csv", *options).startswith(message)

    def test_one_odd_cell_does_not_spoil_a_column(self, capsys):
        frame, predicted = self.expected()
        odd = frame.astype({"count": object, "width": object, "flag": object})
        odd.loc[0, ["count", "width", "flag"]] = ["many", "wide", "perhaps"]
        odd.to_csv("odd.csv", index=False)
        code, out, err = run(capsys, "predict", "m.json", "odd.csv")
        assert code == 0
        assert out.split()[2:] == predicted[1:]
        assert "column 'width': 1 cell is not a number (first: 'wide') and is summed out" in err
        assert "column 'count': 1 cell contains an unknown state (first: 'many')" in err
        assert "column 'flag': 1 cell contains an unknown state (first: 'perhaps')" in err

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["-o", "o.rds"], "o.rds: cannot infer the format; use one of the extensions .csv, .tsv, .json"),
            (["-o", "out"], "out: cannot infer the format"),
            (["-o", "o.parquet.gz"], "o.parquet.gz: parquet files are already compressed; leave out .gz"),
            (["-o", "no/o.csv"], "no/o.csv: the folder "),
            (["-o", "t.csv"], "t.csv is read by this command, and would be lost: write to another file"),
            (["--id", "Codes"], "--id Codes: t.csv has no column 'Codes'; did you mean 'code'?"),
            (["--id", "code", "--keep"], "argument --keep: not allowed with argument --id"),
            (["--text", "widht"], "--text widht: t.csv has no column 'widht'; did you mean 'width'?"),
        ],
    )
    def test_refused(self, capsys, monkeypatch, args, message):
        """Before the work."""
        monkeypatch.setattr(NaiveBayesClassifier, "predict_proba", None)
        assert message in refusal(capsys, "predict", "m.json", "t.csv", *args)

    def test_a_name_that_is_taken(self, capsys):
        table().assign(predicted=1).to_csv("again.csv", index=False)
        line = refusal(capsys, "predict", "m.json", "again.csv", "--keep")
        assert line == "again.csv already has a column 'predicted': rename it, or choose other columns with --id"

    def test_what_must_be_installed(self, capsys, monkeypatch):
        monkeypatch.setattr(formats, "find_spec", lambda _: None)
        assert "o.xlsx: xlsx files require openpyxl: pip install openpyxl" in refusal(
            capsys, "predict", "m.json", "t.csv", "-o", "o.xlsx"
        )
        for name in ("t.parquet", "t.feather", "t.xlsx"):
            Path(name).write_bytes(b"")
            assert "pip install " in refusal(capsys, "predict", "m.json", name)

    def test_dates_to_json_and_excel(self):
        frame = pd.DataFrame(
            {"when": pd.to_datetime(["2024-05-06", None]), "zone": pd.Timestamp("2024-05-06", tz="UTC")}
        )
        writing.write_table(frame, "o.json")
        assert json.loads(Path("o.json").read_text())[1]["when"] is None
        assert json.loads(Path("o.json").read_text())[0]["when"] == "2024-05-06T00:00:00"
        writing.write_table(frame, "o.xlsx")
        assert pd.read_excel("o.xlsx")["zone"].tolist() == ["2024-05-06 00:00:00+00:00"] * 2


class TestColumns:
    @pytest.fixture(autouse=True)
    def _table(self):
        table().assign(**{"a,b": 1}).to_csv("t.csv", index=False)

    def features(self, capsys, *args):
        code, out, err = run(capsys, "fit", "t.csv", "--class", "answer", "--model", "nb", "--json", *args)
        assert code == 0, err
        return json.loads(out)["features"]

    def test_drop_and_columns(self, capsys):
        everything = table().columns.drop("answer").tolist()
        assert self.features(capsys) == [*everything, "a,b"]
        assert self.features(capsys, "--drop", "width,flag", "--drop", "a,b") == [
            name for name in everything if name not in ("width", "flag")
        ]
        assert self.features(capsys, "--columns", "flag, code", "--columns", "answer") == ["flag", "code"]
        chosen = self.features(capsys, "--columns", "flag,code", "--weights", "count", "--drop", "gaps")
        assert chosen == ["flag", "code"]

    def test_text(self, capsys):
        run(capsys, "fit", "t.csv", "--class", "answer", "--model", "nb", "--text", "count", "-o", "m.json")
        assert anbexact.load("m.json").vocabulary_.states["count"] == ("0", "1", "2", "3")
        code, out, err = run(capsys, "predict", "m.json", "t.csv")
        assert (code, len(out.splitlines()), "summed out" in err) == (0, 61, False)

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["--drop", "Flags"], "--drop Flags: t.csv has no column 'Flags'; did you mean 'flag'?"),
            (["--columns", "zzz"], "--columns zzz: t.csv has no column 'zzz'; its columns: 'width', 'count', "),
            (["--text", "cods"], "--text cods: t.csv has no column 'cods'; did you mean 'code'?"),
            (["--drop", "answer"], "--drop answer: this column is required"),
            (["--drop", "flag", "--columns", "flag,code"], "'flag' is in both --columns and --drop"),
            (["--weights", "counts"], "--weights: t.csv has no column 'counts'; did you mean 'count'?"),
            (
                ["--required", "flag->Code"],
                "--required: 'flag->Code': t.csv has no column 'Code'; did you mean 'code'?",
            ),
            (["--forbidden", "flag"], "--forbidden flag: this is neither an arc A->B nor a text file of arcs"),
            (["--model", "nb", "--tabu", "3"], "--tabu does not apply to --model nb"),
            (["--model", "nb", "--required", "flag->code"], "--required does not apply to --model nb"),
            (["--sep", "ab"], "argument --sep: 'ab' is neither one character nor one of comma, semicolon, tab"),
            (["--sheet", "x"], "--sheet does not apply to t.csv, which is read as csv"),
            (["--format", "json", "--sep", ";"], "--sep does not apply to t.csv, which is read as json"),
            (["--encoding", "klingon"], "--encoding klingon is unknown: use a name such as utf-8"),
            (["--memory-limit", "much"], "argument --memory-limit: 'much' is not a size, such as 4GB or 500MB"),
            (
                ["--threshold", "1,x"],
                "argument --threshold: '1,x' is neither a number nor several numbers separated by commas",
            ),
        ],
    )
    def test_refused(self, capsys, args, message):
        assert message in refusal(capsys, "fit", "--model", "anb", "t.csv", "--class", "answer", *args)


class TestModelOptions:
    def test_arcs(self, capsys):
        table().to_csv("t.csv", index=False)
        Path("arcs.txt").write_text("# of interest\nflag -> count\n\ncode->maybe  \n")
        arguments = ["fit", "--model", "anb", "t.csv", "--class", "answer", "--json", "--drop", "place,gaps"]
        arcs = ["--required", "arcs.txt", "--required", "width->flag", "--forbidden", "width -> code"]
        edges = json.loads(run(capsys, *arguments, *arcs)[1])["feature_edges"]
        assert {("flag", "count"), ("code", "maybe"), ("width", "flag")} <= set(map(tuple, edges))
        assert ["width", "code"] not in edges
        Path("arcs.txt").write_text("flag -> count\nflag, maybe\n")
        assert "arcs.txt, line 2: 'flag, maybe' is not an arc A->B" in refusal(
            capsys, *arguments, "--required", "arcs.txt"
        )

    @pytest.mark.parametrize(
        ("model", "options", "parameters"),
        [
            ("anb", ["--memory-limit", "1GB", "--max-parents", "1"], {"memory_limit": 1e9, "max_parents": 1}),
            (
                "ggbn",
                ["--tabu", "5", "--restarts", "2", "--random-state", "7"],
                {"tabu": 5, "restarts": 2, "random_state": 7},
            ),
            (
                "fsanb",
                ["--ess", "1,5", "--threshold", "1,3.5", "--network-ess", "2"],
                {"ess": (1.0, 5.0), "threshold": (1.0, 3.5), "network_ess": 2.0},
            ),
            (
                "aode",
                ["--min-weight", "4", "--missing", "own_state"],
                {"min_weight": 4.0, "handle_missing": "own_state"},
            ),
            ("nb", ["--unknown", "error"], {"handle_unknown": "error"}),
        ],
    )
    def test_reach_the_classifier(self, capsys, monkeypatch, model, options, parameters):
        from anbexact.cli import fitting

        table().to_csv("t.csv", index=False)
        seen = {}
        learn = fitting.learn
        monkeypatch.setattr(fitting, "learn", lambda c, *rest: (seen.update(c.get_params()), learn(c, *rest))[1])
        code, _, err = run(capsys, "fit", "t.csv", "--class", "answer", "--model", model, *options)
        assert code == 0, err
        assert {name: seen[name] for name in parameters} == parameters


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"a,y\n1,p\n2\n", "cannot read t.csv: line 3 has 1 cell, but there are 2 column names"),
        ("t.csv", b" \na\n1\n", "t.csv: its first line, which should give the column names, is empty"),
        ("t.csv", b"\n\na,y\n1,p\n", "t.csv: its first line, which should give the column names, is empty"),
        ("t.csv", b'a,y\n1,p\n\n""\n2,q\n', "cannot read t.csv: line 4 has 1 cell, but there are 2 column names"),
        ("t.csv", b'a,y\n"1\n2",p\n3,p,q\n', "cannot read t.csv: line 4 has 3 cells, but there are 2 column names"),
        ("t.csv", b"a,,y\n1,2,p\n", "column 2 has no name; name it, or remove it"),
        ("t.csv", b",y\n1,p\n1,q\n", "column 1 has no name; name it, or remove it"),
        ("t.csv", b"a,a,y\n1,2,p\n", "two columns are called 'a'; give every column a unique name"),
        ("t.csv", "a,y\né,p\n".encode() + b"\xe9,p\n", "it mixes encodings, since line 2 is UTF-8 and line 3 is not"),
        ("t.csv", b"\xff\xfea\x00,\x00y\x00\n\x00\x00\xd8,\x00p", "it is not utf-16 text, first in line 2"),
        ("t.csv", b"\xef\xbb\xbfa,y\n1,p\n\xe9,q\n", "it is not utf-8 text, first in line 3"),
        ("t.csv", b"a,y\n" + b"1.23456,p\n" * 300 + b"2\n", "line 302 has 1 cell, but there are 2 column names"),
        ("t.csv", "a,y\n1,p\n".encode("utf-16-le"), "pass --encoding utf-16-le"),
        ("t.csv", b"\n\n", "t.csv is empty"),
        ("t.gz", b"\x1f\x8b\x08\x00", "cannot read t.gz: "),
        ("t.csv", b"\x28\xb5\x2f\xfd\x00", "t.csv is compressed with Zstandard: decompress it first"),
        ("t.xls", b"\xd0\xcf\x11\xe0\xa1", "it is an old Excel workbook (.xls): save it as .xlsx or CSV"),
        ("t.json", b"", "t.json is empty"),
        ("t.json", b"[]", "t.json contains no rows"),
        ("t.json", b'[{"a": 1, "a": 2}]', "cannot read t.json: two columns are called 'a'"),
        ("t.json", b'[{"a": 1},\n{"a": }]', "cannot read t.json: line 2: "),
        ("t.json", b'{"a": 1}\n{"a"\n', "cannot read t.json: line 2: "),
        ("t.json", b"[1, 2]", "row 1 is not an object with one value per column"),
        ("t.json", b'[{"y": [1, 2]}]', "column 'y' contains lists or records"),
        ("t.parquet", b"PAR1", "cannot read t.parquet: "),
        ("t.xlsx", b"PK\x03\x04", "cannot read t.xlsx: "),
    ],
)
def test_damaged_tables(capsys, name, content, message):
    Path(name).write_bytes(content)
    assert message in refusal(capsys, "fit", "--model", "anb", name, "--class", "y")


def test_a_workbook_that_is_packed_in_an_unknown_way(capsys):
    pd.DataFrame({"a": [1, 2], "y": ["p", "q"]}).to_excel("t.xlsx", index=False)
    content = bytearray(Path("t.xlsx").read_bytes())
    entry = content.rindex(b"PK\x01\x02", 0, content.index(b"[Content_Types].xml", content.index(b"PK\x01\x02")))
    content[entry + 10] = 99  # the method of compression
    Path("t.xlsx").write_bytes(content)
    assert "t.xlsx: it is not a valid workbook (" in refusal(
        capsys, "fit", "--model", "anb", "t.xlsx", "--class", "y"
    )


def test_archives_and_workbooks_with_several_tables(capsys):
    with zipfile.ZipFile("t.zip", "w") as archive:
        archive.writestr("a.csv", "a,y\n")
        archive.writestr("b.csv", "a,y\n")
    assert "t.zip must contain exactly one file, not 2 (a.csv, b.csv)" in refusal(
        capsys, "fit", "--model", "anb", "t.zip", "--class", "y"
    )
    with pd.ExcelWriter("t.xlsx") as workbook:
        pd.DataFrame({"a": [1, 2], "y": ["p", "q"]}).to_excel(workbook, sheet_name="one", index=False)
        pd.DataFrame({"b": [3, 4], "y": ["p", "q"]}).to_excel(workbook, sheet_name="two", index=False)
    assert read("t.xlsx").columns.tolist() == ["a", "y"]
    assert "reading sheet 'one'; use --sheet to choose another ('two')" in capsys.readouterr().err
    assert read("t.xlsx", sheet="two").columns.tolist() == ["b", "y"]
    assert "has no sheet 'three'" in refusal(
        capsys, "fit", "--model", "anb", "t.xlsx", "--class", "y", "--sheet", "three"
    )


def test_row_names_are_left_out_and_said(capsys):
    Path("t.csv").write_text(",a,y\nr1,1,p\nr2,2,q\n")
    assert read("t.csv").columns.tolist() == ["a", "y"]
    assert "t.csv: column 1 has no name and a different value in every row" in capsys.readouterr().err
    Path("t.csv").write_text("a,y,\n1,p,\n2,q,\n")
    assert read("t.csv").columns.tolist() == ["a", "y"]
    assert "t.csv: column 3 has no name and no cells; it is left out" in capsys.readouterr().err
    pd.DataFrame({"a": [1, 2]}, index=pd.Index(["u", "v"], name="who")).to_parquet("t.parquet")
    assert read("t.parquet").columns.tolist() == ["who", "a"]


class TestInterruptedComparison:
    """The lines of finished models are printed, the exit code is 130, and the rest is named."""

    @pytest.fixture(autouse=True)
    def _interrupt(self, monkeypatch):
        def fit(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(anbexact.TANClassifier, "fit", fit)

    def test_text(self, capsys):
        code, out, err = run(capsys, "compare", "--dataset", "monks1", "--models", "NB,TAN,ANB", "--folds", "3")
        assert code == 130
        assert err == "anbexact: error: interrupted; not evaluated: TAN, ANB\n"
        assert "NB refitted" in out
        assert "Lowest log loss: " in out

    @pytest.mark.slow
    def test_json(self, capsys):
        arguments = ["compare", "--dataset", "monks1", "--folds", "3", "--seed", "4", "--json", "--models"]
        code, out, _ = run(capsys, *arguments, "NB,TAN")
        document = json.loads(out)
        assert code == 130
        assert document["unfinished"] == ["TAN"]
        assert [row["model"] for row in document["models"]] == ["NB", "NB refitted"]
        code, out, _ = run(capsys, *arguments, "NB")
        assert document["models"][0]["accuracy"] == json.loads(out)["models"][0]["accuracy"]
        assert json.loads(run(capsys, *arguments, "TAN")[1])["models"] == []

    def test_nothing_finished(self, capsys):
        code, out, _ = run(capsys, "compare", "--dataset", "monks1", "--models", "TAN")
        assert code == 130
        assert out.rstrip().endswith("relearned in every fold")  # nothing but the headings


@pytest.mark.slow
def test_compare_options(capsys):
    table().assign(empty="").to_csv("t.csv", index=False)
    arguments = ["compare", "t.csv", "--class", "answer", "--models", "NB", "--no-refit", "--folds", "3", "--json"]
    code, out, err = run(capsys, *arguments, "--columns", "count,flag", "--text", "count", "--drop", "code")
    assert code == 0, err
    assert json.loads(out)["learned"]["features"] == ["count", "flag"]
    code, out, err = run(capsys, *arguments, "--drop", "empty", "--text", "code", "--missing", "own_state")
    assert code == 0, err
    document = json.loads(out)
    assert document["notes"] == [
        "6 rows have a missing feature: for this package's classifiers, a missing cell is a state of its own. "
        "For the other models, missing cells are imputed"
    ]
    assert document["rows"] == 60
    X, y = read("t.csv", ["code"]).drop(columns=["answer", "empty"]), table()["answer"]
    X["code"] = X["code"].astype("category")  # as --text says, in every fold
    own = {"own": NaiveBayesClassifier(handle_missing="own_state")}
    expected = anbexact.compare.compare(X, y, models=own, folds=3, refit=False).loc["own", "log_loss"]
    assert document["models"][0]["log_loss"] == pytest.approx(expected)
    assert "--drop requires DATA" in refusal(capsys, "compare", "--dataset", "iris", "--drop", "width")


class TestStatesThatLookMissing:
    """What the model knows as a state is that state, whatever else the word means."""

    WRITERS = ("plain.csv", "semicolons.csv", "a.parquet", "a.feather", "a.xlsx", "a.json", "a.jsonl")

    def table(self, word, n=150):
        rng = np.random.default_rng(0)
        job = rng.choice([word, "clerk", "nurse"], n)
        kind = np.where(rng.random(n) < np.where(job == word, 0.85, 0.3), "yes", "no")
        return pd.DataFrame({"job": job, "level": rng.choice([1, 2], n), "last": rng.choice(["a", "b"], n)}), kind

    @pytest.mark.parametrize("word", MISSING_WORDS)
    @pytest.mark.parametrize("least_bytes", [0, 10**12], ids=["in parts", "whole"])
    def test_predict(self, capsys, monkeypatch, word, least_bytes):
        monkeypatch.setattr(streaming, "LEAST_BYTES", least_bytes)
        X, y = self.table(word)
        model = NaiveBayesClassifier(ess=1.0).fit(X, y)
        model.save("m.json")
        for name in self.WRITERS:
            WRITERS[name](X, name)
            code, out, err = run(capsys, "predict", "m.json", name, "--proba")
            assert (code, err) == (0, "")
            got = pd.read_csv(io.StringIO(out))["P(yes)"]
            assert got.tolist() == pytest.approx(model.predict_proba(X)[:, 1].tolist(), abs=1e-12), name

    @pytest.mark.parametrize("words", [(" Private", "clerk"), ("a ", " b "), (" ", "a"), (" NA", "NA"), ("a", " a")])
    @pytest.mark.parametrize("least_bytes", [0, 10**12], ids=["in parts", "whole"])
    def test_blanks_at_the_ends(self, capsys, monkeypatch, words, least_bytes):
        monkeypatch.setattr(streaming, "LEAST_BYTES", least_bytes)
        job = np.repeat(words, 60)
        y = np.where(np.tile(np.arange(60), 2) < np.repeat([50, 10], 60), "yes", "no")
        X = pd.DataFrame({"job": job, "last": np.tile(["a", "b"], 60)})
        model = NaiveBayesClassifier(ess=1.0).fit(X, y)
        model.save("m.json")
        text_tells = {word.strip() for word in words} == {"Private", "clerk"} or words == ("a ", " b ")
        for name in self.WRITERS if text_tells else self.WRITERS[2:]:  # separated text has no blanks after separators
            WRITERS[name](X, name)
            code, out, err = run(capsys, "predict", "m.json", name, "--proba")
            assert (code, err) == (0, "")
            got = pd.read_csv(io.StringIO(out))["P(yes)"]
            assert got.tolist() == pytest.approx(model.predict_proba(X)[:, 1].tolist(), abs=1e-12), name

    def test_explanations_name_the_state(self, capsys):
        X, y = self.table("NA")
        NaiveBayesClassifier(ess=1.0).fit(X, y).save("m.json")
        Path("new.csv").write_text("job,level,last\nNA,1,?\n")
        _, out, _ = run(capsys, "predict", "m.json", "new.csv", "--explain")
        terms = pd.read_csv(io.StringIO(out), keep_default_na=False).set_index("feature")
        assert terms["value"][["job", "level"]].tolist() == terms["state"][["job", "level"]].tolist() == ["NA", "1"]

    @pytest.mark.parametrize("word", ["NA", "?", "N/A", "nan", "null"])
    def test_the_right_value(self, capsys, word):
        """P(yes | job) = (N(job, yes) + 1/6) / (N(job) + 2/6), as the classes have 75 rows each: by hand."""
        n_yes, n_no = {word: 36, "clerk": 20, "nurse": 19}, {word: 6, "clerk": 34, "nurse": 35}
        jobs = [job for counts in (n_yes, n_no) for job, n in counts.items() for _ in range(n)]
        model = NaiveBayesClassifier(ess=1.0).fit(pd.DataFrame({"job": jobs}), ["yes"] * 75 + ["no"] * 75)
        model.save("m.json")
        right = [217 / 254, 121 / 326, 115 / 326]  # .854, .371, .353
        new = pd.DataFrame({"job": [word, "clerk", "nurse"]})
        assert model.predict_proba(new)[:, 1].tolist() == pytest.approx(right, abs=1e-12)
        for name in self.WRITERS:
            WRITERS[name](new, name)
            _, out, err = run(capsys, "predict", "m.json", name, "--proba")
            assert pd.read_csv(io.StringIO(out))["P(yes)"].tolist() == pytest.approx(right, abs=1e-12), name
            assert err == ""

    @pytest.mark.parametrize("word", ["NA", ""])
    def test_report(self, capsys, word):
        X, y = self.table(word)
        NaiveBayesClassifier(ess=1.0).fit(X, y).save("m.json")
        frame = X.assign(**{"class": y})
        reports = []
        for name in ("plain.csv", "a.parquet"):
            WRITERS[name](frame, name)
            code, out, _ = run(capsys, "report", "m.json", name, "--no-validation")
            assert code == 0
            reports.append(out.replace(name, "the table"))
        assert reports[0] == reports[1]

    def test_a_class_that_looks_missing(self, capsys):
        X, y = self.table("clerk2")
        labels = np.where(y == "yes", "NA", "no")
        model = NaiveBayesClassifier(ess=1.0).fit(X, labels)
        model.save("m.json")
        X.assign(**{"class": labels}).to_csv("new.csv", index=False)
        _, _, err = run(capsys, "predict", "m.json", "new.csv")
        assert err == f"anbexact: note: accuracy {model.score(X, labels):.4f} on the 150 rows whose class is given\n"

    def test_other_columns_keep_their_gaps(self, capsys):
        X, y = self.table("NA")
        NaiveBayesClassifier(ess=1.0).fit(X, y).save("m.json")
        Path("new.csv").write_text("job,level,last\n?,NA,null\n")
        _, out, err = run(capsys, "predict", "m.json", "new.csv", "--proba")
        model = anbexact.load("m.json")
        gaps = pd.DataFrame({"job": [None], "level": [None], "last": [None]})
        assert float(out.split(",")[-1]) == pytest.approx(model.predict_proba(gaps)[0, 1])
        assert err == ""


class TestTextThatIsMore:
    """Text that is numbers or ISO dates becomes such; numbers with leading zeros stay text."""

    def table(self, path, n=60):
        k = np.arange(n) * 7 % n
        frame = pd.DataFrame(
            {
                "when": [f"2021-06-{1 + m // 24:02d} {m % 24:02d}:30" for m in k],
                "day": [f"2021-06-{1 + m % 3:02d}" for m in k],
                "zip": [f"{m % 4:05d}" for m in k],
                "blank": [f" {m / 2} " for m in k],
                "kind": np.where(k < 30, "early", "late"),
            }
        )
        frame.to_csv(path, index=False)
        return frame

    def test_fit_and_predict(self, capsys):
        frame = self.table("t.csv")
        code, out, err = run(
            capsys, "fit", "--model", "anb", "t.csv", "--class", "kind", "-o", "m.json", "--discretizer", "median"
        )
        assert code == 0
        assert err == (
            "anbexact: note: column 'zip' contains numbers with leading zeros, such as 00000, and is read as text\n"
        )
        assert "cut points (median): when at 2021-06-02 06:00; blank at 14.75" in out
        model = anbexact.load("m.json")
        assert model.vocabulary_.states["zip"] == ("00000", "00001", "00002", "00003")
        assert list(map(str, model.vocabulary_.states["day"])) == ["2021-06-01", "2021-06-02", "2021-06-03"]
        code, out, err = run(capsys, "predict", "m.json", "t.csv", "--proba")
        assert (code, err) == (0, "anbexact: note: accuracy 1.0000 on the 60 rows whose kind is given\n")
        typed = frame.assign(
            when=pd.to_datetime(frame["when"]), day=pd.to_datetime(frame["day"]), blank=frame["blank"].astype(float)
        )
        proba = model.set_params(handle_unknown="error").predict_proba(typed.drop(columns="kind"))
        assert pd.read_csv(io.StringIO(out))["P(early)"].tolist() == pytest.approx(proba[:, 0].tolist(), abs=1e-12)

    def test_json_shows_cut_points_in_their_units(self, capsys):
        self.table("t.csv")
        _, out, _ = run(
            capsys, "fit", "--model", "anb", "t.csv", "--class", "kind", "--discretizer", "median", "--json"
        )
        assert json.loads(out)["cut_points"] == {"when": ["2021-06-02 06:00"], "blank": [14.75]}

    def test_what_is_no_date_at_prediction(self, capsys):
        frame = self.table("t.csv")
        run(capsys, "fit", "--model", "anb", "t.csv", "--class", "kind", "-o", "m.json")
        frame.assign(when=["soon", *frame["when"][1:]]).to_csv("bad.csv", index=False)
        assert refusal(capsys, "predict", "m.json", "bad.csv") == (
            "bad.csv: column 'when' contained datetimes in fit, but now contains 'soon': pass datetimes, or ISO "
            "text such as "
            "'2021-06-15 12:00'"
        )

    @pytest.mark.parametrize(
        ("cells", "expected"),
        [
            (["1", "02"], ["1", "02"]),
            (["0", "0.5"], [0.0, 0.5]),
            (["-3", "", "07"], ["-3", None, "07"]),
            (["1 ", " 2e3"], [1.0, 2000.0]),
            (["1", "x"], ["1", "x"]),
            (["2021-02-29"], ["2021-02-29"]),
            (["2021-02-28", ""], ["2021-02-28", None]),
            (["1", ".", "2.5"], [1.0, None, 2.5]),
            (["1", " . ", "2"], [1, None, 2]),
            ([".", "."], [".", "."]),
            (["a", "."], ["a", "."]),
            (["2021/2/3", "2021-12-31"], ["2021-02-03", "2021-12-31"]),
            (["2021/02/28 10:30", "2021/3/1 00:00"], ["2021-02-28 10:30:00", "2021-03-01 00:00:00"]),
            (["1/2/2021", "2/1/2021"], ["1/2/2021", "2/1/2021"]),
            (["2021/13/01"], ["2021/13/01"]),
            (["2021/1/123"], ["2021/1/123"]),
            (["2021-01-01 00:00", "2021-01-01 00:00Z"], ["2021-01-01 00:00", "2021-01-01 00:00Z"]),
            (["2021-01-01T02:00+02:00", "2021-01-01T02:00+0100"], ["2021-01-01 00:00:00", "2021-01-01 01:00:00"]),
        ],
    )
    def test_columns(self, cells, expected):
        Path("c.csv").write_text("a,b\n" + "".join(f'"{cell}",x\n' for cell in cells))
        got = read("c.csv")["a"]
        if isinstance(got.dtype, pd.DatetimeTZDtype):
            got = got.dt.tz_convert("UTC").dt.tz_localize(None).astype(str)
        shown = [None if pd.isna(cell) else cell if isinstance(cell, Number) else str(cell) for cell in got]
        assert shown == expected

    def test_columns_that_are_to_stay_text(self):
        Path("c.csv").write_text("a,b\n2021-01-01,1\n2021-01-02,2\n")
        assert read("c.csv", ["a", "b"]).to_numpy().tolist() == [["2021-01-01", "1"], ["2021-01-02", "2"]]

    @pytest.mark.parametrize("name", ["plain.csv", "quoted.csv", "semicolons.csv", "a.json", "a.parquet", "a.xlsx"])
    def test_numbers_in_other_notations_and_clock_times(self, capsys, name):
        """The model that Python learns from the same text, and its answers."""
        frame = self.german()
        WRITERS[name](frame, name)
        assert run(capsys, "fit", name, "--class", "kind", "--model", "tan", "-o", "m.json")[0] == 0
        model = anbexact.load("m.json")
        text = frame.drop(columns="kind")
        expected = TANClassifier(decimal=",").fit(text, frame["kind"])
        assert {n: cuts.tolist() for n, cuts in model.cut_points_.items()} == {
            n: cuts.tolist() for n, cuts in expected.cut_points_.items()
        }
        assert {quantity.kind for quantity in model.vocabulary_.quantities.values()} == {"decimal", "time"}
        _, out, _ = run(capsys, "predict", "m.json", name, "--proba")
        proba = pd.read_csv(io.StringIO(out))["P(yes)"]
        assert proba.tolist() == pytest.approx(expected.predict_proba(text)[:, 1].tolist(), abs=1e-12)

    def german(self, n=300):
        rng = np.random.default_rng(0)
        income, share, pieces = (
            rng.lognormal(7.5, 1, n).round(2),
            rng.uniform(0, 30, n).round(1),
            rng.integers(100, 9999, n),
        )
        clock = rng.integers(0, 1440, n)
        swap = str.maketrans(",.", ".,")
        return pd.DataFrame(
            {
                "income": [f"{v:,.2f}".translate(swap) for v in income],
                "share": [f"{v} %".translate(swap) for v in share],
                "pieces": [f"{k:,}".translate(swap) for k in pieces],
                "clock": [f"{k // 60:02d}:{k % 60:02d}" for k in clock],
                "kind": np.where(np.log(income) + share / 10 + pieces / 5000 > 10.1, "yes", "no"),
            }
        )

    @pytest.mark.parametrize("least_bytes", [0, 10**12], ids=["in parts", "whole"])
    def test_the_table_to_predict_may_hold_numbers(self, capsys, monkeypatch, least_bytes):
        monkeypatch.setattr(streaming, "LEAST_BYTES", least_bytes)
        frame = self.german()
        write_csv(frame, "t.csv", sep=";")
        run(capsys, "fit", "t.csv", "--class", "kind", "--model", "tan", "-o", "m.json")
        _, expected, _ = run(capsys, "predict", "m.json", "t.csv", "--proba")
        swap = str.maketrans(",.", ".,")
        numbers = frame.assign(
            **{
                name: [float(cell.removesuffix(" %").translate(swap).replace(",", "")) for cell in frame[name]]
                for name in ("income", "share", "pieces")
            }
        )
        numbers.to_csv("numbers.csv", index=False)
        numbers.to_parquet("numbers.parquet")
        for name in ("numbers.csv", "numbers.parquet"):
            code, out, err = run(capsys, "predict", "m.json", name, "--proba")
            assert (code, out) == (0, expected)
            assert ("are read with another decimal mark than the model's" in err) == name.endswith("csv")
            assert "summed out" not in err

    def test_a_model_of_numbers_reads_them_as_text(self, capsys):
        X, y = pd.DataFrame({"amount": np.arange(0.5, 100.5)}), ["a", "b"] * 50
        model = NaiveBayesClassifier(discretizer="median").fit(X * 100, y)
        model.save("m.json")
        Path("new.csv").write_text('amount\n"1,234.5"\n9800\n')
        _, out, err = run(capsys, "predict", "m.json", "new.csv", "--proba")
        expected = model.predict_proba(pd.DataFrame({"amount": [1234.5, 9800.0]}))[:, 1]
        assert pd.read_csv(io.StringIO(out))["P(b)"].tolist() == pytest.approx(expected.tolist())
        assert err == ""

    def test_odd_cells_among_them(self, capsys):
        frame = self.german()
        write_csv(frame, "t.csv", sep=";")
        run(capsys, "fit", "t.csv", "--class", "kind", "--model", "tan", "-o", "m.json")
        frame.loc[[3, 5], "income"] = ["soon", "-"]
        write_csv(frame, "odd.csv", sep=";")
        _, _, err = run(capsys, "predict", "m.json", "odd.csv")
        assert "column 'income': 1 cell contains an unknown state (first: 'soon') and is summed out" in err

    def test_what_may_be_thousands_or_decimals(self, capsys):
        rng = np.random.default_rng(0)
        amount = rng.integers(1000, 99999, 200)
        frame = pd.DataFrame(
            {
                "amount": [f"{k:,}" for k in amount],
                "x": rng.normal(size=200),
                "kind": np.where(amount > 50000, "b", "a"),
            }
        )
        frame.to_csv("t.csv", index=False)
        fit = ("fit", "t.csv", "--class", "kind", "--model", "nb", "-o", "m.json")
        assert "pass --decimal . or --decimal ,)" in run(capsys, *fit)[2]
        for mark, scale in ((".", 1), (",", 1000)):
            assert run(capsys, *fit, "--decimal", mark)[0] == 0
            cuts = anbexact.load("m.json").cut_points_["amount"] * scale
            assert np.abs(cuts - 50000).min() < 1500
            assert "accuracy 1.0000" in run(capsys, "predict", "m.json", "t.csv", "--decimal", mark)[2]
            code, out, _ = run(
                capsys,
                "compare",
                "t.csv",
                "--class",
                "kind",
                "--decimal",
                mark,
                "--models",
                "NB",
                "--no-refit",
                "--json",
            )
            assert code == 0
            assert json.loads(out)["models"][0]["accuracy"] > 0.95

    def test_columns_of_numbers_that_are_to_stay_text(self, capsys):
        frame = self.german()
        write_csv(frame.assign(share=[f"{k % 15} %" for k in range(len(frame))]), "t.csv")
        run(capsys, "fit", "--model", "anb", "t.csv", "--class", "kind", "--text", "share", "-o", "m.json")
        model = anbexact.load("m.json")
        assert "share" in model.vocabulary_.groups
        assert run(capsys, "report", "m.json", "t.csv", "--folds", "2", "-o", "r.html")[0] == 0
