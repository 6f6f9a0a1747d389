"""Time of the exact search along the number of features and of rows, beside that of the lattice.

Samples from two networks, as in :mod:`~benchmarks.speed.exact_search`. Dependences are strong in one, weak and
many-sided in the other.

Target: none; ``docs/background/exact-search.md`` has the outcome. Takes half a minute for the smallest numbers of
features, which are printed alone. ``--full`` measures all, with 60 s for a search unless ``--limit`` says otherwise:
an hour or two. It is resumable, and writes ``docs/measurements/exact_search_sweep.csv`` and
``docs/measurements/exact_search.png``.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.harness.output import panels, save, show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import SHAPES
from benchmarks.speed.exact_search import BOTH, DECIMALS, LATTICE_FEATURES, measure, warm_up

SWEPT = {"hailfinder": "-", "hepar2": "--"}
"""Networks, and how they are drawn."""
FEATURES = tuple(range(10, 61, 5))
SWEEP_ROWS = (200, 500, 1_000, 2_000, 5_000)
SWEEP_FEATURES, SWEEP_N = 35, 1_000
"""Features while the rows vary, rows while the features vary."""
LIMIT = 60.0
"""Seconds that a search may take."""
FEW_FEATURES = 15
"""Features up to which is measured without ``--full``."""
Task = tuple[str, str, int, int, str, str]
"""Table, what varies, features, rows, score, search."""


def tasks() -> list[Task]:
    """Return what is measured: along features, then along rows."""
    shapes = [("features", n, SWEEP_N) for n in FEATURES] + [("rows", SWEEP_FEATURES, rows) for rows in SWEEP_ROWS]
    found: list[Task] = []
    for table in SWEPT:
        for along, n, rows in shapes:
            found += [(table, along, n, rows, score, "pruned") for score in BOTH if n < SHAPES[table][0] + 1]
        found += [(table, "features", n, SWEEP_N, "BIC", "lattice") for n in (10, 15, 20, LATTICE_FEATURES)]
    return found


def main(run: Run) -> None:
    """Measure, and draw if all is there."""
    if not run.smoke:
        warm_up()

    def work(table: str, _: str, n: int, rows: int, score: str, search: str) -> list[Row]:
        X, y, source = run.sampled(table, rows, n)
        return [{"source": source, **measure(X, y, score, search=search, limit=run.limit or LIMIT, check=False)}]

    keys = ["table", "along", "n", "N", "score", "forced"]
    wanted = [task for task in tasks() if run.full or (task[1] == "features" and task[2] <= FEW_FEATURES)]
    swept = run.measure("exact_search_sweep", keys, wanted[: 2 if run.smoke else None], work, jobs=1)
    if run.full or run.smoke:
        run.write("exact_search_sweep", swept, DECIMALS)
        draw(swept, run.summaries / "exact_search.png")
    show(swept[[*keys, "total_s", "cpu_s", "optimal", "gap"]])


def draw(swept: pd.DataFrame, path: Path) -> None:
    """Draw time along the features, and along the rows."""
    from matplotlib.lines import Line2D

    curves = {
        ("pruned", "BIC"): ("BIC, any number of parents", "#4477aa", "o"),
        ("pruned", "BDeu k=3"): ("BDeu, at most 3 feature parents", "#cc6677", "s"),
        ("lattice", "BIC"): ("all sets of features (BIC)", "#777777", "^"),
    }
    settings = [
        ("features", "n", "features", f"{SWEEP_N:,} rows", [10, 15, 20, 25, 30, 40, 50, 60]),
        ("rows", "N", "rows", f"{SWEEP_FEATURES} features", list(SWEEP_ROWS)),
    ]
    figure, axes = panels(1, 2, figsize=(10.5, 4.6), sharey=True)
    for ax, (along, x, label, title, ticks) in zip(axes, settings, strict=True):
        for table, style in SWEPT.items():
            of_panel = swept[(swept["along"] == along) & (swept["table"] == table)]
            for (search, score), (_, colour, marker) in curves.items():
                curve = of_panel[(of_panel["forced"] == search) & (of_panel["score"] == score)].sort_values(x)
                ax.plot(curve[x], curve["total_s"], style, color=colour, linewidth=1.3)
                for proved, fill in ((True, colour), (False, "white")):
                    part = curve[curve["optimal"] == proved]
                    ax.plot(part[x], part["total_s"], marker, color=colour, markersize=5.5, mfc=fill)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.minorticks_off()
        ax.set_title(title, fontsize=11)
        ax.set_xlabel(f"{label} (log scale)")
        ax.grid(visible=True, color="#e4e4e4", linewidth=0.6)
    axes[0].set_ylabel("seconds of the search (log scale)")
    shown = [
        *(Line2D([], [], color=colour, marker=marker, label=name) for name, colour, marker in curves.values()),
        *(Line2D([], [], color="#333333", linestyle=style, label=f"{table}") for table, style in SWEPT.items()),
        Line2D([], [], color="#333333", marker="o", mfc="white", linestyle="", label="hollow: not proved in time"),
    ]
    figure.legend(handles=shown, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    save(figure, path)
