"""How models code the columns of a table: states and cut points, and the common refinement of several codings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anbexact._runtime.arrays import Integers
from anbexact.tables.cuts import Cuts, interval_names
from anbexact.tables.vocabulary import Vocabulary


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
            return np.arange(self.vocabulary.arity(name))
        own, cuts = self.cut_points[name], finer.cut_points[name]
        intervals = np.append(np.searchsorted(own, cuts, side="left"), len(own))
        return np.append(intervals, np.arange(len(own) + 1, self.vocabulary.arity(name)))


def common_refinement(codings: Sequence[Coding]) -> Coding:
    """Return the coarsest coding that refines all others: every column has the cut points of all of them.

    Raises
    ------
    DifferentCodingsError
        If a column is cut only in some of them, or if its states (apart from intervals), groups or quantity differ.
    """
    first = codings[0]
    cut_points: dict[Hashable, Cuts] = {}
    states = dict(first.vocabulary.states)
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
    return Coding(replace(first.vocabulary, states=states), cut_points)


def _kind(coding: Coding, name: Hashable) -> object:
    """Return the properties of a column that must be equal in all codings."""
    vocabulary = coding.vocabulary
    if name not in vocabulary.states:
        return None
    states = vocabulary.states[name]
    cut = name in coding.cut_points
    uncut = states[len(coding.cut_points[name]) + 1 :] if cut else states
    own = name in vocabulary.own_missing
    return cut, uncut, own, vocabulary.groups.get(name), vocabulary.quantities.get(name)
