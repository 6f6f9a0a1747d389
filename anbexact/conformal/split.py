"""Split conformal prediction: rows that a classifier has not seen show how far to trust it."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_consistent_length

from anbexact._runtime.whole import all_or_nothing
from anbexact.classifiers import ANBClassifier
from anbexact.conformal.base import ConformalClassifier
from anbexact.conformal.ranks import METHODS, Others, Rank, rank
from anbexact.tables.frames.native_values import native


class SplitConformalClassifier(ConformalClassifier):
    """Sets of classes for any classifier, calibrated on rows that are set aside.

    The classifier learns from a part of the rows. The others, the calibration rows, are ranked by how badly their own
    class is predicted, and a class is in the set of a new row if enough of them are predicted no better. The sets are
    those of MAPIE's ``SplitConformalClassifier`` with the same calibration rows: the threshold is the k-th smallest
    of the n nonconformity scores, with k = ⌈(n + 1) confidence⌉.

    If new rows and calibration rows are exchangeable (as independent draws from one population are), a set contains
    the true class with a probability of at least ``confidence``, for any population and however bad the classifier
    is. Everything may be learned from the first part of the rows, including cut points. With few rows,
    :class:`FullConformalClassifier` needs none of them for calibration.

    Parameters
    ----------
    estimator : classifier, optional
        Any object with ``fit``, ``predict_proba`` and ``classes_``; by default, an :class:`~anbexact.ANBClassifier`.
        A ``sklearn.frozen.FrozenEstimator`` is not fitted again.
    calibration : float, default 0.25
        Share of the rows that are set aside, drawn at random; 1.0 for a frozen estimator that has seen other rows.
    method : {"lac", "aps"}, default "lac"
        Nonconformity; see :class:`FullConformalClassifier`. The methods are MAPIE's ``"lac"`` and ``"aps"`` (the
        latter with the last class included, and without randomisation).
    by_class : bool, default False
        Whether a class is ranked among calibration rows of that class only.
    smoothed : bool, default False
        Whether ties are broken at random, so that the probability is exactly ``confidence``.
    random_state : int, optional
        Seed of the split and of the random numbers for ties.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to the first part of the rows; ``predict`` and ``predict_proba`` are its own.
    n_calibration_ : int
        Number of calibration rows.

    References
    ----------
    Papadopoulos, Proedrou, Vovk and Gammerman, *Inductive confidence machines for regression*, ECML 2002; Sadinle,
    Lei and Wasserman, *Least ambiguous set-valued classifiers*, JASA 114 (2019); Angelopoulos and Bates (2023).

    Examples
    --------
    >>> from anbexact import TANClassifier
    >>> from anbexact.conformal import SplitConformalClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(2)
    >>> found = SplitConformalClassifier(TANClassifier()).fit(X[100:], y[100:]).predict_set(X[:100])
    >>> print(found)
    100 sets at a confidence of 90%: 28 with 1 class, 72 with 2 classes
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibration: float = 0.25,
        method: str = "lac",
        by_class: bool = False,
        smoothed: bool = False,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.calibration = calibration
        self.method = method
        self.by_class = by_class
        self.smoothed = smoothed
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier to some of the rows, and rank the others.

        Parameters
        ----------
        X, y : table, classes
            As for the classifier.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If ``calibration`` is not a share, if it leaves no row on either side, or if X and y differ in length.
        """
        self._check()
        share: Any = self.calibration
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) <= 1:
            raise ValueError(f"calibration must be a share above 0, and 1 at most, not {share!r}")
        check_consistent_length(X, y)
        labels = np.asarray(y, dtype=object)
        n = len(labels)
        order = np.random.default_rng(self.random_state).permutation(n)
        n_calibration = n if float(share) == 1.0 else round(float(share) * n)
        frozen = type(self.estimator).__name__ == "FrozenEstimator"
        if not n_calibration or (n_calibration == n and not frozen):
            raise ValueError(
                f"calibration={share!r} of {n} rows leaves {n - n_calibration} to learn from and {n_calibration} to "
                "calibrate with: both parts need rows, unless the estimator is a FrozenEstimator"
            )
        set_aside, first = np.sort(order[:n_calibration]), np.sort(order[n_calibration:])
        estimator = ANBClassifier() if self.estimator is None else clone(self.estimator)
        if len(first) and not frozen:
            estimator.fit(_safe_indexing(X, first), _safe_indexing(y, first))
        self.estimator_ = estimator
        place = {native(label): k for k, label in enumerate(estimator.classes_.tolist())}
        # a class that is missing from the first part has probability 0; its code follows those of all other classes
        classes = np.array([place.get(native(label), len(place)) for label in labels[set_aside].tolist()])
        scores = METHODS[self.method](np.asarray(estimator.predict_proba(_safe_indexing(X, set_aside))))
        scores = np.concatenate([scores, np.ones((len(scores), 1))], axis=1)
        own = scores[np.arange(len(classes)), classes]
        self._others = Others(own, classes, np.ones(len(classes)))
        self.n_calibration_ = len(classes)
        return self

    def _n_others(self) -> int:
        return self.n_calibration_

    def _ranks(self, X: Any) -> list[list[Rank]]:
        scores = METHODS[self.method](self.predict_proba(X))
        return [
            [rank(score, c, self._others, by_class=self.by_class) for c, score in enumerate(row)]
            for row in scores.tolist()
        ]
