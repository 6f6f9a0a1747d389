"""Sugahara and Ueno's Table 6: run times of the exact searches, beside the published ones."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anbexact import ANBClassifier, DiscreteTable, FSANBClassifier, GBNClassifier
from anbexact.selection import log_bayes_factors
from benchmarks.harness.output import markdown, panels, save
from benchmarks.harness.places import RESULTS
from benchmarks.harness.store import Row, measure, stored
from benchmarks.harness.tables import published
from benchmarks.harness.timing import processor_seconds
from benchmarks.papers.common import KEYS, listed, page, read, write

NAME = "papers_table6"
TITLE = "Table 6: run times"
STORE = RESULTS / "papers_runtime.csv"
TIMED: dict[str, Callable[[Any, Any], object]] = {
    "GBN-BDeu": lambda X, y: GBNClassifier(n_jobs=1, ess=1.0).fit(X, y),
    "ANB-BDeu": lambda X, y: ANBClassifier(n_jobs=1, ess=1.0).fit(X, y),
    "fsANB-BDeu": lambda X, y: FSANBClassifier(network_ess=1.0, n_jobs=1).fit(X, y),
    "Bayes factors": lambda X, y: log_bayes_factors(DiscreteTable.from_frame(X, y), n_jobs=1),
}
PAPER = {
    "GBN-BDeu": "GBN-BDeu_ms",
    "ANB-BDeu": "fsANB-BDeu_ms",
    "fsANB-BDeu": "fsANB-BDeu_ms",
    "Bayes factors": "bayes_factor_search_ms",
}
"""Published columns; the exact ANB over all features stands beside that over selected ones, which is less work."""
ENOUGH, MOST = 0.5, 5
"""Measurements are repeated until they took so many seconds, at most so often; the median counts."""


def run(*, quick: bool) -> None:
    """Measure what is missing, in one process."""
    tables = listed(quick=quick)["name"].tolist()
    measure(STORE, KEYS, [(name, what, 0) for name in tables for what in TIMED], one, jobs=1)


def machine() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def one(name: str, what: str, _: int) -> list[Row]:
    """Measure the processor milliseconds of a fit of the whole table, from a frame of categories; one thread."""
    X, y = read(name)
    TIMED[what](X.iloc[: len(X) // 2, :2], y.iloc[: len(X) // 2])  # compiled before it is timed
    took = processor_seconds(TIMED[what], X, y, repeats=MOST, enough=ENOUGH)
    return [{"ms": 1000 * took, "machine": machine()}]


def results() -> pd.DataFrame:
    """Return a row for every table: measured and published milliseconds."""
    found = stored(STORE, KEYS)
    numbers = listed().set_index("name")["table1_no"].rename("no")
    wide = found.pivot_table(index="table", columns="method", values="ms").reindex(columns=list(TIMED))
    wide = wide.join(numbers, how="inner").reset_index(names="table")
    paper = published("anb_table6_runtime_ms.csv")[["no", *sorted(set(PAPER.values()))]]
    return wide.merge(paper, on="no").sort_values("no")


def report(folder: Path) -> str:
    """Write CSV, Markdown and figure, and return the section of the page."""
    found = results()
    machines = " and ".join(sorted(set(stored(STORE, KEYS)["machine"])))
    columns = [*TIMED, *sorted(set(PAPER.values()))]
    rows = [[row["no"], row["table"], *(f"{row[c]:,.1f}" for c in columns)] for row in found.to_dict("records")]
    totals = []
    for what, of_paper in PAPER.items():
        both = found[[what, of_paper]].dropna()
        ours, theirs = both.sum()
        ratios = both[of_paper] / both[what]
        totals.append(
            [
                what,
                len(both),
                f"{ours / 1000:,.2f}",
                f"{theirs / 1000:,.2f}",
                f"{theirs / ours:,.3g}",
                f"{np.exp(np.log(ratios).mean()):,.3g}",
            ]
        )
    header = ["search", "tables", "sum, s", "published, s", "times faster in total", "geometric mean of ratios"]
    total = markdown(header, totals)
    text = page("table6", machines=machines, totals=total, by_table=markdown(["no", "table", *columns], rows))
    write(folder, NAME, found.round(3), text)
    draw(found, folder / f"{NAME}.png")
    values = {"machines": machines, "n_measured": len(found), "n_listed": len(listed()), "totals": total}
    return page("table6_section", title=TITLE, name=NAME, **values)


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw measured and published run times along the number of features."""
    features = found["table"].map(listed().set_index("name")["features"])
    figure, axes = panels(1, 2, figsize=(10, 4), sharey=True)
    for ax, what in zip(axes, ("GBN-BDeu", "ANB-BDeu"), strict=True):
        ax.plot(features, found[PAPER[what]], "x", color="#cc6677", label=f"published ({PAPER[what][:-3]})")
        ax.plot(features, found[what], "o", color="#4477aa", markersize=4, label=f"measured ({what})")
        ax.set_yscale("log")
        ax.set_xlabel("features")
        ax.legend(fontsize=8)
    axes[0].set_ylabel("milliseconds")
    save(figure, path)
