"""What you get if you set nothing: accuracy and log loss of ``ANBClassifier()``, beside its former defaults.

Ten-fold cross-validation over the tables of ``../shared/data`` with up to 16 features, but for letter and pendigits,
everything chosen from the training rows. With ``--full`` over all tables.

Target: the former defaults; ``docs/background/equivalent-sample-size.md`` has the outcome. Takes two minutes, with
``--full`` hours; it is resumable. Writes ``docs/measurements/defaults.csv``.
"""

import warnings
from typing import Any

import pandas as pd

from anbexact import ANBClassifier
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed

FORMER: dict[str, Any] = {"ess": 1.0, "discretizer": "mdlp", "group_categories": None}
"""The papers' equivalent sample size, cut points by MDLP, categories as they are."""
SETTINGS: dict[str, dict[str, Any]] = {"former defaults": FORMER, "defaults": {}}
FOLDS = 10
MOST_FEATURES = 16
LONG = ("letter", "pendigits")
"""Tables that are left out without ``--full``, as are those with more features."""


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every setting."""
    warnings.simplefilter("ignore")
    X, y = read(name)
    train, test = list(splits(y, FOLDS))[fold]
    rows = []
    for setting, parameters in SETTINGS.items():
        fitted, seconds, _ = timed(ANBClassifier(n_jobs=1, **parameters).fit, X.iloc[train], y.iloc[train])
        judged = judge(fitted.predict_proba(X.iloc[test]), fitted.classes_.tolist(), y.iloc[test])
        chosen = {"ess": fitted.ess_, "smoothing": fitted.smoothing_, "arcs": len(fitted.structure_.feature_edges)}
        rows.append({"setting": setting, **judged, **chosen, "seconds": seconds})
    return rows


def main(run: Run) -> None:
    """Measure what is missing, then print the comparison."""
    listed = run.manifest()
    if not run.full:
        listed = listed[(listed["features"] <= MOST_FEATURES) & ~listed["name"].isin(LONG)]
    tasks = [(name, fold) for name in listed["name"] for fold in run.folds(FOLDS)]
    measured = run.measure("defaults", ["table", "fold"], tasks, one_fold)
    summary = means(measured, ["table", "setting"])
    medians = measured.groupby(["table", "setting"])[["ess", "smoothing", "arcs", "seconds"]].median()
    run.write("defaults", summary.join(medians), 4)
    for key, sign in (("log_loss", -1), ("accuracy", 1)):
        values = summary[key].unstack("setting")[list(SETTINGS)]
        gain = sign * (values["defaults"] - values["former defaults"])
        show(values.assign(gain=gain), key, 3)
        show(pd.DataFrame({"mean": values.mean(), "median": values.median()}), decimals=4)
        print(f"better by more than 0.02 on {(gain > 0.02).sum()}, worse on {(gain < -0.02).sum()} of {len(gain)}")
