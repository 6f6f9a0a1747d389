"""Lines of text for a terminal: features, and the measures of a comparison."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from anbexact.show.measures import MEASURES, measured_rows
from anbexact.show.report.lines import print_cells

if TYPE_CHECKING:
    import pandas as pd


TABLE_WIDTH = 110
"""Characters in a line of the comparison."""
MOST_LINES = 10
"""Lines that are printed of a structure or an explanation, and cells of a row."""


def print_features(report: pd.DataFrame, class_name: Hashable) -> None:
    """Print what the features tell about the class, the clearest evidence first."""
    shown = report.sort_values("rank", kind="stable")[:MOST_LINES]
    lines = [
        (str(name), f"{row.log_bayes_factor:,.1f}", "-" if math.isnan(row.information) else f"{row.information:.4f}")
        for name, row in shown.iterrows()
    ]
    lines = [(f"what features tell about {class_name}:", "ln BF", "information"), *lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print()
    for first, *others in lines:
        print_cells(first, others, widths)
    if len(report) > MOST_LINES:
        print(f"... and {len(report) - MOST_LINES} more features")
    print("ln BF: log Bayes factor; the further below 0, the clearer it is that the feature and the class depend on")
    print("  each other, and above 0, that they do not; information: what the feature tells about the class in this")
    print("  network when its parents are known (conditional mutual information), nats per row")


class ComparisonTable:
    """The table of a comparison, whose lines are printed as they become known.

    Parameters
    ----------
    names : sequence of str
        The models that may follow, which determine the width of the first column.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._widths = [max(map(len, names)), *(max(len(of.heading), of.width) for of in MEASURES.values())]
        self._printed = 0

    def show(self, frame: pd.DataFrame) -> None:
        """Print the lines that are new since the last call, and the headings before the first."""
        if not self._printed:
            print_cells("", [measure.heading for measure in MEASURES.values()], self._widths)
        for model, measured in list(measured_rows(frame, [*MEASURES], _number))[self._printed :]:
            print_cells(str(model), [cell.text for cell in measured], self._widths)
        self._printed = len(frame)
        sys.stdout.flush()


def print_legend(frame: pd.DataFrame) -> None:
    """Print what the columns of a comparison mean."""
    print("± standard error over folds; CLL: conditional log likelihood of all rows, in nats; log loss: minus CLL")
    print("  per row, lower is better; Brier: summed over classes, 0 to 2; ECE: expected calibration error, how far")
    print("  the predicted probabilities are from the shares of right predictions, in 10 bins")
    print("parameters: free probabilities, or coefficients; rows: rows of the tables that define the model; fit s:")
    print("  seconds to learn; these are means over folds")
    if any(str(name).endswith(" refitted") for name in frame.index):
        print("refitted: the network as a logistic regression whose coefficients are fitted to predict the class;")
        print("  cross-validation in training chooses how far they may move from it; fit s includes both fits")
    if any(str(name).endswith(" smooth") for name in frame.index):
        print(
            "smooth: smooth shapes on fine intervals, fitted to predict the class; parameters are effective degrees"
        )
        print("  of freedom")
    if "auto" in frame.index:
        print("auto: what anbexact fit learns by default, the best of the models that it has time for")


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:,.{digits}f}"


def read_comparison(frame: pd.DataFrame) -> list[str]:
    """Return, in sentences, which models predict best, and how the refits changed the log loss of the networks.

    Log losses are compared as they are printed, to four decimals.
    """
    losses = frame["log_loss"].round(4).dropna().to_dict()
    sentences = []
    least = min(losses.values(), default=math.inf)
    if math.isfinite(least):
        names = [str(name) for name, loss in losses.items() if loss == least]
        hits = frame["accuracy"].max()
        best = [str(name) for name, share in frame["accuracy"].items() if share == hits]
        sentences.append(
            f"Lowest log loss: {_enumerated(names)}, {least:.4f}: on average, the true class gets a probability of "
            f"{math.exp(-least):.3f} (geometric mean). Highest accuracy: {_enumerated(best)}, {hits:.4f}."
        )
    refits = {str(old): losses[new] - losses[old] for old, new in frame.attrs["refits"].items() if new in losses}
    lowered = [f"{name} by {-change:.4f}" for name, change in refits.items() if change < 0]
    raised = [f"{name} by {change:.4f}" for name, change in refits.items() if change > 0]
    if refits:
        which = f" ({_enumerated(lowered)})" if lowered else ""
        others = f", and raised it for {len(raised)} ({_enumerated(raised)})" if raised else ""
        sentences.append(
            f"Refitting lowered the log loss for {len(lowered)} of {len(refits)} networks{which}{others}."
        )
    return sentences


def _enumerated(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def about(name: str) -> str:
    """Return what an embedded table is: the first sentence of the docstring of its loader."""
    from anbexact import datasets

    loader: Any = datasets.LOADERS[name]
    summary = (getattr(loader, "func", loader).__doc__ or "").strip().split("\n\n")[0]
    sentence = " ".join(summary.split()).removeprefix("Return ")
    return sentence[:1].upper() + sentence[1:]
