"""The accuracies of Carvalho and Oliveira's Table 1 (2007): naive Bayes, trees and consistent 2-graphs.

NB, TAN and the consistent 2-graph (C2G), Friedman smoothing with 5 pseudo-rows, the structure scored by LL on large
training sets and by MDL (BIC) on small ones; continuous columns cut by MDLP, which the paper does not say. Large
tables are split once into as many training and test rows as there, the others cross-validated five-fold. The numbers
of rows stand beside each other, since some tables differ. Reads ``../shared/reference`` and ``../shared/data``.

Target: the published accuracies. Takes a minute. Writes ``docs/measurements/ckg.csv``.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from anbexact import CkGClassifier, NaiveBayesClassifier, TANClassifier
from benchmarks.harness.folds import splits
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import published, read

MODELS = ("NB", "TAN", "C2G")
TABLES = {
    "letter": "letter",
    "chess": "kr-vs-kp",
    "segment": "segment",
    "diabetes": "pima",
    "soybean-large": "soybean",
    "vote": "vote",
    "waveform": "waveform21",
    "heart": "heart",
    "glass": "glass",
    "iris": "iris",
    "hepatitis": "hepatitis",
}
"""What the paper's tables are called here."""
LARGE = 1000
"""Training rows from which LL scores the structure; the paper says only that larger training sets are so scored."""


def accuracies(X: pd.DataFrame, y: pd.Series, train: np.ndarray, test: np.ndarray, score: str) -> dict[str, float]:
    """Return the accuracy of every model on the test rows, in per cent."""
    common = {"parameters": "friedman", "structure_score": score, "ess": 1.0, "discretizer": "mdlp"}
    models = {
        "NB": NaiveBayesClassifier(**common),
        "TAN": TANClassifier(**common),
        "C2G": CkGClassifier(k=2, **common),
    }
    return {
        name: 100 * model.fit(X.iloc[train], y.iloc[train]).score(X.iloc[test], y.iloc[test])
        for name, model in models.items()
    }


def parts(y: pd.Series, paper: pd.Series) -> tuple[list[tuple[np.ndarray, np.ndarray]], str, int]:
    """Return training and test rows as in the paper, the score of the structure, and the rows that the paper had."""
    n_train = int(paper["train"])
    if str(paper["test"]).startswith("CV"):
        return list(splits(y, 5)), "bic", n_train
    rows = n_train + int(paper["test"])
    once = train_test_split(np.arange(len(y)), train_size=n_train / rows, random_state=0, stratify=y)
    return [once], "ll" if n_train >= LARGE else "bic", rows


def one_table(name: str, ours: str, paper: pd.Series) -> Row:
    """Return the accuracies of a table, means over test sets, beside the published ones."""
    X, y = read(ours)
    rows_of_parts, score, n_paper = parts(y, paper)
    results = pd.DataFrame([accuracies(X, y, train, test, score) for train, test in rows_of_parts])
    row: Row = {"table": name, "rows": len(y), "rows of the paper": n_paper, "score": score}
    for model in MODELS:
        row |= {model: results[model].mean(), f"{model} published": paper[model]}
    return row


def main(run: Run) -> None:
    """Measure and print all tables beside the published figures; the smoke run has none."""
    warnings.simplefilter("ignore", UserWarning)
    if run.smoke:
        paper = pd.Series({"train": 60, "test": "CV", **dict.fromkeys(MODELS, np.nan)})
        rows = [one_table(name, name, paper) for name in run.names(TABLES)]
    else:
        figures = published("ckg_table1.csv").set_index("dataset")
        rows = [one_table(name, TABLES[name], figures.loc[name]) for name in run.names(TABLES)]
    frame = pd.DataFrame(rows).set_index("table")
    run.write("ckg", frame, 2)
    show(frame, decimals=2)
    show(frame[[*MODELS, *(f"{model} published" for model in MODELS)]].mean().to_frame("mean"), decimals=2)
