"""Ten-fold cross-validation of all methods on all tables: what Tables 1, 2 and 5 are made of."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from itertools import combinations
from math import prod
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from crossval import RAW, Row, judge

from papers.common import FOLDS, folds, read
from papers.methods import METHODS, Selected
from papers.store import measure

STORE = RAW / "papers_accuracy.csv"
Priority = Callable[[tuple[int, ...]], np.ndarray]
"""Called with the numbers of rows and of classes: positive numbers; of equally probable classes, the largest wins."""
STRUCTURE = ("class_parents", "class_children", "sparse", "blanket", "max_parents", "removed")


def one(name: str, method: str, wanted: Sequence[int]) -> list[Row]:
    """Measure some folds of a table: accuracy, log loss, Brier score, processor seconds of the fit, structure.

    Folds from ten on are those of further deals.
    """
    X, y = read(name)
    rows = []
    for fold in wanted:
        train, test = folds(y, fold // FOLDS)[fold % FOLDS]
        found = judged(METHODS[method], X, y, train, test)
        rows.append({"table": name, "method": method, "fold": fold, **found})
    return rows


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
        began = process_time()
        model.fit(X.iloc[train], y.iloc[train])
        took = process_time() - began
        proba = model.predict_proba(X.iloc[test])
    classes, truth = list(model.classes_), y.iloc[test]
    row = judge(proba, classes, truth)
    row["brier"] = brier(proba, classes, truth)
    if priority is not None:
        likeliest = np.isclose(proba, proba.max(axis=1, keepdims=True), rtol=1e-9, atol=0.0)
        taken = (likeliest * priority(proba.shape)).argmax(axis=1)
        row["accuracy"] = float(hits(classes, truth)[np.arange(len(taken)), taken].mean())
    shape = dict.fromkeys(STRUCTURE)
    if hasattr(model, "structure_"):
        shape |= summary(model.structure_.parents, model.structure_.class_name, X.iloc[train])
    if isinstance(model, Selected):
        shape["removed"] = X.shape[1] - len(model.kept_)
    return {**row, "fit_s": took, **shape}


def hits(classes: Sequence[str], truth: pd.Series) -> np.ndarray:
    """Return, for every row and class, whether it is the true one."""
    return truth.to_numpy()[:, None] == np.array(classes, dtype=object)[None, :]


def brier(proba: np.ndarray, classes: Sequence[str], truth: pd.Series) -> float:
    """Return the mean squared distance between the probabilities and the class that is true; 0 to 2."""
    right = hits(classes, truth)
    unseen = 1.0 - right.any(axis=1)
    return float((((proba - right) ** 2).sum(axis=1) + unseen).mean())


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


def measured(tables: Sequence[str], methods: Sequence[str], deals: int = 1) -> None:
    """Measure what is missing."""
    measure(STORE, [(table, method) for table in tables for method in methods], range(deals * FOLDS), one)


def by_table(found: pd.DataFrame) -> pd.DataFrame:
    """Return every table and method whose folds are all there: means over test rows, standard error over folds.

    Structure is averaged over folds; ``fit_s`` is the sum over folds; ``over_deals`` and ``deal_sd`` are mean and
    standard deviation of the accuracies of all ``deals``, ``deals_apart`` how far two of them differ on average; the
    other figures are those of the first.
    """
    keys = ["table", "method"]
    found = whole_deals(found)
    first = found[found["deal"] == 0]
    means = over_rows(first, keys)
    groups = first.groupby(keys)
    means["se"] = groups["accuracy"].std(ddof=1) / FOLDS**0.5
    means["fit_s"] = groups["fit_s"].sum()
    of_deals = over_rows(found, [*keys, "deal"])["accuracy"].groupby(keys)
    means["deals"], means["over_deals"], means["deal_sd"] = of_deals.size(), of_deals.mean(), of_deals.std()
    means["deals_apart"] = of_deals.agg(apart)
    return means.join(groups[list(STRUCTURE)].mean())


def apart(accuracies: pd.Series) -> float:
    """Return the mean absolute difference of two of several accuracies; NaN of a single one."""
    pairs = list(combinations(accuracies, 2))
    return float(np.mean([abs(a - b) for a, b in pairs])) if pairs else np.nan


def whole_deals(found: pd.DataFrame) -> pd.DataFrame:
    """Return the deals of which all folds are there, numbered."""
    found = found.assign(deal=found["fold"] // FOLDS)
    return found[found.groupby(["table", "method", "deal"])["fold"].transform("nunique") == FOLDS]


def over_rows(found: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return means over all test rows."""
    scores = ["accuracy", "log_loss", "brier"]
    sums = found.assign(**{score: found[score] * found["rows"] for score in scores}).groupby(keys)
    return sums[scores].sum().div(sums["rows"].sum(), axis=0)
