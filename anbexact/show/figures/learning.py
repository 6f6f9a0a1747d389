"""Learning curves: how well a network and its refit predict, by the number of training rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from anbexact._runtime.spread import spread
from anbexact.classifiers import NetworkClassifier, RefittedClassifier
from anbexact.classifiers.refitted import can_be_refitted
from anbexact.compare.curves import NORMAL_95
from anbexact.compare.folds import Data, Rows, prepare
from anbexact.show.figures.display import BLUE, ORANGE, Display, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_PROBABILITY = 1e-15
"""Least probability of a true class, so that the loss stays finite if a class is missing from the training rows."""


def learning_curve(estimator: NetworkClassifier, X: Any, y: Any, sizes: Any, folds: int, seed: int) -> pd.DataFrame:
    """Return the held-out log loss of a network and of its refit by the number of training rows.

    In every fold, everything is learned again from the first rows of a shuffled training part; larger parts contain
    the smaller ones.

    Returns
    -------
    DataFrame
        Columns ``rows``, ``model`` (``"generative"`` or ``"refitted"``), ``fold`` and ``log_loss``, the mean of
        -ln P(true class) over the rows that were left out, in nats.
    """
    data = prepare(X, y, None, folds, seed)
    rng = np.random.default_rng(seed)
    jobs = []
    for fold, (train, test) in enumerate(data.splits):
        shuffled = rng.permutation(train)
        parts = [shuffled[: int(size)] for size in sizes]
        jobs += [(fold, rows, test) for rows in parts if len(set(data.codes[rows].tolist())) > 1]
    lines = [line for of_job in spread(_held_out, (estimator, data), jobs) for line in of_job]
    return pd.DataFrame(lines, columns=["rows", "model", "fold", "log_loss"])


def _held_out(
    shared: tuple[NetworkClassifier, Data], job: tuple[int, Rows, Rows]
) -> list[tuple[int, str, int, float]]:
    """Return the lines of one fold and one number of training rows."""
    (estimator, data), (fold, rows, test) = shared, job
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = clone(estimator).fit(data.frame.iloc[rows], data.target.iloc[rows])
        refit = RefittedClassifier(FrozenEstimator(network)).fit(data.frame.iloc[rows], data.target.iloc[rows])
    lines = []
    for name, model in (("generative", network), ("refitted", refit)):
        place = {label: k for k, label in enumerate(model.classes_.tolist())}
        proba = model.predict_proba(data.frame.iloc[test])
        truth = [place.get(data.classes[code], -1) for code in data.codes[test].tolist()]
        right = np.array([proba[t, k] if k >= 0 else 0.0 for t, k in enumerate(truth)])
        lines.append((len(rows), name, fold, -float(np.log(np.maximum(right, LEAST_PROBABILITY)).mean())))
    return lines


class LearningCurveDisplay(Display):
    """Held-out log loss of a network and of its refit by the number of training rows, with 95 % intervals.

    Parameters
    ----------
    curve : DataFrame
        Columns ``rows``, ``model``, ``fold`` and ``log_loss``; :meth:`from_estimator` makes it.
    """

    def __init__(self, curve: pd.DataFrame) -> None:
        self.curve = curve

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sizes: Any = None,
        folds: int = 5,
        seed: int = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Learn from increasing numbers of rows and draw the curves.

        Parameters
        ----------
        estimator : NetworkClassifier
            A network with conditional tables; it is cloned.
        X, y
            Rows and their classes.
        sizes : array of int, optional
            Numbers of training rows; by default, six numbers at equal ratios, from 25 to all training rows of a fold.
        folds : int, default 5
            Number of folds, over which the intervals are computed.
        seed : int, default 0
            Seed of the shuffles.
        ax : matplotlib ``Axes``, optional
            Where to draw.

        Raises
        ------
        TypeError
            If the estimator is not a network of this package.
        """
        if not can_be_refitted(estimator):
            raise TypeError(f"estimator must be a network classifier of anbexact, not {type(estimator).__name__}")
        if sizes is None:
            most = int(len(y) * (folds - 1) / folds)
            sizes = np.unique(np.geomspace(min(25, most), most, 6).round().astype(int))
        return cls(learning_curve(estimator, X, y, sizes, folds, seed)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        for (name, curve), colour in zip(self.curve.groupby("model"), (BLUE, ORANGE), strict=False):
            by_rows = curve.groupby("rows")["log_loss"]
            mean, count = by_rows.mean(), by_rows.count()
            half: pd.Series[float] = NORMAL_95 * by_rows.std().fillna(0.0) / np.sqrt(count)
            ax.fill_between(mean.index, mean - half, mean + half, color=colour, alpha=0.18, lw=0)
            ax.semilogx(mean.index, mean, "o-", ms=4, color=colour, label=str(name))
        sizes = sorted(set(self.curve["rows"].tolist()))
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize="small")
        ax.minorticks_off()
        ax.set_xlabel("training rows")
        ax.set_ylabel("held-out log loss (nats per row)")
        ax.spines[["top", "right"]].set_visible(False)
        legend(ax)
