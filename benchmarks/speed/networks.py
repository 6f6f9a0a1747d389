"""Rows per second of networks from elsewhere with missing cells, against pgmpy and, if it is installed, pyAgrum.

The class is the node with most children, for "any class" one of several nodes after the other, parents and children.

Target: on ALARM with 20 % of the cells missing, 300 times as many rows per second as pgmpy's ``VariableElimination``,
and 20 times as many as pyAgrum's ``LazyPropagation``. Takes ten minutes; ``--only alarm`` takes one network.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from anbexact import ANBClassifier
from anbexact.adapters import from_pgmpy, most_probable_explanations, posterior
from benchmarks.harness import tables
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds, timed

NETWORKS = (
    "cancer",
    "earthquake",
    "survey",
    "asia",
    "sachs",
    "child",
    "insurance",
    "alarm",
    "hailfinder",
    "hepar2",
    "win95pts",
    "water",
    "mildew",
    "barley",
)
TARGETS = {"alarm": (300, 20)}
"""Ratios to pgmpy and to pyAgrum."""
ROWS, SECONDS = 10_000, 2.0
"""Rows that are measured, and the seconds after which no more of them are."""
CLASSES = 5
"""Nodes that are the class in turn."""


def main(run: Run) -> None:
    """Time the class posterior of rows with ever more missing cells, then the other questions."""
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    rows = []
    for name in ("made",) if run.smoke else [name for name in NETWORKS if not run.only or name in run.only]:
        network = ANBClassifier().fit(*run.load(name)[:2]).network_ if run.smoke else tables.network(name)
        rows.append(measured(name, network, 20 if run.smoke else ROWS))
    show(rows)
    run.write("networks", pd.DataFrame(rows).drop(columns="targets", errors="ignore"), 1)


def measured(name: str, network: Any, n_rows: int) -> dict[str, object]:
    """Return the rows per second of one network; the class is the node with most children."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        complete = network.simulate(n_samples=n_rows, seed=0, show_progress=False)[list(network.nodes)]
        class_name = max(network.nodes, key=network.out_degree)
        classifier = from_pgmpy(network, class_name)
    features = complete.drop(columns=class_name).astype(str).astype(object)
    missing = np.random.default_rng(0).random(features.shape)
    row: dict[str, object] = {"network": name, "nodes": len(network.nodes)}
    for share in (0.0, 0.2, 0.5):
        row[f"{share:.0%} missing"] = speed(classifier.predict_proba, features.mask(missing < share))
    holed = features.mask(missing < 0.2)
    row["any class"] = of_any_class(network, complete)
    row["all nodes"] = speed(lambda frame: posterior(network, list(network.nodes), frame), holed)
    row["explanations"] = speed(lambda frame: most_probable_explanations(network, frame), holed)
    row["pgmpy"] = speed(by_pgmpy(network, class_name), holed)
    row["pyAgrum"] = speed(by_pyagrum(network, class_name), holed)
    for column in ("pgmpy", "pyAgrum"):
        if isinstance(row[column], float) and isinstance(row["20% missing"], float):
            row[f"ratio to {column}"] = row["20% missing"] / row[column]  # type: ignore[operator]
    if name in TARGETS:
        row["targets"] = "{}, {}".format(*TARGETS[name])
    return row


def of_any_class(network: Any, complete: pd.DataFrame) -> float | str:
    """Return the rows per second of several classes together, with 20 % of the other cells missing."""
    times = []
    for place in np.linspace(0, len(network.nodes) - 1, CLASSES).astype(int):
        class_name = list(network.nodes)[place]
        classifier = from_pgmpy(network, class_name)
        features = complete.drop(columns=class_name).astype(str).astype(object)
        missing = np.random.default_rng(int(place)).random(features.shape) < 0.2
        found = speed(classifier.predict_proba, features.mask(missing))
        if isinstance(found, str):
            return found
        times.append(1 / found)
    return CLASSES / sum(times)


def speed(work: Callable[[pd.DataFrame], object] | None, frame: pd.DataFrame) -> float | str:
    """Return rows per second, of as many rows as take a second or two; why not, if rows are refused."""
    if work is None:
        return "-"
    try:
        work(frame[:2])
        began, n_rows, last = perf_counter(), 20, 0.0
        while True:
            last = timed(work, frame[:n_rows]).seconds
            if n_rows >= len(frame) or perf_counter() - began + 5 * last > SECONDS:
                repeats = 3 if perf_counter() - began + 2 * last < SECONDS else 1
                return min(n_rows, len(frame)) / seconds(work, frame[:n_rows], repeats=repeats)
            n_rows *= 5
    except ValueError as error:
        return str(error)[:40]


def evidences(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return what is known in every row."""
    return [
        {node: state for node, state in row.items() if isinstance(state, str)} for row in frame.to_dict("records")
    ]


def by_pgmpy(network: Any, class_name: str) -> Callable[[pd.DataFrame], object]:
    """Return what queries rows one by one."""
    from pgmpy.inference import VariableElimination

    inference = VariableElimination(network)

    def work(frame: pd.DataFrame) -> object:
        return [
            inference.query([class_name], evidence=evidence, show_progress=False).values
            for evidence in evidences(frame)
        ]

    return work


def by_pyagrum(network: Any, class_name: str) -> Callable[[pd.DataFrame], object] | None:
    """Return what sets the evidence of rows one by one; None if pyAgrum is not installed."""
    try:
        import pyagrum
    except ImportError:
        return None
    copy = pyagrum.BayesNet()
    places = {}
    for node in network.nodes:
        places[node] = {state: k for k, state in enumerate(network.get_cpds(node).state_names[node])}
        copy.add(pyagrum.LabelizedVariable(node, "", len(places[node])))
    for parent, child in network.edges:
        copy.addArc(parent, child)
    for node in network.nodes:
        cpd, tensor = network.get_cpds(node), copy.cpt(node)
        order = [cpd.variables.index(variable) for variable in reversed(tensor.names)]
        tensor[:] = np.ascontiguousarray(np.transpose(cpd.values, order))
    inference = pyagrum.LazyPropagation(copy)
    inference.addTarget(class_name)

    def work(frame: pd.DataFrame) -> object:
        answers = []
        for evidence in evidences(frame):
            inference.setEvidence({node: places[node][state] for node, state in evidence.items()})
            inference.makeInference()
            answers.append(inference.posterior(class_name).toarray())
        return answers

    return work
