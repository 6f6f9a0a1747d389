"""How much to smooth conditional tables: chosen by predicting every row from the others."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from anbexact.line_search import best_on_log_scale
from anbexact.structure import Structure
from anbexact.table import DiscreteTable

LEAST = 0.1
"""Smallest equivalent sample size that is tried; the largest is the total weight, or 100."""
BLOCK_CELLS = 1 << 22
"""Rows times classes that are worked on at a time."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Family:
    """Counts of a family that the class is part of, by joint state of its other variables and by class.

    ``state`` is the joint state of every row, ``cells[u, c]`` the weight of joint state u with class c, and, where
    the class is a parent, ``given[g, c]`` that of the parents' states alone, g = ``parents[u]``.
    """

    state: npt.NDArray[np.int64]
    cells: Floats
    size: int
    given: Floats | None = None
    parents: npt.NDArray[np.int64] | None = None
    arity: int = 0

    def logs(self, ess: float) -> tuple[Floats, Floats]:
        """Return ln θ for every cell, and what it is for a row of that cell once the row is taken out."""
        prior = ess / self.size
        one = np.minimum(self.cells, 1.0)
        logs = np.log(self.cells + prior)
        lowered = np.log(self.cells - one + prior)
        if self.given is not None and self.parents is not None:
            logs -= np.log(self.given + prior * self.arity)[self.parents]
            lowered -= np.log(self.given[self.parents] - one + prior * self.arity)
        return logs, lowered


class LeaveOneOut:
    """The conditional log likelihood of a structure's EAP tables, every row predicted by the counts of the others.

    Taking a row (x, c) out lowers by 1 the counts of its own cells, so that nothing has to be fitted again. With
    ``P₋(c, x)`` from these lowered counts and ``P(c', x)`` from the others, a row adds
    ``ln P₋(c, x) - ln [P₋(c, x) + Σ_{c' ≠ c} P(c', x)]``; families without the class cancel. Where a cell weighs less
    than 1, all of it is taken out.

    Parameters
    ----------
    table : DiscreteTable
        The rows.
    structure : Structure
        Over the variables of the table.
    """

    def __init__(self, table: DiscreteTable, structure: Structure) -> None:
        self._table = table
        self._class = structure.class_name
        self._of_class = table.column(self._class).astype(np.int64)
        self._families = [
            self._family(name, of_name)
            for name, of_name in structure.parents.items()
            if self._class in (name, *of_name)
        ]

    def _counts(self, names: list[Hashable]) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return the joint state of every row, and the weights by joint state and class."""
        state = self._table.groups(names)
        n_classes = self._table.vocabulary.arity(self._class)
        n_states = int(state.max()) + 1
        flat = np.bincount(state * n_classes + self._of_class, self._table.weights, n_states * n_classes)
        return state, flat.astype(np.float64, copy=False).reshape(n_states, n_classes)

    def _family(self, name: Hashable, parents: tuple[Hashable, ...]) -> _Family:
        size = int(np.prod(self._table.shape([name, *parents]), dtype=object))
        state, cells = self._counts([other for other in (name, *parents) if other != self._class])
        if name == self._class:
            return _Family(state, cells, size)
        of_row, given = self._counts([other for other in parents if other != self._class])
        of_state = np.empty(len(cells), dtype=np.int64)
        of_state[state] = of_row
        return _Family(state, cells, size, given, of_state, self._table.vocabulary.arity(name))

    def log_likelihood(self, ess: float) -> float:
        """Return the conditional log likelihood for tables of this equivalent sample size; total in nats."""
        logs = [family.logs(ess) for family in self._families]
        n_rows, n_classes = len(self._of_class), self._table.vocabulary.arity(self._class)
        step = max(1, BLOCK_CELLS // n_classes)
        total = 0.0
        for first in range(0, n_rows, step):
            block = slice(first, first + step)
            of_class = self._of_class[block]
            joint = np.zeros((len(of_class), n_classes))
            own = np.zeros(len(of_class))
            for family, (of_cells, lowered) in zip(self._families, logs, strict=True):
                joint += of_cells[family.state[block]]
                own += lowered[family.state[block], of_class]
            joint[np.arange(len(own)), of_class] = own
            total += float(self._table.weights[block] @ (own - logsumexp(joint, axis=1)))
        return total


def best_smoothing(table: DiscreteTable, structure: Structure) -> float:
    """Return the equivalent sample size of the EAP tables with the highest leave-one-out conditional log likelihood.

    Searched on a logarithmic scale from 0.1 to the total weight (100 at least); 1 where it makes no difference.
    The structure stays as it is. About 14 values are tried, each at the cost of predicting all training rows.
    """
    left_out = LeaveOneOut(table, structure)
    most = max(100.0, table.weight_sum)
    return best_on_log_scale(left_out.log_likelihood, LEAST, most, first_look=8, precision=0.05)
