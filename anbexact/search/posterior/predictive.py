"""ln P(row, class) averaged over all networks of a kind, exactly, for one equivalent sample size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from functools import partial

import numpy as np

from anbexact._kernels.averaged import (
    Pairs,
    TableOfRows,
    cell_parameters,
    family_ratios,
    last_shares,
    pair_ratios,
    rows_by_orders,
    rows_by_trees,
    subset_shares,
)
from anbexact._kernels.graph_sums import sum_layers
from anbexact._kernels.network_sums import sum_subsets
from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.tasks import run_tasks, thread_count
from anbexact.models.aode import count_pairs
from anbexact.search.posterior.network_sums import GraphSums, NetworkSums, OrderSums, TreeSums
from anbexact.search.posterior.setting import Setting
from anbexact.search.scoring.totals import class_of
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray

MOST_EXACT = {"orders": 14, "graphs": 7}
"""Maximum number of features for which predictions sum over all networks, for each prior."""
BLOCK_BYTES = 1 << 26
"""Memory, in each thread, of the probabilities of all pairs of features that are in use at once."""


class Predictive(ABC):
    """A predictor of complete rows, averaged over networks; ``names`` are the features that it needs."""

    names: tuple[Hashable, ...]

    @abstractmethod
    def log_joint(self, codes: CodeArray, n_jobs: int | None) -> Floats:
        """Return ln P(row, class), shape (rows, classes).

        Parameters
        ----------
        codes : (features, rows) int16
            States in the order of ``names``, none of them negative.
        n_jobs : int, optional
            Threads.
        """


def exact_predictive(setting: Setting, sums: NetworkSums) -> Predictive | None:
    """Return the predictor that sums over all networks; None if this would take too long."""
    if isinstance(sums, TreeSums):
        return TreePredictive(setting, sums)
    if isinstance(sums, OrderSums) and len(sums.names) <= MOST_EXACT["orders"]:
        return OrderPredictive(setting, sums)
    if isinstance(sums, GraphSums) and len(sums.names) <= MOST_EXACT["graphs"]:
        return GraphPredictive(setting, sums)
    return None


def log_class_prior(table: DiscreteTable, ess: float) -> Floats:
    """Return ln of the posterior mean of every class's probability."""
    weights = table.counts([class_of(table)])
    return np.asarray(np.log((weights + ess / len(weights)) / (table.weight_sum + ess)))


class TreePredictive(Predictive):
    """The average over all trees, or forests, in O(n³) steps for a row and class."""

    def __init__(self, setting: Setting, sums: TreeSums) -> None:
        self.names, self.sums, self.ess = sums.names, sums, float(setting.score.ess)
        self.log_class = log_class_prior(setting.table, self.ess)
        self.pairs = count_pairs(setting.table, setting.work.threads)

    def log_joint(self, codes: CodeArray, n_jobs: int | None) -> Floats:
        n, n_rows = codes.shape
        s = len(self.log_class)
        out = np.empty((n_rows, s))
        step = max(1, min(BLOCK_BYTES // (8 * s * max(n, 1) ** 2), -(-n_rows // thread_count(n_jobs))))
        blocks = range(0, n_rows, step)
        tasks = [partial(self._block, codes[:, first : first + step], out[first : first + step]) for first in blocks]
        run_tasks(iter(tasks), len(tasks), thread_count(n_jobs), Deadline(None), "rows", None)
        return out

    def _block(self, codes: CodeArray, out: Floats) -> None:
        pairs = self.pairs
        layout = Pairs(pairs.rows, pairs.offsets, pairs.arities, pairs.n_classes)
        n, m = len(self.names), out.size
        of_arcs, of_roots, logs = np.zeros((n, n, m)), np.empty((n, m)), np.empty(m)
        pair_ratios(pairs.weights, layout, self.ess, np.ascontiguousarray(codes), of_arcs, of_roots)
        arcs, roots = (own.copy() for own in self.sums.weights)
        rows_by_trees(arcs, roots, self.sums.forest, of_arcs, of_roots, logs)
        out[:] = logs.reshape(out.shape) + self.log_class


class _LatticePredictive(Predictive):
    """The common base of averages over networks with any number of parents."""

    def __init__(self, setting: Setting, names: tuple[Hashable, ...]) -> None:
        table = setting.table
        self.names = names
        self.log_class = log_class_prior(table, float(setting.score.ess))
        codes = np.array([table.column(name) for name in names], dtype=np.int16)
        classes = table.column(class_of(table)).astype(np.int64)
        self.rows = TableOfRows(codes, classes, np.ascontiguousarray(table.weights))
        self.parameters = np.empty(1 << len(names))
        arities = np.array(table.shape(names), dtype=np.int64)
        cell_parameters(arities, len(self.log_class), float(setting.score.ess), self.parameters)


class OrderPredictive(_LatticePredictive):
    """The average over all orders and the networks that agree with them, in O(n² 2ⁿ) steps for a row and class."""

    def __init__(self, setting: Setting, sums: OrderSums) -> None:
        super().__init__(setting, sums.names)
        families, n = sums.families, len(sums.names)
        self.of_subsets = np.empty((n, n - 1, (1 << n) // 4))
        for i in range(n):
            subset_shares(families.weights[i].copy(), self.of_subsets[i])
        self.of_last = np.empty((n, (1 << n) // 2))
        last_shares(families.sums, sums.forward, self.of_last)

    def log_joint(self, codes: CodeArray, n_jobs: int | None) -> Floats:
        out = np.empty((codes.shape[1], len(self.log_class)))
        step = max(1, -(-codes.shape[1] // (4 * thread_count(n_jobs))))
        arguments = self.rows, self.parameters, self.of_subsets, self.of_last
        tasks = [
            partial(rows_by_orders, *arguments, np.ascontiguousarray(codes[:, k : k + step]), out[k : k + step])
            for k in range(0, codes.shape[1], step)
        ]
        run_tasks(iter(tasks), len(tasks), thread_count(n_jobs), Deadline(None), "rows", None)
        return out + self.log_class


class GraphPredictive(_LatticePredictive):
    """The average over all acyclic graphs, every one once, in O(n 4ⁿ) steps for a row and class."""

    def __init__(self, setting: Setting, sums: GraphSums) -> None:
        super().__init__(setting, sums.names)
        self.weights, self.log_sum = sums.families.weights, sums.log_sum

    def log_joint(self, codes: CodeArray, n_jobs: int | None) -> Floats:
        out = np.empty((codes.shape[1], len(self.log_class)))
        ratios, room = np.empty_like(self.weights), np.empty((2, 3 ** len(self.names)))
        for r, row in enumerate(np.ascontiguousarray(codes.T)):
            for c, log_class in enumerate(self.log_class):
                family_ratios(self.rows, self.parameters, row, c, ratios)
                ratios += self.weights
                for own in ratios:
                    sum_subsets(own, False)
                out[r, c] = log_class + sum_layers(ratios, *room) - self.log_sum
        return out
