"""What nobody sets anything gets: ``ANBClassifier()`` beside its former defaults: ``python benchmarks/defaults.py``.

Ten-fold cross-validation over the tables of ``../shared/data`` with up to 16 features, but for letter and pendigits,
everything chosen from the training rows. ``python benchmarks/defaults.py all`` takes all tables, and hours. Writes
``docs/results/defaults.csv``. Resumable; about two minutes.
"""

import sys
import warnings
from time import perf_counter
from typing import Any

import pandas as pd
from crossval import RAW, RESULTS, Row, judge, manifest, means, read, run_all, splits

from anbexact import ANBClassifier

FORMER: dict[str, Any] = {"ess": 1.0, "discretizer": "mdlp", "group_categories": None}
"""The papers' equivalent sample size, cut points by MDLP, categories as they are."""
SETTINGS: dict[str, dict[str, Any]] = {"former defaults": FORMER, "defaults": {}}

MOST_FEATURES = 16
LONG = ("letter", "pendigits")
"""Tables that are left out unless the command line says ``all``, as are those with more features."""


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every setting."""
    warnings.simplefilter("ignore")
    X, y = read(name)
    train, test = list(splits(y))[fold]
    rows = []
    for setting, parameters in SETTINGS.items():
        began = perf_counter()
        fitted = ANBClassifier(n_jobs=1, **parameters).fit(X.iloc[train], y.iloc[train])
        seconds = perf_counter() - began
        judged = judge(fitted.predict_proba(X.iloc[test]), fitted.classes_.tolist(), y.iloc[test])
        chosen = {"ess": fitted.ess_, "smoothing": fitted.smoothing_, "arcs": len(fitted.structure_.feature_edges)}
        rows.append({"table": name, "fold": fold, "setting": setting, **judged, **chosen, "seconds": seconds})
    return rows


def main() -> None:
    """Measure what is missing, then print the comparison."""
    listed = manifest()
    if "all" not in sys.argv[1:]:
        listed = listed[(listed["features"] <= MOST_FEATURES) & ~listed["name"].isin(LONG)]
    names = listed["name"]
    tasks = [(name, fold) for name in names for fold in range(10)]
    measured = run_all(tasks, one_fold, RAW / "defaults.csv")
    summary = means(measured, ["table", "setting"])
    medians = measured.groupby(["table", "setting"])[["ess", "smoothing", "arcs", "seconds"]].median()
    summary.join(medians).round(4).to_csv(RESULTS / "defaults.csv", lineterminator="\n")
    for key, sign in (("log_loss", -1), ("accuracy", 1)):
        values = summary[key].unstack("setting")[list(SETTINGS)]
        gain = sign * (values["defaults"] - values["former defaults"])
        print(f"\n{key}\n{values.assign(gain=gain).round(3).to_string()}")
        print(pd.DataFrame({"mean": values.mean(), "median": values.median()}).round(4).to_string())
        print(f"better by more than 0.02 on {(gain > 0.02).sum()}, worse on {(gain < -0.02).sum()} of {len(gain)}")


if __name__ == "__main__":
    pd.set_option("display.width", 200)
    main()
