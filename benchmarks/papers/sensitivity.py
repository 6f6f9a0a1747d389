"""Why accuracies differ from the published ones: a sensitivity analysis over variants of the tables."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd

from benchmarks.harness.output import markdown, panels, save, write_csv
from benchmarks.harness.store import Row, stored
from benchmarks.papers import few_children, table1, variants
from benchmarks.papers.accuracy import STORE as FIRST_STORE
from benchmarks.papers.common import FOLDS, KEYS, listed, page
from benchmarks.papers.methods import METHODS
from benchmarks.papers.sensitivity_figures import figures
from benchmarks.papers.variants import STORE, VARIANTS, of_repeats, planned

NAME = "papers_sensitivity"
TITLE = "Table 1: sensitivity analysis"
SUMMARY = {"repeats": "size", "over_repeats": "mean", "repeat_sd": "std", "min": "min", "max": "max"}
"""Columns, and how they summarise the accuracies of all repeats."""
COLUMNS = (
    "table",
    "variant",
    "method",
    "repeats",
    "mean",
    "SD",
    "min",
    "max",
    "published",
    "in Table 1",
    "in the interval",
)
NUMBERS = ("over_repeats", "repeat_sd", "min", "max", "published", "in_table_1")
"""The columns of four digits."""


def run(*, quick: bool) -> None:
    """Measure what is missing; the quick run takes nothing."""
    if quick:
        return
    few_children.run()
    variants.measured()


def results() -> pd.DataFrame:
    """Return a row for every variant and method that is measured, beside what Table 1 has."""
    found = of_repeats(STORE).groupby(["table", "method"]).agg(**SUMMARY)
    plan = pd.DataFrame(
        [
            (v.name, v.table, v.words, v not in VARIANTS, method)
            for v in planned()
            for method in METHODS
            if method in v.repeats
        ],
        columns=["name", "table", "variant", "aside", "method"],
    )
    frame = plan.merge(found, left_on=["name", "method"], right_index=True)
    before = table1.results()[["table", "method", "published", "over_repeats"]]
    frame = frame.merge(before.rename(columns={"over_repeats": "in_table_1"}), on=["table", "method"])
    frame["in_interval"] = table1.within_interval(frame).astype(object).where(frame["repeats"] > 1)
    return frame


def complete() -> bool:
    """Whether all is measured that the section tells of, in Table 1, too."""
    if not (variants.complete() and FIRST_STORE.exists() and few_children.STORE.exists()):
        return False
    wanted = {(variant.table, method, 0) for variant in planned() for method in variant.repeats}
    wanted |= set(product(listed()["name"], table1.MAIN, [0]))
    bounds = stored(few_children.STORE, KEYS)
    return wanted <= set(of_repeats(FIRST_STORE).index) and len(bounds) == FOLDS


def report(folder: Path) -> str:
    """Write CSV and figure, and return the section of the page."""
    if not complete():
        return page("not_run", title=TITLE)
    everything = results()
    write_csv(folder, NAME, everything.drop(columns="name").reset_index(drop=True), decimals=5)
    found = everything[~everything["aside"]]
    draw(found, folder / f"{NAME}.png")
    rows = [
        [
            row["table"],
            row["variant"],
            row["method"],
            row["repeats"],
            *(f"{row[c]:.4f}".replace("nan", "-") for c in NUMBERS),
            "-" if row["repeats"] == 1 else "yes" if row["in_interval"] else "no",
        ]
        for row in found.to_dict("records")
    ]
    return page(
        "sensitivity",
        title=TITLE,
        name=NAME,
        main=", ".join(table1.MAIN),
        table=markdown(COLUMNS, rows),
        **replaced(found),
        remarks=wrapped(page("sensitivity_remarks", **figures(everything))),
    )


def replaced(found: pd.DataFrame) -> Row:
    """Return how near the published accuracies come if these means stand for those of Table 1, and what is left."""
    known = table1.results().dropna(subset="published")
    known = known[known["method"].isin(table1.MAIN)]
    beyond = (known["difference"].abs() > known["noise"]) & ~table1.within_interval(known)
    known = known.assign(beyond=beyond).merge(
        found[["table", "method", "over_repeats", "in_interval"]],
        on=["table", "method"],
        how="left",
        suffixes=("", "_here"),
    )
    averages = known["over_repeats_here"].fillna(known["over_repeats"])
    away = (averages - known["published"]).abs().groupby(known["method"]).mean()
    left = known[known["beyond"] & ~known["in_interval"].fillna(False).astype(bool)]
    return {
        "n_tables": known["table"].nunique(),
        "nearness": ", ".join(f"{method} {away[method]:.4f}" for method in table1.MAIN),
        "left": ", ".join(f"{row['table']} ({row['method']})" for row in left.to_dict("records")) or "none",
    }


def wrapped(remarks: str) -> str:
    """Return a list in Markdown, its lines broken anew."""
    wide = {"width": 116, "subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}
    first, *others = remarks.split("\n- ")
    return "\n".join(fill(" ".join(topic.split()), **wide) for topic in (first, *(f"- {topic}" for topic in others)))


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw the accuracies of all repeats less the published one, of Table 1 and as read here."""
    figure, ax = panels(figsize=(8, 0.36 * len(found) + 1.2))
    sources = ((FIRST_STORE, "Table 1", "#bbbbbb", 0.15), (STORE, "here", "#4477aa", -0.15))
    for source, label, colour, shift in sources:
        accuracies = of_repeats(source)
        for k, row in found.iterrows():
            name = row["table"] if source is FIRST_STORE else row["name"]
            differences = accuracies.loc[name, row["method"]] - row["published"]
            places = np.full(len(differences), -k + shift)
            ax.plot(differences, places, "o", color=colour, markersize=4, alpha=0.6, label=None if k else label)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks([-k for k in found.index], [f"{r.table}, {r.method}" for r in found.itertuples()], fontsize=8)
    ax.set_xlabel("accuracy of a repeat less the published one")
    ax.legend(loc="upper left", fontsize=8)
    save(figure, path)
