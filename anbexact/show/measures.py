"""The table of a comparison of models as text, for a terminal, a notebook and a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from anbexact.compare.metrics import BASELINE

if TYPE_CHECKING:
    import pandas as pd


class Measure(NamedTuple):
    """A column of a comparison.

    Attributes
    ----------
    heading : str
    digits : int
        The number of decimals.
    width : int
        The width that its numbers need as a rule.
    best : callable or None
        Returns the best value; None if no value is better than another.
    """

    heading: str
    digits: int
    width: int
    best: Callable[[list[float]], float] | None = None


MEASURES = {
    "accuracy": Measure("accuracy", 4, 15, max),
    "cll": Measure("CLL", 1, 10, max),
    "log_loss": Measure("log loss", 4, 8, min),
    "brier": Measure("Brier", 4, 6, min),
    "calibration_error": Measure("ECE", 4, 6, min),
    "parameters": Measure("parameters", 0, 10),
    "rows_to_read": Measure("rows", 0, 7),
    "fit_seconds": Measure("fit s", 3, 7),
}
"""The columns that are shown, by their names in the frame of a comparison."""


class Measured(NamedTuple):
    """A cell: a number as text, and whether it is the best of its column, in which the baseline does not compete."""

    text: str
    best: bool


def measured_rows(
    frame: pd.DataFrame, names: Sequence[str], number: Callable[[float, int], str]
) -> Iterator[tuple[Any, list[Measured]]]:
    """Yield every model of a comparison with the cells of some columns.

    Parameters
    ----------
    frame : DataFrame
        As :func:`anbexact.compare.compare` returns it.
    names : sequence of str
        Columns that are in the frame.
    number : callable
        ``number(value, digits)`` returns a number as text. Numbers that have the same text count as equally good.
    """
    judged = frame.drop(BASELINE, errors="ignore")
    best = {}
    for name in names:
        _, digits, _, choose = MEASURES[name]
        values = judged[name].dropna().tolist()
        best[name] = number(choose(values), digits) if choose and values else ""
    for model, measured in frame.iterrows():
        cells = []
        for name in names:
            text = number(float(measured[name]), MEASURES[name].digits)
            is_best = model != BASELINE and text == best[name]
            spread = float(measured.get("accuracy_se", math.nan)) if name == "accuracy" else math.nan
            cells.append(Measured(text if math.isnan(spread) else f"{text} ± {spread:.4f}", is_best))
        yield model, cells
