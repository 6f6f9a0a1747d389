"""The shapes of smooth refits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from anbexact.compare.curves import NORMAL_95
from anbexact.models.smooth.shapes import Shapes, shape_range
from anbexact.show.notebook.by_type import html
from anbexact.show.notebook.fragments import fragment, note, paragraph
from anbexact.show.svg.charts import Chart, Line
from anbexact.show.svg.markup import Markup, element
from anbexact.show.svg.tables import html_table, name_cell, number

if TYPE_CHECKING:
    from anbexact.models.smooth.shapes import Shape

MOST_SHAPES = 12
"""Most features that are drawn, and most interactions that are listed, those of the widest range."""
MOST_CLASSES = 6
"""Most classes that are drawn in one chart."""


@html.register
def shapes_html(shapes: Shapes) -> Markup:
    """Return shapes: a chart of every feature, and a table of their interactions."""
    if not shapes:
        return fragment(paragraph("No feature was kept, so nothing is drawn."))
    charts = shape_charts(shapes)
    drawn = [
        element("figure", element("figcaption", chart.title), chart.svg(), class_="panel")
        for chart in charts[:MOST_SHAPES]
    ]
    parts = [paragraph(shapes_text(shapes)), element("div", *drawn, class_="charts")]
    if len(charts) > MOST_SHAPES:
        parts.append(note(f"Shapes that are not drawn: {len(charts) - MOST_SHAPES:,}; to_frame() has all of them."))
    rows = [[name_cell(of.name), name_cell(of.label), number(shape_range(of))] for of in interactions(shapes)]
    if rows:
        parts.append(html_table(["interaction", "class", "range"], rows[:MOST_SHAPES]))
    return fragment(*parts)


def shapes_text(shapes: Sequence[Shape]) -> str:
    """Return what the shapes add up to, in words."""
    against = "the geometric mean of all classes" if shapes[0].against is None else str(shapes[0].against)
    several = len({shape.label for shape in shapes}) > 1
    odds = f"each class against {against}" if several else f"{shapes[0].label} against {against}"
    return (
        f"The log odds of {odds} are a sum of these shapes, in nats. Bands cover 95 %, with the strengths of "
        "smoothing taken as given; intervals are spread evenly along an axis, whatever their widths."
    )


def interactions(shapes: Sequence[Shape]) -> list[Shape]:
    """Return the shapes of several features, those of the widest range first."""
    return sorted((shape for shape in shapes if len(shape.features) > 1), key=lambda shape: -shape_range(shape))


def shape_charts(shapes: Sequence[Shape]) -> list[Chart]:
    """Return a chart for every feature, those of the widest range first; interactions are left out."""
    single = sorted((shape for shape in shapes if len(shape.features) == 1), key=lambda shape: shape.name)
    curves = [list(of_name) for _, of_name in groupby(single, key=lambda shape: shape.name)]
    curves.sort(key=lambda of_name: -max(map(shape_range, of_name)))
    return [_chart(of_name) for of_name in curves]


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
