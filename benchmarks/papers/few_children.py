"""How much score a general network loses at least if its class has few children: bounds for mushroom.

The published networks of mushroom (Table 2) have a smaller Markov blanket of the class than the optimum here.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from anbexact import BDeu, DiscreteTable
from benchmarks.harness.inner import set_scores
from benchmarks.harness.places import RESULTS
from benchmarks.harness.store import Row, measure
from benchmarks.papers.common import FOLDS, KEYS, folds, read

STORE = RESULTS / "papers_few_children.csv"
TABLE = "mushroom"
CHILDREN = (3, 4, 6)
"""Most children of the class for which a bound is given."""
PENALTIES = (0.0, 10.0, 20.0, 40.0)
"""Nats that are taken off for every child of the class."""


def run() -> pd.DataFrame:
    """Compute the bounds of the training rows of all folds, in nats, if they are not there."""
    return measure(STORE, KEYS, [(TABLE, BDeu().name, fold) for fold in range(FOLDS)], one, jobs=1)


def one(name: str, _: str, fold: int) -> list[Row]:
    """Return for a fold by how much networks whose class has few children fall short of the optimum at least."""
    X, y = read(name)
    train, _ = folds(y)[fold]
    table = DiscreteTable.from_frame(X.iloc[train].assign(**{str(y.name): y.iloc[train]}))
    features, scores = set_scores(table, BDeu(), X.shape[1] + 1)
    best = [penalised(scores, features.index(y.name), penalty) for penalty in PENALTIES]
    bounds = {
        f"most {k}": max(
            best[0] - of_penalty - penalty * k for of_penalty, penalty in zip(best, PENALTIES, strict=True)
        )
        for k in CHILDREN
    }
    return [bounds]


def penalised(set_scores: np.ndarray, class_node: int, penalty: float) -> float:
    """Return the highest score of a network less ``penalty`` for every child of the class; total in nats.

    ``set_scores[S]`` is F(S), with ``local(v | P) = F(P ∪ v) - F(P)``. With at most k children, no network scores
    more than this and k penalties (Lagrange). By dynamic programming over sets of variables: the last one of a set
    has its best parents among the others (Silander and Myllymäki, 2006).
    """
    n = len(set_scores).bit_length() - 1
    families = [best_families(set_scores, v, class_node, penalty) for v in range(n)]
    sizes = np.bitwise_count(np.arange(len(set_scores), dtype=np.uint32))
    totals = np.full(len(set_scores), -np.inf)
    totals[0] = 0.0
    for size in range(1, n + 1):
        layer = np.flatnonzero(sizes == size)
        for v in range(n):
            with_v = layer[layer >> v & 1 == 1]
            others = with_v ^ (1 << v)
            found = totals[others] + families[v][others & ((1 << v) - 1) | others >> (v + 1) << v]
            totals[with_v] = np.maximum(totals[with_v], found)
    return float(totals[-1])


def best_families(set_scores: np.ndarray, v: int, class_node: int, penalty: float) -> np.ndarray:
    """Return the score of the best parents of v within every set of the other variables, numbered without v."""
    pairs = set_scores.reshape(-1, 2, 1 << v)
    scores = (pairs[:, 1] - pairs[:, 0]).ravel()
    if v != class_node:
        scores.reshape(-1, 2, 1 << (class_node - (class_node > v)))[:, 1] -= penalty
    for bit in range(len(scores).bit_length() - 1):
        without, with_bit = scores.reshape(-1, 2, 1 << bit).transpose(1, 0, 2)
        np.maximum(without, with_bit, out=with_bit)
    return scores
