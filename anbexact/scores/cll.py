"""Conditional likelihood: scores of whole structures, which are not sums over families."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import log, prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from anbexact._runtime.arrays import Floats
from anbexact.scores.registry import register_score
from anbexact.tables.table import DiscreteTable

Parents = Mapping[Hashable, Sequence[Hashable]]


@register_score("cll", conditional=True)
@dataclass(frozen=True)
class CLL:
    """Conditional log likelihood of the classes given the features, at the maximum likelihood parameters.

    ``Σ_t w_t ln P(c_t | x_t)``, where P is the network with the tables of
    :func:`~anbexact.models.parameters.tables.ml_tables`: relative frequencies, and uniform distributions for joint
    states of the parents that do not occur. Markov equivalent structures score the same. The parameters that maximise
    the likelihood do not maximise the conditional likelihood, so an additional arc can lower the score.

    It is not decomposable, and therefore not a :class:`~anbexact.scores.Score`:
    :func:`~anbexact.search.greedy.hill_climbing.learn_greedy_gbn` can use it; other searches cannot.

    References
    ----------
    Grossman and Domingos, *Learning Bayesian network classifiers by maximizing conditional likelihood*, ICML 2004.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.scores import CLL
    >>> table = DiscreteTable.from_frame(*load_monks(1))
    >>> round(CLL().structure_score(table, dict.fromkeys(table.vocabulary.names, ())), 3)
    -299.44
    """

    name: ClassVar[str] = "CLL"
    ignores_single_states: ClassVar[bool] = True
    conditional: ClassVar[bool] = True

    def price(self, weight_sum: float) -> float:
        """Return the penalty for a free parameter, given the total weight of the rows; in nats."""
        return 0.0

    def structure_score(self, table: DiscreteTable, parents: Parents) -> float:
        """Return the score of a structure; total in nats.

        Parameters
        ----------
        table : DiscreteTable
            A table with a class.
        parents : mapping
            The parents of every variable, the class included.
        """
        total = _log_likelihood(table, parents)
        price = self.price(table.weight_sum)
        return total - price * free_parameters(table, parents) if price else total


@register_score("cmdl", conditional=True)
@dataclass(frozen=True)
class CMDL(CLL):
    """Conditional minimum description length, to be maximised: ``CLL - ½ ln N · Σ_v (r_v - 1) q_v``.

    N is the total weight of the rows (below 1, the second term is 0), r_v the number of states of a variable and q_v
    that of the joint states of its parents; see :class:`CLL`.

    References
    ----------
    Grossman and Domingos, *Learning Bayesian network classifiers by maximizing conditional likelihood*, ICML 2004.
    """

    name: ClassVar[str] = "CMDL"

    def price(self, weight_sum: float) -> float:
        """Return the penalty for a free parameter, given the total weight of the rows; in nats."""
        return 0.5 * log(max(weight_sum, 1.0))


def free_parameters(table: DiscreteTable, parents: Parents) -> float:
    """Return Σ_v (r_v - 1) q_v."""
    return float(sum((table.vocabulary.arity(v) - 1) * prod(table.shape(of_v)) for v, of_v in parents.items()))


def _log_likelihood(table: DiscreteTable, parents: Parents) -> float:
    """Return Σ_t w_t ln P(c_t | x_t)."""
    class_name = table.vocabulary.class_name
    if class_name is None:
        raise ValueError("the table has no class variable: pass y or class_name= when you make the table")
    class_codes = table.column(class_name).astype(np.int64)
    logs = np.zeros((len(class_codes), table.vocabulary.arity(class_name)))
    for child, child_parents in parents.items():
        if class_name in (child, *child_parents):
            with np.errstate(divide="ignore"):
                logs += np.log(_factor(table, class_codes, child, child_parents))
    own = logs[np.arange(len(class_codes)), class_codes]
    return float(table.weights @ (own - logsumexp(logs, axis=1)))


def _factor(
    table: DiscreteTable, class_codes: npt.NDArray[np.int64], child: Hashable, parents: Sequence[Hashable]
) -> Floats:
    """Return the conditional probability of the child of every row, if its class were another; (rows, classes)."""
    class_name = table.vocabulary.class_name
    n_classes = table.vocabulary.arity(class_name)

    def counts(names: list[Hashable]) -> Floats:
        groups = table.groups(names)
        flat = np.bincount(groups * n_classes + class_codes, table.weights, (int(groups.max()) + 1) * n_classes)
        return np.asarray(flat.reshape(-1, n_classes)[groups], dtype=np.float64)

    given = counts([name for name in parents if name != class_name])
    if child == class_name:
        return np.asarray(given / given.sum(axis=1, keepdims=True), dtype=np.float64)
    joint = counts([name for name in (child, *parents) if name != class_name])
    uniform = np.full_like(joint, 1 / table.vocabulary.arity(child))
    return np.divide(joint, given, out=uniform, where=given > 0)
