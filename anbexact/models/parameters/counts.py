"""The counts of a structure's families, which are all that scores and parameters need to know about the rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.json_checks import cells_from_dict, cells_to_dict, reading, references
from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from anbexact.models.structure import Structure
from anbexact.tables.table import DiscreteTable, Weights
from anbexact.tables.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class FamilyCounts:
    """Weighted counts of a variable and its parents, for the observed cells only.

    Attributes
    ----------
    name : Hashable
        The variable.
    parents : tuple
        Its parents.
    shape : tuple of int
        Numbers of states: the variable's, then its parents'.
    cells : int64 array
        Observed cells, ascending: positions in the flattened contingency table (last axis fastest).
    weights : float64 array
        Their weights, positive.
    """

    name: Hashable
    parents: tuple[Hashable, ...]
    shape: tuple[int, ...]
    cells: npt.NDArray[np.int64]
    weights: Weights

    @property
    def variables(self) -> tuple[Hashable, ...]:
        """The variable, then its parents: the axes of the contingency table."""
        return (self.name, *self.parents)

    def dense(self) -> npt.NDArray[np.float64]:
        """Return the contingency table, one axis for each variable."""
        counts = np.zeros(prod(self.shape))
        counts[self.cells] = self.weights
        return counts.reshape(self.shape)

    def __add__(self, other: FamilyCounts) -> FamilyCounts:
        """Return the counts of both sets of rows together."""
        cells, inverse = np.unique(np.concatenate([self.cells, other.cells]), return_inverse=True)
        weights = np.bincount(inverse, np.concatenate([self.weights, other.weights]), len(cells))
        return FamilyCounts(self.name, self.parents, self.shape, cells, weights.astype(np.float64, copy=False))

    def table(self, vocabulary: Vocabulary) -> DiscreteTable:
        """Return the counts as a table of the family's variables, for scores."""
        codes = np.stack(np.unravel_index(self.cells, self.shape), axis=1).astype(np.int16)
        states = {name: vocabulary.states[name] for name in self.variables}
        class_name = vocabulary.class_name if vocabulary.class_name in states else None
        return DiscreteTable(Vocabulary(states, class_name), np.asfortranarray(codes), self.weights, len(self.cells))

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form, in which variables are numbers, those that they have in ``positions``."""
        return {
            "variables": [positions[name] for name in self.variables],
            **cells_to_dict(self.cells, self.weights),
        }

    @classmethod
    def from_dict(
        cls, described: Mapping[str, Any], names: Sequence[Hashable], arity: Callable[[Hashable], int]
    ) -> FamilyCounts:
        """Return the counts that :meth:`to_dict` described; ``names[k]`` is the variable with number k.

        Raises
        ------
        ValueError
            If the counts do not fit the numbers of states, which ``arity`` returns for every variable.
        """
        name, *parents = (names[j] for j in references(described["variables"], len(names)))
        shape = tuple(arity(variable) for variable in (name, *parents))
        with reading(f"{name!r}"):
            return cls(name, tuple(parents), shape, *cells_from_dict(described, prod(shape)))


Counts = dict[Hashable, FamilyCounts]
"""The counts of all families, by variable."""


def table_bytes(table: DiscreteTable, structure: Structure) -> dict[Hashable, int]:
    """Return the size of every variable's conditional table, 8 bytes a cell."""
    return {name: 8 * prod(table.shape([name, *parents])) for name, parents in structure.parents.items()}


def memory_needed(sizes: Iterable[int]) -> int:
    """Return the bytes that conditional tables of these sizes take: the tables, their logarithms, and one in use."""
    listed = list(sizes)
    return 2 * sum(listed) + max(listed, default=0)


def check_tables_fit(sizes: Mapping[Hashable, int], structure: Structure, advice: str) -> None:
    """Refuse conditional tables of these sizes in bytes if memory is too small; ``advice`` ends the message."""
    needed = memory_needed(sizes.values())
    if needed > available_memory():
        largest = max(sizes, key=sizes.__getitem__)
        parents = structure.parents[largest]
        raise ValueError(
            f"the conditional tables would take {human_bytes(needed)}; the largest is that of {largest!r} given its "
            f"{len(parents)} parents {list(parents)}: {advice}"
        )


def check_memory(n_cells: int) -> None:
    """Refuse tables of more cells than fit into memory."""
    if 8 * n_cells > available_memory():
        raise ValueError(
            f"the tables need {human_bytes(8 * n_cells)}, but only {human_bytes(available_memory())} is available"
        )


def count_families(table: DiscreteTable, structure: Structure) -> Counts:
    """Return the counts of every variable with its parents, in the order of ``structure.parents``.

    Raises
    ------
    ValueError
        If the conditional tables of the structure would not fit into memory.
    """
    advice = "group states, or limit the parents with max_parents= (kDB, CkG: k=) where the search has it"
    check_tables_fit(table_bytes(table, structure), structure, advice)
    table.foresee([name, *parents] for name, parents in structure.parents.items())
    return {
        name: FamilyCounts(name, parents, table.shape([name, *parents]), *table.observed_cells([name, *parents]))
        for name, parents in structure.parents.items()
    }
