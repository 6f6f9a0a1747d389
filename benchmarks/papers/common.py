"""What the tables of the papers share: the data, their folds, and how results are written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anbexact import MedianDiscretizer
from benchmarks.harness.folds import splits
from benchmarks.harness.output import template, write_csv, write_page
from benchmarks.harness.tables import Table, manifest
from benchmarks.harness.tables import read as read_original

KEYS = ["table", "method", "fold"]
"""What results are stored by."""
FOLDS = 10
PRINTED_TABLES = 43
"""Tables of Sugahara and Ueno's Table 1; numbers above are not in it."""
QUICK_FEATURES, QUICK_ROWS = 16, 2_000


def listed(*, quick: bool = False) -> pd.DataFrame:
    """Return the tables of Sugahara and Ueno's Table 1 that are there, smallest first; stop where none is."""
    tables = manifest()
    tables = tables[tables["table1_no"] <= PRINTED_TABLES]
    if quick:
        tables = tables[(tables["features"] <= QUICK_FEATURES) & (tables["rows"] <= QUICK_ROWS)]
    return tables.reset_index(drop=True)


def continuous_columns(name: str) -> list[str]:
    """Return the columns of a table that the manifest calls continuous: those of more than ten numbers."""
    return list(manifest().set_index("name").loc[name, "continuous"].split())


@lru_cache(maxsize=1)
def complete_rows(name: str) -> Table:
    """Return the rows of a table that have no missing cell."""
    X, y = read_original(name)
    complete = X.notna().all(axis=1)
    return X[complete].reset_index(drop=True), y[complete].reset_index(drop=True)


def read(name: str, continuous: Sequence[str] | None = None) -> Table:
    """Return complete rows as categories, continuous columns cut at the median of all rows; all states declared.

    Continuous are the columns named, by default those of the manifest.
    """
    X, y = complete_rows(name)
    return cut(X, continuous_columns(name) if continuous is None else continuous), y.astype("category")


def cut(X: pd.DataFrame, continuous: Sequence[str]) -> pd.DataFrame:
    """Return columns as categories, those named cut at their median."""
    X = X.copy()
    if continuous:
        cut_points = MedianDiscretizer().fit(X[list(continuous)]).cut_points_
        for column, cuts in zip(continuous, cut_points, strict=True):
            X[column] = np.searchsorted(cuts, X[column])
    return X.astype("category")


def folds(y: pd.Series, repeat: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training and the test rows of every fold; the first of several random splits is number 0."""
    order = np.random.default_rng(repeat).permutation(len(y)) if repeat else np.arange(len(y))
    return [(order[train], order[test]) for train, test in splits(y.iloc[order], FOLDS)]


def page(name: str, /, **values: Any) -> str:
    """Return a page, or a section of it, from its template."""
    return template(Path(__file__).parent, name).substitute(values)


def write(folder: Path, name: str, frame: pd.DataFrame, text: str) -> None:
    """Write a table as CSV, and what is said of it as Markdown."""
    write_csv(folder, name, frame.reset_index(drop=True), float_format="%.10g")
    write_page(folder / f"{name}.md", text)
