"""The terms of a smooth refit: main effects on fine intervals, interactions on coarser grids, and their penalties."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._runtime.cached import cached_property
from anbexact._runtime.json_checks import listed, references, whole
from anbexact.models.logit.design import Design
from anbexact.models.logit.potentials import Floats
from anbexact.tables.vocabulary import Vocabulary

Codes = npt.NDArray[np.int64]
KINDS = ("slope", "curvature", "level", "interaction", "bending")
"""Kinds of penalties: on first differences and on second differences of main effects with an order, on main effects
without one, and on first differences and on second differences of terms of several features."""
INTERACTIONS = ("families", "more", "pairs", "none")
"""Choices of terms of several features.

There is a term for every family and, where their grids are finer, for its pairs of child and parent; or for these and
for further pairs for which residuals ask; or for every pair of child and parent only; or for none. In the family of
the class, any two of its parents are such a pair.
"""
FEWEST_CELLS, GRID_CELLS = 100, 256
"""Bounds of the number of cells of a grid of three or more ordered features.

Within these, there is about one cell for every four distinct rows. An axis of a pair has twice as many groups as an
axis of three features, but at most `MOST_GRID`.
"""
MOST_CELLS = 4096
"""Maximum number of cells of a term of several features; larger terms are replaced by terms of pairs."""
MOST_UNKNOWNS = 10_000
"""Maximum number of unknowns for which pairs have terms in addition to families; fits then take twice as long."""
MOST_GRID = 10
"""Maximum number of groups on an axis of a pair."""


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
        Number of groups that follow an order; these come first.
    cyclic : bool, default False
        Whether the last of these is followed by the first, as for months.
    """

    feature: Hashable
    groups: Codes
    size: int
    ordered: int
    cyclic: bool = False

    @property
    def _closed(self) -> bool:
        """Whether the groups form a circle; two of them have the same neighbour on both sides."""
        return self.cyclic and self.ordered > 2

    def _differences_of(self, form: Floats) -> Floats:
        """Return the differences of the rows of neighbouring groups, with the last and the first if they are such."""
        return np.diff(form, axis=0, append=form[:1]) if self._closed else np.diff(form, axis=0)

    @cached_property
    def differences(self) -> Floats:
        """The quadratic form of first differences, (size, size).

        For m groups in an order, it is ``(m - 1) Σ_j (δ_{j+1} - δ_j)²``, the integral of the squared slope if they
        are spread over an interval of length 1. On a circle of length 1, it is ``m Σ_j (δ_{j+1} - δ_j)²`` with
        ``δ_{m+1} = δ_1``. Groups without an order, or outside it, are compared with the mean of all groups:
        ``2 Σ_j (δ_j - mean)²``, which equals the first form if there are two groups.
        """
        form = np.zeros((self.size, self.size))
        if self.ordered > 1:
            steps = self._differences_of(np.eye(self.ordered, self.size))
            form += len(steps) * steps.T @ steps
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
        """The quadratic form ``(m - 1)³ Σ_j (δ_{j+2} - 2 δ_{j+1} + δ_j)²``, (size, size).

        It is the integral of the squared curvature of the m groups in an order over an interval of length 1. On a
        circle of length 1, it is ``m³`` times the sum over all m groups.
        """
        form = np.zeros((self.size, self.size))
        if self.ordered > 2:
            steps = self._differences_of(np.eye(self.ordered, self.size))
            bends = self._differences_of(steps)
            form += len(steps) ** 3 * bends.T @ bends
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
    order : {1, 2}
        Whether the roughness of an interaction is that of its first or of its second differences.
    """

    axes: tuple[Axis, ...]
    first: int
    order: int = 1

    @property
    def kind(self) -> str:
        """The kind of penalty of an interaction."""
        return "interaction" if self.order == 1 else "bending"

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
        """The range of its cells among the cells of all terms."""
        return slice(self.first, self.first + self.size)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its penalties."""
        if len(self.axes) == 1:
            ordered = self.axes[0].ordered
            return ("level",) if ordered < 2 else ("slope", "curvature") if ordered > 2 else ("slope",)
        return (self.kind,) if self.axes else ()

    @cached_property
    def penalties(self) -> dict[str, Floats]:
        """The quadratic forms of the term's roughness by kind, each of shape (cells, cells).

        For an interaction of order 1, S is the sum of the forms of its axes: for two features it is the integral of
        the squared gradient over a square of side 1, on which a cell has the area 1 / cells. For one of order 2, the
        form is ``cells · S²``. Because ``-cells · S`` is the Laplacian with reflecting edges, this is the integral
        of the squared Laplacian, the bending energy of a plate. Both have the same eigenvectors.
        """
        forms = {kind: np.sum(list(forms.values()), axis=0) for kind, forms in self.penalties_of_axes.items()}
        if len(self.axes) > 1 and self.order == 2:
            form = forms["interaction"]
            return {"bending": self.size * form @ form}
        return forms

    @cached_property
    def penalties_of_axes(self) -> dict[str, dict[Hashable, Floats]]:
        """The quadratic forms of the term's first differences by kind and feature, each of shape (cells, cells).

        Main effects have those of second differences, too. For an interaction, the form of a feature has the first
        differences along its axis, averaged over the joint groups of all other features.
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
        """Return the eigenvalues of an interaction's penalty, (cells,).

        They belong to the Kronecker products of the eigenvectors of its axes.

        Parameters
        ----------
        strengths : sequence of float
            The strength along every axis. That of second differences multiplies their square along the axis; squares
            of sums over axes have their geometric mean.
        """
        values: Any = np.zeros(1)
        for axis, strength in zip(self.axes, strengths, strict=True):
            along = strength if self.order == 1 else np.sqrt(strength)
            values = (values[:, None] + along * axis.size / self.size * axis.modes[0]).ravel()
        return np.asarray(values if self.order == 1 else self.size * values**2)

    def precision(self, strengths: Strengths, ridge: float) -> Floats:
        """Return the prior precision of its cells, (cells, cells)."""
        found = ridge * np.eye(self.size)
        if len(self.axes) > 1 and self.order == 2:
            strength = strengths.get(self.kind, 0.0)
            along = [strength.get(a.feature, 0.0) if isinstance(strength, Mapping) else strength for a in self.axes]
            of_axes = self.penalties_of_axes["interaction"].values()
            form = np.sum([np.sqrt(tau) * own for tau, own in zip(along, of_axes, strict=True)], axis=0)
            return np.asarray(found + self.size * form @ form)
        for kind, forms in self.penalties_of_axes.items():
            strength = strengths.get(kind, 0.0)
            for feature, form in forms.items():
                found += (strength.get(feature, 0.0) if isinstance(strength, Mapping) else strength) * form
        return found

    def spread(self, values: Floats, features: Sequence[Hashable]) -> Floats:
        """Return values of the cells, (cells, classes), as an array over the states of some features and the classes.

        ``features`` include those of the term; along the others, the array has length 1.
        """
        grid = values.reshape(*self.shape, values.shape[-1])
        order = sorted(range(len(self.axes)), key=lambda k: features.index(self.axes[k].feature))
        grid = grid.transpose(*order, -1 + grid.ndim)
        for place, k in enumerate(order):
            grid = np.take(grid, self.axes[k].groups, axis=place)
        own = [self.axes[k].feature for k in order]
        lengths = iter(grid.shape)
        return grid.reshape(*(next(lengths) if name in own else 1 for name in features), values.shape[-1])


class Grid(NamedTuple):
    """The grid of a pair that is finer than those of other pairs.

    Attributes
    ----------
    first, second : Hashable
        The features.
    parts : int
        Number of parts into which each ordered group of an axis is cut, as far as the intervals of the main effect
        allow.
    order : {1, 2}
        The order of the differences that are penalised; see :class:`SmoothTerm`.
    """

    first: Hashable
    second: Hashable
    parts: int
    order: int


def ordered_features(
    vocabulary: Vocabulary, cut: Collection[Hashable], declared: Collection[Hashable]
) -> set[Hashable]:
    """Return the features whose states follow an order: those that were cut, those declared, and those of numbers.

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
    """Return an axis with neighbouring ordered groups merged into about ``size`` groups of equal weight.

    Parameters
    ----------
    axis : Axis
    weights : (groups,) float64
        The weight of the rows of every group.
    size : int
        Maximum number of groups that remain in the order.
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
    return replace(axis, groups=groups, size=axis.size - axis.ordered + kept, ordered=kept)


def smooth_terms(
    design: Design,
    vocabulary: Vocabulary,
    ordered: Collection[Hashable],
    *,
    interactions: str = "families",
    axes_of: Mapping[Hashable, Axis] | None = None,
    fine: Collection[Hashable] = (),
    more: Collection[frozenset[Hashable]] = (),
) -> tuple[SmoothTerm, ...]:
    """Return the intercept, the main effects and the interactions of the families of a design.

    Parameters
    ----------
    design : Design
        The rows, as cells of the families that contain the class.
    vocabulary : Vocabulary
    ordered : collection
        The features whose states follow an order.
    interactions : {"families", "pairs", "none"}, default "families"
        See `INTERACTIONS`. A family whose grid would have more than `MOST_CELLS` cells has terms of its pairs
        instead. If there would be more than `MOST_UNKNOWNS` unknowns, other families have no terms of their pairs.
    more : collection of pairs
        Arcs of the families that do not belong to the network: they have a term of their own, and no other term.
    """
    features = [
        name
        for name in dict.fromkeys(name for names in design.families.values() for name in names)
        if design.shape[name] > 1
    ]
    known = axes_of or {}
    full = {name: known.get(name) or full_axis(vocabulary, name, name in ordered) for name in features}
    weights = {
        name: np.bincount(design.states(name), design.totals, len(full[name].groups)).astype(np.float64)
        for name in features
    }
    families = {
        child: own
        for child, of_family in design.families.items()
        if len(own := tuple(name for name in of_family if name in full)) > 1 and interactions != "none"
    }
    added = [tuple(sorted(pair, key=features.index)) for pair in more if pair <= set(full)]
    for child, own in families.items():
        others = tuple(name for name in own if frozenset((name, child)) not in more)
        families[child] = others
    families = {child: own for child, own in families.items() if len(own) > 1}
    grids = _Grids(full, weights, len(design.weights), fine)
    main: list[tuple[Axis, ...]] = [(), *((axis,) for axis in full.values())]
    axes = main + _interactions(families, grids, families_too=interactions in ("families", "more"), pairs_too=True)
    unknowns = (design.n_classes - 1) * sum(prod(axis.size for axis in of_term) for of_term in axes)
    if interactions in ("families", "more") and unknowns > MOST_UNKNOWNS:
        axes = main + _interactions(families, grids, families_too=True, pairs_too=False)
    axes += [grids.of(pair) for pair in added]
    terms: list[SmoothTerm] = []
    for of_term in axes:
        terms.append(SmoothTerm(of_term, terms[-1].cells.stop if terms else 0))
    return tuple(terms)


class _Grids:
    """The axes of interactions: groups of about equal weight, which are fewer if there are more features.

    Parameters
    ----------
    full : mapping of feature to Axis
        Axes on which every state is a group of its own.
    weights : mapping of feature to (states,) float64
        The weight of the rows in every state.
    n_rows : int
        Number of distinct rows.
    fine : collection of features
        The features whose axes are not merged.
    """

    def __init__(
        self,
        full: Mapping[Hashable, Axis],
        weights: Mapping[Hashable, Floats],
        n_rows: int,
        fine: Collection[Hashable] = (),
    ) -> None:
        self._weights, self._fine = weights, fine
        self._cells = min(max(n_rows / 4, FEWEST_CELLS), GRID_CELLS)
        self._full = full
        self._of_pairs = {name: self._merged(axis, 2) for name, axis in full.items()}

    def of(self, names: Sequence[Hashable], *, within_pairs: bool = False) -> tuple[Axis, ...]:
        """Return the axes of an interaction, made by merging states or, ``within_pairs``, the groups for pairs."""
        axes = self._of_pairs if within_pairs else self._full
        return tuple(self._merged(axes[name], len(names)) for name in names)

    def _merged(self, axis: Axis, n_features: int) -> Axis:
        """Return an axis with its groups merged as an interaction of some number of features needs them."""
        if axis.feature in self._fine:
            return axis
        weights = np.bincount(axis.groups, self._weights[axis.feature])
        return grouped_axis(axis, weights.astype(np.float64), self._groups(n_features))

    def _groups(self, n_features: int) -> int:
        """Return the maximum number of ordered groups on an axis of an interaction of some number of features."""
        if n_features == 2:
            return min(MOST_GRID, 2 * self._groups(3))
        return max(2, int(self._cells ** (1 / n_features) + 1e-9))


def _interactions(
    families: Mapping[Hashable, Sequence[Hashable]], grids: _Grids, *, families_too: bool, pairs_too: bool
) -> list[tuple[Axis, ...]]:
    """Return the axes of interactions: of families, of their pairs where these have finer grids, or of both.

    If pairs have terms, too, every group of a family's axis is a union of groups for pairs, so that the family's
    function of a pair is constant on the cells of the pair's grid.
    """
    found: dict[frozenset[Hashable], tuple[Axis, ...]] = {}
    for child, own in families.items():
        # The family of the class has no child among its features: these are its parents, and every pair counts.
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
    present = {kind for term in terms for kind in term.kinds}
    return tuple(kind for kind in KINDS if kind in present)


Strength = float | Mapping[Hashable, float]
"""The strength of a kind of penalty, for all features or by feature."""
Strengths = Mapping[str, Strength]
"""The strength of every kind of penalty, for all features or by feature; what is not named is not penalised."""


def strengths_text(strengths: Strengths, spread: bool = False) -> str:
    """Return strengths as one line, such as ``slope 0.5, interaction of a 3, interaction of b 2``.

    With ``spread``, strengths by feature are shortened to their spread: ``interaction 2 to 3 (2 features)``.
    Grids among them are written as ``grid of a & b 4 times finer``.
    """
    shown = []
    for kind, strength in strengths.items():
        if kind == "grids":
            grids: Any = strength
            shown += [f"grid of {first} & {second} {parts} times finer" for first, second, parts, _ in grids]
        elif isinstance(strength, Mapping) and spread and len(strength) > 1:
            values = strength.values()
            shown.append(f"{kind} {min(values):.3g} to {max(values):.3g} ({len(strength)} features)")
        elif isinstance(strength, Mapping):
            shown += [f"{kind} of {feature} {value:.3g}" for feature, value in strength.items()]
        else:
            shown.append(f"{kind} {strength:.3g}")
    return ", ".join(shown)


def read_terms(
    described: Any,
    names: Sequence[Hashable],
    design: Design,
    cyclic: Collection[Hashable] = (),
    grids: Sequence[Grid] = (),
) -> list[SmoothTerm]:
    """Return the terms that :meth:`.SmoothRefit.to_dict` described; ``names[k]`` is the feature with number k.

    Pairs that ``grids`` names have the order of differences that it gives.

    Raises
    ------
    ValueError
        If a term occurs twice, a feature of a term has no term of its own, or groups do not match the states.
    """
    orders = {frozenset((names.index(grid.first), names.index(grid.second))): grid.order for grid in grids}
    terms: list[SmoothTerm] = []
    for axes in described:
        features = references([j for j, _, _ in axes], len(names))
        own = tuple(
            _read_axis(names[j], ordered, groups, design, cyclic)
            for j, (_, ordered, groups) in zip(features, axes, strict=True)
        )
        terms.append(SmoothTerm(own, terms[-1].cells.stop if terms else 0, orders.get(frozenset(features), 1)))
    sets = {frozenset(term.features) for term in terms}
    mains = {frozenset([name]) for term in terms for name in term.features}
    if not terms or len(sets) < len(terms) or not mains <= sets:
        raise ValueError("there must be a term for every feature of other terms, and none twice")
    return terms


def _read_axis(feature: Hashable, ordered: int, groups: Any, design: Design, cyclic: Collection[Hashable]) -> Axis:
    """Return an axis with these groups of the feature's states; refuse groups that are not numbered from 0."""
    arity = design.shape[feature]
    found = np.array([whole(group, 0, arity - 1) for group in listed(groups, arity)], dtype=np.int64)
    size = int(found.max(initial=-1)) + 1
    whole(ordered, 0, size)
    if set(found.tolist()) != set(range(size)):
        raise ValueError(f"the groups of {feature!r} are not those of its states")
    return Axis(feature, found, size, ordered, feature in cyclic)
