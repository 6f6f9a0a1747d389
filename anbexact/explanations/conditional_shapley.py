"""Shapley values of a game in which unknown features are summed out under the network."""

from __future__ import annotations

from math import factorial

import numpy as np

from anbexact._runtime.arrays import Floats, Integers
from anbexact.models.family_sum import FamilySum
from anbexact.models.network.network import TableNetwork
from anbexact.tables.vocabulary import MISSING, CodeArray

MOST_FEATURES = 12
"""Observed features of a component whose subsets are enumerated: 4,096 subsets."""
MOST_CELLS = 4_000_000
"""Codes that are evaluated at a time."""


def components(network: TableNetwork) -> list[list[int]]:
    """Return the sets of features that are independent of each other given the class, as ascending positions.

    Two features are in the same set if a path of families that both share a feature leads from one to the other.
    """
    features = network.vocabulary.features
    root = {name: name for name in features}

    def find(name: object) -> object:
        while root[name] != name:
            name = root[name]
        return name

    for table in network.tables.values():
        members = [name for name in table.variables if name in root]
        for other in members[1:]:
            root[find(other)] = find(members[0])
    found: dict[object, list[int]] = {}
    for j, name in enumerate(features):
        found.setdefault(find(name), []).append(j)
    return list(found.values())


def _all_subsets(network: TableNetwork, codes: CodeArray, players: list[int]) -> Floats:
    """Return ln P(c, x_T) for all subsets T of some features; shape (subsets, rows, classes), T a binary number."""
    m, n_rows = len(players), codes.shape[1]
    known = (np.arange(2**m)[:, None] >> np.arange(m)) & 1
    hidden = np.full((codes.shape[0], 2**m, n_rows), MISSING, dtype=np.int16)
    for k, j in enumerate(players):
        hidden[j] = np.where(known[:, k, None] > 0, codes[j], MISSING)
    logs = network.log_joint(hidden.reshape(codes.shape[0], -1), n_jobs=1)
    return logs.reshape(2**m, n_rows, -1)


def _component_values(network: TableNetwork, codes: CodeArray, players: list[int]) -> Floats:
    """Return the Shapley values of ln P(c, x_T), shape (rows, players, classes)."""
    m = len(players)
    step = max(1, MOST_CELLS // (2**m * codes.shape[0]))
    values = np.zeros((codes.shape[1], m, network.vocabulary.arity(network.vocabulary.class_name)))
    subsets = np.arange(2**m)
    sizes = np.array([subset.bit_count() for subset in range(2**m)])
    weights = np.array([factorial(size) * factorial(m - size - 1) / factorial(m) for size in range(m)])
    for start in range(0, codes.shape[1], step):
        logs = _all_subsets(network, np.ascontiguousarray(codes[:, start : start + step]), players)
        for k in range(m):
            without = subsets[(subsets >> k) & 1 == 0]
            gained = logs[without | (1 << k)] - logs[without]
            values[start : start + step, k] = np.tensordot(weights[sizes[without]], gained, axes=1)
    return values


def conditional_values(source: FamilySum, codes: CodeArray, first: Integers, second: Integers) -> Floats:
    """Return the Shapley values of ``v(S) = ln P(first | x_S) / P(second | x_S)``, shape (rows, features).

    Features that are not in S are summed out under the network; missing cells never are in S. As features of
    different components are independent given the class, v is a sum over components, and only the subsets of each are
    enumerated.

    Raises
    ------
    ValueError
        If a component has too many observed features.
    """
    network = source.network
    values = np.zeros((codes.shape[1], codes.shape[0]))
    for component in components(network):
        own = codes[component]
        patterns, group = np.unique(own >= 0, axis=1, return_inverse=True)
        for g in range(patterns.shape[1]):
            players = [j for j, observed in zip(component, patterns[:, g], strict=True) if observed]
            if len(players) > MOST_FEATURES:
                raise ValueError(
                    f"conditional=True enumerates the subsets of features that depend on each other given the class: "
                    f"here {len(players)} features, that is 2**{len(players)} subsets, and {MOST_FEATURES} features "
                    "are the most. Use conditional=False, whose cost is that of single families"
                )
            if not players:
                continue
            rows = np.flatnonzero(group.reshape(-1) == g)
            distinct, inverse = np.unique(codes[:, rows][players], axis=1, return_inverse=True)
            full = np.full((codes.shape[0], distinct.shape[1]), MISSING, dtype=np.int16)
            full[players] = distinct
            of_rows = _component_values(network, full, players)[inverse.reshape(-1)]
            place = np.arange(len(rows))
            values[rows[:, None], players] = of_rows[place, :, first[rows]] - of_rows[place, :, second[rows]]
    return values
