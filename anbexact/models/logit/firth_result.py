"""Coefficients by Firth's penalised likelihood, with intervals and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from anbexact._runtime.warn import warn
from anbexact.models.logit.design_frame import design_rows
from anbexact.models.logit.firth import BETTER, FirthFit, FirthProblem
from anbexact.models.logit.firth_profile import FirthProfile

if TYPE_CHECKING:
    from anbexact.models.logit.model import LogitModel

SHOWN = 5
"""Maximum number of coefficients that a warning names."""


@dataclass(frozen=True, eq=False, repr=False)
class FirthResult:
    """The maximum of Firth's penalised likelihood; :meth:`anbexact.adapters.LogitModel.firth` returns it.

    Attributes
    ----------
    terms : (columns,) index
        The terms of the design that the rows identify.
    classes : (classes,) array
        The classes, the reference first.
    fit : FirthFit
        The maximum: ``coefficients``, ``covariance``, ``penalised`` and ``log_likelihood`` (nats, total),
        ``iterations``, ``converged``.
    problem : FirthProblem
        The penalised likelihood of the rows.
    """

    terms: pd.Index[Any]
    classes: npt.NDArray[Any]
    fit: FirthFit
    problem: FirthProblem

    @property
    def params(self) -> pd.DataFrame:
        """β in nats: terms in rows, classes other than the first in columns."""
        return self._framed(self.fit.coefficients)

    @property
    def bse(self) -> pd.DataFrame:
        """Standard errors, in nats, from the Fisher information at the maximum; rows and columns as in ``params``."""
        errors = np.sqrt(np.diag(self.fit.covariance))
        return self._framed(errors.reshape(len(self.classes) - 1, len(self.terms)).T)

    @property
    def pvalues(self) -> pd.DataFrame:
        """p-values of the profile penalised likelihood ratio tests of β = 0; rows and columns as in ``params``."""
        return self._framed(self._profiles[..., 2])

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return intervals of the coefficients, in nats, by the profile penalised likelihood.

        The frame has the columns ``lower`` and ``upper``, and a row for every class other than the first and every
        term. An end that is more than 60 nats away from 0 is infinite. An interval contains 0 if and only if the
        p-value is at least ``alpha``.

        Parameters
        ----------
        alpha : float, default 0.05
            1 minus the confidence level of the intervals.

        Raises
        ------
        ValueError
            If ``alpha`` is not between 0 and 1.

        Warns
        -----
        UserWarning
            If searches on the profiles did not converge, with the names of the coefficients, or if one of them found
            a higher maximum than the fit.
        """
        if not 0 < alpha < 1:
            raise ValueError(f"alpha must be between 0 and 1, not {alpha!r}")
        found = self._profiles if alpha == 0.05 else self._profiled(1 - alpha)
        rows = pd.MultiIndex.from_product([self.classes[1:].tolist(), self.terms], names=["class", "term"])
        ends = found[..., :2].transpose(1, 0, 2).reshape(-1, 2)
        return pd.DataFrame(ends, rows, ["lower", "upper"])

    def summary(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return coefficients, standard errors, p-values and intervals side by side.

        The frame has a row for every class other than the first and every term, as in :meth:`conf_int`, and the
        columns ``coef`` and ``std err`` (nats), ``p`` (of the profile penalised likelihood ratio test), ``lower`` and
        ``upper`` (nats).

        Parameters
        ----------
        alpha : float, default 0.05
            1 minus the confidence level of the intervals.

        Raises
        ------
        ValueError
            If ``alpha`` is not between 0 and 1.
        """
        intervals = self.conf_int(alpha)
        columns = {"coef": self.params, "std err": self.bse, "p": self.pvalues}
        by_class = {name: frame.to_numpy().ravel(order="F") for name, frame in columns.items()}
        return pd.DataFrame(by_class, intervals.index).join(intervals)

    @cached_property
    def _profiles(self) -> Floats:
        """The result of :meth:`_profiled` for intervals of level 0.95."""
        return self._profiled(0.95)

    def _profiled(self, level: float) -> Floats:
        """Return lower end, upper end and p-value of every coefficient, shape (terms, classes - 1, 3).

        Warn of results that rest on a search that did not converge, and of a higher maximum.
        """
        profiles = [FirthProfile(self.problem, self.fit, place) for place in range(self.problem.size)]
        found = np.array([[*profile.interval(level), profile.p_value] for profile in profiles])
        names = [f"{term} ({label})" for label in self.classes[1:].tolist() for term in self.terms]
        uncertain = [
            f"the {' and the '.join(sorted(profile.uncertain))} of {name}"
            for name, profile in zip(names, profiles, strict=True)
            if profile.uncertain
        ]
        if uncertain:
            shown = uncertain[:SHOWN]
            if len(uncertain) > SHOWN:
                shown.append(f"those of {len(uncertain) - SHOWN} more coefficients")
            warn(
                "searches for a maximum of the penalised likelihood did not converge, so these may be inaccurate: "
                f"{'; '.join(shown)}. An end that was not found is NaN"
            )
        name, highest = max(zip(names, profiles, strict=True), key=lambda pair: pair[1].excess)
        if highest.excess > BETTER:
            warn(
                f"the coefficients are not the maximum of the penalised likelihood: on the profile of {name} it is "
                f"higher by {highest.excess:.2g} nats. With few rows for this many terms, it has several maxima, and "
                "intervals and tests refer to the one that the fit found: learn a network with fewer parents"
            )
        return found.reshape(len(self.classes) - 1, len(self.terms), 3).swapaxes(0, 1)

    def _framed(self, values: Floats) -> pd.DataFrame:
        """Return values, (terms, classes - 1), as a frame with terms and classes as labels."""
        return pd.DataFrame(values, self.terms, self.classes[1:].tolist())

    def __repr__(self) -> str:
        return f"<FirthResult: {self.problem.size:,} coefficients, log likelihood {self.fit.log_likelihood:.3f} nats>"


def firth_result(model: LogitModel, X: Any, y: Any, sample_weight: Any) -> FirthResult:
    """Return the maximum of the penalised likelihood; see :meth:`anbexact.adapters.LogitModel.firth`.

    Warns
    -----
    UserWarning
        If the maximum was not found.

    Raises
    ------
    ValueError
        If a class has no rows, or there is only one class.
    MemoryError
        If the design would take more than 1 GB, or the Fisher information more memory than is available.
    """
    rows = design_rows(model, X, y, sample_weight)
    size = rows.matrix.shape[1] * (len(model.classes_) - 1)
    if 4 * 8 * size**2 > available_memory():
        raise MemoryError(
            f"the Fisher information of {size:,} coefficients would take {human_bytes(8 * size**2)}, and several "
            "such matrices are needed: learn a network with fewer parents or states"
        )
    problem = FirthProblem(rows.matrix, rows.weights)
    fit = problem.fit()
    if not fit.converged:
        warn(
            f"the maximum of the penalised likelihood was not found in {fit.iterations} steps, so that coefficients, "
            "intervals and tests are inaccurate"
        )
    return FirthResult(rows.terms, model.classes_, fit, problem)
