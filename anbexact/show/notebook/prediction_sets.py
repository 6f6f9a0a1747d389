"""Sets of classes."""

from __future__ import annotations

from anbexact.conformal.sets import ConformalSets
from anbexact.show.notebook.by_type import html
from anbexact.show.notebook.fragments import fragment, note, paragraph
from anbexact.show.svg.markup import Markup
from anbexact.show.svg.tables import html_table, name_cell, number

MOST_ROWS = 15
"""Most sets that are shown."""


@html.register
def sets_html(found: ConformalSets) -> Markup:
    """Return the sets of the first rows, with the p-values of their classes."""
    rows: list[list[object]] = []
    for row, labels, values in zip(
        found.sets.index[:MOST_ROWS], found.labels, found.p_values.to_dict(orient="records"), strict=False
    ):
        p_values = ", ".join(number(float(values[label])) for label in labels)
        rows.append([name_cell(row), name_cell(", ".join(map(str, labels)) or "(empty)", 120), p_values])
    parts = [paragraph(f"{found}."), html_table(["row", "classes", "p-values"], rows)]
    if len(found.sets) > MOST_ROWS:
        parts.append(note(f"… and {len(found.sets) - MOST_ROWS:,} more rows; sets has all of them."))
    return fragment(*parts)
