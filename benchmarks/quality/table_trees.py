"""How well tables as decision trees predict, compared with hierarchical tables.

Three folds of ten over the tables of ``../shared/data`` with at most 2,000 rows (20,000 with ``--full``). kDB with
k = 2, 3 and 5, and with k = 5 on measured columns cut into eight intervals of equal frequency, with ``parameters`` of
``"eap"`` (equivalent sample sizes chosen), ``"hierarchical"`` and ``"tree"``. Everything is learned within the folds.

Target: with five parents, trees are more often more accurate than hierarchical tables than less accurate. Takes some
minutes, or more than half an hour with ``--full``; it is resumable. Writes ``docs/measurements/table_trees.csv``, and
for every table ``docs/measurements/table_trees_tables.csv``.
"""

import warnings
from typing import Any

import numpy as np
import pandas as pd

from anbexact.classifiers import KDBClassifier
from anbexact.classifiers.pooling.members import equal_frequency
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed

NETWORKS: dict[str, dict[str, Any]] = {
    "kDB, k = 2": {"k": 2},
    "kDB, k = 3": {"k": 3},
    "kDB, k = 5": {"k": 5},
    "kDB, k = 5, 8 intervals": {"k": 5, "discretizer": equal_frequency(8)},
}
RULES = ("eap", "hierarchical", "tree")
MANY_ROWS, MOST_ROWS = 2_000, 20_000
FOLDS, MEASURED = 10, 3


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every network and rule."""
    warnings.simplefilter("ignore")
    X, y = read(name)
    train, test = list(splits(y, FOLDS))[fold]
    rows: list[Row] = []
    for model, parameters in NETWORKS.items():
        for rule in RULES:
            classifier = KDBClassifier(n_jobs=1, parameters=rule, **parameters)
            fitted, seconds, _ = timed(classifier.fit, X.iloc[train], y.iloc[train])
            judged = judge(fitted.predict_proba(X.iloc[test]), list(fitted.classes_), y.iloc[test])
            rows.append({"model": model, "tables": rule, **judged, "seconds": seconds})
    return rows


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    listed = run.manifest()
    fitting = listed[listed["rows"] <= (MOST_ROWS if run.full else MANY_ROWS)].sort_values("rows")
    tasks = [(name, fold) for name in fitting["name"] for fold in run.folds(MEASURED)]
    measured = run.measure("table_trees", ["table", "fold"], tasks, one_fold, jobs=1)
    of_table = means(measured, ["table", "model", "tables"], ["accuracy", "log_loss", "seconds"])
    run.write("table_trees_tables", of_table, 4)
    losses = of_table["log_loss"].unstack(["model", "tables"]).dropna()
    accuracy = of_table["accuracy"].unstack(["model", "tables"]).loc[losses.index]
    seconds = of_table["seconds"].unstack(["model", "tables"]).loc[losses.index]
    summary = pd.DataFrame({"log_loss": losses.mean(), "accuracy": accuracy.mean(), "seconds": seconds.median()})
    trees = [(model, "tree") for model in NETWORKS]
    others = {line: (line[0], "hierarchical") for line in trees}
    summary["lower_loss"] = pd.Series({line: int((losses[line] < losses[of]).sum()) for line, of in others.items()})
    summary["higher_accuracy"] = pd.Series(
        {line: int((accuracy[line] > accuracy[of] + 1e-12).sum()) for line, of in others.items()}
    )
    summary["lower_accuracy"] = pd.Series(
        {line: int((accuracy[line] < accuracy[of] - 1e-12).sum()) for line, of in others.items()}
    )
    run.write("table_trees", summary.rename_axis(["model", "tables"]), 4)
    show(summary, f"{len(losses)} tables", 4)
    show(np.round(losses.T, 3), "log loss", 3)
