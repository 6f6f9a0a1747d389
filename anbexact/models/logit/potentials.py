"""The tables on which the class posterior of a network depends, as functions whose sum is its log."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anbexact.models.parameters.tables import ConditionalTable, Tables
from anbexact.models.structure import Structure

Floats = npt.NDArray[np.float64]
Shape = Mapping[Hashable, int]
"""The number of states of every variable."""


@dataclass(frozen=True, eq=False)
class Potential:
    """A function of some features and the class.

    Attributes
    ----------
    child : Hashable
        The class or one of its children: the variable from whose conditional table the function comes.
    features : tuple
        The axes of ``logs`` except the last: the child and its parents, without the class.
    logs : (*states of the features, classes) float64
        The values, in nats; for a network, ``ln P(child | parents)``.
    """

    child: Hashable
    features: tuple[Hashable, ...]
    logs: Floats


Potentials = tuple[Potential, ...]
"""The potentials of the class and of all its children: ``ln P(c | x) = Σ potentials + a function of x``."""


def class_families(structure: Structure) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return, for the class and each of its children, the features of the family: the child, then its parents."""
    c = structure.class_name
    families = {c: structure.parents[c]}
    for child in structure.children(c):
        families[child] = (child, *(parent for parent in structure.parents[child] if parent != c))
    return families


def network_potentials(tables: Tables, structure: Structure) -> Potentials:
    """Return the logs of the conditional tables of the class and its children.

    The structure may have more arcs than the tables; a potential does not depend on a parent that its table lacks.

    Raises
    ------
    ValueError
        If one of the tables contains a zero, which has no logarithm; the message says where.
    """
    shape = {name: table.values.shape[0] for name, table in tables.items()}
    return tuple(
        table_potential(tables[name], features, structure.class_name, shape)
        for name, features in class_families(structure).items()
    )


def table_potential(
    table: ConditionalTable, features: tuple[Hashable, ...], class_name: Hashable, shape: Shape
) -> Potential:
    """Return the logs of a conditional table over these features and the class; see :func:`network_potentials`."""
    if not (table.values > 0).all():
        zeros = int((table.values <= 0).sum())
        raise ValueError(
            f"the conditional table of {table.name!r} holds {zeros} zeros out of {table.values.size} probabilities, "
            "but no logistic regression has the probability 0: estimate the tables with parameters='eap'"
        )
    logs = over(np.log(table.values), table.variables, (*features, class_name), shape)
    return Potential(table.name, features, logs)


def potential_tables(potentials: Potentials, structure: Structure) -> Tables:
    """Return the exponentials of potentials as tables of the class and its children, with the axes of the structure.

    They are not probabilities: the entries that differ in the class alone are divided by the largest of them.
    """
    tables = {}
    for potential in potentials:
        own = (*potential.features, structure.class_name)
        wanted = (potential.child, *structure.parents[potential.child])
        values = np.exp(potential.logs - potential.logs.max(axis=-1, keepdims=True))
        ordered = np.ascontiguousarray(values.transpose([own.index(name) for name in wanted]))
        tables[potential.child] = ConditionalTable(potential.child, wanted[1:], ordered)
    return tables


def over(values: Floats, variables: Sequence[Hashable], wanted: Sequence[Hashable], shape: Shape) -> Floats:
    """Return a function of some variables as an array over these and further variables.

    ``variables`` are the axes of ``values``, ``wanted`` the axes of the result, and ``shape`` has the numbers of
    states.
    """
    present = [name for name in wanted if name in variables]
    ordered = values.transpose([variables.index(name) for name in present])
    places = [shape[name] if name in variables else 1 for name in wanted]
    full = np.broadcast_to(ordered.reshape(places), [shape[name] for name in wanted])
    return np.ascontiguousarray(full)
