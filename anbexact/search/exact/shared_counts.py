"""Exact searches over a table and parts of it that share one pass of counts, and prove nothing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from math import lgamma
from typing import Self

import numpy as np
import numpy.typing as npt

from anbexact._kernels.shared_counts import best_network, count_sets, places_of, score_sets
from anbexact._runtime.arrays import Floats, Integers
from anbexact._runtime.cached import cached_property
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import BDeu
from anbexact.search.exact.solution import tie_tolerance
from anbexact.search.scoring.set_scores import cell_values, entropy_order
from anbexact.search.single_states import single_states
from anbexact.tables.table import DiscreteTable


@dataclass(frozen=True, eq=False)
class SharedCounts:
    """The counts of all sets of features in a table and in parts of its rows, from one pass over the sets.

    Counts do not depend on the equivalent sample size, so scores for any of them follow from these, and one search
    from another by arithmetic alone. A part is a table of some of the rows, such as those of all folds but one.

    Attributes
    ----------
    tables : tuple of DiscreteTable
        The whole table, then the parts.
    ends, cells, times
        See :func:`~anbexact._kernels.shared_counts.count_sets`.
    """

    tables: tuple[DiscreteTable, ...]
    ends: Integers
    cells: Integers
    times: Integers
    _scores: dict[tuple[int, float], Floats] = field(default_factory=dict, init=False, repr=False)
    _values: dict[float, Floats] = field(default_factory=dict, init=False, repr=False)
    _masks: dict[tuple[int, float], list[int]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, table: DiscreteTable, parts: Sequence[DiscreteTable]) -> Self | None:
        """Count a table and parts of its rows.

        The result is None if the parts are not the rows of all folds but one, or if weights are not whole numbers.
        """
        tables = (table, *parts)
        if any(not np.array_equal(one.weights, np.rint(one.weights)) for one in tables):
            return None
        held = np.zeros((len(table.weights), len(tables)))
        for k, part in enumerate(parts):
            places = places_of(table.codes, part.codes)
            if (places < 0).any():
                return None
            held[:, k] = table.weights
            held[places, k] -= part.weights
        held[:, -1] = table.weights - held[:, :-1].sum(axis=1)
        if (held < 0).any():
            return None
        rows, folds = np.nonzero(held)
        sizes = held[rows, folds].astype(np.uint32)
        names = _searched(table)
        arities = np.array(table.shape(names), dtype=np.int64)
        codes = np.array([table.column(name)[rows] for name in names], dtype=np.uint16).reshape(len(names), len(rows))
        class_codes, folds = (
            table.column(table.vocabulary.class_name)[rows].astype(np.uint16),
            folds.astype(np.uint16),
        )
        order = np.array([names.index(name) for name in entropy_order(table, names)[::-1]], dtype=np.int64)
        n_classes = table.vocabulary.arity(table.vocabulary.class_name)
        counted = count_sets(codes, class_codes, folds, sizes, len(parts), arities, n_classes, order)
        return cls(tables, *counted)

    @cached_property
    def _names(self) -> tuple[Hashable, ...]:
        return _searched(self.tables[0])

    @cached_property
    def _configurations(self) -> tuple[Floats, npt.NDArray[np.int64]]:
        """The distinct numbers of joint states of a set and the class, and the place of every set's among them."""
        table = self.tables[0]
        sizes = np.array([float(table.vocabulary.arity(table.vocabulary.class_name))])
        for name in self._names:
            sizes = np.concatenate([sizes, sizes * table.vocabulary.arity(name)])
        distinct, rows = np.unique(sizes, return_inverse=True)
        return distinct, rows.reshape(-1)

    def set_scores(self, part: int, ess: float) -> Floats:
        """Return the BDeu set scores of a part, shape (2**n,), in nats; bit b is the b-th feature searched."""
        if (part, ess) not in self._scores:
            sizes, rows = self._configurations
            if ess not in self._values:
                width = int(self.tables[0].weight_sum)
                self._values[ess] = cell_values(BDeu(ess).cell_parameter(sizes), width)
            ends = np.ascontiguousarray(self.ends[:, part])
            self._scores[part, ess] = score_sets(ends, self.cells, self.times, self._values[ess], rows)
        return self._scores[part, ess]

    def learn(self, table: DiscreteTable, score: BDeu, max_parents: int | None) -> Structure:
        """Return the best augmented naive Bayes for one of the tables, without a proof.

        It is the structure of :func:`~anbexact.learn_anb`.

        Parameters
        ----------
        table : DiscreteTable
            One of :attr:`tables`.
        score : BDeu
        max_parents : int, optional
            Maximum number of feature parents of a feature.
        """
        part = next(k for k, one in enumerate(self.tables) if one is table)
        names, scores = self._names, self.set_scores(part, score.ess)
        n = len(names)
        masks = self._best(part, score.ess, n if max_parents is None else max_parents)
        c = table.vocabulary.class_name
        parents: dict[Hashable, tuple[Hashable, ...]] = dict.fromkeys(table.vocabulary.features, (c,))
        total = float(scores[0]) - (lgamma(score.ess + table.weight_sum) - lgamma(score.ess))
        for b, mask in enumerate(masks):
            parents[names[b]] = (c, *(names[p] for p in range(n) if mask >> p & 1))
            total += float(scores[mask | 1 << b] - scores[mask])
        parents[c] = ()
        certificate = Certificate(False, float("inf"), float("inf"), len(scores), 0.0, "shared counts")
        return Structure(c, parents, total, certificate)

    def _best(self, part: int, ess: float, max_parents: int) -> list[int]:
        """Return the parents of every feature in the best network, as masks.

        The best network without a limit is the best one within all limits that it keeps.
        """
        n, known = len(self._names), self._masks.get((part, ess))
        if known is not None and max(map(int.bit_count, known), default=0) <= max_parents:
            return known
        tolerance = tie_tolerance(self.tables[part])
        masks: list[int] = best_network(self.set_scores(part, ess), n, max_parents, tolerance).tolist()
        if max_parents >= n - 1:
            self._masks[part, ess] = masks
        return masks


def _searched(table: DiscreteTable) -> tuple[Hashable, ...]:
    """Return the features with several states, in table order."""
    apart = set(single_states(table, BDeu(), ()))
    return tuple(name for name in table.vocabulary.features if name not in apart)
