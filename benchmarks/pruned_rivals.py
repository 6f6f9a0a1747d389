"""The exact search beside rivals: ``python benchmarks/pruned_rivals.py [--limit SECONDS] [--only NAME ...]``.

The same tables, the same arcs from the class to every feature, the same limits on parents; what every rival finds is
scored by our BDeu or BIC, so that values compare:

- ``HiGHS``: an integer programme over the same candidate lists by ``scipy.optimize.milp``, solved anew after the
  cluster inequalities that it violates have been added (on the relaxation first), until its choice is acyclic;
- ``pyAgrum``: its greedy hill climbing and its search with a tabu list, arcs from the class mandatory;
- ``pgmpy``: its hill climbing with a tabu list, arcs from the class required.

pyAgrum is optional: ``pip install pyagrum``. Every rival runs in a process of its own, ended when it exceeds the
limit. Their seconds are of the search alone, after the libraries are loaded and the rows are handed over. Writes
``docs/results/exact_search_rivals.csv`` and prints the same as a table of Markdown.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from queue import Empty
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from crossval import RESULTS
from pruned import SCORES, instance, warm_up, watched
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_matrix, csr_matrix, vstack
from scipy.sparse.csgraph import connected_components
from tables import sampled

from anbexact import DiscreteTable, learn_anb
from anbexact._runtime.limits import Deadline, available_memory, thread_count
from anbexact.search.constraints import make_constraints
from anbexact.search.exact.candidates import candidate_lists
from anbexact.search.exact.parent_sets import unpack
from anbexact.search.scoring.totals import total_score

LIMIT = 120.0
CASES = (
    ("insurance", 1_000, None),
    ("alarm", 1_000, None),
    ("hailfinder", 1_000, None),
    ("win95pts", 1_000, 30),
    ("dermatology", 0, None),
)
SHOWN = ("BIC", "BDeu k=3")
FEW_CUTS = 60
"""Inequalities added in a round."""
Row = dict[str, Any]
Parents = dict[Any, list[Any]]
"""Feature parents of every feature."""


def exact(table: DiscreteTable, score: str, limit: float) -> tuple[Parents, Row]:
    """Search by the door."""
    of, most = SCORES[score]
    began = perf_counter()
    with watched() as seen:
        structure = learn_anb(table, of, max_parents=most, time_limit=limit)
    took = perf_counter() - began
    parents = {name: [p for p in structure.parents[name] if p != structure.class_name] for name in structure.features}
    notes = f"{'+'.join(seen.searches)}, {seen.nodes} nodes, lists {seen.list_seconds:.2f} s"
    return parents, {"seconds": took, "gap": structure.certificate.gap, "notes": notes}


class CutLoop:
    """Integer programme over candidate lists: one set for every feature, cluster inequalities added as violated."""

    def __init__(self, table: DiscreteTable, score: str, limit: float) -> None:
        of, most = SCORES[score]
        features = table.vocabulary.features
        self.features, self.n = features, len(features)
        self.deadline = perf_counter() + limit
        found = candidate_lists(
            table, of, make_constraints(features, most, (), ()), threads=thread_count(None), deadline=Deadline(limit),
            memory=available_memory(), most_sets=np.inf, progress=None,
        )  # fmt: skip
        self.complete = all(own.complete for own in found.lists)
        self.members = np.concatenate([unpack(own.masks, self.n) for own in found.lists])
        self.scores = np.concatenate([own.scores for own in found.lists])
        self.owner = np.repeat(np.arange(self.n), [len(own.scores) for own in found.lists])
        columns = np.arange(len(self.owner))
        self.one_each = csr_matrix((np.ones(len(columns)), (self.owner, columns)), shape=(self.n, len(columns)))
        self.cuts = csr_matrix((0, len(columns)))
        self.known: set[bytes] = set()
        self.rounds = 0

    @property
    def left(self) -> float:
        """Seconds."""
        return self.deadline - perf_counter()

    def add(self, clusters: list[np.ndarray]) -> bool:
        """Add the inequalities of new clusters; say whether there were any."""
        fresh = []
        for cluster in clusters:
            if cluster.tobytes() not in self.known:
                self.known.add(cluster.tobytes())
                fresh.append(cluster[self.owner] & ~self.members[:, cluster].any(axis=1))
        if fresh:
            self.cuts = vstack([self.cuts, csr_matrix(np.array(fresh, dtype=float))]).tocsr()
        return bool(fresh)

    def violated(self, x: np.ndarray) -> list[np.ndarray]:
        """Grow clusters from every feature, one member at a time, to the least left side; return those below 1."""
        held = np.flatnonzero(x > 1e-9)
        own, within, weight = self.owner[held], self.members[held], x[held]
        found = []
        for first in range(self.n):
            cluster = np.zeros(self.n, dtype=bool)
            cluster[first] = True
            hit = within[:, first].copy()
            for _ in range(self.n - 1):
                free = ~hit[:, None] & ~within
                counted = cluster[own][:, None] | (own[:, None] == np.arange(self.n))
                sides = np.where(cluster, np.inf, weight @ (free & counted))
                best = int(sides.argmin())
                cluster[best] = True
                hit |= within[:, best]
                if sides[best] < 1 - 1e-4:
                    found.append((sides[best], cluster.copy()))
                    break
        found.sort(key=lambda pair: pair[0])
        return [cluster for _, cluster in found[:FEW_CUTS]]

    def relax(self) -> np.ndarray:
        """Solve the relaxation, with the inequalities known so far."""
        rest = {"A_ub": -self.cuts, "b_ub": -np.ones(self.cuts.shape[0])} if self.cuts.shape[0] else {}
        found = linprog(
            -self.scores, A_eq=self.one_each, b_eq=np.ones(self.n), bounds=(0, 1), method="highs",
            options={"time_limit": max(self.left, 0.01)}, **rest,
        )  # fmt: skip
        if found.x is None:
            raise TimeoutError
        self.bound = min(self.bound, -float(found.fun))
        return found.x

    def choose(self) -> np.ndarray:
        """Solve the integer programme, with the inequalities known so far."""
        rules = [LinearConstraint(self.one_each, 1, 1)]
        if self.cuts.shape[0]:
            rules.append(LinearConstraint(self.cuts, lb=1))
        found = milp(
            -self.scores, integrality=np.ones(len(self.scores)), bounds=Bounds(0, 1), constraints=rules,
            options={"time_limit": max(self.left, 0.01), "mip_rel_gap": 0.0},
        )  # fmt: skip
        if found.mip_dual_bound is not None:
            self.bound = min(self.bound, -float(found.mip_dual_bound))
        if found.status != 0:
            raise TimeoutError
        return found.x

    def cycles(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the strongly connected components of a choice that have two features or more."""
        held = np.flatnonzero(x > 0.5)
        child, parent = np.repeat(self.owner[held], self.members[held].sum(axis=1)), np.nonzero(self.members[held])[1]
        graph = coo_matrix((np.ones(len(child)), (child, parent)), shape=(self.n, self.n))
        _, labels = connected_components(graph, connection="strong")
        return [labels == label for label in np.flatnonzero(np.bincount(labels) > 1)]

    def in_order(self) -> np.ndarray:
        """Return an acyclic choice: feature after feature, that which loses least by what is placed so far."""
        first = np.searchsorted(self.owner, np.arange(self.n))
        placed = np.zeros(self.n, dtype=bool)
        x = np.zeros(len(self.owner))
        for _ in range(self.n):
            inside = ~(self.members & ~placed).any(axis=1)
            best = np.array([first[i] + int(inside[self.owner == i].argmax()) for i in range(self.n)])
            loss = np.where(placed, np.inf, self.scores[first] - self.scores[best])
            child = int(loss.argmin())
            x[best[child]] = 1.0
            placed[child] = True
        return x

    def run(self) -> np.ndarray:
        """Return the best acyclic choice known when the work ends; ``bound`` bounds all of them."""
        self.bound = np.inf
        try:
            x = self.relax()
            while self.add(self.violated(x)):
                self.rounds += 1
                x = self.relax()
            while True:
                self.rounds += 1
                x = self.choose()
                clusters = self.cycles(x)
                if not clusters:
                    return x
                self.add(clusters + self.violated(x))
        except TimeoutError:
            return self.in_order()


def highs(table: DiscreteTable, score: str, limit: float) -> tuple[Parents, Row]:
    """Search by the cut loop."""
    began = perf_counter()
    loop = CutLoop(table, score, limit)
    listed = perf_counter() - began
    x = loop.run()
    took = perf_counter() - began
    held = np.flatnonzero(x > 0.5)
    parents = {
        loop.features[loop.owner[k]]: [loop.features[j] for j in np.flatnonzero(loop.members[k])] for k in held
    }
    gap = max(0.0, loop.bound - float(loop.scores[held].sum()))
    notes = f"{loop.rounds} rounds, {loop.cuts.shape[0]} cuts, lists {listed:.2f} s"
    if not loop.complete:
        gap, notes = np.inf, f"{notes} (incomplete)"
    return parents, {"seconds": took, "gap": gap if gap > 1e-6 else 0.0, "notes": notes}


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
    of_class = names.index(table.vocabulary.class_name)
    parents: Parents = {name: [] for name in table.vocabulary.features}
    for parent, child in arcs:
        if child == of_class:
            raise ValueError("an arc into the class")
        if parent != of_class:
            parents[names[child]].append(names[parent])
    return parents


def pyagrum(table: DiscreteTable, score: str, _limit: float, *, tabu: bool = False) -> tuple[Parents, Row]:
    """Search by pyAgrum's hill climbing."""
    import pyagrum as gum

    names, arities = table.vocabulary.names, table.shape(table.vocabulary.names)
    of_class = names.index(table.vocabulary.class_name)
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
        if j != of_class:
            learner.addMandatoryArc(f"v{of_class}", f"v{j}")
    learner.setNumberOfThreads(thread_count(None))
    began = perf_counter()
    dag = learner.learnDAG()
    took = perf_counter() - began
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
    of_class = names.index(table.vocabulary.class_name)
    states = {column: list(data[column].cat.categories) for column in data}
    data = data.astype(str)
    of = BIC(data, state_names=states) if score == "BIC" else BDeu(data, equivalent_sample_size=1, state_names=states)
    required = [(f"v{of_class}", f"v{j}") for j in range(len(names)) if j != of_class]
    knowledge = ExpertKnowledge(required_edges=required, forbidden_edges=[(b, a) for a, b in required])
    most = SCORES[score][1]
    search = HillClimbSearch(
        scoring_method=of, max_indegree=None if most is None else most + 1, expert_knowledge=knowledge,
        return_type="dag", show_progress=False,
    )  # fmt: skip
    began = perf_counter()
    search.fit(data)
    took = perf_counter() - began
    arcs = [(int(a[1:]), int(b[1:])) for a, b in search.causal_graph_.edges()]
    return named(table, arcs), {"seconds": took, "notes": f"pgmpy {library.__version__}"}


RIVALS: dict[str, tuple[Callable[..., tuple[Parents, Row]], str]] = {
    "anbexact": (exact, "scipy"),
    "HiGHS": (highs, "scipy"),
    "pyAgrum greedy": (pyagrum, "pyagrum"),
    "pyAgrum tabu": (pyagrum_tabu, "pyagrum"),
    "pgmpy tabu": (pgmpy, "pgmpy"),
}


def case(name: str, n_rows: int, n_features: int | None) -> DiscreteTable:
    """Return a table."""
    X, y, _ = sampled(name, n_rows, n_features) if n_features else instance(name, n_rows)
    return DiscreteTable.from_frame(X, y)


def alone(rival: str, which: tuple[Any, ...], score: str, limit: float, answers: Any) -> None:
    """Run a rival and send what it found."""
    warnings.simplefilter("ignore")
    table = case(*which)
    if rival == "anbexact":
        warm_up()
    work, _ = RIVALS[rival]
    try:
        parents, row = work(table, score, limit)
    except Exception as error:  # whatever a rival raises is its result
        answers.put({"notes": f"{type(error).__name__}: {error}"[:120]})
        return
    of_class = table.vocabulary.class_name
    of = SCORES[score][0]
    value = total_score(table, of, {of_class: (), **{child: (of_class, *own) for child, own in parents.items()}})
    answers.put({"value": value, "arcs": sum(map(len, parents.values())), **row})


def run_alone(rival: str, which: tuple[Any, ...], score: str, limit: float) -> Row:
    """Run a rival in a process of its own, and end it a minute (for loading) after the limit."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=alone, args=(rival, which, score, limit, answers))
    process.start()
    try:
        row: Row = answers.get(timeout=limit + 60)
    except Empty:
        row = {"notes": f"ended after {limit:.0f} s"}
        process.kill()
    process.join()
    return row


def markdown(found: pd.DataFrame) -> str:
    """Return a table of what every search stays below the best value found, and of its seconds."""
    rivals = list(dict.fromkeys(found["search"]))
    lines = [f"| table, features | score | {' | '.join(rivals)} |", f"| --- | --- |{' --- |' * len(rivals)}"]
    for (table, features, score), group in found.groupby(["table", "features", "score"], sort=False):
        best = group["value"].max()
        cells = []
        for rival in rivals:
            row = group[group["search"] == rival].squeeze()
            if row.empty or pd.isna(row["value"]):
                cells.append("" if row.empty else str(row["notes"]))
                continue
            below = best - row["value"]
            shown = "best" if below < 1e-6 else f"{below:.1f} below"
            gap = row["gap"]
            proof = "" if pd.isna(gap) else ", proved" if gap < 1e-6 else f", gap {gap:.3g}"
            proof = ", lists not complete" if gap == np.inf else proof
            cells.append(f"{shown}{proof}, {row['seconds']:.2g} s")
        lines.append(f"| {table}, {features} | {score} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is installed on every case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"seconds for each search ({LIMIT:.0f})")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="tables")
    options = parser.parse_args()
    for package in sorted({package for _, package in RIVALS.values()}):
        if find_spec(package) is None:
            print(f"{package} is missing, and left out")
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    rows = []
    for which in CASES:
        if options.only and which[0] not in options.only:
            continue
        table = case(*which)
        for score in SHOWN:
            best = None
            for rival, (_, package) in RIVALS.items():
                if find_spec(package) is None:
                    continue
                found = run_alone(rival, which, score, options.limit)
                best = found.get("value") if rival == "anbexact" else best
                rows.append(
                    {
                        "table": which[0],
                        "features": len(table.vocabulary.features),
                        "rows": int(table.weight_sum),
                        "score": score,
                        "search": rival,
                        "value": found.get("value"),
                        "below_exact": None if best is None or "value" not in found else best - found["value"],
                        "gap": found.get("gap"),
                        "seconds": found.get("seconds"),
                        "arcs": found.get("arcs"),
                        "notes": found.get("notes"),
                    }
                )
                print(rows[-1], flush=True)
    frame_ = pd.DataFrame(rows)
    RESULTS.mkdir(exist_ok=True)
    if not options.only:
        frame_.round({"value": 4, "below_exact": 4, "gap": 4, "seconds": 2}).to_csv(
            RESULTS / "exact_search_rivals.csv", index=False, lineterminator="\n"
        )
    print(markdown(frame_))


if __name__ == "__main__":
    main()
