"""Conditional tables in which every row is shrunk to the same row with one parent fewer.

    θ_d(k | j) = (n_jk + m_dj θ_{d-1}(k | j')) / (n_j + m_dj),  m_dj = m_d T_j^γ,  θ_{-1} = 1 / r

Here j is a joint state of the first d parents, j' is the same without the last of them, r is the number of states of
the variable, and T_j is how many of them occur with j (1 if none does). Parents are ordered by their information: the
class first, then the others by conditional mutual information with the variable, given the class. Every variable has
its own strengths m_0, m_1, ...; those of the same depth are similar
(:func:`~anbexact.models.parameters.strengths.best_strengths`). The exponent γ is the same for all. With γ = 0, all
joint states of the first d parents have the same strength; with γ = 1, a joint state with several states of the
variable is shrunk more than one that seems to determine it, as in the smoothing of Witten and Bell.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from scipy.special import xlogy

from anbexact._runtime.arrays import Floats
from anbexact.models.parameters.counts import FamilyCounts
from anbexact.models.parameters.tables import ConditionalTable, Tables

MOST_STATES = 10_000
"""Number of joint states up to which all are counted; if there are more, only those that occur."""


@dataclass(frozen=True)
class Strengths:
    """How strongly the rows of hierarchical tables are shrunk.

    Attributes
    ----------
    of_variables : mapping
        m_0, m_1, ... of every variable, in units of rows, above 0: one for each number of parents from 0 to its own.
    exponent : float
        γ, by which m grows with the number of states that occur.
    """

    of_variables: Mapping[Hashable, tuple[float, ...]] = field(default_factory=dict)
    exponent: float = 0.0

    def of_parents(self, parents: Mapping[Hashable, Sequence[Hashable]]) -> Strengths:
        """Return the strengths for other parents of the variables; without any strengths, return none.

        A variable that gets more parents takes the geometric means of the strengths of others with as many, and
        beyond the most parents of any, of those with the most.
        """
        by_depth: dict[int, list[float]] = {}
        for own in self.of_variables.values():
            for depth, strength in enumerate(own):
                by_depth.setdefault(depth, []).append(strength)
        means = [float(np.exp(np.mean(np.log(by_depth[depth])))) for depth in sorted(by_depth)]
        if not means:
            return self
        of_variables = {}
        for name, those in parents.items():
            known, depths = self.of_variables.get(name, ()), range(len(those) + 1)
            of_variables[name] = tuple(known[d] if d < len(known) else means[min(d, len(means) - 1)] for d in depths)
        return Strengths(of_variables, self.exponent)


def ordered_parents(family: FamilyCounts, class_name: Hashable) -> tuple[Hashable, ...]:
    """Return the parents of a family: the class first, then by I(variable; parent | class), the largest first.

    If the class is not among the parents, by mutual information. Ties keep the order of ``family.parents``.
    """
    others = [name for name in family.parents if name != class_name]
    given = [class_name] if class_name in family.parents else []
    codes = dict(zip(family.variables, np.unravel_index(family.cells, family.shape), strict=True))
    arities = dict(zip(family.variables, family.shape, strict=True))

    def concentration(names: Sequence[Hashable]) -> float:
        """Return Σ w ln w over the joint states of some variables of the family, of weights w."""
        flat = np.zeros(len(family.cells), dtype=np.int64)
        for name in names:
            flat = flat * arities[name] + codes[name]
        n_states = prod(arities[name] for name in names)
        if n_states > MOST_STATES:
            flat, n_states = np.unique(flat, return_inverse=True)[1].reshape(-1), 0
        weights = np.bincount(flat, family.weights, n_states)
        return float(xlogy(weights, weights).sum())

    alone = concentration(given) - concentration([family.name, *given])
    total = family.weights.sum()

    def information(parent: Hashable) -> float:
        """Return the information per unit of weight, rounded so that rounding errors do not decide between ties."""
        together = concentration([family.name, parent, *given]) - concentration([parent, *given])
        return round(float((alone + together) / total), 12) if total else 0.0

    known = {parent: information(parent) for parent in others}
    return (*given, *sorted(others, key=lambda parent: -known[parent]))


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
    strengths : Strengths
        Those of all variables.

    Returns
    -------
    dict
        A table for every variable, in the order of ``counts``.

    References
    ----------
    Petitjean, Buntine, Webb and Zaidi, *Accurate parameter estimation for Bayesian network classifiers using
    hierarchical Dirichlet processes*, Machine Learning 107 (2018), who sample the strengths. Witten and Bell, *The
    zero-frequency problem: estimating the probabilities of novel events in adaptive text compression*, IEEE
    Transactions on Information Theory 37 (1991), method C, has m = T.
    """
    tables = {}
    for name, family in counts.items():
        values = np.full((family.shape[0], *[1] * len(family.parents)), 1.0 / family.shape[0])
        order = ordered_parents(family, class_name)
        for depth in range(len(order) + 1):
            strength = strengths.of_variables[name][depth]
            values = _refined(values, family, order[:depth], strength, strengths.exponent)
        tables[name] = ConditionalTable(name, family.parents, values)
    return tables


def _refined(
    coarser: Floats, family: FamilyCounts, known: Sequence[Hashable], strength: float, exponent: float
) -> Floats:
    """Return the table given some of the parents, shrunk towards the table given one parent fewer.

    The axes of all other parents have length 1. Only the distributions given joint states that occur differ from
    those of the coarser table.
    """
    arities = zip(family.parents, family.shape[1:], strict=True)
    shape = [family.shape[0], *(arity if parent in known else 1 for parent, arity in arities)]
    values = np.broadcast_to(coarser, shape).copy().reshape(shape[0], -1)
    codes = np.unravel_index(family.cells, family.shape)
    varied = [own if arity > 1 else np.zeros_like(own) for own, arity in zip(codes[1:], shape[1:], strict=True)]
    joint = np.ravel_multi_index(varied, shape[1:]) if varied else np.zeros_like(codes[0])
    occurring, place = np.unique(joint, return_inverse=True)
    counted = np.zeros((shape[0], len(occurring)))
    np.add.at(counted, (codes[0], place), family.weights)
    added = strength * (counted > 0).sum(axis=0).astype(np.float64) ** exponent
    values[:, occurring] = (counted + added * values[:, occurring]) / (counted.sum(axis=0) + added)
    return values.reshape(shape)
