"""Conditional tables of a structure, estimated from the counts of a table."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anbexact.limits import available_memory, human_bytes
from anbexact.scores import BDeu
from anbexact.structure import Structure
from anbexact.table import DiscreteTable


@dataclass(frozen=True, eq=False)
class ConditionalTable:
    """P(variable | parents).

    Attributes
    ----------
    name : Hashable
        The variable.
    parents : tuple
        Its parents, in the order of the axes.
    values : float64 array
        ``values[k, j1, j2, ...]`` is the probability of state k given the parents' states j1, j2, ...;
        sums to 1 over the first axis.
    """

    name: Hashable
    parents: tuple[Hashable, ...]
    values: npt.NDArray[np.float64]

    @property
    def variables(self) -> tuple[Hashable, ...]:
        """The variable, then its parents: the axes of ``values``."""
        return (self.name, *self.parents)


def fit_eap(table: DiscreteTable, structure: Structure, ess: float = 1.0) -> dict[Hashable, ConditionalTable]:
    """Return the expected a posteriori tables under the BDeu prior.

    ``θ_ijk = (N_ijk + α/(q r)) / (N_ij + α/q)``, with r states of the variable, q joint states of its
    parents and equivalent sample size α. A parent configuration without rows gets the uniform distribution.

    Parameters
    ----------
    table : DiscreteTable
        Weighted counts.
    structure : Structure
        Over the variables of the table.
    ess : float, default 1.0
        Equivalent sample size α.

    Returns
    -------
    dict
        A table for every variable, in the order of ``structure.parents``.

    Raises
    ------
    ValueError
        If ``ess`` is not a finite number above 0, or a table would not fit into memory.

    References
    ----------
    Heckerman, Geiger and Chickering, Machine Learning 20 (1995); Sugahara and Ueno, section 2.
    """
    ess = BDeu(ess).ess
    tables = {}
    for name, parents in structure.parents.items():
        shape = table.shape([name, *parents])
        size = float(np.prod(np.array(shape, dtype=np.float64))) * 8
        if 3 * size > available_memory():
            raise ValueError(
                f"the conditional table of {name!r} given its {len(parents)} parents {list(parents)} would take "
                f"{human_bytes(size)}: limit the feature parents with max_parents="
            )
        counts = table.counts([name, *parents])
        prior = ess / counts.size
        counts += prior
        counts /= counts.sum(axis=0)
        tables[name] = ConditionalTable(name, parents, counts)
    return tables
