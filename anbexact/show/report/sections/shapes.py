"""The shapes of a smooth refit."""

from __future__ import annotations

from anbexact.classifiers import RefittedClassifier
from anbexact.models.smooth.refit import SmoothRefit
from anbexact.show.notebook.shapes import MOST_SHAPES, interactions, shape_charts, shape_range, shapes_text
from anbexact.show.report.document import Charts, Column, Paragraph, Records, Section
from anbexact.show.report.subject import Subject


def shapes_section(subject: Subject) -> Section | None:
    """Return what every feature adds to the log odds; None for a classifier that was not refitted smoothly."""
    classifier = subject.classifier
    if not isinstance(classifier, RefittedClassifier) or not isinstance(classifier.logit_.refitted, SmoothRefit):
        return None
    shapes = classifier.logit_.shapes()
    blocks = [Paragraph(shapes_text(shapes)), Charts("shapes", shape_charts(shapes)[:MOST_SHAPES])]
    pairs = interactions(shapes)[:MOST_SHAPES]
    if not pairs:
        return Section("shapes", "The shapes of the features", blocks)
    listed = [{"term": shape.name, "class": shape.label, "range": shape_range(shape)} for shape in pairs]
    columns = [Column("term", "interaction"), Column("class", "class"), Column("range", "range", 3, "share")]
    note = "Range: from the lowest to the highest log odds of the interaction, without the shapes of its features."
    table = Records("interactions", columns, listed, "Interactions of features, those of the widest range", note)
    return Section("shapes", "The shapes of the features", [*blocks, table])
