"""Predictions by group: selection, error rates and calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from anbexact.compare.curves import reliability
from anbexact.compare.groups import NO_GROUP, group_metrics
from anbexact.show.report.document import Block, Charts, Column, Paragraph, Records, Section
from anbexact.show.report.sections.performance import DIAGONAL
from anbexact.show.report.subject import Subject
from anbexact.show.report.validation import Validation
from anbexact.show.svg.charts import Chart, Line

MOST_CLASSES = 4
"""Most classes that have a table."""
MOST_CURVES = 6
"""Most groups that have a curve."""
FEW_ROWS = 50
"""Groups of fewer rows have no curve."""
BINS = 5
"""Most bins of a calibration curve."""
SHOWN = {
    "share": "share of the class",
    "selected": "selected",
    "true_positive_rate": "true positive rate",
    "false_positive_rate": "false positive rate",
    "precision": "precision",
    "calibration": "calibration",
}
"""The measures that a page shows, with their headings."""


def groups_section(subject: Subject, validation: Validation | None, by: Mapping[str, Any]) -> Section | None:
    """Return measures by the groups of some columns; None without columns.

    Predictions are those of a cross-validation if there is one, and otherwise those of the classifier itself.

    Raises
    ------
    ValueError
        If a column has too many values.
    """
    if not by:
        return None
    proba, truth, weights, places = _predicted(subject, validation)
    held_out = validation is not None and validation.own in validation.lines
    classes = subject.classes if validation is None or not held_out else validation.classes
    whose = "rows that the model was not learned from" if held_out else "these rows, by the classifier itself"
    blocks: list[Block] = [
        Paragraph(
            f"How the predictions differ between groups of rows, measured on {whose}. A row is selected for a class "
            "if this class is predicted. Unless the class is equally frequent in all groups, no classifier can be "
            "calibrated in every group and have equal error rates in all of them; which measure matters depends on "
            "what a decision does to people.",
            key="text",
        )
    ]
    predicted = proba.argmax(axis=1)
    known = [label for label in subject.classes if label in classes]
    labels = known[1:] if len(known) == 2 else known[:MOST_CLASSES]
    for name, values in by.items():
        group = pd.Series(values).iloc[places]
        for label in labels:
            k = classes.index(label)
            names = np.array(classes, dtype=object)
            frame = group_metrics(
                names[truth], proba[:, k], group, label=label, selected=predicted == k, sample_weight=weights
            )
            blocks.append(_table(frame, name, label))
        label = labels[-1]
        k = classes.index(label)
        chart = _chart(truth == k, proba[:, k], group, weights, f"{name}: calibration of {label}")
        if chart is not None:
            blocks.append(Charts(f"calibration_{name}", [chart], "Groups of fewer than 50 rows have no curve."))
    return Section("groups", "Predictions by group", blocks)


def _predicted(subject: Subject, validation: Validation | None) -> tuple[Any, Any, Any, Any]:
    """Return probabilities, true classes, weights and positions of the rows that have predictions."""
    if validation is not None and validation.own in validation.lines:
        own = validation.lines[validation.own]
        kept = ~np.isnan(own.proba).any(axis=1)
        return own.proba[kept], own.truth[kept], own.weights[kept], validation.places[kept]
    kept = ~np.isnan(subject.proba).any(axis=1)
    return subject.proba[kept], subject.truth[kept], subject.weights[kept], np.flatnonzero(kept)


def _table(frame: pd.DataFrame, name: str, label: Any) -> Records:
    """Return the measures of the groups of a column, for one class."""
    records = []
    for group, row in frame.iterrows():
        record: dict[str, Any] = {"group": str(group), **{str(key): value for key, value in row.items()}}
        record["rows"] = int(row["rows"])
        records.append(record | {f"{key}_text": _with_interval(row, key) for key in SHOWN})
    columns = [Column("group", name), Column("rows", "rows", 0)]
    columns += [Column(f"{key}_text", heading) for key, heading in SHOWN.items()]
    note = (
        "With 95 % intervals. Selected: share of rows for which the class is predicted. True positive rate: of the "
        "rows of the class; false positive rate: of the other rows; precision: share of the class among the selected "
        "rows. Calibration: mean probability minus share of the class; above 0, the group is overestimated."
    )
    return Records(f"{name}: {label}", columns, records, f"Predictions of {label} by {name}", note)


def _with_interval(row: pd.Series[Any], key: str) -> str:
    value, low, high = (float(row[f"{key}{end}"]) for end in ("", "_low", "_high"))
    if math.isnan(value):
        return ""
    sign = "+" if key == "calibration" else ""
    return f"{value:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"


def _chart(event: Any, p: Any, group: Any, weights: Any, title: str) -> Chart | None:
    """Return calibration curves of the groups with enough rows; None if there is none."""
    names = pd.Series(group).astype(object).fillna(NO_GROUP).astype(str)
    large = [name for name, n in names.value_counts().items() if n >= FEW_ROWS][:MOST_CURVES]
    lines = []
    for name in large:
        own = (names == name).to_numpy()
        curve = reliability(event[own], p[own], BINS, weights[own])
        band = list(zip(curve["predicted"], curve["low"], curve["high"], strict=True))
        lines.append(Line(str(name), list(zip(curve["predicted"], curve["observed"], strict=True)), band, marks=True))
    return Chart(title, "predicted probability", "observed share", lines, reference=DIAGONAL) if lines else None
