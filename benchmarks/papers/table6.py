"""Sugahara and Ueno's Table 6: run times of the exact searches, beside the published ones."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from crossval import RAW, Row

from anbexact import ANBClassifier, DiscreteTable, FSANBClassifier, GBNClassifier
from anbexact.selection import log_bayes_factors
from papers.common import listed, markdown, published, read, write
from papers.store import measure, stored

NAME = "papers_table6"
TITLE = "Table 6: run times"
STORE = RAW / "papers_runtime.csv"
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
    measure(STORE, [(name, what) for name in tables for what in TIMED], [0], one, jobs=1)


def machine() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def one(name: str, what: str, folds: Sequence[int]) -> list[Row]:  # noqa: ARG001  # fold 0 only
    """Measure the processor milliseconds of a fit of the whole table, from a frame of categories; one thread."""
    X, y = read(name)
    small = X.iloc[: len(X) // 2, :2], y.iloc[: len(X) // 2]
    TIMED[what](*small)  # compiled before it is timed
    times: list[float] = []
    while sum(times) < ENOUGH and len(times) < MOST:
        began = process_time()
        TIMED[what](X, y)
        times.append(process_time() - began)
    return [{"table": name, "method": what, "fold": 0, "ms": 1000 * median(times), "machine": machine()}]


def results() -> pd.DataFrame:
    """Return a row for every table: measured and published milliseconds."""
    found = stored(STORE)
    numbers = listed().set_index("name")["table1_no"].rename("no")
    wide = found.pivot_table(index="table", columns="method", values="ms").reindex(columns=list(TIMED))
    wide = wide.join(numbers, how="inner").reset_index(names="table")
    paper = published("anb_table6_runtime_ms.csv")[["no", *sorted(set(PAPER.values()))]]
    return wide.merge(paper, on="no").sort_values("no")


def report(folder: Path) -> str:
    """Write CSV, Markdown and figure, and return the section of the page."""
    found = results()
    machines = " and ".join(sorted(set(stored(STORE)["machine"])))
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
    said = (
        f"Processor time of a whole fit of the whole table, one thread, on {machines}; published: Java on a 2.2 GHz "
        "Xeon with ten cores. The exact ANB, over all features, stands beside the published fsANB, which searches "
        "selected features only; fsANB here includes the choice among nine settings by cross-validation."
    )
    text = "\n\n".join(
        [
            "# Sugahara and Ueno's Table 6",
            said,
            total,
            "Milliseconds by table:",
            markdown(["no", "table", *columns], rows),
        ]
    )
    write(folder, NAME, found.round(3), text)
    draw(found, folder / f"{NAME}.png")
    return "\n\n".join(
        [
            f"## {TITLE}",
            f"{said} {len(found)} of {len(listed())} tables.",
            total,
            f"![measured against published run times]({NAME}.png)",
            f"All figures: [{NAME}.md]({NAME}.md), [{NAME}.csv]({NAME}.csv).",
            REMARKS,
        ]
    )


REMARKS = """\
- Two machines and two languages: how much of the ratio is the algorithm, the figures do not tell. On tables of up
  to about seven features, reading the frame takes longer than the search.
- The paper does not say whether its fsANB times include the cross-validation that chooses its settings."""


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw measured and published run times along the number of features."""
    import matplotlib.pyplot as plt

    features = found["table"].map(listed().set_index("name")["features"])
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for ax, what in zip(axes, ("GBN-BDeu", "ANB-BDeu"), strict=True):
        ax.plot(features, found[PAPER[what]], "x", color="#cc6677", label=f"published ({PAPER[what][:-3]})")
        ax.plot(features, found[what], "o", color="#4477aa", markersize=4, label=f"measured ({what})")
        ax.set_yscale("log")
        ax.set_xlabel("features")
        ax.legend(fontsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("milliseconds")
    figure.savefig(path, dpi=110)
    plt.close(figure)
