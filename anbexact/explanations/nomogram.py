"""Nomograms: a class posterior that is a sum of terms, as points of features that add up to log odds."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact.explanations.background import distributions
from anbexact.models.family_sum import FamilySum
from anbexact.models.logit.potentials import Potentials, network_potentials
from anbexact.models.network.network import TableNetwork
from anbexact.tables.vocabulary import CodeArray

MOST_POINTS = 100.0
"""Points of the widest ruler."""
MOST_LINES = 4
"""Most lines of a ruler: with more, the feature has one line, and a two-way table corrects it."""
SAME = 1e-9
"""Nats below which two lines, or two states, count as equal."""
NEGLIGIBLE = 0.004
"""Nats below which a two-way table is left away: it could not change a probability by more than 0.001."""


@dataclass(frozen=True, eq=False)
class Ruler:
    """The points of a feature, on one line or on a line for every joint state of other features.

    Attributes
    ----------
    feature : Hashable
        The feature whose states are on the ruler.
    given : tuple
        The features whose states choose the line; empty for a single line.
    points : (states, *states of given, classes - 1) float64
        The points for every class other than the reference. For every class, the smallest are 0.
    shares : (states, *states of given) float64
        The distribution of the features in the training rows or, if these are not known, under the network.
    unknown : (*states of given, classes - 1) float64 or None
        The points of a missing cell, with which it is summed out exactly; None if there are none, because other
        features depend on this one.
    """

    feature: Hashable
    given: tuple[Hashable, ...]
    points: Floats
    shares: Floats
    unknown: Floats | None = None

    @property
    def features(self) -> tuple[Hashable, ...]:
        """The features on which the points depend, as the axes of ``points``."""
        return (self.feature, *self.given)

    @cached_property
    def mean(self) -> Floats:
        """The mean of the points, shape (classes - 1,)."""
        return _mean(self.points, self.shares)

    @cached_property
    def importance(self) -> float:
        """The standard deviation of the points, for the class for which it is largest."""
        return float(np.sqrt(_mean((self.points - self.mean) ** 2, self.shares)).max())

    @property
    def span(self) -> float:
        """The difference between the most and the fewest points, for the class for which it is largest."""
        return float(np.ptp(self.points.reshape(-1, self.points.shape[-1]), axis=0).max())

    def line(self, given: tuple[int, ...]) -> Floats:
        """Return the points for one joint state of the other features, shape (states, classes - 1)."""
        return np.asarray(np.moveaxis(self.points, 0, -2)[given])

    def lines(self, tolerance: float) -> list[list[tuple[int, ...]]]:
        """Return the joint states of ``given``, those with equal points together."""
        found: list[list[tuple[int, ...]]] = []
        for cell in np.ndindex(self.points.shape[1:-1]):
            same = (of for of in found if np.abs(self.line(cell) - self.line(of[0])).max() <= tolerance)
            if (line := next(same, None)) is None:
                found.append([cell])
            else:
                line.append(cell)
        return found


@dataclass(frozen=True, eq=False)
class Correction:
    """Points of several features together, in addition to those of their rulers; on average, they are 0.

    Attributes
    ----------
    features : tuple
        The features: one in the rows of a table, the others in its columns.
    points : (*states, classes - 1) float64
    shares : (*states) float64
        As for :class:`Ruler`.
    """

    features: tuple[Hashable, ...]
    points: Floats
    shares: Floats

    @cached_property
    def importance(self) -> float:
        """The root of the mean square of the points, for the class for which it is largest."""
        return float(np.sqrt(_mean(self.points**2, self.shares)).max())


@dataclass(frozen=True, eq=False)
class PointSystem:
    """A class posterior as sums of points.

    ``ln P(c | x) / P(reference | x) = constant_c + (Σ points_c(x)) / points_per_nat`` for every class c other than
    the reference, where the sum runs over rulers and corrections.

    Attributes
    ----------
    source : FamilySum
        The class posterior.
    network : TableNetwork or None
        The network under which missing cells are summed out, if there is one.
    classes : tuple
        All classes.
    reference : int
        Position of the class with which the others are compared.
    rulers : tuple of Ruler
        The most important first.
    corrections : tuple of Correction
        Likewise.
    constant : (classes - 1,) float64
        The log odds, in nats, if all points are 0.
    points_per_nat : float
        The scale, which is the same for all classes.
    left_out : tuple of tuple
        The features, and the sets of features of corrections, whose mean points are part of the constant.
    """

    source: FamilySum
    network: TableNetwork | None
    classes: tuple[Any, ...]
    reference: int
    rulers: tuple[Ruler, ...]
    corrections: tuple[Correction, ...]
    constant: Floats
    points_per_nat: float
    left_out: tuple[tuple[Hashable, ...], ...] = ()

    @property
    def compared(self) -> list[int]:
        """Positions of the classes other than the reference."""
        return [k for k in range(len(self.classes)) if k != self.reference]

    @property
    def parts(self) -> tuple[Ruler | Correction, ...]:
        """The rulers, and then the corrections."""
        return (*self.rulers, *self.corrections)

    def points(self, codes: CodeArray) -> Floats:
        """Return the points of complete rows, shape (rows, rulers and then corrections, classes - 1)."""
        place = {name: j for j, name in enumerate(self.source.vocabulary.features)}
        parts = [part.points[tuple(codes[place[name]] for name in part.features)] for part in self.parts]
        return np.stack(parts, axis=1) if parts else np.zeros((codes.shape[1], 0, len(self.constant)))

    def probabilities(self, totals: Floats) -> Floats:
        """Return the probabilities of all classes, shape (rows, classes), of total points, (rows, classes - 1)."""
        logs = np.zeros((len(totals), len(self.classes)))
        logs[:, self.compared] = self.constant + totals / self.points_per_nat
        return np.asarray(softmax(logs, axis=1))

    def without(self, left_out: Collection[tuple[Hashable, ...]]) -> PointSystem:
        """Return the system without some features, and without some corrections, at their mean points.

        A line that depends on a feature that is left out becomes the mean of such lines.

        Parameters
        ----------
        left_out : collection of tuple
            A tuple of one feature leaves it out; a tuple of several leaves out their correction.
        """
        gone = {name for features in left_out if len(features) == 1 for name in features}
        constant, rulers, corrections = self.constant.copy(), [], []
        for ruler in self.rulers:
            if ruler.feature in gone:
                constant += ruler.mean / self.points_per_nat
            else:
                rulers.append(_averaged(ruler, gone))
        for correction in self.corrections:
            if correction.features not in left_out and not gone.intersection(correction.features):
                corrections.append(correction)
        return replace(
            self,
            constant=constant,
            rulers=tuple(rulers),
            corrections=tuple(corrections),
            left_out=(*self.left_out, *left_out),
        )


def point_system(source: FamilySum, against: Any = None) -> PointSystem:
    """Return a class posterior as points.

    The terms of one feature are its ruler. A term of several features belongs to the ruler of one of them, a child of
    the class that has the others as parents, and the states of the others choose the line. The mean of every line is
    moved to the rulers of the other features, so that lines are equal where the features do not interact. If more
    than four different lines remain, they are replaced by their mean and a correction.

    Parameters
    ----------
    source : FamilySum
        The class posterior.
    against : class label, optional
        The reference; by default, the first class.

    Raises
    ------
    ValueError
        If there is a single class, ``against`` is not a class, or the log odds are no sum of finite functions.
    """
    vocabulary = source.vocabulary
    classes = vocabulary.states[vocabulary.class_name]
    if len(classes) < 2:
        raise ValueError("there is only one class, so there is nothing to compare it with")
    if against is not None and against not in classes:
        raise ValueError(f"against must be one of the classes {list(classes)}, not {against!r}")
    reference = 0 if against is None else classes.index(against)
    potentials, network = _terms(source)
    shares = _shares(source)
    constant = np.zeros(len(classes) - 1)
    parts: dict[frozenset[Hashable], _Part] = {}
    for potential in sorted(potentials, key=lambda of: -len(of.features)):
        odds = np.delete(potential.logs - potential.logs[..., [reference]], reference, axis=-1)
        if not potential.features:
            constant += odds
            continue
        feature = potential.child
        if feature not in potential.features:  # of the class: the feature of the most states has the ruler
            feature = max(potential.features, key=vocabulary.arity)
        given = tuple(name for name in potential.features if name != feature)
        axes = [potential.features.index(name) for name in (feature, *given)]
        _add(parts, _Part(feature, given, odds.transpose([*axes, len(axes)])))
    for part in list(parts.values()):
        for name, moved in part.without_means(shares).items():
            _add(parts, _Part(name, (), moved))
    alone = {
        part.feature: network is not None and sum(part.feature in other.features for other in potentials) == 1
        for part in parts.values()
    }
    rulers, corrections = [], []
    for part in parts.values():
        values, own = part.values, _joint(shares, (part.feature, *part.given))
        unknown = part.unknown if alone[part.feature] else None
        ruler = Ruler(part.feature, part.given, values, own, unknown)
        if len(ruler.lines(SAME)) > MOST_LINES:
            ruler, correction = _split(ruler)
            if np.abs(correction.points).max() > NEGLIGIBLE:
                corrections.append(correction)
        elif len(ruler.lines(SAME)) == 1 and part.given:
            first = (0,) * len(part.given)
            kept = None if unknown is None else unknown[first]
            ruler = Ruler(part.feature, (), ruler.line(first), _summed(own), kept)
        rulers.append(ruler)
    rulers = _merged(rulers)
    constant += sum((ruler.mean for ruler in rulers if ruler.span <= SAME), np.zeros(len(constant)))
    rulers = [ruler for ruler in rulers if ruler.span > SAME]
    widest = max((ruler.span for ruler in rulers), default=0.0)
    scale = MOST_POINTS / widest if widest > SAME else 1.0
    scaled = []
    for ruler in rulers:
        least = ruler.points.min(axis=tuple(range(ruler.points.ndim - 1)))
        constant += least
        unknown = None if ruler.unknown is None else (ruler.unknown - least) * scale
        scaled.append(replace(ruler, points=(ruler.points - least) * scale, unknown=unknown))
    tables = [replace(of, points=of.points * scale) for of in corrections]
    return PointSystem(
        source,
        network,
        tuple(classes),
        reference,
        tuple(sorted(scaled, key=lambda of: -of.importance)),
        tuple(sorted(tables, key=lambda of: -of.importance)),
        constant,
        scale,
    )


@dataclass(eq=False)
class _Part:
    """The terms of a ruler while they are collected, in nats; ``unknown`` is what a missing cell adds."""

    feature: Hashable
    given: tuple[Hashable, ...]
    values: Floats
    unknown: Floats | None = None

    def without_means(
        self, shares: Mapping[frozenset[Hashable], tuple[tuple[Hashable, ...], Floats]]
    ) -> dict[Hashable, Floats]:
        """Subtract from every line its mean, as far as it is a sum over the features in ``given``; return the sum."""
        self.unknown = np.zeros(self.values.shape[1:])
        if not self.given:
            return {}
        weights = _joint(shares, (self.feature,))
        means = np.tensordot(weights, self.values, axes=(0, 0))
        found = {}
        for axis, name in enumerate(self.given):
            others = tuple(k for k in range(len(self.given)) if k != axis)
            own = means.mean(axis=others, keepdims=True)
            means = means - own
            self.values = self.values - own
            self.unknown = self.unknown - own
            found[name] = own.reshape(own.shape[axis], -1)
        return found


def _add(parts: dict[frozenset[Hashable], _Part], part: _Part) -> None:
    """Add a part to one of the same ruler that depends on all its features, or else as a new one."""
    own = {part.feature, *part.given}
    holders = [of for features, of in parts.items() if of.feature == part.feature and own <= features]
    if not holders:
        parts[frozenset(own)] = part
        return
    holder = min(holders, key=lambda of: len(of.given))
    axes = (part.feature, *part.given)
    wanted = [name for name in (holder.feature, *holder.given) if name in own]
    values = part.values.transpose([*(axes.index(name) for name in wanted), len(axes)])
    lengths = [
        size if name in own else 1
        for name, size in zip((holder.feature, *holder.given), holder.values.shape, strict=False)
    ]
    holder.values = holder.values + values.reshape(*lengths, -1)


def _terms(source: FamilySum) -> tuple[Potentials, TableNetwork | None]:
    """Return the terms of a class posterior, and the network that sums out missing cells where they are its tables.

    If the network has the same families as the terms, the logs of its tables are taken: without its term, a feature
    on which no other depends is summed out.
    """
    try:
        network = source.network
        tables = network_potentials(network.tables, network.structure)
    except (ValueError, MemoryError):
        return source.potentials, None
    if {frozenset(of.features) for of in tables} == {frozenset(of.features) for of in source.potentials}:
        return tables, network
    return source.potentials, None


Shares = Mapping[frozenset[Hashable], tuple[tuple[Hashable, ...], Floats]]
"""Distributions of the features of terms, with the order of their axes."""


def _shares(source: FamilySum) -> Shares:
    """Return the distribution of the features of every term; uniform ones if there is no other."""
    potentials = source.potentials
    try:
        known = distributions(source, None)
    except (ValueError, MemoryError):
        known = [np.full(of.logs.shape[:-1], 1 / of.logs[..., 0].size) for of in potentials]
    found = {frozenset(of.features): (of.features, own) for of, own in zip(potentials, known, strict=True)}
    return {features: found[features] for features in sorted(found, key=len)}


def _joint(shares: Shares, features: tuple[Hashable, ...]) -> Floats:
    """Return the distribution of some features of one term, with these as axes."""
    axes, own = next(value for of, value in shares.items() if of.issuperset(features))
    summed = own.sum(axis=tuple(k for k, name in enumerate(axes) if name not in features))
    kept = [name for name in axes if name in features]
    return np.asarray(summed.transpose([kept.index(name) for name in features]))


def _mean(values: Floats, shares: Floats) -> Floats:
    """Return the mean over all axes but the last."""
    return np.asarray(np.tensordot(shares, values, axes=shares.ndim))


def _summed(shares: Floats) -> Floats:
    """Return the distribution of the first feature alone."""
    return np.asarray(shares.sum(axis=tuple(range(1, shares.ndim))))


def _split(ruler: Ruler) -> tuple[Ruler, Correction]:
    """Return the mean line of a ruler, and how the lines differ from it."""
    weights = ruler.shares.sum(axis=0)
    line = np.tensordot(ruler.points, weights, axes=(tuple(range(1, ruler.points.ndim - 1)), range(weights.ndim)))
    apart = line.reshape(len(line), *[1] * weights.ndim, -1)
    main = Ruler(ruler.feature, (), line, _summed(ruler.shares))
    return main, Correction(ruler.features, ruler.points - apart, ruler.shares)


def _merged(rulers: Sequence[Ruler]) -> list[Ruler]:
    """Return rulers with one for every feature and all features on which its lines depend: their sums."""
    found: dict[tuple[Hashable, ...], Ruler] = {}
    for ruler in rulers:
        if (known := found.get(ruler.features)) is not None:
            ruler = replace(known, points=known.points + ruler.points, unknown=None)
        found[ruler.features] = ruler
    return list(found.values())


def _averaged(ruler: Ruler, gone: Collection[Hashable]) -> Ruler:
    """Return a ruler whose lines do not depend on some features: the means of its lines, given the state."""
    for name in [name for name in ruler.given if name in gone]:
        axis = ruler.features.index(name)
        weights = ruler.shares + 1e-12  # a state without rows has the plain mean
        shares = ruler.shares.sum(axis=axis)
        points = (ruler.points * weights[..., None]).sum(axis=axis) / weights.sum(axis=axis)[..., None]
        given = tuple(other for other in ruler.given if other != name)
        ruler = Ruler(ruler.feature, given, points, shares)
    return ruler


def left_out_points(whole: PointSystem, left_out: Collection[tuple[Hashable, ...]]) -> float:
    """Return the standard deviation of the points that are left out, as if they were independent of each other."""
    gone = [of.importance for of in whole.rulers if (of.feature,) in left_out]
    gone += [of.importance for of in whole.corrections if of.features in left_out]
    return float(np.sqrt(np.sum(np.square(gone))))


def ordered_by_importance(system: PointSystem) -> Sequence[tuple[Hashable, ...]]:
    """Return what can be left out, the least important first: features, and the sets of features of corrections."""
    of_features: dict[tuple[Hashable, ...], float] = {}
    for ruler in system.rulers:
        of_features[(ruler.feature,)] = of_features.get((ruler.feature,), 0.0) + ruler.importance
    of_features |= {of.features: of.importance for of in system.corrections}
    return sorted(of_features, key=of_features.__getitem__)
