"""The pool where there are two to six continuous columns, next to CatBoost with its defaults.

Such tables have interactions in narrow regions, which boosted trees find. Five are simulated (arcs, circles, spirals
and a chequered square); the others have columns of larger tables, drawn at random. Each repetition learns from 1,000
rows, or 70 % of a smaller table, and predicts up to 3,000 others. There are two repetitions, or up to ten where each
predicts fewer than 500 rows.

Target: on none of them a log loss more than 0.01 above CatBoost's. Takes six minutes. CatBoost is measured if
it is installed. Writes ``docs/measurements/few_columns.csv``.
"""

import warnings
from importlib.util import find_spec
from math import ceil

import numpy as np
import pandas as pd
from sklearn.datasets import make_circles, make_moons
from sklearn.model_selection import train_test_split

from anbexact import PooledClassifier
from benchmarks.harness.folds import judge
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import MADE_NUMBERS, Table, read

ROWS, MOST_JUDGED = 1_000, 3_000
REPETITIONS, MOST_REPETITIONS, ROWS_TO_JUDGE = 2, 10, 1_000
"""Fewest and most repetitions, and number of rows that all of them should predict together."""
SIMULATED = ("moons", "circles", "spirals", "chequered", "banana")
COLUMNS = {
    "banknote": 4,
    "magic": 5,
    "htru2": 5,
    "segment": 5,
    "pendigits": 4,
    "letter": 5,
    "waveform21": 6,
    "liver": 6,
    "iris": 4,
    "pima": 6,
    "ionosphere": 6,
}
"""Tables, and how many of their columns of numbers are drawn."""


def simulated(name: str, rng: np.random.Generator, seed: int, n: int = ROWS + MOST_JUDGED) -> Table:
    """Return a table of two columns and two classes."""
    y = rng.integers(0, 2, n)
    if name == "moons":
        X, y = make_moons(n, noise=0.35, random_state=seed)
    elif name == "circles":
        X, y = make_circles(n, noise=0.2, factor=0.5, random_state=seed)
    elif name == "spirals":
        turn = rng.uniform(0.5, 3, n) * np.pi
        X = np.stack([turn * np.cos(turn + np.pi * y), turn * np.sin(turn + np.pi * y)], axis=1)
        X += rng.normal(0, 0.6, (n, 2))
    elif name == "chequered":
        X = rng.uniform(0, 4, (n, 2))
        y = np.floor(X).sum(axis=1).astype(int) % 2
        y = np.where(rng.random(n) < 0.1, 1 - y, y)
    else:  # two arcs that interlock, with wrong labels
        turn = rng.uniform(0, np.pi, n)
        across = np.where(y, 1 - np.cos(turn), np.cos(turn))
        along = np.where(y, 0.5 - np.sin(turn), np.sin(turn))
        X = np.stack([across, along], axis=1) + rng.normal(0, 0.25, (n, 2))
        y = np.where(rng.random(n) < 0.05, 1 - y, y)
    return pd.DataFrame(X, columns=["a", "b"]), pd.Series(y.astype(str), name="k")


def drawn(name: str, rng: np.random.Generator) -> Table:
    """Return complete rows of a table with some of its columns of numbers."""
    X, y = read(name)
    numbers = [column for column in X if pd.api.types.is_numeric_dtype(X[column]) and X[column].nunique() > 10]
    X = X[list(rng.permutation(numbers)[: COLUMNS.get(name, 2)])].dropna()
    return X, y[X.index].astype(str)


def rows_to_learn(n_rows: int) -> int:
    """Return from how many rows of a table both models learn."""
    return min(ROWS, int(0.7 * n_rows))


def n_repetitions(name: str) -> int:
    """Return how often a table is drawn: more often if few of its rows are left to judge by."""
    if name in SIMULATED:
        return REPETITIONS
    n_rows = len(drawn(name, np.random.default_rng(0))[1])
    return min(MOST_REPETITIONS, max(REPETITIONS, ceil(ROWS_TO_JUDGE / (n_rows - rows_to_learn(n_rows)))))


def one_repetition(name: str, seed: int) -> list[Row]:
    """Return log loss and accuracy of both models, and the weight of kernel logistic regression in the pool."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    X, y = simulated(name, rng, seed) if name in SIMULATED else drawn(name, rng)
    n = rows_to_learn(len(y))
    split = train_test_split(
        X, y, train_size=n, test_size=min(MOST_JUDGED, len(y) - n), random_state=seed, stratify=y
    )
    X_train, X_test, y_train, y_test = split
    models = {"pool": PooledClassifier(n_jobs=1)}
    if find_spec("catboost") is not None:
        from catboost import CatBoostClassifier

        settings = {"thread_count": 1, "random_seed": 0, "verbose": 0, "allow_writing_files": False}
        models["CatBoost"] = CatBoostClassifier(**settings)
    rows = []
    for label, model in models.items():
        model.fit(X_train, y_train)
        rows.append({"model": label, **judge(model.predict_proba(X_test), list(model.classes_), y_test)})
    rows[0]["kernel"] = float(models["pool"].members_["weight"].get("kernel", 0.0))
    return rows


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    names = [*SIMULATED, *COLUMNS] if not run.smoke else [SIMULATED[-1], MADE_NUMBERS]
    names = [name for name in names if not run.only or name in run.only]
    tasks = [(name, seed) for name in names for seed in run.folds(n_repetitions(name))]
    found = run.measure("few_columns", ["table", "repetition"], tasks, one_repetition, jobs=1)
    means = found.groupby(["table", "model"])[["log_loss", "accuracy"]].mean().unstack("model")
    means.columns = [f"{what} {label}" for what, label in means.columns]
    if "log_loss CatBoost" in means:
        means["difference"] = means["log_loss pool"] - means["log_loss CatBoost"]
    means["weight of the kernel"] = found.groupby("table")["kernel"].mean()
    means = means.reindex([name for name in names if name in means.index])
    run.write("few_columns", means, 4)
    show(means)
    if "difference" in means:
        print(f"mean difference {means['difference'].mean():+.4f}, largest {means['difference'].max():+.4f}")
