"""Coverage and size of conformal sets on small tables, beside those of MAPIE.

Ten tables of ``../shared/data`` with 9 features at most; continuous columns are cut into five intervals of equal
frequency. Each is split 200 times into 200 rows to learn from (two thirds, if there are fewer than 300) and 25 more.
Full conformal sets relearn the structure for each class; split conformal sets, here and in MAPIE, set aside a quarter
of the rows to learn from. All of them are made with augmented naive Bayes (``ess=1.0``), at a confidence of 90 %, by
1 - P(class | row). "By chance" means that ties count in part. MAPIE is left out if it is not installed.

Target: coverage of 90 ± 1 % by chance, 90 % or more otherwise, and sets no larger than MAPIE's on average. Takes
five minutes; it is resumable. Writes ``docs/measurements/conformal.csv``.
"""

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator

from anbexact import ANBClassifier
from anbexact.conformal import FullConformalClassifier, SplitConformalClassifier
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import Table, read

TABLES = (
    "balance-scale", "hayes-roth", "iris", "car", "liver", "monk1", "pima", "breast-cancer", "tic-tac-toe", "cmc",
)  # fmt: skip
SPLITS, SPLITS_AT_ONCE = 200, 10
MOST_TRAINING, TEST_ROWS = 200, 25
CALIBRATION = 0.25
CONFIDENCE = 0.9
FULL, SPLIT, MAPIE = "full", "split", "MAPIE, split"


def as_codes(name: str) -> Table:
    """Return a table of codes of states, which all libraries take: one column of whole numbers for each feature."""
    X, y = read(name)
    cut = {
        column: pd.qcut(X[column], 5, labels=False, duplicates="drop")
        if pd.api.types.is_numeric_dtype(X[column]) and X[column].nunique() > 10
        else pd.factorize(X[column], sort=True)[0]
        for column in X
    }
    return pd.DataFrame(cut, index=X.index).astype(np.int64), pd.Series(pd.factorize(y, sort=True)[0], y.index)


def network(X: pd.DataFrame, y: pd.Series) -> ANBClassifier:
    """Return the classifier behind all sets, the states of all columns declared."""
    states = {column: sorted(X[column].unique().tolist()) for column in X}
    return ANBClassifier(
        ess=1.0,
        categories={**states, "class": sorted(y.unique().tolist())},
        drop_identifiers=False,
        n_jobs=1,
    )


def mapie_sets(model: Any, calibration: Table, X: pd.DataFrame) -> np.ndarray:
    """Return MAPIE's sets, shape (rows, classes)."""
    from mapie.classification import SplitConformalClassifier as Mapie

    found = Mapie(model, confidence_level=CONFIDENCE, conformity_score="lac", prefit=True)
    found.conformalize(*calibration)
    return np.asarray(found.predict_set(X)[1][:, :, 0])


def some_splits(name: str, batch: int) -> list[Row]:
    """Return the mean coverage and set size of every method over some splits of a table."""
    warnings.simplefilter("ignore")
    X, y = as_codes(name)
    n_train = min(MOST_TRAINING, 2 * len(y) // 3)
    model = network(X, y)
    found: dict[tuple[str, bool], list[tuple[float, float]]] = {}

    def keep(method: str, chance: bool, sets: np.ndarray, truth: np.ndarray) -> None:
        inside = sets[np.arange(len(truth)), truth]
        found.setdefault((method, chance), []).append((float(inside.mean()), float(sets.sum(axis=1).mean())))

    for split in range(batch * SPLITS_AT_ONCE, (batch + 1) * SPLITS_AT_ONCE):
        order = np.random.default_rng(split).permutation(len(y))
        train, test = order[:n_train], order[n_train : n_train + TEST_ROWS]
        new, truth = X.iloc[test], y.iloc[test].to_numpy()
        n_calibration = round(CALIBRATION * n_train)
        set_aside, first = train[:n_calibration], train[n_calibration:]
        full = FullConformalClassifier(model, random_state=split).fit(X.iloc[train], y.iloc[train])
        half = model.fit(X.iloc[first], y.iloc[first])
        frozen = SplitConformalClassifier(FrozenEstimator(half), calibration=1.0, random_state=split)
        frozen.fit(X.iloc[set_aside], y.iloc[set_aside])
        for method, conformal in ((FULL, full), (SPLIT, frozen)):
            for chance in (False, True):
                sets = conformal.set_params(smoothed=chance).predict_set(new, confidence=CONFIDENCE).sets
                keep(method, chance, sets.to_numpy(), truth)
        if find_spec("mapie") is not None:
            keep(MAPIE, False, mapie_sets(half, (X.iloc[set_aside], y.iloc[set_aside]), new), truth)
    return [
        {
            "method": method,
            "by chance": chance,
            "coverage": np.mean([c for c, _ in own]),
            "size": np.mean([s for _, s in own]),
        }
        for (method, chance), own in found.items()
    ]


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    batches = run.folds(SPLITS // SPLITS_AT_ONCE)
    tasks = [(name, batch) for name in run.names(TABLES) for batch in batches]
    measured = run.measure("conformal", ["table", "batch"], tasks, some_splits, jobs=1)
    keys = ["table", "method", "by chance"]
    summary = measured.groupby(keys, sort=False)[["coverage", "size"]].mean()
    run.write("conformal", summary, 4)
    show(summary["coverage"].unstack(["method", "by chance"]), "coverage", 3)
    show(summary["size"].unstack(["method", "by chance"]), "mean size of the sets", 3)
    show(summary.groupby(["method", "by chance"]).mean(), "means over the tables", 4)
