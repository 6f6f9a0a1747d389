"""What smooth shapes bring, by structure, rule of strengths and number of intervals: accuracy and log loss.

Cross-validation (five folds; ten with ``--full``) over the tables of ``../shared/data`` with continuous columns and
at most 1,500 rows and 22 features (all of them with ``--full``, the larger ones without ANB). Naive Bayes, TAN and
exact ANB with their defaults are taken as they were learned (``generative``), refitted by conditional likelihood
(``refit``), and as :class:`~anbexact.AdditiveClassifier` with strengths by evidence (``smooth, evidence``) and by
default (``smooth``); naive Bayes also by cross-validation alone (``smooth, cv``) and with other numbers of intervals;
ANB also with the pairs of its families in their place (``smooth, pairs``). Beside them, what people would take:
scikit-learn's logistic regression (scaled and one-hot, C by cross-validation within the training rows) and random
forest (300 trees, probabilities clipped at 0.001). Everything is learned within the folds.

Target: none; ``docs/smooth-shapes.md`` has the outcome. Takes about a quarter of an hour; it is resumable. Writes
``docs/results/smooth_shapes.csv``, and for every table ``docs/results/smooth_shapes_tables.csv``.
"""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from anbexact import AdditiveClassifier, ANBClassifier, NaiveBayesClassifier, RefittedClassifier, TANClassifier
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed

MODELS = {"NB": NaiveBayesClassifier, "TAN": TANClassifier, "ANB": ANBClassifier}
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "NB": {
        "smooth": {},
        "smooth, evidence": {"smooth": "evidence"},
        "smooth, cv": {"smooth": "cv"},
        "smooth, 8": {"intervals": 8},
        "smooth, 16": {"intervals": 16},
        "smooth, 32": {"intervals": 32},
    },
    "TAN": {"smooth": {}, "smooth, evidence": {"smooth": "evidence"}},
    "ANB": {"smooth": {}, "smooth, evidence": {"smooth": "evidence"}, "smooth, pairs": {"interactions": "pairs"}},
}
MANY_ROWS = 1_500
MOST_FEATURES = 22
"""Features up to which structures are searched exactly."""
SMALLEST = 1e-3
"""Probability below which those of a random forest do not count: it has zeros."""


def prepared() -> Any:
    """Return what makes numbers of the columns: scaled ones, and one of every category."""
    numbers, others = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), others),
    )


def rivals() -> dict[str, Any]:
    """Return what people would take."""
    grid = {"logisticregression__C": list(10.0 ** np.arange(-3, 4))}
    logistic = make_pipeline(prepared(), LogisticRegression(max_iter=2_000))
    return {
        "logistic regression": GridSearchCV(logistic, grid, scoring="neg_log_loss", cv=3),
        "random forest": make_pipeline(prepared(), RandomForestClassifier(300, random_state=0)),
    }


def one_fold(name: str, fold: int, folds: int) -> list[Row]:
    """Return a row for every model and setting."""
    warnings.simplefilter("ignore")
    X, y = read(name)
    train, test = list(splits(y, folds))[fold]
    X_train, y_train, X_test, y_test = X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]
    rows: list[Row] = []

    def add(model: str, setting: str, fitted: Any, seconds: float, least: float = 0.0) -> None:
        proba = np.maximum(fitted.predict_proba(X_test), least)
        proba /= proba.sum(axis=1, keepdims=True)
        judged = judge(proba, list(fitted.classes_), y_test)
        rows.append({"model": model, "setting": setting, **judged, "seconds": seconds})

    for model, classifier in MODELS.items():
        if model == "ANB" and X.shape[1] > MOST_FEATURES:
            continue
        network, took, _ = timed(classifier(n_jobs=1).fit, X_train, y_train)
        add(model, "generative", network, took)
        frozen = FrozenEstimator(network)
        refitted, seconds, _ = timed(RefittedClassifier(frozen).fit, X_train, y_train)
        add(model, "refit", refitted, took + seconds)
        for setting, how in SETTINGS[model].items():
            smooth, seconds, _ = timed(AdditiveClassifier(frozen, **how).fit, X_train, y_train)
            add(model, setting, smooth, took + seconds)
    for model, classifier in rivals().items():
        fitted, took, _ = timed(classifier.fit, X_train, y_train)
        add(model, "", fitted, took, SMALLEST if model == "random forest" else 0.0)
    return rows


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    listed = run.manifest()
    small = (listed["rows"] <= MANY_ROWS) & (listed["features"] <= MOST_FEATURES)
    fitting = listed[(listed["continuous"] != "") & (small | run.full)]
    folds = 10 if run.full else 5
    tasks = [(name, fold, folds) for name in fitting["name"] for fold in run.folds(folds)]
    measured = run.measure("smooth_shapes", ["table", "fold", "folds"], tasks, one_fold)
    measured = measured[measured["folds"] == folds].assign(setting=measured["setting"].fillna(""))
    tables = means(measured, ["table", "model", "setting"])
    tables = tables.join(measured.groupby(["table", "model", "setting"])["seconds"].median())
    run.write("smooth_shapes_tables", tables, 4)
    losses = tables["log_loss"].unstack(["model", "setting"])
    complete = losses.dropna()
    refits = {line: losses[line[0], "refit"] for line in losses if line[0] in MODELS}
    summary = pd.DataFrame(
        {
            "log_loss": complete.mean(),
            "accuracy": tables["accuracy"].unstack(["model", "setting"]).loc[complete.index].mean(),
            "worse_than_refit": pd.Series(
                {line: int((losses[line] > own + 0.01).sum()) for line, own in refits.items()}
            ),
            "tables": len(complete),
        }
    )
    run.write("smooth_shapes", summary.rename_axis(["model", "setting"]), 4)
    show(summary, f"{len(complete)} tables that all lines have", 4)
    show(losses.T, "log loss", 3)
