"""The information of features about the class and about each other."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.classifiers.discrete import first_table_classifier
from anbexact.scores import LL
from anbexact.show.figures.display import BLUE, Display
from anbexact.show.report.facts import learned_network
from anbexact.show.svg.labels import plain
from anbexact.show.svg.markup import shortened_apart
from anbexact.tables.table import DiscreteTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CHARACTERS = 22
"""Most characters of a feature's name."""
PAIRS_PER_FEATURE = 2
"""By default, this many times as many pairs are drawn as there are features, the most informative ones."""


def pair_information(table: DiscreteTable) -> Floats:
    """Return mutual information given the class between features, and with the class on the diagonal.

    ``I(X; Y | C) = (LL(X | Y, C) - LL(X | C)) / N`` for the weighted rows, where LL is the maximised log likelihood,
    and ``I(X; C) = (LL(X | C) - LL(X)) / N``. The empirical information of independent variables is above 0: about
    (r - 1)(r' - 1) s / 2N for r and r' states and s classes.

    Parameters
    ----------
    table : DiscreteTable
        The rows.

    Returns
    -------
    (features, features) float64
        Nats per row, symmetric.
    """
    score, class_name, features = LL(), table.vocabulary.class_name, table.vocabulary.features
    weight = table.weight_sum
    found = np.zeros((len(features), len(features)))
    given = [score.local_score(table, name, [class_name]) for name in features]
    for i, name in enumerate(features):
        found[i, i] = (given[i] - score.local_score(table, name, [])) / weight
        for j in range(i):
            found[i, j] = found[j, i] = (
                score.local_score(table, name, [class_name, features[j]]) - given[i]
            ) / weight
    return np.maximum(found, 0.0)


class InformationDisplay(Display):
    """The information graph: the information of features about the class, and about each other given the class.

    Features are arranged in a circle. The darker a feature, the larger its mutual information with the class; the
    wider a line, the larger the conditional mutual information between its ends given the class.

    Parameters
    ----------
    names : sequence
        The features.
    information : (features, features) float64
        From :func:`pair_information`.
    most : int, optional
        Number of pairs that are drawn, the most informative ones; by default, two for every feature.
    """

    size = 6.5, 6.5

    def __init__(self, names: Any, information: Floats, most: int | None = None) -> None:
        self.names, self.information = list(names), information
        self.most = PAIRS_PER_FEATURE * len(self.names) if most is None else most

    @classmethod
    def from_estimator(
        cls,
        classifier: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        most: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the information of rows, in the states and intervals of a fitted classifier.

        Raises
        ------
        TypeError
            If the classifier has no network.
        """
        model = learned_network(classifier)
        if model is None:
            raise TypeError(f"{type(classifier).__name__} has no network: pass a fitted network classifier")
        reader = first_table_classifier(classifier).reader_
        reader = replace(reader, vocabulary=model.discrete_vocabulary, cut_points=model.discrete_cut_points)
        table = reader.table(X, y, sample_weight)
        return cls(table.vocabulary.features, pair_information(table), most).plot(ax)

    def _draw(self, ax: Axes) -> None:
        n = len(self.names)
        angles = [math.pi / 2 - 2 * math.pi * k / max(n, 1) for k in range(n)]
        places = [(math.cos(angle), math.sin(angle)) for angle in angles]
        own = np.diag(self.information)
        pairs = self.information - np.diag(own)
        largest, most_own = float(pairs.max(initial=0.0)), float(own.max(initial=0.0))
        listed = [(pairs[i, j], i, j) for i in range(n) for j in range(i) if pairs[i, j] > 0]
        for value, i, j in sorted(listed, reverse=True)[: self.most]:
            share = value / largest
            xs, ys = zip(places[i], places[j], strict=True)
            ax.plot(xs, ys, color="0.3", lw=0.5 + 4.5 * share, alpha=0.25 + 0.5 * share, zorder=1)
        labels = shortened_apart(self.names, MOST_CHARACTERS)
        for k, (x, y) in enumerate(places):
            share = own[k] / most_own if most_own > 0 else 0.0
            ax.scatter([x], [y], s=150, color="white", zorder=2)
            ax.scatter([x], [y], s=150, color=BLUE, alpha=0.08 + 0.92 * share, zorder=3)
            ax.scatter([x], [y], s=150, facecolor="none", edgecolor=BLUE, zorder=3)
            left = x < -1e-9
            turn = math.degrees(angles[k]) + (180 if left else 0)
            ax.text(
                1.09 * x,
                1.09 * y,
                plain(labels[k]),
                rotation=turn,
                rotation_mode="anchor",
                ha="right" if left else "left",
                va="center",
                fontsize=8,
            )
        ax.set_xlim(-1.75, 1.75)
        ax.set_ylim(-1.75, 1.75)
        ax.set_aspect("equal")
        ax.set_axis_off()
        title = f"darkest: {most_own:.3f} nats about the class; widest: {largest:.3f} nats about each other"
        ax.set_title(title, fontsize="small")
