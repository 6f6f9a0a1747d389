"""The shapes of a smooth refit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from anbexact.classifiers import RefittedClassifier
from anbexact.compare.curves import NORMAL_95
from anbexact.drawing.charts import Chart, Line
from anbexact.logit.shapes import Shape
from anbexact.logit.smooth import SmoothRefit
from anbexact.report.document import Charts, Column, Paragraph, Records, Section
from anbexact.report.subject import Subject

MOST_SHAPES = 12
"""Shapes that are drawn, those of the widest range."""
MOST_CLASSES = 6


def shapes_section(subject: Subject) -> Section | None:
    """Return what every feature adds to the log odds; None for a classifier that was not refitted smoothly."""
    classifier = subject.classifier
    if not isinstance(classifier, RefittedClassifier) or not isinstance(classifier.logit_.refitted, SmoothRefit):
        return None
    shapes = classifier.logit_.shapes()
    single = sorted((shape for shape in shapes if len(shape.features) == 1), key=lambda shape: shape.name)
    curves = [list(of_name) for _, of_name in groupby(single, key=lambda shape: shape.name)]
    curves.sort(key=lambda of_name: -max(float(np.ptp(shape.log_odds)) for shape in of_name))
    pairs = sorted((shape for shape in shapes if len(shape.features) > 1), key=lambda shape: -_range(shape))
    against = "the geometric mean of all classes" if shapes[0].against is None else str(shapes[0].against)
    odds = f"{shapes[0].label} against {against}" if len(subject.classes) == 2 else f"each class against {against}"
    text = (
        f"The log odds of {odds} are a sum of these shapes, in nats. Bands are of 95 %, given the strengths of "
        "smoothing; intervals along an axis are spread evenly, whatever their widths."
    )
    listed = [{"term": shape.name, "class": shape.label, "range": _range(shape)} for shape in [*pairs][:MOST_SHAPES]]
    blocks = [Paragraph(text), Charts("shapes", [_chart(of_name) for of_name in curves[:MOST_SHAPES]])]
    if not listed:
        return Section("shapes", "The shapes of the features", blocks)
    columns = [Column("term", "interaction"), Column("class", "class"), Column("range", "range", 3, "share")]
    note = "Range: between the highest and the lowest log odds of the interaction beside the shapes of its features."
    table = Records("interactions", columns, listed, "Interactions of features, those of the widest range", note)
    return Section("shapes", "The shapes of the features", [*blocks, table])


def _range(shape: Shape) -> float:
    return float(np.ptp(shape.log_odds))


def _chart(shapes: Sequence[Shape]) -> Chart:
    """Return the shapes of one feature as step curves, a curve for every class."""
    first = shapes[0]
    n = len(first.log_odds)
    edges = np.repeat(np.arange(n + 1.0), 2)[1:-1].tolist()
    lines, ends = [], [0.0]
    for shape in shapes[:MOST_CLASSES]:
        middle, half = (np.repeat(values, 2) for values in (shape.log_odds, NORMAL_95 * shape.standard_error))
        band = list(zip(edges, (middle - half).tolist(), (middle + half).tolist(), strict=True))
        name = str(shape.label) if len(shapes) > 1 else ""
        lines.append(Line(name, list(zip(edges, middle.tolist(), strict=True)), band))
        ends += [float((middle - half).min()), float((middle + half).max())]
    return Chart(
        first.name, "", "log odds", lines, (0.0, float(n)), (min(ends), max(ends)), ((0.0, 0.0), (float(n), 0.0)),
        x_names=first.labels[0],
    )  # fmt: skip
