"""The exact search beyond the lattice: ``python benchmarks/pruned.py [--quick | --sweep | --draw] [--limit S]``.

Tables of ``../shared/data`` and samples from its networks (kept in ``benchmarks/raw/samples``), by BIC without a
limit on parents and by BDeu (equivalent sample size 1) with three feature parents at most. Of each: how many parent
sets were scored and listed, how fast; the seconds to the proof, or the gap after ``--limit``; the check by
``anbexact.verify``. Where other work shares the machine, processor seconds (``cpu_s``, of all threads) say more than
the clock's. Writes ``docs/results/exact_search.csv``, and prints the table of ``docs/exact-search.md``.

With ``--sweep``: the time along the number of features and of rows, beside that of the lattice, drawn as
``docs/results/exact_search.png``; the numbers are in ``docs/results/exact_search_sweep.csv``. ``--draw`` draws anew
what was measured.

Both are resumable: what ``benchmarks/raw/pruned.csv`` and ``pruned_sweep.csv`` hold is not measured again; delete
them to begin anew. Hours in all, most of it for what does not close; ``--only NAME ...`` chooses tables.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from crossval import RAW, RESULTS
from tables import SHAPES, load, sampled

import anbexact.search.exact.learn as door
import anbexact.search.exact.pruned as pruned_search
from anbexact import BDeu, DiscreteTable, Structure, learn_anb, verify
from anbexact.scores import BIC

Row = dict[str, Any]
LIMIT = 300.0
"""Seconds that a search may take."""
SCORES = {"BIC": (BIC(), None), "BDeu k=3": (BDeu(1.0), 3), "BDeu": (BDeu(1.0), None)}
"""Score, and most feature parents."""
TABLES = ("kr-vs-kp", "soybean", "dermatology", "ionosphere")
NETWORKS = {"insurance": None, "water": None, "alarm": None, "hailfinder": None, "hepar2": 60, "win95pts": 60}
"""Networks, and how many of their features are taken."""
ROWS = (1_000, 3_000, 5_000)
QUICK = (("insurance", 1_000), ("alarm", 1_000), ("hailfinder", 1_000))
SWEPT = {"hailfinder": "-", "hepar2": "--"}
"""Networks, and how they are drawn. Dependences are strong in the first, weak and many-sided in the second."""
FEATURES = tuple(range(10, 61, 5))
SWEEP_ROWS = (200, 500, 1_000, 2_000, 5_000)
SWEEP_FEATURES, SWEEP_N = 35, 1_000
"""Features while the rows vary, rows while the features vary."""
SWEEP_LIMIT = 60.0
LATTICE_FEATURES = 22
"""The lattice takes seconds up to here, and every further feature doubles them."""


@dataclass
class Seen:
    """What went through the door."""

    scored: int = 0
    listed: int = 0
    list_seconds: float = 0.0
    list_cpu_seconds: float = 0.0
    proof_seconds: float = 0.0
    nodes: int = 0
    largest_component: int = 0
    searches: list[str] = field(default_factory=list)


@contextmanager
def watched() -> Iterator[Seen]:
    """Time the parts of the search."""
    seen = Seen()
    make, solve, lattice = pruned_search.candidate_lists, pruned_search.solve_lists, door.solve_lattice

    def timed_lists(*args: Any, **options: Any) -> Any:
        began, cpu_began = perf_counter(), process_time()
        made = make(*args, **options)
        seen.list_seconds, seen.list_cpu_seconds = perf_counter() - began, process_time() - cpu_began
        seen.scored = sum(own.scored for own in made.lists)
        seen.listed = sum(len(own.masks) for own in made.lists)
        seen.searches.append("pruned")
        return made

    def timed_proof(*args: Any, **options: Any) -> Any:
        began = perf_counter()
        choice = solve(*args, **options)
        seen.proof_seconds = perf_counter() - began
        seen.nodes = choice.nodes
        seen.largest_component = max(len(component.features) for component in choice.components)
        return choice

    def noted_lattice(*args: Any, **options: Any) -> Any:
        seen.searches.append("lattice")
        return lattice(*args, **options)

    with (
        patch.object(pruned_search, "candidate_lists", timed_lists),
        patch.object(pruned_search, "solve_lists", timed_proof),
        patch.object(door, "solve_lattice", noted_lattice),
    ):
        yield seen


@contextmanager
def forced(search: str) -> Iterator[None]:
    """Have the door take the lattice, or candidate lists without regard to the lattice; "" leaves it to the door."""
    if not search:
        yield
    elif search == "lattice":
        with patch.object(door._Search, "prunes", False):
            yield
    else:
        with patch.object(door._Search, "prunes", True), patch.object(door._Search, "fits", False):
            yield


def target(score: str, features: int, rows: int) -> str:
    """Return what the search was to reach."""
    if score == "BIC" and rows <= 5_000 and features <= 60:
        return "120 s" if features <= 40 else "300 s"
    if score == "BDeu k=3" and rows <= 3_000 and features <= 40:
        return "120 s"
    if score == "BDeu k=3" and rows <= 1_000 and features <= 60:
        return "300 s"
    return "gap 0.5 % after 300 s"


def measure(
    X: pd.DataFrame, y: pd.Series, score: str, *, search: str = "", limit: float = LIMIT, check: bool = True
) -> Row:
    """Return what the search took and proved."""
    table = DiscreteTable.from_frame(X, y)
    of, most = SCORES[score]
    with watched() as seen, forced(search):
        began, cpu_began = perf_counter(), process_time()
        structure: Structure = learn_anb(table, of, max_parents=most, time_limit=limit)
        took, cpu_took = perf_counter() - began, process_time() - cpu_began
    certificate = structure.certificate
    proof = certificate.proof
    complete = not seen.searches or seen.searches[-1] == "lattice" or (proof is not None and proof.largest is None)
    among = certificate.gap
    if proof is not None and proof.largest is not None:
        of_class = of.local_score(table, structure.class_name, [])
        among = max(0.0, sum(part.bound for part in proof.components) + of_class - structure.score)
    row: Row = {
        "features": X.shape[1],
        "rows": len(X),
        "score": score,
        "search": " then ".join(seen.searches) + (" (forced)" if search else ""),
        "sets": certificate.sets_scored,
        "listed": seen.listed or None,
        "lists_s": seen.list_seconds or None,
        "sets_per_s": seen.scored / seen.list_seconds if seen.list_seconds else None,
        "sets_per_cpu_s": seen.scored / seen.list_cpu_seconds if seen.list_cpu_seconds else None,
        "complete_to": "all" if complete else proof.largest if proof is not None else None,
        "proof_s": seen.proof_seconds or None,
        "nodes": seen.nodes if seen.listed else None,
        "largest_component": seen.largest_component or None,
        "total_s": took,
        "cpu_s": cpu_took,
        "optimal": certificate.optimal,
        "value": structure.score,
        "bound": certificate.upper_bound,
        "gap": certificate.gap,
        "gap_percent": 100 * certificate.gap / abs(structure.score),
        "gap_among": among,
        "limit_s": limit,
        "target": target(score, X.shape[1], len(X)),
        "arcs": len(structure.feature_edges),
        "most_parents": max(len(structure.parents[name]) - 1 for name in structure.features),
    }
    if check and proof is not None and not (row["search"].startswith("lattice") and X.shape[1] > LATTICE_FEATURES):
        began = perf_counter()
        row["verified"] = verify(structure, table)
        row["verify_s"] = perf_counter() - began
    return row


def warm_up() -> None:
    """Have the kernels compiled: both searches, and branch and cut on a component that is not gone through."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, (300, 1))
    noisy = np.where(rng.random((300, 18)) < 0.3, rng.integers(0, 2, (300, 18)), hidden).astype(str)
    X = pd.DataFrame(noisy, columns=[f"f{i}" for i in range(18)]).astype("category")
    y = pd.Series(rng.integers(0, 2, 300).astype(str), name="class")
    for score in ("BIC", "BDeu k=3"):
        measure(X, y, score, search="pruned", limit=3.0)
    measure(X.iloc[:, :6], y, "BIC", search="lattice")


def measured(path: Path, keys: list[str], tasks: list[Row], work: Any) -> pd.DataFrame:
    """Do what the file does not hold yet, and return the rows of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done: set[tuple[str, ...]] = set()
    if path.exists():
        done = set(map(tuple, pd.read_csv(path, dtype=str, keep_default_na=False)[keys].to_numpy().tolist()))
    for task in tasks:
        if tuple(str(task[key]) for key in keys) in done:
            continue
        row = {**task, **work(task)}
        columns = list(row)
        if path.exists():
            with path.open(newline="") as file:
                columns = next(csv.reader(file))
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
            if file.tell() == 0:
                writer.writeheader()
            writer.writerow(row)
        shown = f"gap {row['gap']:.4g} ({row['gap_percent']:.3g} %)" if not row["optimal"] else "proved"
        print(f"{' '.join(str(task[key]) for key in keys)}: {shown}, {row['total_s']:.1f} s", flush=True)
    return pd.read_csv(path)


def instance(name: str, n_rows: int) -> tuple[pd.DataFrame, pd.Series, str]:
    """Return a table, its continuous columns cut at the median, or a sample."""
    return sampled(name, n_rows, NETWORKS[name]) if name in NETWORKS else load(name, cut=True)


def all_instances(limit: float, only: list[str] | None) -> pd.DataFrame:
    """Measure every table and sample by both scores, and the mushrooms by both searches."""
    samples = [(name, n_rows) for n_rows in ROWS for name in NETWORKS]
    small, large = samples[: len(NETWORKS)], samples[len(NETWORKS) :]

    def by_both(shapes: list[tuple[str, int]]) -> list[Row]:
        return [
            {"table": name, "asked_rows": n_rows, "score": score, "forced": ""}
            for name, n_rows in shapes
            for score in ("BIC", "BDeu k=3")
        ]

    mushrooms: list[Row] = [
        {"table": "mushroom", "asked_rows": 0, "score": score, "forced": search}
        for score in ("BIC", "BDeu")
        for search in ("", "pruned", "lattice")
    ]
    tasks = [*by_both(small), *mushrooms, *by_both([(name, 0) for name in TABLES]), *by_both(large)]
    if only:
        tasks = [task for task in tasks if task["table"] in only]

    def work(task: Row) -> Row:
        X, y, source = instance(task["table"], task["asked_rows"])
        found = measure(X, y, task["score"], search=task["forced"], limit=limit)
        return {"source": source, **found}

    return measured(RAW / "pruned.csv", ["table", "asked_rows", "score", "forced"], tasks, work)


def sweep(limit: float) -> pd.DataFrame:
    """Measure along features, then along rows."""
    shapes = [("features", n, SWEEP_N) for n in FEATURES] + [("rows", SWEEP_FEATURES, rows) for rows in SWEEP_ROWS]
    tasks: list[Row] = []
    for table in SWEPT:
        for along, n, rows in shapes:
            tasks += [
                {"table": table, "along": along, "n": n, "N": rows, "score": score, "forced": "pruned"}
                for score in ("BIC", "BDeu k=3")
                if n < SHAPES[table][0] + 1
            ]
        tasks += [
            {"table": table, "along": "features", "n": n, "N": SWEEP_N, "score": "BIC", "forced": "lattice"}
            for n in (10, 15, 20, LATTICE_FEATURES)
        ]

    def work(task: Row) -> Row:
        X, y, source = sampled(task["table"], task["N"], task["n"])
        found = measure(X, y, task["score"], search=task["forced"], limit=limit, check=False)
        return {"source": source, **found}

    return measured(RAW / "pruned_sweep.csv", ["table", "along", "n", "N", "score", "forced"], tasks, work)


def draw(swept: pd.DataFrame) -> None:
    """Draw time along the features, and along the rows."""
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    curves = {
        ("pruned", "BIC"): ("BIC, any number of parents", "#4477aa", "o"),
        ("pruned", "BDeu k=3"): ("BDeu, at most 3 feature parents", "#cc6677", "s"),
        ("lattice", "BIC"): ("all sets of features (BIC)", "#777777", "^"),
    }
    panels = [
        ("features", "n", "features", f"{SWEEP_N:,} rows", [10, 15, 20, 25, 30, 40, 50, 60]),
        ("rows", "N", "rows", f"{SWEEP_FEATURES} features", list(SWEEP_ROWS)),
    ]
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.6), sharey=True, layout="constrained")
    for ax, (along, x, label, title, ticks) in zip(axes, panels, strict=True):
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
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("seconds of the search (log scale)")
    shown = [
        *(Line2D([], [], color=colour, marker=marker, label=name) for name, colour, marker in curves.values()),
        *(Line2D([], [], color="#333333", linestyle=style, label=f"{table}") for table, style in SWEPT.items()),
        Line2D([], [], color="#333333", marker="o", mfc="white", linestyle="", label="hollow: not proved in time"),
    ]
    figure.legend(handles=shown, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "exact_search.png", dpi=110)


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return numbers with as many digits as are meant."""
    digits = dict.fromkeys(("lists_s", "proof_s", "total_s", "cpu_s", "verify_s"), 2)
    digits |= dict.fromkeys(("value", "bound", "gap", "gap_among"), 6)
    return frame.round({**digits, "sets_per_s": 0, "sets_per_cpu_s": 0, "gap_percent": 5})


def seconds(value: float) -> str:
    """Return a duration, with two digits at least; nothing where there is none."""
    return "" if pd.isna(value) else f"{value:.2g}" if value < 10 else f"{value:.0f}"


def markdown(found: pd.DataFrame) -> str:
    """Return the table of ``docs/exact-search.md``: what was proved, and in which time; no samples of 3,000 rows."""
    lines = ["| table | features | rows | score | sets scored | listed | seconds | processor s | result | check, s |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in found[found["rows"] != 3_000].itertuples():
        result = "proved" if row.optimal else f"gap {row.gap_percent:.2g} %"
        if not row.optimal and row.complete_to != "all":
            among = "optimal" if row.gap_among < 1e-6 else f"within {100 * row.gap_among / abs(row.value):.2g} %"
            result = f"{among} up to {row.complete_to} parents; gap {row.gap_percent:.2g} %"
        score = f"{row.score} ({'by default' if pd.isna(row.forced) else row.forced})" * (row.table == "mushroom")
        listed = "all sets" if pd.isna(row.listed) or "lattice" in row.search else f"{row.listed:,.0f}"
        cells = (row.table, row.features, f"{row.rows:,}", score or row.score, f"{row.sets:,}", listed)
        cells += (seconds(row.total_s), seconds(row.cpu_s), result, seconds(row.verify_s))
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def run(*, full: bool) -> list[Row]:
    """Measure a few samples in under a minute; every table and sample if ``full`` (hours)."""
    warm_up()
    if full:
        return all_instances(LIMIT, None).to_dict("records")  # type: ignore[return-value]  # columns are named by strings
    shown = ("score", "features", "rows", "search", "sets", "listed", "sets_per_s", "lists_s", "total_s")
    shown += ("optimal", "gap", "gap_percent", "target", "verified", "verify_s")
    rows = []
    for name, n_rows in QUICK:
        X, y, source = instance(name, n_rows)
        for score in ("BIC", "BDeu k=3"):
            found = measure(X, y, score, limit=5.0)
            rows.append({"table": name, "source": source, **{key: found.get(key) for key in shown}})
    return rows


def main() -> None:
    """Measure what is missing, write the summary, print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four samples, half a minute; nothing is written")
    parser.add_argument("--sweep", action="store_true", help="time along features and rows, and the figure")
    parser.add_argument("--draw", action="store_true", help="only draw what --sweep measured")
    parser.add_argument("--limit", type=float, help=f"seconds for a search ({LIMIT:.0f}; sweep {SWEEP_LIMIT:.0f})")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="tables")
    options = parser.parse_args()
    pd.set_option("display.width", 250, "display.max_columns", 40)
    if options.draw:
        draw(pd.read_csv(RESULTS / "exact_search_sweep.csv"))
        return
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; compiling the kernels", flush=True)
    if options.quick:
        print(pd.DataFrame(run(full=False)).to_string(index=False, float_format=lambda x: f"{x:,.4g}"))
        return
    warm_up()
    if options.sweep:
        swept = sweep(options.limit or SWEEP_LIMIT)
        rounded(swept).to_csv(RESULTS / "exact_search_sweep.csv", index=False, lineterminator="\n")
        draw(swept)
        return
    found = all_instances(options.limit or LIMIT, options.only)
    found = found.sort_values(["table", "asked_rows", "score", "forced"]).drop(columns=["asked_rows"])
    rounded(found).to_csv(RESULTS / "exact_search.csv", index=False, lineterminator="\n")
    print(markdown(found))


if __name__ == "__main__":
    main()
