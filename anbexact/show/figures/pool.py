"""The weights of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import pandas as pd

from anbexact.show.figures.display import BLUE, GREY, Display
from anbexact.show.svg.labels import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from anbexact.classifiers import PooledClassifier


class PoolDisplay(Display):
    """The weights of the members of a pool, and how well each of them predicts on its own.

    Parameters
    ----------
    members : DataFrame
        ``weight`` and ``log_loss`` (of held-out rows, nats per row) by member.

    Examples
    --------
    >>> from anbexact import NaiveBayesClassifier, PooledClassifier, TANClassifier
    >>> from anbexact.datasets import load_iris
    >>> from anbexact.plots import PoolDisplay
    >>> pool = PooledClassifier([NaiveBayesClassifier(), TANClassifier()]).fit(*load_iris())
    >>> PoolDisplay.from_estimator(pool).members.index.tolist()
    ['NaiveBayesClassifier', 'TANClassifier']
    """

    def __init__(self, members: pd.DataFrame) -> None:
        self.members = members

    @classmethod
    def from_estimator(cls, pool: PooledClassifier, *, ax: Axes | None = None) -> Self:
        """Draw the weights of a fitted pool.

        Parameters
        ----------
        pool : PooledClassifier
            Fitted.
        ax : matplotlib ``Axes``, optional
            Where to draw.

        Raises
        ------
        TypeError
            If it is not a pool.
        """
        if not hasattr(type(pool), "members_"):
            raise TypeError(f"{type(pool).__name__} is not a pool: only PooledClassifier has weights of members")
        return cls(pool.members_[["weight", "log_loss"]]).plot(ax)

    def _draw(self, ax: Axes) -> None:
        places = range(len(self.members))
        ax.barh(places, self.members["weight"], color=BLUE, height=0.6)
        most = float(self.members["weight"].max()) or 1.0
        for place, (weight, loss) in zip(places, self.members.to_numpy(dtype=float), strict=True):
            text = "not learned" if loss != loss else f"log loss {loss:.3f}"
            ax.text(weight + 0.02 * most, place, text, va="center", fontsize="small", color=GREY)
        ax.set_yticks(places, [plain(name) for name in self.members.index], fontsize="small")
        ax.set_xlim(0, 1.35 * most)
        ax.invert_yaxis()
        ax.set_xlabel("weight in the pool")
        ax.spines[["top", "right"]].set_visible(False)
