"""What smooth shapes bring, by structure, rule of strengths and number of intervals: accuracy and log loss.

Ten-fold cross-validation over the tables of ``../shared/data`` with continuous columns. Naive Bayes, TAN and, for at
most 22 features, exact ANB with their defaults are taken as they were learned (``generative``), refitted by
conditional likelihood (``refit``; ANB for at most 1,500 rows), and as :class:`~anbexact.AdditiveClassifier`
(``smooth``); for at most 1,500 rows, ANB also with the pairs of its families in their place (``smooth, pairs``). On
tables of at most 400 rows and 22 features, naive Bayes has other numbers of intervals, and structures are also
learned on five intervals of equal frequency. Beside them, what people would take: scikit-learn's logistic regression
(scaled and one-hot, C by cross-validation within the training rows) and random forest (300 trees, probabilities
clipped at 0.001). Everything is learned within the folds.

The rules of strengths, by the evidence and by cross-validation alone, are compared on six tables more, whose columns
are whole numbers or which come with other packages, for naive Bayes, and for TAN on at most 6,400 rows. Of tables
with more than 1,500 rows, they are measured on the first fold.

Target: a mean log loss of smooth ANB or TAN 0.03 below those of logistic regression, random forest and the refit
without an order; worse than this by more than 0.01 on at most two tables. ``docs/guides/smooth-shapes.md`` has the
outcome. Takes about five hours; it is resumable. Writes ``docs/measurements/smooth_shapes.csv``, with means over all
tables, over those with ANB, over those with ANB refitted and over those with all settings,
``docs/measurements/smooth_rules.csv`` with means over the tables of the rules, and for every table
``docs/measurements/smooth_shapes_tables.csv``.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from anbexact import AdditiveClassifier, ANBClassifier, NaiveBayesClassifier, RefittedClassifier, TANClassifier
from anbexact.datasets import load_anes96, load_breast_cancer
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import Table, read
from benchmarks.harness.timing import timed

MODELS = {"NB": NaiveBayesClassifier, "TAN": TANClassifier, "ANB": ANBClassifier}
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "NB": {
        "smooth": {},
        "smooth, evidence": {"smooth": "evidence"},
        "smooth, cv": {"smooth": "cv"},
        "smooth, 8": {"intervals": 8},
        "smooth, 16": {"intervals": 16},
        "smooth, 24": {"intervals": 24},
    },
    "TAN": {"smooth": {}, "smooth, evidence": {"smooth": "evidence"}, "smooth, cv": {"smooth": "cv"}},
    "ANB": {"smooth": {}, "smooth, pairs": {"interactions": "pairs"}},
}
RULES = {"smooth": "auto", "smooth, evidence": "evidence", "smooth, cv": "cv"}
"""Settings that are rules of strengths."""
FOR_RULES = ("breast-w", "balance-scale", "hayes-roth", "breast cancer", "anes96", "fair")
"""Tables on which the rules alone are compared, for naive Bayes and TAN."""
RULE_ROWS = 6_400
"""Rows up to which the rules are compared for TAN."""
FEW_ROWS = 400
"""Rows up to which tables are measured with all settings."""
LEARNED_ON_FIVE = "smooth, five intervals"
"""A smooth refit of a network learned on five intervals of equal frequency in every column."""
FOLDS = 10
MANY_ROWS = 1_500
"""Rows beyond which smooth shapes are those of families alone, and rules are compared on the first fold."""
MOST_FEATURES = 22
"""Features up to which structures are searched exactly."""
SMALLEST = 1e-3
"""Probability below which those of a random forest do not count: it has zeros."""


def table_of(name: str) -> Table:
    """Return the features and the class of a shared table, or of one that comes with a package."""
    if name == "fair":
        fair = sm.datasets.fair.load_pandas().data
        return fair.drop(columns="affairs"), (fair["affairs"] > 0).map({True: "yes", False: "no"}).rename("affair")
    return {"anes96": load_anes96, "breast cancer": load_breast_cancer}.get(name, lambda: read(name))()


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


def one_fold(name: str, fold: int, folds: int, model: str, part: str) -> list[Row]:
    """Return a row for every setting of a network, as it is (``plain``) or smooth, or for a rival."""
    warnings.simplefilter("ignore")
    X, y = table_of(name)
    train, test = list(splits(y, folds))[fold]
    X_train, y_train, X_test, y_test = X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]
    rows: list[Row] = []

    def add(setting: str, fitted: Any, seconds: float, least: float = 0.0) -> None:
        proba = np.maximum(fitted.predict_proba(X_test), least)
        proba /= proba.sum(axis=1, keepdims=True)
        judged = judge(proba, list(fitted.classes_), y_test)
        rows.append({"setting": setting, **judged, "seconds": seconds})

    if part == "rival":
        fitted, took, _ = timed(rivals()[model].fit, X_train, y_train)
        add("", fitted, took, SMALLEST if model == "random forest" else 0.0)
        return rows
    network, took, _ = timed(MODELS[model](n_jobs=1).fit, X_train, y_train)
    frozen = FrozenEstimator(network)
    if part == "plain":
        add("generative", network, took)
        if model == "ANB" and len(y) > MANY_ROWS:
            return rows
        refitted, seconds, _ = timed(RefittedClassifier(frozen).fit, X_train, y_train)
        add("refit", refitted, took + seconds)
        return rows
    small = len(y) <= FEW_ROWS and X.shape[1] <= MOST_FEATURES
    settings = {"smooth"} if len(y) > MANY_ROWS else {"smooth", "smooth, pairs"}
    settings |= set(SETTINGS[model]) - set(RULES) if small else set()
    if (model == "NB" or len(y) <= RULE_ROWS) and (fold == 0 or len(y) <= MANY_ROWS):
        settings |= set(RULES)
    if name in FOR_RULES:
        settings &= set(RULES)
    for setting, how in SETTINGS[model].items():
        if setting in settings:
            smooth, seconds, _ = timed(AdditiveClassifier(frozen, **how).fit, X_train, y_train)
            add(setting, smooth, took + seconds)
    if model != "NB" and small and name not in FOR_RULES:
        five = MODELS[model](n_jobs=1, discretizer="equal_frequency")
        smooth, seconds, _ = timed(AdditiveClassifier(five).fit, X_train, y_train)
        add(LEARNED_ON_FIVE, smooth, seconds)
    return rows


def tasks(run: Run) -> Iterator[tuple[str, int, int, str, str]]:
    """Yield table, fold, number of folds, model and part of what is measured, small tables first."""
    listed = run.manifest()
    fitting = listed[listed["continuous"] != ""].assign(cells=listed["rows"] * listed["features"])
    for _, table in fitting.sort_values("cells").iterrows():
        searched = [model for model in MODELS if model != "ANB" or table["features"] <= MOST_FEATURES]
        parts = [(model, part) for part in ("plain", "smooth") for model in searched]
        parts += [(model, "rival") for model in rivals()]
        for fold in run.folds(FOLDS):
            yield from ((table["name"], fold, FOLDS, *part) for part in parts)
    for name in run.names(FOR_RULES, continuous=True):
        for fold in run.folds(1 if len(table_of(name)[1]) > MANY_ROWS else FOLDS):
            yield from ((name, fold, FOLDS, model, "smooth") for model in ("NB", "TAN"))


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    measured = run.measure("smooth_shapes", ["table", "fold", "folds", "model", "part"], tasks(run), one_fold)
    measured = measured.assign(setting=measured["setting"].fillna(""))
    line = ["table", "model", "setting"]
    tables = means(measured, line).join(measured.groupby(line)["seconds"].median())
    tables = tables.join(measured.groupby(line)["fold"].nunique().rename("folds"))
    run.write("smooth_shapes_tables", tables, 4)
    losses = tables["log_loss"].unstack(["model", "setting"])
    by_fold = measured.groupby(["model", "table", "fold", "setting"])["log_loss"].mean().unstack()
    by_fold = by_fold[list(RULES)].dropna()
    compared = {model: _of_rules(by_fold.loc[model].groupby("table").mean()) for model in ("NB", "TAN")}
    chosen = pd.concat(compared, names=["model", "setting"])
    run.write("smooth_rules", chosen, 4)
    show(chosen, "rules of strengths", 4)
    of_rules = losses.columns.get_level_values("setting").isin(set(RULES) - {"smooth"})
    losses = losses.loc[~losses.index.isin(FOR_RULES), ~of_rules]
    refits = {line: losses[line[0], "refit"] for line in losses if line[0] in MODELS}

    def measured_too(setting: str) -> pd.DataFrame:
        return losses[losses["ANB", setting].notna()] if ("ANB", setting) in losses else losses

    groups = {
        "all_tables": losses,
        "tables_with_anb": measured_too("smooth"),
        "tables_with_anb_refit": measured_too("refit"),
        "tables_with_all_settings": losses.dropna(),
    }
    worse = {line: int((losses[line] > own + 0.01).sum()) for line, own in refits.items()}
    summary = pd.DataFrame({f"log_loss_{name}": own.mean(skipna=False) for name, own in groups.items()})
    summary = summary.assign(tables=losses.notna().sum(), worse_than_refit=pd.Series(worse))
    run.write("smooth_shapes", summary.rename_axis(["model", "setting"]), 4)
    show(summary, ", ".join(f"{name}: {len(own)}" for name, own in groups.items()), 4)
    show(losses.T, "log loss", 3)


def _of_rules(losses: pd.DataFrame) -> pd.DataFrame:
    """Return means by rule, and how many tables have a log loss above the lowest by more than 0.01."""
    above = losses.sub(losses.min(axis=1), axis=0)
    found = {
        "tables": losses.count(),
        "log_loss": losses.mean(),
        "best": (above == 0).sum(),
        "worse": (above > 0.01).sum(),
    }
    return pd.DataFrame(found)
