"""Structures whose conditional tables fit into memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from math import prod

from anbexact._runtime.deadline import Deadline, seconds_left
from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from anbexact._runtime.warn import warn
from anbexact.parameters.counts import memory_needed
from anbexact.scores.capabilities import largest_shape, set_shape
from anbexact.search.constraints import Edge
from anbexact.structures.structure import Structure
from anbexact.tables.table import DiscreteTable

TABLE_MEMORY = 1 << 28
"""Bytes that all conditional tables together may take where those of the structure do not fit into memory."""
Search = Callable[[int | None, float | None], Structure]


def learn_within_memory(
    search: Search,
    table: DiscreteTable,
    score: object,
    max_parents: int | None,
    time_limit: float | None,
    required: Collection[Edge] = (),
) -> Structure:
    """Return what ``search(max_parents, time_limit)`` finds; with fewer parents where its tables are too large.

    Only where ``max_parents`` is None; then the structure is learned again in the time left, with a warning.
    ``required`` are arcs that must be there, however many parents they give a variable.
    """
    deadline = Deadline(time_limit)
    structure = search(max_parents, time_limit)
    families = ((name, *parents) for name, parents in structure.parents.items())
    needed = memory_needed(8 * prod(set_shape(score, table, family)) for family in families)
    if max_parents is not None or needed <= available_memory():
        return structure
    with_class = all(structure.class_name in structure.parents[name] for name in structure.features)
    fewer = max(map(len, structure.parents.values())) - 1 - with_class  # the class counts where it need not be there
    most = max([min(_most_parents(table, score), max(fewer, 0)), *Counter(child for _, child in required).values()])
    warn(
        f"the conditional tables of the structure found would take {human_bytes(needed)}: learned again with "
        f"max_parents={most}; give max_parents= to choose it yourself"
    )
    return search(most, seconds_left(deadline))


def _most_parents(table: DiscreteTable, score: object) -> int:
    """Return how many feature parents every feature may have without the tables outgrowing ``TABLE_MEMORY``."""
    n_features = len(table.vocabulary.features)
    size = 8 * n_features * table.vocabulary.arity(table.vocabulary.class_name)
    most = 0
    while most < n_features and size * prod(largest_shape(score, table, most + 2)) <= TABLE_MEMORY:
        most += 1
    return most
