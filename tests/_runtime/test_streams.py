"""Programs without a console, and outputs of a narrow encoding: nothing fails, and nothing is told apart no more."""

import io
import json
import sys

import pandas as pd
import pytest

import anbexact
from anbexact._runtime.progress import is_watched, progress_line
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.cli import main

X = pd.DataFrame({"a": ["x", "y", "x", "y"] * 10, "b": ["u", "v", "v", "v"] * 10})
Y = pd.Series(["p", "q", "q", "p"] * 10, name="c")


class Writes:
    """What a program with windows puts in the place of a console."""

    def __init__(self):
        self.said = ""

    def write(self, text):
        self.said += text


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("stream", [lambda: None, Writes, closed], ids=["none", "writes", "closed"])
@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name != "FixedStructureClassifier"])
def test_every_classifier_is_fitted_without_a_console(name, stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setattr(sys, "stdout", stream())
    of_budget = {"time_budget": 1e-9} if name == "AutoClassifier" else {}
    fitted = CLASSIFIERS[name].estimator(**of_budget).fit(X, Y)
    assert len(fitted.predict(X)) == len(X)


def test_progress_goes_where_it_can_be_written(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(sys, "stdout", Writes())
    for stream in (None, closed()):
        progress_line(stream)("search", 1.0)
        assert not is_watched(stream)
    assert sys.stdout.said == ""
    progress_line(sys.stdout)("search", 1.0)
    assert sys.stdout.said == "search: done\n"


def printed(monkeypatch, encoding, *arguments):
    """Return exit code, and what a run of the command writes to pipes of an encoding."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict") for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    code = main(list(map(str, arguments)))
    assert (out.encoding, out.errors) == (encoding, "strict"), "as it was"
    return code, out.buffer.getvalue(), err.buffer.getvalue()


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table with names and states that no narrow encoding has, one of them beyond the basic plane."""
    monkeypatch.chdir(tmp_path)
    rows = X.rename(columns={"a": "Größe ł"}).replace({"x": "Łódź", "y": "мир", "v": "😀"})
    rows.assign(Ř=Y.replace({"p": "naïve ł", "q": "да 😀"})).to_csv("data.csv", index=False)
    anbexact.load  # noqa: B018  # imported before the streams change
    return tmp_path


FIT = ("fit", "data.csv", "--class", "Ř", "--model", "nb", "-o", "model.json")
COMMANDS = {
    "fit": FIT,
    "compare": ("compare", "data.csv", "--class", "Ř", "--models", "NB", "--folds", "2"),
    "report": ("report", "model.json", "data.csv", "--no-validation"),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8", "utf-16"])
class TestNarrowOutputs:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_json_loses_nothing(self, command, encoding, table, monkeypatch):
        assert printed(monkeypatch, encoding, *FIT)[0] == 0
        code, out, _ = printed(monkeypatch, encoding, *COMMANDS[command], "--json")
        assert code == 0
        found = json.dumps(json.loads(out.decode(encoding)), ensure_ascii=False)
        assert all(text in found for text in ("naïve ł", "да 😀"))

    @pytest.mark.parametrize("command", ["fit", "compare"])
    def test_text_says_everything(self, command, encoding, table, monkeypatch):
        assert printed(monkeypatch, encoding, *FIT)[0] == 0
        code, out, _ = printed(monkeypatch, encoding, *COMMANDS[command])
        assert code == 0
        assert ("ł" if encoding.startswith("utf") else r"\u0142") in out.decode(encoding)

    @pytest.mark.parametrize("arguments", [(), ("--proba",), ("--explain",), ("--keep",)], ids=str)
    def test_tables_are_what_files_contain(self, arguments, encoding, table, monkeypatch):
        assert printed(monkeypatch, encoding, *FIT)[0] == 0
        code, out, _ = printed(monkeypatch, encoding, "predict", "model.json", "data.csv", *arguments)
        assert code == 0
        assert (
            printed(monkeypatch, encoding, "predict", "model.json", "data.csv", *arguments, "-o", "out.csv")[0] == 0
        )
        written = (table / "out.csv").read_text("utf-8")
        assert out.decode("utf-16" if encoding == "utf-16" else "utf-8") == written
        assert "ł" in written

    def test_documents_are_what_files_contain(self, encoding, table, monkeypatch):
        assert printed(monkeypatch, encoding, *FIT)[0] == 0
        code, out, _ = printed(monkeypatch, encoding, *COMMANDS["report"], "--markdown")
        assert code == 0
        assert "naïve ł" in out.decode("utf-16" if encoding == "utf-16" else "utf-8")

    def test_what_is_wrong_is_said(self, encoding, table, monkeypatch):
        code, _, err = printed(monkeypatch, encoding, "fit", "--model", "anb", "data.csv", "--class", "Ž")
        assert code == 2
        assert ("Ž" if encoding.startswith("utf") else r"\u") in err.decode(encoding) or encoding == "cp1252"


def test_the_command_works_without_a_console(table, monkeypatch):
    monkeypatch.chdir(table)
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert main(FIT) == 0
    assert main(["predict", "model.json", "data.csv", "-o", "out.csv"]) == 0
    assert main(["predict", "model.json", "data.csv"]) == 0
    assert main(["predict", "model.json", "-"]) == 2
    assert main(["--help"]) == 0
    assert main(["fit"]) == 2
    assert (sys.stdin, sys.stdout, sys.stderr) == (None, None, None)
    assert len(pd.read_csv("out.csv")) == len(X)
