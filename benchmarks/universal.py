"""Densities by the universal measure against cut points and other densities: ``python benchmarks/universal.py``.

Ten-fold cross-validation over tables of numbers: iris, wine and breast cancer come with scikit-learn, the others are
in ``../shared/data``. The universal measure (default; Hannan and Quinn's criterion with ε = 0.05; two feature parents
at most; a tree; naive Bayes) stands beside cut points by MDLP (the exact ANB, a tree, naive Bayes), Gaussian and
kernel naive Bayes. With cut points, the ANB of the 30 features of breast cancer is not proved optimal within 90 s:
there the tree stands in. Summary: ``docs/results/universal.csv`` and ``universal.md``.
Resumable; a quarter of an hour.
"""

from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from crossval import RAW, RESULTS, Row, judge, means, read, run_all, splits
from sklearn.naive_bayes import GaussianNB
from tables import DATA

from anbexact import ANBClassifier, NaiveBayesClassifier, TANClassifier, UniversalMeasure
from anbexact.compare.kde import KernelNaiveBayes
from anbexact.datasets import load_dataset

EMBEDDED = ("iris", "wine", "breast_cancer")
OTHERS = ("glass", "magic", "htru2", "banknote", "liver", "pima", "segment", "pendigits")
MEASURED: dict[str, Any] = {"continuous": "universal", "n_jobs": 1}
MODELS = {
    "ANB universal": ANBClassifier(**MEASURED),
    "ANB universal, HQ": ANBClassifier(continuous=UniversalMeasure(epsilon=0.05), n_jobs=1),
    "ANB universal, 2 parents": ANBClassifier(max_parents=2, **MEASURED),
    "TAN universal": TANClassifier(**MEASURED),
    "NB universal": NaiveBayesClassifier(**MEASURED),
    "ANB MDLP": ANBClassifier(discretizer="mdlp", n_jobs=1, ess=1.0),
    "TAN MDLP": TANClassifier(discretizer="mdlp", n_jobs=1, ess=1.0),
    "NB MDLP": NaiveBayesClassifier(discretizer="mdlp", n_jobs=1, ess=1.0),
    "GaussianNB": GaussianNB(),
    "KDE-NB": KernelNaiveBayes(),
}
MOST_FEATURES = 20
"""Tables with more features have no ANB with cut points here: that of breast cancer is not proved within 90 s."""
KEYS = ("accuracy", "log_loss", "brier")
NOTES = """Written by `python benchmarks/universal.py`; do not edit. Ten-fold cross-validation, everything learned
anew in every fold. Log loss in nats per row; Brier scores from 0 to 2; fit s: seconds to learn, mean per fold, with
two folds at a time. Best in bold. breast_cancer has 30 features: with cut points, its ANB is not proved optimal
within 90 s, and the tree stands in."""


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return features and class."""
    return load_dataset(name) if name in EMBEDDED else read(name)


def brier(proba: np.ndarray, classes: list[str], truth: pd.Series) -> float:
    """Return the mean of Σ_c (P(c) - [c is true])², 0 to 2."""
    true = truth.to_numpy()[:, None] == np.array(classes)
    unseen = ~true.any(axis=1)
    return float((((proba - true) ** 2).sum(axis=1) + unseen).mean())


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every model."""
    X, y = load(name)
    train, test = list(splits(y))[fold]
    rows = []
    for model, estimator in MODELS.items():
        if model == "ANB MDLP" and X.shape[1] > MOST_FEATURES:
            continue
        began = perf_counter()
        fitted = estimator.fit(X.iloc[train], y.iloc[train])
        seconds = perf_counter() - began
        proba, classes, truth = fitted.predict_proba(X.iloc[test]), fitted.classes_.tolist(), y.iloc[test]
        judged = judge(proba, classes, truth) | {"brier": brier(proba, classes, truth)}
        rows.append({"table": name, "fold": fold, "model": model, **judged, "fit_s": seconds})
    return rows


def markdown(summary: pd.DataFrame, key: str) -> str:
    """Return one measure as a table in Markdown, the best of every table of data in bold, but of times none."""
    wide = summary[key].unstack("table", sort=False)
    best = wide.max() if key == "accuracy" else wide.min()
    lines = [f"| {key.replace('_', ' ')} | {' | '.join(wide)} |", f"| --- |{' --- |' * wide.shape[1]}"]
    for model, of_model in wide.iterrows():
        cells = [
            "-" if np.isnan(value) else f"**{value:.3f}**" if key in KEYS and value == best[table] else f"{value:.3f}"
            for table, value in of_model.items()
        ]
        lines.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing, then summarise."""
    names = [*EMBEDDED, *(name for name in OTHERS if (DATA / f"{name}.csv.gz").exists())]
    absent = [name for name in OTHERS if name not in names]
    if absent:
        print(f"left out, since {DATA} lacks them: {', '.join(absent)}")
    measured = run_all([(name, fold) for name in names for fold in range(10)], one_fold, RAW / "universal.csv")
    by = ["table", "model"]
    summary = means(measured, by, KEYS).join(measured.groupby(by)["fit_s"].mean())
    order = pd.MultiIndex.from_product([names, MODELS], names=by)
    summary = summary.reindex(order).dropna().round(4)
    RESULTS.mkdir(exist_ok=True)
    summary.to_csv(RESULTS / "universal.csv", lineterminator="\n")
    parts = [markdown(summary, key) for key in (*KEYS, "fit_s")]
    text = "\n\n".join(["# The universal measure against cut points and other densities", NOTES, *parts])
    (RESULTS / "universal.md").write_text(f"{text}\n")
    print(text)


if __name__ == "__main__":
    main()
