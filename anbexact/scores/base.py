"""The interface between searches and scores, and the common base of scores of families."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats
from anbexact.tables.partitions import NestedPartition
from anbexact.tables.table import DiscreteTable

View = tuple[Hashable, int]
"""A variable at one of its levels; a variable without partition has one level."""


@runtime_checkable
class Score(Protocol):
    """A decomposable score: the score of a structure is the sum of its local scores.

    A score that applies only to families in which the class is a parent declares this by setting the attribute
    ``needs_class`` to True.

    By setting the attribute ``ignores_single_states`` to True, a score declares that a variable with one state scores
    0 with any parents and, as a parent, does not change the score of other variables. All scores of this package do
    so. Searches then leave out such variables; with other scores they keep them.
    """

    @property
    def name(self) -> str:
        """Short name, as in the literature."""

    @property
    def score_equivalent(self) -> bool:
        """Whether Markov equivalent structures always score the same."""

    @property
    def has_set_score(self) -> bool:
        """Whether ``local(i | S) = F(S ∪ {i}) - F(S)`` for a function F of sets (see :class:`SetScore`)."""

    def local_score(self, table: DiscreteTable, child: Hashable, parents: Sequence[Hashable]) -> float:
        """Return the local score of ``child`` given its parents; total in nats."""


@runtime_checkable
class SetScore(Score, Protocol):
    """A score with ``F(T) = g(q_T) + Σ over observed cells t of T of f(N_t)``; q_T is the number of joint states.

    ``f(N) = lnΓ(a_T + N) - lnΓ(a_T)`` where the parameter a_T is finite, ``f(N) = N ln N`` where it is infinite.
    """

    def cell_parameter(self, n_configurations: npt.NDArray[Any]) -> Floats:
        """Return a_T for sets with these numbers of joint states q_T."""

    def set_constant(self, n_configurations: npt.NDArray[Any], weight_sum: float) -> Floats:
        """Return g for sets with these numbers of joint states q_T, over rows of this total weight; in nats."""

    def set_score(self, table: DiscreteTable, names: Sequence[Hashable]) -> float:
        """Return F of the named variables; total in nats."""

    def local_upper_bound(self, table: DiscreteTable, child: Hashable) -> float:
        """Return a bound on the local score of a feature over all parent sets with the class; in nats."""


@runtime_checkable
class MixedSetScore(Score, Protocol):
    """A score whose F is a mixture over levels of the variables, such as :class:`~anbexact.scores.Universal`.

    ``F(T) = ln mean_k exp(F_k(T) - Σ_v ln η)`` over the tuples k of levels, where F_k is the set score by ``base`` of
    the variables at these levels, and ln η is the log of their reference measures over all rows.
    """

    @property
    def base(self) -> SetScore:
        """The score of one tuple of levels."""

    @property
    def partitions(self) -> Mapping[Hashable, NestedPartition]:
        """The partitions of the variables that have levels."""

    def n_levels(self, name: Hashable) -> int:
        """Return the total number of levels of a variable."""

    def most_levels(self, n_continuous: int, weight_sum: float) -> int:
        """Return the maximum number of levels of a variable in sets with this number of variables with levels."""

    def at_levels(self, table: DiscreteTable, views: Sequence[View]) -> DiscreteTable:
        """Return a table, without class, of variables at some of their levels; its names are the views."""

    def coarsest(self, table: DiscreteTable) -> DiscreteTable:
        """Return the table with all variables at level 1, equal rows collapsed."""

    def log_measure(self, table: DiscreteTable, view: View) -> float:
        """Return Σ_n ln η over the cells of all rows; nats, total."""

    def set_score(self, table: DiscreteTable, names: Sequence[Hashable]) -> float:
        """Return F of the named variables; total in nats."""

    def local_upper_bound(self, table: DiscreteTable, child: Hashable) -> float:
        """Return a bound on the local score of a feature over all parent sets with the class; in nats."""


@runtime_checkable
class StructureScore(Protocol):
    """A score of whole structures, such as :class:`~anbexact.scores.CLL`, which is not a sum of local scores.

    It declares this by setting the attribute ``conditional`` to True.
    """

    @property
    def name(self) -> str:
        """Short name, as in the literature."""

    def price(self, weight_sum: float) -> float:
        """Return the penalty for a free parameter, given the total weight of the rows; in nats."""

    def structure_score(self, table: DiscreteTable, parents: Mapping[Hashable, Sequence[Hashable]]) -> float:
        """Return the score of a structure; total in nats."""


@runtime_checkable
class BoundedScore(Score, Protocol):
    """A score of cells that can tell when no further parent can improve a family.

    ``local = Σ_jk f(N_jk; b) - Σ_j f(N_j; a) - penalty``, over the states k of the child and the joint states j of
    its parents, with ``f(N; a) = lnΓ(a + N) - lnΓ(a)``, or ``N ln N`` for an infinite a. Where a and b are finite,
    they are those of a Dirichlet prior, ``a = r b``, and do not grow as parents are added; where they are infinite,
    the penalty does not fall as parents are added.
    """

    @property
    def proportional_penalty(self) -> bool:
        """Whether the penalty is proportional to the number of joint states of the parents."""

    def bounded_at(self, weight_sum: float) -> bool:
        """Whether the properties of the class docstring hold for tables of this total weight."""

    def family_parameters(self, n_configurations: Floats, n_states: int) -> tuple[Floats, Floats]:
        """Return b and a for children with r states, and parents with these numbers of joint states."""

    def family_penalty(self, n_configurations: Floats, n_states: int, weight_sum: float) -> Floats:
        """Return the penalty for children with r states, and parents with these numbers of joint states; in nats."""


class FamilyScore(ABC):
    """A score that is a function of the counts of a family. Subclasses define it for many families at once."""

    @abstractmethod
    def family_scores(self, counts: Floats, arities: Sequence[int]) -> Floats:
        """Return the local scores of families that agree in their numbers of states.

        Parameters
        ----------
        counts : (families, classes, configurations, states) float64
            Weight of every state of the child, for each class and joint state of its other parents. Joint states that
            do not occur with any class may be left out. The axis of classes has length 1 if the class is not a
            parent.
        arities : sequence of int
            Numbers of states of all parents, including the class if it is a parent.

        Returns
        -------
        (families,) float64
            Nats, total.
        """

    def local_score(self, table: DiscreteTable, child: Hashable, parents: Sequence[Hashable]) -> float:
        """Return the local score of ``child`` given its parents; total in nats."""
        return float(self.family_scores(family_counts(table, child, parents)[None], table.shape(parents))[0])


def family_counts(table: DiscreteTable, child: Hashable, parents: Sequence[Hashable]) -> Floats:
    """Return the counts of a family, shape (classes, observed joint states of the other parents, states)."""
    table = table.part([child, *parents])
    class_name = table.vocabulary.class_name
    others = [name for name in parents if name != class_name]
    n_states = table.vocabulary.arity(child)
    n_classes = table.vocabulary.arity(class_name) if class_name in parents else 1
    configuration = table.groups(others)
    n_configurations = int(configuration.max(initial=-1)) + 1
    flat = configuration * n_states + table.column(child)
    if class_name in parents:
        flat = flat + table.column(class_name) * np.int64(n_configurations * n_states)
    counts = np.bincount(flat, table.weights, n_classes * n_configurations * n_states)
    return counts.astype(np.float64, copy=False).reshape(n_classes, n_configurations, n_states)
