"""Results of measurements that can be resumed: rows of a CSV file, of which those that are there are not repeated."""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed

Row = dict[str, Any]


def stored(path: Path, keys: Sequence[str]) -> pd.DataFrame:
    """Return what is stored; no rows where nothing is. Keys that are text stay text, whatever they look like."""
    if not path.exists():
        return pd.DataFrame(columns=list(keys))
    text = {"table": str, "method": str}
    return pd.read_csv(path, dtype=text, keep_default_na=False, na_values=["", "nan"])


def measure(
    path: Path,
    keys: Sequence[str],
    tasks: Iterable[tuple[Hashable, ...]],
    work: Callable[..., Sequence[Row]],
    *,
    jobs: int = 2,
) -> pd.DataFrame:
    """Measure what a file does not hold yet, and return all that it holds. Progress goes to standard error.

    Parameters
    ----------
    path : Path
        The file; what is to be measured again has to be deleted from it.
    keys : sequence of str
        Columns that say to which task a row belongs.
    tasks : iterable of tuples
        Values of the keys.
    work : callable
        Called with the values of the keys, returns the rows of the task without these. The file holds all of them
        or none.
    jobs : int
        Processes.
    """
    left = _missing(path, keys, tasks)
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        # joblib replaces processes between two tasks, such as those that have grown: nothing is lost
        warnings.filterwarnings("ignore", message="A worker stopped", category=UserWarning)
        found = Parallel(jobs, return_as="generator_unordered")(delayed(_answered)(work, task) for task in left)
        for k, (task, rows) in enumerate(found, 1):
            _append(path, [{**dict(zip(keys, task, strict=True)), **row} for row in rows])
            of_task = ", ".join(str(value) for value in task if value != "")
            print(f"\r{path.stem}: {k} of {len(left)} ({of_task})\033[K", end="", file=sys.stderr, flush=True)
    if left:
        print(file=sys.stderr)
    return stored(path, keys)


def _missing(path: Path, keys: Sequence[str], tasks: Iterable[tuple[Hashable, ...]]) -> list[tuple[Hashable, ...]]:
    """Return the tasks of which the file holds no row."""
    done: set[tuple[str, ...]] = set()
    if path.exists():
        there = pd.read_csv(path, dtype=str, keep_default_na=False, usecols=list(keys))
        done = set(there[list(keys)].itertuples(index=False, name=None))
    return [task for task in tasks if tuple(map(str, task)) not in done]


def _answered(
    work: Callable[..., Sequence[Row]], task: tuple[Hashable, ...]
) -> tuple[tuple[Hashable, ...], Sequence[Row]]:
    return task, work(*task)


def _append(path: Path, rows: Sequence[Row]) -> None:
    """Append rows to a file; the first that is written names the columns."""
    fresh = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows(rows)
