"""Measurements that can be resumed: a CSV line for every table, method and fold; what is there is not repeated."""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
from crossval import Row
from joblib import Parallel, delayed

KEYS = ["table", "method", "fold"]
Work = Callable[[str, str, Sequence[int]], list[Row]]
"""Called with a table, a method and folds: a row for every fold, starting with these three."""


def stored(path: Path) -> pd.DataFrame:
    """Return what is stored; no rows where nothing is."""
    if not path.exists():
        return pd.DataFrame(columns=KEYS)
    return pd.read_csv(path, dtype={"table": str, "method": str}, keep_default_na=False, na_values=[""])


def measure(
    path: Path, tasks: Sequence[tuple[str, str]], folds: Sequence[int], work: Work, *, jobs: int = 2
) -> pd.DataFrame:
    """Measure what the file does not hold yet of some tables and methods, and return all that it holds.

    Every table and method is one task of one process. Progress goes to standard error.
    """
    done = set(stored(path)[KEYS].itertuples(index=False, name=None))
    left = [(*task, [fold for fold in folds if (*task, fold) not in done]) for task in tasks]
    left = [task for task in left if task[2]]
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        # joblib replaces processes between two tasks, such as those that have grown: nothing is lost
        warnings.filterwarnings("ignore", message="A worker stopped", category=UserWarning)
        found = Parallel(jobs, return_as="generator_unordered")(delayed(work)(*task) for task in left)
        for k, rows in enumerate(found, 1):
            append(path, rows)
            print(
                f"\r{path.stem}: {k} of {len(left)} ({rows[0]['table']}, {rows[0]['method']})\033[K",
                end="",
                file=sys.stderr,
            )
    if left:
        print(file=sys.stderr)
    return stored(path)


def append(path: Path, rows: Sequence[Row]) -> None:
    """Append rows to a file; the first that is written names the columns."""
    fresh = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows(rows)
