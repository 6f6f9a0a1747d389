"""What hierarchical tables bring to sparse and to dense networks, beside random forests.

Ten-fold cross-validation over the tables of ``../shared/data`` with at most 2,000 rows (20,000 with ``--full``).
Naive Bayes, TAN, and kDB with k = 2 and 5, with ``parameters="eap"`` (equivalent sample sizes chosen) and with
``parameters="hierarchical"``; kDB with k = 5 also with measured columns cut into eight intervals of equal frequency;
and scikit-learn's random forest (300 trees, probabilities clipped at 0.001). Everything is learned within the folds.

Target: kDB with k = 5 and hierarchical tables is as accurate as the random forest on half of the tables. Takes some
minutes, or more than an hour with ``--full``; it is resumable. Writes ``docs/measurements/hierarchical.csv``, and for
every table ``docs/measurements/hierarchical_tables.csv``.
"""

import warnings
from typing import Any

import numpy as np
import pandas as pd

from anbexact import NaiveBayesClassifier, TANClassifier
from anbexact.classifiers import KDBClassifier
from anbexact.classifiers.pooling.members import equal_frequency
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed
from benchmarks.quality.smooth_shapes import SMALLEST, rivals

NETWORKS: dict[str, tuple[Any, dict[str, Any]]] = {
    "NB": (NaiveBayesClassifier, {}),
    "TAN": (TANClassifier, {}),
    "kDB, k = 2": (KDBClassifier, {"k": 2}),
    "kDB, k = 5": (KDBClassifier, {"k": 5}),
    "kDB, k = 5, 8 intervals": (KDBClassifier, {"k": 5, "discretizer": equal_frequency(8)}),
}
FOREST = "random forest"
MANY_ROWS, MOST_ROWS = 2_000, 20_000
FOLDS = 10


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every model."""
    warnings.simplefilter("ignore")
    X, y = read(name)
    train, test = list(splits(y, FOLDS))[fold]
    rows: list[Row] = []

    def add(model: str, tables: str, classifier: Any, least: float = 0.0) -> None:
        fitted, seconds, _ = timed(classifier.fit, X.iloc[train], y.iloc[train])
        proba = np.maximum(fitted.predict_proba(X.iloc[test]), least)
        proba /= proba.sum(axis=1, keepdims=True)
        judged = judge(proba, list(fitted.classes_), y.iloc[test])
        rows.append({"model": model, "tables": tables, **judged, "seconds": seconds})

    for model, (classifier, parameters) in NETWORKS.items():
        for tables in ("eap", "hierarchical"):
            add(model, tables, classifier(n_jobs=1, parameters=tables, **parameters))
    add(FOREST, "", rivals()[FOREST], SMALLEST)
    return rows


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    listed = run.manifest()
    fitting = listed[listed["rows"] <= (MOST_ROWS if run.full else MANY_ROWS)].sort_values("rows")
    tasks = [(name, fold) for name in fitting["name"] for fold in run.folds(FOLDS)]
    measured = run.measure("hierarchical", ["table", "fold"], tasks, one_fold, jobs=1)
    measured = measured.assign(tables=measured["tables"].fillna(""))
    of_table = means(measured, ["table", "model", "tables"])
    run.write("hierarchical_tables", of_table, 4)
    losses = of_table["log_loss"].unstack(["model", "tables"]).dropna()
    accuracy = of_table["accuracy"].unstack(["model", "tables"]).loc[losses.index]
    summary = pd.DataFrame({"log_loss": losses.mean(), "accuracy": accuracy.mean()})
    others = {line: losses[line[0], "eap"] for line in losses if line[1] == "hierarchical"}
    summary["better_than_eap"] = pd.Series({line: int((losses[line] < of).sum()) for line, of in others.items()})
    summary["worse_by_0.02"] = pd.Series({line: int((losses[line] > of + 0.02).sum()) for line, of in others.items()})
    forest = accuracy[FOREST, ""]
    summary["as_accurate_as_forest"] = [int((accuracy[line] >= forest - 1e-12).sum()) for line in summary.index]
    run.write("hierarchical", summary.rename_axis(["model", "tables"]), 4)
    show(summary, f"{len(losses)} tables", 4)
    show(losses.T, "log loss", 3)
