"""Densities by the universal measure against cut points and other densities: accuracy, log loss and Brier score.

Ten-fold cross-validation over tables of numbers: iris, wine and breast cancer come with scikit-learn, the others are
in ``../shared/data``. The universal measure (default; Hannan and Quinn's criterion with ε = 0.05; two feature parents
at most; a tree; naive Bayes) stands beside cut points by MDLP (the exact ANB, a tree, naive Bayes), Gaussian and
kernel naive Bayes. With cut points, the ANB of the 30 features of breast cancer is not proved optimal within 90 s:
there the tree stands in.

Target: none; ``docs/guides/continuous.md`` has the outcome. Takes a quarter of an hour; it is resumable. Writes
``docs/measurements/universal.csv`` and ``universal.md``.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.naive_bayes import GaussianNB

from anbexact import ANBClassifier, NaiveBayesClassifier, TANClassifier, UniversalMeasure
from anbexact.compare.kde import KernelNaiveBayes
from anbexact.datasets import load_dataset
from benchmarks.harness.folds import brier, judge, means, splits
from benchmarks.harness.output import markdown, template, write_page
from benchmarks.harness.places import DATA
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed

EMBEDDED = ("iris", "wine", "breast_cancer")
OTHERS = ("glass", "magic", "htru2", "banknote", "liver", "pima", "segment", "pendigits")
MEASURED: dict[str, Any] = {"continuous": "universal", "n_jobs": 1}
MODELS = {
    "ANB universal": ANBClassifier(**MEASURED),
    "ANB universal, HQ": ANBClassifier(continuous=UniversalMeasure(epsilon=0.05), n_jobs=1),
    "ANB universal, 2 parents": ANBClassifier(max_parents=2, **MEASURED),
    "TAN universal": TANClassifier(**MEASURED),
    "NB universal": NaiveBayesClassifier(**MEASURED),
    "ANB MDLP": ANBClassifier(discretizer="mdlp", n_jobs=1, ess=1.0),
    "TAN MDLP": TANClassifier(discretizer="mdlp", n_jobs=1, ess=1.0),
    "NB MDLP": NaiveBayesClassifier(discretizer="mdlp", n_jobs=1, ess=1.0),
    "GaussianNB": GaussianNB(),
    "KDE-NB": KernelNaiveBayes(),
}
FOLDS = 10
MOST_FEATURES = 20
"""Tables with more features have no ANB with cut points here: that of breast cancer is not proved within 90 s."""
KEYS = ("accuracy", "log_loss", "brier")


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return features and class."""
    return load_dataset(name) if name in EMBEDDED else read(name)


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every model."""
    X, y = load(name)
    train, test = list(splits(y, FOLDS))[fold]
    rows = []
    for model, estimator in MODELS.items():
        if model == "ANB MDLP" and X.shape[1] > MOST_FEATURES:
            continue
        fitted, seconds, _ = timed(estimator.fit, X.iloc[train], y.iloc[train])
        proba, classes, truth = fitted.predict_proba(X.iloc[test]), fitted.classes_.tolist(), y.iloc[test]
        judged = judge(proba, classes, truth) | {"brier": brier(proba, classes, truth)}
        rows.append({"model": model, **judged, "fit_s": seconds})
    return rows


def table_of(summary: pd.DataFrame, key: str) -> str:
    """Return one measure as a table in Markdown, the best of every table of data in bold, but of times none."""
    wide = summary[key].unstack("table", sort=False)
    best = wide.max() if key == "accuracy" else wide.min()

    def cell(value: float, table: str) -> str:
        if np.isnan(value):
            return "-"
        return f"**{value:.3f}**" if key in KEYS and value == best[table] else f"{value:.3f}"

    rows = [[model, *(cell(value, table) for table, value in row.items())] for model, row in wide.iterrows()]
    return markdown([key.replace("_", " "), *wide], rows)


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    names = run.names([*EMBEDDED, *OTHERS], continuous=True)
    absent = [name for name in names if name in OTHERS and not (DATA / f"{name}.csv.gz").exists()]
    if absent:
        print(f"left out, since {DATA} lacks them: {', '.join(absent)}")
    names = [name for name in names if name not in absent]
    tasks = [(name, fold) for name in names for fold in run.folds(FOLDS)]
    measured = run.measure("universal", ["table", "fold"], tasks, one_fold)
    by = ["table", "model"]
    summary = means(measured, by, KEYS).join(measured.groupby(by)["fit_s"].mean())
    order = pd.MultiIndex.from_product([names, MODELS], names=by)
    summary = summary.reindex(order).dropna().round(4)
    run.write("universal", summary)
    tables = {key: table_of(summary, key) for key in (*KEYS, "fit_s")}
    text = template(Path(__file__).parent, "universal").substitute(tables)
    if not run.only:
        write_page(run.summaries / "universal.md", text)
    print(text)
