"""What writes files: the calls and commands that are killed, and that run out of disk."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

import anbexact
from anbexact import TANClassifier
from anbexact.adapters import to_file, to_onnx, to_pmml, to_python
from anbexact.cli import main
from anbexact.datasets import load_monks
from anbexact.report import panel

OLD = b"the file that was there before\n"


@dataclass(frozen=True)
class Writer:
    """What writes one file: the file's extension, the call, and how a complete file is read.

    Files that say when they were written are compared by what is read from them, others by their bytes.
    """

    suffix: str
    write: Callable[[Path], Any]
    read: Callable[[Path], Any] = Path.read_bytes


@cache
def table() -> pd.DataFrame:
    """Return a small table with its class."""
    X, y = load_monks(1)
    return pd.DataFrame(X).assign(monk=y.to_numpy())


@cache
def fitted() -> TANClassifier:
    """Return a classifier of the small table."""
    frame = table()
    return TANClassifier(ess=1.0, n_jobs=1).fit(frame.drop(columns="monk"), frame["monk"])


def prepare(folder: Path) -> None:
    """Write what the commands read."""
    table().to_csv(folder / "rows.csv", index=False)
    fitted().save(folder / "model.json")


def command(*arguments: str) -> Callable[[Path], None]:
    """Return a call of the command line, with the path of its output after these arguments.

    Raises
    ------
    OSError
        If the command fails; what it says is on standard error.
    """

    def write(path: Path) -> None:
        inputs = [argument.format(folder=path.parent.parent) for argument in arguments]
        if (code := main([*inputs, str(path)])) != 0:
            raise OSError(f"exit status {code}")

    return write


UNLIMITED = ("--time-limit", "none")
"""Options of a comparison that ends on a busy machine, too."""
PREDICT = ("predict", "{folder}/model.json", "{folder}/rows.csv", "--proba", "-o")
COMPARE = (
    *("compare", "{folder}/rows.csv", "--class", "monk", "--models", "NB", "--folds", "2", "--no-refit"),
    *(*UNLIMITED, "-o"),
)
REPORT = ("report", "{folder}/model.json", "{folder}/rows.csv", "--no-validation", "-o")


def _predictions(path: Path) -> pd.DataFrame:
    """Return what a saved classifier predicts; its file holds the seconds that its search took."""
    return pd.DataFrame(anbexact.load(path).predict_proba(table().drop(columns="monk")))


def _measured(path: Path) -> pd.DataFrame:
    """Return what a comparison has measured, without the seconds that it took."""
    return pd.read_csv(path).drop(columns=["fit_seconds", "predict_seconds"])


WRITERS = {
    "save": Writer(".json", lambda path: fitted().save(path)),
    "fit -o": Writer(
        ".json", command("fit", "{folder}/rows.csv", "--class", "monk", "--model", "nb", "-o"), _predictions
    ),
    "report -o .html": Writer(".html", command(*REPORT)),
    "report -o .md": Writer(".md", command(*REPORT)),
    "panel": Writer(".html", lambda path: panel(fitted(), path)),
    "to_onnx": Writer(".onnx", lambda path: to_onnx(fitted(), path)),
    "to_pmml": Writer(".pmml", lambda path: to_pmml(fitted(), path)),
    "to_python": Writer(".py", lambda path: to_python(fitted(), path)),
    "to_file": Writer(".bif", lambda path: to_file(fitted(), path)),
    **{f"predict -o {suffix}": Writer(suffix, command(*PREDICT)) for suffix in (".csv", ".tsv", ".json", ".jsonl")},
    "compare -o .csv": Writer(".csv", command(*COMPARE), _measured),
    "predict -o .csv.gz": Writer(".csv.gz", command(*PREDICT), pd.read_csv),
    "predict -o .parquet": Writer(".parquet", command(*PREDICT), pd.read_parquet),
    "predict -o .feather": Writer(".feather", command(*PREDICT), pd.read_feather),
    "predict -o .xlsx": Writer(".xlsx", command(*PREDICT), pd.read_excel),
}
"""The writers by name."""


def written(writer: Writer, path: Path) -> Any:
    """Return what a writer writes where nothing is in its way."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")
        writer.write(path)
    return writer.read(path)


def state(writer: Writer, path: Path, complete: Any) -> str:
    """Return what is in the place of a file: "absent", "old", "new", or how it is neither."""
    if not path.exists():
        return "absent"
    if path.read_bytes() == OLD:
        return "old"
    try:
        found = writer.read(path)
        same = found.equals(complete) if isinstance(found, pd.DataFrame) else found == complete
    except Exception as error:
        return f"unreadable ({type(error).__name__}), {path.stat().st_size} bytes"
    return "new" if same else f"neither old nor new, {path.stat().st_size} bytes"
