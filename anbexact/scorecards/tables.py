"""Tables of points: of one feature, or of several features together."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from anbexact._runtime.arrays import Floats, Positions
from anbexact.tables.cuts import Cuts
from anbexact.tables.vocabulary import Vocabulary

OTHER = "missing or unknown"
"""What a scorecard calls the cells that are missing or contain a value that is not a state."""
MOST_POINTS = 2**53
"""Whole numbers up to which floats are exact, so that no points are larger."""


@dataclass(frozen=True, eq=False)
class PointTable:
    """The points of the joint states of some features.

    Attributes
    ----------
    features : tuple
        Its features, in the order of the axes of the arrays.
    points : (*states + 1, scores) int64
        The last place along the axis of a feature is for cells that are missing or unknown.
    weight : (*states) float64
        Weight of the training rows in every cell.
    """

    features: tuple[Hashable, ...]
    points: Positions
    weight: Floats

    @classmethod
    def of_states(cls, features: tuple[Hashable, ...], points: Positions, weight: Floats) -> PointTable:
        """Return the table with these points of states, shape (*states, scores).

        A missing or unknown cell gets the mean points of the training rows with the same states of the other
        features, rounded: it counts neither for nor against any class.
        """
        values, weights = points.astype(np.float64), weight.astype(np.float64)
        for axis in range(len(features)):
            total = weights.sum(axis=axis, keepdims=True)
            share = np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1 / weights.shape[axis])
            mean = (values * share[..., None]).sum(axis=axis, keepdims=True)
            values = np.concatenate([values, mean], axis=axis)
            weights = np.concatenate([weights, total], axis=axis)
        return cls(features, np.rint(values).astype(np.int64), weight)

    @property
    def n_states(self) -> tuple[int, ...]:
        """Number of states of every feature."""
        return self.weight.shape

    def at(self, codes: Mapping[Hashable, Positions]) -> Positions:
        """Return the points of rows, (rows, scores), given codes of which negative ones are missing or unknown."""
        places = np.zeros((), dtype=np.int64)
        for name, arity in zip(self.features, self.n_states, strict=True):
            own = codes[name]
            places = places * (arity + 1) + np.where(own < 0, arity, own)
        return np.asarray(self.points.reshape(-1, self.points.shape[-1]).take(places, axis=0))

    def best(self, against: str) -> Floats:
        """Return the most points of any state, or the mean points of the training rows, (scores,).

        Only states of training rows count, unless there are no such rows.
        """
        inner = self.points[tuple(slice(0, -1) for _ in self.features)].reshape(-1, self.points.shape[-1])
        weight = self.weight.ravel() if self.weight.any() else np.ones(self.weight.size)
        if against == "mean":
            return np.asarray(weight @ inner / weight.sum())
        return np.asarray(inner[weight > 0].max(axis=0).astype(np.float64))

    def groups(self, axis: int, n_intervals: int) -> list[list[int]]:
        """Return the states along an axis, grouped where they have the same points.

        The first ``n_intervals`` states are intervals, of which only neighbours form a group; any others do.
        """
        slices = np.moveaxis(self.points, axis, 0)[:-1].reshape(self.n_states[axis], -1)
        found: list[list[int]] = []
        known: dict[bytes, list[int]] = {}
        for state, row in enumerate(slices):
            key = row.tobytes()
            if 0 < state < n_intervals and np.array_equal(row, slices[state - 1]):
                found[-1].append(state)
            elif state >= n_intervals and key in known:
                known[key].append(state)
            else:
                found.append([state])
                if state >= n_intervals:
                    known[key] = found[-1]
        return found


@dataclass(frozen=True, eq=False)
class PointRow:
    """A row of a scorecard as it is read: states with the same points.

    Attributes
    ----------
    labels : tuple of str
        The states of every feature of the table.
    points : (scores,) int64
    weight : float
        Weight of the training rows in these states; NaN for missing or unknown cells.
    cells : tuple of tuple of int
        The states along every axis, as positions.
    """

    labels: tuple[str, ...]
    points: Positions
    weight: float
    cells: tuple[tuple[int, ...], ...]


def axis_groups(
    table: PointTable, axis: int, vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts]
) -> list[tuple[str, tuple[int, ...]]]:
    """Return the groups of states along an axis, with their names; the last is for missing or unknown cells."""
    name = table.features[axis]
    n_intervals = len(cut_points[name]) + 1 if name in cut_points else 0
    groups = table.groups(axis, n_intervals)
    found = [(states_label(name, group, vocabulary, cut_points), tuple(group)) for group in groups]
    return [*found, (OTHER, (table.n_states[axis],))]


def state_labels(
    table: PointTable, axis: int, vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts]
) -> list[str]:
    """Return the name of the group of every state along an axis, and that of missing or unknown cells."""
    found = [""] * (table.n_states[axis] + 1)
    for label, group in axis_groups(table, axis, vocabulary, cut_points):
        for state in group:
            found[state] = label
    return found


def states_label(
    name: Hashable, group: Sequence[int], vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts]
) -> str:
    """Return the name of a group of states of a feature, given by their positions."""
    states = [str(vocabulary.states[name][k]) for k in group]
    return group_label(states, intervals=name in cut_points and group[0] <= len(cut_points[name]))


def group_label(states: list[str], *, intervals: bool) -> str:
    """Return the name of a group of states: of neighbouring intervals, the interval that they form.

    Examples
    --------
    >>> group_label(["(-inf, 3]", "(3, 5]"], intervals=True), group_label(["(3, 5]"], intervals=True)
    ('≤ 5', '> 3, ≤ 5')
    >>> group_label(["a", "b"], intervals=False)
    'a or b'
    """
    if not intervals:
        return " or ".join(states)
    low = states[0][1:].split(", ")[0]
    high = states[-1][:-1].split(", ")[-1]
    if low == "-inf":
        return "any number" if high == "inf" else f"≤ {high}"
    return f"> {low}" if high == "inf" else f"> {low}, ≤ {high}"


def point_rows(table: PointTable, vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts]) -> Iterator[PointRow]:
    """Yield the rows of a table, in which states with the same points share a row."""
    axes = [axis_groups(table, axis, vocabulary, cut_points) for axis in range(len(table.features))]
    for chosen in product(*axes):
        cells = tuple(group for _, group in chosen)
        points = table.points[tuple(group[0] for group in cells)]
        known = all(group[0] < arity for group, arity in zip(cells, table.n_states, strict=True))
        weight = float(table.weight[np.ix_(*cells)].sum()) if known else float("nan")
        yield PointRow(tuple(label for label, _ in chosen), points, weight, cells)


def score_name(label: Any, n_scores: int) -> str:
    """Return the name of the column of a score: ``score``, or of several, ``score(label)``."""
    return "score" if n_scores == 1 else f"score({label})"
