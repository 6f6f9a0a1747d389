"""The tables of the other papers: consistent k-graphs, logistic regression, aCLL."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from benchmarks.harness.output import markdown, panels, save
from benchmarks.harness.places import SUMMARIES
from benchmarks.harness.run import Run
from benchmarks.harness.tables import published
from benchmarks.papers.common import page
from benchmarks.quality import ckg, lr_tables, scores

MEASURED_BY = (ckg, lr_tables, scores)
"""What measures them, and writes to ``docs/measurements``."""
NAME = "papers_others"
TITLE = "The tables of the other papers"
STORE = SUMMARIES / "acll.csv"
"""Written last."""


def run(*, quick: bool) -> None:
    """Measure; the quick run takes what is there."""
    for benchmark in () if quick else MEASURED_BY:
        with warnings.catch_warnings():
            benchmark.main(Run())


def report(folder: Path) -> str:
    """Draw the figures, and return the sections of the page."""
    graphs, pairs, blanket = (pd.read_csv(SUMMARIES / f"{name}.csv") for name in ("ckg", "lr_table1", "lr_table2"))
    acll = pd.read_csv(SUMMARIES / "acll.csv")
    draw(graphs, pairs, acll, folder / f"{NAME}.png")
    cells = [
        [
            row["table"],
            row["rows"],
            row["rows of the paper"],
            *(beside(row[m], row[f"{m} published"]) for m in GRAPHS),
        ]
        for row in graphs.to_dict("records")
    ]
    by_size = pairs.pivot_table(index="interaction", columns="N", values="FAN - NB", sort=False)
    first = published("lr_table1.csv").set_index("interaction")
    gains = [
        [strength, *(beside(row[size], first.loc[strength, f"N{size}"]) for size in by_size.columns)]
        for strength, row in by_size.iterrows()
    ]
    second = published("lr_table2.csv").set_index("N")
    accuracies = [
        [row["N"], *(beside(row[m], second.loc[row["N"], m.replace(" ", "")]) for m in FORESTS)]
        for row in blanket.to_dict("records")
    ]
    means = ", ".join(f"{m} {beside(graphs[m].mean(), graphs[f'{m} published'].mean())}" for m in GRAPHS)
    return page(
        "others",
        name=NAME,
        n_graphs=len(graphs),
        means=means,
        graphs=markdown(["table", "rows", "rows there", *GRAPHS], cells),
        gains=markdown(["interaction", *(f"N = {size}" for size in by_size.columns)], gains),
        accuracies=markdown(["N", *FORESTS], accuracies),
        acll=markdown(["rows, parameters", "classes", "tables", *SCORES], likelihoods(acll)),
    )


def beside(measured: float, paper: float) -> str:
    """Return a figure, and the published one in brackets."""
    return f"{measured:.1f} ({paper:.1f})"


GRAPHS = ("NB", "TAN", "C2G")
FORESTS = ("NB", "pruned NB", "FAN")
SCORES = ("LL", "BDeu", "aCLL Dirichlet", "aCLL uniform")


def likelihoods(found: pd.DataFrame) -> list[list[object]]:
    """Return the mean log loss by score, with p-values against LL, for every setting and kind of class."""
    rows = []
    for setting, of_setting in found.groupby("setting"):
        for words, chosen in (("two", of_setting["classes"] == 2), ("more", of_setting["classes"] > 2)):
            wide = of_setting[chosen].pivot_table(index="table", columns="score", values="log_loss")
            cells = [f"{wide['LL'].mean():.3f}"]
            for score in SCORES[1:]:
                difference = (wide["LL"] - wide[score]).round(9)
                p = wilcoxon(difference).pvalue if difference.any() else 1.0
                cells.append(f"{wide[score].mean():.3f} (p = {p:.2g})")
            rows.append([setting, words, len(wide), *cells])
    return rows


def draw(graphs: pd.DataFrame, pairs: pd.DataFrame, acll: pd.DataFrame, path: Path) -> None:
    """Draw a panel for every paper."""
    figure, axes = panels(1, 3, figsize=(13, 4.2))
    for model, colour in zip(GRAPHS, ("#999933", "#4477aa", "#cc6677"), strict=True):
        axes[0].plot(graphs[f"{model} published"], graphs[model], "o", color=colour, markersize=4, label=model)
    axes[0].plot([70, 100], [70, 100], color="black", linewidth=0.8)
    axes[0].set(title="consistent k-graphs", xlabel="published accuracy, %", ylabel="measured")
    axes[0].legend()
    paper = published("lr_table1.csv").set_index("interaction")
    for strength, colour in zip(paper.index, ("#999933", "#4477aa", "#cc6677", "#117733"), strict=True):
        own = pairs[pairs["interaction"] == strength]
        axes[1].plot(own["N"], own["FAN - NB"], "o-", color=colour, label=strength)
        axes[1].plot(own["N"], [paper.loc[strength, f"N{size}"] for size in own["N"]], "x:", color=colour)
    axes[1].set(title="logistic forests; dotted: published", xlabel="rows", ylabel="accuracy minus NB's, %")
    axes[1].set_xscale("log")
    axes[1].legend(title="interaction", fontsize=7)
    chosen = acll[acll["setting"] == "left out, eap"].pivot_table(index="table", columns="score", values="log_loss")
    limits = [chosen.min().min() * 0.9, chosen.max().max() * 1.1]
    axes[2].plot(limits, limits, color="black", linewidth=0.8)
    for score, colour in (("aCLL Dirichlet", "#4477aa"), ("aCLL uniform", "#cc6677")):
        axes[2].plot(np.maximum(chosen["LL"], limits[0]), chosen[score], "o", color=colour, markersize=4, label=score)
    axes[2].set(
        title="trees by aCLL, left-out rows, EAP",
        xlabel="log loss by LL",
        ylabel="by aCLL",
        xscale="log",
        yscale="log",
    )
    axes[2].set(xscale="log", yscale="log")
    axes[2].legend()
    save(figure, path)
