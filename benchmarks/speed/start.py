"""Import time against scikit-learn's, and the first fit of a process with a warm and an empty kernel cache.

Target: an import 1.5 times as long as scikit-learn's, a first fit of 2 s, and of 20 s with an empty cache. Takes a
minute and a half.
"""

import os
import subprocess
import sys
import tempfile
from statistics import median

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


def main(run: Run) -> None:
    """Time imports in turn, then first fits; the smoke run does without an empty cache."""
    theirs, ours = by_turns(
        lambda: importing("sklearn.naive_bayes"), lambda: importing("anbexact"), repeats=1 if run.smoke else 7
    )
    rows = [
        {"what": "import sklearn.naive_bayes", "seconds": median(theirs)},
        {"what": "import anbexact", "seconds": median(ours), "target": "1.5 x"},
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
