"""Sugahara and Ueno's Table 4: searches for parents and children; ``benchmarks.quality`` measures them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.harness.output import markdown, panels, save
from benchmarks.harness.places import SUMMARIES
from benchmarks.harness.run import Run
from benchmarks.papers.common import page, write
from benchmarks.quality import parents_children

NAME = "papers_table4"
TITLE = "Table 4: parents and children"
STORE = SUMMARIES / "parents_children.csv"


def run(*, quick: bool) -> None:
    """Measure; the quick run takes what is there."""
    if not quick:
        parents_children.main(Run(full=True))


def report(folder: Path) -> str:
    """Write CSV, Markdown and figure, and return the section of the page."""
    found = pd.read_csv(STORE)
    mean = found[found["network"] == "average"].set_index("search")
    rows = [
        [
            search,
            f"{row['missing']:.2f} ({row['missing published']:.2f})",
            f"{row['extra']:.2f} ({row['extra published']:.2f})",
            f"{row['ms']:.3g} ({row['ms published']:.0f})",
        ]
        for search, row in mean.iterrows()
    ]
    table = markdown(["search", "missing", "extra", "ms per target"], rows).replace("(nan)", "(not there)")
    write(folder, NAME, found, page("table4", table=table))
    draw(found, folder / f"{NAME}.png")
    return page("table4_section", title=TITLE, name=NAME, n_networks=found["network"].nunique() - 1, table=table)


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw missing against extra variables, measured and published."""
    mean = found[found["network"] == "average"]
    figure, ax = panels(figsize=(6, 4.5))
    for row in mean.to_dict("records"):
        ends = [[row[what], row[f"{what} published"]] for what in ("missing", "extra")]
        ax.plot(*ends, color="#888888", linewidth=0.8)
        place = [end[int(pd.notna(end[1]))] for end in ends]
        ax.annotate(row["search"], place, fontsize=8, xytext=(4, 4), textcoords="offset points")
    ax.plot(mean["missing published"], mean["extra published"], "x", color="#cc6677", label="published")
    ax.plot(mean["missing"], mean["extra"], "o", color="#4477aa", label="measured")
    ax.set_xlabel("missing parents and children per target")
    ax.set_ylabel("extra variables per target")
    ax.set_yscale("symlog", linthresh=1)
    ax.legend()
    save(figure, path)
