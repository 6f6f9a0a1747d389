"""What refitting by conditional likelihood brings, and how precise its prior should be: accuracy and log loss.

Cross-validation over the tables of ``../shared/data`` with up to 22 features and 6,000 rows (ten folds; five from
2,000 rows on), of four classifiers with their defaults. Each is taken as it was learned (``generative``), with
equivalent sample sizes chosen from the data (``ess auto``), and as logistic regression refitted by conditional
likelihood, with a prior chosen by cross-validation within the training rows (``refit auto``), with a fixed one
(``refit 10`` and so on), or with none, where the fit then stopped (``refit 0``). All states are declared, so that no
test row shows a new one. Every table counts once, whatever its size.

Target: none; ``docs/guides/logit.md`` has the outcome. Takes about a quarter of an hour; it is resumable. Writes
``docs/measurements/refit.csv``, and for every table ``docs/measurements/refit_tables.csv``.
"""

import warnings
from typing import Any

import pandas as pd
from scipy.stats import wilcoxon

from anbexact import ANBClassifier, FANClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.adapters import to_logit
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed

MODELS = {"NB": NaiveBayesClassifier, "TAN": TANClassifier, "FAN": FANClassifier, "ANB": ANBClassifier}
PENALTIES = {
    "refit auto": "auto",
    "refit 100": 100.0,
    "refit 10": 10.0,
    "refit 1": 1.0,
    "refit 0.1": 0.1,
    "refit 0": 0.0,
}
AUTO_AUTO = "ess auto, refit auto"
MOST_FEATURES, MOST_ROWS = 22, 6_000
MANY_ROWS = 2_000
TIME_LIMIT = 60.0
SAME = 1e-3
"""Differences up to this count as none."""


def n_folds(rows: int) -> int:
    """Return how many folds a table of so many rows is cut into."""
    return 10 if rows < MANY_ROWS else 5


def with_states(X: pd.DataFrame) -> pd.DataFrame:
    """Return the features, all but continuous ones with their states declared."""
    continuous = {name for name in X if pd.api.types.is_numeric_dtype(X[name]) and X[name].nunique() > 10}
    return X.astype({name: "category" for name in X if name not in continuous})


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every model and setting."""
    warnings.simplefilter("ignore", UserWarning)
    X, y = read(name)
    X = with_states(X)
    train, test = list(splits(y, n_folds(len(y))))[fold]
    X_train, y_train = X.iloc[train], y.iloc[train]
    rows: list[Row] = []

    def add(model: str, setting: str, fitted: Any, seconds: float, l2: Any = None, separated: Any = None) -> None:
        judged = judge(fitted.predict_proba(X.iloc[test]), fitted.classes_.tolist(), y.iloc[test])
        row = {"model": model, "setting": setting, **judged}
        rows.append({**row, "l2": l2, "separated": separated, "seconds": seconds})

    for model, classifier in MODELS.items():
        for ess, words in ((1.0, ""), ("auto", "ess auto")):
            fitted, took, _ = timed(classifier(n_jobs=1, ess=ess).fit, X_train, y_train)
            add(model, words or "generative", fitted, took)
            logit = to_logit(fitted)
            for setting, l2 in PENALTIES.items():
                if (ess == "auto" and l2 != "auto") or (model == "ANB" and l2 == 0.0):
                    continue
                refitted, took, _ = timed(logit.refit, X_train, y_train, l2=l2, time_limit=TIME_LIMIT)
                found = refitted.refitted
                add(model, f"{words}, {setting}".lstrip(", "), refitted, took, found.l2, found.fit.separated)
    return rows


def against(values: pd.DataFrame, base: str, sign: int) -> pd.DataFrame:
    """Return, for every setting, on how many tables it is better and worse than another, and Wilcoxon's p."""
    rows = {}
    for setting in values:
        gain = (sign * (values[setting] - values[base])).dropna().round(9)
        p = wilcoxon(gain).pvalue if gain.any() else 1.0
        rows[setting] = {"better": int((gain > SAME).sum()), "worse": int((gain < -SAME).sum()), "p": p}
    return pd.DataFrame(rows).T.astype({"better": int, "worse": int})


def summarise(summary: pd.DataFrame) -> pd.DataFrame:
    """Return means over tables, wins and losses against the generative model, and p-values, by model and setting."""
    parts = []
    for model in MODELS:
        of_model = summary.xs(model, level="model")
        order = list(dict.fromkeys(of_model.index.get_level_values("setting")))
        part = {}
        for key, sign in (("log_loss", -1), ("accuracy", 1)):
            values = of_model[key].unstack("setting")[order]
            compared = against(values, "generative", sign)
            part[key] = values.mean()
            part |= {f"{key}_{column}": compared[column] for column in compared}
            if key == "log_loss":
                part["log_loss_median"] = values.median()
        frame = pd.DataFrame(part)
        frame.insert(0, "model", model)
        parts.append(frame.rename_axis("setting").reset_index().set_index(["model", "setting"]))
    return pd.concat(parts)


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    listed = run.manifest()
    fitting = listed[(listed["features"] <= MOST_FEATURES) & (listed["rows"] <= MOST_ROWS)]
    sizes = zip(fitting["name"], fitting["rows"], strict=True)
    tasks = [(name, fold) for name, rows in sizes for fold in run.folds(n_folds(rows))]
    measured = run.measure("refit", ["table", "fold"], tasks, one_fold)
    tables = means(measured, ["table", "model", "setting"])
    groups = measured.groupby(["table", "model", "setting"])
    tables = tables.join(groups[["l2", "seconds"]].median()).join(groups["separated"].mean())
    run.write("refit_tables", tables, 4)
    summary = summarise(tables)
    order = [(model, setting) for model in MODELS for setting in ("generative", "ess auto", *PENALTIES, AUTO_AUTO)]
    summary = summary.reindex([key for key in order if key in summary.index])
    run.write("refit", summary, 4)
    show(summary, f"{len(fitting)} tables", 4)
    for key in ("log_loss", "accuracy"):
        values = tables.xs("refit auto", level="setting")[key].unstack("model")
        before = tables.xs("generative", level="setting")[key].unstack("model")
        show(pd.concat({"generative": before, "refitted": values}, axis=1), f"{key}: generative, refitted", 3)
    for model in MODELS:
        losses = tables.xs(model, level="model")["log_loss"].unstack("setting")
        compared = against(losses.drop(columns="refit 0", errors="ignore"), "refit auto", -1)
        show(compared, f"{model}: log loss against that of refit auto", 4)
