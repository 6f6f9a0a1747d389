"""Sugahara and Ueno's Table 2: how the class stands in the exact networks."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.harness.output import markdown, panels, save
from benchmarks.harness.store import stored
from benchmarks.harness.tables import published
from benchmarks.papers.accuracy import STORE, by_table, measured
from benchmarks.papers.common import KEYS, listed, page, write

NAME = "papers_table2"
TITLE = "Table 2: structure"
COLUMNS = {
    "class_parents": "class_parents",
    "class_children": "class_children",
    "sparse_configurations": "sparse",
    "markov_blanket_size": "blanket",
    "fsANB_max_parents": "max_parents",
    "fsANB_removed": "removed",
}
"""Columns of the published table, and what they are called in the store."""
TITLES = dict(
    zip(
        COLUMNS,
        (
            "class parents",
            "class children",
            "unseen configurations",
            "Markov blanket",
            "fsANB parents",
            "fsANB removed",
        ),
        strict=True,
    )
)
LAST = ("markov_blanket_size", "fsANB_max_parents", "fsANB_removed")
MOVED = {
    "htru2": 13,
    "nursery": 14,
    "pima": 11,
    "post-operative": 12,
}
"""Where the last three columns of rows 11 to 14 are printed: see the remarks."""
SWAPPED = {"breast-cancer": 16, "breast-w": 15}
"""Where the columns of rows 15 and 16 are printed, but for the blanket."""


def run(*, quick: bool) -> None:
    """Measure what is missing."""
    measured(listed(quick=quick)["name"].tolist(), ["GBN-BDeu", "fsANB-BDeu"])


def results() -> pd.DataFrame:
    """Return a row for every table on which GBN-BDeu or fsANB-BDeu is measured."""
    found = by_table(stored(STORE, KEYS)).reset_index()
    general = found[found["method"] == "GBN-BDeu"].set_index("table")
    selected = found[found["method"] == "fsANB-BDeu"].set_index("table")
    ours = pd.DataFrame(
        {column: (selected if column.startswith("fsANB") else general)[own] for column, own in COLUMNS.items()}
    )
    printed = right_names(published("anb_table2_structure.csv").set_index("no"))
    numbers = listed().set_index("name")["table1_no"].rename("no")
    frame = ours.join(numbers, how="inner").reset_index(names="table")
    frame = frame.merge(printed, left_on="table", right_index=True, suffixes=("", " published"))
    return frame.sort_values("no")[["no", "table", *(c for o in COLUMNS for c in (o, f"{o} published"))]]


def right_names(printed: pd.DataFrame) -> pd.DataFrame:
    """Return the published columns by table, each value with the table that it belongs to."""
    rows = {}
    for no, name in listed().set_index("table1_no")["name"].items():
        values = {column: printed.loc[SWAPPED.get(name, no), column] for column in COLUMNS}
        values["markov_blanket_size"] = printed.loc[no, "markov_blanket_size"]
        rows[name] = values | {column: printed.loc[MOVED[name], column] for column in LAST if name in MOVED}
    return pd.DataFrame(rows).T.astype(float)


def report(folder: Path) -> str:
    """Write CSV, Markdown and figure, and return the section of the page."""
    found = results()
    rows = [
        [row["no"], row["table"], *(f"{row[c]:.1f} ({row[f'{c} published']:.1f})" for c in COLUMNS)]
        for row in found.to_dict("records")
    ]
    away = {c: (found[c] - found[f"{c} published"]).abs() for c in COLUMNS}
    text = page("table2", table=markdown(["no", "table", *TITLES.values()], rows))
    write(folder, NAME, found.round(2), text)
    draw(found, folder / f"{NAME}.png")
    summary = [
        [TITLES[c], f"{found[c].mean():.2f}", f"{found[f'{c} published'].mean():.2f}", f"{away[c].median():.2f}"]
        for c in COLUMNS
    ]
    return page(
        "table2_section",
        title=TITLE,
        name=NAME,
        n_measured=len(found),
        n_listed=len(listed()),
        summary=markdown(["mean over tables", "measured", "published", "median absolute difference"], summary),
    )


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw measured against published values, a panel for every column."""
    figure, axes = panels(2, 3, figsize=(10, 7))
    for ax, column in zip(axes.flat, COLUMNS, strict=True):
        x, y = found[f"{column} published"], found[column]
        top = max(x.max(), y.max(), 1) * 1.05
        ax.plot([0, top], [0, top], color="black", linewidth=0.8)
        ax.plot(x, y, "o", color="#4477aa", markersize=4, alpha=0.8)
        for table, a, b in zip(found["table"], x, y, strict=True):
            if abs(a - b) > 0.2 * top:
                ax.annotate(table, (a, b), fontsize=7, xytext=(4, 4), textcoords="offset points")
        ax.set_title(TITLES[column], fontsize=10)
    figure.supxlabel("published, mean over folds")
    figure.supylabel("measured")
    save(figure, path)
