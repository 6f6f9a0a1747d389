"""Which rule for cut points predicts best: ``python benchmarks/cut_points.py``.

Stratified five-fold cross-validation over the tables of ``../shared/data`` with continuous columns, the cut points
found within every fold, by each rule; classified by naive Bayes (NB), the same refitted by conditional likelihood,
TAN and the exact ANB, all with ``ess="auto"``. Of longer tables, 6,000 rows are drawn once. Means per table:
``docs/results/cut_points.csv``. Resumable; a few minutes. ``python benchmarks/cut_points.py time`` measures the
processor time of the rules alone.
"""

import sys
import time
import warnings

import numpy as np
import pandas as pd
from crossval import RAW, RESULTS, Row, judge, manifest, means, read, run_all, splits
from sklearn.preprocessing import KBinsDiscretizer

from anbexact import ANBClassifier, MDLPDiscretizer, MODLDiscretizer, NaiveBayesClassifier, TANClassifier

FOLDS = 5
MOST_ROWS = 6_000
RULES = {
    "mdlp": MDLPDiscretizer(),
    "mdlp_coarse": MDLPDiscretizer(coarse=True),
    "modl": MODLDiscretizer(),
    "auto": "auto",
    "equal_frequency": "equal_frequency",
    "equal_frequency_8": KBinsDiscretizer(
        8, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf", subsample=None
    ),
}
MODELS = {
    "NB": NaiveBayesClassifier(ess="auto", n_jobs=1),
    "TAN": TANClassifier(ess="auto", n_jobs=1),
    "ANB": ANBClassifier(ess="auto", n_jobs=1),
}
REFITTED = "NB refitted"
MOST_FEATURES = 14
"""Tables with more features have no exact ANB here, as it takes long."""


def sampled(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table, or some of its rows if it is long."""
    X, y = read(name)
    kept = np.sort(np.random.default_rng(0).permutation(len(X))[:MOST_ROWS])
    return X.iloc[kept].reset_index(drop=True), y.iloc[kept].reset_index(drop=True)


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every rule and model."""
    warnings.simplefilter("ignore", UserWarning)  # columns that a rule leaves whole
    X, y = sampled(name)
    train, test = list(splits(y, FOLDS))[fold]
    X_train, y_train, X_test, y_test = X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]
    rows = []
    for rule, discretizer in RULES.items():
        for model, estimator in MODELS.items():
            if model == "ANB" and X.shape[1] > MOST_FEATURES:
                continue
            began = time.process_time()
            fitted = estimator.set_params(discretizer=discretizer).fit(X_train, y_train)
            found = {model: (fitted, time.process_time() - began)}
            if model == "NB" and y.nunique() <= 7:
                found[REFITTED] = fitted.to_logit().refit(X_train, y_train), time.process_time() - began
            cuts = float(np.mean([len(of_column) for of_column in fitted.cut_points_.values()]))
            for of_name, (judged, seconds) in found.items():
                measured = judge(judged.predict_proba(X_test), fitted.classes_.tolist(), y_test)
                row = {"table": name, "fold": fold, "rule": rule, "model": of_name}
                rows.append({**row, **measured, "cuts": cuts, "fit_s": round(seconds, 3)})
    return rows


def speed() -> None:
    """Print the processor seconds of both rules on all columns of magic, kernels compiled."""
    X, y = read("magic")
    for rule in (MDLPDiscretizer(), MODLDiscretizer()):
        rule.fit(X, y)
        began = time.process_time()
        cuts = rule.fit(X, y).cut_points_
        seconds = time.process_time() - began
        print(f"{type(rule).__name__}: {seconds:.3f} s for {X.shape}, intervals {[len(c) + 1 for c in cuts]}")


def compared(per_table: pd.DataFrame, rule: str, others: str) -> pd.DataFrame:
    """Return on how many tables a rule's log loss is lower, and higher, than another's by more than 0.005."""
    losses = per_table["log_loss"].unstack("rule")
    change = losses[rule] - losses[others]
    return pd.DataFrame({"lower": change < -0.005, "higher": change > 0.005}).groupby("model").sum()


def main() -> None:
    """Measure what is missing, then print means and medians over tables."""
    listed = manifest()
    names = listed.loc[listed["continuous"] != "", "name"]
    tasks = [(name, fold) for name in names for fold in range(FOLDS)]
    measured = run_all(tasks, one_fold, RAW / "cut_points.csv")
    per_table = means(measured, ["table", "model", "rule"])
    RESULTS.mkdir(exist_ok=True)
    per_table.round(4).to_csv(RESULTS / "cut_points.csv", lineterminator="\n")
    print(per_table.unstack("rule").round(3).to_string())
    print(per_table.groupby(["model", "rule"]).agg(["mean", "median"]).round(3).to_string())
    print(measured.groupby(["model", "rule"])[["cuts", "fit_s"]].mean().round(3).to_string())
    for other in ("mdlp", "modl", "equal_frequency"):
        print(f"auto against {other}\n{compared(per_table, 'auto', other).to_string()}")


if __name__ == "__main__":
    speed() if sys.argv[1:] == ["time"] else main()
