"""Fewest class parameters: samples of known networks, and shared tables beside ANB, fsANB and GBN.

Rows are sampled from CANCER, ASIA and ALARM, and every variable is the class once. Its features are the 8 nearest
variables: those of the Markov blanket first, then others by distance. The class parameters of the network learned are
divided by the fewest of any network without parents of the class that has only separations of the true graph. A
quotient below 1 means that dependencies are missed, or that the true tables have independencies which the graph does
not show; in ASIA, "either" is a function of two others. Score: BDeu with equivalent sample size 1.

On the shared tables: log loss in five-fold cross-validation and class parameters, with equivalent sample size 1 and
continuous columns cut at the median.

Target: quotients that approach 1 as rows increase. Takes ten minutes.
"""

import warnings
from collections.abc import Hashable, Iterable, Mapping
from functools import cache, partial
from itertools import combinations
from math import prod
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from anbexact import ANBClassifier, DiscreteTable, FSANBClassifier, GBNClassifier
from anbexact.classifiers import MinimalClassParametersClassifier
from anbexact.search import learn_mcp
from anbexact.search.exact.class_parameters import class_parameters
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import panels, save, show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import network

NETWORKS = ("CANCER", "ASIA", "ALARM")
ROWS = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)
SEEDS = 3
MOST_FEATURES = 8
"""Nearest features of a class that are kept."""
LARGEST = 16
"""Features of the shared tables, at most."""
MODELS = {
    "ANB": ANBClassifier(ess=1.0, max_parents=None, n_jobs=1),
    "fsANB": FSANBClassifier(ess=1.0, n_jobs=1),
    "GBN": GBNClassifier(ess=1.0, n_jobs=1),
    "MCP": MinimalClassParametersClassifier(ess=1.0, n_jobs=1),
}


def separated(graph: nx.DiGraph, x: Hashable, y: Hashable, given: Iterable[Hashable]) -> bool:
    """Return whether a set separates two variables: no path in the moral graph of their ancestors avoids it."""
    given = set(given)
    kept = {x, y, *given}
    kept |= {above for name in kept for above in nx.ancestors(graph, name)}
    linked: dict[Hashable, set[Hashable]] = {name: set() for name in kept}
    for name in kept:
        for a, b in combinations([name, *graph.predecessors(name)], 2):
            linked[a].add(b)
            linked[b].add(a)
    reached, waiting = {x}, [x]
    while waiting:
        for name in linked[waiting.pop()] - reached - given:
            reached.add(name)
            waiting.append(name)
    return y not in reached


def fewest(graph: nx.DiGraph, target: Hashable, features: list[Hashable], n_states: Mapping[Hashable, int]) -> int:
    """Return the fewest class parameters over all orders, each feature below its boundary in the true graph."""

    @cache
    def cost(feature: Hashable, before: frozenset[Hashable]) -> int:
        own = [
            other for other in (*before, target) if not separated(graph, feature, other, {*before, target} - {other})
        ]
        return (n_states[feature] - 1) * prod(n_states[name] for name in own) if target in own else 0

    @cache
    def least(members: frozenset[Hashable]) -> int:
        return min((least(members - {last}) + cost(last, members - {last}) for last in members), default=0)

    return n_states[target] - 1 + least(frozenset(features))


def nearest(graph: nx.DiGraph, target: Hashable) -> list[Hashable]:
    """Return the features of a class: those of its Markov blanket first, then others by distance."""
    children = list(graph.successors(target))
    blanket = {*graph.predecessors(target), *children, *(a for child in children for a in graph.predecessors(child))}
    distances = nx.single_source_shortest_path_length(graph.to_undirected(), target)
    names = [name for name in graph if name != target]
    return sorted(names, key=lambda name: (name not in blanket, distances.get(name, len(names))))[:MOST_FEATURES]


def one_network(name: str, n: int, seed: int) -> list[Row]:
    """Return the class parameters that are learned and true, a row for each class."""
    known = network(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample = known.simulate(n_samples=n, seed=seed, show_progress=False).astype(str)
    graph = nx.DiGraph(list(known.edges))
    graph.add_nodes_from(known.nodes)
    n_states = {variable: len(states) for variable, states in known.states.items()}
    rows: list[Row] = []
    for target in known.nodes:
        features = nearest(graph, target)
        states = {variable: known.states[variable] for variable in (*features, target)}
        table = DiscreteTable.from_frame(sample[[*features, target]], class_name=target, categories=states)
        parents = learn_mcp(table, n_jobs=1).parents
        rows.append(
            {
                "class": target,
                "learned": class_parameters(parents, target, n_states.__getitem__),
                "true": fewest_of(name, target, tuple(features)),
            }
        )
    return rows


@cache
def fewest_of(name: str, target: Hashable, features: tuple[Hashable, ...]) -> int:
    """Return the fewest class parameters of a variable of a network."""
    known = network(name)
    graph = nx.DiGraph(list(known.edges))
    graph.add_nodes_from(known.nodes)
    return fewest(graph, target, list(features), {name: len(states) for name, states in known.states.items()})


def one_table(run: Run, name: str, fold: int) -> list[Row]:
    """Return log loss and class parameters of every model in one fold."""
    X, y, _ = run.load(name, cut=True)
    learn, judged = list(splits(y, 5))[fold]
    rows: list[Row] = []
    for label, model in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X.iloc[learn], y.iloc[learn])
        structure, arity = model.structure_, model.vocabulary_.arity
        row = judge(model.predict_proba(X.iloc[judged]), list(model.classes_), y.iloc[judged])
        count = class_parameters(structure.parents, structure.class_name, arity)
        rows.append({"model": label, **row, "class_parameters": count})
    return rows


def draw(summary: pd.DataFrame, path: Path) -> None:
    """Draw the quotients along the number of rows, a panel for each network."""
    figure, axes = panels(1, len(NETWORKS), figsize=(11, 3.6), sharex=True, sharey=True)
    for ax, name in zip(np.ravel(axes), NETWORKS, strict=True):
        if name in summary.index:
            own = summary.loc[name]
            ax.fill_between(own.index, own["lower"], own["upper"], color="#4477aa", alpha=0.2, linewidth=0)
            ax.plot(own.index, own["mean"], "o-", color="#4477aa", markersize=4, linewidth=1.4)
        ax.axhline(1.0, color="#444444", linewidth=0.8, linestyle="--")
        ax.set_xscale("log")
        ax.set_title(name, fontsize=10)
        ax.set_xlabel("rows")
    np.ravel(axes)[0].set_ylabel("class parameters,\nlearned / fewest of the true graph")
    save(figure, path)


def main(run: Run) -> None:
    """Measure what is missing, then summarise and draw."""
    networks, rows, seeds = (NETWORKS[:1], ROWS[:1], 1) if run.smoke else (NETWORKS, ROWS, SEEDS)
    tasks = [(name, n, seed) for name in networks for n in rows for seed in range(seeds)]
    found = run.measure("class_parameters_networks", ["network", "rows", "seed"], tasks, one_network, jobs=1)
    found = found.assign(quotient=found["learned"] / found["true"], equal=found["learned"] == found["true"])
    quotients = found.groupby(["network", "rows"], sort=False)["quotient"]
    summary = quotients.agg(mean="mean", lower=lambda q: q.quantile(0.1), upper=lambda q: q.quantile(0.9))
    summary["equal"] = found.groupby(["network", "rows"], sort=False)["equal"].mean()
    summary = summary.sort_index()
    run.write("class_parameters_networks", summary, 3)
    show(summary)
    draw(summary, run.summaries / "class_parameters.png")
    listed = run.manifest()
    names = listed.loc[listed["features"] <= LARGEST, "name"]
    tasks = [(name, fold) for name in names for fold in run.folds(5)]
    found = run.measure("class_parameters", ["table", "fold"], tasks, partial(one_table, run), jobs=1)
    by = means(found, ["table", "model"], ("log_loss", "accuracy", "class_parameters"))
    wide = by.unstack("model")
    wide = wide.reindex(columns=[(what, label) for what in by.columns for label in MODELS])
    wide.columns = [f"{what} {label}" for what, label in wide.columns]
    run.write("class_parameters", wide, {name: 1 if "parameters" in name else 4 for name in wide.columns})
    show(wide)
    show(wide.mean().to_frame("mean").T)
