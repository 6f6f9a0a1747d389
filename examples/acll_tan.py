"""Which score makes the better tree: aCLL, LL or BDeu?

Carvalho, Adão and Mateus (2013) report that trees learned by the approximated conditional log likelihood (aCLL)
reach a higher conditional log likelihood than trees learned by the likelihood (LL). This script asks the same of
embedded tables: over random halves of each, one to learn from and one to predict, it compares tree augmented naive
Bayes classifiers (TAN) that differ in the score of their structure alone, and tests the differences by Wilcoxon's
signed-rank test over the halves.

    python examples/acll_tan.py [FIGURE.png]
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon
from sklearn.model_selection import StratifiedShuffleSplit

from anbexact import TANClassifier
from anbexact.datasets import load_dataset
from anbexact.scores import ACLL

TABLES = ("anes96", "balance_scale", "breast_cancer", "iris", "monks1", "monks2", "monks3", "tic_tac_toe", "wine")
MODELS = {
    "LL": TANClassifier(structure_score="ll", ess=1.0),
    "BDeu": TANClassifier(structure_score="bdeu", ess=1.0),
    "aCLL, Dirichlet": TANClassifier(structure_score="acll", ess=1.0),
    "aCLL, uniform": TANClassifier(structure_score=ACLL(prior="uniform"), ess=1.0),
}
HALVES = 20


def measure() -> pd.DataFrame:
    """Return conditional log likelihood (nats per row) and accuracy, one line for each table, half and model."""
    rows = []
    for table in TABLES:
        X, y = load_dataset(table)
        splitter = StratifiedShuffleSplit(HALVES, test_size=0.5, random_state=0)
        for half, (train, test) in enumerate(splitter.split(X, y)):
            truth = y.iloc[test].to_numpy()
            for name, model in MODELS.items():
                proba = model.fit(X.iloc[train], y.iloc[train]).predict_proba(X.iloc[test])
                of_truth = proba[np.arange(len(test)), np.searchsorted(model.classes_, truth)]
                right = model.classes_[proba.argmax(axis=1)] == truth
                rows.append((table, half, name, float(np.log(of_truth).mean()), float(right.mean())))
    return pd.DataFrame(rows, columns=["table", "half", "model", "cll", "accuracy"])


def p_value(differences: pd.Series) -> float:
    """Return Wilcoxon's two-sided p-value; 1 where nothing differs."""
    values = differences.to_numpy().round(12)
    return float(wilcoxon(values).pvalue) if values.any() else 1.0


def report(measured: pd.DataFrame) -> None:
    """Print means by table, and every score against LL."""
    for measure_, title in (
        ("cll", "Conditional log likelihood, nats per row (higher is better)"),
        ("accuracy", "Accuracy"),
    ):
        print(f"\n{title}: means over {HALVES} random halves")
        means = measured.pivot_table(index="table", columns="model", values=measure_)[list(MODELS)]
        print(means.round(4).to_string())
        wide = measured.pivot_table(index=["table", "half"], columns="model", values=measure_)
        for name in list(MODELS)[1:]:
            difference = wide[name] - wide["LL"]
            by_table = difference.groupby("table")
            better = sum(p_value(of_table) < 0.05 and of_table.median() > 0 for _, of_table in by_table)
            worse = sum(p_value(of_table) < 0.05 and of_table.median() < 0 for _, of_table in by_table)
            print(
                f"{name} against LL: mean difference {difference.mean():+.4f}; significantly better on {better} "
                f"tables, worse on {worse} (p < 0.05); over the {len(TABLES)} means of tables "
                f"p = {p_value(by_table.mean()):.3f}"
            )


def draw(measured: pd.DataFrame, path: str) -> None:
    """Draw the differences from LL, one row for each table."""
    import matplotlib.pyplot as plt

    wide = measured.pivot_table(index=["table", "half"], columns="model", values="cll")
    figure, axes = plt.subplots(1, len(MODELS) - 1, figsize=(11, 4), sharey=True, layout="constrained")
    for ax, name in zip(axes, list(MODELS)[1:], strict=True):
        difference = wide[name] - wide["LL"]
        for place, table in enumerate(TABLES):
            values = difference[table]
            ax.plot(values, np.full(len(values), place), "|", color="#4477aa", alpha=0.6, markersize=9)
            ax.plot(values.mean(), place, "o", color="#cc6677", markersize=5)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_xscale("symlog", linthresh=0.01)
        ax.set_title(name)
        ax.set_xlabel("CLL minus that of LL (nats per row)")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(len(TABLES)), TABLES)
    axes[0].invert_yaxis()
    figure.savefig(path, dpi=120)
    print(f"\ndrawn to {path}")


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=UserWarning)
    results = measure()
    report(results)
    if len(sys.argv) > 1:
        draw(results, sys.argv[1])
