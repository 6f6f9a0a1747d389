"""Conditional tables given by decision trees: joint states of the parents in one leaf share their distribution.

A node of the tree is a box: a set of states of every parent, the class among them. It is split by one parent, either
between two states that follow each other in the order of the states (intervals, where a column was cut), or into one
state and all others. The tree of a family has the highest score

    Σ_leaves [ln Γ(r/2) / Γ(r/2 + n) + Σ_k ln Γ(1/2 + n_k) / Γ(1/2)] - λ Σ_nodes ln s',

where n_k is the weight of the leaf's rows with state k of r, and n their sum: the log marginal likelihood of the rows
of a leaf is BDeu's, with an equivalent sample size of r / 2 in every leaf (Jeffreys' prior). In the prior of the
tree, s' = 2 s for a node that is split, s being the number of splits it could have, and 2 for a leaf that could be
split (1 otherwise): a node is split or not with equal probability, and all splits are equally probable. λ is the
weight of this prior. If the parents have at most `MOST_STATES_SEARCHED` states altogether, the tree is optimal;
otherwise it is grown greedily and pruned optimally. The class is a parent like the others, or each class has a tree
of its own.

The distribution of a node is shrunk to that of the node above:

    θ_v(k) = (n_vk + m_v θ_above(k)) / (n_v + m_v),  m_v = m T_v^γ,  θ_above = 1 / r at the root

with the number T_v of states of the variable that occur in the node (at least 1), and one strength m for nodes that
were made by a split of the classes, another for all other nodes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._kernels.table_trees import best_splits, grown_tree, leaves_of_all, pruned_tree, shrunk_distributions
from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.cached import cached_property
from anbexact._runtime.json_checks import flag, number
from anbexact.models.parameters.counts import FamilyCounts
from anbexact.models.parameters.tables import ConditionalTable, Tables, check_probabilities

MOST_STATES_SEARCHED, MOST_COUNTS = 14, 2_000_000
"""Largest sum of the parents' numbers of states for which the tree is optimal: there are 2 to this power boxes. And
the largest product of this power and the number of states of the variable."""
NONE_CHOSEN = np.empty((0, 3), dtype=np.int16)
"""In place of the splits of an optimal tree: splits are chosen greedily."""


@dataclass(frozen=True)
class TreeSettings:
    """How the trees of tables are grown, and how their distributions are shrunk; the same for all variables.

    Attributes
    ----------
    class_first : bool
        Whether each class has a tree of its own; otherwise the class is a parent like the others.
    prior : float
        λ, the weight of the prior of the trees, 0 or more: with larger values, trees have fewer leaves.
    strength, class_strength : float
        m, in units of rows, above 0: ``class_strength`` for nodes that a split of the classes made, ``strength`` for
        all others.
    exponent : float
        γ, by which m grows with the number of states that occur, 0 or more.
    """

    class_first: bool = True
    prior: float = 0.5
    strength: float = 4.0
    class_strength: float = 4.0
    exponent: float = 1.0

    def of_parents(self, parents: Mapping[Hashable, Sequence[Hashable]]) -> TreeSettings:
        """Return the settings for other parents of the variables: the same."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return dict(vars(self))

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> TreeSettings:
        """Return the settings that :meth:`to_dict` described.

        Raises
        ------
        ValueError
            For a number out of range.
        """
        return cls(
            flag(described["class_first"]),
            number(described["prior"], least=0.0),
            number(described["strength"], above=0.0),
            number(described["class_strength"], above=0.0),
            number(described["exponent"], least=0.0),
        )


@dataclass(frozen=True, eq=False)
class TableTree:
    """The tree of a family.

    Attributes
    ----------
    arities : (1 + parents,) int64 array
        Numbers of states of the variable and of its parents.
    of_class : int
        Which of these is the class; -1 if none is.
    nodes : (nodes, 5) int64 array
        The tree; see :mod:`anbexact._kernels.table_trees`.
    counts : (nodes, states) float64 array
        The weight of the rows of every node, by state of the variable.
    """

    arities: Positions
    of_class: int
    nodes: Positions
    counts: Floats

    def distributions(self, settings: TreeSettings) -> Floats:
        """Return the distribution of the variable in every node (nodes, states)."""
        strengths = np.array([settings.class_strength, settings.strength])
        found: Floats = shrunk_distributions(
            self.nodes, self.counts, self.arities, self.of_class, strengths, settings.exponent
        )
        return found


class TreeTable(ConditionalTable):
    """P(variable | parents) by a tree. Its values, which can be many, are computed when they are first needed.

    Attributes
    ----------
    name, parents, values
        See :class:`~anbexact.models.parameters.tables.ConditionalTable`.
    nodes : (nodes, 5) int64 array
        The tree; see :mod:`anbexact._kernels.table_trees`.
    distributions : (nodes, states) float64 array
        The distribution of the variable in every node.
    """

    nodes: Positions
    distributions: Floats
    _shape: tuple[int, ...]

    def __init__(self, family: FamilyCounts, tree: TableTree, settings: TreeSettings) -> None:
        own = {"name": family.name, "parents": family.parents, "_shape": family.shape, "nodes": tree.nodes}
        vars(self).update(own, distributions=tree.distributions(settings))  # the class is frozen

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without ``values``: files do not depend on what was computed before."""
        return {name: value for name, value in vars(self).items() if name != "values"}

    def __repr__(self) -> str:
        return f"TreeTable(name={self.name!r}, parents={self.parents!r}, shape={self.shape})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of ``values``, which need not be computed for it."""
        return self._shape

    @cached_property
    def values(self) -> Floats:
        """The probabilities of all joint states."""
        leaves = leaves_of_all(self.nodes, np.array(self.shape, dtype=np.int64))
        of_leaves: Floats = np.ascontiguousarray(self.distributions.T).take(leaves, axis=1)
        return of_leaves.reshape(self.shape)

    def check(self) -> None:
        """Refuse distributions that are not probabilities."""
        check_probabilities(self.name, self.distributions.T)


class GrowingTrees:
    """The trees of a family for several settings, which share what does not depend on the prior.

    Parameters
    ----------
    family : FamilyCounts
    class_name : Hashable
    priors : sequence of float
        The values of :attr:`TreeSettings.prior` for which there are trees.
    """

    def __init__(self, family: FamilyCounts, class_name: Hashable, priors: Sequence[float]) -> None:
        self._priors = tuple(priors)
        self._codes = np.stack(np.unravel_index(family.cells, family.shape), axis=1).astype(np.int64)
        self._weights = family.weights
        self._arities = np.array(family.shape, dtype=np.int64)
        self._of_class = family.variables.index(class_name) if class_name in family.variables else -1
        n_states = sum(family.shape[1:])
        few = n_states <= MOST_STATES_SEARCHED and family.shape[0] << n_states <= MOST_COUNTS
        self._small = len(family.parents) > 0 and few
        self._n_joint = len(np.unique(family.cells % prod(family.shape[1:])))
        self._grown: dict[int, Any] = {}
        self._chosen: npt.NDArray[np.int16] | None = None

    def tree(self, class_first: bool, prior: float) -> TableTree:
        """Return the tree for these settings; see :class:`TreeSettings`."""
        of_class = self._of_class
        first = of_class if class_first and of_class > 0 and self._arities[of_class] > 1 else 0
        if self._small:
            if self._chosen is None:
                priors = np.array(self._priors, dtype=np.float64)
                self._chosen = best_splits(self._codes, self._weights, self._arities, priors)
            grown = self._grow(first, self._chosen[self._priors.index(prior)])
        else:
            if first not in self._grown:
                self._grown[first] = self._grow(first, NONE_CHOSEN)
            grown = self._grown[first]
        return TableTree(self._arities, self._of_class, *pruned_tree(*grown, self._arities, prior))

    def _grow(self, first: int, chosen: npt.NDArray[np.int16]) -> Any:
        return grown_tree(self._codes, self._weights, self._arities, self._n_joint, first, chosen)


def columns_of(families: Iterable[Sequence[Hashable]], places: Mapping[Hashable, int]) -> npt.NDArray[np.int64]:
    """Return the places of the variables of families, (families, most variables), as the kernels take them."""
    found = [[places[name] for name in variables] for variables in families]
    columns = np.zeros((len(found), max(map(len, found))), dtype=np.int64)
    for own, of_family in zip(columns, found, strict=True):
        own[: len(of_family)] = of_family
    return columns


def with_every_class(codes: npt.NDArray[np.integer], class_place: int, n_classes: int) -> npt.NDArray[np.int64]:
    """Return every row of codes, (rows, variables), with every class: one row after the other, its classes ascending.

    The codes in the column of the class are replaced.
    """
    found = np.repeat(codes.astype(np.int64), n_classes, axis=0)
    found[:, class_place] = np.tile(np.arange(n_classes), len(codes))
    return found


def tree_tables(counts: Mapping[Hashable, FamilyCounts], class_name: Hashable, settings: TreeSettings) -> Tables:
    """Return the tables; see the module.

    Parameters
    ----------
    counts : mapping
        Weighted counts of every family.
    class_name : Hashable
        The class.
    settings : TreeSettings

    Returns
    -------
    dict
        A table for every variable, in the order of ``counts``.

    References
    ----------
    Boutilier, Friedman, Goldszmidt and Koller, *Context-specific independence in Bayesian networks*, UAI 1996.
    Friedman and Goldszmidt, *Learning Bayesian networks with local structure*, UAI 1996, who grow the trees greedily
    and prune them.
    """
    tables: Tables = {}
    for name, family in counts.items():
        tree = GrowingTrees(family, class_name, (settings.prior,)).tree(settings.class_first, settings.prior)
        tables[name] = TreeTable(family, tree, settings)
    return tables
