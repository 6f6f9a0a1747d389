"""The shapes of a smooth refit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anbexact.models.smooth.shapes import shape_range
from anbexact.show.notebook.shapes import MOST_SHAPES, interactions, shape_charts, shapes_text
from anbexact.show.report.document import Charts, Column, Paragraph, Records, Section
from anbexact.show.report.plain_intervals import spoken_intervals
from anbexact.show.report.subject import Subject


def shapes_section(subject: Subject) -> Section | None:
    """Return what every feature adds to the log odds; None for a classifier that was not refitted smoothly."""
    if "smoothing" not in subject.facts.get("refit", {}):
        return None
    model: Any = subject.classifier.model_
    shapes = model.shapes()
    spoken = spoken_intervals([model])
    charts = [
        replace(chart, x_names=[spoken.get(name, name) for name in chart.x_names])
        for chart in shape_charts(shapes)[:MOST_SHAPES]
    ]
    blocks = [Paragraph(shapes_text(shapes)), Charts("shapes", charts)]
    pairs = interactions(shapes)[:MOST_SHAPES]
    if not pairs:
        return Section("shapes", "The shapes of the features", blocks)
    listed = [{"term": shape.name, "class": shape.label, "range": shape_range(shape)} for shape in pairs]
    columns = [Column("term", "interaction"), Column("class", "class"), Column("range", "range", 3, "share")]
    note = "Range: from the lowest to the highest log odds of the interaction, without the shapes of its features."
    table = Records("interactions", columns, listed, "Interactions of features, those of the widest range", note)
    return Section("shapes", "The shapes of the features", [*blocks, table])
