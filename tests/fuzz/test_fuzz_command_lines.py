"""Command lines from the grammar of the options: they do what they say, or one line says what is wrong.

The options are those of the parser itself, with values that fit and values that do not. A command ends with exit code
0, and what it wrote can be read; or with 1 or 2 and one line of an error, which is never one that only a programmer
would understand. (Code 1 with the name of a Python exception is how the command shows errors that nobody foresaw.)
"""

import argparse
import json
import os
import re
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fuzzing import Record, cases, rngs
from hypothesis import given
from hypothesis import strategies as st

import anbexact
from anbexact.adapters import to_file
from anbexact.classifiers import NaiveBayesClassifier, PooledClassifier, RefittedClassifier, TANClassifier
from anbexact.cli import _parser, main

COMMANDS = [
    *["fit"] * 8,
    *["predict"] * 6,
    *["sample", "convert", "scorecard"] * 3,
    *["report", "panel", "compare", "nomogram", "", "fitt"],
]
TABLES = ["t.csv"] * 8 + ["few.csv", "one.csv", "empty.csv", "nowhere.csv", "m.json", "."]
MODELS = ["m.json"] * 3 + ["tan.json", "refit.json", "pool.json", "n.bif", "t.csv", "nowhere.json", "broken.json"]
OUTPUTS = [
    "out.json",
    "out.csv",
    "out.html",
    "out.bif",
    "out.xdsl",
    "out.parquet",
    "out",
    "nowhere/out.json",
    "",
    ".",
]
COLUMNS = ["risk", "age", "kind", "visits", "w", "no such", "", "age,kind", "RISK"]
NUMBERS = ["1", "2", "0", "-1", "0.5", "1e-9", "nan", "inf", "x", "", "1,2", "auto", "1e400", "٣", "3"]
ANYTHING = [
    *COLUMNS,
    *NUMBERS,
    "NB",
    "NB,TAN",
    "a->b",
    "age->kind",
    "kind=a",
    "risk=low",
    "low",
    "low:2",
    "é\udce9",
    "-",
]
UNFORESEEN = re.compile(r"anbexact: error: [A-Za-z_.]*(?:Error|Exception|Warning|Interrupt|Exit|Iteration): ")
READERS = {"out.json": pd.read_json, "out.csv": pd.read_csv, "out.parquet": pd.read_parquet}
"""What reads the files with tables."""
NEVER = {"--workers", "--help", "--model"}
"""Options that are given in another way, or not at all: more processes take longer than all the rest."""


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    """Return a folder with tables and models."""
    folder = tmp_path_factory.mktemp("commands")
    rng, n = np.random.default_rng(1), 30
    risk = rng.choice(["low", "high"], n)
    frame = pd.DataFrame(
        {
            "age": (rng.normal(size=n) + (risk == "low")).round(1),
            "kind": rng.choice(["a", "b", None], n),
            "visits": rng.integers(0, 3, n),
            "w": rng.integers(0, 3, n),
            "risk": risk,
        }
    )
    frame.to_csv(folder / "t.csv", index=False)
    frame[:3].to_csv(folder / "few.csv", index=False)
    frame[["risk"]].to_csv(folder / "one.csv", index=False)
    (folder / "empty.csv").write_text("age,kind,visits,w,risk\n")
    X, y = frame[["age", "kind", "visits"]], frame["risk"]
    NaiveBayesClassifier(ess=1.0).fit(X, y).save(folder / "m.json")
    tan = TANClassifier(ess=1.0, handle_missing="own_state").fit(X, y)
    tan.save(folder / "tan.json")
    to_file(tan, folder / "n.bif")
    RefittedClassifier(NaiveBayesClassifier(ess=1.0), l2=1.0).fit(X, y).save(folder / "refit.json")
    PooledClassifier([NaiveBayesClassifier(ess=1.0), TANClassifier(ess=1.0)], ridge=1.0, folds=2).fit(X, y).save(
        folder / "pool.json"
    )
    (folder / "broken.json").write_text((folder / "m.json").read_text()[:300])
    return folder


@pytest.fixture(scope="module", name="record")
def _record():
    record = Record("command lines")
    yield record
    record.write()


def options():
    """Return the options of every command, by its name."""
    (commands,) = [action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction)]
    return {
        name: [
            action for action in parser._actions if action.option_strings and action.option_strings[-1] not in NEVER
        ]
        for name, parser in commands.choices.items()
    }


OPTIONS = options()


def value_of(rng, action):
    """Return a value of an option, as a rule one of the kind that it takes."""
    if rng.random() < 0.1:
        return rng.choice(ANYTHING)
    if action.choices is not None:
        return str(rng.choice(list(action.choices)))
    if action.dest == "output":
        return rng.choice(OUTPUTS)
    if action.dest in ("class_name", "weights", "counts", "drop", "columns", "text", "id"):
        return rng.choice(COLUMNS)
    return rng.choice(ANYTHING if action.type is None else NUMBERS)


@st.composite
def command_lines(draw):
    """Command lines: a command, its files, and some options with values."""
    rng = draw(rngs)
    command = rng.choice(COMMANDS)
    arguments = [command] if command else []
    files = {
        "fit": [TABLES],
        "predict": [MODELS, TABLES],
        "sample": [MODELS],
        "convert": [MODELS, OUTPUTS],
        "report": [MODELS, TABLES],
        "panel": [MODELS],
        "scorecard": [rng.choice([MODELS, TABLES])],
        "nomogram": [MODELS],
        "compare": [TABLES],
    }
    arguments += [rng.choice(own) for own in files.get(command, [])]
    if command in ("fit", "compare", "scorecard") and rng.random() < 0.95:
        arguments += ["--class", "risk"]
    arguments += {
        "fit": ["--model", rng.choice(["nb", "nb", "tan", "aode", "kdb", "ckg", "fsanb", "anb", "no"])],
        "panel": ["--no-open"],
        "compare": ["--models", "NB", "--folds", "2", "--no-refit"],
        "report": ["--no-validation"],
        "scorecard": ["--time-limit", "1"],
        "sample": ["-n", "3"],
    }.get(command, [])
    for action in rng.sample(OPTIONS.get(command, []), min(draw(st.integers(0, 4)), len(OPTIONS.get(command, [])))):
        arguments.append(rng.choice(action.option_strings))
        if action.nargs != 0:
            arguments.append(value_of(rng, action))
    if rng.random() < 0.05:
        arguments.insert(rng.randint(0, len(arguments)), rng.choice([*ANYTHING, "--", "--no-such", "-q"]))
    return arguments


def run(arguments):
    """Return the exit code, standard output and standard error of a command."""
    out, err = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return code, *(stream.buffer.getvalue().decode("utf-8") for stream in (out, err))


def assert_results(arguments, out, folder):
    """What a command wrote or printed can be read."""
    if "-h" in arguments or "--help" in arguments or "--version" in arguments:
        return
    if "--json" in arguments:
        json.loads(out)
    if arguments[0] == "fit" and (folder / "out.json").exists():
        assert anbexact.load(folder / "out.json").classes_.tolist() == ["high", "low"]
    for name, read in READERS.items():
        if arguments[0] in ("predict", "sample", "compare") and (folder / name).exists():
            assert len(read(folder / name))
    if arguments[0] == "predict" and out and "--explain" not in arguments:
        rows = {"t.csv": 30, "few.csv": 3}
        assert len(pd.read_csv(pd.io.common.StringIO(out))) in rows.values()


@cases(350)
@given(arguments=command_lines())
def test_command_lines(record, folder, arguments):
    os.chdir(folder)
    for output in Path().glob("out*"):
        output.unlink()
    with record.case() as outcome:
        code, out, err = run(arguments)
        *notes, last = err.splitlines() or [""]
        if code:
            assert code in (1, 2), arguments
            assert last.startswith("anbexact: error: "), (arguments, err)
            assert not UNFORESEEN.match(last), (arguments, last)
        else:
            notes = err.splitlines()
            assert_results(arguments, out, folder)
        assert all(note.startswith("anbexact: note: ") for note in notes), (arguments, err)
        outcome.append("refused" if code else "accepted")
