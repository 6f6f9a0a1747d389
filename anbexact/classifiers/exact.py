"""The optimal augmented naive Bayes, and the optimal general network."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Self, cast

from anbexact._runtime.deadline import Deadline, seconds_left
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.choosing.limits import affordable_limit
from anbexact.classifiers.choosing.sample_size import Choices, Learn, Search
from anbexact.classifiers.measured import MeasuredClassifier
from anbexact.classifiers.parameters import ContinuousParameters, ExactParameters, parameter_group
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.structure import Structure
from anbexact.scores import BDeu, Score
from anbexact.scores.capabilities import default_max_parents
from anbexact.search import learn_anb, learn_gbn
from anbexact.search.constraints import check_max_parents, most_required_parents
from anbexact.search.exact.lattice import MOST_FEATURES, lattice_cost
from anbexact.search.exact.plan import affordable_parents
from anbexact.search.exact.shared_counts import SharedCounts
from anbexact.search.greedy.from_forest import climb_from_forest
from anbexact.tables.counted.counted_table import CountedTable
from anbexact.tables.table import DiscreteTable

QUICK_SECONDS = 0.004
"""Estimated processor seconds up to which a search over all sets of features is repeated to choose equivalent sample
sizes and limits on parents. If it would take longer (beyond about 12 features), hill climbing takes its place in
these choices, and few rows are given no more than `FEW_PARENTS`."""
AFFORDABLE_SECONDS = 0.5
"""The same for few rows if there is no limit on parents: then hill climbing says too little about how well the
optimum, which has more arcs that do not last, predicts other rows (page "The equivalent sample size")."""
FEW_PARENTS = 2
"""Largest limit on parents that cross-validation compares."""
MANY_FEATURES = 27
"""Features beyond which this limit is one: with two, an exact search may take a minute."""


class ExactClassifier(ExactParameters, NetworkClassifier):
    """A network whose structure an exact search finds and proves optimal. Subclasses define the search."""

    _below_class = True
    """Whether the class is a parent of every feature."""

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
        return self._affordable(table, score, structure, deadline)

    def _affordable(self, table: DiscreteTable, score: Score, structure: Structure, deadline: Deadline) -> Structure:
        """Return an optimum or, if its tables are too large, the best structure within a limit on parents."""
        fewer = affordable_limit(table, score, structure, self.required_edges)
        if fewer is None:
            return structure
        return self._search(table, score, **self._limits(fewer, seconds_left(deadline)))

    @property
    def _most_parents(self) -> int | None:
        """The given limit on parents; None if there is no limit, or if it is to be chosen."""
        limit: Any = self.max_parents
        return None if isinstance(limit, str) and limit == "auto" else limit

    def _searches(self, table: DiscreteTable) -> tuple[Search, tuple[Search, ...]]:
        seconds, fewest = _seconds(table), most_required_parents(self.required_edges)
        few = FEW_PARENTS if _n_searched(table) <= MANY_FEATURES else 1
        own = Search(self._learn, self._rehearsal(table, seconds, max(few, fewest)))
        if self.max_parents is None and seconds <= AFFORDABLE_SECONDS:
            return own, (Search(self._learn, self._learn),)
        if self._most_parents is not None or self.max_parents is None:
            return own, (own,)
        limits = range(few, max(1, fewest) - 1, -1)
        fewer = tuple(
            Search(_Limited(self, most), self._rehearsal(table, seconds, most, most), most) for most in limits
        )
        return own, fewer if fewer and seconds > QUICK_SECONDS else (own, *fewer)

    def _rehearsal(self, table: DiscreteTable, seconds: float, few: int, most: int | None = None) -> Learn:
        """Return a quick search for structures that only serve to choose something.

        ``most`` is a limit on parents, None for the classifier's own. With many features, or rows that are not in
        memory, there are at most ``few``.
        """
        limit = self._most_parents if most is None else most
        if seconds <= QUICK_SECONDS:
            return self._learn if most is None else _Limited(self, most)
        if isinstance(table, CountedTable):
            return _Limited(self, few if limit is None else min(few, limit))
        if limit is None and _n_searched(table) > MANY_FEATURES:
            limit = few
        return _Climbing(self, limit)

    def _with_choices(self, choices: Choices, X: Any) -> Self:
        copy = super()._with_choices(choices, X)
        if choices.max_parents is not None:
            copy.max_parents = choices.max_parents
        return copy

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
class _Shared:
    """A search by shared counts, among structures with at most ``max_parents`` parents; None sets no limit."""

    counts: SharedCounts
    max_parents: int | None

    def __call__(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        """Return the best structure; see :meth:`NetworkClassifier._learn`."""
        return self.counts.learn(table, cast(BDeu, score), self.max_parents)


@dataclass(frozen=True)
class _Proved:
    """The search of a classifier for the structure to be used, by shared counts; the limit is that of `_Shared`."""

    counts: SharedCounts
    max_parents: int | None
    classifier: ExactClassifier

    def __call__(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        """Return the best structure; see :meth:`NetworkClassifier._learn`."""
        deadline, progress = Deadline(time_limit), self.classifier.progress()
        structure = self.counts.proved(cast(BDeu, score), self.max_parents)
        if progress is not None:
            progress("set scores", 1.0)
        if self.max_parents is not None:
            return structure
        return self.classifier._affordable(table, score, structure, deadline)


@dataclass(frozen=True)
class _Limited:
    """The search of a classifier over structures with at most ``max_parents`` parents."""

    classifier: ExactClassifier
    max_parents: int

    def __call__(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        """Return the best structure; see :meth:`NetworkClassifier._learn`."""
        return self.classifier._search_within(table, score, self.max_parents, time_limit)


@dataclass(frozen=True)
class _Climbing:
    """Hill climbing in place of the search of a classifier, with at most ``max_parents`` parents of a variable."""

    classifier: ExactClassifier
    max_parents: int | None

    def __call__(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        """Return a structure that scores nearly as high; see :meth:`NetworkClassifier._learn`."""
        limits = self.classifier._limits(self.max_parents, time_limit)
        del limits["memory_limit"], limits["progress"]  # it needs little memory, and takes milliseconds
        names = set(table.vocabulary.names)  # FSANBClassifier searches among some of the features
        limits["forbidden"] = [edge for edge in self.classifier.forbidden_edges if names.issuperset(edge)]
        return climb_from_forest(table, score, below_class=self.classifier._below_class, **limits)


def _n_searched(table: DiscreteTable) -> int:
    """Return the number of features with two or more states."""
    return sum(table.vocabulary.arity(name) > 1 for name in table.vocabulary.features)


def _seconds(table: DiscreteTable) -> float:
    """Return the estimated processor seconds of a search over all sets of features."""
    if isinstance(table, CountedTable):
        return inf
    # The cost is defined up to the most features of a lattice, where it is far above all limits already.
    n_costed = min(max(_n_searched(table), 1), MOST_FEATURES)
    return lattice_cost(n_costed, len(table.weights)).seconds


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
        Compared("ANB", 70),
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
        take more than four milliseconds (beyond about 12 features); beyond 27 features, the limit is 1. Few rows
        often determine no more parents than that. With more rows and more than 27 features, a limit of 3 or 4 often
        allows a proof when the search without a limit finds none. With a universal measure, ⌊ln N⌋ - 1 by default,
        for rows of total weight N (:class:`~anbexact.scores.Universal` says why); beyond 27 features, the largest
        limit for which all families can be scored.
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

    def _sharing(
        self, table: DiscreteTable
    ) -> Callable[[DiscreteTable, Sequence[DiscreteTable]], tuple[Search, ...] | None] | None:
        check_max_parents(self._most_parents)
        free = not self.required_edges and not self.forbidden_edges
        quick = _seconds(table) <= QUICK_SECONDS
        return self._with_shared_counts if self.structure_score == "bdeu" and free and quick else None

    def _with_shared_counts(self, table: DiscreteTable, parts: Sequence[DiscreteTable]) -> tuple[Search, ...] | None:
        """Return the searches that are compared, all by :class:`SharedCounts`; None if it has none."""
        counts = SharedCounts.of(table, parts)
        if counts is None or not counts.names:
            return None
        compared = self._searches(table)[1]
        limits = [self._most_parents if search.max_parents is None else search.max_parents for search in compared]
        return tuple(
            replace(
                search,
                learn=search.learn if self.memory_limit else _Proved(counts, most, self),
                rehearse=_Shared(counts, most),
            )
            for search, most in zip(compared, limits, strict=True)
        )


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

    _below_class = False
    _search = staticmethod(learn_gbn)  # type: ignore[assignment]  # its limits are keyword arguments
