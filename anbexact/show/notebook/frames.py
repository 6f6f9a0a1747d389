"""Frames that show themselves with bars: comparisons and feature reports."""

from __future__ import annotations

import math

import pandas as pd

from anbexact._runtime.displayed import DisplayedFrame
from anbexact.compare.recommendation import Comparison, Recommendation
from anbexact.show.measures import MEASURES, measured_rows
from anbexact.show.notebook.by_type import html
from anbexact.show.notebook.fragments import fragment, note, paragraph
from anbexact.show.svg.markup import Markup, joined
from anbexact.show.svg.tables import Cell, html_table, name_cell, number, share_bar, signed_bar


class FeatureFrame(DisplayedFrame):
    """The result of :func:`anbexact.report.feature_report`: a frame whose display draws the Bayes factors."""


@html.register
def recommendation_html(recommendation: Recommendation) -> Markup:
    """Return which model is recommended, and why."""
    return fragment(paragraph(recommendation))


@html.register
def comparison_html(frame: Comparison) -> Markup:
    """Return a comparison with the best of every measure in bold, and notes."""
    rows, folds = frame.attrs.get("rows"), frame.attrs.get("folds")
    how = f"{folds}-fold cross-validation of {rows:,} rows; everything is relearned in every fold." if rows else ""
    found = frame.recommendation
    notes = [] if found is None else [note(found)]
    notes += [note(f"Note: {text}") for text in frame.attrs.get("notes", ())]
    return fragment(comparison_table(frame, how), *notes)


def comparison_table(frame: pd.DataFrame, caption: str) -> Markup:
    """Return the measures of a comparison as a table, and how to read them."""
    shown = [name for name in MEASURES if name in frame and name != "cll"]
    losses = frame["log_loss"].tolist() if "log_loss" in frame else []
    most = max((loss for loss in losses if math.isfinite(loss)), default=1.0)
    table: list[list[object]] = []
    for k, (model, measured) in enumerate(measured_rows(frame, shown, number)):
        cells: list[object] = [name_cell(model)]
        for name, cell in zip(shown, measured, strict=True):
            cells.append(Cell(cell.text, best=cell.best))
            if name == "log_loss":
                cells.append(Cell(share_bar(float(losses[k]), most, 70.0)))
        table.append(cells)
    headings = ["model"]
    for name in shown:
        headings += [MEASURES[name].heading, ""] if name == "log_loss" else [MEASURES[name].heading]
    explained = (
        "Bold: best. ±: standard error over folds. Log loss: nats per row. Brier: summed over classes, 0 to 2. ECE: "
        "expected calibration error of the predicted class. Parameters and seconds to fit are means over folds."
    )
    return joined([html_table(headings, table, caption), note(explained)])


@html.register
def features_html(frame: FeatureFrame) -> Markup:
    """Return a feature report, the strongest evidence first."""
    return fragment(features_table(frame))


def features_table(frame: pd.DataFrame) -> Markup:
    """Return Bayes factors and information as a table with bars."""
    if not {"log_bayes_factor", "information", "rank"} <= set(frame):
        return html_table(["feature", *map(str, frame)], [[name_cell(k), *v] for k, v in frame.iterrows()])
    ordered = frame.sort_values("rank", kind="stable")
    most = float(ordered["log_bayes_factor"].abs().max()) if len(ordered) else 1.0
    least = float(ordered["information"].max())
    rows = [
        [
            name_cell(name),
            number(values["log_bayes_factor"], 1),
            Cell(signed_bar(-float(values["log_bayes_factor"]), most)),
            number(values["information"], 4),
            Cell(share_bar(float(values["information"]), least, 70.0)),
        ]
        for name, values in ordered.iterrows()
    ]
    table = html_table(["feature", "ln BF", "", "information", ""], rows)
    explained = (
        "ln BF: log Bayes factor, below 0 for dependence on the class (bar to the right). Information: conditional "
        "mutual information with the class in this network, nats per row."
    )
    return joined([table, note(explained)])
