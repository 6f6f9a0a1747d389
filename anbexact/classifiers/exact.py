"""The optimal augmented naive Bayes, and the optimal general network."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any

from anbexact._runtime.deadline import Deadline, seconds_left
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.choosing.limits import affordable_limit
from anbexact.classifiers.choosing.sample_size import Learn
from anbexact.classifiers.measured import MeasuredClassifier
from anbexact.classifiers.parameters import ContinuousParameters, ExactParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.structure import Structure
from anbexact.scores import Score
from anbexact.scores.capabilities import default_max_parents
from anbexact.search import learn_anb, learn_gbn
from anbexact.search.constraints import most_required_parents
from anbexact.search.exact.lattice import MOST_FEATURES, lattice_cost
from anbexact.search.exact.plan import affordable_parents
from anbexact.tables.counted.counted_table import CountedTable
from anbexact.tables.table import DiscreteTable

REPEATED_SEARCH_SECONDS = 0.5
"""Estimated processor seconds up to which a search over all sets of features is repeated to choose equivalent sample
sizes. If it would take longer, a search with few parents is repeated in its place."""
FEW_PARENTS = 2
"""Limit on parents in repeated searches if searches without a limit would not be quick."""
MANY_FEATURES = 27
"""Number of features beyond which such searches allow one parent only: with two, a search may take a minute."""


class ExactClassifier(ExactParameters, NetworkClassifier):
    """A network whose structure an exact search finds and proves optimal. Subclasses define the search."""

    @abstractmethod
    def _search(self, table: DiscreteTable, score: Score, **limits: Any) -> Structure:
        """Return the best structure that a search finds within its limits."""

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        required = self.required_edges
        most = default_max_parents(score, table.weight_sum)
        if most is not None:
            most = affordable_parents(len(table.vocabulary.features), most)
            most = max(most, most_required_parents(required))
        if self._most_parents is not None:
            return self._search(table, score, **self._limits(self._most_parents, time_limit))
        deadline = Deadline(time_limit)
        structure = self._search(table, score, **self._limits(most, time_limit))
        # The tables of the optimum may be too large; then, a second search finds the best structure within a limit.
        fewer = affordable_limit(table, score, structure, required)
        if fewer is None:
            return structure
        return self._search(table, score, **self._limits(fewer, seconds_left(deadline)))

    @property
    def _most_parents(self) -> int | None:
        """The given limit on parents; None if there is no limit, or if it is to be chosen."""
        limit: Any = self.max_parents
        return None if isinstance(limit, str) and limit == "auto" else limit

    def _rehearsal(self, table: DiscreteTable) -> Learn:
        """Return a search over structures with few parents if a search over all structures may take long."""
        fewest = max(_few_parents(table), most_required_parents(self.required_edges))
        if _is_quick(table) or fewest >= (inf if self._most_parents is None else self._most_parents):
            return self._learn
        return _Limited(self, fewest)

    def _alternatives(self, table: DiscreteTable) -> tuple[tuple[Learn, ...], bool]:
        if self._most_parents is not None or self.max_parents is None:
            return (), False
        needed = max(1, most_required_parents(self.required_edges))
        quick = _is_quick(table)
        few = _few_parents(table)
        limits = [limit for limit in range(few, needed - 1, -1) if quick or limit < few]
        return tuple(_Limited(self, limit) for limit in limits), not quick

    def _search_within(
        self, table: DiscreteTable, score: Score, max_parents: int, time_limit: float | None
    ) -> Structure:
        """Return the best structure with at most ``max_parents`` parents of a variable."""
        return self._search(table, score, **self._limits(max_parents, time_limit))

    def _limits(self, max_parents: int | None, time_limit: float | None) -> dict[str, Any]:
        """Return the common arguments of the exact searches."""
        return {
            "max_parents": max_parents,
            "required": self.required_edges,
            "forbidden": self.forbidden_edges,
            "time_limit": time_limit,
            "memory_limit": self.memory_limit,
            "n_jobs": self.n_jobs,
            "progress": self.progress(),
        }


@dataclass(frozen=True)
class _Limited:
    """The search of a classifier over structures with at most ``max_parents`` parents."""

    classifier: ExactClassifier
    max_parents: int

    def __call__(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        """Return the best structure; see :meth:`NetworkClassifier._learn`."""
        return self.classifier._search_within(table, score, self.max_parents, time_limit)


def _n_searched(table: DiscreteTable) -> int:
    """Return the number of features with two or more states."""
    return sum(table.vocabulary.arity(name) > 1 for name in table.vocabulary.features)


def _few_parents(table: DiscreteTable) -> int:
    """Return the limit on parents in repeated searches, used if a search without a limit would not be quick."""
    return FEW_PARENTS if _n_searched(table) <= MANY_FEATURES else 1


def _is_quick(table: DiscreteTable) -> bool:
    """Whether a search over all sets of features is quick enough to be repeated."""
    if isinstance(table, CountedTable):
        return False
    # The cost is defined up to the most features of a lattice, where it is far above the limit already.
    n_costed = min(max(_n_searched(table), 1), MOST_FEATURES)
    return lattice_cost(n_costed, len(table.weights)).seconds <= REPEATED_SEARCH_SECONDS


@parameter_group
class MeasuredExactParameters(ExactParameters, ContinuousParameters):
    """Parameters of the exact searches, and the treatment of continuous columns."""


class MeasuredExactClassifier(MeasuredExactParameters, MeasuredClassifier, ExactClassifier):
    """An exact classifier that can measure continuous columns."""


@parameter_group
class ANBParameters(MeasuredExactParameters):
    """Parameters of an augmented naive Bayes, whose limit on parents may be chosen automatically."""

    max_parents: int | str | None = "auto"  # type: ignore[assignment]  # only a number elsewhere


@register_classifier(
    "anb",
    "optimal augmented naive Bayes (ANB)",
    compared=[
        Compared("ANB", 70, by_default=True),
        Compared("ANB-BDeu", 72, refitted=False, parameters={"ess": 1.0}),
        Compared("ANB universal", 180, refitted=False, parameters={"continuous": "universal"}),
    ],
)
class ANBClassifier(ANBParameters, MeasuredExactClassifier):
    """The highest-scoring augmented naive Bayes, proved optimal.

    The class is a parent of every feature, and the acyclic graph over the features maximises the score:
    ``P(c | x) ∝ P(c) Π_i P(x_i | π_i, c)``. See :func:`~anbexact.learn_anb` for the search, its cost, and what it
    proves if there are too many features to enumerate all sets of them.

    If you set no limit on parents and the tables of the optimum would not fit into memory, the structure is learned
    again with as many parents as memory allows, and you get a warning. With BDeu, few rows and a low ``ess``,
    features can have a dozen parents.

    Parameters
    ----------
    max_parents : int, "auto" or None, default "auto"
        Maximum number of feature parents of a feature, not counting the class; 0 is naive Bayes. None sets no limit.
        ``"auto"`` sets no limit either, except with ``ess="auto"`` and a total weight of the rows below 1,000: then
        cross-validation decides between no limit, 2 and 1, or between 2 and 1 if the search without a limit would
        take more than half a second; beyond 27 features, the limit is 1. Few rows often determine no more parents
        than that. With more rows and more than 27 features, a limit of 3 or 4 often allows a proof when the search
        without a limit finds none. With a universal measure, ⌊ln N⌋ - 1 by default, for rows of total weight N
        (:class:`~anbexact.scores.Universal` says why); beyond 27 features, the largest limit for which all families
        can be scored.
    required_edges, forbidden_edges : iterable of (parent, child)
        Arcs between features that the structure must, or must not, contain (``"x0"``, ``"x1"``, ... name the columns
        of an array).
    time_limit : float, optional
        Time limit of the search in seconds. When it runs out, the best structure found so far is used, with its gap.
    memory_limit : float, optional
        Maximum memory of the search in bytes; by default, all available memory.

    The other parameters, and the fitted attributes, are those of :class:`~anbexact.NetworkClassifier` and,
    for ``continuous``, :class:`~anbexact.classifiers.MeasuredClassifier`.

    References
    ----------
    Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> anb = ANBClassifier().fit(X, y)
    >>> anb.score(X, y)
    1.0
    >>> anb.structure_.feature_edges
    (('head_shape', 'body_shape'), ('jacket_color', 'body_shape'))
    """

    _search = staticmethod(learn_anb)  # type: ignore[assignment]  # its limits are keyword arguments


@register_classifier(
    "gbn",
    "optimal general network (GBN)",
    compared=[Compared("GBN", 120), Compared("GBN-BDeu", 122, refitted=False, parameters={"ess": 1.0})],
    networks="gbn",
)
class GBNClassifier(MeasuredExactClassifier):
    """The highest-scoring general Bayesian network, proved optimal.

    The class is a variable like all others: the acyclic graph over class and features maximises the score, and
    ``P(c | x) ∝ P(c | π_c) Π_i P(x_i | π_i)``. Only the Markov blanket of the class (its parents, its children and
    their other parents) matters, unless cells are missing. See :func:`~anbexact.learn_gbn` for the search.

    With few rows, the class may get many parents, so that each posterior is based on few rows, or it may lose the
    features that would be informative. The :class:`ANBClassifier` is made for classification, this one for
    interpreting the graph. ``structure_.to_anb()`` is an augmented naive Bayes structure that can represent all class
    posteriors of the network (see :meth:`Structure.to_anb <anbexact.Structure.to_anb>`).

    Parameters
    ----------
    max_parents : int, optional
        Maximum number of parents of a variable, counting the class.
    required_edges, forbidden_edges : iterable of (parent, child)
        Arcs that the structure must, or must not, contain. They may include the class, by its name (``"class"`` if
        ``y`` has no name).
    time_limit : float, optional
        Time limit of the search in seconds. When it runs out, the best structure found so far is used, with its gap.
    memory_limit : float, optional
        Maximum memory of the search in bytes; by default, all available memory.

    The other parameters, and the fitted attributes, are those of :class:`~anbexact.NetworkClassifier` and,
    for ``continuous``, :class:`~anbexact.classifiers.MeasuredClassifier`.

    References
    ----------
    Silander and Myllymäki, *A simple approach for finding the globally optimal Bayesian network structure*, UAI 2006;
    as a classifier: Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*, section 3.

    Examples
    --------
    >>> from anbexact import GBNClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> gbn = GBNClassifier().fit(X, y)
    >>> gbn.structure_.parents["is_monk"]
    ('head_shape', 'body_shape', 'jacket_color')
    >>> gbn.score(X, y)
    1.0
    """

    _search = staticmethod(learn_gbn)  # type: ignore[assignment]  # its limits are keyword arguments
