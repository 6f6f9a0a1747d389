"""Tables for the benchmarks: from ``../shared/data`` where that folder is present, else generated alike."""

from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pandas as pd

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SHAPES = {
    "spect": (22, 267, 2, 2),
    "mushroom": (21, 5644, 5, 2),
    "waveform21": (21, 5000, 2, 3),
    "letter": (16, 20000, 16, 26),
    "nursery": (8, 12960, 4, 5),
    "vehicle-like": (18, 850, 2, 4),
}
"""Features, rows, states and classes of the stand-ins."""


def generated(n: int, rows: int, states: int, classes: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table whose features depend on the class and on each other in a chain."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    columns = {}
    last = y
    for i in range(n):
        noise = rng.integers(0, states, rows)
        last = np.where(rng.random(rows) < 0.55, (last + y * (i % 3)) % states, noise)
        columns[f"f{i}"] = last.astype(str)
    return pd.DataFrame(columns), pd.Series(y.astype(str), name="class")


def load(name: str, *, cut: bool = False) -> tuple[pd.DataFrame, pd.Series, str]:
    """Return features (categorical dtype), class and where they come from; ``cut`` halves continuous ones."""
    path = DATA / f"{name}.csv.gz"
    if path.exists():
        X = pd.read_csv(path)
        y = X.pop("class").astype(str)
        source = "shared/data"
        for column in X:
            if cut and pd.api.types.is_numeric_dtype(X[column]) and X[column].nunique() > 10:
                X[column] = X[column] > X[column].median()
    else:
        X, y = generated(*SHAPES[name])
        source = "generated" if name.endswith("-like") else "generated (shared/data is absent)"
    return X.astype("category"), y, source


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the median wall-clock time of a call."""
    times = []
    for _ in range(repeats):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return median(times)
