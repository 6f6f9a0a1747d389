"""One case as a waterfall of its terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from anbexact.drawing.labels import plain
from anbexact.drawing.markup import shortened
from anbexact.networks.explanation_text import cell_text
from anbexact.plots.display import BLUE, ORANGE, Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from anbexact.networks.explanation import Explanation

MOST_TERMS = 15
MOST_CHARACTERS = 48


class WaterfallDisplay(Display):
    """The log odds of one case, term by term from top to bottom; whiskers are 95 % credible intervals of the terms.

    Parameters
    ----------
    explanation : Explanation
        What ``classifier.explain(X)`` returns for a row.
    most : int, default 15
        Number of terms with their own bars; the weaker terms share one bar.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.datasets import load_iris
    >>> from anbexact.plots import WaterfallDisplay
    >>> X, y = load_iris()
    >>> explanation = ANBClassifier().fit(X, y).explain(X[77:78])[0]
    >>> WaterfallDisplay.from_explanation(explanation).ax_.get_xlabel()
    'log odds of virginica against versicolor (nats)'
    """

    def __init__(self, explanation: Explanation, most: int = MOST_TERMS) -> None:
        self.explanation, self.most = explanation, most
        n_bars = min(int((explanation.terms["nats"] != 0).sum()), most) + 1
        self.size = 7.5, 1.4 + 0.34 * n_bars

    @classmethod
    def from_explanation(cls, explanation: Explanation, *, most: int = MOST_TERMS, ax: Axes | None = None) -> Self:
        """Draw an explanation; arguments are those of the class, and the axes to draw into."""
        return cls(explanation, most).plot(ax)

    @classmethod
    def from_estimator(cls, classifier: Any, X: Any, *, row: int = 0, ax: Axes | None = None) -> Self:
        """Explain one row of X, the ``row``-th, and draw the explanation."""
        return cls(classifier.explain(X)[row]).plot(ax)

    def _draw(self, ax: Axes) -> None:
        explanation = self.explanation
        terms = explanation.terms[explanation.terms["nats"] != 0]
        labels, total = [], 0.0
        for k, (_, term) in enumerate(terms[: self.most].iterrows()):
            text = str(term["feature"])
            if term["state"] != "" or term["value"] is not None:
                text += f" = {cell_text(term['value'], term['state'])}"
            labels.append(shortened(text, MOST_CHARACTERS))
            self._bar(ax, k, total, float(term["nats"]))
            if term["low"] == term["low"]:
                ax.plot([total + term["low"], total + term["high"]], [k, k], color="0.2", lw=1.0, zorder=3)
            total += float(term["nats"])
        rest = terms["nats"][self.most :]
        if len(rest):
            labels.append(f"{len(rest)} weaker term{'s' * (len(rest) > 1)}")
            self._bar(ax, len(labels) - 1, total, float(rest.sum()))
        labels.append("sum")
        ax.barh(len(labels) - 1, explanation.log_odds, height=0.62, color="0.45")
        ax.axvline(0.0, color="0.3", lw=0.8, zorder=0)
        ax.set_yticks(range(len(labels)), list(map(plain, labels)), fontsize=8.5)
        ax.set_ylim(len(labels) - 0.4, -0.6)
        ax.set_xlabel(plain(f"log odds of {explanation.label} against {explanation.against} (nats)"))
        ax.set_title(plain(f"{explanation.label} with probability {explanation.probability:.4f}"), fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)

    def _bar(self, ax: Axes, place: int, start: float, nats: float) -> None:
        colour = BLUE if nats > 0 else ORANGE
        ax.barh(place, nats, left=start, height=0.62, color=colour, zorder=2)
        ax.plot([start + nats] * 2, [place - 0.31, place + 1.31], color="0.6", lw=0.7, zorder=1)
