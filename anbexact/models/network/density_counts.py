"""The levels of every family by a universal measure, and the counts at them."""

from __future__ import annotations

from collections.abc import Hashable
from math import prod

from anbexact.models.network.cells import Levels
from anbexact.models.parameters.counts import Counts, FamilyCounts, check_tables_fit
from anbexact.models.structure import Structure
from anbexact.scores import Universal
from anbexact.tables.table import DiscreteTable

MOST_STEPS = 2 * 10**9
"""Maximum number of tuples of levels times cells for the density of a family; it then takes some seconds."""


def family_levels(table: DiscreteTable, structure: Structure, score: Universal) -> dict[Hashable, Levels]:
    """Return the finest levels in the measure of every variable with its parents."""
    return {name: score.levels_of((name, *parents), table.weight_sum) for name, parents in structure.parents.items()}


def density_bytes(table: DiscreteTable, structure: Structure, score: Universal) -> dict[Hashable, int]:
    """Return the size of the density of every variable, 8 bytes a cell."""
    return {name: 8 * prod(score.set_shape(table, (name, *parents))) for name, parents in structure.parents.items()}


def count_at_levels(table: DiscreteTable, structure: Structure, score: Universal) -> Counts:
    """Return the counts of every variable with its parents, at the levels of :func:`family_levels`.

    Raises
    ------
    ValueError
        If the densities of the structure would not fit into memory, or take too long.
    """
    sizes = density_bytes(table, structure, score)
    advice = (
        "give the universal measure fewer levels=, group the states of discrete variables, or limit the "
        "parents with max_parents= where the search has it"
    )
    check_tables_fit(sizes, structure, advice)
    for name, levels in family_levels(table, structure, score).items():
        if prod(levels) * sizes[name] > 8 * MOST_STEPS:
            raise ValueError(
                f"{name!r} and its {len(structure.parents[name])} parents have {prod(levels):,} tuples of levels, "
                f"each spread over {sizes[name] // 8:,} cells; their product may be at most {MOST_STEPS:,}: {advice}"
            )
    counts = {}
    for name, levels in family_levels(table, structure, score).items():
        parents = structure.parents[name]
        views = tuple(zip((name, *parents), levels, strict=True))
        expanded = score.at_levels(table, views)
        counts[name] = FamilyCounts(name, parents, expanded.shape(views), *expanded.observed_cells(views))
    return counts
