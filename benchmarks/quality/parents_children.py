"""Searches for parents and children in samples of known networks: missing and extra variables, and milliseconds.

10,000 rows are sampled from each network, and every variable is the target once: parents and children that are
missing, variables that are extra, and processor milliseconds, all per target. Tests are G² at level 0.05, scores BDeu
with an equivalent sample size of 1; the Bayes factor takes whatever depends on the target given nothing. The paper's
milliseconds are of Java on a 2.2 GHz Xeon. Needs the networks of ``../shared/data``.

Target: Sugahara and Ueno's Table 4. Takes two minutes. With ``--full`` the score-based searches run on BARLEY, too
(minutes more), and ``docs/measurements/parents_children.csv`` and ``.md`` are written.
"""

import warnings
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from anbexact import DiscreteTable
from anbexact.rivals.selection.hiton_pc import HITONPC
from anbexact.rivals.selection.independence_tests import BayesFactorTest
from anbexact.rivals.selection.mmpc import MMPC
from anbexact.rivals.selection.pcmb import PCMB
from anbexact.rivals.selection.s2tmb import S2TMB
from anbexact.rivals.selection.sll import SLL
from benchmarks.harness.output import markdown, show, template, write_page
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import network, published
from benchmarks.harness.timing import timed

FIGURES = ("missing", "extra", "ms")
NETWORKS = ("ASIA", "SACHS", "CHILD", "WATER", "ALARM", "BARLEY")
N_ROWS = 10_000
Search = Callable[[DiscreteTable, Hashable], Iterable[Hashable]]


def dependent(table: DiscreteTable, target: Hashable) -> list[Hashable]:
    """Return the variables whose Bayes factor with the target, given nothing, is 3 or less."""
    names = table.vocabulary.names
    x = names.index(target)
    others = np.delete(np.arange(len(names)), x)
    associations = BayesFactorTest().on(table)(x, others, ())
    return [names[y] for y in others[associations >= 0]]


SEARCHES: dict[str, Search] = {
    "MMPC": MMPC().parents_children,
    "HITON-PC": HITONPC().parents_children,
    "PCMB": PCMB().parents_children,
    "SLL": SLL().parents_children,
    "S2TMB": S2TMB().parents_children,
    "BayesFactor": dependent,
}
"""Searches by the names of the published table, which has no SLL."""
SLOW: set[tuple[str, str]] = {("BARLEY", "SLL"), ("BARLEY", "S2TMB")}


def sample(name: str, n_rows: int) -> tuple[DiscreteTable, dict[Hashable, set[Hashable]]]:
    """Return rows sampled from a network, and the parents and children of every variable in it."""
    known = network(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = known.simulate(n_samples=n_rows, seed=0, show_progress=False)
    names = list(known.nodes)
    truth = {v: {*known.predecessors(v), *known.successors(v)} for v in names}
    return DiscreteTable.from_frame(rows[names].astype(str), categories=known.states), truth


def one_search(search: Search, table: DiscreteTable, truth: dict[Hashable, set[Hashable]]) -> Row:
    """Return what a search misses and adds, and its processor milliseconds, per target."""
    search(table, next(iter(truth)))  # compiled before it is timed
    found, _, took = timed(lambda: {target: set(search(table, target)) for target in truth})
    return {
        "missing": sum(len(truth[v] - found[v]) for v in truth) / len(truth),
        "extra": sum(len(found[v] - truth[v]) for v in truth) / len(truth),
        "ms": took / len(truth) * 1000,
    }


def main(run: Run) -> None:
    """Judge every search on every network, and write the results where all were run."""
    figures = published("anb_table4_pc_search.csv").set_index("network")
    rows: list[Row] = []
    for name in NETWORKS[: 1 if run.smoke else None]:
        table, truth = sample(name, 200 if run.smoke else N_ROWS)
        for label, search in SEARCHES.items():
            if (name, label) in SLOW and not run.full:
                continue
            row: Row = {"network": name, "variables": len(truth), "search": label}
            row |= one_search(search, table, truth)
            for what in FIGURES:
                row[f"{what} published"] = figures[f"{label}_{what}"].get(name) if label != "SLL" else None
            row["published / ms"] = row["ms published"] / row["ms"] if label != "SLL" else None
            rows.append(row)
    if run.full or run.smoke:
        write(run, pd.DataFrame(rows))
    show(rows)


def write(run: Run, found: pd.DataFrame) -> None:
    """Write the results, and a table of them in Markdown."""
    columns = [*FIGURES, *(f"{what} published" for what in FIGURES), "published / ms"]
    means = found.groupby("search", sort=False)[columns].mean().reset_index().assign(network="average")
    means["published / ms"] = means["ms published"] / means["ms"]
    found = pd.concat([found, means], ignore_index=True)
    run.write("parents_children", found, dict.fromkeys(columns, 2))
    rows = [
        [name, *(cell(row) for row in of_network.to_dict("records"))]
        for name, of_network in found.groupby("network", sort=False)
    ]
    page = template(Path(__file__).parent, "parents_children")
    text = page.substitute(n_rows=f"{N_ROWS:,}", table=markdown(["network", *SEARCHES], rows))
    write_page(run.summaries / "parents_children.md", text)


def cell(row: Row) -> str:
    """Return missing and extra variables and milliseconds, in brackets those published."""
    own = f"{row['missing']:.2f} + {row['extra']:.2f}, {row['ms']:.3g} ms"
    if row["search"] == "SLL":
        return own
    return f"{own} ({row['missing published']:.2f} + {row['extra published']:.2f}, {row['ms published']:.0f} ms)"
