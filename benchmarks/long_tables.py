"""Time, memory and limits of searches over long tables, and over tables with columns of one state."""

import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from tables import seconds

from anbexact import ANBClassifier, TANClassifier

LONG = {
    "TAN": (TANClassifier, {}, 12.0, 3.0),
    "ANB, 2 parents": (ANBClassifier, {"max_parents": 2}, 120.0, 3.0),
    "ANB, 2 parents, 60 s": (ANBClassifier, {"max_parents": 2, "time_limit": 60}, 67.0, 3.0),
    "ANB, 15 s": (ANBClassifier, {"time_limit": 15}, 17.5, 3.0),
}
"""Model, its parameters, and the seconds and GB that a fit may take; a limit is for the search, not for reading."""
N_FEATURES, STATES = 20, 4
ROWS, ALL_ROWS = (1_000, 100_000), (1_000, 10_000, 100_000, 500_000, 2_000_000)
FEW = {"constant": 16, "near-constant": 6, "copy": 6, "a state without rows": 6}
"""Kinds of columns that join 12 features, and how many of them."""


def long_table(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns of small whole numbers, each of which depends on the class and on one before it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows).astype(np.int8)
    columns: dict[str, np.ndarray] = {}
    for j in range(N_FEATURES):
        source = y if j < 2 else columns[f"x{j - 1 - j % 2}"] ^ (y & columns[f"x{j - 2}"])
        noise = rng.integers(0, STATES, rows)
        columns[f"x{j}"] = np.where(rng.random(rows) < 0.25, source, noise).astype(np.int8)
    return pd.DataFrame(columns), y


def wider_table(kind: str, more: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return 12 features of 2,000 rows, and more columns of a kind."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2_000)
    X = pd.DataFrame(index=range(2_000))
    for j in range(12):
        source = y if j == 0 else np.where(rng.random(2_000) < 0.5, X[f"x{j - 1}"], y)
        X[f"x{j}"] = np.where(rng.random(2_000) < 0.7, source, rng.integers(0, 2 + j % 2, 2_000))
    for k in range(more):
        column = np.zeros(2_000, dtype=int)
        if kind == "near-constant":
            column[rng.integers(2_000)] = 1
        X[f"more{k}"] = X[f"x{k}"] if kind == "copy" else column
        if kind == "a state without rows":
            X[f"more{k}"] = pd.Categorical(column, categories=[0, 1])
    return X, y


def fit_alone(name: str, rows: int) -> None:
    """Fit one model and print seconds, processor seconds, peak memory in GB and the certificate."""
    import resource

    model, parameters, _, _ = LONG[name]
    small, of_small = long_table(500)
    model(**parameters).fit(small, of_small)  # kernels are compiled, or loaded, before
    X, y = long_table(rows)
    began, worked = perf_counter(), process_time()
    fitted = model(**parameters).fit(X, y)
    took, worked = perf_counter() - began, process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(took, worked, peak, "proved" if fitted.structure_.certificate.optimal else "not proved", sep="|")


def run(*, full: bool) -> list[dict[str, object]]:
    """Time every case; a long table in a process of its own, whose peak of memory is its own, too."""
    results: list[dict[str, object]] = []
    for rows in ALL_ROWS if full else ROWS:
        for name, (_, _, target, memory) in LONG.items():
            command = [sys.executable, str(Path(__file__).resolve()), name, str(rows)]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("|")
            took, worked, peak = map(float, told[:3])
            results.append(
                {"table": f"{rows:,} x {N_FEATURES}", "model": name, "fit s": took, "target s": target}
                | {"processor s": worked, "GB": peak, "target GB": memory, "result": told[3].strip()}
            )
    X, y = wider_table("constant", 0)
    plain = seconds(lambda: ANBClassifier().fit(X, y), 5)
    results.append({"table": "2,000 x 12", "model": "ANB", "fit s": plain})
    for kind, more in FEW.items():
        X, y = wider_table(kind, more)
        took = seconds(lambda X=X, y=y: ANBClassifier().fit(X, y), 5)
        target = 0.15 if kind == "constant" else None
        row = {"table": f"2,000 x (12 + {more})", "model": f"ANB, {kind}", "fit s": took, "target s": target}
        results.append(row | {"times 12 alone": took / plain})
    return results


if __name__ == "__main__":
    fit_alone(sys.argv[1], int(sys.argv[2]))
