"""Coefficients of the potentials in the reference coding of multinomial logistic regression.

``ln P(C=a | x) / P(C=0 | x) = Σ_S Σ_f β_S^f(a) Π_{i in S} [x_i = f(i)]`` for every class a other than the first. S
runs over the sets of features that share a family with the class, and f over the joint states of S in which no
feature has its first state (Feelders and Ivanovs, section 4.1).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact.models.logit.potentials import Floats, Potential, Potentials, Shape

IndexSet = tuple[Hashable, ...]
"""The features of a term, in the order of the vocabulary."""
INTERCEPT = "(intercept)"
"""The name of the term without features."""


def index_sets(families: Collection[Sequence[Hashable]], features: Sequence[Hashable]) -> tuple[IndexSet, ...]:
    """Return all subsets of the families, each once: smaller ones first, then by the order of the features."""
    place = {name: j for j, name in enumerate(features)}
    found = {
        subset
        for family in families
        for size in range(len(family) + 1)
        for subset in combinations(sorted(place[name] for name in family), size)
    }
    return tuple(tuple(features[j] for j in subset) for subset in sorted(found, key=lambda s: (len(s), s)))


def count_terms(sets: Collection[IndexSet], shape: Shape) -> int:
    """Return the number of coefficients for each class other than the first."""
    return sum(prod(shape[name] - 1 for name in of_set) for of_set in sets)


def term_name(variables: Sequence[Hashable], states: Sequence[Any], joint: str = ":") -> str:
    """Return ``x=1:y=0`` for joint states, ``(intercept)`` for an empty set."""
    return joint.join(f"{name}={state}" for name, state in zip(variables, states, strict=True)) or INTERCEPT


def term_frame(variables: list[IndexSet], states: list[tuple[Any, ...]]) -> pd.DataFrame:
    """Return the features and the joint states of terms as columns, with the names of the terms as index."""
    names = [term_name(of_set, of_term) for of_set, of_term in zip(variables, states, strict=True)]
    columns = {"variables": pd.Series(variables, dtype=object), "states": pd.Series(states, dtype=object)}
    return pd.DataFrame(columns).set_index(pd.Index(names, name="term"))


def assignments(of_set: IndexSet, states: Mapping[Hashable, Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Return the joint states of the features of a set in which none has its first state, in the order of terms."""
    return product(*(states[name][1:] for name in of_set))


def coefficients(potentials: Potentials, sets: Sequence[IndexSet]) -> list[Floats]:
    """Return β_S for every S, in nats, shape (*states other than the first, classes - 1).

    β_S^f is a sum over the potentials that have all of S among their features. Each adds
    ``Σ_{T ⊆ S} (-1)^{|S| - |T|} r(f_T)``, where ``r(f_T)`` is its log ratio to the first class if the features in T
    have the states of f, and all others their first state.
    """
    found: dict[IndexSet, Floats] = {}
    wanted = {frozenset(of_set): of_set for of_set in sets}
    for potential in potentials:
        changes = _interactions(potential)
        axes = range(len(potential.features))
        for size in range(len(potential.features) + 1):
            for chosen in combinations(axes, size):
                of_set = wanted[frozenset(potential.features[axis] for axis in chosen)]
                part = changes[tuple(slice(1, None) if axis in chosen else 0 for axis in axes)]
                own = [potential.features[axis] for axis in chosen]
                part = part.transpose(*(own.index(name) for name in of_set), -1 + part.ndim)
                found[of_set] = found[of_set] + part if of_set in found else part
    return [found[of_set] for of_set in sets]


def _interactions(potential: Potential) -> Floats:
    """Return log ratios to the first class, as differences from the first state along the axis of every feature.

    Along each axis, the first entry stays the value at the first state.
    """
    changes = potential.logs[..., 1:] - potential.logs[..., :1]
    for axis in range(len(potential.features)):
        moved = np.moveaxis(changes, axis, 0)
        moved[1:] -= moved[:1]
    return changes


def seen_terms(
    of_set: IndexSet, cells: npt.NDArray[np.int64], family: Sequence[Hashable], shape: Shape
) -> npt.NDArray[np.int64]:
    """Return the terms of a set that occur in the observed cells of a family which contains it.

    They are given as ascending positions among the terms of the set.
    """
    if not of_set:
        return np.zeros(min(len(cells), 1), dtype=np.int64)
    codes = dict(zip(family, np.unravel_index(cells, [shape[name] for name in family]), strict=True))
    flat = np.zeros(len(cells), dtype=np.int64)
    occurs = np.ones(len(cells), dtype=bool)
    for name in of_set:
        occurs &= codes[name] > 0
        flat = flat * (shape[name] - 1) + codes[name] - 1
    return np.unique(flat[occurs])
