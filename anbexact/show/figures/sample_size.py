"""The score of a structure as a function of the equivalent sample size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from anbexact._runtime.arrays import Floats
from anbexact.models.network.network import Network
from anbexact.scores import BDeu
from anbexact.show.figures.display import BLUE, GREY, Display, legend
from anbexact.show.report.facts import facts_of, learned_network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST, MOST, POINTS = 0.1, 1e3, 41
"""The equivalent sample sizes that are drawn by default: the ends, and how many there are at equal ratios."""


def scores_by_sample_size(network: Network, ess: Floats) -> pd.Series[float]:
    """Return the BDeu score of a network's structure for each equivalent sample size, total in nats.

    Raises
    ------
    ValueError
        If the tables of the network were given and not estimated from counts.
    """
    if network.counts is None:
        raise ValueError("the tables of this network were given and not estimated from counts, so it has no score")
    tables = [(family.table(network.vocabulary), name, family.parents) for name, family in network.counts.items()]
    totals = [
        sum(BDeu(size).local_score(table, name, list(parents)) for table, name, parents in tables)
        for size in ess.tolist()
    ]
    return pd.Series(totals, index=pd.Index(ess, name="ess"), name="score")


class SampleSizeDisplay(Display):
    """The BDeu score of a learned structure by equivalent sample size; a dashed line marks that of the classifier.

    The structure is fixed; for another sample size, another structure may have a higher score.

    Parameters
    ----------
    scores : Series
        Scores, total in nats, by equivalent sample size.
    chosen : float or None
        The equivalent sample size of the classifier; None for a classifier with another score.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.plots import SampleSizeDisplay
    >>> display = SampleSizeDisplay.from_estimator(ANBClassifier(ess=1.0).fit(*load_monks(1)), ess=[1.0, 10.0])
    >>> bool(display.scores[1.0] < display.scores[10.0])
    True
    """

    def __init__(self, scores: pd.Series[float], chosen: float | None) -> None:
        self.scores, self.chosen = scores, chosen

    @classmethod
    def from_estimator(cls, classifier: Any, *, ess: Any = None, ax: Axes | None = None) -> Self:
        """Score the structure of a fitted classifier and draw.

        Parameters
        ----------
        classifier : NetworkClassifier or RefittedClassifier
            Fitted.
        ess : array, optional
            Equivalent sample sizes; by default 41 from 0.1 to 1,000.
        ax : matplotlib ``Axes``, optional
            Where to draw.

        Raises
        ------
        TypeError
            If the classifier has no network with conditional tables.
        ValueError
            If its tables were given and not estimated.
        """
        network = learned_network(classifier)
        facts = {} if network is None else facts_of(classifier)
        if network is None or "measure" in facts:
            raise TypeError(
                f"{type(classifier).__name__} has no network with conditional tables: pass a fitted network "
                "classifier that cuts continuous columns into intervals"
            )
        sizes = np.geomspace(LEAST, MOST, POINTS) if ess is None else np.asarray(ess, dtype=np.float64)
        scores = scores_by_sample_size(network, sizes)
        return cls(scores, facts["ess"] if facts["score_name"] == "BDeu" else None).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ax.semilogx(self.scores.index, self.scores, color=BLUE)
        if self.chosen is not None:
            ax.axvline(self.chosen, color=GREY, ls="--", lw=1.0, label=f"of the classifier: {self.chosen:.4g}")
        ax.set_xlabel("equivalent sample size")
        ax.set_ylabel("BDeu of the structure (nats)")
        ax.spines[["top", "right"]].set_visible(False)
        legend(ax)
