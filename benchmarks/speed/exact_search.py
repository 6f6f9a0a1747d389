"""The exact search beyond the lattice: parent sets scored and listed, seconds to the proof, the gap, and the check.

Tables of ``../shared/data`` and samples from its networks (kept in ``benchmarks/results/samples``), by BIC without a
limit on parents and by BDeu (equivalent sample size 1) with three feature parents at most. Where other work shares
the machine, processor seconds (``cpu_s``, of all threads) say more than the clock's. How long the candidate lists
alone take is measured once more by themselves.

Target: :func:`target`. Takes half a minute for a few samples, of which nothing is written. ``--full`` measures every
table and sample, with 300 s for a search unless ``--limit`` says otherwise: hours, most of them for what does not
close. It is resumable, writes ``docs/measurements/exact_search.csv``, and prints the table of
``docs/background/exact-search.md``.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pandas as pd

from anbexact import BDeu, DiscreteTable, Structure, learn_anb, verify
from anbexact.models.proof import Case, Exhaustion, Split
from anbexact.scores import BIC
from anbexact.search.exact.lattice import lattice_cost
from benchmarks.harness.inner import available_memory, parent_set_lists
from benchmarks.harness.output import markdown, show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import Loaded
from benchmarks.harness.timing import timed

LIMIT, QUICK_LIMIT = 300.0, 5.0
"""Seconds that a search may take."""
SCORES = {"BIC": (BIC(), None), "BDeu k=3": (BDeu(1.0), 3), "BDeu": (BDeu(1.0), None)}
"""Score, and most feature parents."""
BOTH = ("BIC", "BDeu k=3")
TABLES = ("kr-vs-kp", "soybean", "dermatology", "ionosphere")
NETWORKS = {"insurance": None, "water": None, "alarm": None, "hailfinder": None, "hepar2": 60, "win95pts": 60}
"""Networks, and how many of their features are taken."""
ROWS = (1_000, 3_000, 5_000)
QUICK = (("insurance", 1_000), ("alarm", 1_000), ("hailfinder", 1_000))
LATTICE_FEATURES = 22
"""The lattice takes seconds up to here, and every further feature doubles them."""
SEARCHES = {"pruned search": "pruned", "lattice": "lattice"}
"""How the method of a certificate begins, and what it is called here."""


class Phases:
    """Notes, as the progress of a search, when the candidate lists and the proof were last heard of."""

    def __init__(self) -> None:
        self.last = dict.fromkeys(("lists", "proof"), perf_counter())

    def __call__(self, phase: str, fraction: float) -> None:  # as learn_anb calls it
        """Note the time."""
        self.last["proof" if phase == "proof" else "lists"] = perf_counter()

    @property
    def proof(self) -> float:
        """Seconds from the lists to the proof."""
        return max(0.0, self.last["proof"] - self.last["lists"])


def search_of(structure: Structure) -> str:
    """Return the search that found a structure."""
    method = structure.certificate.method
    return next((name for beginning, name in SEARCHES.items() if method.startswith(beginning)), method)


def branches(case: Case) -> int:
    """Return how many branches the proof of a component has; none where all orders were enumerated."""
    if isinstance(case, Split):
        return 1 + branches(case.absent) + branches(case.present)
    return 0 if isinstance(case, Exhaustion) else 1


def memory_for(table: DiscreteTable, most: int | None, search: str) -> float | None:
    """Return a limit on memory that keeps the lattice out if candidate lists are asked for."""
    if search != "pruned":
        return None
    lattice = lattice_cost(len(table.vocabulary.features), len(table.weights), max_parents=most).memory
    return min(lattice - 1, available_memory())


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
    """Return what the search took and proved.

    ``search`` is "pruned" for candidate lists, without regard to the lattice, "lattice" for that, and "" for the one
    that is quicker by the search's own estimate, which is the lattice on all tables here that are measured so.
    """
    table = DiscreteTable.from_frame(X, y)
    of, most = SCORES[score]
    memory = memory_for(table, most, search)
    phases = Phases()
    took = timed(learn_anb, table, of, max_parents=most, time_limit=limit, memory_limit=memory, progress=phases)
    structure: Structure = took.result
    certificate, found = structure.certificate, search_of(structure)
    proof = certificate.proof
    lists: Row = {}
    if found == "pruned" and proof is not None:
        lists = list_figures(table, score, proof.largest, limit)
    complete = not lists or proof.largest is None
    among = certificate.gap
    if not complete:
        class_score = of.local_score(table, structure.class_name, [])
        among = max(0.0, sum(part.bound for part in proof.components) + class_score - structure.score)
    components = [part for part in proof.components if len(part.features) > 1] if lists else []
    row: Row = {
        "features": X.shape[1],
        "rows": len(X),
        "score": score,
        "search": found + (" (forced)" if search else ""),
        "sets": certificate.sets_scored,
        "listed": lists.get("listed"),
        "lists_s": lists.get("seconds"),
        "sets_per_s": lists.get("sets_per_s"),
        "sets_per_cpu_s": lists.get("sets_per_cpu_s"),
        "complete_to": "all" if complete else proof.largest,
        "proof_s": phases.proof if lists else None,
        "nodes": sum(branches(part.case) for part in components) if lists else None,
        "largest_component": max((len(part.features) for part in proof.components), default=1) if lists else None,
        "total_s": took.seconds,
        "cpu_s": took.processor_seconds,
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
    if check:
        checked = proof is not None and not (found == "lattice" and X.shape[1] > LATTICE_FEATURES)
        answer = timed(verify, structure, table) if checked else None
        row["verified"], row["verify_s"] = (answer.result, answer.seconds) if answer else (None, None)
    return row


def list_figures(table: DiscreteTable, score: str, largest: int | None, limit: float) -> Row:
    """Return how many parent sets the candidate lists up to a size hold, and how fast they are made."""
    of, most = SCORES[score]
    took = timed(parent_set_lists, table, of, most, limit=limit, largest=largest)
    return {
        "listed": sum(len(own.masks) for own in took.result.lists),
        "seconds": took.seconds,
        "sets_per_s": took.result.scored / took.seconds,
        "sets_per_cpu_s": took.result.scored / max(took.processor_seconds, 1e-9),
    }


def warm_up() -> None:
    """Have the kernels compiled: both searches, and branch and cut on a component that is too large to enumerate."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, (300, 1))
    noisy = np.where(rng.random((300, 18)) < 0.3, rng.integers(0, 2, (300, 18)), hidden).astype(str)
    X = pd.DataFrame(noisy, columns=[f"f{i}" for i in range(18)]).astype("category")
    y = pd.Series(rng.integers(0, 2, 300).astype(str), name="class")
    for score in BOTH:
        measure(X, y, score, search="pruned", limit=3.0)
    measure(X.iloc[:, :6], y, "BIC", search="lattice")


def instance(run: Run, name: str, n_rows: int) -> Loaded:
    """Return a table, its continuous columns cut at the median, or a sample."""
    return run.sampled(name, n_rows, NETWORKS[name]) if name in NETWORKS else run.load(name, cut=True)


def all_instances(run: Run) -> pd.DataFrame:
    """Measure every table and sample by both scores, and the mushrooms by both searches."""
    samples = [(name, n_rows) for n_rows in ROWS for name in NETWORKS]
    small, large = samples[: len(NETWORKS)], samples[len(NETWORKS) :]

    def by_both(shapes: list[tuple[str, int]]) -> list[tuple[str, int, str, str]]:
        return [(name, n_rows, score, "") for name, n_rows in shapes for score in BOTH]

    mushrooms = [("mushroom", 0, score, search) for score in ("BIC", "BDeu") for search in ("", "pruned", "lattice")]
    tasks = [*by_both(small), *mushrooms, *by_both([(name, 0) for name in TABLES]), *by_both(large)]
    names = run.names(dict.fromkeys(task[0] for task in tasks))

    def work(name: str, n_rows: int, score: str, search: str) -> list[Row]:
        X, y, source = instance(run, name, n_rows)
        return [{"source": source, **measure(X, y, score, search=search, limit=run.limit or LIMIT)}]

    keys = ["table", "asked_rows", "score", "forced"]
    found = run.measure("exact_search", keys, [task for task in tasks if task[0] in names], work, jobs=1)
    return found.sort_values(keys).drop(columns="asked_rows").reset_index(drop=True)


DECIMALS = {
    **dict.fromkeys(("lists_s", "proof_s", "total_s", "cpu_s", "verify_s"), 2),
    **dict.fromkeys(("value", "bound", "gap", "gap_among"), 6),
    "sets_per_s": 0,
    "sets_per_cpu_s": 0,
    "gap_percent": 5,
}
"""Digits that are meant."""


def duration(value: float) -> str:
    """Return a duration, with two digits at least; nothing where there is none."""
    return "" if pd.isna(value) else f"{value:.2g}" if value < 10 else f"{value:.0f}"


COLUMNS = [
    "table",
    "features",
    "rows",
    "score",
    "sets_scored",
    "listed",
    "seconds",
    "processor_s",
    "result",
    "check,_s",
]


def page_table(found: pd.DataFrame) -> str:
    """Return the table of ``docs/background/exact-search.md``: what was proved, when; no samples of 3,000 rows."""
    lines = []
    for row in found[found["rows"] != 3_000].itertuples():
        result = "proved" if row.optimal else f"gap {row.gap_percent:.2g} %"
        if not row.optimal and row.complete_to != "all":
            within = "optimal" if row.gap_among < 1e-6 else f"within {100 * row.gap_among / abs(row.value):.2g} %"
            result = f"{within} up to {row.complete_to} parents; gap {row.gap_percent:.2g} %"
        score = f"{row.score} ({'by default' if pd.isna(row.forced) else row.forced})" * (row.table == "mushroom")
        listed = "all sets" if pd.isna(row.listed) or "lattice" in row.search else f"{row.listed:,.0f}"
        cells = (row.table, row.features, f"{row.rows:,}", score or row.score, f"{row.sets:,}", listed)
        cells += (duration(row.total_s), duration(row.cpu_s), result, duration(row.verify_s))
        lines.append(cells)
    return markdown([*COLUMNS, "check, s"], lines)


SHOWN = ("score", "features", "rows", "search", "sets", "listed", "sets_per_s", "lists_s", "total_s")
SHOWN += ("optimal", "gap", "gap_percent", "target", "verified", "verify_s")


def main(run: Run) -> None:
    """Measure a few samples; every table and sample if ``--full``."""
    if not run.smoke:
        warm_up()
    if run.full:
        found = all_instances(run)
        run.write("exact_search", found, DECIMALS)
        print(page_table(found))
        return
    rows = []
    for name, n_rows in QUICK[: 1 if run.smoke else None]:
        X, y, source = instance(run, name, n_rows)
        for score in BOTH:
            found = measure(X, y, score, search="pruned" if run.smoke else "", limit=run.limit or QUICK_LIMIT)
            rows.append({"table": name, "source": source, **{key: found[key] for key in SHOWN}})
    show(rows)
