"""The tables of the other papers: consistent k-graphs, logistic regression, aCLL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from crossval import RESULTS
from scipy.stats import wilcoxon

from papers.common import markdown, published

SCRIPTS = ("ckg.py", "lr_tables.py", "scores.py")
"""What measures them, and writes to ``docs/results``."""
NAME = "papers_others"
TITLE = "The tables of the other papers"
STORE = RESULTS / "acll.csv"
"""Written last."""


def run(*, quick: bool) -> None:
    """Measure; the quick run takes what is there."""
    for script in () if quick else SCRIPTS:
        print(f"{script}:", file=sys.stderr)
        subprocess.run([sys.executable, str(Path(__file__).resolve().parents[1] / script)], check=True)


def report(folder: Path) -> str:
    """Draw the figures, and return the sections of the page."""
    graphs, pairs, blanket = (pd.read_csv(RESULTS / f"{name}.csv") for name in ("ckg", "lr_table1", "lr_table2"))
    acll = pd.read_csv(RESULTS / "acll.csv")
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
    return "\n\n".join(
        [
            "## Carvalho and Oliveira, Table 1: consistent k-graphs",
            f"Accuracy in per cent, in brackets as published. Means over {len(graphs)} tables: {means}.",
            markdown(["table", "rows", "rows there", *GRAPHS], cells),
            f"![the tables of the other papers]({NAME}.png)",
            ON_GRAPHS,
            "## Feelders and Ivanovs, Tables 1 and 2: logistic regression",
            "Table 1, accuracy of the forest minus that of naive Bayes, percentage points; in brackets, published:",
            markdown(["interaction", *(f"N = {size}" for size in by_size.columns)], gains),
            "Table 2, accuracy in per cent:",
            markdown(["N", *FORESTS], accuracies),
            ON_LOGISTIC,
            "## Carvalho, Adão and Mateus: trees by aCLL",
            "Mean log loss of optimal trees, by the score of the structure; p-values of Wilcoxon's test against LL:",
            markdown(["rows, parameters", "classes", "tables", *SCORES], likelihoods(acll)),
            ON_ACLL,
        ]
    )


def beside(measured: float, paper: float) -> str:
    """Return a figure, and the published one in brackets."""
    return f"{measured:.1f} ({paper:.1f})"


GRAPHS = ("NB", "TAN", "C2G")
FORESTS = ("NB", "pruned NB", "FAN")
ON_GRAPHS = """\
The paper's finding holds where rows are many: trees beat naive Bayes, 2-graphs beat trees. Its glass is surely
another task, its segment lower for a reason that it does not give. Cut points are by MDLP here, which it does not
state. All figures: [ckg.csv](ckg.csv)."""
ON_LOGISTIC = """\
The paper does not give the distributions that it drew from, so levels differ, in Table 2 most of all; signs and order
agree: forests lose a little where rows are few or nothing interacts, and gain where interactions are mild or strong.
All figures: [lr_table1.csv](lr_table1.csv), [lr_table2.csv](lr_table2.csv)."""
ON_ACLL = """\
The published order, aCLL above LL, is not found on these tables; it is where the parameters are aCLL's own and the
data like the paper's ([docs/scores.md](../scores.md)). All figures: [acll.csv](acll.csv); on embedded tables
`python examples/acll_tan.py`, [acll_tan.png](acll_tan.png)."""
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
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
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
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
