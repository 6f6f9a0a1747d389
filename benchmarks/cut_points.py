"""Which rule for cut points predicts best: ``python benchmarks/cut_points.py``.

Ten-fold cross-validation over the tables of ``../shared/data`` with continuous columns, the cut points found within
every fold, by each rule; classified by naive Bayes (NB), the best structure with at most one feature parent (the
TAN-like), and the exact ANB. Summary: ``docs/results/cut_points.csv``. Resumable; about half an hour.
"""

import time

import numpy as np
from crossval import RAW, RESULTS, Row, judge, manifest, means, read, run_all, splits

from anbexact import ANBClassifier, NaiveBayesClassifier

RULES = ("median", "mdlp", "equal_frequency", "equal_width")
MODELS = {
    "NB": NaiveBayesClassifier(n_jobs=1),
    "TAN-like": ANBClassifier(max_parents=1, n_jobs=1),
    "ANB": ANBClassifier(n_jobs=1),
}
MOST_FEATURES = 20
"""Tables with more features have no exact ANB here: with five intervals its tables outgrow the memory."""


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every rule and model."""
    X, y = read(name)
    train, test = list(splits(y))[fold]
    rows = []
    for rule in RULES:
        for model, estimator in MODELS.items():
            if X.shape[1] > (MOST_FEATURES if model == "ANB" else 25 if model == "TAN-like" else 100):
                continue
            began = time.perf_counter()
            try:
                fitted = estimator.set_params(discretizer=rule).fit(X.iloc[train], y.iloc[train])
            except ValueError:  # the optimum has a table beyond memory
                nothing = {"rows": len(test), "accuracy": np.nan, "log_loss": np.nan, "cuts": np.nan, "fit_s": np.nan}
                rows.append({"table": name, "fold": fold, "rule": rule, "model": model, **nothing})
                continue
            seconds = time.perf_counter() - began
            judged = judge(fitted.predict_proba(X.iloc[test]), fitted.classes_.tolist(), y.iloc[test])
            cuts = float(np.mean([len(of_column) for of_column in fitted.cut_points_.values()]))
            rows.append(
                {"table": name, "fold": fold, "rule": rule, "model": model, **judged, "cuts": cuts, "fit_s": seconds}
            )
    return rows


def main() -> None:
    """Measure what is missing, then print means over tables."""
    listed = manifest()
    names = listed.loc[listed["continuous"] != "", "name"]
    tasks = [(name, fold) for name in names for fold in range(10)]
    measured = run_all(tasks, one_fold, RAW / "cut_points.csv")
    per_table = means(measured, ["table", "model", "rule"])
    RESULTS.mkdir(exist_ok=True)
    per_table.round(4).to_csv(RESULTS / "cut_points.csv", lineterminator="\n")
    print(per_table.unstack("rule").round(3).to_string())
    print(per_table.groupby(["model", "rule"]).mean().round(4).to_string())


if __name__ == "__main__":
    main()
