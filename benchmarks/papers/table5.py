"""Sugahara and Ueno's Table 5: accuracy of the exact ANB after searches for the parents and children of the class."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.harness.output import markdown, panels, save
from benchmarks.harness.store import stored
from benchmarks.harness.tables import published
from benchmarks.papers.accuracy import STORE, by_table, measured
from benchmarks.papers.common import KEYS, listed, page, write
from benchmarks.papers.methods import SELECTORS

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
    found = by_table(stored(STORE, KEYS)).reset_index()
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
    text = page("table5", table=table, by_table=markdown(["table", *wide.columns], of_tables))
    write(folder, NAME, found.round(5), text)
    draw(means, folder / f"{NAME}.png")
    values = {"n_tables": len(wide), "n_listed": len(listed()), "table": table}
    return page("table5_section", title=TITLE, name=NAME, **values)


def draw(means: pd.DataFrame, path: Path) -> None:
    """Draw mean accuracies, measured and published."""
    figure, ax = panels(figsize=(6.5, 3.2))
    places = range(len(means))
    ax.plot(means["accuracy"], places, "o", color="#4477aa", label="measured")
    ax.plot(means["published"], places, "x", color="#cc6677", label="published, 43 tables")
    ax.set_yticks(places, means.index)
    ax.invert_yaxis()
    ax.set_xlabel("mean accuracy")
    ax.legend()
    save(figure, path)
