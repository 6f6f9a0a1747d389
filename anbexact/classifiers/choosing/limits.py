"""Structures whose conditional tables fit into memory."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from anbexact._runtime.warn import warn
from anbexact.models.parameters.counts import memory_needed
from anbexact.models.structure import Structure
from anbexact.scores.capabilities import largest_shape, set_shape
from anbexact.search.constraints import Edge, most_required_parents
from anbexact.tables.table import DiscreteTable

SHARE_OF_MEMORY = 1 / 16
"""Share of the available memory up to which conditional tables count as affordable: predictions, refits, folds and
files make copies of them."""
TABLE_MEMORY = 1 << 28
"""Maximum bytes of all conditional tables together (256 MB) if those of the best structure are not affordable."""


def affordable_limit(
    table: DiscreteTable, score: object, structure: Structure, required: Iterable[Edge] = ()
) -> int | None:
    """Return a limit on parents with which the tables of a structure would be affordable, with a warning.

    The result is None if the tables are affordable already. ``required`` are arcs that must be kept, even if they
    give a variable more parents than that.
    """
    families = ((name, *parents) for name, parents in structure.parents.items())
    needed = memory_needed(8 * prod(set_shape(score, table, family)) for family in families)
    if needed <= SHARE_OF_MEMORY * available_memory():
        return None
    with_class = all(structure.class_name in structure.parents[name] for name in structure.features)
    # A limit counts feature parents only if the class is a parent of every feature, and otherwise the class, too.
    fewer = max(map(len, structure.parents.values())) - 1 - with_class
    most = max(min(_most_parents(table, score), max(fewer, 0)), most_required_parents(required))
    warn(
        f"the conditional tables of the structure found would take {human_bytes(needed)}, so the structure was "
        f"learned again with max_parents={most}; set max_parents= to choose the limit yourself"
    )
    return most


def _most_parents(table: DiscreteTable, score: object) -> int:
    """Return the number of feature parents that all features can have with tables within ``TABLE_MEMORY``."""
    n_features = len(table.vocabulary.features)
    size = 8 * n_features * table.vocabulary.arity(table.vocabulary.class_name)
    most = 0
    while most < n_features and size * prod(largest_shape(score, table, most + 2)) <= TABLE_MEMORY:
        most += 1
    return most
