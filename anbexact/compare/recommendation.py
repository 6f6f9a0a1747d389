"""Which of the compared models to use, and why: the simplest of those that may be the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import Any

import pandas as pd

from anbexact._runtime.displayed import Displayed, DisplayedFrame
from anbexact.compare.losses import Losses, mean_with_error
from anbexact.compare.metrics import BASELINE


@dataclass(frozen=True)
class Recommendation(Displayed):
    """The simplest model whose log loss is within one standard error of the lowest.

    Differences of log loss are computed row by row, so their standard errors are those of paired samples. The
    simplest model is the one with the lowest number of parameters plus rows to read, that is, rows of the tables that
    define it; models for which these are unknown come last.

    Attributes
    ----------
    model : str
        The model that is recommended.
    best : str
        The model with the lowest log loss.
    log_loss, log_loss_se : float
        Log loss of the recommended model, with its standard error over rows; nats per row.
    difference, difference_se : float
        Log loss of the recommended model minus that of the best, with its standard error; 0 if they are the same
        model.
    parameters, rows_to_read, fit_seconds : float
        Those of the recommended model; NaN if they are unknown.
    others : tuple of str
        The other models within one standard error of the best, the lowest log loss first.
    """

    model: str
    best: str
    log_loss: float
    log_loss_se: float
    difference: float
    difference_se: float
    parameters: float
    rows_to_read: float
    fit_seconds: float
    others: tuple[str, ...]

    def __str__(self) -> str:
        own = f"log loss {self.log_loss:.4f} ± {self.log_loss_se:.4f}"
        size = (
            "" if isnan(self.parameters) else f", {self.parameters:,.0f} parameters in {self.rows_to_read:,.0f} rows"
        )
        costs = f"{own}{size}, {self.fit_seconds:.3f} s to fit"
        if self.model == BASELINE:
            return (
                f"Recommended: none of the models. None is better than the class frequencies ({own}) by more than "
                "one standard error, so the features may say little about the class, or there are too few rows."
            )
        if self.model == self.best:
            text = f"Recommended: {self.model}, which has the lowest log loss ({costs})."
            if self.others:
                text += f" Within one standard error of it, but not simpler: {', '.join(self.others)}."
            else:
                text += " No other model is within one standard error of it."
            return text
        text = (
            f"Recommended: {self.model}, the simplest model within one standard error of the lowest log loss "
            f"({costs}). {self.best} has the lowest, by {self.difference:.4f} ± {self.difference_se:.4f}."
        )
        rest = [name for name in self.others if name != self.best]
        return text + (f" Also within one standard error: {', '.join(rest)}." if rest else "")


class Comparison(DisplayedFrame):
    """The measurements of a comparison, one row per model; parts of it are plain frames."""

    _metadata = ["_recommended"]  # noqa: RUF012  # pandas' way to declare attributes

    @property
    def recommendation(self) -> Recommendation | None:
        """Which model to use, and why; None if no model has a finite log loss."""
        found: Recommendation | None = getattr(self, "_recommended", None)
        return found

    def with_recommendation(self, losses: Mapping[str, Losses]) -> Comparison:
        """Return this comparison, with the model that these losses recommend; see :func:`recommend`."""
        self._recommended = recommend(self, losses)
        return self


def recommend(frame: pd.DataFrame, losses: Mapping[str, Losses]) -> Recommendation | None:
    """Return which model to use; None if none has a finite log loss.

    Parameters
    ----------
    frame : DataFrame
        The measurements; its ``parameters``, ``rows_to_read`` and ``fit_seconds`` are used.
    losses : mapping of model to Losses
        Losses of the same rows in the same order.
    """
    means = {name: mean_with_error(of.values, of.weights) for name, of in losses.items()}
    means = {name: pair for name, pair in means.items() if isfinite(pair[0])}
    if not means:
        return None
    best = min(means, key=lambda name: means[name][0])
    differences = {
        name: mean_with_error(losses[name].values - losses[best].values, losses[name].weights) for name in means
    }
    close = [name for name, (difference, error) in differences.items() if difference <= error]
    close.sort(key=lambda name: means[name][0])
    parameters: dict[Any, float] = frame["parameters"].to_dict()
    rows: dict[Any, float] = frame["rows_to_read"].to_dict()
    seconds: dict[Any, float] = frame["fit_seconds"].to_dict()

    def size(name: str) -> tuple[float, float]:
        total = parameters[name] + rows[name]
        return inf if isnan(total) else total, means[name][0]

    chosen = min(close, key=size)
    return Recommendation(
        chosen,
        best,
        *means[chosen],
        *differences[chosen],
        parameters[chosen],
        rows[chosen],
        seconds[chosen],
        tuple(name for name in close if name != chosen),
    )
