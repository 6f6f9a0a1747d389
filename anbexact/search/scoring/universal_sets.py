"""Mixed scores of many sets: the scores of each set at all tuples of levels, and their mixture."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import log, prod

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.cached import cached_property
from anbexact.scores import MixedSetScore, Score
from anbexact.scores.base import View
from anbexact.scores.capabilities import is_mixed
from anbexact.scores.universal import level_tuples
from anbexact.search.scoring.set_scores import n_sets
from anbexact.tables.table import DiscreteTable

TERMS_PER_BATCH = 1 << 16
"""Tuples of levels, over all sets, that are scored in one batch."""
MASKS_PER_BLOCK = 1 << 16
"""Number of masks of sets that are examined at once."""


@dataclass(frozen=True)
class Batch:
    """Sets with equally many tuples of levels.

    Attributes
    ----------
    sets : (sets,) int64
        The positions of the sets among all.
    members : (sets * tuples, width) int64
        The positions, in the table of levels, of the members of every set at every tuple.
    log_measures : (sets, tuples) float64
        Σ_n ln η of the cells of all rows, in nats.
    """

    sets: Positions
    members: Positions
    log_measures: Floats

    def mixed(self, scores: Floats) -> Floats:
        """Return the logs of the mixtures, given the scores of all tuples, shape (sets * tuples,)."""
        terms = scores.reshape(self.log_measures.shape) - self.log_measures
        mixed: Floats = logsumexp(terms, axis=1) - log(terms.shape[1])
        return mixed


@dataclass(frozen=True)
class Mixture:
    """A table and a mixed score, for many sets of variables, given by their positions in the table.

    Raises
    ------
    ValueError
        If the class has a partition.
    """

    table: DiscreteTable
    score: MixedSetScore

    def __post_init__(self) -> None:
        for name in self.table.vocabulary.common_parents:
            if name in self.score.partitions:
                raise ValueError(f"the class {name!r} has a partition, but must be discrete")

    @cached_property
    def n_levels(self) -> Positions:
        """Levels of every variable; 1, at the end, for position -1, which means no variable."""
        return np.array([*(self.score.n_levels(name) for name in self.table.vocabulary.names), 1], dtype=np.int64)

    @cached_property
    def of_levels(self) -> DiscreteTable:
        """The table of all variables at all levels, the levels of a variable side by side."""
        return self.score.at_levels(self.table, self._views)

    @cached_property
    def coarsest(self) -> DiscreteTable:
        """The table of all variables at their coarsest level."""
        return self.score.coarsest(self.table)

    @cached_property
    def _views(self) -> list[View]:
        """All variables at all their levels."""
        return [(v, k) for v in self.table.vocabulary.names for k in range(1, self.score.n_levels(v) + 1)]

    @cached_property
    def _first(self) -> Positions:
        """Where the levels of a variable start in the table of levels; -1, at the end, for position -1."""
        return np.append(np.cumsum([0, *self.n_levels[:-2]]), -1)

    @cached_property
    def _log_measures(self) -> Floats:
        """Σ_n ln η of every variable at every level, in nats; 0, at the end, for position -1."""
        return np.array([*(self.score.log_measure(self.table, view) for view in self._views), 0.0])

    @cached_property
    def continuous(self) -> npt.NDArray[np.bool_]:
        """Which variables have a partition; False, at the end, for position -1."""
        return np.array([*(name in self.score.partitions for name in self.table.vocabulary.names), False])

    def levels_among(self, n_continuous: int) -> Positions:
        """Return the number of levels of every variable in sets with this number of continuous variables."""
        return np.minimum(self.n_levels, self.score.most_levels(n_continuous, self.table.weight_sum))

    def batches(self, members: Positions) -> Iterator[Batch]:
        """Divide sets into batches; each set is a row of positions, with -1 in front if it is shorter."""
        width = members.shape[1]
        n_continuous = self.continuous[members].sum(axis=1)
        levels = np.ones_like(members)
        for count in np.unique(n_continuous).tolist():
            own = n_continuous == count
            levels[own] = self.levels_among(count)[members[own]]
        kinds, group, times = np.unique(levels, axis=0, return_inverse=True, return_counts=True)
        order = np.argsort(group.ravel(), kind="stable")
        ends = np.cumsum(times)
        for kind, first, last in zip(kinds, ends - times, ends, strict=True):
            tuples = np.array(level_tuples(kind.tolist()), dtype=np.int64).reshape(-1, width) - 1
            step = max(1, TERMS_PER_BATCH // len(tuples))
            for begin in range(first, last, step):
                sets = order[begin : min(begin + step, last)]
                places = self._first[members[sets]][:, None, :] + tuples
                yield Batch(sets, places.reshape(-1, width), self._log_measures[places].sum(axis=2))

    def mixed_counts(self) -> list[int]:
        """Return the numbers of continuous variables in sets that have them at more than one level."""
        return [m for m in range(1, int(self.continuous.sum()) + 1) if self.levels_among(m).max() > 1]

    def n_terms(self, max_size: int) -> int:
        """Return the number of tuples of levels of all sets whose variables are at more than one level.

        Of the sets of the common parents (the class, which is discrete) and up to ``max_size`` features.
        """
        n_discrete = len(self.table.vocabulary.features) - int(self.continuous.sum())
        total = 0
        for m in self.mixed_counts():
            tuples = [1] + [0] * m  # by the number of continuous variables that are chosen
            for most in self.levels_among(m)[self.continuous].tolist():
                for k in range(m, 0, -1):
                    tuples[k] += tuples[k - 1] * most
            total += tuples[m] * n_sets(n_discrete, max_size - m)
        return total

    def most_tuples(self, max_size: int) -> int:
        """Return the most tuples of levels that a set of up to ``max_size`` features can have."""
        sizes = (min(m, max_size) for m in self.mixed_counts())
        return max((prod(sorted(self.levels_among(m)[self.continuous].tolist())[-m:]) for m in sizes), default=1)

    def mixed_sets(self, features: Sequence[Hashable], max_size: int) -> Iterator[Positions]:
        """Return the masks of all sets counted by :meth:`n_terms`, those of a ``MASKS_PER_BLOCK`` at a time.

        Bit b stands for the b-th feature.
        """
        names = self.table.vocabulary.names
        of_bits = sum(1 << b for b, name in enumerate(features) if self.continuous[names.index(name)])
        admitted = np.zeros(len(features) + 1, dtype=np.bool_)
        admitted[self.mixed_counts()] = True
        for first in range(0, 1 << len(features), MASKS_PER_BLOCK):
            masks = np.arange(first, min(first + MASKS_PER_BLOCK, 1 << len(features)), dtype=np.int64)
            yield masks[admitted[np.bitwise_count(masks & of_bits)] & (np.bitwise_count(masks) <= max_size)]


def mixture_of(table: DiscreteTable, score: Score) -> Mixture | None:
    """Return how sets are scored at several levels of their variables; None for a score without levels."""
    return Mixture(table, score) if is_mixed(score) else None
