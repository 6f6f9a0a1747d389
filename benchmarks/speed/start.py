"""Starts: help and first line of the command, imports against scikit-learn's, the first fit of a process.

Target: the help in 0.5 s, the first line of ``anbexact fit`` in 2 s, an import of a classifier 1.5 times as long as
scikit-learn's, a first fit of 2 s, and of 20 s with an empty kernel cache. Takes two minutes.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from anbexact.datasets import load_tic_tac_toe
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import by_turns

FIRST_FIT = """
import time
from anbexact import ANBClassifier
from anbexact.datasets import load_tic_tac_toe
X, y = load_tic_tac_toe()
began = time.perf_counter()
ANBClassifier().fit(X, y).predict_proba(X)
print(time.perf_counter() - began)
"""


def printed(code: str, environment: dict[str, str] | None = None) -> float:
    """Run a program in a new process; return the number it prints."""
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(result.stdout)


def importing(module: str) -> float:
    """Return how long an import takes."""
    return printed(f"import time; began = time.perf_counter(); import {module}; print(time.perf_counter() - began)")


def first_line(*arguments: str) -> float:
    """Return how long the command takes until it has printed a line; it is ended then."""
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "anbexact", *arguments], stdout=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None
        line = command.stdout.readline()
        seconds = time.perf_counter() - began
        command.kill()
    if not line:
        raise RuntimeError(f"anbexact {' '.join(arguments)} printed nothing")
    return seconds


def main(run: Run) -> None:
    """Time imports in turn, then first fits; the smoke run does without an empty cache."""
    repeats = 1 if run.smoke else 7
    theirs, ours = by_turns(
        lambda: importing("sklearn.naive_bayes"), lambda: importing("anbexact.classifiers"), repeats=repeats
    )
    with tempfile.TemporaryDirectory() as folder:
        table = str(Path(folder) / "table.csv")
        X, y = load_tic_tac_toe()
        X.assign(won=y).to_csv(table, index=False)
        of_help = median(first_line("--help") for _ in range(repeats))
        of_fit = median(first_line("fit", table, "--class", "won") for _ in range(repeats))
    rows = [
        {"what": "anbexact --help", "seconds": of_help, "target": "0.5 s"},
        {"what": "anbexact fit, first line", "seconds": of_fit, "target": "2 s"},
        {"what": "import anbexact", "seconds": median(importing("anbexact") for _ in range(repeats))},
        {"what": "import sklearn.naive_bayes", "seconds": median(theirs)},
        {"what": "import anbexact.classifiers", "seconds": median(ours), "target": "1.5 x"},
        {"what": "ratio of the imports", "seconds": median(b / a for a, b in zip(theirs, ours, strict=True))},
    ]
    if run.smoke:
        rows.append({"what": "first fit", "seconds": printed(FIRST_FIT)})
        show(rows)
        return
    with tempfile.TemporaryDirectory() as folder:
        cache = {"NUMBA_CACHE_DIR": folder}
        rows.append({"what": "first fit, empty kernel cache", "seconds": printed(FIRST_FIT, cache), "target": "20 s"})
        warm = median(printed(FIRST_FIT, cache) for _ in range(5))
        rows.append({"what": "first fit, warm kernel cache", "seconds": warm, "target": "2 s"})
    show(rows)
