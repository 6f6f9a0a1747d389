"""Points that are changed by hand: which cells of a table are meant, and the change in words."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from anbexact._runtime.units import counted
from anbexact.models.logit.edits import read_state
from anbexact.scorecards.tables import MOST_POINTS, OTHER, PointTable, axis_groups, states_label
from anbexact.tables.cuts import Cuts
from anbexact.tables.vocabulary import UNKNOWN, Vocabulary, is_missing


def table_with(tables: Sequence[PointTable], features: Sequence[Hashable]) -> PointTable:
    """Return the table of points of these features, in any order.

    Raises
    ------
    ValueError
        If there is none; the message names those of the card.
    """
    for table in tables:
        if len(table.features) == len(features) and set(table.features) == set(features):
            return table
    known = ", ".join(" and ".join(map(repr, table.features)) for table in tables)
    raise ValueError(
        f"the card has no table of points of {' and '.join(map(repr, features))}; its tables are those of {known}"
    )


def changed_table(
    table: PointTable,
    features: Sequence[Hashable],
    changes: Mapping[Any, int],
    k: int,
    vocabulary: Vocabulary,
    cut_points: Mapping[Hashable, Cuts],
) -> tuple[PointTable, str]:
    """Return a table in which some points of score ``k`` are other ones, and the change in words.

    ``changes`` maps states of the features to points; see :meth:`anbexact.adapters.Scorecard.change_points`. States
    of several features are tuples, in the order of ``features``.

    Raises
    ------
    ValueError
        For states that do not exist, points that are not whole numbers, or two numbers of points for one cell.
    """
    if not changes:
        raise ValueError("changes is empty: it must give the new points of a state or of several")
    points, done = table.points.copy(), np.zeros(table.points.shape[:-1], dtype=bool)
    own, said = points[..., k], []
    for states, new in changes.items():
        given = (states,) if len(features) == 1 else states
        if not isinstance(given, tuple) or len(given) != len(features):
            raise ValueError(f"a state of {tuple(features)} has {len(features)} parts, not {states!r}")
        if isinstance(new, bool) or not isinstance(new, int | np.integer) or abs(int(new)) > MOST_POINTS:
            raise ValueError(
                f"the points of {states!r} must be a whole number from {-MOST_POINTS} to {MOST_POINTS}, not {new!r}"
            )
        by_name = {
            name: _states_meant(table, table.features.index(name), value, vocabulary, cut_points)
            for name, value in zip(features, given, strict=True)
        }
        cells = np.ix_(*(by_name[name] for name in table.features))
        if (done[cells] & (own[cells] != new)).any():
            raise ValueError(
                f"{states!r} and another state in changes have a cell of the card in common, but different points: "
                "name each cell once, by its state or by its row"
            )
        old = int(table.points[..., k][cells].flat[0])  # the cells of a row have the same points
        own[cells], done[cells] = new, True
        meant = ", ".join(_in_words(name, group, vocabulary, cut_points) for name, group in by_name.items())
        said.append(f"{meant}: {counted(int(new), 'point')} instead of {old:,}")
    return replace(table, points=points), "; ".join(said)


def _states_meant(
    table: PointTable, axis: int, value: Any, vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts]
) -> tuple[int, ...]:
    """Return the places along an axis that a value stands for: a state, those of a row, or that of missing cells."""
    name = table.features[axis]
    if is_missing(value):
        own = vocabulary.missing_code(name)
        return (own if own >= 0 else table.n_states[axis],)
    code = vocabulary.code(name, value)
    if code != UNKNOWN:
        return (code,)
    rows = axis_groups(table, axis, vocabulary, cut_points)
    for label, group in rows:
        if label == value:
            return group
    code = read_state(vocabulary, cut_points, name, value)  # a number within an interval
    return next(group for _, group in rows if code in group)


def _in_words(
    name: Hashable, states: Sequence[int], vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts]
) -> str:
    """Return which states of a feature are meant, such as ``age > 60``."""
    if states[0] == vocabulary.arity(name):
        return f"{name} {OTHER}"
    label = states_label(name, states, vocabulary, cut_points)
    return f"{name} {label}" if name in cut_points and label[0] in "≤>" else f"{name} = {label}"
