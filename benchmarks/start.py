"""Import time against scikit-learn's, and the first fit of a process with a warm and an empty kernel cache."""

import os
import subprocess
import sys
import tempfile
from statistics import median

FIRST_FIT = """
import time
from anbexact import ANBClassifier
from anbexact.datasets import load_tic_tac_toe
X, y = load_tic_tac_toe()
began = time.perf_counter()
ANBClassifier().fit(X, y).predict_proba(X)
print(time.perf_counter() - began)
"""


def timed(code: str, environment: dict[str, str] | None = None) -> float:
    """Run a program in a new process; return the number it prints."""
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(result.stdout)


def importing(module: str) -> str:
    """Return a program that prints how long an import takes."""
    return f"import time; began = time.perf_counter(); import {module}; print(time.perf_counter() - began)"


def run(*, full: bool) -> list[dict[str, object]]:  # noqa: ARG001  # the same for all benchmarks
    """Time imports in turn, then first fits."""
    pairs = [(timed(importing("sklearn.naive_bayes")), timed(importing("anbexact"))) for _ in range(7)]
    rows: list[dict[str, object]] = [
        {"what": "import sklearn.naive_bayes", "seconds": median(a for a, _ in pairs)},
        {"what": "import anbexact", "seconds": median(b for _, b in pairs), "target": "1.5 x"},
        {"what": "ratio of the imports", "seconds": median(b / a for a, b in pairs)},
    ]
    with tempfile.TemporaryDirectory() as folder:
        cache = {"NUMBA_CACHE_DIR": folder}
        rows.append({"what": "first fit, empty kernel cache", "seconds": timed(FIRST_FIT, cache), "target": "20 s"})
        warm = median(timed(FIRST_FIT, cache) for _ in range(5))
        rows.append({"what": "first fit, warm kernel cache", "seconds": warm, "target": "2 s"})
    return rows
