"""Sugahara and Ueno's Table 5: accuracy of the exact ANB after searches for the parents and children of the class."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from papers.accuracy import STORE, by_table, measured
from papers.common import listed, markdown, published, write
from papers.methods import SELECTORS
from papers.store import stored

NAME = "papers_table5"
TITLE = "Table 5: accuracy after selection"
BAYES = "BayesFactor"
"""What the paper calls fsANB in this table."""
LABELS = {**{name: name for name in SELECTORS}, "fsANB-BDeu": BAYES, "ANB-BDeu": "no selection"}


def run(*, quick: bool) -> None:
    """Measure what is missing."""
    measured(listed(quick=quick)["name"].tolist(), list(LABELS))


def results() -> pd.DataFrame:
    """Return accuracy and features removed, of the tables on which all selectors were measured."""
    found = by_table(stored(STORE)).reset_index()
    found = found[found["method"].isin(LABELS)].replace({"method": LABELS})
    everywhere = found.groupby("table")["method"].transform("nunique") == len(LABELS)
    return found.loc[everywhere, ["table", "method", "accuracy", "se", "removed"]]


def report(folder: Path) -> str:
    """Write CSV, Markdown and figure, and return the section of the page."""
    found = results()
    paper = published("anb_table5_accuracy.csv").set_index("selector")["average_accuracy_over_43"]
    means = found.groupby("method")[["accuracy", "removed"]].mean().reindex(LABELS.values())
    means["published"] = paper
    rows = [
        [name, f"{row['accuracy']:.4f}", f"{row['published']:.4f}".replace("nan", "-"), f"{row['removed']:.1f}"]
        for name, row in means.iterrows()
    ]
    table = markdown(["selector", "accuracy", "published, 43 tables", "features removed"], rows)
    wide = found.pivot_table(index="table", columns="method", values="accuracy").reindex(columns=LABELS.values())
    of_tables = [[name, *(f"{value:.4f}" for value in row)] for name, row in wide.iterrows()]
    text = "\n\n".join(["# Sugahara and Ueno's Table 5", table, markdown(["table", *wide.columns], of_tables)])
    write(folder, NAME, found.round(5), text)
    draw(means, folder / f"{NAME}.png")
    return "\n\n".join(
        [
            f"## {TITLE}",
            f"Means over the {len(wide)} tables (of {len(listed())}) on which all selectors were measured.",
            table,
            f"![mean accuracy after selection]({NAME}.png)",
            f"All figures: [{NAME}.md]({NAME}.md), [{NAME}.csv]({NAME}.csv).",
            REMARKS,
        ]
    )


REMARKS = """\
- Where a search finds no parent or child of the class, every row gets the class frequencies.
- **Searches by tests** cost far less accuracy here than published, for the reason given for Table 4: they miss
  less.
- Table 5 prints 0.8164 for the Bayes factor, Table 1 prints 0.8184 for the same method on the same tables."""


def draw(means: pd.DataFrame, path: Path) -> None:
    """Draw mean accuracies, measured and published."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
    places = range(len(means))
    ax.plot(means["accuracy"], places, "o", color="#4477aa", label="measured")
    ax.plot(means["published"], places, "x", color="#cc6677", label="published, 43 tables")
    ax.set_yticks(places, means.index)
    ax.invert_yaxis()
    ax.set_xlabel("mean accuracy")
    ax.legend()
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
