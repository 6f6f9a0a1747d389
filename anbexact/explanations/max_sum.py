"""Max-sum elimination of features: its order, and the functions of a class posterior arranged by it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import prod
from typing import NamedTuple

import numpy as np

from anbexact._kernels.max_sum import Buckets
from anbexact._runtime.arrays import Bools, Floats, Positions
from anbexact.models.family_sum import FamilySum

MOST_CELLS = 20_000_000
"""Maximum number of entries in the tables of an elimination: 160 MB."""


class MaxSum(NamedTuple):
    """The arguments of the kernels that maximise log odds.

    Attributes
    ----------
    buckets : Buckets
        The functions.
    relevant : (features,) bool
        Which features occur in any of the functions and have more than one state.
    """

    buckets: Buckets
    relevant: Bools


def elimination_order(families: Collection[tuple[int, ...]], arities: Mapping[int, int]) -> list[tuple[int, ...]]:
    """Return the scopes of the buckets: all features in functions of an eliminated feature, which comes last.

    In each step, the feature whose scope has the fewest joint states is eliminated.
    """
    current = [set(family) for family in families if family]
    waiting = set().union(*current) if current else set()
    found = []

    def joined(v: int) -> set[int]:
        return set().union(*(scope for scope in current if v in scope))

    scopes = {v: joined(v) for v in waiting}
    while waiting:
        v = min(sorted(waiting), key=lambda u: prod(float(arities[w]) for w in scopes[u]))
        others = scopes[v] - {v}
        found.append((*sorted(others), v))
        current = [scope for scope in current if v not in scope]
        if others:
            current.append(others)
        waiting.remove(v)
        scopes.update({w: joined(w) for w in others})
    return found


def arranged(source: FamilySum) -> MaxSum:
    """Return the functions of a class posterior arranged for elimination.

    Raises
    ------
    ValueError
        If the tables would have more than `MOST_CELLS` entries.
    """
    arities = dict(enumerate(source.arities.tolist()))
    scopes = elimination_order(source.places, arities)
    shapes = [tuple(arities[v] for v in scope) for scope in scopes]
    cells = sum(map(prod, shapes)) * source.n_classes
    if cells > MOST_CELLS:
        widest = max(scopes, key=lambda scope: prod(arities[v] for v in scope))
        raise ValueError(
            f"eliminating the features needs tables of {cells:,} numbers, the largest over {len(widest)} features, "
            f"but at most {MOST_CELLS:,} are allowed: learn a network with fewer parents (max_parents=), or a "
            "TANClassifier"
        )
    position = {scope[-1]: i for i, scope in enumerate(scopes)}
    tables = [np.zeros((*shape, source.n_classes)) for shape in shapes]
    constants = np.zeros(source.n_classes)
    for places, potential in zip(source.places, source.potentials, strict=True):
        if places:
            i = min(position[v] for v in places)
            tables[i] += _aligned(potential.logs, places, scopes[i])
        else:
            constants += potential.logs
    parents = [min((position[v] for v in scope[:-1]), default=-1) for scope in scopes]
    children = [[k for k, parent in enumerate(parents) if parent == i] for i in range(len(scopes))]
    relevant = np.zeros(len(arities), dtype=np.bool_)
    for v in position:
        relevant[v] = arities[v] > 1
    buckets = Buckets(
        _offsets(len(scope) for scope in scopes),
        _integers(v for scope in scopes for v in scope),
        _integers(prod(shape[k + 1 :]) for shape in shapes for k in range(len(shape))),
        _offsets(map(prod, shapes)),
        np.concatenate([table.reshape(-1) for table in tables]) if tables else np.zeros(0),
        _offsets(map(len, children)),
        _integers(k for of_bucket in children for k in of_bucket),
        _integers(i for i, parent in enumerate(parents) if parent < 0),
        _offsets(prod(shape[:-1]) for shape in shapes),
        constants,
    )
    return MaxSum(buckets, relevant)


def _aligned(logs: Floats, places: tuple[int, ...], scope: tuple[int, ...]) -> Floats:
    """Return a function of some features and the class with an axis for every feature of a scope."""
    order = sorted(range(len(places)), key=lambda k: scope.index(places[k]))
    sizes = {places[k]: logs.shape[k] for k in order}
    found: Floats = logs.transpose([*order, len(places)])
    return found.reshape(*(sizes.get(v, 1) for v in scope), logs.shape[-1])


def _integers(numbers: Iterable[int]) -> Positions:
    return np.array(list(numbers), dtype=np.int64)


def _offsets(sizes: Iterable[int]) -> Positions:
    return np.cumsum([0, *sizes], dtype=np.int64)
