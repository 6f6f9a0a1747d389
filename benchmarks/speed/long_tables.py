"""Time, memory and limits of searches over long tables, and over tables with columns of one state.

Target: the seconds and GB of ``LONG``, and 0.15 s for the table with constant columns. Takes two minutes; with
``--full`` (2,000,000 rows) ten.
"""

import numpy as np
import pandas as pd

from anbexact import ANBClassifier, TANClassifier
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import Timed, alone, peak_memory, seconds, timed

LONG = {
    "TAN": (TANClassifier, {"ess": 1.0}, 12.0, 3.0),
    "TAN, sample sizes chosen": (TANClassifier, {}, 12.0, 3.0),
    "ANB, 2 parents": (ANBClassifier, {"max_parents": 2, "ess": 1.0}, 120.0, 3.0),
    "ANB, 2 parents, sample sizes chosen": (ANBClassifier, {"max_parents": 2}, 120.0, 3.0),
    "ANB, 2 parents, 60 s": (ANBClassifier, {"max_parents": 2, "ess": 1.0, "time_limit": 60}, 67.0, 3.0),
    "ANB, 15 s": (ANBClassifier, {"ess": 1.0, "time_limit": 15}, 17.5, 3.0),
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


def fit_long(name: str, rows: int) -> tuple[Timed, float]:
    """Fit one model; return the times and whether the result is proved, and the peak memory of the process, GB."""
    model, parameters, _, _ = LONG[name]
    model(**parameters).fit(*long_table(500))  # kernels are compiled, or loaded, before
    took = timed(model(**parameters).fit, *long_table(rows))
    return took._replace(result=took.result.structure_.certificate.optimal), peak_memory() / 1e9


def main(run: Run) -> None:
    """Time every case; a long table in a process of its own, whose peak of memory is its own, too."""
    results = []
    for rows in (1_000,) if run.smoke else ALL_ROWS if run.full else ROWS:
        for name, (_, _, target, memory) in list(LONG.items())[: 1 if run.smoke else None]:
            took, peak = alone(fit_long, name, rows)
            results.append(
                {"table": f"{rows:,} x {N_FEATURES}", "model": name, "fit s": took.seconds, "target s": target}
                | {"processor s": took.processor_seconds, "GB": peak, "target GB": memory}
                | {"result": "proved" if took.result else "not proved"}
            )
    model = ANBClassifier()
    plain = seconds(model.fit, *wider_table("constant", 0))
    results.append({"table": "2,000 x 12", "model": "ANB", "fit s": plain})
    for kind, more in FEW.items():
        took = seconds(model.fit, *wider_table(kind, 1 if run.smoke else more))
        target = 0.15 if kind == "constant" else None
        row = {"table": f"2,000 x (12 + {more})", "model": f"ANB, {kind}", "fit s": took, "target s": target}
        results.append(row | {"times 12 alone": took / plain})
    show(results)
