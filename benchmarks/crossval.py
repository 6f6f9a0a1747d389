"""Cross-validation over the tables of ``../shared/data``, resumable: one CSV line per table, fold and setting."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold
from tables import DATA

ROOT = Path(__file__).resolve().parents[1]
RAW = ROOT / "benchmarks" / "raw"
"""Where single measurements are kept, so that a benchmark can be resumed."""
RESULTS = ROOT / "docs" / "results"
"""Where the tables that summarise them are kept."""
Row = dict[str, Any]


def manifest() -> pd.DataFrame:
    """Return the list of tables, smallest first by features, then rows; explain when the folder is absent."""
    path = DATA / "manifest.csv"
    if not path.exists():
        raise SystemExit(f"this benchmark reads the UCI tables, and {path} is absent")
    return pd.read_csv(path, keep_default_na=False).sort_values(["features", "rows"]).reset_index(drop=True)


def read(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return the features as they are, text as text, and the class as text."""
    X = pd.read_csv(DATA / f"{name}.csv.gz")
    return X, X.pop("class").astype(str)


def splits(y: pd.Series, folds: int = 10) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return the same stratified folds whatever is compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes with fewer rows than folds
        yield from StratifiedKFold(folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y)


def judge(proba: np.ndarray, classes: Sequence[str], truth: pd.Series) -> Row:
    """Return accuracy and log loss (nats per row); a class unseen in training has probability 0, here 1e-12."""
    place = {label: k for k, label in enumerate(classes)}
    known = np.array([place.get(label, -1) for label in truth])
    right = proba.argmax(axis=1) == known
    of_truth = np.where(known >= 0, proba[np.arange(len(known)), known], 0.0)
    return {
        "rows": len(known),
        "accuracy": float(right.mean()),
        "log_loss": float(-np.log(np.maximum(of_truth, 1e-12)).mean()),
    }


def run_all(tasks: Sequence[tuple[str, int]], work: Callable[[str, int], list[Row]], path: Path) -> pd.DataFrame:
    """Run ``work(table, fold)`` for all tasks that the file does not hold yet; return all rows of the file.

    The rows of a task start with the columns table and fold; the file holds all of them or none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if path.exists():
        done = set(map(tuple, pd.read_csv(path, keep_default_na=False)[["table", "fold"]].astype(str).to_numpy()))
    left = [task for task in tasks if (str(task[0]), str(task[1])) not in done]
    for k, rows in enumerate(Parallel(2, return_as="generator_unordered")(delayed(work)(*task) for task in left)):
        fresh = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerows(rows)
        print(f"\r{k + 1} of {len(left)}: {rows[0]['table']}, fold {rows[0]['fold']}\033[K", end="", flush=True)
    print()
    return pd.read_csv(path)


def means(frame: pd.DataFrame, by: list[str], keys: Sequence[str] = ("accuracy", "log_loss")) -> pd.DataFrame:
    """Return accuracy, log loss or other means over all test rows, by the named columns."""
    sums = frame.assign(**{key: frame[key] * frame["rows"] for key in keys})
    sums = sums.groupby(by)[[*keys, "rows"]].sum(min_count=1)
    return sums[list(keys)].div(sums["rows"], axis=0)
