"""How models code the columns of a table: states and cut points, and the common refinement of several codings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anbexact._runtime.arrays import Integers
from anbexact.tables.cuts import Cuts, interval_names
from anbexact.tables.frames.records import ColumnRecord
from anbexact.tables.vocabulary import Groups, Vocabulary, group_names


class DifferentCodingsError(ValueError):
    """Models read a column so differently that it has no common states."""


@dataclass(frozen=True, eq=False)
class Coding:
    """How a model codes the columns of a table.

    Attributes
    ----------
    vocabulary : Vocabulary
        Names and states of all variables.
    cut_points : mapping
        Cut points of every column that is cut.
    """

    vocabulary: Vocabulary
    cut_points: Mapping[Hashable, Cuts]

    def places_of(self, finer: Coding, name: Hashable) -> Integers:
        """Return, for every state of a column in a finer coding, the state of this coding that contains it.

        States are positions; the shape is (states in the finer coding,).
        """
        if name not in self.cut_points:
            examples = (group[0] for group in _divided(finer.vocabulary, name))
            own_missing = [self.vocabulary.missing_code(name)] if name in self.vocabulary.own_missing else []
            return np.array([*(self.vocabulary.code(name, value) for value in examples), *own_missing], dtype=np.intp)
        own, cuts = self.cut_points[name], finer.cut_points[name]
        intervals = np.append(np.searchsorted(own, cuts, side="left"), len(own))
        return np.append(intervals, np.arange(len(own) + 1, self.vocabulary.arity(name)))


def common_refinement(codings: Sequence[Coding]) -> Coding:
    """Return the coarsest coding that refines all others.

    Every column has the cut points of all of them, and values share a group if they share one in all of them.

    Raises
    ------
    DifferentCodingsError
        If a column is cut only in some of them, or if the values of which its states or groups consist, its
        treatment of missing cells or its quantity differ.
    """
    first = codings[0]
    cut_points: dict[Hashable, Cuts] = {}
    states, groups = dict(first.vocabulary.states), dict(first.vocabulary.groups)
    records = dict(first.vocabulary.records)
    for name in first.vocabulary.names:
        if any(_kind(other, name) != _kind(first, name) for other in codings):
            raise DifferentCodingsError(
                f"the members read the column {name!r} differently: its states, apart from cut points, must be the "
                "same in all of them. Give them the same categories, group_categories, handle_missing and continuous"
            )
        if name in first.cut_points:
            cuts = np.unique(np.concatenate([other.cut_points[name] for other in codings]))
            uncut = states[name][len(first.cut_points[name]) + 1 :]
            cut_points[name] = cuts
            states[name] = (*interval_names(cuts, first.vocabulary.quantities.get(name)), *uncut)
        elif name in groups:
            ungrouped = [other.vocabulary for other in codings if name not in other.vocabulary.groups]
            if ungrouped:
                del groups[name]
                states[name] = ungrouped[0].states[name]
                records[name] = ungrouped[0].records.get(name, ColumnRecord())
            else:
                own_missing = states[name][len(groups[name]) :]
                groups[name] = _common_groups([other.vocabulary.groups[name] for other in codings])
                states[name] = (*group_names(groups[name]), *own_missing)
                records[name] = _in_order(records.get(name, ColumnRecord()), groups[name])
    return Coding(replace(first.vocabulary, states=states, groups=groups, records=records), cut_points)


def _divided(vocabulary: Vocabulary, name: Hashable) -> Groups:
    """Return the values of every state of a column that is not cut, apart from the state of missing cells."""
    return vocabulary.groups.get(name) or tuple((state,) for state in vocabulary.observed_states(name))


def _common_groups(divisions: Sequence[Groups]) -> Groups:
    """Return the groups of the values that share a group in all divisions of these values."""
    places: dict[Any, tuple[int, ...]] = {value: () for group in divisions[0] for value in group}
    for groups in divisions:
        for k, group in enumerate(groups):
            for value in group:
                places[value] += (k,)
    found: dict[tuple[int, ...], list[Any]] = {}
    for value, of_value in places.items():
        found.setdefault(of_value, []).append(value)
    return tuple(map(tuple, found.values()))


def _in_order(record: ColumnRecord, groups: Groups) -> ColumnRecord:
    """Return the record of a column with groups of values for other groups of these values."""
    weight_of = dict(zip(record.values, record.weights, strict=True))
    values = [value for group in groups for value in group if value in weight_of]
    return replace(record, values=tuple(values), weights=tuple(weight_of[value] for value in values))


def _kind(coding: Coding, name: Hashable) -> object:
    """Return the properties of a column that must be equal in all codings."""
    vocabulary = coding.vocabulary
    if name not in vocabulary.states:
        return None
    cut = name in coding.cut_points
    others = vocabulary.states[name][len(coding.cut_points[name]) + 1 :] if cut else ()
    values = others if cut else frozenset(value for group in _divided(vocabulary, name) for value in group)
    return cut, values, name in vocabulary.own_missing, vocabulary.quantities.get(name)
