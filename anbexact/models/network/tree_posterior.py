"""The class posterior of a network whose tables are trees, without the values of these tables."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod

import numpy as np
from scipy.special import log_softmax, softmax

from anbexact._kernels.table_trees import leaves_of
from anbexact._runtime.arrays import Floats
from anbexact.models.parameters.trees import TreeTable
from anbexact.tables.vocabulary import CodeArray

AT_ONCE = 1_000_000
"""Number of leaves that are looked up at once."""


class TreePosterior:
    """The class posterior of a network of trees given complete rows.

    ln P(c, x) is a sum over the families; the leaf of every family that belongs to (x, c) is looked up in its tree.

    Parameters
    ----------
    tables : sequence of TreeTable
        The network; the class is one of its variables.
    class_name : Hashable
        The class.
    features : sequence
        The features, in the order of the rows of ``codes``.
    """

    def __init__(self, tables: Sequence[TreeTable], class_name: Hashable, features: Sequence[Hashable]) -> None:
        place = {name: k for k, name in enumerate([*features, class_name])}
        self._columns = np.zeros((len(tables), max(len(table.shape) for table in tables)), dtype=np.int64)
        for own, table in zip(self._columns, tables, strict=True):
            own[: len(table.shape)] = [place[name] for name in table.variables]
        self._arities = np.array([table.shape[0] for table in tables])
        self._nodes = np.concatenate([table.tree.nodes for table in tables])
        self._starts = np.cumsum([0, *(len(table.tree.nodes) for table in tables)])
        self._logs = np.log(np.concatenate([table.distributions.ravel() for table in tables]))
        self._firsts = np.cumsum([0, *(table.distributions.size for table in tables)])[:-1]
        self._n_classes = next(table.shape[0] for table in tables if table.name == class_name)
        self._n_values = sum(prod(table.shape) for table in tables)

    def is_quicker(self, n_rows: int) -> bool:
        """Whether so many rows need fewer leaves than the tables have values."""
        return n_rows * self._n_classes * len(self._columns) <= self._n_values

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c, x) of complete rows.

        Parameters
        ----------
        codes : (features, rows) int16
            States.
        n_jobs : int, optional
            Not used: there are few rows.

        Returns
        -------
        (rows, classes) float64
            Nats, per row.
        """
        n_rows = codes.shape[1]
        at_once = max(1, AT_ONCE // (self._n_classes * len(self._columns)))
        parts = [codes[:, start : start + at_once] for start in range(0, n_rows, at_once)]
        return np.concatenate([np.empty((0, self._n_classes)), *map(self._log_joint, parts)])

    def _log_joint(self, codes: CodeArray) -> Floats:
        n_rows = codes.shape[1]
        every = np.empty((n_rows * self._n_classes, len(codes) + 1), dtype=np.int64)  # every row with every class
        every[:, :-1] = np.repeat(codes.T, self._n_classes, axis=0)
        every[:, -1] = np.tile(np.arange(self._n_classes), n_rows)
        leaves = leaves_of(every, self._columns, self._nodes, self._starts)
        logs = self._logs[self._firsts + leaves * self._arities + every[:, self._columns[:, 0]]]
        return np.asarray(logs.sum(axis=1).reshape(n_rows, self._n_classes))

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c | x), shape (rows, classes); see :meth:`log_joint`."""
        return np.asarray(log_softmax(self.log_joint(codes), axis=1))

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return P(c | x), shape (rows, classes); see :meth:`log_joint`."""
        return np.asarray(softmax(self.log_joint(codes), axis=1))
