"""The posterior over structures: arcs with probabilities, and structures drawn from it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from math import exp

import numpy as np
import pandas as pd
from scipy.special import gammaln

from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.displayed import Displayed
from anbexact._runtime.progress import Progress
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import Score
from anbexact.search.constraints import Edge
from anbexact.search.posterior.families import all_family_weights
from anbexact.search.posterior.network_sums import MOST_VARIABLES, GraphSums, NetworkSums, OrderSums, TreeSums
from anbexact.search.posterior.setting import Limits, Setting, StructureMaker, chosen_networks
from anbexact.search.scoring.pair_scores import FamilyScorer, pair_scores
from anbexact.search.trees.branching import one_parent
from anbexact.tables.prediction import check_choice
from anbexact.tables.table import DiscreteTable

NETWORKS = ("anb", "gbn", "tan", "fan")
"""Kinds of networks that can be summed."""
PRIORS = ("orders", "graphs")
"""Priors over structures that can be chosen."""


@dataclass(frozen=True, eq=False)
class StructurePosterior(Displayed):
    """The posterior over the structures of one kind, summed over all of them.

    Attributes
    ----------
    networks : {"anb", "gbn", "tan", "fan"}
        The kind.
    prior : {"orders", "graphs", "trees"}
        Whether orders, graphs or trees are equally probable a priori; see :func:`structure_posterior`.
    class_name : Hashable or None
        The class; None if there is none.
    features : tuple
        The features, in table order.
    log_evidence : float
        ln of the probability of the rows, averaged over the structures by their prior; total in nats. It is a
        marginal likelihood if the score is one, as BDeu is.
    sums : NetworkSums
        The sums from which the answers are computed.
    """

    networks: str
    prior: str
    class_name: Hashable | None
    features: tuple[Hashable, ...]
    log_evidence: float
    sums: NetworkSums = field(repr=False)
    _log_class: float = field(repr=False)
    _maker: StructureMaker = field(repr=False)

    @property
    def noun(self) -> str:
        """What ``features`` are called: features, or variables if there is no class."""
        return "variables" if self.class_name is None else "features"

    @cached_property
    def arcs(self) -> pd.DataFrame:
        """The probability of every arc, the most probable first.

        Returns
        -------
        DataFrame
            Columns ``parent``, ``child``, ``probability`` and ``adjacent``, the probability that the two variables
            are joined by an arc in either direction. Arcs from the class, which are certain where it is a parent of
            every feature, and arcs of variables with a single state are left out.
        """
        found = self.sums.arcs()
        place = {name: k for k, name in enumerate(self.sums.names)}
        order = [name for name in self._maker.rest.names if name in place]
        rows = [
            (parent, child, found[place[parent], place[child]], found[place[child], place[parent]])
            for parent in order
            for child in order
            if parent != child
        ]
        frame = pd.DataFrame(rows, columns=["parent", "child", "probability", "adjacent"])
        frame = frame.astype({"probability": float, "adjacent": float})
        frame["adjacent"] += frame["probability"]
        frame[["probability", "adjacent"]] = frame[["probability", "adjacent"]].clip(0.0, 1.0)
        return frame.sort_values("probability", ascending=False, kind="stable", ignore_index=True)

    def parent_sets(self, child: Hashable, *, most: int | None = 10) -> pd.DataFrame:
        """Return the most probable sets of feature parents of a variable.

        Parameters
        ----------
        child : Hashable
            A feature, or the class if it is an ordinary variable (``"gbn"``).
        most : int, optional
            Maximum number of rows to return; None for all sets with a probability of 10⁻¹² or more.

        Returns
        -------
        DataFrame
            Columns ``parents`` (a tuple in table order, the class left out where it is always a parent) and
            ``probability``.

        Raises
        ------
        ValueError
            If ``child`` is not a variable whose parents are summed over.
        """
        if child not in self.sums.names:
            raise ValueError(
                f"{child!r} is not one of the variables whose parents are summed over: {list(self.sums.names)!r}"
            )
        found = self.sums.parent_sets(self.sums.names.index(child))[:most]
        rows = [(self._maker.in_order(parents), probability) for parents, probability in found]
        return pd.DataFrame(rows, columns=["parents", "probability"])

    def draw(self, n: int = 1, *, random_state: int | np.random.Generator | None = None) -> list[Structure]:
        """Return independent draws from the posterior.

        Parameters
        ----------
        n : int, default 1
            Number of structures.
        random_state : int or Generator, optional
            Seed of the draws.

        Returns
        -------
        list of Structure
            Each with its score; the certificates state that nothing is proved about them.
        """
        nothing = Certificate.unknown("drawn from the posterior")
        return [
            self._maker.make(drawn.parents, self._log_class + drawn.log_likelihood, nothing)
            for drawn in self.sums.draw(n, np.random.default_rng(random_state))
        ]

    def effective_networks(self, *, draws: int = 200, random_state: int | np.random.Generator | None = 0) -> float:
        """Return the number of equally probable networks with the same entropy: e to the entropy of the posterior.

        It is 1 if a single network has all the probability. Markov equivalent networks are counted separately. The
        entropy is exact for ``prior="graphs"`` and for trees and forests. For ``prior="orders"`` it is the mean over
        ``draws`` networks, each of which takes n 2ⁿ steps.
        """
        return exp(self.sums.entropy(draws, np.random.default_rng(random_state)))

    def __str__(self) -> str:
        kind = {"anb": "augmented naive Bayes networks", "gbn": "networks", "tan": "trees", "fan": "forests"}
        noun = self.noun
        lines = [f"posterior over all {kind[self.networks]} of {len(self.features)} {noun}, prior: {self.prior}"]
        joined = self.arcs[self.arcs["adjacent"] >= 0.5].sort_values("adjacent", ascending=False, kind="stable")
        pairs = set()
        for row in joined.itertuples():
            if frozenset((row.parent, row.child)) not in pairs:
                pairs.add(frozenset((row.parent, row.child)))
                direction = f"{row.parent} -> {row.child} {row.probability:.1%}"
                lines.append(f"{row.adjacent:6.1%}  {row.parent} - {row.child}  ({direction})")
        return "\n".join(lines if pairs else [*lines, f"no two {noun} are joined with a probability of one half"])


def structure_posterior(
    table: DiscreteTable,
    score: Score | None = None,
    *,
    networks: str | None = None,
    prior: str | None = None,
    max_parents: int | None = None,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    memory_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StructurePosterior:
    """Return the exact posterior over all structures of one kind, without sampling.

    The posterior of a structure G is proportional to prior(G) Π_i exp(local(i | Π_i)). With BDeu, and other scores
    that are marginal likelihoods, this is Bayes' theorem; with BIC it is an approximation.

    - ``prior="orders"``, the default for ``"anb"`` and ``"gbn"``: all orders of the variables are equally probable,
      and so are all *sizes* of the set of parents of a variable, and all sets of a size. A structure counts once for
      each order compatible with it, so sparse structures have a higher prior than dense ones. The sum takes O(n² 2ⁿ)
      steps; about 25 features fit into 16 GB.
    - ``prior="graphs"``: all directed acyclic graphs are equally probable. The sum takes O(n 4ⁿ) steps, for up to 12
      variables.
    - Trees (``"tan"``: the features form a tree) and forests (``"fan"``): all of them, directed away from their
      roots, are equally probable. The sum takes O(n³) steps after the pair scores, even for hundreds of features.

    Markov equivalent structures have the same likelihood, so rows alone cannot determine the direction of many arcs.
    The column ``adjacent`` of ``arcs`` is the probability of an arc in either direction.

    Parameters
    ----------
    table : DiscreteTable
        A table with or without a class.
    score : Score, default BDeu()
        Any decomposable score; ``"gbn"`` refuses those that need the class among the parents. Scores without set
        scores allow 16 features (except for trees and forests).
    networks : {"anb", "gbn", "tan", "fan"}, optional
        The kind; by default ``"anb"``, or ``"gbn"`` if the table has no class. With ``"anb"``, ``"tan"`` and
        ``"fan"``, the class is a parent of every feature, and the graph over the features is any acyclic graph, a
        tree, or a forest, respectively; with ``"gbn"``, the network is any acyclic graph over all variables. In a
        table without a class, ``"tan"`` and ``"fan"`` are the trees and forests over all variables.
    prior : {"orders", "graphs"}, optional
        See above.
    max_parents : int, optional
        Maximum number of feature parents; in ``"gbn"``, of parents.
    required, forbidden : iterable of (parent, child)
        Arcs that every structure must, or must not, contain.
    memory_limit : float, optional
        Maximum memory in bytes; by default, all available memory.
    n_jobs : int, optional
        Number of threads; None and -1 use all processors.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.

    Returns
    -------
    StructurePosterior

    Raises
    ------
    TypeError
        For a score that the kind of network cannot use.
    ValueError
        For an unknown kind or prior, for invalid constraints, or if no structure satisfies them.
    SearchTooLargeError
        If there are too many features; the message says how many are possible.

    References
    ----------
    Koivisto and Sood, *Exact Bayesian structure discovery in Bayesian networks*, JMLR 5 (2004); Meilă and Jaakkola,
    *Tractable Bayesian learning of tree belief networks*, UAI 2000. The sum over graphs uses layers of sources.

    Examples
    --------
    >>> from anbexact import DiscreteTable, structure_posterior
    >>> from anbexact.datasets import load_monks
    >>> posterior = structure_posterior(DiscreteTable.from_frame(*load_monks(1)))
    >>> posterior.arcs.head(3).round(3)
             parent       child  probability  adjacent
    0    head_shape  body_shape          0.5       1.0
    1    body_shape  head_shape          0.5       1.0
    2  jacket_color  head_shape          0.5       0.5
    >>> posterior.parent_sets("body_shape", most=2).round(3)
                          parents  probability
    0                          ()          0.5
    1  (head_shape, jacket_color)          0.5
    """
    limits = Limits(max_parents, required, forbidden, memory_limit, n_jobs, progress)
    return posterior_and_setting(table, score, limits, networks, prior)[0]


def posterior_and_setting(
    table: DiscreteTable, score: Score | None, limits: Limits, networks: str | None, prior: str | None
) -> tuple[StructurePosterior, Setting]:
    """Return the posterior over all structures of a kind, and the setting that it was summed in."""
    networks = chosen_networks(networks, NETWORKS, table)
    prior = _chosen_prior(networks, prior)
    augmented = networks != "gbn"
    setting = limits.setting(table, score, f"structure_posterior(networks={networks!r})", augmented=augmented)
    sums = _sums_of(setting, networks, prior)
    log_class = setting.log_class(table)
    evidence = float(log_class + sums.log_sum - sums.log_prior_sum)
    maker, features = setting.maker, table.vocabulary.features
    found = StructurePosterior(networks, prior, maker.class_name, features, evidence, sums, log_class, maker)
    return found, setting


def _sums_of(setting: Setting, networks: str, prior: str) -> NetworkSums:
    """Return the sums over all structures of a kind; arguments as for :func:`structure_posterior`."""
    features = setting.table.vocabulary.features
    sums: NetworkSums
    if networks in ("tan", "fan") or not features:
        if setting.max_parents is not None and features:
            raise ValueError(
                f"max_parents has no meaning for networks={networks!r}: a feature has one feature parent"
            )
        sums = _tree_sums(setting, forest=networks == "fan")
    else:
        sums = _lattice_sums(setting, prior)
    if np.isneginf(sums.log_sum):
        raise ValueError(f"no structure of the kind {networks!r} satisfies the constraints")
    return sums


def _lattice_sums(setting: Setting, prior: str) -> OrderSums | GraphSums:
    """Return the sums over all networks."""
    constraints = setting.constraints()
    n = len(setting.table.vocabulary.features)
    if prior == "graphs" and n > MOST_VARIABLES:
        raise ValueError(
            f"prior='graphs' sums over all graphs in 4ⁿ steps, for up to {MOST_VARIABLES} variables, not for {n}: "
            "use prior='orders', or select features first"
        )
    sizes = np.arange(n)
    log_prior: Floats = np.zeros(n)
    if prior == "orders":
        log_prior = gammaln(sizes + 1) + gammaln(n - sizes) - gammaln(n)
    families = all_family_weights(setting.table, setting.score, constraints, log_prior, setting.work)
    return OrderSums(families, setting.work) if prior == "orders" else GraphSums(families, setting.work)


def _tree_sums(setting: Setting, *, forest: bool) -> TreeSums:
    """Return the sums over all trees, or forests."""
    features = setting.table.vocabulary.features
    if not features:  # the one structure without arcs
        return TreeSums((), np.empty((0, 0)), np.empty(0), forest=forest)
    constraints = one_parent(features, setting.required, setting.maker.rest.forbidden)
    scorer = FamilyScorer(setting.table, setting.score, setting.work.threads, Deadline(None))
    scores = pair_scores(scorer, setting.work.progress)
    assert scores is not None
    roots, arcs = scores.alone.copy(), scores.alone + scores.gains
    place = {name: k for k, name in enumerate(features)}
    for parent, child in constraints.forbidden_edges:
        arcs[place[parent], place[child]] = -np.inf
    for parent, child in constraints.required_edges:
        arcs[np.arange(len(features)) != place[parent], place[child]] = roots[place[child]] = -np.inf
    return TreeSums(features, arcs, roots, forest=forest)


def _chosen_prior(networks: str, prior: str | None) -> str:
    """Return the prior over structures."""
    if networks in ("tan", "fan"):
        if prior is not None:
            raise ValueError(
                f"prior cannot be chosen for networks={networks!r}: all trees or forests are equally probable"
            )
        return "trees"
    if prior is not None:
        check_choice("prior", prior, PRIORS)
    return "orders" if prior is None else prior
