"""What the tables of the papers share: the data, their folds, the published figures, and how results are written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from crossval import DATA, manifest, splits
from crossval import read as read_original

from anbexact import MedianDiscretizer

REFERENCE = DATA.parent / "reference"
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


def read(name: str, continuous: Sequence[str] | None = None) -> tuple[pd.DataFrame, pd.Series]:
    """Return complete rows as categories, continuous columns cut at the median of all rows; all states declared.

    Continuous are the columns named, by default those of the manifest.
    """
    X, y = read_original(name)
    complete = X.notna().all(axis=1)
    X, y = X[complete].reset_index(drop=True), y[complete].reset_index(drop=True)
    return cut(X, continuous_columns(name) if continuous is None else continuous), y.astype("category")


def cut(X: pd.DataFrame, continuous: Sequence[str]) -> pd.DataFrame:
    """Return columns as categories, those named cut at their median."""
    X = X.copy()
    if continuous:
        cut_points = MedianDiscretizer().fit(X[list(continuous)]).cut_points_
        for column, cuts in zip(continuous, cut_points, strict=True):
            X[column] = np.searchsorted(cuts, X[column])
    return X.astype("category")


def folds(y: pd.Series, deal: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training and the test rows of every fold; the first of several ways to deal rows to folds is 0."""
    order = np.random.default_rng(deal).permutation(len(y)) if deal else np.arange(len(y))
    return [(order[train], order[test]) for train, test in splits(y.iloc[order], FOLDS)]


def published(name: str) -> pd.DataFrame:
    """Return a published table."""
    path = REFERENCE / name
    if not path.exists():
        raise SystemExit(f"the papers' figures are read from {path}, which is absent")
    return pd.read_csv(path, comment="#")


def markdown(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def write(folder: Path, name: str, frame: pd.DataFrame, text: str) -> None:
    """Write a table as CSV, and what is said of it as Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n", float_format="%.10g")
    (folder / f"{name}.md").write_text(text.rstrip() + "\n", encoding="utf-8")
