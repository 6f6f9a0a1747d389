"""The terms of a smooth refit: main effects on fine intervals, interactions on coarser grids, and their penalties."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.json_checks import listed, references, whole
from anbexact.models.logit.design import Design
from anbexact.models.logit.potentials import Floats
from anbexact.tables.vocabulary import Vocabulary

Codes = npt.NDArray[np.int64]
KINDS = ("slope", "curvature", "level", "interaction")
"""Kinds of penalties: on first and second differences of ordered main effects, on main effects without an order, and
on terms of several features."""
INTERACTIONS = ("families", "pairs", "none")
"""Choices of terms of several features: one for every family and, where their grids are finer, for its pairs of child
and parent; one for every such pair only; or none."""
FEWEST_CELLS, GRID_CELLS = 100, 256
"""Bounds of the number of cells that a grid of three or more ordered features has, which is about one for every four
distinct rows. On each axis, a pair has twice as many intervals as three features have."""
MOST_CELLS = 4096
"""Maximum number of cells of a term of several features; larger terms are replaced by terms of pairs."""
MOST_UNKNOWNS = 10_000
"""Maximum number of unknowns for which families have terms of their pairs, too; with these, fits take twice as
long."""
MOST_GRID = 10
"""Maximum number of intervals on an axis of a pair."""


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis of a term: a feature, and the groups of its states.

    Attributes
    ----------
    feature : Hashable
    groups : (states,) int64
        The group of every state of the feature, as consecutive numbers from 0.
    size : int
        Number of groups.
    ordered : int
        Number of groups, the first ones, that follow an order.
    """

    feature: Hashable
    groups: Codes
    size: int
    ordered: int

    @cached_property
    def differences(self) -> Floats:
        """The quadratic form of first differences, (size, size).

        In an order, ``(m - 1) Σ_j (δ_{j+1} - δ_j)²``, the integral of the squared slope if the m groups are spread
        over an interval of length 1. Groups without an order, or outside it, differ from the mean of all:
        ``2 Σ_j (δ_j - mean)²``, which is the same for two groups.
        """
        form = np.zeros((self.size, self.size))
        if self.ordered > 1:
            steps = np.diff(np.eye(self.ordered, self.size), axis=0)
            form += (self.ordered - 1) * steps.T @ steps
        unordered = np.arange(self.size) >= self.ordered
        if unordered.any():
            centring = np.eye(self.size)[unordered] - 1 / self.size
            form += 2 * centring.T @ centring
        return form

    @cached_property
    def modes(self) -> tuple[Floats, Floats]:
        """The eigenvalues of `differences`, (size,), and its eigenvectors, (size, size)."""
        values, vectors = np.linalg.eigh(self.differences)
        return values, vectors

    @cached_property
    def second_differences(self) -> Floats:
        """The quadratic form ``(m - 1)³ Σ_j (δ_{j+2} - 2 δ_{j+1} + δ_j)²``: the integral of the squared curvature."""
        form = np.zeros((self.size, self.size))
        if self.ordered > 2:
            bends = np.diff(np.eye(self.ordered, self.size), n=2, axis=0)
            form += (self.ordered - 1) ** 3 * bends.T @ bends
        return form


@dataclass(frozen=True, eq=False)
class SmoothTerm:
    """A function of a few features and the class, constant on the cells of a grid.

    Attributes
    ----------
    axes : tuple of Axis
        Its features; none for the intercept.
    first : int
        The position of its first cell among the cells of all terms.
    """

    axes: tuple[Axis, ...]
    first: int

    @property
    def features(self) -> tuple[Hashable, ...]:
        """The features on which the term depends."""
        return tuple(axis.feature for axis in self.axes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of groups of every axis."""
        return tuple(axis.size for axis in self.axes)

    @cached_property
    def size(self) -> int:
        """Number of cells."""
        return prod(self.shape)

    @cached_property
    def cells(self) -> slice:
        """Its cells among those of all terms."""
        return slice(self.first, self.first + self.size)

    @cached_property
    def penalties(self) -> dict[str, Floats]:
        """The quadratic forms of the term's roughness by kind, each of shape (cells, cells)."""
        return {kind: np.sum(list(forms.values()), axis=0) for kind, forms in self.penalties_of_axes.items()}

    @cached_property
    def penalties_of_axes(self) -> dict[str, dict[Hashable, Floats]]:
        """The quadratic forms of its roughness by kind and feature, (cells, cells) each.

        Those of an interaction are first differences along every axis, for every joint group of the others,
        averaged over these.
        """
        if not self.axes:
            return {}
        if len(self.axes) == 1:
            (axis,) = self.axes
            if axis.ordered < 2:
                return {"level": {axis.feature: axis.differences}}
            bent = {"curvature": {axis.feature: axis.second_differences}} if axis.ordered > 2 else {}
            return {"slope": {axis.feature: axis.differences}, **bent}
        forms = {}
        for place, axis in enumerate(self.axes):
            parts = [np.eye(other.size) / other.size for other in self.axes]
            parts[place] = axis.differences
            product: Any = parts[0]
            for part in parts[1:]:
                product = np.kron(product, part)
            forms[axis.feature] = product
        return {"interaction": forms}

    def interaction_roughness(self, strengths: Sequence[float]) -> Floats:
        """Return the eigenvalues of an interaction's penalty, (cells,), by the eigenvectors of its axes.

        Parameters
        ----------
        strengths : sequence of float
            For every axis.
        """
        values: Any = np.zeros(1)
        for axis, strength in zip(self.axes, strengths, strict=True):
            values = (values[:, None] + strength * axis.size / self.size * axis.modes[0]).ravel()
        return np.asarray(values)

    def precision(self, strengths: Strengths, ridge: float) -> Floats:
        """Return the prior precision of its cells, (cells, cells)."""
        found = ridge * np.eye(self.size)
        for kind, forms in self.penalties_of_axes.items():
            strength = strengths.get(kind, 0.0)
            for feature, form in forms.items():
                found += (strength.get(feature, 0.0) if isinstance(strength, Mapping) else strength) * form
        return found

    def spread(self, values: Floats, features: Sequence[Hashable]) -> Floats:
        """Return values of the cells, (cells, classes), as an array over states of features that include its own."""
        grid = values.reshape(*self.shape, values.shape[-1])
        order = sorted(range(len(self.axes)), key=lambda k: features.index(self.axes[k].feature))
        grid = grid.transpose(*order, -1 + grid.ndim)
        for place, k in enumerate(order):
            grid = np.take(grid, self.axes[k].groups, axis=place)
        own = [self.axes[k].feature for k in order]
        lengths = iter(grid.shape)
        return grid.reshape(*(next(lengths) if name in own else 1 for name in features), values.shape[-1])


def ordered_features(
    vocabulary: Vocabulary, cut: Collection[Hashable], declared: Collection[Hashable]
) -> set[Hashable]:
    """Return the features whose states follow an order: those that were cut, those declared, and whole numbers.

    Raises
    ------
    ValueError
        If a declared name is not a feature.
    """
    unknown = [name for name in declared if name not in vocabulary.features]
    if unknown:
        raise ValueError(f"ordered names {unknown[0]!r}, which is not a feature")
    return {
        name
        for name in vocabulary.features
        if name in cut
        or name in declared
        or all(type(state) in (int, float) for state in vocabulary.observed_states(name))
    }


def full_axis(vocabulary: Vocabulary, feature: Hashable, ordered: bool) -> Axis:
    """Return the axis on which every state of a feature is a group of its own."""
    size, in_order = vocabulary.arity(feature), len(vocabulary.observed_states(feature))
    return Axis(feature, np.arange(size), size, in_order if ordered and in_order > 1 else 0)


def grouped_axis(axis: Axis, weights: Floats, size: int) -> Axis:
    """Return an axis whose ordered groups are merged with their neighbours to about ``size`` of equal weight.

    Parameters
    ----------
    axis : Axis
    weights : (groups,) float64
        The weight of the rows of every group.
    size : int
        Most groups that remain in the order.
    """
    if axis.ordered <= size:
        return axis
    own = weights[: axis.ordered] + 1e-9 * max(float(weights.sum()), 1.0)
    middle = (np.cumsum(own) - own / 2) / own.sum()
    merged = np.minimum((middle * size).astype(np.int64), size - 1)
    _, merged = np.unique(merged, return_inverse=True)
    kept = int(merged[-1]) + 1
    unordered = np.arange(axis.size - axis.ordered) + kept
    groups = np.concatenate([merged, unordered])[axis.groups]
    return Axis(axis.feature, groups, axis.size - axis.ordered + kept, kept)


def smooth_terms(
    design: Design,
    vocabulary: Vocabulary,
    ordered: Collection[Hashable],
    *,
    interactions: str = "families",
) -> tuple[SmoothTerm, ...]:
    """Return the intercept, the main effects and the interactions of the families of a design.

    Parameters
    ----------
    design : Design
        The rows, as cells of the families that the class is part of.
    vocabulary : Vocabulary
    ordered : collection
        The features whose states follow an order.
    interactions : {"families", "pairs", "none"}, default "families"
        See `INTERACTIONS`. A family on whose grid there would be more than `MOST_CELLS` cells has its pairs. With
        more than `MOST_UNKNOWNS` unknowns, families have no terms of their pairs.
    """
    features = [
        name
        for name in dict.fromkeys(name for names in design.families.values() for name in names)
        if design.shape[name] > 1
    ]
    full = {name: full_axis(vocabulary, name, name in ordered) for name in features}
    weights = {
        name: np.bincount(design.states(name), design.totals, full[name].size).astype(np.float64) for name in features
    }
    families = {
        child: own
        for child, of_family in design.families.items()
        if len(own := tuple(name for name in of_family if name in full)) > 1 and interactions != "none"
    }
    grids = _Grids(full, weights, len(design.weights))
    main: list[tuple[Axis, ...]] = [(), *((axis,) for axis in full.values())]
    axes = main + _interactions(families, grids, families_too=interactions == "families", pairs_too=True)
    unknowns = (design.n_classes - 1) * sum(prod(axis.size for axis in of_term) for of_term in axes)
    if interactions == "families" and unknowns > MOST_UNKNOWNS:
        axes = main + _interactions(families, grids, families_too=True, pairs_too=False)
    terms: list[SmoothTerm] = []
    for of_term in axes:
        terms.append(SmoothTerm(of_term, terms[-1].cells.stop if terms else 0))
    return tuple(terms)


class _Grids:
    """The axes of interactions: groups of about equal weight, fewer of them for more features.

    Parameters
    ----------
    full : mapping of feature to Axis
    weights : mapping of feature to (states,) float64
        The weight of the rows in every state.
    n_rows : int
        Number of distinct rows.
    """

    def __init__(self, full: Mapping[Hashable, Axis], weights: Mapping[Hashable, Floats], n_rows: int) -> None:
        self._weights = weights
        self._cells = min(max(n_rows / 4, FEWEST_CELLS), GRID_CELLS)
        self._full = full
        self._of_pairs = {name: self._merged(axis, 2) for name, axis in full.items()}

    def of(self, names: Sequence[Hashable], *, within_pairs: bool = False) -> tuple[Axis, ...]:
        """Return the axes of an interaction, with the groups for pairs or for all interactions."""
        axes = self._of_pairs if within_pairs else self._full
        return tuple(self._merged(axes[name], len(names)) for name in names)

    def _merged(self, axis: Axis, n_features: int) -> Axis:
        weights = np.bincount(axis.groups, self._weights[axis.feature])
        return grouped_axis(axis, weights.astype(np.float64), self._groups(n_features))

    def _groups(self, n_features: int) -> int:
        if n_features == 2:
            return min(MOST_GRID, 2 * self._groups(3))
        return max(2, int(self._cells ** (1 / n_features) + 1e-9))


def _interactions(
    families: Mapping[Hashable, Sequence[Hashable]], grids: _Grids, *, families_too: bool, pairs_too: bool
) -> list[tuple[Axis, ...]]:
    """Return the axes of families and, where their grids are finer, of their pairs; or of one kind only.

    If there are terms of pairs, a family's axes are coarser than theirs, so its part of a pair fits the pair's grid.
    """
    found: dict[frozenset[Hashable], tuple[Axis, ...]] = {}
    for child, own in families.items():
        # In the family of the class, whose members are its parents, every pair counts.
        own_pairs = [grids.of(pair) for pair in combinations(own, 2) if child in pair or child not in own]
        together = grids.of(own, within_pairs=pairs_too)
        if families_too and prod(axis.size for axis in together) <= MOST_CELLS:
            sizes = {axis.feature: axis.size for axis in together}
            own_pairs = [
                pair for pair in own_pairs if pairs_too and any(axis.size > sizes[axis.feature] for axis in pair)
            ]
            own_pairs.append(together)
        for axes in own_pairs:
            found.setdefault(frozenset(axis.feature for axis in axes), axes)
    return list(found.values())


def term_cells(design: Design, terms: Sequence[SmoothTerm]) -> npt.NDArray[np.int32]:
    """Return the cell of every row in every term, shape (rows, terms)."""
    states = {axis.feature: design.states(axis.feature) for term in terms for axis in term.axes}
    cells = np.empty((len(design.weights), len(terms)), dtype=np.int32)
    for j, term in enumerate(terms):
        flat = np.zeros(len(cells), dtype=np.int64)
        for axis in term.axes:
            flat = flat * axis.size + axis.groups[states[axis.feature]]
        cells[:, j] = flat + term.first
    return cells


def kinds_of(terms: Sequence[SmoothTerm]) -> tuple[str, ...]:
    """Return the kinds of penalty that the terms have, in the order of `KINDS`."""
    present = {kind for term in terms for kind in term.penalties}
    return tuple(kind for kind in KINDS if kind in present)


Strength = float | Mapping[Hashable, float]
Strengths = Mapping[str, Strength]
"""The strength of every kind of penalty, or of a kind for every feature, none where it is not named."""


def strengths_text(strengths: Strengths) -> str:
    """Return strengths in a line: ``slope 0.5, interaction of a 3, interaction of b 2``."""
    shown = []
    for kind, strength in strengths.items():
        if isinstance(strength, Mapping):
            shown += [f"{kind} of {feature} {value:.3g}" for feature, value in strength.items()]
        else:
            shown.append(f"{kind} {strength:.3g}")
    return ", ".join(shown)


def read_terms(described: Any, names: Sequence[Hashable], design: Design) -> list[SmoothTerm]:
    """Return the terms that :meth:`.SmoothRefit.to_dict` described; ``names[k]`` is the feature with number k.

    Raises
    ------
    ValueError
        If a term occurs twice, a feature of a term has none of its own, or groups are not those of the states.
    """
    terms: list[SmoothTerm] = []
    for axes in described:
        features = references([j for j, _, _ in axes], len(names))
        own = tuple(
            _read_axis(names[j], ordered, groups, design)
            for j, (_, ordered, groups) in zip(features, axes, strict=True)
        )
        terms.append(SmoothTerm(own, terms[-1].cells.stop if terms else 0))
    sets = {frozenset(term.features) for term in terms}
    mains = {frozenset([name]) for term in terms for name in term.features}
    if not terms or len(sets) < len(terms) or not mains <= sets:
        raise ValueError("there must be a term for every feature of other terms, and none twice")
    return terms


def _read_axis(feature: Hashable, ordered: int, groups: Any, design: Design) -> Axis:
    arity = design.shape[feature]
    found = np.array([whole(group, 0, arity - 1) for group in listed(groups, arity)], dtype=np.int64)
    size = int(found.max(initial=-1)) + 1
    whole(ordered, 0, size)
    if set(found.tolist()) != set(range(size)):
        raise ValueError(f"the groups of {feature!r} are not those of its states")
    return Axis(feature, found, size, ordered)
