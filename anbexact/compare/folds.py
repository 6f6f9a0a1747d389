"""The table of a comparison, its classes and its folds."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.units import agreeing, counted
from anbexact._runtime.warn import warn
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.reading import is_frame, is_series, is_sparse, read_columns
from anbexact.tables.identifiers import identifier_reason
from anbexact.tables.table import Weights, check_weights
from anbexact.tables.text_columns import read_text
from anbexact.tables.weights import advise_on_weights

Rows = npt.NDArray[np.intp]
MISSING_NOTES = {
    "auto": "a missing cell is a state of its own in columns where leaving out its rows would lose too many of them; "
    "elsewhere they train without the row and sum out the cell at prediction",
    "marginalize": "such a row is left out of training, and its missing cells are summed out at prediction",
    "own_state": "a missing cell is a state of its own",
    "error": "a missing cell is an error",
    "em": "a missing cell is completed as the network itself expects, and summed out at prediction",
}
"""What each value of ``handle_missing`` means for a comparison, in the words of its note."""


@dataclass(frozen=True, eq=False)
class Data:
    """The table, its classes as codes, the weights of its rows (None: all 1), and the folds.

    ``columns`` are those of the table, with text read as the numbers or dates that it means; ``decimal`` is the
    decimal mark for text that leaves it open.
    """

    frame: pd.DataFrame
    target: pd.Series[Any]
    classes: list[Any]
    codes: Rows
    weights: Weights | None
    splits: list[tuple[Rows, Rows]]
    notes: list[str]
    columns: list[Column]
    decimal: str | None


def prepare(
    X: Any,
    y: Any,
    sample_weight: Any,
    folds: int,
    seed: int,
    handle_missing: str | None = None,
    decimal: str | None = None,
) -> Data:
    """Drop the rows without a class or of weight 0, and make the folds."""
    from sklearn.model_selection import StratifiedKFold

    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
        raise ValueError(f"folds must be a whole number, 2 or more, not {folds!r}")
    frame, target = as_pandas(X, y)
    weights = None if sample_weight is None else check_weights(sample_weight, len(frame))
    if weights is not None:
        advise_on_weights(weights)
    if weights is not None and not weights.all():
        used = weights > 0
        frame, target, weights = frame[used], target[used], weights[used]
    notes: list[str] = []
    if isinstance(target.dtype, pd.CategoricalDtype):
        target = target.cat.remove_unused_categories()
    codes, distinct = pd.factorize(target, use_na_sentinel=True)
    classes = distinct.tolist()
    if (codes < 0).any():
        absent = int((codes < 0).sum())
        have, are = agreeing(absent, "has", "have"), agreeing(absent, "is", "are")
        _note(notes, f"{absent:,} of {counted(len(codes), 'row')} {have} no class and {are} left out")
        kept = codes >= 0
        frame, target, codes = frame[kept], target[kept], codes[kept]
        weights = None if weights is None else weights[kept]
    if len(classes) < 2:
        raise ValueError(f"a comparison needs two classes or more, but y contains {classes}")
    single = [label for label, rows in enumerate(np.bincount(codes)) if rows == 1]
    if single and len(classes) - len(single) < 2:
        raise ValueError(
            f"the class {classes[single[0]]!r} has a single row, which cannot be in both training and test rows: "
            "drop it, or merge it with another class"
        )
    if single:
        left_out = ", ".join(repr(classes[label]) for label in single)
        _note(notes, f"each of these classes has a single row, which is left out: {left_out}")
        kept = ~np.isin(codes, single)
        frame, target = frame[kept], target[kept]
        weights = None if weights is None else weights[kept]
        codes, distinct = pd.factorize(target)
        classes = distinct.tolist()
    sizes = Counter(codes.tolist())
    rarest = min(sizes, key=sizes.__getitem__)
    if (largest := max(sizes.values())) < folds:
        _note(notes, f"{largest} folds instead of {folds}, because no class has more rows")
        folds = largest
    if sizes[rarest] < folds:
        notes.append(
            f"the class {classes[rarest]!r} has only {sizes[rarest]} rows, so it is held out in {sizes[rarest]} of "
            f"the {folds} folds"
        )
    with_missing = int(frame.isna().any(axis=1).sum())
    if with_missing:
        what = MISSING_NOTES[handle_missing or "auto"]
        have = agreeing(with_missing, "has", "have")
        notes.append(
            f"{counted(with_missing, 'row')} {have} a missing feature: for this package's classifiers, {what}. For "
            "the other models, missing cells are imputed"
        )
    rows = np.ones(len(frame), dtype=bool)
    columns = [read_text(column, rows, decimal) for column in read_columns(frame)]
    reasons = {column.name: identifier_reason(column, rows) for column in columns}
    dropped = [f"{name!r} ({reason})" for name, reason in reasons.items() if reason]
    if dropped:
        notes.append(
            f"this package's classifiers leave out each column that looks like an identifier: {'; '.join(dropped)}"
        )
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # noted
        splits = list(splitter.split(codes, codes))
    return Data(frame, target, classes, codes, weights, splits, notes, columns, decimal)


def as_pandas(X: Any, y: Any) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return features and classes as pandas objects with a plain index."""
    if isinstance(X, pd.DataFrame):
        frame = X.reset_index(drop=True)
    elif is_frame(X):
        frame = nw.from_native(X, eager_only=True).to_pandas().reset_index(drop=True)
    else:
        X = X.toarray() if is_sparse(X) else X
        frame = pd.DataFrame(X if isinstance(X, np.ndarray) else list(X)).infer_objects()
        frame.columns = pd.Index([f"x{j}" for j in range(frame.shape[1])])
    if is_series(y) and not isinstance(y, pd.Series | pd.Index):
        y = nw.from_native(y, series_only=True).to_pandas()
    name = getattr(y, "name", None)
    target = pd.Series(y.array if isinstance(y, pd.Series) else y, name=name)
    if len(target) != len(frame):
        raise ValueError(f"X has {len(frame)} rows, but y has {len(target)}")
    read_columns(frame)
    return frame, target


def _note(notes: list[str], text: str) -> None:
    notes.append(text)
    warn(text)
