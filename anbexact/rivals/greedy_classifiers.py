"""Alternatives to the exact search: general networks found greedily, by generative and conditional scores."""

from __future__ import annotations

from dataclasses import field
from typing import Any, NoReturn, Self

from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from anbexact._runtime.deadline import Deadline, seconds_left
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.choosing.limits import affordable_limit
from anbexact.classifiers.parameters import NetworkParameters, SearchParameters, TimeLimitParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.structure import Structure
from anbexact.rivals.mc_dag_search import learn_mc_dag
from anbexact.scores import CLL
from anbexact.scores.capabilities import scores_structures
from anbexact.scores.registry import CONDITIONAL_SCORES
from anbexact.search import learn_greedy_gbn
from anbexact.tables.table import DiscreteTable


@parameter_group
class GreedyGBNParameters(SearchParameters):
    """How hill climbing continues after the first local optimum."""

    tabu: int = 0
    restarts: int = 0
    random_state: Any = None


@register_classifier(
    "ggbn",
    "general network by hill climbing (gGBN)",
    compared=[
        Compared("gGBN", 130),
        Compared("gGBN-BDeu", 132, refitted=False, parameters={"ess": 1.0}),
        Compared("GBN-CMDL", 140, parameters={"structure_score": "cmdl"}),
    ],
)
class GreedyGBNClassifier(GreedyGBNParameters, NetworkClassifier):
    """A general network found by hill climbing.

    The class is treated like any other variable. Starting from the empty graph, the search repeatedly adds, deletes
    or reverses the arc that raises the score most, until no such change raises it.
    ``P(c | x) ∝ P(c | π_c) Π_i P(x_i | π_i)``; see :func:`~anbexact.search.learn_greedy_gbn` for moves, ties and
    cost; :class:`~anbexact.GBNClassifier` finds the best of all graphs. If the tables would not fit into memory and
    ``max_parents`` is None, the structure is learned again with as many parents as fit, with a warning.

    Parameters
    ----------
    structure_score : str, Score, CLL or CMDL, default "bdeu"
        In addition to the scores of the other classifiers: ``"cmdl"`` and ``"cll"``, the conditional likelihood with
        and without a penalty (see :class:`~anbexact.scores.CMDL`), at the maximum likelihood parameters; the
        conditional tables are estimated according to ``parameters``.
    max_parents : int, optional
        Maximum number of parents of a variable, counting the class.
    required_edges, forbidden_edges : iterable of (parent, child)
        Arcs that the structure must, or must not, contain. They may include the class, by its name (``"class"`` if
        ``y`` has no name).
    tabu : int, default 0
        Length of the tabu list. The search does not revisit the last ``tabu`` structures and stops after ``tabu``
        moves without improvement. With 0, it stops when no move raises the score.
    restarts : int, default 0
        Number of restarts, each from the best structure after random moves.
    random_state : int, RandomState or None, default None
        Seed or generator of the random moves.
    time_limit : float, optional
        Time limit of the search in seconds. When it runs out, the best structure found so far is used.

    The other parameters, and the fitted attributes, are those of :class:`~anbexact.NetworkClassifier`. With a
    conditional likelihood, ``partial_fit`` is not supported, because the score does not follow from the counts.

    References
    ----------
    Heckerman, Geiger and Chickering, Machine Learning 20 (1995), section 7; Grossman and Domingos, *Learning Bayesian
    network classifiers by maximizing conditional likelihood*, ICML 2004.

    Examples
    --------
    >>> from anbexact.classifiers import GreedyGBNClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> GreedyGBNClassifier().fit(X, y).structure_.edges
    (('is_monk', 'jacket_color'),)
    """

    _relearns = False  # because a climb can take long

    def _is_decomposable(self) -> bool:
        return not scores_structures(self.score_of(1.0))

    @available_if(_is_decomposable)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to what was learned; see :meth:`anbexact.NetworkClassifier.partial_fit`."""
        return super().partial_fit(X, y, classes, sample_weight)

    def can_complete(self) -> bool:
        return super().can_complete() and self._is_decomposable()

    def score_of(self, ess: float) -> Any:
        if scores_structures(self.structure_score):
            return self.structure_score
        if isinstance(self.structure_score, str) and self.structure_score in CONDITIONAL_SCORES:
            return CONDITIONAL_SCORES[self.structure_score]()
        return super().score_of(ess)

    def _learn(self, table: DiscreteTable, score: Any, time_limit: float | None) -> Structure:
        deadline = Deadline(time_limit)
        structure = self._search(table, score, time_limit, self.max_parents)
        if self.max_parents is not None:
            return structure
        fewer = affordable_limit(table, score, structure, self.required_edges)
        return structure if fewer is None else self._search(table, score, seconds_left(deadline), fewer)

    def _search(
        self, table: DiscreteTable, score: Any, time_limit: float | None, max_parents: int | None
    ) -> Structure:
        return learn_greedy_gbn(
            table,
            score,
            max_parents=max_parents,
            required=self.required_edges,
            forbidden=self.forbidden_edges,
            tabu=self.tabu,
            restarts=self.restarts,
            random_state=check_random_state(self.random_state).randint(2**31 - 1) if self.restarts else None,
            time_limit=time_limit,
            n_jobs=self.n_jobs,
            progress=self.progress(),
        )


@parameter_group
class ConditionalParameters(TimeLimitParameters, NetworkParameters):
    """Parameters of the searches by conditional likelihood."""

    structure_score: str = field(default="cll", init=False)


class ConditionalClassifier(ConditionalParameters, NetworkClassifier):
    """The common base of classifiers whose structures are learned by conditional likelihood."""

    _completes = False
    _relearns = False

    @property
    def partial_fit(self) -> NoReturn:
        """Not available: the score of all rows does not follow from their counts."""
        raise AttributeError(
            f"{type(self).__name__} does not support partial_fit: the conditional likelihood does not follow from "
            "counts of families"
        )

    def score_of(self, ess: float) -> Any:
        return CLL()


@register_classifier(
    "bnc2p", "network by conditional likelihood, two parents at most (BNC2P)", compared=[Compared("BNC2P", 150)]
)
class BNC2PClassifier(ConditionalClassifier):
    """A general network with at most two parents per variable, found by hill climbing on the conditional likelihood.

    Starting from the empty graph, the search (BNC-2P) repeatedly adds, deletes or reverses the arc that raises the
    conditional log likelihood of the classes most, at the maximum likelihood parameters, until no such change raises
    it. See :func:`~anbexact.search.learn_greedy_gbn` for moves, ties and cost.

    Parameters
    ----------
    ess : float or "auto", default 1.0
        Equivalent sample size of the conditional tables, as in :class:`~anbexact.NetworkClassifier`; the structure
        does not depend on it.
    time_limit : float, optional
        Time limit of the search in seconds. When it runs out, the best structure found so far is used.

    The other parameters, and the fitted attributes, are those of :class:`~anbexact.NetworkClassifier`.
    ``partial_fit`` is not supported, because the score does not follow from the counts.

    References
    ----------
    Grossman and Domingos, *Learning Bayesian network classifiers by maximizing conditional likelihood*, ICML 2004.

    Examples
    --------
    >>> from anbexact.classifiers import BNC2PClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> bnc = BNC2PClassifier().fit(X, y)
    >>> max(map(len, bnc.structure_.parents.values()))
    1
    """

    def _learn(self, table: DiscreteTable, score: Any, time_limit: float | None) -> Structure:
        return learn_greedy_gbn(
            table,
            score,
            max_parents=2,
            time_limit=time_limit,
            n_jobs=self.n_jobs,
            progress=self.progress(),
        )


@parameter_group
class MCDAGParameters(ConditionalParameters):
    """Limit on the parents of a variable in a minimal class-focused network."""

    max_parents: int | None = 2


@register_classifier(
    "mcdag",
    "minimal class-focused network by conditional likelihood (MC-DAG)",
    compared=[Compared("MC-DAG", 160), Compared("MC-DAG-GES", 162, refitted=False, parameters={"ess": 1.0})],
)
class MCDAGClassifier(MCDAGParameters, ConditionalClassifier):
    """A minimal class-focused network found by greedy equivalence search on the conditional likelihood.

    Every arc points to the class or to a child of it (MC-DAG). See
    :func:`~anbexact.rivals.mc_dag_search.learn_mc_dag` for the search, its cost and its tie rule.

    Parameters
    ----------
    max_parents : int or None, default 2
        Maximum number of parents of a variable, counting the class. None sets no limit; the class then tends to get
        so many parents that few rows share a joint state of them, because conditional likelihood has no penalty.
    time_limit : float, optional
        Time limit of the search in seconds. When it runs out, the best structure found so far is used.

    The other parameters, and the fitted attributes, are those of :class:`BNC2PClassifier`.

    References
    ----------
    Mihaljević, Bielza and Larrañaga, *Learning Bayesian network classifiers with completed partially directed acyclic
    graphs*, PGM 2018.

    Examples
    --------
    >>> from anbexact.classifiers import MCDAGClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> mc_dag = MCDAGClassifier().fit(X, y)
    >>> mc_dag.structure_.edges
    (('is_monk', 'jacket_color'),)
    """

    def _learn(self, table: DiscreteTable, score: Any, time_limit: float | None) -> Structure:
        return learn_mc_dag(
            table,
            max_parents=self.max_parents,
            time_limit=time_limit,
            n_jobs=self.n_jobs,
            progress=self.progress(),
        )
