"""The commands of pages, help texts, docstrings and examples: they run, in their order, and do what the text says."""

import gzip
import os
import re
import shlex
import subprocess
import sys
import webbrowser
from contextlib import ExitStack, redirect_stdout
from functools import cache
from io import BytesIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from instructions import ROOT, command_lines, command_spans, files, texts_with_commands

from anbexact import AutoClassifier
from anbexact.cli import COMMANDS, compare, main
from anbexact.cli.fit_options import PARAMETER_NAMES
from anbexact.cli.messages import OPTIONS

PAGE = (ROOT / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")
FILES = {
    "data.csv": "age a b postcode NAME",
    "data.csv.gz": "age a b postcode NAME",
    "data.xlsx": "id name age a b postcode NAME",
    "new.csv": "patient age a b postcode",
    "new.csv.gz": "patient age a b postcode",
    "new.parquet": "patient age a b postcode",
    "rows.csv": "age a b postcode",
    "table.csv": "age smoker outcome",
    "DATA": "age a b postcode NAME",
    "DATA.csv": "age a b postcode NAME",
    "DATA.xlsx": "id age a b postcode NAME",
    "NEW.csv": "patient age a b postcode",
}
"""Files that readers have, with their columns; ``NAME`` and ``outcome`` are classes."""
CLASSES = {"docs/guides/report.md": ["Clinton", "Dole"]}
"""The classes in these files, where they are not ill and well."""
LEARNED = "anbexact fit data.csv --class NAME --model nb -o model.json"
"""What made the model that a text without such a command begins with."""
NOT_RUN = {
    "anbexact compare": "compares seven models on 958 rows, which test_cli.py does",
    "anbexact fit DATA --class NAME --model pool -o model.json": "learns a pool, which takes many seconds",
    'anbexact compare DATA --class NAME --models "NB smooth,TAN smooth,pool"': "learns pools, which takes a minute",
    "anbexact compare patients.csv --class outcome --drop id --text ward --models NB,TAN --folds 2 --workers 2": (
        "starts processes, which test_cli.py does"
    ),
}
"""Commands that are only parsed, with the reason."""
QUICK = {"docs/guides/large-tables.md", "docs/guides/logit.md", "examples/rest_scorer.py"}
"""Texts whose commands take less than a second."""


@pytest.fixture(autouse=True)
def short_budget(monkeypatch):
    """Let commands without ``--model`` learn a single model, not as many as half a minute allows."""
    monkeypatch.setattr(AutoClassifier, "_seconds", 1e-9)


def column(name, y, classes, rng):
    """Return a column of a file that readers have; ``y`` are the positions of the classes."""
    n = len(y)
    if name in ("id", "patient"):
        return np.arange(1000, 1000 + n)
    if name == "name":
        return [f"Person {k}" for k in range(n)]
    if name == "postcode":
        return rng.choice([8001, 8002, 8610], n)
    if name == "age":
        return np.round(40 + 20 * y + rng.normal(0, 12, n), 1)
    if name == "smoker":
        return np.where(rng.random(n) < 0.3 + 0.4 * y, "yes", "no")
    return np.array(classes)[y] if name in ("NAME", "outcome") else (y + rng.integers(0, 2, n)) % 3


def provide(name, classes, n=60):
    """Write a file that readers have."""
    path = Path(name)
    if name == "costs.csv":
        costs = pd.DataFrame({"treat": [0, 1], "wait": [5, 0]}, index=pd.Index(classes, name="NAME"))
        costs.to_csv(path)
    elif name == "model.json":
        run(LEARNED, classes)
    elif name in FILES:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, n)
        frame = pd.DataFrame({name: column(name, y, classes, rng) for name in FILES[name].split()})
        if path.suffix == ".xlsx":
            frame.to_excel(path, index=False)
        elif path.suffix == ".parquet":
            frame.to_parquet(path)
        else:
            text = frame.to_csv(index=False).encode()
            path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def shell(command):
    """Return what other commands of a line print, such as ``cat``."""
    return subprocess.run(["bash", "-c", command], capture_output=True, check=True).stdout


def run(line, classes):
    """Run a line as a shell does, but anbexact in this process; assert that it succeeds."""
    for name in re.findall(r"(?<!-o )(?<!--output )\b[\w.]+", line):
        if not Path(name).exists():
            provide(name, classes)
    before, _, command = line.rpartition("| ")
    with ExitStack() as stack:

        def piped(match):
            reading, writing = os.pipe()
            stack.callback(os.close, reading)
            os.write(writing, shell(match[1]))
            os.close(writing)
            return f"/dev/fd/{reading}"

        words = shlex.split(re.sub(r"<\(([^)]*)\)", piped, command))
        if ">" in words:
            *words, _, target = words
            stack.enter_context(redirect_stdout(stack.enter_context(Path(target).open("w", encoding="utf-8"))))
        stack.enter_context(patch.object(sys, "stdin", TextIOWrapper(BytesIO(shell(before) if before else b""))))
        assert main(words[1:]) == 0, line


@cache
def scripts():
    """Return the commands of every text that has some, in their order; the help texts are one text."""
    order = ["anbexact.cli", *(f"anbexact.cli.{name}" for name in COMMANDS)]
    found = {}
    for where, text in texts_with_commands().items():
        module = where.partition(",")[0]
        whole = filter(is_whole, command_spans(text))
        for line in [*command_lines(text), *whole]:
            found.setdefault(module, []).append(line)
    of_help = [line for module in order for line in found.pop(module, [])]
    return {where: list(dict.fromkeys(lines)) for where, lines in {"help texts": of_help, **found}.items()}


def is_whole(command):
    """Whether a command in the text has all that it needs."""
    needed = {"fit": "--class", "compare": ""}
    return needed.get(command.split()[1], "model.json") in command


def indented(text):
    """Return the indented blocks of a page, as text without the indent."""
    blocks = re.findall(r"(?:^    .*\n)+", text, flags=re.MULTILINE)
    return [re.sub("^    ", "", block, flags=re.MULTILINE) for block in blocks]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """Change to a folder for what commands write; pages are opened nowhere, and comparisons have two folds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda *_: True)
    monkeypatch.setattr(compare, "FOLDS", 2)


def write_shown_files(where):
    """Write the files whose content a page shows."""
    for name, content in re.findall(r"<!-- file: (\S+) -->\n\n((?:    .*\n)+)", files().get(where, "")):
        Path(name).write_text(indented(content)[0], encoding="utf-8")


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize(
    "where", [where if where in QUICK else pytest.param(where, marks=pytest.mark.slow) for where in scripts()]
)
def test_commands(where):
    """All commands of a text, one after the other in one folder."""
    write_shown_files(where)
    for line in scripts()[where]:
        if line not in NOT_RUN:
            run(line, CLASSES.get(where, ["ill", "well"]))


def test_which_commands_are_run():
    lines = {line for of_text in scripts().values() for line in of_text}
    assert len(lines) > 55
    assert set(NOT_RUN) <= lines
    assert set(scripts()) >= QUICK


@pytest.mark.usefixtures("workplace")
def test_what_the_page_on_the_command_line_shows(capsys):
    write_shown_files("docs/guides/command-line.md")
    for line in command_lines(PAGE):
        if line.startswith(("anbexact fit patients.csv", "anbexact predict")):
            run(line, ["recovered", "relapsed"])
    out, err = capsys.readouterr()
    assert "patients.csv: numbers such as 1,5 are read with a decimal comma" in err
    assert "ignoring the column 'room', not used by model.json" in err
    assert "column 'age': 1 cell contains an unknown state (first: 58) and is summed out" in err
    header = next(block.strip() for block in indented(PAGE) if block.startswith("id,predicted"))
    lines = out.splitlines()
    assert [line.split(",")[0] for line in lines[lines.index(header) + 1 :][:2]] == ["0201", "0202"]
    assert Path("answers.xlsx").read_bytes().startswith(b"PK")


def test_the_page_names_all_options_of_models():
    for name in (*PARAMETER_NAMES, "handle_missing", "missing_class", "handle_unknown"):
        assert f"`{OPTIONS[name]}`" in PAGE, name


def test_the_help_lists_models(capsys):
    assert main(["fit", "--help"]) == 0
    out = capsys.readouterr().out
    assert "models:\n  nb            naive Bayes (NB)" in out
    assert "--max-parents" in out
