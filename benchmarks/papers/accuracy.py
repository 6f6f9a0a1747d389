"""Ten-fold cross-validation of all methods on all tables: what Tables 1, 2 and 5 are made of."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness.folds import brier, hits, judge, means
from benchmarks.harness.places import RESULTS
from benchmarks.harness.store import Row, measure
from benchmarks.harness.timing import timed
from benchmarks.papers.common import FOLDS, KEYS, folds, read
from benchmarks.papers.methods import METHODS, Selected

STORE = RESULTS / "papers_accuracy.csv"
Priority = Callable[[tuple[int, ...]], np.ndarray]
"""Called with the numbers of rows and of classes: positive numbers; of equally probable classes, the largest wins."""
SCORES = ("accuracy", "log_loss", "brier")
STRUCTURE = ("class_parents", "class_children", "sparse", "blanket", "max_parents", "removed")


def one(name: str, method: str, fold: int) -> list[Row]:
    """Measure a fold of a table: accuracy, log loss, Brier score, processor seconds of the fit, structure.

    Folds from ten on are those of further repeats.
    """
    X, y = read(name)
    repeat, part = divmod(fold, FOLDS)
    train, test = folds(y, repeat)[part]
    return [judged(METHODS[method], X, y, train, test)]


def judged(
    model: Any,
    X: pd.DataFrame,
    y: pd.Series,
    train: np.ndarray,
    test: np.ndarray,
    priority: Priority | None = None,
) -> Row:
    """Fit to the training rows, and return the figures of :func:`one`.

    Of classes that are equally probable, the accuracy takes the first, or the one of the highest priority.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        _, _, took = timed(model.fit, X.iloc[train], y.iloc[train])
        proba = model.predict_proba(X.iloc[test])
    classes, truth = list(model.classes_), y.iloc[test]
    row = judge(proba, classes, truth)
    row["brier"] = brier(proba, classes, truth)
    if priority is not None:
        most_probable = np.isclose(proba, proba.max(axis=1, keepdims=True), rtol=1e-9, atol=0.0)
        taken = (most_probable * priority(proba.shape)).argmax(axis=1)
        row["accuracy"] = float(hits(classes, truth)[np.arange(len(taken)), taken].mean())
    shape = dict.fromkeys(STRUCTURE)
    if hasattr(model, "structure_"):
        shape |= summary(model.structure_.parents, model.structure_.class_name, X.iloc[train])
    if isinstance(model, Selected):
        shape["removed"] = X.shape[1] - len(model.kept_)
    return {**row, "fit_s": took, **shape}


def summary(
    parents: Mapping[Hashable, Collection[Hashable]], class_name: Hashable, X: pd.DataFrame
) -> dict[str, int]:
    """Return how the class stands in a network, as in Sugahara and Ueno's Table 2.

    ``sparse`` counts the configurations of the parents of the class that no row has; ``blanket`` the parents and
    children of the class and the children's other parents; ``max_parents`` the most parents of any variable;
    ``removed`` the features outside the blanket.
    """
    above = list(parents[class_name])
    below = [child for child, of_child in parents.items() if class_name in of_child]
    blanket = {*above, *below, *(v for child in below for v in parents[child])} - {class_name}
    states = prod(len(X[name].cat.categories) for name in above)
    return {
        "class_parents": len(above),
        "class_children": len(below),
        "sparse": states - len(X[above].drop_duplicates()) if above else 0,
        "blanket": len(blanket),
        "max_parents": max(map(len, parents.values())),
        "removed": len(parents) - 1 - len(blanket),
    }


def measured(tables: Sequence[str], methods: Sequence[str], repeats: int = 1) -> None:
    """Measure what is missing."""
    tasks = [(table, method, fold) for table in tables for method in methods for fold in range(repeats * FOLDS)]
    measure(STORE, KEYS, tasks, one)


def by_table(found: pd.DataFrame) -> pd.DataFrame:
    """Return every table and method whose folds are all there: means over test rows, standard error over folds.

    Structure is averaged over folds; ``fit_s`` is the sum over folds; ``over_repeats`` and ``repeat_sd`` are mean and
    standard deviation of the accuracies of all ``repeats``, ``repeats_apart`` how far two of them differ on average;
    the other figures are those of the first.
    """
    keys = ["table", "method"]
    found = whole_repeats(found)
    first = found[found["repeat"] == 0]
    summary = means(first, keys, SCORES)
    groups = first.groupby(keys)
    summary["se"] = groups["accuracy"].std(ddof=1) / FOLDS**0.5
    summary["fit_s"] = groups["fit_s"].sum()
    of_repeats = means(found, [*keys, "repeat"], SCORES)["accuracy"].groupby(keys)
    summary["repeats"], summary["over_repeats"] = of_repeats.size(), of_repeats.mean()
    summary["repeat_sd"], summary["repeats_apart"] = of_repeats.std(), of_repeats.agg(apart)
    return summary.join(groups[list(STRUCTURE)].mean())


def apart(accuracies: pd.Series) -> float:
    """Return the mean absolute difference of two of several accuracies; NaN of a single one."""
    pairs = list(combinations(accuracies, 2))
    return float(np.mean([abs(a - b) for a, b in pairs])) if pairs else np.nan


def whole_repeats(found: pd.DataFrame) -> pd.DataFrame:
    """Return the repeats of which all folds are there, numbered."""
    found = found.assign(repeat=found["fold"] // FOLDS)
    return found[found.groupby(["table", "method", "repeat"])["fold"].transform("nunique") == FOLDS]
