"""The pool alone, measured again in the folds of ``docs/measurements/pool_folds.csv``.

The other models of :mod:`benchmarks.quality.pool` keep their rows there. Prints, for every table, the log loss and
the seconds of a fit before and after, and writes the files that :mod:`benchmarks.quality.pool` writes. Compare
seconds only if the machine is as fast and as idle as it was in the earlier measurement. It is resumable; delete
``benchmarks/results/pool_again.csv`` to begin anew.

Target: seconds at most a tenth of the earlier ones on two thirds of the tables and a fifth on all, a mean log loss
within 0.001, and worse by more than 0.01 on at most two tables. Takes about an hour and a half, of which
the tables of up to 2,000 rows take a quarter of an hour.
"""

import warnings
from typing import Any

import pandas as pd

from anbexact import PooledClassifier
from benchmarks.harness.folds import judge, splits
from benchmarks.harness.output import show
from benchmarks.harness.places import SUMMARIES
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed
from benchmarks.quality.pool import FOLDS, POOL, rows_of_bins, summarise, tasks

COMPARED = {"accuracy": "mean", "log_loss": "mean", "seconds": "median"}
"""What is compared by table, and how it is summarised over folds."""


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for the pool."""
    warnings.simplefilter("ignore")
    X, y = read(name)
    train, test = list(splits(y, FOLDS))[fold]
    pool, took, _ = timed(PooledClassifier(n_jobs=1).fit, X.iloc[train], y.iloc[train])
    proba, classes = pool.predict_proba(X.iloc[test]), list(pool.classes_)
    judged: dict[str, Any] = {
        **judge(proba, classes, y.iloc[test]),
        **rows_of_bins(proba, classes, y.iloc[test]),
        "seconds": took,
    }
    return [{"model": POOL, **judged}]


def main(run: Run) -> None:
    """Measure the pool where it was measured before, compare, and write the summaries."""
    keys = ["table", "fold"]
    if run.smoke:
        run.measure("pool_again", keys, tasks(run), one_fold, jobs=1)
        return
    before = pd.read_csv(SUMMARIES / "pool_folds.csv")
    listed = run.manifest().sort_values("rows")
    before = before[before["table"].isin(listed["name"])]
    of_pool = before[before["model"] == POOL].set_index(keys)
    order = [(name, fold) for name in listed["name"] for table, fold in sorted(of_pool.index) if table == name]
    again = run.measure("pool_again", keys, order, one_fold, jobs=1)
    again = again[again["table"].isin(listed["name"])]
    again["slowest_member"] = of_pool["slowest_member"].reindex(pd.MultiIndex.from_frame(again[keys])).to_numpy()
    compared = pd.concat(
        {
            "before": of_pool.groupby("table").agg(COMPARED),
            "now": again.groupby("table").agg(COMPARED),
        },
        axis=1,
    )
    share = compared["now", "seconds"] / compared["before", "seconds"]
    rise = compared["now", "log_loss"] - compared["before", "log_loss"]
    show(compared.assign(share=share, rise=rise))
    print(
        f"at most a tenth of the seconds on {(share <= 0.1).mean():.0%} of the tables, a fifth on "
        f"{(share <= 0.2).mean():.0%}; mean log loss {rise.mean():+.4f}, worse by more than 0.01 on "
        f"{(rise > 0.01).sum()} tables"
    )
    if not run.only:
        summarise(run, pd.concat([before[before["model"] != POOL], again], ignore_index=True))
