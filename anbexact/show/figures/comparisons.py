"""Comparisons of classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from anbexact.compare.curves import NORMAL_95
from anbexact.compare.metrics import BASELINE
from anbexact.show.figures.display import BLUE, GREY, Display
from anbexact.show.svg.labels import plain

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NAMES = {
    "accuracy": "accuracy",
    "log_loss": "log loss (nats per row)",
    "cll": "conditional log likelihood (nats)",
    "brier": "Brier score",
    "calibration_error": "expected calibration error",
    "parameters": "parameters",
    "fit_seconds": "seconds to fit",
    "predict_seconds": "seconds to predict",
}
"""Labels of the axis, by measure."""


class ComparisonDisplay(Display):
    """A measure of compared classifiers, each with its 95 % interval where the frame has a standard error.

    Parameters
    ----------
    frame : DataFrame
        From :func:`anbexact.compare`. Standard errors are the columns that end in ``_se``.
    measure : str, default "log_loss"
        A column of the frame.

    Examples
    --------
    >>> from anbexact.compare import compare
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.plots import ComparisonDisplay
    >>> frame = compare(*load_monks(1), folds=3, models=["NB", "TAN"], refit=False)
    >>> ComparisonDisplay.from_frame(frame, measure="accuracy").ax_.get_xlabel()
    'accuracy'
    """

    def __init__(self, frame: pd.DataFrame, measure: str = "log_loss") -> None:
        if measure not in NAMES or measure not in frame:
            known = [name for name in NAMES if name in frame]
            raise ValueError(f"measure must be one of {', '.join(map(repr, known))}, not {measure!r}")
        self.frame, self.measure = frame, measure
        self.size = 6.5, 1.2 + 0.3 * len(frame)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, measure: str = "log_loss", ax: Axes | None = None) -> Self:
        """Draw a comparison; arguments are those of the class, and the axes to draw into."""
        return cls(frame, measure).plot(ax)

    def _draw(self, ax: Axes) -> None:
        values = self.frame[self.measure].to_numpy(dtype=float)
        errors = self.frame.get(f"{self.measure}_se")
        finite = np.isfinite(values)
        places = np.arange(len(values))
        colours = [GREY if name == BASELINE else BLUE for name in self.frame.index]
        if errors is not None:
            half = NORMAL_95 * errors.to_numpy(dtype=float)
            ax.hlines(places, values - half, values + half, color=colours, lw=1.6)
        ax.scatter(values[finite], places[finite], c=[colours[k] for k in np.flatnonzero(finite)], s=26, zorder=3)
        ax.set_yticks(places, [plain(name) for name in self.frame.index], fontsize="small")
        ax.set_ylim(len(values) - 0.5, -0.5)
        ax.set_xlabel(NAMES[self.measure])
        ax.grid(axis="x", color="0.9")
        ax.set_axisbelow(True)
        ax.spines[["top", "right", "left"]].set_visible(False)
