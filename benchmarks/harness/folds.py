"""Folds of cross-validation, and how predictions are judged."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks.harness.store import Row


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


def hits(classes: Sequence[str], truth: pd.Series) -> np.ndarray:
    """Return, for every row and class, whether it is the true one."""
    return truth.to_numpy()[:, None] == np.array(classes, dtype=object)[None, :]


def brier(proba: np.ndarray, classes: Sequence[str], truth: pd.Series) -> float:
    """Return the mean squared distance between the probabilities and the class that is true; 0 to 2."""
    right = hits(classes, truth)
    unseen = 1.0 - right.any(axis=1)
    return float((((proba - right) ** 2).sum(axis=1) + unseen).mean())


def means(frame: pd.DataFrame, by: list[str], keys: Sequence[str] = ("accuracy", "log_loss")) -> pd.DataFrame:
    """Return accuracy, log loss or other means over all test rows, by the named columns."""
    sums = frame.assign(**{key: frame[key] * frame["rows"] for key in keys})
    sums = sums.groupby(by)[[*keys, "rows"]].sum(min_count=1)
    return sums[list(keys)].div(sums["rows"], axis=0)
