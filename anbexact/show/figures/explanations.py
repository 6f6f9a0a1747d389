"""One case as a waterfall of its terms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anbexact._runtime.units import counted
from anbexact.models.network.explanation_text import cell_text
from anbexact.show.figures.display import BLUE, ORANGE, Display
from anbexact.show.svg.labels import axes_size, characters, filled, inches, longest_line, plain
from anbexact.show.svg.markup import shortened_apart

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from anbexact.models.network.explanation import Explanation

MOST_TERMS = 15
"""By default, the most terms that have a bar of their own."""
MOST_CHARACTERS = 48
"""Most characters in a line of text next to a bar; narrow axes have room for fewer."""
NAME_CHARACTERS = 40
"""Most characters of a class; the middle of a longer name is left out."""
BEYOND = 1.0
"""How far whiskers may reach beyond all bars, as a multiple of the range of the bars."""
WIDTH = 7.5
"""Width of a new figure, in inches."""
ROWS = 0.34, 0.42
"""Height of a bar and the space below it, in inches, for labels of one line and of two."""
LEAST_ROW = 0.3
"""Height of a bar and the space below it, in inches, that labels of two lines need."""
NARROW = 2.4
"""Width, in inches, for which titles are broken into lines at least; titles may be wider than narrow axes."""
TEXT, LABEL = 10.0, 8.5
"""Font sizes of titles and of the text next to bars, in points."""


class WaterfallDisplay(Display):
    """The log odds of one case, term by term from top to bottom; whiskers are 95 % credible intervals of the terms.

    A whisker that would reach beyond all bars by more than their range is cut off and ends in an arrow: so wide an
    interval only says that there are too few rows.

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
        labels = _labels(explanation.terms[explanation.terms["nats"] != 0], most)
        heading = self._heading(WIDTH - inches(longest_line(labels), LABEL))
        row = ROWS[any("\n" in label for label in labels)]
        self.size = WIDTH, 1.4 + row * (len(labels) + 1) + 0.18 * sum(text.count("\n") for text in heading)

    @classmethod
    def from_explanation(cls, explanation: Explanation, *, most: int = MOST_TERMS, ax: Axes | None = None) -> Self:
        """Draw an explanation; arguments are those of the class, and the axes to draw into."""
        return cls(explanation, most).plot(ax)

    @classmethod
    def from_estimator(cls, classifier: Any, X: Any, *, row: int = 0, ax: Axes | None = None) -> Self:
        """Explain the row of X at position ``row``, counted from 0, and draw the explanation."""
        return cls(classifier.explain(X)[row]).plot(ax)

    def _heading(self, width: float) -> tuple[str, str]:
        """Return the title, and the label of the x axis, for a width in inches."""
        explanation, fit = self.explanation, characters(width, TEXT)
        label, against = shortened_apart([explanation.label, explanation.against], NAME_CHARACTERS)
        title = filled([label, f"with probability {explanation.probability:.4f}"], fit)
        return title, filled([f"log odds of {label}", f"against {against} (nats)"], fit)

    def _draw(self, ax: Axes) -> None:
        explanation = self.explanation
        terms = explanation.terms[explanation.terms["nats"] != 0]
        nats = terms["nats"].to_numpy(dtype=float)
        bars = [*nats[: self.most], *([nats[self.most :].sum()] if len(nats) > self.most else [])]
        starts = np.cumsum([0.0, *bars])
        for k, (start, value) in enumerate(zip(starts[:-1], bars, strict=True)):
            self._bar(ax, k, float(start), float(value))
        ax.barh(len(bars), explanation.log_odds, height=0.62, color="0.45")
        ends = [*starts, explanation.log_odds]
        ax.axvline(0.0, color="0.3", lw=0.8, zorder=0)
        if np.isfinite(ends).all():
            ends += self._whiskers(ax, starts, terms[: self.most], (min(ends), max(ends)))
            margin = 0.05 * (max(ends) - min(ends)) or 1.0
            ax.set_xlim(min(ends) - margin, max(ends) + margin)
        # measured before the layout, which makes the axes about a fifth wider and then leaves room for the labels
        width, height = axes_size(ax)[0] * 1.2, axes_size(ax)[1]
        most = min(characters(width / 2, LABEL), MOST_CHARACTERS)
        labels = _labels(terms, self.most, most, whole=height < LEAST_ROW * (len(bars) + 1))
        ax.set_yticks(range(len(bars) + 1), [*map(plain, labels), "sum"], fontsize=LABEL)
        ax.set_ylim(len(bars) + 0.6, -0.6)
        title, label = self._heading(max(width - inches(longest_line(labels), LABEL), NARROW))
        ax.set_xlabel(plain(label))
        ax.set_title(plain(title), fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)

    def _whiskers(self, ax: Axes, starts: Any, terms: pd.DataFrame, bars: tuple[float, float]) -> list[float]:
        """Draw the intervals of terms, with arrows where they are cut off, and return the ends that are drawn."""
        drawn: list[float] = []
        beyond = BEYOND * (bars[1] - bars[0])
        for k, (start, low, high) in enumerate(zip(starts, terms["low"], terms["high"], strict=False)):
            if math.isnan(low) or math.isnan(high):
                continue
            whole = start + low, start + high
            ends = [min(max(end, bars[0] - beyond), bars[1] + beyond) for end in whole]
            ax.plot(ends, [k, k], color="0.2", lw=1.0, zorder=3)
            for end, true, marker in zip(ends, whole, "<>", strict=True):
                if end != true:
                    ax.plot([end], [k], marker, color="0.2", ms=5, zorder=3)
            drawn += ends
        return drawn

    def _bar(self, ax: Axes, place: int, start: float, nats: float) -> None:
        colour = BLUE if nats > 0 else ORANGE
        ax.barh(place, nats, left=start, height=0.62, color=colour, zorder=2)
        ax.plot([start + nats] * 2, [place - 0.31, place + 1.31], color="0.6", lw=0.7, zorder=1)


def _labels(terms: pd.DataFrame, n_terms: int, most: int = MOST_CHARACTERS, whole: bool = False) -> list[str]:
    """Return the labels of bars: the cell, the cells on which it is conditioned, and the number of weaker terms.

    A line has up to ``most`` characters. Labels have up to two lines, or a single one if ``whole`` is true: "given …"
    then stands for conditions that do not fit, unless two labels would look alike.
    """
    cells, given = [], []
    for _, term in terms[:n_terms].iterrows():
        known = term["state"] != "" or term["value"] is not None
        cell = f"{term['feature']}" + (f" = {cell_text(term['value'], term['state'])}" if known else "")
        cells.append(cell + "," * bool(term["given"]))
        given.append(f"given {term['given']}" if term["given"] else "")
    if whole:
        full = [f"{cell} {of}".strip() for cell, of in zip(cells, given, strict=True)]
        short = [
            text if len(text) <= most or not of else f"{cell} given …"
            for text, cell, of in zip(full, cells, given, strict=True)
        ]
        kept = [text if short.count(one) > 1 else one for text, one in zip(full, short, strict=True)]
        labels = shortened_apart(kept, most)
    else:
        pairs = zip(shortened_apart(cells, most), shortened_apart(given, most), strict=True)
        labels = [filled([cell, of], most) if of else cell for cell, of in pairs]
    rest = len(terms) - n_terms
    return labels + ([counted(rest, "weaker term")] if rest > 0 else [])
