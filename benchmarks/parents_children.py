"""Searches for parents and children in samples of known networks, beside Sugahara and Ueno's Table 4.

10,000 rows are sampled from each network, and every variable is the target once: parents and children that are
missing, variables that are extra, and processor milliseconds, all per target. Tests are G² at level 0.05, scores BDeu
with an equivalent sample size of 1; the Bayes factor takes whatever depends on the target given nothing. The paper's
milliseconds are of Java on a 2.2 GHz Xeon. With ``--full`` the score-based searches go through BARLEY, too (minutes),
and ``docs/results/parents_children.csv`` and ``.md`` are written.
"""

import gzip
import warnings
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from tables import DATA

from anbexact import DiscreteTable
from anbexact.selection.hiton_pc import HITONPC
from anbexact.selection.independence_tests import BayesFactorTest
from anbexact.selection.mmpc import MMPC
from anbexact.selection.pcmb import PCMB
from anbexact.selection.s2tmb import S2TMB
from anbexact.selection.sll import SLL

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
NETWORKS = ("ASIA", "SACHS", "CHILD", "WATER", "ALARM", "BARLEY")
N_ROWS = 10_000
Row = dict[str, object]
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
SLOW = {("BARLEY", "SLL"), ("BARLEY", "S2TMB")}


def sample(name: str) -> tuple[DiscreteTable, dict[Hashable, set[Hashable]]]:
    """Return rows sampled from a network, and the parents and children of every variable in it."""
    from pgmpy.readwrite import BIFReader

    text = gzip.decompress((DATA / "networks" / f"{name.lower()}.bif.gz").read_bytes()).decode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = BIFReader(string=text).get_model()
        rows = network.simulate(n_samples=N_ROWS, seed=0, show_progress=False)
    names = list(network.nodes)
    truth = {v: {*network.predecessors(v), *network.successors(v)} for v in names}
    return DiscreteTable.from_frame(rows[names].astype(str), categories=network.states), truth


def run(*, full: bool) -> list[Row]:
    """Judge every search on every network, and write the results where all were run."""
    if not (DATA / "networks").exists():
        return [{"network": "none: ../shared/data is absent"}]
    published = pd.read_csv(DATA.parent / "reference" / "anb_table4_pc_search.csv").set_index("network")
    rows: list[Row] = []
    for name in NETWORKS:
        table, truth = sample(name)
        for label, search in SEARCHES.items():
            if (name, label) in SLOW and not full:
                continue
            search(table, next(iter(truth)))  # compiled before it is timed
            began = process_time()
            found = {target: set(search(table, target)) for target in truth}
            took = (process_time() - began) / len(truth) * 1000
            row: Row = {"network": name, "variables": len(truth), "search": label}
            row["missing"] = sum(len(truth[v] - found[v]) for v in truth) / len(truth)
            row["extra"] = sum(len(found[v] - truth[v]) for v in truth) / len(truth)
            row["ms"] = took
            for what in ("missing", "extra", "ms"):
                row[f"{what} published"] = published[f"{label}_{what}"].get(name) if label != "SLL" else None
            row["published / ms"] = row["ms published"] / took if label != "SLL" else None
            rows.append(row)
    if full:
        write(pd.DataFrame(rows))
    return rows


def write(found: pd.DataFrame) -> None:
    """Write the results, and a table of them in Markdown."""
    columns = ["missing", "extra", "ms", "missing published", "extra published", "ms published", "published / ms"]
    means = found.groupby("search", sort=False)[columns].mean().reset_index().assign(network="average")
    means["published / ms"] = means["ms published"] / means["ms"]
    found = pd.concat([found, means])
    found.round(dict.fromkeys(columns, 2)).to_csv(RESULTS / "parents_children.csv", index=False)
    lines = [
        f"# Parents and children, {N_ROWS:,} rows",
        "",
        "Missing + extra variables per target, and processor milliseconds; in brackets those of Sugahara and Ueno's "
        "Table 4 (Java, 2.2 GHz).",
        "",
        f"| network | {' | '.join(SEARCHES)} |",
        f"| --- |{' --- |' * len(SEARCHES)}",
    ]
    for name, of_network in found.groupby("network", sort=False):
        cells = []
        for row in of_network.to_dict("records"):
            cell = f"{row['missing']:.2f} + {row['extra']:.2f}, {row['ms']:.3g} ms"
            if row["search"] != "SLL":
                cell += (
                    f" ({row['missing published']:.2f} + {row['extra published']:.2f}, {row['ms published']:.0f} ms)"
                )
            cells.append(cell)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    (RESULTS / "parents_children.md").write_text("\n".join(lines) + "\n")
