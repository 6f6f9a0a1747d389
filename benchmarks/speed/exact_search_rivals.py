"""The exact search beside others: the value of what they find, its gap, and their seconds.

The same tables, the same arcs from the class to every feature, the same limits on parents; what every other search
finds is scored by our BDeu or BIC, so that values compare:

- ``HiGHS``: an integer programme over the same candidate lists by ``scipy.optimize.milp``, solved anew after the
  cluster inequalities that it violates have been added (on the relaxation first), until its choice is acyclic;
- ``pyAgrum``: its greedy hill climbing and its search with a tabu list, arcs from the class mandatory;
- ``pgmpy``: its hill climbing with a tabu list, arcs from the class required.

pyAgrum is optional: ``pip install pyagrum``. Each search runs in a process of its own, ended when it exceeds the
limit. Their seconds are of the search alone, after the libraries are loaded and the rows are handed over.

Target: none; ``docs/background/exact-search.md`` has the outcome. Takes a few minutes, with 20 s for a search unless
``--limit`` says otherwise; with ``--full`` 120 s, and ``docs/measurements/exact_search_rivals.csv`` is written.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from anbexact import DiscreteTable, learn_anb
from anbexact.search.scoring.totals import total_score
from benchmarks.harness.inner import thread_count
from benchmarks.harness.output import markdown
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.timing import alone, timed
from benchmarks.speed.cut_loop import CutLoop
from benchmarks.speed.exact_search import BOTH, SCORES, branches, instance, search_of, warm_up

LIMIT, QUICK_LIMIT = 120.0, 20.0
"""Seconds for each search."""
LOADING = 60.0
"""Seconds more after which its process is ended."""
CASES = (
    ("insurance", 1_000, None),
    ("alarm", 1_000, None),
    ("hailfinder", 1_000, None),
    ("win95pts", 1_000, 30),
    ("dermatology", 0, None),
)
"""Table, rows and features."""
Case = tuple[str, int, int | None]
Parents = dict[Any, list[Any]]
"""Feature parents of every feature."""


def exact(table: DiscreteTable, score: str, limit: float) -> tuple[Parents, Row]:
    """Search by anbexact."""
    of, most = SCORES[score]
    warm_up()
    structure, took, _ = timed(learn_anb, table, of, max_parents=most, time_limit=limit)
    parents = {name: [p for p in structure.parents[name] if p != structure.class_name] for name in structure.features}
    proof = structure.certificate.proof
    nodes = sum(branches(part.case) for part in proof.components if len(part.features) > 1) if proof else 0
    notes = f"{search_of(structure)}, {nodes} nodes"
    return parents, {"seconds": took, "gap": structure.certificate.gap, "notes": notes}


def highs(table: DiscreteTable, score: str, limit: float) -> tuple[Parents, Row]:
    """Search by the cut loop."""
    loop, listed, _ = timed(CutLoop, table, *SCORES[score], limit)
    x, solved, _ = timed(loop.run)
    held = np.flatnonzero(x > 0.5)
    parents = {
        loop.features[loop.owner[k]]: [loop.features[j] for j in np.flatnonzero(loop.members[k])] for k in held
    }
    gap = max(0.0, loop.bound - float(loop.scores[held].sum()))
    notes = f"{loop.rounds} rounds, {loop.cuts.shape[0]} cuts, lists {listed:.2f} s"
    if not loop.complete:
        gap, notes = np.inf, f"{notes} (incomplete)"
    return parents, {"seconds": listed + solved, "gap": gap if gap > 1e-6 else 0.0, "notes": notes}


def frame(table: DiscreteTable) -> pd.DataFrame:
    """Return one line for every row, its cells as text: v0, v1, ..., states s0, s1, ..."""
    rows = np.repeat(table.codes, table.weights.astype(int), axis=0)
    arities = table.shape(table.vocabulary.names)
    return pd.DataFrame(
        {
            f"v{j}": pd.Categorical.from_codes(rows[:, j], [f"s{k}" for k in range(arity)])
            for j, arity in enumerate(arities)
        }
    )


def named(table: DiscreteTable, arcs: list[tuple[int, int]]) -> Parents:
    """Return feature parents from arcs between positions."""
    names = table.vocabulary.names
    class_node = names.index(table.vocabulary.class_name)
    parents: Parents = {name: [] for name in table.vocabulary.features}
    for parent, child in arcs:
        if child == class_node:
            raise ValueError("an arc into the class")
        if parent != class_node:
            parents[names[child]].append(names[parent])
    return parents


def pyagrum(table: DiscreteTable, score: str, _limit: float, *, tabu: bool = False) -> tuple[Parents, Row]:
    """Search by pyAgrum's hill climbing."""
    import pyagrum as gum

    names, arities = table.vocabulary.names, table.shape(table.vocabulary.names)
    class_node = names.index(table.vocabulary.class_name)
    states = gum.BayesNet()
    for j, arity in enumerate(arities):
        states.add(gum.LabelizedVariable(f"v{j}", "", [f"s{k}" for k in range(arity)]))
    learner = gum.BNLearner(frame(table).astype(str), states)
    if score == "BIC":
        learner.useScoreBIC()
    else:
        learner.useScoreBDeu()
    learner.useNoPrior()
    if tabu:
        learner.useLocalSearchWithTabuList()
    else:
        learner.useGreedyHillClimbing()
    most = SCORES[score][1]
    if most is not None:
        learner.setMaxIndegree(most + 1)
    for j in range(len(names)):
        if j != class_node:
            learner.addMandatoryArc(f"v{class_node}", f"v{j}")
    learner.setNumberOfThreads(thread_count(None))
    dag, took, _ = timed(learner.learnDAG)
    return named(table, list(dag.arcs())), {"seconds": took, "notes": f"pyAgrum {gum.__version__}"}


def pyagrum_tabu(table: DiscreteTable, score: str, limit: float) -> tuple[Parents, Row]:
    """Search by pyAgrum's local search with a tabu list."""
    return pyagrum(table, score, limit, tabu=True)


def pgmpy(table: DiscreteTable, score: str, _limit: float) -> tuple[Parents, Row]:
    """Search by pgmpy's hill climbing."""
    warnings.simplefilter("ignore")
    import pgmpy as library
    from pgmpy.causal_discovery import ExpertKnowledge, HillClimbSearch
    from pgmpy.structure_score import BIC, BDeu

    data = frame(table)
    names = table.vocabulary.names
    class_node = names.index(table.vocabulary.class_name)
    states = {column: list(data[column].cat.categories) for column in data}
    data = data.astype(str)
    of = BIC(data, state_names=states) if score == "BIC" else BDeu(data, equivalent_sample_size=1, state_names=states)
    required = [(f"v{class_node}", f"v{j}") for j in range(len(names)) if j != class_node]
    knowledge = ExpertKnowledge(required_edges=required, forbidden_edges=[(b, a) for a, b in required])
    most = SCORES[score][1]
    search = HillClimbSearch(
        scoring_method=of, max_indegree=None if most is None else most + 1, expert_knowledge=knowledge,
        return_type="dag", show_progress=False,
    )  # fmt: skip
    took = timed(search.fit, data).seconds
    arcs = [(int(a[1:]), int(b[1:])) for a, b in search.causal_graph_.edges()]
    return named(table, arcs), {"seconds": took, "notes": f"pgmpy {library.__version__}"}


SEARCHES: dict[str, tuple[Callable[..., tuple[Parents, Row]], str]] = {
    "anbexact": (exact, "scipy"),
    "HiGHS": (highs, "scipy"),
    "pyAgrum greedy": (pyagrum, "pyagrum"),
    "pyAgrum tabu": (pyagrum_tabu, "pyagrum"),
    "pgmpy tabu": (pgmpy, "pgmpy"),
}
"""What searches, and the library that it needs."""


def table_of(run: Run, case: Case) -> DiscreteTable:
    """Return a table."""
    name, n_rows, n_features = case
    X, y, _ = run.sampled(name, n_rows, n_features) if n_features else instance(run, name, n_rows)
    return DiscreteTable.from_frame(X, y)


def attempt(run: Run, case: Case, search: str, score: str, limit: float) -> Row:
    """Return what a search found, scored by our score, or why it found nothing."""
    warnings.simplefilter("ignore")
    table = table_of(run, case)
    work, _ = SEARCHES[search]
    try:
        parents, row = work(table, score, limit)
    except Exception as error:  # whatever it raises is its result
        return {"notes": f"{type(error).__name__}: {error}"[:120]}
    class_node = table.vocabulary.class_name
    of = SCORES[score][0]
    value = total_score(table, of, {class_node: (), **{child: (class_node, *own) for child, own in parents.items()}})
    return {"value": value, "arcs": sum(map(len, parents.values())), **row}


def attempts(run: Run, case: Case, searches: list[str], score: str) -> list[Row]:
    """Return what all searches find, each in a process of its own, beside what anbexact finds."""
    table = table_of(run, case)
    limit = run.limit or (LIMIT if run.full else QUICK_LIMIT)
    rows: list[Row] = []
    best = None
    for search in searches:
        try:
            found = alone(attempt, run, case, search, score, limit, limit=limit + LOADING)
        except TimeoutError as error:
            found = {"notes": str(error)}
        best = found.get("value") if search == "anbexact" else best
        rows.append(
            {
                "table": case[0],
                "features": len(table.vocabulary.features),
                "rows": int(table.weight_sum),
                "score": score,
                "search": search,
                "value": found.get("value"),
                "below_exact": None if best is None or "value" not in found else best - found["value"],
                "gap": found.get("gap"),
                "seconds": found.get("seconds"),
                "arcs": found.get("arcs"),
                "notes": found.get("notes"),
            }
        )
        print(rows[-1], flush=True)
    return rows


def page_table(found: pd.DataFrame) -> str:
    """Return a table of what every search stays below the best value found, and of its seconds."""
    searches = list(dict.fromkeys(found["search"]))
    lines = []
    for (table, features, score), group in found.groupby(["table", "features", "score"], sort=False):
        best = group["value"].max()
        lines.append([f"{table}, {features}", score, *(cell(group, search, best) for search in searches)])
    return markdown(["table, features", "score", *searches], lines)


def cell(group: pd.DataFrame, search: str, best: float) -> str:
    """Return how far a search stays below the best value, what it proved, and its seconds."""
    row = group[group["search"] == search].squeeze()
    if row.empty or pd.isna(row["value"]):
        return "" if row.empty else str(row["notes"])
    below, gap = best - row["value"], row["gap"]
    shown = "best" if below < 1e-6 else f"{below:.1f} below"
    proof = "" if pd.isna(gap) else ", proved" if gap < 1e-6 else f", gap {gap:.3g}"
    proof = ", lists not complete" if gap == np.inf else proof
    return f"{shown}{proof}, {row['seconds']:.2g} s"


def main(run: Run) -> None:
    """Run what is installed on every case."""
    for package in sorted({package for _, package in SEARCHES.values()}):
        if find_spec(package) is None:
            print(f"{package} is missing, and left out")
    searches = [search for search, (_, package) in SEARCHES.items() if find_spec(package) is not None]
    cases = [case for case in CASES if not run.only or case[0] in run.only]
    scores = BOTH
    if run.smoke:
        searches, cases, scores = ["HiGHS"], CASES[:1], BOTH[:1]
    rows = [row for case in cases for score in scores for row in attempts(run, case, searches, score)]
    frame = pd.DataFrame(rows)
    if run.full or run.smoke:
        run.write("exact_search_rivals", frame, {"value": 4, "below_exact": 4, "gap": 4, "seconds": 2})
    print(page_table(frame))
