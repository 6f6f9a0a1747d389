"""Networks without a class from samples of known networks: exact, tree and greedy searches, pgmpy's and pyAgrum's.

Rows are sampled from a network, and every search maximises BIC over all its variables. Every structure is judged by
its BIC in the sample, by the structural Hamming distance (SHD) between its equivalence class and the network's, and,
with EAP tables, by the mean log probability of fresh rows: what it falls short of the network's own is an estimate of
the Kullback-Leibler divergence. ``pip install pyagrum`` for the searches of pyAgrum. Needs the networks of
``../shared/data``.

Target: the exact search has the highest score, and on average no larger SHD and divergence than any other search.
Takes a few minutes of processor time; with ``--full``,
``docs/measurements/without_class.csv`` is written.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from anbexact import DiscreteTable, Structure, fit_network, learn_gbn, learn_tan
from anbexact.adapters import from_pgmpy
from anbexact.compare import structural_hamming_distance
from anbexact.scores import BIC
from anbexact.search import learn_greedy_gbn
from anbexact.search.scoring.totals import total_score
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import network
from benchmarks.harness.timing import timed

NETWORKS = ("asia", "child", "alarm")
SIZES, SEEDS, FRESH = (500, 5_000), 3, 20_000
"""Rows of a sample, samples of each size, and fresh rows."""
TABU = 100
"""Length of pgmpy's tabu list, and of ours."""
Edges = Sequence[tuple[Hashable, Hashable]]
Search = Callable[[DiscreteTable, pd.DataFrame], Edges]


def by_pgmpy(table: DiscreteTable, rows: pd.DataFrame) -> Edges:
    """Search by pgmpy's hill climbing with its default, a tabu list of 100 moves."""
    from pgmpy import structure_score
    from pgmpy.causal_discovery import HillClimbSearch

    states = {name: list(states) for name, states in table.vocabulary.states.items()}
    search = HillClimbSearch(
        scoring_method=structure_score.BIC(rows, state_names=states), return_type="dag", show_progress=False
    )
    return list(search.fit(rows).causal_graph_.edges)


def by_pyagrum(table: DiscreteTable, rows: pd.DataFrame, *, tabu: bool = False) -> Edges:
    """Search by pyAgrum's greedy hill climbing, or by its local search with a tabu list."""
    import pyagrum as gum

    states = gum.BayesNet()
    for name, of_name in table.vocabulary.states.items():
        states.add(gum.LabelizedVariable(name, "", list(of_name)))
    learner = gum.BNLearner(rows, states)
    learner.useScoreBIC()
    learner.useNoPrior()
    if tabu:
        learner.useLocalSearchWithTabuList(TABU, 2)
    else:
        learner.useGreedyHillClimbing()
    names = list(table.vocabulary.names)
    return [(names[a], names[b]) for a, b in learner.learnDAG().arcs()]


def by_pyagrum_tabu(table: DiscreteTable, rows: pd.DataFrame) -> Edges:
    """Search by pyAgrum's local search with a tabu list."""
    return by_pyagrum(table, rows, tabu=True)


SEARCHES: dict[str, Search] = {
    "learn_gbn": lambda table, _: learn_gbn(table, BIC()).edges,
    "learn_tan": lambda table, _: learn_tan(table, BIC()).edges,
    "learn_greedy_gbn": lambda table, _: learn_greedy_gbn(table, BIC()).edges,
    "learn_greedy_gbn, tabu": lambda table, _: learn_greedy_gbn(table, BIC(), tabu=TABU).edges,
    "pgmpy, tabu": by_pgmpy,
    **({"pyAgrum": by_pyagrum, "pyAgrum, tabu": by_pyagrum_tabu} if find_spec("pyagrum") else {}),
}


def log_probabilities(known: Any, rows: pd.DataFrame) -> np.ndarray:
    """Return ln P(row) of fresh rows under the network that they come from, in nats."""
    class_name = list(known.nodes)[-1]
    model = from_pgmpy(known, class_name).model_
    table = model.vocabulary
    codes = np.array([rows[name].map({s: k for k, s in enumerate(table.states[name])}) for name in table.features])
    classes = rows[class_name].map({s: k for k, s in enumerate(table.states[class_name])}).to_numpy()
    return model.log_joint(codes.astype(np.int16))[np.arange(len(rows)), classes]


def parents_of(edges: Edges, names: Sequence[Hashable]) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return the parents of every variable."""
    return {child: tuple(a for a, b in edges if b == child) for child in names}


def judged(
    label: str, table: DiscreteTable, rows: pd.DataFrame, known: Any, fresh: DiscreteTable, own: float
) -> dict[str, Any]:
    """Return how one search does on one sample; ``own`` is the mean log probability of fresh rows, in nats."""
    edges, _, took = timed(SEARCHES[label], table, rows)
    names = table.vocabulary.names
    structure = Structure.given(None, parents_of(edges, names))
    codes = np.stack([fresh.column(name) for name in names])
    logs = fit_network(table, structure, BIC()).log_joint(codes)[:, 0]
    return {
        "BIC": total_score(table, BIC(), dict(structure.parents)),
        "SHD": structural_hamming_distance(structure, known),
        "divergence": own - float(fresh.weights @ logs) / fresh.weight_sum,
        "arcs": len(edges),
        "seconds": took,
    }


def simulated(known: Any, n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows sampled from a network."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = known.simulate(n_samples=n_rows, seed=seed, show_progress=False)
    return rows[list(known.nodes)].astype(str)


def of_network(name: str, sizes: Sequence[int], seeds: int, n_fresh: int) -> list[Row]:
    """Return how every search does on samples of one network, on average over the samples of a size."""
    known = network(name)
    states: Mapping[str, list[str]] = known.states
    unseen = simulated(known, n_fresh, 10_000)
    fresh = DiscreteTable.from_frame(unseen, categories=states)
    own = float(log_probabilities(known, unseen).mean())
    first = unseen[:50]
    for search in SEARCHES.values():  # compiled and imported before it is timed
        search(DiscreteTable.from_frame(first, categories=states), first)
    found: list[Row] = []
    for n_rows in sizes:
        of_size = {label: [] for label in SEARCHES}
        for seed in range(seeds):
            rows = simulated(known, n_rows, seed)
            table = DiscreteTable.from_frame(rows, categories=states)
            for label in SEARCHES:
                of_size[label].append(judged(label, table, rows, known, fresh, own))
        best = np.max([[one["BIC"] for one in of_label] for of_label in of_size.values()], axis=0)
        for label, of_label in of_size.items():
            means = pd.DataFrame(of_label).assign(below=best - [one["BIC"] for one in of_label]).mean()
            found.append(
                {
                    "network": name,
                    "rows": n_rows,
                    "search": label,
                    "below the best": means["below"],
                    **{what: means[what] for what in ("SHD", "divergence", "arcs", "seconds")},
                }
            )
    return found


def main(run: Run) -> None:
    """Judge every search on every network."""
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    chosen = [name for name in NETWORKS if not run.only or name in run.only][: 1 if run.smoke else None]
    rows: list[Row] = []
    for name in chosen:
        rows += of_network(name, *(((100,), 1, 200) if run.smoke else (SIZES, SEEDS, FRESH)))
        show([row for row in rows if row["network"] == name])
    if run.full or run.smoke:
        decimals = {"below the best": 1, "SHD": 1, "divergence": 4, "arcs": 1, "seconds": 3}
        run.write("without_class", pd.DataFrame(rows), decimals)
