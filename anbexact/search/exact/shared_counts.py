"""Exact searches over a table and parts of it that share one pass of counts."""

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
from anbexact._runtime.deadline import Deadline
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import BDeu
from anbexact.search.constraints import make_constraints
from anbexact.search.exact.exact_search import ALL_SETS, ExactSearch, Fallback
from anbexact.search.exact.plan import Plan
from anbexact.search.exact.solution import TIE_SHARE, Optimum, tie_tolerance
from anbexact.search.scoring.set_scores import cell_values, entropy_order, n_sets
from anbexact.search.single_states import SingleStates, single_states
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
    _networks: dict[tuple[int, float, float, int], tuple[list[int], float]] = field(
        default_factory=dict, init=False, repr=False
    )
    _structures: dict[tuple[int, float, tuple[int, ...]], Structure] = field(
        default_factory=dict, init=False, repr=False
    )

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
    def names(self) -> tuple[Hashable, ...]:
        """The features with several states, in table order."""
        return _searched(self.tables[0])

    @cached_property
    def _configurations(self) -> tuple[Floats, npt.NDArray[np.int64]]:
        """The distinct numbers of joint states of a set and the class, and the place of every set's among them."""
        table = self.tables[0]
        sizes = np.array([float(table.vocabulary.arity(table.vocabulary.class_name))])
        for name in self.names:
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
        """Return the best augmented naive Bayes for one of the tables, without its proof.

        It is the structure of :func:`~anbexact.learn_anb`; for the whole table, :meth:`proved` returns its
        certificate, too.

        Parameters
        ----------
        table : DiscreteTable
            One of :attr:`tables`.
        score : BDeu
        max_parents : int, optional
            Maximum number of feature parents of a feature.
        """
        part = next(k for k, one in enumerate(self.tables) if one is table)
        most = len(self.names) if max_parents is None else max_parents
        masks, _ = self._best(part, score.ess, most)
        key = part, score.ess, tuple(masks)
        if key not in self._structures:
            self._structures[key] = self._structure(part, score.ess, masks)
        return self._structures[key]

    def _structure(self, part: int, ess: float, masks: Sequence[int]) -> Structure:
        """Return the structure of a part with some parents of every feature, given as masks."""
        table, scores = self.tables[part], self.set_scores(part, ess)
        c = table.vocabulary.class_name
        parents: dict[Hashable, tuple[Hashable, ...]] = dict.fromkeys(table.vocabulary.features, (c,))
        parents |= {name: (c, *of_name) for name, of_name in self._named(masks).items()}
        parents[c] = ()
        total = float(scores[0]) - (lgamma(ess + table.weight_sum) - lgamma(ess))
        for b, mask in enumerate(masks):
            total += float(scores[mask | 1 << b] - scores[mask])
        certificate = Certificate(False, float("inf"), float("inf"), len(scores), 0.0, "shared counts")
        return Structure(c, parents, total, certificate)

    def proved(self, score: BDeu, max_parents: int | None) -> Structure:
        """Return what :func:`~anbexact.learn_anb` returns for the whole table: the structure with its certificate.

        There must be features with several states.

        Parameters
        ----------
        score : BDeu
        max_parents : int, optional
            Maximum number of feature parents of a feature.
        """
        table, deadline = self.tables[0], Deadline(None)
        rest, constraints = SingleStates.of(table, score), make_constraints(self.names, max_parents, (), ())

        def best(rounding: float) -> tuple[list[int], float]:
            return self._best(0, score.ess, constraints.max_parents, rounding)

        solved = Optimum(
            best(TIE_SHARE)[1],
            n_sets(len(self.names), constraints.max_parents + 1),
            lambda rounding: self._named(best(rounding)[0]),
        )
        plan = Plan(rest.table, score, constraints, 1, deadline, None)
        search = ExactSearch(plan, table.vocabulary.class_name, None)
        return rest.added_to(search.concluded(solved, ALL_SETS, Fallback(None)), below_class=True)

    def _named(self, masks: Sequence[int]) -> dict[Hashable, tuple[Hashable, ...]]:
        """Return the feature parents of every feature, for which masks stand."""
        names = self.names
        return {
            name: tuple(names[p] for p in range(mask.bit_length()) if mask >> p & 1)
            for name, mask in zip(names, masks, strict=True)
        }

    def _best(self, part: int, ess: float, max_parents: int, rounding: float = TIE_SHARE) -> tuple[list[int], float]:
        """Return the parents of every feature in the best network, as masks, and its score.

        The best network without a limit is the best one within all limits that it keeps.
        """
        n = len(self.names)
        limit = min(max_parents, n - 1)
        for known in (self._networks.get((part, ess, rounding, most)) for most in (n - 1, limit)):
            if known is not None and max(map(int.bit_count, known[0]), default=0) <= limit:
                return known
        tolerance = tie_tolerance(self.tables[part], rounding)
        parents, total = best_network(self.set_scores(part, ess), n, limit, tolerance)
        self._networks[part, ess, rounding, limit] = parents.tolist(), total
        return parents.tolist(), total


def _searched(table: DiscreteTable) -> tuple[Hashable, ...]:
    """Return the features with several states, in table order."""
    apart = set(single_states(table, BDeu(), ()))
    return tuple(name for name in table.vocabulary.features if name not in apart)
