"""The class posterior of a network whose tables are trees, without the values of these tables."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod

import numpy as np
from scipy.special import log_softmax, softmax

from anbexact._kernels.table_trees import leaves_of
from anbexact._runtime.arrays import Floats
from anbexact.models.parameters.trees import TreeTable, columns_of, with_every_class
from anbexact.tables.vocabulary import CodeArray

AT_ONCE = 1_000_000
"""Maximum number of leaves that are looked up at once."""


class TreePosterior:
    """The class posterior of a network of trees given complete rows.

    ln P(c, x) is a sum over the families: for each of them, the leaf that (x, c) belongs to is looked up in its tree.
    Posteriors are those of :class:`~anbexact.models.network.posterior.Posterior`, up to rounding.

    Parameters
    ----------
    tables : sequence of TreeTable
        The network, in the order in which the logarithms are added; the class is one of its variables.
    class_name : Hashable
        The class.
    features : sequence
        The features, in the order of the rows of ``codes``.
    """

    def __init__(self, tables: Sequence[TreeTable], class_name: Hashable, features: Sequence[Hashable]) -> None:
        places = {name: k for k, name in enumerate([*features, class_name])}
        self._class_place = places[class_name]
        self._columns = columns_of([table.variables for table in tables], places)
        self._arities = [table.shape[0] for table in tables]
        self._nodes = np.concatenate([table.nodes for table in tables])
        self._starts = np.cumsum([0, *(len(table.nodes) for table in tables)])
        self._logs = [np.log(table.distributions).ravel() for table in tables]
        self._n_classes = next(table.shape[0] for table in tables if table.name == class_name)
        self._n_values = sum(prod(table.shape) for table in tables)
        self._n_leaves = 0

    def is_quicker_for(self, n_rows: int) -> bool:
        """Whether so many rows, together with the earlier ones, need no more leaves than the tables have values."""
        return self._n_leaves + n_rows * self._n_classes * len(self._columns) <= self._n_values

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
        n_rows, per_row = codes.shape[1], self._n_classes * len(self._columns)
        self._n_leaves += n_rows * per_row
        at_once = max(1, AT_ONCE // per_row)
        parts = [codes[:, start : start + at_once] for start in range(0, n_rows, at_once)]
        return np.concatenate([np.empty((0, self._n_classes)), *map(self._log_joint, parts)])

    def _log_joint(self, codes: CodeArray) -> Floats:
        rows = np.concatenate([codes, np.zeros((1, codes.shape[1]), dtype=codes.dtype)]).T
        every = with_every_class(rows, self._class_place, self._n_classes)
        leaves = leaves_of(every, self._columns, self._nodes, self._starts)
        found = np.zeros(len(every))
        for f, (logs, arity) in enumerate(zip(self._logs, self._arities, strict=True)):
            found += logs[leaves[:, f] * arity + every[:, self._columns[f, 0]]]
        return found.reshape(-1, self._n_classes)

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return ln P(c | x), shape (rows, classes); see :meth:`log_joint`."""
        return np.asarray(log_softmax(self.log_joint(codes), axis=1))

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Floats:
        """Return P(c | x), shape (rows, classes); see :meth:`log_joint`."""
        return np.asarray(softmax(self.log_joint(codes), axis=1))
