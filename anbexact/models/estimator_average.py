"""Averages of simple estimators, one for every state or pair of states of a row: their class posterior."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from anbexact._kernels.posterior import JOINT, LOG_PROBABILITY, PROBABILITY
from anbexact._runtime.tasks import run_on_rows, thread_count
from anbexact.models.network.posterior import WORK_PER_THREAD, Logs
from anbexact.tables.vocabulary import CodeArray


class EstimatorAverage(ABC):
    """The class posterior of averaged estimators given rows of feature codes.

    Attributes
    ----------
    n_classes : int
    dependence : int
        Number of features on which a child depends in addition to the class: 1 in AODE, 2 in A2DE.
    log_normaliser : float
        Logarithm of the sum of the values of :meth:`evaluate_rows` over all possible rows and classes, in nats.
    """

    n_classes: int
    dependence: int
    log_normaliser: float

    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return ln P(c, observed cells of x).

        Parameters
        ----------
        codes : (features, rows) int16
            States; a negative code is a cell to be marginalised.
        n_jobs : int, optional
            Threads; all processors by default.

        Returns
        -------
        (rows, classes) float64
            Nats, per row.
        """
        out = self._evaluate(codes, JOINT, n_jobs)
        out -= self.log_normaliser
        return out

    def log_posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return ln P(c | observed cells of x), shape (rows, classes); see :meth:`log_joint`."""
        return self._evaluate(codes, LOG_PROBABILITY, n_jobs)

    def posterior(self, codes: CodeArray, n_jobs: int | None = None) -> Logs:
        """Return P(c | observed cells of x), shape (rows, classes); see :meth:`log_joint`."""
        return self._evaluate(codes, PROBABILITY, n_jobs)

    @abstractmethod
    def evaluate_rows(self, codes: CodeArray, form: int, start: int, stop: int, out: Logs) -> None:
        """Write what the rows from ``start`` to ``stop`` have in a form of the kernels, without the normaliser."""

    def _evaluate(self, codes: CodeArray, form: int, n_jobs: int | None) -> Logs:
        n_features, n_rows = codes.shape
        out = np.empty((n_rows, self.n_classes))
        at_once = max(1, WORK_PER_THREAD // (self.n_classes * (1 + n_features ** (1 + self.dependence))))
        at_once = max(at_once, -(-n_rows // (4 * thread_count(n_jobs))))

        def work(start: int, stop: int) -> None:
            self.evaluate_rows(codes, form, start, stop, out)

        run_on_rows(work, n_rows, at_once, n_jobs)
        return out
