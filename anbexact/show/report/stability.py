"""How certain the arcs of a network are, given the rows that it was learned from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from anbexact.classifiers import NetworkClassifier, RefittedClassifier
from anbexact.classifiers.discrete import first_table_classifier
from anbexact.classifiers.registry import networks_of
from anbexact.scores import BDeu
from anbexact.search.posterior import StructurePosterior, near_optimal, relearned_leave_one_out, structure_posterior
from anbexact.show.report.facts import learned_network
from anbexact.tables.table import DiscreteTable

MOST_FEATURES = 16
"""Most features for which the posterior is one over all networks; with more, it is one over all forests."""
MOST_LEFT_OUT = 2e9
"""Most steps for which every row is left out once: distinct rows times features² times sets of features."""
BAYES_FACTOR = 20.0
"""Structures within this Bayes factor of the best are near it; more is strong evidence (Kass and Raftery, 1995)."""
LEAST_LISTED = 0.05
"""Least probability with which a pair outside the network must be joined to be listed."""
MOST_NEAR = 2_000
"""Most structures near the optimum that are looked for."""

Arc = tuple[Hashable, Hashable]


@dataclass(frozen=True, eq=False)
class Stability:
    """What is known about the rivals of a structure.

    Attributes
    ----------
    posterior : StructurePosterior
        The posterior over all structures of the kind.
    pairs : DataFrame
        See :func:`stability_report`.
    n_near : int, optional
        Equivalence classes of structures within a Bayes factor of 20 of the best; None if they were not looked for.
    complete : bool
        Whether these are all; otherwise, there are at least as many.
    n_effective : float
        The number of equally probable structures over which a posterior would be as uncertain.
    """

    posterior: StructurePosterior
    pairs: pd.DataFrame
    n_near: int | None
    complete: bool
    n_effective: float


def stability_report(classifier: NetworkClassifier | RefittedClassifier, X: Any, y: Any) -> pd.DataFrame:
    """Return how certain it is that features are joined.

    Parameters
    ----------
    classifier : NetworkClassifier or RefittedClassifier
        Fitted; of a refit, the network that it was made of. Its states, cut points and equivalent sample size are
        used.
    X, y : features and classes
        The rows that it was learned from.

    Returns
    -------
    DataFrame
        A row for every pair of features that an arc of the network joins, or that is joined with a probability of
        5 % or more; the most probable one first:

        - ``first``, ``second``: the features, as the arc of the network has them, otherwise in the more probable
          direction;
        - ``in_network``: whether an arc of the network joins them;
        - ``joined``: the posterior probability that an arc joins them;
        - ``direction``: the probability of the direction from ``first`` to ``second`` if they are joined;
        - ``support``: the share of the rows for which the optimal structure, learned without this one row, still
          joins them; NaN where that was not computed: for other networks than augmented naive Bayes networks, weights
          that are not whole numbers, and large tables.

    Raises
    ------
    TypeError
        If the classifier has no network.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.report import stability_report
    >>> X, y = load_monks(1)
    >>> stability_report(ANBClassifier(ess=1.0).fit(X, y), X, y).round(2)
              first      second  in_network  joined  direction  support
    0    head_shape  body_shape        True     1.0        0.5      1.0
    1  jacket_color  body_shape        True     0.5        1.0      1.0
    2  jacket_color  head_shape       False     0.5        1.0      0.0
    """
    if learned_network(classifier) is None:
        raise TypeError(f"{type(classifier).__name__} has no network and no arcs: pass a fitted network classifier")
    network = first_table_classifier(classifier)
    return stability(network, network.reader_.table(X, y)).pairs


def stability(network: NetworkClassifier, table: DiscreteTable) -> Stability:
    """Return what is known about the rivals of a network's structure."""
    kind = _kind(network)
    ess = getattr(network, "ess_", 1.0)
    threads = network.n_jobs
    posterior = structure_posterior(table, BDeu(ess), networks=kind, n_jobs=threads)
    support, near = None, None
    if kind == "anb":
        near = near_optimal(table, BDeu(ess), bayes_factor=BAYES_FACTOR, most=MOST_NEAR, n_jobs=threads)
        n = len(table.vocabulary.features)
        whole = np.array_equal(table.weights, np.rint(table.weights))
        if whole and len(table.weights) * n**2 * 2**n <= MOST_LEFT_OUT:
            arcs = relearned_leave_one_out(table, ess=ess, n_jobs=threads).arcs
            support = arcs.assign(rows=arcs["rows"] / table.weight_sum)
    pairs = _pairs(network, posterior, support)
    n_near, complete = (None, True) if near is None else (len(near.structures), near.complete)
    return Stability(posterior, pairs, n_near, complete, posterior.effective_networks())


def _kind(network: NetworkClassifier) -> str:
    n = sum(network.vocabulary_.arity(name) > 1 for name in network.vocabulary_.features)
    kind = networks_of(type(network))
    return "fan" if n > MOST_FEATURES and kind != "tan" else kind


def _pairs(network: NetworkClassifier, posterior: StructurePosterior, support: pd.DataFrame | None) -> pd.DataFrame:
    """Return the frame of :func:`stability_report`."""
    found: dict[Arc, tuple[float, float]] = {
        (parent, child): (probability, adjacent)
        for parent, child, probability, adjacent in posterior.arcs.itertuples(index=False, name=None)
    }
    edges = network.structure_.edges if posterior.networks == "gbn" else network.structure_.feature_edges
    in_network = [edge for edge in edges if edge in found]
    listed: dict[frozenset[Hashable], Arc] = {frozenset(edge): edge for edge in in_network}
    for arc, (_, adjacent) in found.items():
        if adjacent >= LEAST_LISTED:
            listed.setdefault(frozenset(arc), arc)
    held: dict[frozenset[Hashable], float] = {}
    if support is not None:
        for parent, child, share in support[["parent", "child", "rows"]].itertuples(index=False, name=None):
            pair = frozenset((parent, child))
            held[pair] = held.get(pair, 0.0) + share
    rows = []
    for pair, arc in listed.items():
        forward, joined = found[arc]
        direction = forward / joined if joined > 0 else float("nan")
        kept = float("nan") if support is None else min(held.get(pair, 0.0), 1.0)
        rows.append((*arc, arc in in_network, joined, direction, kept))
    columns = ["first", "second", "in_network", "joined", "direction", "support"]
    frame = pd.DataFrame(rows, columns=columns).astype(
        {"in_network": bool, "joined": float, "direction": float, "support": float}
    )
    return frame.sort_values("joined", ascending=False, kind="stable", ignore_index=True)
