"""Averaged one-dependence estimators: the counts behind them, and their class posterior."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from anbexact._kernels.aode import add_pairs, mixture_rows, pair_logs
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.json_checks import cells_from_dict, cells_to_dict, mapped, number, reading
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks, thread_count
from anbexact._runtime.units import human_bytes
from anbexact.models.estimator_average import AnDE, EstimatorAverage
from anbexact.models.network.posterior import Logs
from anbexact.scores import BDeu
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable, Weights
from anbexact.tables.vocabulary import CodeArray, Vocabulary

WEIGHT_TOLERANCE = 1e-12
"""Share by which the weight of a state with an estimator may be below the minimum: more than sums of weights lose."""


class PairCounts:
    """Weighted counts of every pair of features with the class; new counts are zero.

    Parameters
    ----------
    vocabulary : Vocabulary
        The variables.

    Attributes
    ----------
    arities : (features,) int64
        Numbers of states.
    n_classes : int
        Number of classes.
    offsets : (features + 1,) int64
        The number of the first state of every feature, where the states of all features are numbered consecutively;
        the last entry is the total number of states.
    rows : (states,) int64
        Where in ``weights`` the row of a state starts.
    weights : float64 array
        The weight of every class, then one row for each state: its weight alone, then its weight together with every
        state of every earlier feature, each by class.

    Raises
    ------
    SearchTooLargeError
        If the counts, their logarithms and one such array at work would not fit into memory.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.arities = np.array([vocabulary.arity(name) for name in vocabulary.features], dtype=np.int64)
        self.n_classes = vocabulary.arity(vocabulary.class_name)
        self.offsets = np.cumsum([0, *self.arities], dtype=np.int64)
        ends = self.n_classes * (1 + np.cumsum(np.repeat(1 + self.offsets[:-1], self.arities)))
        self.rows = np.concatenate([[self.n_classes], ends])[:-1].astype(np.int64)
        size = int(ends[-1]) if len(ends) else self.n_classes
        needed, available = 3 * 8 * size, available_memory()
        if needed > available:
            raise SearchTooLargeError(
                f"the counts of all pairs of {len(self.arities):,} features with {len(self.rows):,} states and "
                f"{self.n_classes} classes, and their logarithms, need {human_bytes(needed)}; "
                f"{human_bytes(available)} is available. Select features first, or use a NaiveBayesClassifier."
            )
        self.weights: Weights = np.zeros(size)

    @property
    def class_weights(self) -> Weights:
        """Weight of every class, shape (classes,)."""
        return self.weights[: self.n_classes]

    @property
    def alone(self) -> Weights:
        """Weight of every state with every class, shape (states, classes)."""
        of_states: Weights = self.weights[self.rows[:, None] + np.arange(self.n_classes)]
        return of_states

    def admitted(self, min_weight: float) -> npt.NDArray[np.bool_]:
        """Return which states have at least this weight, shape (states,)."""
        return np.asarray(self.alone.sum(axis=1) >= min_weight * (1 - WEIGHT_TOLERANCE))

    def dense(self, i: int, j: int) -> Weights:
        """Return the contingency table of features i and j (by position, i ≠ j) and the class."""
        if i < j:
            return self.dense(j, i).swapaxes(0, 1)
        cells = 1 + np.arange(self.offsets[j], self.offsets[j + 1])
        places = self.rows[self.offsets[i] : self.offsets[i + 1], None] + self.n_classes * cells
        table: Weights = self.weights[places[..., None] + np.arange(self.n_classes)]
        return table

    @property
    def n_parameters(self) -> int:
        """Free probabilities of the pairs, given the class, and of the class."""
        free = self.arities - 1
        of_pairs = (int(free.sum()) ** 2 - int((free**2).sum())) // 2
        return self.n_classes * (1 + int(free.sum()) + of_pairs) - 1


def count_pairs(table: DiscreteTable, n_jobs: int | None = None, progress: Progress | None = None) -> PairCounts:
    """Return the counts of all pairs of features with the class.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    n_jobs : int, optional
        Number of threads; None and -1 use all processors.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.

    Raises
    ------
    SearchTooLargeError
        See :class:`PairCounts`.
    """
    vocabulary = table.vocabulary
    counts = PairCounts(vocabulary)
    class_codes = np.ascontiguousarray(table.column(vocabulary.class_name))
    counts.class_weights[:] = np.bincount(class_codes, table.weights, counts.n_classes)
    codes = np.array([table.column(name) for name in vocabulary.features])
    arguments = codes, class_codes, table.weights, counts.offsets, counts.rows, counts.n_classes
    features = range(len(codes))[::-1]  # the last feature has the most pairs
    tasks = (partial(add_pairs, *arguments, i, counts.weights) for i in features)
    run_tasks(tasks, len(features), thread_count(n_jobs), Deadline(), "pair counts", progress)
    return counts


class AODEPosterior(EstimatorAverage):
    """The class posterior of averaged one-dependence estimators given rows of feature codes.

    The model is that of :class:`~anbexact.classifiers.AODEClassifier`. A complete row of n features takes O(n² s)
    additions for s classes.

    Parameters
    ----------
    counts : PairCounts
        The counts of the training rows.
    ess : float
        Equivalent sample size.
    min_weight : float
        Minimum weight of a state that has an estimator.
    n_jobs : int, optional
        Threads for the preparation; all processors by default.
    """

    dependence = 1

    def __init__(self, counts: PairCounts, ess: float, min_weight: float, n_jobs: int | None = None) -> None:
        self.n_classes = counts.n_classes
        self._offsets = counts.offsets
        self._rows = counts.rows
        self._admitted = counts.admitted(min_weight)
        class_logs = np.log(counts.class_weights + ess / self.n_classes)
        cells = self.n_classes * np.repeat(counts.arities, counts.arities)[:, None]
        alone = np.log(counts.alone + ess / cells) - class_logs
        self._logs = np.empty(len(counts.weights))
        self._logs[: self.n_classes] = class_logs - logsumexp(class_logs)
        arguments = counts.weights, self._offsets, self._rows, class_logs, alone, ess
        tasks = (partial(pair_logs, *arguments, i, self._logs) for i in range(len(counts.arities))[::-1])
        run_tasks(tasks, len(counts.arities), thread_count(n_jobs), Deadline(), "logarithms", None)
        # Given the class, how probable it is that a feature is in a state without an estimator; naive Bayes predicts
        # rows in which all features are in such states.
        excluded = np.where(self._admitted[:, None], 0.0, np.exp(alone))
        with np.errstate(divide="ignore"):
            self._rest = np.log(np.add.reduceat(excluded, self._offsets[:-1])) if len(excluded) else excluded
        prior = self._logs[: self.n_classes]
        shares = [(prior + alone[self._admitted]).ravel(), prior + self._rest.sum(axis=0)]
        self.log_normaliser = float(logsumexp(np.concatenate(shares)))

    def evaluate_rows(self, codes: CodeArray, form: int, start: int, stop: int, out: Logs) -> None:
        """See :meth:`~anbexact.models.estimator_average.EstimatorAverage.evaluate_rows`."""
        mixture_rows(codes, self._offsets, self._rows, self._logs, self._admitted, self._rest, form, start, stop, out)


@dataclass(frozen=True, eq=False, kw_only=True)
class AODE(AnDE):
    """Averaged one-dependence estimators as a value: the model of :class:`~anbexact.classifiers.AODEClassifier`.

    Attributes
    ----------
    counts : PairCounts
        Weighted counts of all pairs of features with the class.
    ess : float
        Equivalent sample size of the probabilities.
    min_weight : float
        Minimum weight of a state that has an estimator.
    n_jobs : int, optional
        Number of threads that prepare the probabilities.

    ``vocabulary`` and ``cut_points`` are those of :class:`~anbexact.models.model.Model`.
    """

    counts: PairCounts
    ess: float
    min_weight: float
    n_jobs: int | None = None
    order = 1

    @cached_property
    def class_posterior(self) -> AODEPosterior:
        """The evaluator of the joint and posterior probabilities of the class."""
        return AODEPosterior(self.counts, self.ess, self.min_weight, self.n_jobs)

    @property
    def pairs(self) -> PairCounts:
        """The counts."""
        return self.counts

    @property
    def admitted(self) -> npt.NDArray[np.bool_]:
        """Which states have the minimum weight, and with it an estimator; shape (states of all features,)."""
        return self.counts.admitted(self.min_weight)

    def facts(self) -> dict[str, Any]:
        """Return the equivalent sample size, the minimum weight of a state, and the estimators."""
        return {"ess": self.ess, "min_weight": self.min_weight, "estimators": self}

    @property
    def n_parameters(self) -> int:
        """Free probabilities of all pairs: (s - 1) + s Σ_i (r_i - 1) + s Σ_{i<j} (r_i - 1)(r_j - 1)."""
        return self.counts.n_parameters

    def add(self, table: DiscreteTable) -> AODE:
        """Return the model with the rows of another table of the same vocabulary added."""
        counts = count_pairs(table, self.n_jobs)
        counts.weights += self.counts.weights
        return replace(self, counts=counts)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts that are not 0, and how they become probabilities."""
        return {"ess": self.ess, "min_weight": self.min_weight, "pairs": weights_to_dict(self.counts.weights)}

    @classmethod
    def from_dict(
        cls, described: Mapping[str, Any], vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts], estimator: Any
    ) -> AODE:
        """Return the model that :meth:`to_dict` described; see :meth:`Model.from_dict`."""
        with reading("pairs"):
            counts = PairCounts(vocabulary)
            read_weights(described["pairs"], counts.weights)
        with reading("ess and min_weight"):
            model = cls(
                vocabulary=vocabulary,
                cut_points=cut_points,
                counts=counts,
                ess=BDeu(number(described["ess"])).ess,
                min_weight=number(described["min_weight"], least=0),
                n_jobs=estimator.n_jobs,
            )
            model.prepare()
            return model


def weights_to_dict(weights: Weights) -> dict[str, Any]:
    """Return the weights that are not 0, each with its place."""
    cells = np.flatnonzero(weights)
    return cells_to_dict(cells, weights[cells])


def read_weights(described: Any, weights: Weights) -> None:
    """Put the weights that :func:`weights_to_dict` described into an array of zeros."""
    cells, found = cells_from_dict(mapped(described), len(weights))
    weights[cells] = found
