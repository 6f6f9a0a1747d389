"""BDe: Bayesian Dirichlet score whose prior counts are those of a prior network."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.scores.bdeu import BDeu
from anbexact.scores.registry import register_score
from anbexact.scores.rising import log_rising
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray, Vocabulary


@runtime_checkable
class PriorNetwork(Protocol):
    """A joint distribution of discrete variables, such as :class:`~anbexact.models.TableNetwork`."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The variables and their states."""

    def log_probability(self, names: Sequence[Hashable], codes: CodeArray) -> Floats:
        """Return ln P of joint states, a column of codes each, of some variables; nats, shape (joint states,)."""


@register_score()
@dataclass(frozen=True)
class BDe:
    r"""Log marginal likelihood under Dirichlet priors whose counts a prior network expects.

    The prior network states, before the data are seen, how the variables are distributed; the equivalent sample size
    α says how many rows that knowledge is worth. A cell of a child's state k and the parents' joint state j has the
    prior count α P(k, j), and

        local = Σ_j [lnΓ(α P(j)) - lnΓ(α P(j) + N_j)] + Σ_jk [lnΓ(α P(k, j) + N_jk) - lnΓ(α P(k, j))],

    with the marginal distributions P of the prior network, which are computed exactly by a junction tree. If P is
    uniform, the score is :class:`BDeu`. The prior network does not restrict the structures that are sought; a network
    without arcs states only how frequent the states are. Total over the data, in nats.

    As ``local = F(parents ∪ child) - F(parents)`` with ``F(T) = Σ_t [lnΓ(α P(t) + N_t) - lnΓ(α P(t))]``, the score is
    score equivalent. But cells have different prior counts, so the kernels of set scores, which assume that all cells
    of a set have the same, do not apply, and neither do the bounds of BDeu. Searches score every family by itself:
    trees, k-graphs and greedy searches of any size, and exact searches of up to 16 features, or of more with
    ``max_parents``.

    The conditional tables of a classifier do not follow this prior: they are estimated by its own ``parameters``. A
    saved classifier contains the prior network.

    Parameters
    ----------
    prior_network : TableNetwork, optional
        A network with at least the variables of the table, and the same states; other variables are summed out. All
        of its probabilities must be positive. It can be the ``model_`` of a fitted classifier, or that of
        :func:`~anbexact.adapters.from_pgmpy`, which reads a network of pgmpy with any of its nodes as the class. By
        default, all joint states are equally probable.
    ess : float, default 1.0
        Equivalent sample size α, from 1e-100 to 1e100.

    Raises
    ------
    TypeError
        If the prior network is not a network of conditional tables.
    ValueError
        For an ``ess`` that is not such a number; from the scores, if the prior network lacks a variable or a state of
        the table, or has other states, or gives an observed joint state probability 0.

    References
    ----------
    Heckerman, Geiger and Chickering, *Learning Bayesian networks: The combination of knowledge and statistical data*,
    Machine Learning 20 (1995): the BDe metric, and its prior networks.

    Examples
    --------
    >>> from anbexact import DiscreteTable, NaiveBayesClassifier
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.scores import BDe, BDeu
    >>> X, y = load_monks(1)
    >>> earlier = NaiveBayesClassifier(ess=1).fit(X[:100], y[:100])
    >>> table = DiscreteTable.from_frame(X[100:], y[100:])
    >>> round(BDe(earlier.model_, ess=20).local_score(table, "jacket_color", ["is_monk"]), 3)
    -388.557
    >>> round(BDeu(ess=20).local_score(table, "jacket_color", ["is_monk"]), 3)
    -397.718
    """

    prior_network: PriorNetwork | None = None
    ess: float = 1.0

    name: ClassVar[str] = "BDe"
    score_equivalent: ClassVar[bool] = True
    has_set_score: ClassVar[bool] = False
    ignores_single_states: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "ess", BDeu(self.ess).ess)
        if self.prior_network is not None and not isinstance(self.prior_network, PriorNetwork):
            raise TypeError(
                "prior_network must be a network of conditional tables, such as the model_ of a fitted classifier "
                f"(from_pgmpy makes one of a network of pgmpy), not a {type(self.prior_network).__name__}"
            )

    def set_score(self, table: DiscreteTable, names: Sequence[Hashable]) -> float:
        """Return F(names), total in nats; see the class."""
        shape = table.shape(names)
        cells, weights = table.observed_cells(names)
        if self.prior_network is None or not names:
            share = 1 / prod(shape, start=1.0)
            return float(np.sum(log_rising(self.ess * share, weights)))
        codes = np.array(np.unravel_index(cells, shape), dtype=np.int16).reshape(len(names), -1)
        own = np.array([self._codes(table, name)[codes[j]] for j, name in enumerate(names)], dtype=np.int16)
        logs = self.prior_network.log_probability(names, own.reshape(codes.shape))
        if np.isneginf(logs).any():
            states = {name: table.vocabulary.states[name][codes[j, logs.argmin()]] for j, name in enumerate(names)}
            raise ValueError(
                f"the prior network gives {states}, which occurs in the table, probability 0: every joint state "
                "needs a positive prior. Estimate its tables with parameters='eap'"
            )
        return float(np.sum(log_rising(self.ess * np.exp(logs), weights)))

    def local_score(self, table: DiscreteTable, child: Hashable, parents: Sequence[Hashable]) -> float:
        """Return the local score of ``child`` given ``parents``; total in nats."""
        return self.set_score(table, [*parents, child]) - self.set_score(table, list(parents))

    def _codes(self, table: DiscreteTable, name: Hashable) -> CodeArray:
        """Return the codes that the states of a variable of the table have in the prior network."""
        assert self.prior_network is not None
        own, of_prior = table.vocabulary.states[name], self.prior_network.vocabulary.states.get(name)
        if of_prior is None:
            raise ValueError(
                f"the prior network has no variable {name!r}; its variables are "
                f"{list(self.prior_network.vocabulary.names)}"
            )
        if own == of_prior:
            return np.arange(len(own), dtype=np.int16)
        if set(own) != set(of_prior):
            raise ValueError(
                f"column {name!r} has the states {list(own)}, but in the prior network {list(of_prior)}: declare the "
                "same categories= for both, and the same cut points"
            )
        place = {state: code for code, state in enumerate(of_prior)}
        return np.array([place[state] for state in own], dtype=np.int16)
