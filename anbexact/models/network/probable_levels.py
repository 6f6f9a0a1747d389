"""The network in which every family has only its most probable levels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import prod

from anbexact._runtime.arrays import Floats
from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from anbexact.models.network.cells import Axes, Levels
from anbexact.models.network.densities import FamilyDensity
from anbexact.models.parameters.tables import ConditionalTable, Tables


def most_probable_levels(densities: Mapping[Hashable, FamilyDensity]) -> dict[Hashable, int]:
    """Return, for every variable, the finest level that is the most probable one in some family."""
    return finest_levels(densities, {name: density.most_probable for name, density in densities.items()})


def most_probable_tables(densities: Mapping[Hashable, FamilyDensity], axes: Axes) -> Tables:
    """Return the conditional tables of the network in which every family has its most probable levels.

    The states of a variable are its cells at the level of :func:`most_probable_levels`; a family whose own level is
    coarser divides the probability of a cell in proportion to the reference measure.

    Raises
    ------
    ValueError
        If the tables would not fit into memory.
    """
    found = {name: (density.most_probable, density.most_probable_values) for name, density in densities.items()}
    return _tables(densities, found, axes)


def cell_tables(densities: Mapping[Hashable, FamilyDensity], axes: Axes) -> Tables:
    """Return conditional tables of the cells on which the densities of all families are constant.

    The states of a variable are its cells at the finest of its levels in any family.

    Raises
    ------
    ValueError
        If the tables would not fit into memory.
    """
    found = {name: (density.levels, density.values) for name, density in densities.items()}
    return _tables(densities, found, axes)


def _tables(
    densities: Mapping[Hashable, FamilyDensity], found: Mapping[Hashable, tuple[Levels, Floats]], axes: Axes
) -> Tables:
    """Return densities at some levels, one for each family, as tables on the finest level of every variable."""
    finest = finest_levels(densities, {name: levels for name, (levels, _) in found.items()})
    sizes = [8 * prod(axes.shape(d.variables, [finest[v] for v in d.variables])) for d in densities.values()]
    needed = sum(sizes) + 2 * max(sizes)
    if needed > available_memory():
        raise ValueError(
            f"the tables of a network in which every variable has its finest cells would take {human_bytes(needed)}: "
            "limit the parents by max_parents=, or the levels by UniversalMeasure(levels=...)"
        )
    tables = {}
    for name, density in densities.items():
        levels = tuple(finest[v] for v in density.variables)
        values = axes.refine(found[name][1], density.variables, found[name][0], levels)
        values = axes.times_masses(values, density.variables[:1], levels[:1])
        tables[name] = ConditionalTable(name, density.parents, values / values.sum(axis=0))
    return tables


def finest_levels(
    densities: Mapping[Hashable, FamilyDensity], levels: Mapping[Hashable, Levels]
) -> dict[Hashable, int]:
    """Return the finest level of every variable over the families."""
    finest: dict[Hashable, int] = {}
    for name, density in densities.items():
        for variable, level in zip(density.variables, levels[name], strict=True):
            finest[variable] = max(finest.get(variable, 1), level)
    return finest
