"""Averaged two-dependence estimators: the counts behind them, and their class posterior."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import comb, log, prod
from typing import Any

import numpy as np

from anbexact._kernels.a2de import add_triples, two_dependence_rows
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.json_checks import number, reading
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks, thread_count
from anbexact._runtime.units import human_bytes
from anbexact.models.aode import AODEPosterior, PairCounts, count_pairs, read_weights, weights_to_dict
from anbexact.models.estimator_average import AnDE, EstimatorAverage
from anbexact.models.network.posterior import Logs
from anbexact.scores import BDeu
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable, Weights
from anbexact.tables.vocabulary import CodeArray, Vocabulary


class TripleCounts:
    """Weighted counts of every pair and every triple of features with the class; new counts are zero.

    Parameters
    ----------
    vocabulary : Vocabulary
        The variables.

    Attributes
    ----------
    pairs : PairCounts
        The counts of pairs.
    bases : (triples + 1,) int64
        Where in ``weights`` the counts of every triple start; the last entry is the size of ``weights``. The triple
        of features i > j > k has the number i(i-1)(i-2)/6 + j(j-1)/2 + k.
    weights : float64 array
        For every triple and every joint state of features i, j and k, in this order, one number for each class.

    Raises
    ------
    SearchTooLargeError
        If the counts and their logarithms would not fit into memory.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.pairs = PairCounts(vocabulary)
        self.n_classes = self.pairs.n_classes
        arities = self.pairs.arities.tolist()
        sizes = [
            arities[i] * arities[j] * arities[k] * self.n_classes
            for i in range(len(arities))
            for j in range(i)
            for k in range(j)
        ]
        needed, available = 2 * 8 * sum(sizes), available_memory()
        if needed > available:
            raise SearchTooLargeError(
                f"the counts of all triples of {len(arities):,} features with {sum(arities):,} states and "
                f"{self.n_classes} classes, and their logarithms, need {human_bytes(needed)}; "
                f"{human_bytes(available)} is available. Select features first, group their states, or use an "
                "AODEClassifier."
            )
        self.bases = np.cumsum([0, *sizes], dtype=np.int64)
        self.weights: Weights = np.zeros(self.bases[-1])

    def dense(self, i: int, j: int, k: int) -> Weights:
        """Return the contingency table of features i > j > k (by position) and the class."""
        number = comb(i, 3) + comb(j, 2) + k
        shape = (*self.pairs.arities[[i, j, k]].tolist(), self.n_classes)
        return self.weights[self.bases[number] : self.bases[number + 1]].reshape(shape)

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities of the triples given the class, of pairs, single features and class."""
        free = (self.pairs.arities - 1).tolist()
        return self.pairs.n_parameters + self.n_classes * sum(map(prod, combinations(free, 3)))


def count_triples(table: DiscreteTable, n_jobs: int | None = None, progress: Progress | None = None) -> TripleCounts:
    """Return the counts of all pairs and triples of features with the class; see :class:`TripleCounts`.

    Parameters are those of :func:`~anbexact.models.aode.count_pairs`; O(n³) steps for every distinct row.
    """
    vocabulary = table.vocabulary
    counts = TripleCounts(vocabulary)
    counts.pairs = count_pairs(table, n_jobs)
    class_codes = np.ascontiguousarray(table.column(vocabulary.class_name))
    codes = np.array([table.column(name) for name in vocabulary.features])
    arguments = codes, class_codes, table.weights, counts.pairs.arities, counts.bases, counts.n_classes
    last = range(2, len(codes))[::-1]  # the last feature has the most triples
    tasks = (partial(add_triples, *arguments, i, counts.weights) for i in last)
    run_tasks(tasks, len(last), thread_count(n_jobs), Deadline(), "triple counts", progress)
    return counts


class A2DEPosterior(EstimatorAverage):
    """The class posterior of averaged two-dependence estimators given rows of feature codes.

    The model is that of :class:`~anbexact.classifiers.A2DEClassifier`. A complete row of n features takes O(n³ s)
    additions for s classes. There must be three features or more.

    Parameters
    ----------
    counts : TripleCounts
        The counts of the training rows.
    ess : float
        Equivalent sample size.
    n_jobs : int, optional
        Threads for the preparation; all processors by default.
    """

    dependence = 2

    def __init__(self, counts: TripleCounts, ess: float, n_jobs: int | None = None) -> None:
        pairs = counts.pairs
        self.n_classes = counts.n_classes
        self._counts, self._arities = counts, pairs.arities
        self._pair_logs, self._triple_logs = np.zeros(len(pairs.weights)), np.empty(len(counts.weights))
        cells = np.concatenate([[1], np.repeat(self._arities, self._arities)]) * counts.n_classes
        places = pairs.rows[pairs.offsets[:-1]]
        ends = [*places[1:].tolist(), len(pairs.weights)]
        numbers = [(i, j, k) for i in range(len(self._arities)) for j in range(i) for k in range(j)]

        def of_feature(i: int) -> None:
            arity = int(self._arities[i])
            own = slice(int(places[i]), ends[i])
            prior = ess / (arity * cells[: 1 + pairs.offsets[i]])
            block = pairs.weights[own].reshape(arity, -1, counts.n_classes)
            self._pair_logs[own] = np.log(block + prior[:, None]).ravel()
            for triple in range(comb(i, 3), comb(i + 1, 3)):
                of_triple = slice(int(counts.bases[triple]), int(counts.bases[triple + 1]))
                prior = ess / (counts.n_classes * prod(self._arities[list(numbers[triple])].tolist()))
                np.log(counts.weights[of_triple] + prior, out=self._triple_logs[of_triple])

        tasks = (partial(of_feature, i) for i in range(len(self._arities))[::-1])
        run_tasks(tasks, len(self._arities), thread_count(n_jobs), Deadline(), "logarithms", None)
        n_pairs = comb(len(self._arities), 2)
        self.log_normaliser = log(n_pairs) + log(float(pairs.class_weights.sum()) + ess)

    def evaluate_rows(self, codes: CodeArray, form: int, start: int, stop: int, out: Logs) -> None:
        """See :meth:`~anbexact.models.estimator_average.EstimatorAverage.evaluate_rows`."""
        pairs = self._counts.pairs
        two_dependence_rows(
            codes, pairs.offsets, pairs.rows, self._arities, self._counts.bases, self._pair_logs, self._triple_logs,
            form, start, stop, out,
        )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class A2DE(AnDE):
    """Averaged two-dependence estimators as a value: the model of :class:`~anbexact.classifiers.A2DEClassifier`.

    Attributes
    ----------
    counts : TripleCounts
        Weighted counts of all pairs and triples of features with the class.
    ess : float
        Equivalent sample size of the probabilities.
    n_jobs : int, optional
        Number of threads that prepare the probabilities.

    ``vocabulary`` and ``cut_points`` are those of :class:`~anbexact.models.model.Model`.
    """

    counts: TripleCounts
    ess: float
    n_jobs: int | None = None
    order = 2

    @cached_property
    def class_posterior(self) -> A2DEPosterior | AODEPosterior:
        """The evaluator of joint and posterior probabilities of the class; with two features, their joint table."""
        if len(self.vocabulary.features) < 3:
            return AODEPosterior(self.counts.pairs, self.ess, 0.0, self.n_jobs)
        return A2DEPosterior(self.counts, self.ess, self.n_jobs)

    @property
    def pairs(self) -> PairCounts:
        """The counts of pairs."""
        return self.counts.pairs

    def joint_weights(self, features: Sequence[int]) -> Weights:
        """Return the weights of the joint states of some features; see :meth:`AnDE.joint_weights`."""
        if len(features) < 3:
            return super().joint_weights(features)
        return self.counts.dense(*reversed(features)).transpose(2, 1, 0, 3)

    @property
    def n_parameters(self) -> int:
        """Free parameters of the log-linear model of all triples of features with the class."""
        return self.counts.n_parameters

    def add(self, table: DiscreteTable) -> A2DE:
        """Return the model with the rows of another table of the same vocabulary added."""
        counts = count_triples(table, self.n_jobs)
        counts.weights += self.counts.weights
        counts.pairs.weights += self.counts.pairs.weights
        return replace(self, counts=counts)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts that are not 0, and the equivalent sample size."""
        return {
            "ess": self.ess,
            "pairs": weights_to_dict(self.counts.pairs.weights),
            "triples": weights_to_dict(self.counts.weights),
        }

    @classmethod
    def from_dict(
        cls, described: Mapping[str, Any], vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts], estimator: Any
    ) -> A2DE:
        """Return the model that :meth:`to_dict` described; see :meth:`Model.from_dict`."""
        with reading("pairs and triples"):
            counts = TripleCounts(vocabulary)
            read_weights(described["pairs"], counts.pairs.weights)
            read_weights(described["triples"], counts.weights)
        with reading("ess"):
            ess = BDeu(number(described["ess"])).ess
        return cls(vocabulary=vocabulary, cut_points=cut_points, counts=counts, ess=ess, n_jobs=estimator.n_jobs)
