"""Lines of text for a terminal: features, and the measures of a comparison."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from anbexact.show.measures import MEASURES, measured_rows

if TYPE_CHECKING:
    import pandas as pd


WIDTH = 118
"""Characters in a line."""
TABLE_WIDTH = 100
"""Characters in a line of the comparison."""
MOST_LINES = 10
"""Lines that are printed of a structure or an explanation, and cells of a row."""


def print_wrapped(text: str, indent: str = "", width: int = WIDTH) -> None:
    """Print a text in lines of a width, all but the first indented by two more characters."""
    print(textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent + "  "))


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


def print_comparison(frame: pd.DataFrame) -> None:
    """Print the comparison, the best of every measure starred (the baseline apart), and how to read it."""
    cells = [["", *(measure.heading for measure in MEASURES.values())]]
    for model, measured in measured_rows(frame, [*MEASURES], _number):
        cells.append([str(model), *(cell.text + ("*" if cell.best else " ") for cell in measured)])
    widths = [max(len(line[k]) for line in cells) for k in range(len(cells[0]))]
    for line in cells:
        end = " " if line is cells[0] else ""
        print_cells(line[0], [text + end for text in line[1:]], widths)
    print("* best; ± standard error over folds; CLL: conditional log likelihood of all rows, in nats; log loss:")
    print("  minus CLL per row, lower is better; Brier: summed over classes, 0 to 2; ECE: expected calibration")
    print("  error, how far the predicted probabilities are from the shares of right answers, in 10 bins")
    print("parameters: free probabilities, or coefficients; fit s: seconds to learn; both means over folds")
    if any(str(name).endswith(" refitted") for name in frame.index):
        print("refitted: the network as a logistic regression whose coefficients are fitted to predict the class;")
        print("  cross-validation in training chooses how far they may move; fit s includes both fits")
    if any(str(name).endswith(" smooth") for name in frame.index):
        print(
            "smooth: smooth shapes on fine intervals, fitted to predict the class; parameters are effective degrees"
        )
        print("  of freedom")


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:,.{digits}f}"


def read_comparison(frame: pd.DataFrame) -> list[str]:
    """Return, in sentences, which models have the lowest log loss, and how the refits changed that of the networks.

    Log losses are compared as they are printed, to four decimals.
    """
    losses = frame["log_loss"].round(4).dropna().to_dict()
    sentences = []
    least = min(losses.values(), default=math.inf)
    if math.isfinite(least):
        names = [str(name) for name, loss in losses.items() if loss == least]
        log_loss = frame["log_loss"].min()
        sentences.append(
            f"Lowest log loss: {_enumerated(names)}. On average, the true class gets a probability of "
            f"{math.exp(-log_loss):.3f} (geometric mean over the rows)."
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


def print_cells(first: str, others: Sequence[str], widths: Sequence[int]) -> None:
    """Print a line of a table, the first cell aligned to the left, the others to the right."""
    cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
    print("  ".join([first.ljust(widths[0]), *cells]).rstrip())


def class_sizes(y: pd.Series[Any], most: int = 8) -> str:
    """Return the classes and how many rows each of them has, the most frequent first."""
    sizes = list(y.value_counts().items())
    sizes = [(label, n) for label, n in sizes if n]
    shown = ", ".join(f"{label} ({n:,})" for label, n in sizes[:most])
    return f"class {y.name}: {shown}" + (f" and {len(sizes) - most} more classes" if len(sizes) > most else "")


def about(name: str) -> str:
    """Return what an embedded table is: the first sentence of the docstring of its loader."""
    from anbexact import datasets

    loader: Any = datasets.LOADERS[name]
    summary = (getattr(loader, "func", loader).__doc__ or "").strip().split("\n\n")[0]
    sentence = " ".join(summary.split()).removeprefix("Return ")
    return sentence[:1].upper() + sentence[1:]
