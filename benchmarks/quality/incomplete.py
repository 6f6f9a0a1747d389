"""Learning from rows with missing cells: expectation maximisation beside what people do instead.

Five-fold cross-validation of NB and TAN, both with ``ess="auto"``. Cells of ten complete tables are removed from all
columns, in training and in test rows: 20 % at random (``random``), five times; with ``--full`` also 10 and 40 %, and
20 % not at random (``by itself``: a cell in the upper half of its column's values goes nine times as often as
another), once each. Compared are

- ``dropping``: rows with a missing cell are left out of training (``handle_missing="marginalize"``);
- ``own state``: a missing cell is a state (``"own_state"``);
- ``mode``, ``kNN``, ``iterative``: cells are filled in before, by scikit-learn: the most frequent value (the median
  of a continuous column), the mean of the five nearest rows, or regressions in turn (``IterativeImputer``), the last
  two on the numbers of the states, rounded to the nearest; test rows by what was learned from training rows;
- ``EM``: ``handle_missing="em"``.

Missing cells of test rows are summed out by dropping and EM. Where dropping leaves a class without rows, it is
refused, and counts as worse. Tables with missing cells of their own are read from
``benchmarks/results/gaps/NAME.arff`` (files of the UCI repository), where that is present.

Target: EM has a lower log loss than dropping and than the mode on 8 of 10 tables at 20 %, at random. Which of two
ways is better on a small table depends on the cells that go, so these are removed five times; losses are means.
Takes ten minutes (``--full``: a quarter of an hour); it is resumable. Writes ``docs/measurements/incomplete.csv``.
"""

import csv
import re
import time
import warnings
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  # scikit-learn asks for it
from sklearn.impute import IterativeImputer, KNNImputer

from anbexact import NaiveBayesClassifier, TANClassifier
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import show
from benchmarks.harness.places import RESULTS
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import Table, read

COMPLETE = (
    "heart", "wine", "glass", "pima", "breast-cancer", "breast-w", "vote", "tic-tac-toe", "hayes-roth", "liver",
)  # fmt: skip
REAL = ("hepatitis", "breast", "housevotes", "mammographic", "horsecolic", "soybean")
PATTERNS = ("random 0.2", "by itself 0.2", "random 0.1", "random 0.4")
METHODS = {"dropping": "marginalize", "own state": "own_state", "EM": "em"}
IMPUTERS = ("mode", "kNN", "iterative")
MODELS = {"NB": NaiveBayesClassifier, "TAN": TANClassifier}
FOLDS = 5
MASKS = 5
"""How often 20 % of the cells are removed at random."""
IDENTIFIERS = ("Hospital_Number",)
"""Columns that are left out."""
ARFF_FILES = RESULTS / "gaps"
FEWEST_IN_CLASS = 5
MANY = 10


def read_arff(name: str) -> Table:
    """Return a table of an ARFF file; ``?`` is a missing cell."""
    names, numeric, rows, data = [], [], [], False
    for line in map(str.strip, (ARFF_FILES / f"{name}.arff").read_text(errors="replace").splitlines()):
        if data and line and not line.startswith("%"):
            rows.append([cell.strip().strip("'") for cell in next(csv.reader([line], quotechar="'"))])
        elif line.lower().startswith("@attribute"):
            found = re.match(r"@attribute\s+('[^']*'|\S+)\s+(.*)", line, re.IGNORECASE)
            names.append(found[1].strip("'"))
            numeric.append(not found[2].startswith("{"))
        data = data or line.lower().startswith("@data")
    frame = pd.DataFrame(rows, columns=names, dtype=object)
    frame = frame.where(frame != "?", None)
    for column in [name for name, number in zip(names, numeric, strict=True) if number]:
        frame[column] = pd.to_numeric(frame[column])
    y = frame.pop(names[-1]).astype(str).rename("class")
    kept = y.map(y.value_counts()) >= FEWEST_IN_CLASS
    frame = frame.drop(columns=[name for name in IDENTIFIERS if name in frame])
    return frame[kept].reset_index(drop=True), y[kept].reset_index(drop=True)


def load(name: str, pattern: str, mask: int) -> Table:
    """Return a table, without the cells that a pattern removes; ``mask`` is the seed of chance."""
    if pattern == "its own":
        return read_arff(name)
    X, y = read(name)
    mechanism, share = pattern.rsplit(" ", 1)
    rng = np.random.default_rng(mask)
    out = X.astype({name: object for name in X if X[name].dtype.kind not in "iuf"})
    for column in X:
        chance = np.full(len(X), float(share))
        if mechanism == "by itself":
            ranks = pd.Series(pd.factorize(X[column], sort=True)[0]).rank(pct=True).to_numpy()
            chance = float(share) * np.where(ranks > 0.5, 1.8, 0.2)
        out[column] = out[column].mask(rng.random(len(X)) < chance)
    return out, y


def imputed(method: str, X: pd.DataFrame, X_test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return training and test rows with their missing cells filled in."""
    X, X_test = X.copy(), X_test.copy()
    continuous = [name for name in X if X[name].dtype.kind in "iuf" and X[name].nunique() > MANY]
    if method == "mode":
        for name in X:
            filler = X[name].median() if name in continuous else X[name].mode().iloc[0]
            X[name], X_test[name] = X[name].fillna(filler), X_test[name].fillna(filler)
        return X, X_test
    states = {name: sorted(X[name].dropna().unique()) for name in X if name not in continuous}
    numbers = [
        pd.DataFrame(
            {
                name: frame[name].map({state: k for k, state in enumerate(states[name])})
                if name in states
                else frame[name]
                for name in X
            },
            dtype=float,
        )
        for frame in (X, X_test)
    ]
    spread = numbers[0].std().replace(0, 1).fillna(1)
    imputer: Any = KNNImputer(keep_empty_features=True) if method == "kNN" else IterativeImputer(random_state=0)
    filled = imputer.fit(numbers[0] / spread)
    parts = []
    for frame, codes in zip((X, X_test), numbers, strict=True):
        values = pd.DataFrame(filled.transform(codes / spread), columns=codes.columns, index=frame.index) * spread
        for name in states:
            place = values[name].round().clip(0, len(states[name]) - 1).astype(int)
            values[name] = [states[name][k] for k in place]
        parts.append(values[list(frame.columns)])
    return parts[0], parts[1]


def one_fold(name: str, pattern: str, mask: int, fold: int) -> list[Row]:
    """Return a row for every model and method."""
    warnings.simplefilter("ignore")
    X, y = load(name, pattern, mask)
    train, test = list(splits(y, FOLDS))[fold]
    rows = []
    for method, model in product((*METHODS, *IMPUTERS), MODELS):
        measured = {"rows": len(test), "accuracy": np.nan, "log_loss": np.nan}
        began = time.process_time()
        try:
            parts = X.iloc[train], X.iloc[test]
            if method in IMPUTERS:
                parts = imputed(method, *parts)
            fitted = MODELS[model](handle_missing=METHODS.get(method, "auto"), n_jobs=1)
            fitted.fit(parts[0], y.iloc[train])
            seconds = time.process_time() - began
            measured = judge(fitted.predict_proba(parts[1]), fitted.classes_.tolist(), y.iloc[test])
        except ValueError:  # no complete row, or none of a class
            seconds = np.nan
        rows.append({"model": model, "method": method, **measured, "seconds": seconds})
    return rows


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    patterns = PATTERNS if run.full else PATTERNS[:1]
    masks = {pattern: range(1, (MASKS if pattern == PATTERNS[0] else 1) + 1) for pattern in patterns}
    made = [(name, pattern, mask) for pattern in patterns for mask in masks[pattern] for name in run.names(COMPLETE)]
    real = [(name, "its own", 0) for name in REAL if not run.smoke and (ARFF_FILES / f"{name}.arff").exists()]
    real = [task for task in real if not run.only or task[0] in run.only]
    tasks = [(*one, fold) for one in (made[:1] if run.smoke else made + real) for fold in run.folds(FOLDS)]
    measured = run.measure("incomplete", ["table", "pattern", "mask", "fold"], tasks, one_fold, jobs=1)
    keys = ["table", "pattern", "model", "method"]
    refused = measured.groupby(keys)["log_loss"].apply(lambda losses: losses.isna().any())
    summary = means(measured, keys).mask(refused)
    summary["seconds"] = measured.groupby(keys)["seconds"].mean()
    run.write("incomplete", summary, 4)
    losses = summary["log_loss"].unstack("method")[[*METHODS, *IMPUTERS]]
    show(losses, "log loss", 3)
    for model, pattern in product(MODELS, (*PATTERNS, "its own")):
        some = losses[
            (losses.index.get_level_values("model") == model) & (losses.index.get_level_values("pattern") == pattern)
        ]
        better = {other: int((some["EM"] < some[other].fillna(np.inf)).sum()) for other in losses if other != "EM"}
        print(
            f"{model}, {pattern}: EM is better than "
            + ", ".join(f"{k} on {v}" for k, v in better.items())
            + f" of {len(some)}"
        )
