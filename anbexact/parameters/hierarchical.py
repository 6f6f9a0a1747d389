"""Conditional tables in which every row is shrunk to the same row with one parent fewer.

    θ_d(k | j) = (n_jk + m_d θ_{d-1}(k | j')) / (n_j + m_d),  θ_{-1} = 1 / r

Here j is a joint state of the first d parents, j' is the same without the last of them, and r is the number of
states. Parents are ordered by their information: the class first, then the others by conditional mutual information
with the variable, given the class. The strengths m_0, m_1, ... are shared by all families. They maximise the fit of
predicting rows from the other rows, minus a penalty (:func:`best_strengths`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import log

import numpy as np
from scipy.special import logsumexp, xlogy

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.line_search import best_on_log_scale
from anbexact.parameters.counts import FamilyCounts, count_families
from anbexact.parameters.tables import ConditionalTable, Tables
from anbexact.structures.structure import Structure
from anbexact.tables.table import DiscreteTable

Strengths = tuple[float, ...]
"""m_0, m_1, ..., by the number of parents."""
LEAST, MOST = 0.05, 2_000.0
"""Strengths that are tried."""
SWEEPS = 2
"""Number of passes in which every strength is chosen in turn while the others are fixed."""
CENTRE, SPREAD = 5.0, 1.5
"""Prior of every strength: ln m is normal around ln 5 with this standard deviation. The structure was fitted to the
rows that are left out, too, so that leaving out alone would choose too weak a shrinkage."""
MOST_CELLS = 4_000_000
"""Rows times classes times parents up to which all rows are predicted; beyond, some rows at even distances are."""


def ordered_parents(family: FamilyCounts, class_name: Hashable) -> tuple[Hashable, ...]:
    """Return the parents of a family: the class first, then by I(variable; parent | class), the largest first.

    Without the class in the family, by mutual information. Ties stay in their order.
    """
    others = [name for name in family.parents if name != class_name]
    given = [class_name] if class_name in family.parents else []
    codes = dict(zip(family.variables, np.unravel_index(family.cells, family.shape), strict=True))
    arities = dict(zip(family.variables, family.shape, strict=True))

    def entropy(names: Sequence[Hashable]) -> float:
        """Return the entropy of some variables of the family, times the weight of the rows."""
        flat = np.zeros(len(family.cells), dtype=np.int64)
        for name in names:
            flat = flat * arities[name] + codes[name]
        weights = np.bincount(np.unique(flat, return_inverse=True)[1].reshape(-1), family.weights)
        return float(xlogy(weights.sum(), weights.sum()) - xlogy(weights, weights).sum())

    def information(parent: Hashable) -> float:
        child, both = family.name, [family.name, parent]
        return (
            entropy([child, *given]) + entropy([parent, *given]) - entropy([*both, *given]) - entropy(given)
        )  # fmt: skip

    told = {parent: round(information(parent), 9) for parent in others}
    return (*given, *sorted(others, key=lambda parent: -told[parent]))


def hierarchical_tables(
    counts: Mapping[Hashable, FamilyCounts], class_name: Hashable, strengths: Strengths
) -> Tables:
    """Return the tables; see the module.

    Parameters
    ----------
    counts : mapping
        Weighted counts of every family.
    class_name : Hashable
        The class.
    strengths : sequence of float
        m_0, m_1, ..., above 0; the last one is used for all further parents.

    Returns
    -------
    dict
        A table for every variable, in the order of ``counts``.

    References
    ----------
    Petitjean, Buntine, Webb and Zaidi, *Accurate parameter estimation for Bayesian network classifiers using
    hierarchical Dirichlet processes*, Machine Learning 107 (2018), who sample the strengths.
    """
    tables = {}
    for name, family in counts.items():
        order = ordered_parents(family, class_name)
        dense = family.dense().transpose([0, *(1 + family.parents.index(parent) for parent in order)])
        values = np.full(dense.shape[0], 1.0 / dense.shape[0])
        for depth in range(len(order) + 1):
            joint = dense.sum(axis=tuple(range(depth + 1, dense.ndim)))
            strength = strengths[min(depth, len(strengths) - 1)]
            coarser = values[..., None] if depth else values
            values = (joint + strength * coarser) / (joint.sum(axis=0) + strength)
        back = [0, *(1 + order.index(parent) for parent in family.parents)]
        tables[name] = ConditionalTable(name, family.parents, np.ascontiguousarray(values.transpose(back)))
    return tables


@dataclass(frozen=True, eq=False)
class _Level:
    """Counts of one depth of a family, for every row and every class that the row might have, the row left out.

    Attributes
    ----------
    joint, given : (rows, classes) float64
        Weights of the states of variable and parents, and of the parents.
    """

    joint: Floats
    given: Floats


class LeaveOneOut:
    """The conditional log likelihood of rows, each predicted by hierarchical tables from the counts of the others.

    Leaving a row out lowers the counts of its own cells by its weight, at most 1, at every depth; the order of the
    parents does not change. Families without the class cancel.

    Parameters
    ----------
    table : DiscreteTable
        The rows.
    structure : Structure
        Over the variables of the table.
    """

    def __init__(self, table: DiscreteTable, structure: Structure) -> None:
        self._class_name = structure.class_name
        self._arity = table.vocabulary.arity(self._class_name)
        counts = count_families(table, structure)
        families = [family for family in counts.values() if self._class_name in family.variables]
        self.n_strengths = max((len(family.parents) for family in families), default=0) + 1
        cells = self._arity * sum(len(family.parents) + 1 for family in families)
        n_rows = len(table.codes)
        most = max(1, min(n_rows, MOST_CELLS // cells))
        rows = np.unique(np.linspace(0, n_rows - 1, most).astype(np.int64))
        self._weights = table.weights[rows]
        self._codes = table.column(self._class_name)[rows].astype(np.int64)
        self._families = [(family.shape[0], self._levels(table, family, rows)) for family in families]

    def _levels(self, table: DiscreteTable, family: FamilyCounts, rows: Positions) -> list[_Level]:
        order = ordered_parents(family, self._class_name)
        return [
            _Level(
                self._left_out(table, [family.name, *order[:depth]], rows),
                self._left_out(table, list(order[:depth]), rows),
            )
            for depth in range(len(order) + 1)
        ]

    def _left_out(self, table: DiscreteTable, names: Sequence[Hashable], rows: Positions) -> Floats:
        """Return the weights of joint states, (rows, classes), the class being each in turn, each row left out."""
        taken = np.minimum(self._weights, 1.0)[:, None]
        others = [name for name in names if name != self._class_name]
        own = table.groups(others) if others else np.zeros(len(table.codes), dtype=np.int64)
        if len(others) == len(names):
            weights = np.bincount(own, table.weights)[own[rows]]
            return np.repeat(weights[:, None] - taken, self._arity, axis=1)
        codes = table.column(self._class_name).astype(np.int64)
        size = (int(own.max()) + 1) * self._arity
        weights = np.bincount(own * self._arity + codes, table.weights, size).reshape(-1, self._arity)
        return np.asarray(weights[own[rows]] - taken * (np.arange(self._arity) == self._codes[:, None]))

    def log_likelihood(self, strengths: Strengths) -> float:
        """Return Σ_t w_t ln P(c_t | x_t); total in nats."""
        joint = np.zeros((len(self._codes), self._arity))
        for arity, levels in self._families:
            values = np.full(joint.shape, 1.0 / arity)
            for level, strength in zip(levels, strengths, strict=False):
                values = (level.joint + strength * values) / (level.given + strength)
            joint += np.log(values)
        of_truth = joint[np.arange(len(self._codes)), self._codes]
        return float(self._weights @ (of_truth - logsumexp(joint, axis=1)))


def best_strengths(table: DiscreteTable, structure: Structure) -> Strengths:
    """Return the strengths with the highest leave-one-out conditional log likelihood minus a penalty.

    The penalty is that of a normal prior of ln m around ln `CENTRE` with standard deviation `SPREAD`. Strengths are
    chosen one after the other, twice.
    """
    left_out = LeaveOneOut(table, structure)
    strengths = [CENTRE] * left_out.n_strengths

    def value(depth: int, strength: float) -> float:
        tried = (*strengths[:depth], strength, *strengths[depth + 1 :])
        penalty = sum((log(one / CENTRE) / SPREAD) ** 2 for one in tried) / 2
        return left_out.log_likelihood(tried) - penalty

    for _ in range(SWEEPS):
        for depth in range(len(strengths)):
            strengths[depth] = best_on_log_scale(partial(value, depth), LEAST, MOST, first_look=7, precision=0.1)
    return tuple(strengths)
