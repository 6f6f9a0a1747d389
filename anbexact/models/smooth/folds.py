"""Cross-validation of a smooth refit: how well strengths of smoothing predict rows that were left out."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax

from anbexact._runtime.deadline import Deadline
from anbexact.models.logit.curvature import Curvature
from anbexact.models.logit.potentials import Floats
from anbexact.models.smooth.centre import drawn, naive_bayes
from anbexact.models.smooth.fit import SmoothProblem, smooth_fit
from anbexact.models.smooth.terms import Strengths
from anbexact.tables.folds import split_weights

PRECISION = 1e-4
"""Squared Newton decrement per unit of weight of the fits."""
FOLDS = 5
MANY_ROWS = 2_000
"""From this total weight on, 3 folds are enough."""


class SmoothFolds:
    """The folds that leave rows to learn from and rows to predict.

    Fits begin where the last ones of the same fold ended, which changes where none of them ends. A curvature found in
    one fold serves the others, too.

    Parameters
    ----------
    problem : SmoothProblem
    start : (cells, classes) array, optional
        Where the first fits begin.
    """

    def __init__(self, problem: SmoothProblem, start: Floats | None = None) -> None:
        n_folds = FOLDS if problem.weights.sum() < MANY_ROWS else 3
        parts = [part for part in split_weights(problem.weights, n_folds) if part.any()]
        self._folds = [_Fold(problem, part, start) for part in parts if (problem.weights - part).any()]
        self._near: Curvature | None = None

    def __len__(self) -> int:
        return len(self._folds)

    @property
    def weights(self) -> Floats:
        """The weights of the rows that are predicted, with every class that they have."""
        return np.concatenate([fold.weights for fold in self._folds])

    @property
    def mean_shift(self) -> Floats:
        """The mean of the shifts where the last fits ended, (cells, classes)."""
        return np.asarray(np.mean([fold.shift for fold in self._folds], axis=0))

    def logs(self, strengths: Strengths, deadline: Deadline | None, share: float = 0.0) -> Floats:
        """Return ln P of the classes of rows that were left out, in the order of `weights`; one number for each.

        Parameters
        ----------
        strengths : mapping
        deadline : Deadline, optional
        share : float
            Share of the log odds of naive Bayes, as learned from the rows to fit to, that shapes are drawn to.
        """
        logs = []
        for fold in self._folds:
            self._near = fold.fit(strengths, share, self._near, deadline)
            logs.append(fold.logs)
        return np.concatenate(logs)


class _Fold:
    """Rows to fit to and rows to predict."""

    def __init__(self, problem: SmoothProblem, part: Floats, start: Floats | None) -> None:
        self._left_in = problem.weighted(problem.weights - part)
        self._left_out = problem.weighted(part)
        self._naive_bayes = naive_bayes(self._left_in)
        self.shift = np.zeros((problem.n_cells, problem.n_classes)) if start is None else start

    @property
    def weights(self) -> Floats:
        return self._left_out.weights[self._left_out.weights > 0]

    def fit(self, strengths: Strengths, share: float, near: Curvature | None, deadline: Deadline | None) -> Curvature:
        """Fit from where the last fit ended, and return a curvature near there."""
        centre = share * self._naive_bayes
        found, curvature = smooth_fit(
            drawn(self._left_in, centre),
            strengths,
            start=self.shift - centre,
            near=near,
            precision=PRECISION,
            curvature_too=False,
            deadline=deadline,
        )
        self.shift = found.shift + centre
        return curvature

    @property
    def logs(self) -> Floats:
        """The logs of the probabilities of what the rows to predict are."""
        logs = log_softmax(self._left_out.predictors(self.shift), axis=1)
        return np.asarray(logs[self._left_out.weights > 0])
