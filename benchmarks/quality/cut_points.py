"""Which rule for cut points predicts best: accuracy and log loss of naive Bayes, trees and the exact ANB.

Stratified five-fold cross-validation over the tables of ``../shared/data`` with continuous columns, the cut points
found within every fold, by each rule; classified by naive Bayes (NB), the same refitted by conditional likelihood,
TAN and the exact ANB, all with ``ess="auto"``. Of longer tables, 6,000 rows are drawn once.

Target: none; ``docs/guides/cut-points.md`` has the outcome. Takes a few minutes; it is resumable. Writes
``docs/measurements/cut_points.csv``, means per table.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.preprocessing import KBinsDiscretizer

from anbexact import ANBClassifier, MDLPDiscretizer, MODLDiscretizer, NaiveBayesClassifier, TANClassifier
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed

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
            fitted, _, took = timed(estimator.set_params(discretizer=discretizer).fit, X_train, y_train)
            found = {model: (fitted, took)}
            if model == "NB" and y.nunique() <= 7:
                refitted, _, more = timed(fitted.to_logit().refit, X_train, y_train)
                found[REFITTED] = refitted, took + more
            cuts = float(np.mean([len(of_column) for of_column in fitted.cut_points_.values()]))
            for of_name, (judged, seconds) in found.items():
                measured = judge(judged.predict_proba(X_test), fitted.classes_.tolist(), y_test)
                rows.append({"rule": rule, "model": of_name, **measured, "cuts": cuts, "fit_s": round(seconds, 3)})
    return rows


def compared(per_table: pd.DataFrame, rule: str, others: str) -> pd.DataFrame:
    """Return on how many tables a rule's log loss is lower, and higher, than another's by more than 0.005."""
    losses = per_table["log_loss"].unstack("rule")
    change = losses[rule] - losses[others]
    return pd.DataFrame({"lower": change < -0.005, "higher": change > 0.005}).groupby("model").sum()


def main(run: Run) -> None:
    """Measure what is missing, then print means and medians over tables."""
    listed = run.manifest()
    names = listed.loc[listed["continuous"] != "", "name"]
    tasks = [(name, fold) for name in names for fold in run.folds(FOLDS)]
    measured = run.measure("cut_points", ["table", "fold"], tasks, one_fold)
    per_table = means(measured, ["table", "model", "rule"])
    run.write("cut_points", per_table, 4)
    show(per_table.unstack("rule"), decimals=3)
    show(per_table.groupby(["model", "rule"]).agg(["mean", "median"]), decimals=3)
    show(measured.groupby(["model", "rule"])[["cuts", "fit_s"]].mean(), decimals=3)
    for other in ("mdlp", "modl", "equal_frequency"):
        show(compared(per_table, "auto", other), f"auto against {other}")
