"""Generative or discriminative? Learning curves of networks as they are learned, and refitted.

Naive Bayes and a tree (TAN) are learned from more and more rows of three embedded tables. Each predicts the
rows left over twice: with its tables as they were learned (generative), and after a refit that maximises the
conditional log likelihood (discriminative), with its prior chosen from the training rows; continuous columns are cut
at the median. Ng and Jordan (2002) found
that naive Bayes needs fewer rows than logistic regression, which ends higher; where does each win here?

    python examples/refit.py [FIGURE.png]        # about a minute
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedShuffleSplit

from anbexact import NaiveBayesClassifier, TANClassifier
from anbexact.adapters import to_logit
from anbexact.datasets import load_dataset

TABLES = {"tic_tac_toe": "tic-tac-toe", "breast_cancer": "breast cancer", "anes96": "1996 election survey"}
SIZES = (20, 40, 80, 160, 320, 640)
MODELS = {"NB": NaiveBayesClassifier, "TAN": TANClassifier}
REPETITIONS = 20
LEAST_TEST = 150
BLUE, ROSE = "#4477aa", "#cc6677"


def one_sample(table: str, size: int, seed: int) -> list[tuple]:
    """Return a row for every model, generative and refitted, learned from one random sample."""
    warnings.simplefilter("ignore", UserWarning)
    X, y = load_dataset(table)
    splitter = StratifiedShuffleSplit(1, train_size=size, test_size=None, random_state=seed)
    ((train, test),) = splitter.split(X, y)
    truth = y.iloc[test].to_numpy()
    rows = []
    for name, model in MODELS.items():
        generative = to_logit(model(discretizer="median", n_jobs=1).fit(X.iloc[train], y.iloc[train]))
        for kind, fitted in (
            ("generative", generative),
            ("refitted", generative.refit(X.iloc[train], y.iloc[train])),
        ):
            proba = fitted.predict_proba(X.iloc[test])
            of_truth = proba[np.arange(len(test)), np.searchsorted(fitted.classes_, truth)]
            right = fitted.classes_[proba.argmax(axis=1)] == truth
            loss = -np.log(np.maximum(of_truth, 1e-12)).mean()
            rows.append((table, size, seed, name, kind, float(right.mean()), float(loss)))
    return rows


def measure() -> pd.DataFrame:
    """Return accuracy and log loss (nats per row) of every sample, model and kind."""
    tasks = [
        (table, size, seed)
        for table in TABLES
        for size in SIZES
        if size + LEAST_TEST <= len(load_dataset(table)[1])
        for seed in range(REPETITIONS)
    ]
    found = Parallel(2)(delayed(one_sample)(*task) for task in tasks)
    columns = ["table", "rows", "seed", "model", "kind", "accuracy", "log_loss"]
    return pd.DataFrame([row for rows in found for row in rows], columns=columns)


def gains(measured: pd.DataFrame) -> pd.DataFrame:
    """Return how much lower the refit's log loss is, by table, model and number of rows: mean and standard error."""
    wide = measured.set_index(["table", "model", "rows", "seed", "kind"])["log_loss"].unstack("kind")
    gain = wide["generative"] - wide["refitted"]
    return gain.groupby(["table", "model", "rows"]).agg(["mean", "sem"])


def verdict(gain: pd.DataFrame) -> str:
    """Return words for where the refit lowers and raises the log loss by more than two standard errors."""
    lower = gain.index[gain["mean"] > 2 * gain["sem"]].tolist()
    higher = gain.index[gain["mean"] < -2 * gain["sem"]].tolist()
    parts = [f"{verb} it at {listed(sizes)}" for verb, sizes in (("lowers", lower), ("raises", higher)) if sizes]
    return (" and ".join(parts) or "changes it at no number of") + " rows"


def listed(sizes: list[int]) -> str:
    """Return sizes as a range where they are neighbours, else one by one."""
    places = [SIZES.index(size) for size in sizes]
    if len(places) > 1 and places[-1] - places[0] == len(places) - 1:
        return f"{sizes[0]} to {sizes[-1]}"
    return ", ".join(map(str, sizes))


def report(measured: pd.DataFrame) -> None:
    """Print the means, and one sentence for each table."""
    means = measured.groupby(["table", "rows", "model", "kind"])[["accuracy", "log_loss"]].mean()
    print(f"Means over {REPETITIONS} samples; log loss in nats per row")
    print(means.unstack(["model", "kind"]).loc[list(TABLES)].round(3).to_string())
    print("\nWhat the refit does to the log loss, counting differences beyond two standard errors:")
    loss = gains(measured)
    for table, title in TABLES.items():
        said = []
        for model in MODELS:
            gain = loss.loc[table, model]
            before, after = (means.loc[table, gain.index[-1], model, kind] for kind in ("generative", "refitted"))
            said.append(
                f"for {model} it {verdict(gain)} ({before['log_loss']:.3f} becomes {after['log_loss']:.3f} with "
                f"{gain.index[-1]}, and accuracy {before['accuracy']:.3f} becomes {after['accuracy']:.3f})"
            )
        print(f"- {title}: {'; '.join(said)}.")


def draw(measured: pd.DataFrame, path: str) -> None:
    """Draw accuracy and log loss against the number of rows."""
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    colours = dict(zip(MODELS, (BLUE, ROSE), strict=True))
    styles = {"generative": ("--", "o", "white"), "refitted": ("-", "o", None)}
    rows = {"accuracy": "accuracy", "log_loss": "log loss (nats per row)"}
    figure, axes = plt.subplots(2, len(TABLES), figsize=(11, 6.2), layout="constrained", sharex="col")
    for j, (table, title) in enumerate(TABLES.items()):
        curves = measured[measured["table"] == table].groupby(["model", "kind", "rows"])
        curves = curves[["accuracy", "log_loss"]].agg(["mean", "sem"])
        for i, (key, label) in enumerate(rows.items()):
            ax = axes[i, j]
            for model, colour in colours.items():
                for kind, (line, marker, face) in styles.items():
                    curve = curves.loc[model, kind][key]
                    ax.fill_between(
                        curve.index,
                        curve["mean"] - curve["sem"],
                        curve["mean"] + curve["sem"],
                        color=colour,
                        alpha=0.15,
                        linewidth=0,
                    )
                    ax.plot(
                        curve.index,
                        curve["mean"],
                        line,
                        marker=marker,
                        color=colour,
                        markerfacecolor=face or colour,
                        markersize=4.5,
                        linewidth=1.6,
                    )
            ax.set_xscale("log")
            sizes = [size for size in SIZES if size in curves.index.get_level_values("rows")]
            ax.set_xticks(sizes, sizes)
            ax.minorticks_off()
            ax.grid(axis="y", color="0.9", linewidth=0.8)
            ax.set_axisbelow(True)
            ax.spines[["top", "right"]].set_visible(False)
            if i == 0:
                ax.set_title(title)
            else:
                ax.set_ylim(bottom=0)
                ax.set_xlabel("training rows")
            if j == 0:
                ax.set_ylabel(label)
    handles = [
        Line2D(
            [],
            [],
            color=colours[model],
            linestyle=styles[kind][0],
            marker="o",
            markersize=4.5,
            markerfacecolor=styles[kind][2] or colours[model],
            label=f"{model}, {kind}",
        )
        for model in MODELS
        for kind in styles
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False, handlelength=3)
    figure.savefig(path, dpi=120)
    print(f"\ndrawn to {path}")


if __name__ == "__main__":
    results = measure()
    report(results)
    if len(sys.argv) > 1:
        draw(results, sys.argv[1])
