"""Conditional tables of a structure, estimated from the counts of its families."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anbexact.counts import FamilyCounts, count_families
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


Tables = dict[Hashable, ConditionalTable]
"""The conditional tables of all variables."""


def eap_tables(counts: Mapping[Hashable, FamilyCounts], ess: float = 1.0) -> Tables:
    """Return the expected a posteriori tables under the BDeu prior.

    ``θ_ijk = (N_ijk + α/(q r)) / (N_ij + α/q)``, with r states of the variable, q joint states of its
    parents and equivalent sample size α. A parent configuration without rows gets the uniform distribution.

    Parameters
    ----------
    counts : mapping
        Weighted counts of every family.
    ess : float, default 1.0
        Equivalent sample size α.

    Returns
    -------
    dict
        A table for every variable, in the order of ``counts``.

    Raises
    ------
    ValueError
        If ``ess`` is not a finite number above 0.

    References
    ----------
    Heckerman, Geiger and Chickering, Machine Learning 20 (1995); Sugahara and Ueno, section 2.
    """
    ess = BDeu(ess).ess
    tables = {}
    for name, family in counts.items():
        values = family.dense()
        values += ess / values.size
        values /= values.sum(axis=0)
        tables[name] = ConditionalTable(name, family.parents, values)
    return tables


def fit_eap(table: DiscreteTable, structure: Structure, ess: float = 1.0) -> Tables:
    """Return the tables of a structure: :func:`eap_tables` of :func:`count_families`."""
    return eap_tables(count_families(table, structure), ess)
