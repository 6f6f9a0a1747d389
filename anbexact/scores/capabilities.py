"""Properties of scores that searches ask for in addition to local scores, with defaults for scores that lack them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any, TypeGuard

from anbexact.scores.base import MixedSetScore, SetScore, StructureScore
from anbexact.tables.table import DiscreteTable

SET_METHODS = "cell_parameter", "set_constant", "set_score", "local_upper_bound"
"""What a :class:`SetScore` has. ``isinstance`` looks at every member of the protocol each time, which is slow."""


def has_set_scores(score: Any) -> TypeGuard[SetScore | MixedSetScore]:
    """Whether local scores are differences of scores of sets that searches can use."""
    if not getattr(score, "has_set_score", False):
        return False
    return hasattr(score, "coarsest") or all(hasattr(score, name) for name in SET_METHODS)


def is_mixed(score: Any) -> TypeGuard[MixedSetScore]:
    """Whether a score has set scores that are mixtures over levels of the variables."""
    return has_set_scores(score) and hasattr(score, "coarsest")


def scores_structures(score: Any) -> TypeGuard[StructureScore]:
    """Whether a score applies to whole structures and has no local scores."""
    return bool(getattr(score, "conditional", False))


def default_max_parents(score: Any, weight_sum: float) -> int | None:
    """Return the limit on parents that a score suggests for rows of a total weight; None, the default, for no limit.

    A score that suggests one has a method ``default_max_parents(weight_sum)``.
    """
    suggest = getattr(score, "default_max_parents", None)
    return None if suggest is None else suggest(weight_sum)


def needed_variables(score: Any) -> Collection[Hashable]:
    """Return the variables that stay in a table although they have only one state; by default, there are none.

    A score that needs such variables has an attribute ``needed_variables``.
    """
    names: Collection[Hashable] = getattr(score, "needed_variables", ())
    return names


def set_shape(score: Any, table: DiscreteTable, names: Sequence[Hashable]) -> tuple[int, ...]:
    """Return the numbers of cells of variables in a distribution over exactly these; their states by default.

    A score for which these numbers depend on the set has a method ``set_shape(table, names)``.
    """
    shape = getattr(score, "set_shape", None)
    return tuple(table.shape(names) if shape is None else shape(table, names))


def largest_shape(score: Any, table: DiscreteTable, size: int) -> tuple[int, ...]:
    """Return the largest numbers of cells that features have in sets of a given size, in descending order.

    A score for which these numbers depend on the size has a method ``set_arities(table, size)``.
    """
    features = table.vocabulary.features
    arities = getattr(score, "set_arities", None)
    found = table.shape(features) if arities is None else arities(table, size)
    return tuple(sorted(found, reverse=True)[:size])
