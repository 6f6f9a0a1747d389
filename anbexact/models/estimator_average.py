"""Averages of simple estimators, one for every state or pair of states of a row: their class posterior."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from anbexact._kernels.posterior import JOINT, LOG_PROBABILITY, PROBABILITY
from anbexact._runtime.tasks import run_on_rows, thread_count
from anbexact.models.model import JointModel
from anbexact.models.network.posterior import WORK_PER_THREAD, Logs
from anbexact.tables.table import Weights
from anbexact.tables.vocabulary import CodeArray

if TYPE_CHECKING:
    from anbexact.models.aode import PairCounts


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
        """Write the values of the rows from ``start`` to ``stop`` to ``out``, without the normaliser.

        ``form`` is `JOINT`, `LOG_PROBABILITY` or `PROBABILITY` of :mod:`anbexact._kernels.posterior`.
        """

    def _evaluate(self, codes: CodeArray, form: int, n_jobs: int | None) -> Logs:
        """Return the values of :meth:`evaluate_rows` for all rows, computed in threads."""
        codes = np.ascontiguousarray(codes)  # views of tables would have the kernels compiled for further layouts
        n_features, n_rows = codes.shape
        out = np.empty((n_rows, self.n_classes))
        # Parts that are worth a thread, and no more than four of them per thread.
        at_once = max(1, WORK_PER_THREAD // (self.n_classes * (1 + n_features ** (1 + self.dependence))))
        at_once = max(at_once, -(-n_rows // (4 * thread_count(n_jobs))))

        def work(start: int, stop: int) -> None:
            self.evaluate_rows(codes, form, start, stop, out)

        run_on_rows(work, n_rows, at_once, n_jobs)
        return out


class AnDE(JointModel):
    """A model that averages estimators, each with one or two features as further parents of all others.

    ``vocabulary`` and ``cut_points`` are those of :class:`~anbexact.models.model.Model`.
    """

    order: ClassVar[int]
    """Number of features that an estimator has as further parents, if there are enough features."""

    if TYPE_CHECKING:  # a field of the subclasses

        @property
        def ess(self) -> float:
            """Equivalent sample size of the probabilities."""

    @property
    @abstractmethod
    def class_posterior(self) -> EstimatorAverage:
        """The evaluator of the joint and posterior probabilities of the class."""

    @property
    @abstractmethod
    def pairs(self) -> PairCounts:
        """The counts of pairs of features."""

    @property
    def admitted(self) -> npt.NDArray[np.bool_]:
        """Which states have an estimator, shape (states of all features,)."""
        return self.pairs.admitted(0.0)

    @property
    def set_sizes(self) -> range:
        """Numbers of features of the joint tables that determine the probabilities."""
        dependence = self.class_posterior.dependence
        return range(0 if dependence == 1 else dependence, dependence + 2)

    def joint_weights(self, features: Sequence[int]) -> Weights:
        """Return the weights of the joint states of some features (by position, ascending) and the class."""
        pairs = self.pairs
        if not features:
            return pairs.class_weights
        if len(features) == 1:
            return pairs.alone[pairs.offsets[features[0]] : pairs.offsets[features[0] + 1]]
        return pairs.dense(*features)

    @property
    def estimators(self) -> Self:
        """The model itself."""
        return self

    def facts(self) -> dict[str, Any]:
        """Return the equivalent sample size, and the estimators."""
        return {"ess": self.ess, "estimators": self}
