"""Sugahara and Ueno's Table 3: how the exact ANB nears the smallest I-map, and its class posterior the true one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anbexact import ANBClassifier
from anbexact.classifiers import FixedStructureClassifier
from anbexact.compare import structural_hamming_distance
from benchmarks.harness import tables
from benchmarks.harness.output import markdown, panels, save
from benchmarks.harness.places import RESULTS
from benchmarks.harness.store import Row, measure, stored
from benchmarks.harness.tables import published
from benchmarks.papers.common import KEYS, page, write

NAME = "papers_table3"
TITLE = "Table 3: many rows"
STORE = RESULTS / "papers_asymptotics.csv"
CLASSES = {"ASIA": "either", "CANCER": "Cancer"}
SIZES = (100, 500, 1_000, 5_000, 10_000, 50_000, 100_000)
SAMPLES, QUICK_SAMPLES = 20, 3
INDEPENDENT = 1e-12
"""Nats of conditional mutual information up to which variables count as independent."""
LEAST_SHOWN = 1e-15
"""Divergences up to this are shown as 0: rounding alone can be as large."""
Parents = Mapping[Hashable, tuple[Hashable, ...]]


def run(*, quick: bool) -> None:
    """Measure what is missing."""
    samples = range(QUICK_SAMPLES if quick else SAMPLES)
    measure(STORE, KEYS, list(product(CLASSES, map(str, SIZES), samples)), one)


@dataclass(frozen=True)
class Truth:
    """A network with its class, and what follows from its joint distribution.

    Attributes
    ----------
    network : pgmpy network
    class_name : Hashable
    """

    network: Any
    class_name: Hashable

    @property
    def names(self) -> list[Hashable]:
        """The features, then the class."""
        return [*(name for name in self.network.nodes if name != self.class_name), self.class_name]

    @property
    def states(self) -> dict[Hashable, list[str]]:
        """The states of every variable."""
        return {name: list(self.network.states[name]) for name in self.names}

    @property
    def parents(self) -> dict[Hashable, tuple[Hashable, ...]]:
        """The parents of every variable."""
        return {name: tuple(self.network.predecessors(name)) for name in self.names}

    @cached_property
    def joint(self) -> np.ndarray:
        """The probability of every joint state, an axis for every variable."""
        return joint_distribution(self.network, self.names)

    def rows(self) -> pd.DataFrame:
        """Return every joint state of the features, as categories."""
        features = {name: self.states[name] for name in self.names[:-1]}
        frame = pd.DataFrame(list(product(*features.values())), columns=list(features))
        return frame.astype({name: pd.CategoricalDtype(of_name) for name, of_name in features.items()})

    def sample(self, n_rows: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
        """Return rows as categories, all states declared; the rows of a smaller sample are the first of a larger."""
        cells = np.random.default_rng(seed).choice(self.joint.size, max(SIZES), p=self.joint.ravel())[:n_rows]
        codes = np.unravel_index(cells, self.joint.shape)
        columns = {
            name: pd.Categorical.from_codes(of_name, self.states[name])
            for name, of_name in zip(self.names, codes, strict=True)
        }
        y = pd.Series(columns.pop(self.class_name), name=self.class_name)
        return pd.DataFrame(columns), y


def joint_distribution(network: Any, names: Sequence[Hashable]) -> np.ndarray:
    """Return the probability of every joint state of a pgmpy network's variables, an axis for every one of them."""
    axis = {name: k for k, name in enumerate(names)}
    operands: list[Any] = []
    for table in network.get_cpds():
        operands += [np.asarray(table.values), [axis[name] for name in table.variables]]
    return np.einsum(*operands, list(range(len(names))))


@cache
def truth_of(name: str) -> Truth:
    """Read a network."""
    return Truth(tables.network(name), CLASSES[name])


def smallest_i_maps(joint: np.ndarray) -> list[tuple[tuple[int, ...], ...]]:
    """Return the augmented naive Bayes networks with the fewest parameters that have a joint distribution.

    The last axis is the class, a parent of all other variables. By dynamic programming over the sets of features
    that come first: for every feature and all sets before it, the smallest parent sets that tell as much of it as
    they all do. Networks are tuples of the feature parents of every feature.
    """
    n = joint.ndim - 1
    fewest: dict[tuple[int, ...], tuple[int, set[tuple[tuple[int, ...], ...]]]] = {(): (0, {((),) * n})}
    for size in range(n):
        for before in combinations(range(n), size):
            total, graphs = fewest[before]
            for v in set(range(n)) - set(before):
                cost, choices = smallest_parents(joint, v, before)
                key = tuple(sorted((*before, v)))
                longer = {(*graph[:v], chosen, *graph[v + 1 :]) for graph in graphs for chosen in choices}
                known, others = fewest.get(key, (total + cost, set()))
                if total + cost < known:
                    known, others = total + cost, set()
                if total + cost == known:
                    fewest[key] = known, others | longer
    return sorted(fewest[tuple(range(n))][1])


def smallest_parents(joint: np.ndarray, v: int, before: Sequence[int]) -> tuple[int, list[tuple[int, ...]]]:
    """Return the fewest parameters of a feature given the class and some of these features that suffice, and which.

    Features suffice where the others tell no more: H(v | chosen, class) = H(v | before, class).
    """
    class_axis = joint.ndim - 1
    least = conditional_entropy(joint, v, (*before, class_axis))
    found: dict[int, list[tuple[int, ...]]] = {}
    for size in range(len(before) + 1):
        for chosen in combinations(before, size):
            if conditional_entropy(joint, v, (*chosen, class_axis)) - least < INDEPENDENT:
                free = (joint.shape[v] - 1) * prod(joint.shape[u] for u in (*chosen, class_axis))
                found.setdefault(free, []).append(chosen)
    return min(found), found[min(found)]


def conditional_entropy(joint: np.ndarray, v: int, given: Sequence[int]) -> float:
    """Return H(v | given), in nats."""
    return entropy(joint, {*given, v}) - entropy(joint, set(given))


def entropy(joint: np.ndarray, axes: set[int]) -> float:
    """Return the entropy of some variables, in nats."""
    p = joint.sum(axis=tuple(set(range(joint.ndim)) - axes)).ravel()
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


def kl_divergence(p: np.ndarray, q: np.ndarray, weights: np.ndarray) -> float:
    """Return Σ_x w(x) Σ_c p(c | x) ln(p(c | x) / q(c | x)), in nats; rows of weight 0 do not count."""
    p, q, weights = p[weights > 0], q[weights > 0], weights[weights > 0]
    terms = np.where(p > 0, p * (np.log(np.where(p > 0, p, 1)) - np.log(q)), 0.0)
    return max(float(weights @ terms.sum(axis=1)), 0.0)


@cache
def smallest_networks(name: str) -> list[Parents]:
    """Return the smallest I-maps of a network among all augmented naive Bayes networks."""
    truth = truth_of(name)
    return [
        {
            **{
                v: (truth.class_name, *(truth.names[u] for u in own))
                for v, own in zip(truth.names, graph, strict=False)
            },
            truth.class_name: (),
        }
        for graph in smallest_i_maps(truth.joint)
    ]


def one(name: str, size: str, seed: int) -> list[Row]:
    """Measure a sample: distance to the nearest smallest I-map, and divergences of the class posterior."""
    truth = truth_of(name)
    rows, of_rows = truth.rows(), truth.joint.reshape(-1, truth.joint.shape[-1])
    weights = of_rows.sum(axis=1)
    posterior = of_rows / np.where(weights > 0, weights, 1)[:, None]
    X, y = truth.sample(int(size), seed)
    anb = ANBClassifier(n_jobs=1, ess=1.0).fit(X, y)
    same = FixedStructureClassifier(truth.parents, n_jobs=1, ess=1.0).fit(X, y)
    of_anb, of_same = (probabilities(model, rows, truth) for model in (anb, same))
    found = {v: anb.structure_.parents[v] for v in truth.names}
    return [
        {
            "shd": min(structural_hamming_distance(found, graph) for graph in smallest_networks(name)),
            "kl_structure": kl_divergence(of_same, of_anb, weights),
            "kl_truth": kl_divergence(posterior, of_anb, weights),
            "kl_truth_of_structure": kl_divergence(posterior, of_same, weights),
        }
    ]


def probabilities(model: Any, rows: pd.DataFrame, truth: Truth) -> np.ndarray:
    """Return the class posterior of every row, classes in the order of the network's states."""
    columns = [list(model.classes_).index(state) for state in truth.states[truth.class_name]]
    return model.predict_proba(rows)[:, columns]


def results() -> pd.DataFrame:
    """Return means over samples, beside the published figures."""
    found = stored(STORE, KEYS).rename(columns={"table": "network", "method": "N"})
    found["N"] = found["N"].astype(int)
    keys = ["network", "N"]
    groups = found.groupby(keys)
    means = groups[["shd", "kl_structure", "kl_truth", "kl_truth_of_structure"]].mean()
    means.insert(0, "samples", groups.size())
    means.insert(2, "shd 0", groups["shd"].agg(lambda values: (values == 0).mean()))
    paper = published("anb_table3_asymptotics.csv").set_index(keys)[["SHD", "KLD"]].add_suffix(" published")
    return means.join(paper).reset_index()


def nats(value: float) -> str:
    """Return a divergence as text, 0 where it is a rounding error."""
    return f"{value:.2g}" if value > LEAST_SHOWN else "0"


def report(folder: Path) -> str:
    """Write CSV, Markdown and figure, and return the section of the page."""
    found = results()
    rows = [
        [
            row["network"],
            f"{row['N']:,}",
            f"{row['shd']:.2f} ({row['SHD published']:g})",
            f"{row['shd 0']:.0%}",
            f"{nats(row['kl_structure'])} ({row['KLD published']:g})",
            nats(row["kl_truth"]),
            nats(row["kl_truth_of_structure"]),
        ]
        for row in found.to_dict("records")
    ]
    columns = [
        "network",
        "N",
        "SHD",
        "SHD = 0",
        "KL from true structure",
        "KL from truth",
        "that of the true structure",
    ]
    values = {"n_samples": found["samples"].min(), "table": markdown(columns, rows)}
    write(folder, NAME, found, page("table3", **values))
    draw(found, folder / f"{NAME}.png")
    return page("table3_section", title=TITLE, name=NAME, **values)


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw distance and divergence along the number of rows."""
    figure, axes = panels(1, 2, figsize=(10, 4))
    for (network, of_network), colour in zip(found.groupby("network"), ("#4477aa", "#cc6677"), strict=True):
        axes[0].plot(of_network["N"], of_network["shd"], "o-", color=colour, label=f"{network}, measured")
        axes[0].plot(of_network["N"], of_network["SHD published"], "x:", color=colour, label=f"{network}, published")
        axes[1].plot(
            of_network["N"], of_network["kl_structure"], "o-", color=colour, label=f"{network}, true structure"
        )
        axes[1].plot(of_network["N"], of_network["KLD published"], "x:", color=colour, label=f"{network}, published")
        axes[1].plot(
            of_network["N"], of_network["kl_truth"], "s--", color=colour, alpha=0.5, label=f"{network}, truth"
        )
    axes[0].set_ylabel("structural Hamming distance")
    axes[1].set_ylabel("KL divergence of the class posterior (nats)")
    axes[1].set_yscale("symlog", linthresh=1e-6)
    for ax in axes:
        ax.set_xscale("log")
        ax.set_xlabel("rows")
        ax.legend(fontsize=7)
    save(figure, path)
